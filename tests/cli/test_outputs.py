"""What the verbs write: files, JSON objects, summaries, progress, and errors about files."""

import io
import json
import os
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning

import dimetric
from dimetric.cli import _terminal
from dimetric.cli.fit import _show_progress

# Summaries ----------------------------------------------------------------------------------------


def test_every_verb_says_what_it_wrote(run, wine, model):
    folder = wine.parent
    for words, expected in (
        (("fit", wine, "--learner", "LDA", "--out", folder / "a.dimetric"),
         f"Wrote {folder}/a.dimetric (LDA, 7 features, 3 classes)"),
        (("fit", wine, "--learner", "PCA", "--drop", "kind", "--out", folder / "b.dimetric"),
         f"Wrote {folder}/b.dimetric (PCA, 7 features)"),
        (("transform", model, wine, "--out", folder / "z.npz"),
         f"Wrote {folder}/z.npz (178 rows, 2 coordinates)"),
        (("export", model, "--out", folder / "m.onnx"), f"Wrote {folder}/m.onnx (ONNX model)"),
        (("export", model, "--to", "faiss", "--out", folder / "m.faiss"),
         f"Wrote {folder}/m.faiss (Faiss index, 178 samples)"),
        (("export", model, "--out", folder / "m.py"), f"Wrote {folder}/m.py (Python module)"),
        (("neighbors", model, wine, "--row", 3, "--k", 4, "--out", folder / "n.svg"),
         f"Wrote {folder}/n.svg (plot of 4 neighbours under each distance)"),
    ):  # fmt: skip
        done = run(*words)
        assert done.exit_code == 0, done.output
        assert expected in done.stdout.splitlines()
    done = run("predict", model, wine, "--out", folder / "p.csv")
    counts = pd.read_csv(folder / "p.csv")["prediction"].value_counts()
    listed = ", ".join(f"{name} {counts[name]}" for name in sorted(counts.index))
    assert done.stdout == f"Wrote {folder}/p.csv (178 rows: {listed})\n"


@pytest.mark.parametrize("option", ["--quiet", "-q"])
def test_quiet_prints_only_results(run, wine, model, option):
    folder = wine.parent
    for words in (
        ("fit", wine, "--learner", "LDA", "--out", folder / "a.dimetric"),
        ("transform", model, wine, "--out", folder / "z.csv"),
        ("predict", model, wine, "--out", folder / "p.csv"),
        ("embed", wine, "--method", "pca", "--out", folder / "e.csv"),
        ("export", model, "--out", folder / "m.onnx"),
    ):
        done = run(*words, option)
        assert (done.exit_code, done.output) == (0, ""), words
        assert words[-1].exists()
    loud, quiet = (
        run("neighbors", model, wine, "--row", 2),
        run("neighbors", model, wine, "--row", 2, option),
    )
    assert quiet.stdout == loud.stdout != ""
    predictions = run("predict", model, wine, option)
    assert len(predictions.stdout.splitlines()) == 179
    assert predictions.stderr == ""
    assert run("fit", wine, "--out", folder / "a.csv", option).exit_code == 1  # errors are printed
    assert run("info", model).stdout  # the next command is not quiet


# JSON ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("out", [[], ["--out", "-"], ["--out", "/dev/stdout"]])
def test_json_contains_the_results_without_a_file(run, wine, model, out):
    frame = pd.read_csv(wine)
    frame.loc[1, "ash"] = np.nan
    frame.to_csv(wine, index=False)
    done = run("predict", model, wine, "--probabilities", "--keep", "id", "--json", *out)
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    loaded = dimetric.load(model)
    complete = frame.drop(index=1)
    expected = loaded.predict(complete)
    predictions = found["results"]["prediction"]
    assert predictions[1] is None
    assert [each for i, each in enumerate(predictions) if i != 1] == list(expected)
    assert found["results"]["id"] == frame["id"].astype(str).tolist()
    P = np.array([found["results"][f"probability of {each}"] for each in loaded.classes_], float).T
    np.testing.assert_allclose(np.delete(P, 1, axis=0), loaded.predict_proba(complete))
    assert (found["out"], found["rows"], found["incomplete_rows"]) == (None, 178, 1)
    done = run("transform", model, wine, "--json", *out)
    found = json.loads(done.stdout)
    Z = np.array([found["results"][each] for each in found["columns"]], dtype=float).T
    assert np.isnan(Z[1]).all()
    table = wine.with_name("z.npz")
    run("transform", model, wine, "--out", table)
    with np.load(table) as arrays:
        np.testing.assert_array_equal(Z, arrays["X"])


