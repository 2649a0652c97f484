"""The verb embed."""

import json
import re
import sys
from contextlib import contextmanager
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from PIL import Image
from sklearn.datasets import load_wine
from typer.testing import CliRunner

from dimetric import LDA, PCA, Isomap
from dimetric.cli.main import app
from dimetric.cli.main import run as command
from dimetric.plot import EmbeddingDisplay
from dimetric.quality import embedding_quality

X, y = load_wine(return_X_y=True)
SCALED = (X - X.mean(axis=0)) / X.std(axis=0)


@pytest.fixture
def table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = load_wine().feature_names
    frame = pd.DataFrame(X, columns=names).assign(kind=load_wine().target_names[y])
    frame.to_csv(tmp_path / "wine.csv", index=False)
    return tmp_path / "wine.csv"


def run(*words):
    return CliRunner().invoke(app, ["embed", *(str(each) for each in words)])


def error_of(monkeypatch, *words):
    monkeypatch.setattr(sys, "argv", ["dimetric", "embed", *(str(each) for each in words)])
    with pytest.raises(SystemExit) as raised:
        command()
    return str(raised.value)


def test_embed_writes_plot_coordinates_and_scores(table, tmp_path):
    done = run(table, "--color", "kind", "--out", "a.png", "--out", "a.csv", "--option",
                 "n_neighbors=8", "--json")  # fmt: skip
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    Z = Isomap(n_neighbors=8).fit_transform(SCALED)
    written = pd.read_csv(tmp_path / "a.csv")
    assert list(written) == ["row", "isomap0", "isomap1", "kind"]
    np.testing.assert_allclose(written[["isomap0", "isomap1"]], Z, atol=1e-6)
    quality = embedding_quality(SCALED, Z, y=y)
    assert found["scores"] == pytest.approx(quality.scores(), abs=1e-6)
    assert found["written"] == ["a.png", "a.csv"]
    with Image.open(tmp_path / "a.png") as image:
        assert min(image.size) > 400


@pytest.mark.parametrize("ending", ["svg", "pdf"])
def test_same_command_writes_an_identical_plot(table, tmp_path, ending):
    files = [tmp_path / f"{i}.{ending}" for i in range(2)]
    for file in files:
        assert run(table, "--method", "pca", "--color", "kind", "--out", file).exit_code == 0
    assert files[0].read_bytes() == files[1].read_bytes()


def test_default_file_and_printed_scores(table, tmp_path):
    done = run(table, "--method", "PCA", "--drop", "kind")
    assert done.exit_code == 0, done.output
    assert "PCA: 178 rows, from 13 features to 2 dimensions" in done.stdout
    shown = re.findall(r"^  (\w+) +0\.\d+", done.stdout, re.MULTILINE)
    assert shown == ["trustworthiness", "continuity", "shepard_correlation"]
    assert "whether neighbours in the embedding are also near in the data" in done.stdout
    assert (tmp_path / "wine-pca.png").exists()


def test_number_of_printed_scores(table):
    words = (table, "--method", "pca", "--color", "kind")
    main = re.findall(r"^  (\w+) +0\.\d+", run(*words).stdout, re.MULTILINE)
    assert main == ["trustworthiness", "continuity", "neighborhood_hit"]
    shown = run(*words, "--all-scores").stdout
    assert len(re.findall(r"\(best ", shown)) == 11
    assert re.search(r"lcmc +0\.\d+ \(best 0\.972\)", shown)  # 1 - 5 / 177
    without = run(*words, "--no-scores")
    assert without.exit_code == 0
    assert "best" not in without.stdout
    assert json.loads(run(*words, "--no-scores", "--json").stdout)["scores"] == {}


def test_dark_plot(table, tmp_path):
    for name, words in {"light": [], "dark": ["--dark"]}.items():
        done = run(table, "--method", "pca", "--color", "kind", "--out", f"{name}.png", *words)
        assert done.exit_code == 0, done.output
    light, dark = (
        np.median(np.asarray(Image.open(tmp_path / f"{each}.png").convert("L")))
        for each in ("light", "dark")
    )
    assert dark < 40 < 220 < light


class Stub:
    """An embedding method with the interface of TRIMAP. It prints, as other packages do."""

    def __init__(self, n_dims=2, seed=0):
        self.n_dims = n_dims

    def fit_transform(self, X):
        print("a message")
        return X[:, : self.n_dims]


@pytest.mark.parametrize(
    ("name", "module", "cls"),
    [("UMAP", "umap", "UMAP"), ("pacmap", "pacmap", "PaCMAP"), ("TriMap", "trimap", "TRIMAP")],
)
def test_short_names_of_other_packages(table, tmp_path, monkeypatch, name, module, cls):
    stub = type(cls, (Stub,), {})
    monkeypatch.setitem(sys.modules, module, SimpleNamespace(**{cls: stub}))
    done = run(
        table, "--method", name, "--drop", "kind", "--components", 3, "--out", "a.csv", "--json"
    )
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["components"] == 3
    assert list(pd.read_csv(tmp_path / "a.csv")) == ["row", *(f"{module}{i}" for i in range(3))]


@pytest.mark.parametrize(
    ("name", "package"), [("umap", "umap-learn"), ("PaCMAP", "pacmap"), ("trimap", "trimap")]
)
def test_message_if_another_package_is_not_installed(table, monkeypatch, name, package):
    monkeypatch.setitem(sys.modules, name.lower(), None)
    error = error_of(monkeypatch, table, "--method", name)
    assert f"requires the package {package}. Install it with pip install {package}." in error


def test_tsne(tmp_path, rng):
    pd.DataFrame(rng.normal(size=(20, 4))).to_csv(tmp_path / "few.csv", index=False)
    done = run(tmp_path / "few.csv", "--method", "t-SNE", "--out", tmp_path / "t.csv", "--json",
               "--option", "max_iter=250")  # fmt: skip
    assert done.exit_code == 0, done.output
    (note,) = json.loads(done.stdout)["notes"]
    assert note == "perplexity was reduced to 6.33, because there are only 20 rows."
    assert pd.read_csv(tmp_path / "t.csv")["tsne1"].notna().all()


def test_slow_methods_use_a_sample(table, tmp_path, monkeypatch):
    words = (table, "--color", "kind", "--max-rows", 100, "--out", "a.csv", "--json")
    learner = run(*words, "--method", "nca", "--option", "max_iter=3")
    assert learner.exit_code == 0, learner.output
    assert "NCA was trained on a random 100 of 178 rows, and maps all rows." in learner.stdout
    assert len(pd.read_csv(tmp_path / "a.csv")) == 178
    only_sample = run(*words, "--method", "tsne", "--option", "max_iter=250", "--out", "a.png")
    assert only_sample.exit_code == 0, only_sample.output
    assert "TSNE embeds a random 100 of 178 rows." in only_sample.stdout
    written = pd.read_csv(tmp_path / "a.csv")
    assert json.loads(only_sample.stdout)["rows"] == len(written) == 100
    kinds = pd.read_csv(table)["kind"]
    assert (written["kind"].to_numpy() == kinds[written["row"]].to_numpy()).all()


def test_default_limits_of_the_number_of_rows():
    from dimetric.advice._by_name import embedding_by_name
    from dimetric.advice._embed import _max_rows

    limits = {each: _max_rows(embedding_by_name(each)) for each in ("pca", "isomap", "kda", "tsne")}
    assert limits == {"pca": None, "isomap": 5_000, "kda": 20_000, "tsne": 5_000}
    assert _max_rows(embedding_by_name("sklearn.decomposition:PCA")) is None


def test_progress_is_shown_in_a_terminal(table, monkeypatch):
    said = []

    @contextmanager
    def spinner(title):
        said.append(title)
        yield said.append

    monkeypatch.setattr("dimetric.cli.embed.spinner", spinner)
    assert run(table, "--method", "pca", "--color", "kind").exit_code == 0
    assert said == ["Encoding wine", "PCA: 178 rows", "Quality scores"]