def test_json_with_a_file_does_not_repeat_the_results(run, wine, model):
    out = wine.with_name("p.csv")
    found = json.loads(run("predict", model, wine, "--json", "--out", out).stdout)
    assert found["out"] == str(out)
    assert "results" not in found
    assert sum(found["classes"].values()) == len(pd.read_csv(out)) == 178


def test_hyphen_is_standard_output(run, wine, model):
    for verb in ("predict", "transform"):
        assert run(verb, model, wine, "--out", "-").stdout == run(verb, model, wine).stdout
    assert not wine.with_name("-").exists()


# Errors about files -------------------------------------------------------------------------------


@pytest.fixture
def no_reading(monkeypatch):
    """Fail if a verb reads a table, because the files to write should be checked before."""

    def fail(*args, **kwargs):
        raise AssertionError("The table was read before --out was checked.")

    monkeypatch.setattr("dimetric.data._files.TableFile.open", fail)
    monkeypatch.setattr("dimetric.advice._table.read_samples", fail)


VERBS_THAT_WRITE = {
    "fit": ("fit", "wine.csv", "--out"),
    "predict": ("predict", "wine.dimetric", "wine.csv", "--out"),
    "transform": ("transform", "wine.dimetric", "wine.csv", "--out"),
    "neighbors": ("neighbors", "wine.dimetric", "wine.csv", "--row", "1", "--out"),
    "export": ("export", "wine.dimetric", "--to", "onnx", "--out"),
    "compare": ("compare", "wine.csv", "--out"),
    "reproduce": ("reproduce", "--only", "iris", "--out"),
}
EXTENSIONS = {"fit": ".dimetric", "neighbors": ".png", "export": ".onnx", "compare": "",
              "reproduce": ""}  # fmt: skip
FOLDER_VERBS = ("compare", "reproduce")


@pytest.mark.parametrize("verb", VERBS_THAT_WRITE)
def test_files_are_checked_before_any_work(error_of, model, no_reading, monkeypatch, verb):
    monkeypatch.chdir(model.parent)
    before = {each.name for each in model.parent.iterdir()}
    words, end = VERBS_THAT_WRITE[verb], EXTENSIONS.get(verb, ".csv")

    def message(name):
        return error_of(*words, f"{name}{end}")

    assert message("https://host/m").startswith(
        f"dimetric: Cannot write https://host/m{end}: it is a URL. Give the path of a local file."
    )
    where = "m" if verb not in FOLDER_VERBS else "m/n"
    no_files = f"Cannot write /proc/{where}{end}: no files can be created in the directory /proc."
    assert no_files in message(f"/proc/{where}")
    if verb in FOLDER_VERBS:
        assert "wine.csv is not a directory. Give the path of a directory." in message("wine.csv")
        assert "wine.csv is not a directory." in message("wine.csv/sub")
    else:
        assert "nowhere does not exist. Create it first." in message("nowhere/m")
        assert "wine.csv is a file, not a directory." in message("wine.csv/m")
        os.mkdir(f"d{end}")
        assert f"d{end} is a directory, not a file." in message("d")
        os.rmdir(f"d{end}")
    assert {each.name for each in model.parent.iterdir()} == before


@pytest.mark.parametrize("verb", [each for each in VERBS_THAT_WRITE if each not in FOLDER_VERBS])
def test_read_only_files_are_kept(error_of, model, no_reading, monkeypatch, verb):
    monkeypatch.chdir(model.parent)
    name = f"m{EXTENSIONS.get(verb, '.csv')}"
    with open(name, "w") as file:
        file.write("mine")
    # The superuser may write all files.
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK)
    message = error_of(*VERBS_THAT_WRITE[verb], name)
    assert f"Cannot write {name}: it is read-only." in message
    with open(name) as file:
        assert file.read() == "mine"


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("m.csv", "Unsupported file type: m.csv. A model file ends in .dimetric. Use --out "
         "m.dimetric."),
        ("m", "Unsupported file type: m. A model file ends in .dimetric. Use --out m.dimetric."),
        ("a.b/m.onnx", "Use --out a.b/m.dimetric, and then run `dimetric export a.b/m.dimetric "
         "--to onnx --out a.b/m.onnx`."),
        ("m.pkl", "A model file ends in .dimetric"),
    ],
)  # fmt: skip
def test_models_end_in_dimetric(error_of, wine, no_reading, name, sentence):
    assert sentence in error_of("fit", wine, "--out", name)