def test_supervised_methods(table, tmp_path):
    done = run(table, "--method", "lda", "--color", "kind", "--components", 3, "--out", "l.npz",
                 "--json")  # fmt: skip
    assert done.exit_code == 0, done.output
    (note,) = json.loads(done.stdout)["notes"]
    assert note.startswith("n_components was reduced to 2, because LDA finds at most")
    with np.load(tmp_path / "l.npz") as arrays:
        expected = LDA().fit(SCALED, y).transform(SCALED)
        np.testing.assert_allclose(arrays["X"], expected, atol=1e-6)
    done = run(table, "--method", "covariance", "--color", "kind", "--json")
    assert json.loads(done.stdout)["components"] == 2


def test_methods_given_as_module_and_class(table, tmp_path, monkeypatch):
    (tmp_path / "mine.py").write_text(
        "class First:\n"
        "    def __init__(self, n_components=2, power=1):\n"
        "        self.n_components, self.power = n_components, power\n"
        "    def fit_transform(self, X):\n"
        "        return X[:, : self.n_components] ** self.power\n"
        "class Nothing:\n"
        "    pass\n"
        "class Two:\n"
        "    def __init__(self, **any):\n"
        "        self.any = any\n"
        "    def fit(self, X):\n"
        "        return self\n"
        "    def transform(self, X):\n"
        "        return X[: self.any.get('rows', len(X)), :2]\n"
        "    def __sklearn_tags__(self):\n"
        "        raise AttributeError('no tags')\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    done = run(table, "--method", "mine:First", "--drop", "kind", "--option", "power=3", "--out",
                 "f.parquet")  # fmt: skip
    assert done.exit_code == 0, done.output
    written = pd.read_parquet(tmp_path / "f.parquet")
    np.testing.assert_allclose(written[["first0", "first1"]], SCALED[:, :2] ** 3)
    theirs = run(table, "--method", "sklearn.decomposition:PCA", "--drop", "kind", "--json")
    scores = json.loads(theirs.stdout)["scores"]
    expected = embedding_quality(SCALED, PCA(2).fit_transform(SCALED)).scores()
    assert scores == pytest.approx(expected, abs=1e-6)
    assert run(table, "--method", "mine:Two", "--drop", "kind").exit_code == 0
    wrong = error_of(monkeypatch, table, "--method", "mine:Two", "--drop", "kind", "--option",
                     "rows=3")  # fmt: skip
    assert "Two did not return a finite array with one row for each of the 178 samples" in wrong
    assert "mine:Nothing is not an embedding method" in error_of(
        monkeypatch, table, "--method", "mine:Nothing"
    )


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["--method", "isomop"], "There is no method 'isomop'. Did you mean isomap or trimap?"),
        (["--method", "xyzzy"], "Choose from anmm,"),
        (["--method", "nosuchmodule:UMAP"], "cannot be imported: No module named 'nosuchmodule'"),
        (["--method", "umap.nothing:X"], "pip install umap-learn"),
        (["--method", "sklearn.decomposition:SparseCoder"], "cannot be created: "),
        (
            ["--method", "sklearn.feature_extraction.text:CountVectorizer"],
            "CountVectorizer failed on these rows with AttributeError",
        ),
        (["--method", "sklearn.manifold:TSME"], "has no class 'TSME'. Did you mean TSNE"),
        (["--option", "neighbors=3"], "Isomap has no parameter 'neighbors'. Did you mean n_neighb"),
        (["--option", "n_neighbors"], "must have the form name=value"),
        (
            ["--out", "a.txt"],
            "Unsupported file type: a.txt. Use .png, .svg, .pdf for a plot, or .c",
        ),
        (["--color", "kinds"], "--color: there is no column 'kinds'. Did you mean kind"),
        (["--scale", "much"], "--scale must be"),
        (
            ["--method", "nca", "--color", "proline"],
            "does not contain classes. Choose another column with --color",
        ),
        (["--out", "no/where/a.png"], "the directory"),
    ],
)
def test_error_messages(table, tmp_path, monkeypatch, words, error):
    color = [] if "--color" in words else ["--color", "kind"]
    assert error in error_of(monkeypatch, table, *color, *words)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["wine.csv"]


def test_too_few_rows_have_no_scores(tmp_path):
    frame = pd.DataFrame({"a": [1.0, 2.0, 4.0], "b": [0.0, 1.0, 0.0], "c": [3.0, 1.0, 2.0]})
    frame.to_csv(tmp_path / "t.csv", index=False)
    done = run(tmp_path / "t.csv", "--method", "pca", "--out", tmp_path / "t.png", "--json")
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert found["scores"] == {}
    assert "No scores" in found["notes"][-1]
    plain = run(tmp_path / "t.csv", "--method", "pca", "--out", tmp_path / "t.png")
    assert "trustworthiness" not in plain.stdout


def test_many_dimensions_and_a_numeric_colour(table, tmp_path):
    done = run(table, "--method", "pca", "--components", 5, "--color", "alcohol", "--drop",
                 "kind", "--out", "n.png", "--k", 500, "--json")  # fmt: skip
    found = json.loads(done.stdout)
    assert "n.png shows the first 2 of 5 dimensions." in found["notes"]
    assert "The scores use 88 neighbours, because there are only 178 rows." in found["notes"]
    assert "neighborhood_hit" not in found["scores"]


@pytest.mark.slow
def test_large_tables_use_samples_and_landmarks(tmp_path, rng):
    frame = pd.DataFrame(rng.normal(size=(5200, 3)), columns=list("abc"))
    frame.to_csv(tmp_path / "many.csv", index=False)
    done = run(tmp_path / "many.csv", "--method", "mds", "--out", tmp_path / "m.csv")
    assert done.exit_code == 0, done.output
    assert "±" in done.stdout
    assert "2,000 of 5,200 rows" in done.stderr
    assert "MDS uses 1,000 of 5,200 rows as landmarks" in done.stderr
    words = (tmp_path / "many.csv", "--out", tmp_path / "k.csv", "--method", "kpca")
    note_text = "set --option kernel__n_landmarks=None"
    assert note_text in run(*words).stderr
    assert "landmarks" not in run(*words, "--option", "kernel__n_landmarks=50").stderr


def test_interrupt_leaves_no_files(table, tmp_path, monkeypatch):
    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr("matplotlib.figure.Figure.savefig", interrupted)
    done = run(table, "--method", "pca", "--color", "kind", "--out", "a.png")
    assert done.exit_code == 130
    assert sorted(each.name for each in tmp_path.iterdir()) == ["wine.csv"]


def test_characters_without_a_font(table, tmp_path):
    frame = pd.read_csv(table).assign(kind="\U00013000")  # a hieroglyph, which no font contains
    frame.to_csv(table, index=False)
    done = run(table, "--method", "pca", "--color", "kind", "--out", "h.png")
    assert done.exit_code == 0, done.output
    assert "h.png shows boxes for characters that no installed font contains" in done.stderr