def test_compare_writes_to_a_directory(error_of, wine, no_reading):
    message = error_of("compare", wine, "--out", "wine.html")
    assert "--out wine.html must be a directory, because several files are written." in message
    assert "Use --out wine." in message


def test_full_disk(error_of, wine, model):
    words = "predict", model, wine, "--out", "/dev/full"
    assert error_of(*words) == "dimetric: Cannot write /dev/full: No space left on device."


@pytest.mark.parametrize("verb", ["predict", "transform", "neighbors", "export"])
def test_exchanged_arguments(error_of, wine, model, verb):
    options = {"neighbors": ["--row", "1"], "export": ["--to", "faiss", "--out", "m.faiss"]}
    message = error_of(verb, wine, model, *options.get(verb, []))
    assert f"{wine} is not a model file, but {model} is. Give the model first" in message


def test_files_that_are_not_models(error_of, wine, tmp_path):
    message = error_of("info", wine)
    assert f"{wine} is not a model file, but a table. Run `dimetric fit {wine} --out" in message
    assert f"`dimetric inspect {wine}`" in message
    assert f"{tmp_path} is a directory, not a model file." in error_of("info", tmp_path)
    other = tmp_path / "other.dimetric"
    other.write_bytes(b"x" * 100)
    assert "other.dimetric is not a model file: it is not a saf" in error_of("info", other)
    message = error_of("info", "https://host/m.dimetric")
    assert message == (
        "dimetric: dimetric does not download files. Download https://host/m.dimetric first, then "
        "pass the file."
    )


def test_unreadable_model(error_of, model, monkeypatch):
    def refuse(*args, **kwargs):
        raise PermissionError(13, "Permission denied", str(model))

    monkeypatch.setattr("dimetric.export._container.open", refuse, raising=False)
    assert error_of("info", model) == f"dimetric: {model}: Permission denied."


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            ["--out", "m.sql"],
            "--out m.sql does not determine the format. Add --to duckdb or --to post",
        ),
        (["--out", "m.xyz"], "--out m.xyz does not determine the format. Add --to FORMAT."),
        (["--to", "onnx", "--out", "m.py"], "has the extension of another format than --to onnx."),
        (["--to", "duckdb", "--out", "m.dimetric"], "another format than --to duckdb."),
        (["--to", "faiss", "--out", "m.csv"], "another format than --to faiss."),
    ],
)
def test_formats_of_export(run, model, words, sentence):
    done = run("export", model, *words)
    assert done.exit_code == 2
    assert sentence in " ".join(done.stderr.split())


# Progress -----------------------------------------------------------------------------------------


class Terminal(io.StringIO):
    """A stream that claims to be a terminal."""

    def isatty(self):
        return True


def test_fit_shows_its_iterations_on_a_terminal():
    X, y = np.random.default_rng(0).normal(size=(40, 3)), np.arange(40) % 2
    shown = []
    learner = dimetric.NCA(max_iter=5, tol=0, random_state=0)
    _show_progress(learner, "Fitting NCA to 40 rows", shown.append)
    with pytest.warns(ConvergenceWarning):
        dimetric.KNNClassifier(3, learner=learner).fit(X, y)  # fits a copy of the learner
    assert shown[:3] == [
        "Fitting NCA to 40 rows",
        "Fitting NCA to 40 rows: iteration 1",
        "Fitting NCA to 40 rows: iteration 2",
    ]
    _show_progress(None, "Fitting Euclidean", shown.append)
    assert shown[-1] == "Fitting Euclidean"


def test_progress_is_shown_only_on_a_terminal(monkeypatch):
    for stream, quiet, expected in (
        (Terminal(), False, True),
        (Terminal(), True, False),
        (io.StringIO(), False, False),
    ):
        monkeypatch.setattr(sys, "stderr", stream)
        monkeypatch.setenv("TERM", "xterm")
        with _terminal.quiet_if(quiet):
            with _terminal.spinner("Reading [wine]") as show:
                assert (show is not None) == expected
                if show is not None:
                    show("Fitting [red]")
            with _terminal.ProgressBar("rows") as update:
                update(3, 10)
        assert ("Fitting [red]" in stream.getvalue()) == expected
        assert ("rows" in stream.getvalue()) == expected


# Files that must not be written -------------------------------------------------------------------


@pytest.mark.parametrize("how", ["same", "relative", "link", "hard link"])
def test_the_table_is_never_overwritten(wine, model, error_of, monkeypatch, how):
    monkeypatch.chdir(wine.parent)
    out, before = wine, wine.read_bytes()
    if how == "relative":
        out = f"../{wine.parent.name}/wine.csv"
    elif how != "same":
        out = wine.parent / "other.csv"
        (os.symlink if how == "link" else os.link)(wine, out)
    for words in (
        ("predict", model, wine, "--out", out),
        ("transform", model, wine, "--out", out),
        ("embed", wine, "--method", "pca", "--out", out),
        ("embed", wine, "--method", "pca", "--out", "e.png", "--out", out),
    ):
        message = error_of(*words)
        assert message == f"dimetric: --out {out} would overwrite the table. Write another file."
        assert wine.read_bytes() == before


def test_the_model_is_never_overwritten(wine, model, error_of):
    path = wine.parent / "model.csv"
    model.rename(path)
    before = path.read_bytes()
    assert "would overwrite the model." in error_of("predict", path, wine, "--out", path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("verb", ["predict", "transform", "embed", "fit", "neighbors", "export"])
def test_a_directory_given_as_the_output_file(wine, model, error_of, verb):
    folder = wine.parent / "results"
    folder.mkdir()
    words, example = {
        "predict": ((model, wine), "results.csv"),
        "transform": ((model, wine), "results.csv"),
        "embed": ((wine, "--method", "pca"), "plot.png"),
        "fit": ((wine,), "model.dimetric"),
        "neighbors": ((model, wine, "--row", 0), "plot.png"),
        "export": ((model, "--to", "onnx"), "model.onnx"),
    }[verb]
    message = error_of(verb, *words, "--out", folder)
    assert message == (
        f"dimetric: --out {folder} is a directory, not a file. Write a file such as "
        f"{folder / example}."
    )


@pytest.mark.parametrize("verb", ["inspect", "compare", "fit", "embed", "predict"])
def test_a_model_given_as_the_table(wine, model, error_of, verb):
    words = {"fit": (model, "--out", "x.dimetric"), "predict": (model, model)}.get(verb, (model,))
    assert error_of(verb, *words) == (
        f"dimetric: {model} is a model, not a table. Run `dimetric info {model}` to see what it "
        "holds."
    )


# Words of the command -----------------------------------------------------------------------------


def test_a_learner_of_classes_cannot_predict_numbers(wine, error_of):
    words = ("fit", wine, "--target", "alcohol", "--learner", "LDA", "--out", "a.dimetric")
    assert error_of(*words) == (
        "dimetric: LDA learns from classes, but column 'alcohol' is read as continuous numbers. "
        "Use --learner MLKR, PCA or Euclidean. If the numbers are classes, set --target-kind "
        "classes."
    )


def test_one_row_cannot_be_embedded(tmp_path, error_of):
    path = tmp_path / "one.csv"
    path.write_text("a,b,kind\n1,2,x\n")
    for method in ("isomap", "pca"):
        assert error_of("embed", path, "--method", method) == (
            "dimetric: one has only 1 usable row. An embedding needs at least 2."
        )


def test_one_feature_is_embedded_in_one_dimension(run, wine, tmp_path):
    pd.read_csv(wine)[["alcohol", "kind"]].to_csv(wine, index=False)
    done = run("embed", wine, "--color", "kind", "--method", "pca", "--out", tmp_path / "e.png")
    assert done.exit_code == 0, done.output
    assert "from 1 feature to 1 dimension" in done.stdout
    note = "The embedding has 1 dimension, because the table has only 1 feature."
    assert note in done.stderr
    words = ("--option", "n_components=2", "--method", "pca", "--out", tmp_path / "e.png")
    assert "n_components=2" in str(run("embed", wine, *words, "--drop", "kind").exception)


def test_info_tells_columns_from_features(run, wine, model):
    shown = run("info", model).stdout
    assert "reads" in shown
    assert "7 columns: alcohol, acid" in shown
    assert "\nfeatures" not in shown