def test_error_without_matplotlib(table, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert "dimetric[plot]" in error_of(monkeypatch, table, "--method", "pca")


# Colours ------------------------------------------------------------------------------------------


@pytest.fixture
def drawn(monkeypatch):
    """Return a list that gets each display that is drawn."""
    displays, plotted = [], EmbeddingDisplay.plot

    def plot(self, **options):
        displays.append(plotted(self, **options))
        return self

    monkeypatch.setattr(EmbeddingDisplay, "plot", plot)
    return displays


@pytest.fixture
def visits(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng, n = np.random.default_rng(0), 90
    days = pd.date_range("2020-01-01", periods=n)
    frame = pd.DataFrame(rng.normal(size=(n, 3)), columns=["a", "b", "c"]).assign(
        day=days.strftime("%Y-%m-%d"),
        clock=[f"{i % 24:02}:{i % 60:02}" for i in range(n)],
        spent=[f"{i}h {i % 60}m" for i in range(n)],
        income=[f"${1000 + 17 * i:,}" if i % 9 else "N/A" for i in range(n)],
        name=[f"Name {i}" for i in range(n)],
        score=np.where(np.arange(n) % 3 == 0, np.nan, rng.normal(size=n)),
        kind=np.where(np.arange(n) % 5 == 0, "", np.where(np.arange(n) % 2, "x", "y")),
    )
    frame.to_csv("visits.csv", index=False)
    return frame


@pytest.mark.parametrize(
    ("color", "label", "n_drawn"),
    [
        ("day", "day", 90),
        ("clock", "clock (hour)", 90),
        ("spent", "spent (hours)", 90),
        ("income", "income (USD)", 80),
        ("score", "score", 60),
    ],
)
def test_dates_times_and_amounts_have_a_colour_bar(visits, drawn, color, label, n_drawn):
    done = run("visits.csv", "--color", color, "--method", "pca", "--out", "e.png")
    assert done.exit_code == 0, done.output
    (display,) = drawn
    assert display.classes_ is None
    assert display.colorbar_.ax.get_ylabel() == label
    assert len(display.points_[0].get_offsets()) == n_drawn
    assert sum(len(each.get_offsets()) for each in display.ax_.collections) == 90
    assert "could represent a regression problem" not in done.output
    assert "neighborhood_hit" not in done.output
    grey = f"Column '{color}' has no value in {90 - n_drawn} of 90 rows, which are grey."
    assert (grey in done.stderr) == (n_drawn < 90)
    if color == "day":
        ticks = [each.get_text() for each in display.colorbar_.ax.get_yticklabels()]
        assert "Feb" in ticks, ticks


def test_amounts_are_coloured_by_their_number(visits, drawn):
    run("visits.csv", "--color", "income", "--method", "pca", "--out", "e.png")
    read = visits["income"].str.replace(r"[$,]", "", regex=True)
    numbers = pd.to_numeric(read, errors="coerce").dropna().to_numpy()
    np.testing.assert_array_equal(drawn[0].points_[0].get_array(), numbers[drawn[0].order_])


def test_many_texts_are_not_colours(visits, drawn):
    done = run("visits.csv", "--color", "name", "--method", "pca", "--out", "e.png")
    assert done.exit_code == 0, done.output
    assert (drawn[0].y, drawn[0].legend_, drawn[0].colorbar_) == (None, None, None)
    assert (
        "Column 'name' has 90 distinct texts, which are too many for colours, so all points have "
        "the same colour." in done.stderr
    )
    assert "could represent a regression problem" not in done.output


def test_rows_without_a_class_are_grey(visits, drawn):
    words = ("visits.csv", "--color", "kind", "--method", "pca", "--out", "e.png", "--out", "e.csv")
    done = run(*words, "--json")
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert found["rows"] == 90
    assert "Column 'kind' has no value in 18 of 90 rows, which are grey." in found["notes"]
    assert drawn[0].classes_.tolist() == ["x", "y"]
    written = pd.read_csv("e.csv", keep_default_na=False)
    assert written["kind"].tolist() == visits["kind"].tolist()
    assert run(*words[:5], "--out", "e.npz").exit_code == 0
    with np.load("e.npz") as arrays:
        assert arrays["kind"].tolist() == visits["kind"].tolist()
    # A method that learns from the classes cannot use these rows.
    done = run("visits.csv", "--color", "kind", "--method", "lda", "--drop", "name", "--json")
    found = json.loads(done.stdout)
    assert found["rows"] == 72
    dropped = "Dropped 18 of 90 rows because of missing values. In 18 of them, column 'kind' has no"
    assert any(each.startswith(dropped) for each in found["notes"])


@pytest.mark.parametrize("components", [1, 3])
def test_missing_colours_in_one_and_three_dimensions(visits, drawn, components):
    words = ("--color", "score", "--method", "pca", "--components", components, "--out", "e.png")
    done = run("visits.csv", *words)
    assert done.exit_code == 0, done.output
    assert len(drawn[0].points_[0].get_offsets()) == 60


def test_a_column_without_values_is_no_colour(visits, drawn):
    visits.assign(empty="").to_csv("visits.csv", index=False)
    done = run("visits.csv", "--color", "empty", "--method", "pca", "--out", "e.png")
    assert done.exit_code == 0, done.output
    assert drawn[0].y is None


def test_one_feature_and_one_dimension(visits):
    visits[["a", "kind"]].to_csv("one.csv", index=False)
    done = run("one.csv", "--color", "kind", "--method", "pca", "--components", 1)
    assert "PCA: 90 rows, from 1 feature to 1 dimension, " in done.stdout
