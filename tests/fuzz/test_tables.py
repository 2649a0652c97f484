"""Random tables and options for functions that read tables, for benchmarks, and for the command."""

import json
import re
from contextlib import suppress
from functools import partial
from string import printable

import numpy as np
import pandas as pd
import pytest
from fuzzing import ANYTHING, Refused, arguments, assert_finite, examples, obeying_rules
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import dimetric
from dimetric import LDA, NCA, Covariance, benchmark
from dimetric.cli.main import app
from dimetric.data import TableEncoder, read_table

pytestmark = pytest.mark.slow

COLUMNS = {
    "numbers": lambda rng, n: rng.normal(size=n),
    "integers": lambda rng, n: rng.integers(-3, 3, n),
    "constant": lambda rng, n: np.full(n, 5),
    "largest": lambda rng, n: rng.uniform(-1, 1, n) * 1e308,
    "subnormal": lambda rng, n: rng.uniform(size=n) * 1e-310,
    "huge integers": lambda rng, n: rng.integers(2**62, 2**63 - 1, n),
    "missing": lambda rng, n: np.full(n, np.nan),
    "some missing": lambda rng, n: np.where(rng.uniform(size=n) < 0.3, np.nan, 1.0),
    "infinite": lambda rng, n: np.where(rng.uniform(size=n) < 0.3, np.inf, 1.0),
    "categories": lambda rng, n: rng.choice(["red", "green", "blue"], n),
    "numbers as text": lambda rng, n: rng.choice(["1,5", "2,5", "1e3", ""], n),
    "unique texts": lambda rng, n: np.array([f"text {i}" for i in range(n)]),
    "mixed types": lambda rng, n: np.array([1, "a", None, 2.5] * n, dtype=object)[:n],
    "lists": lambda rng, n: pd.Series([[1, 2]] * n),
    "bytes": lambda rng, n: np.array([b"a", b"b"] * n, dtype=object)[:n],
    "control characters": lambda rng, n: rng.choice(["\x1b[31m", "a\tb", 'a"b', "=1+1"], n),
    "long texts": lambda rng, n: rng.choice(["x" * 5000, "y"], n),
    "dates": lambda rng, n: pd.date_range("2020-01-01", periods=n).to_numpy(),
    "durations": lambda rng, n: pd.to_timedelta(np.arange(n), unit="h").to_numpy(),
    "booleans": lambda rng, n: rng.uniform(size=n) < 0.5,
    "nullable": lambda rng, n: pd.array(rng.integers(0, 3, n), dtype="Int64"),
    "category": lambda rng, n: pd.Categorical(rng.choice(["u", "v"], n)),
    "complex": lambda rng, n: rng.normal(size=n) + 1j,
}
NAMES = [*("a", "b", "c", "", " ", "class", "target", "a=b", "id", "0", "1.5", "null", "=A1"), 'q"']
NAMES += ["é" * 300, "\x1b[2J", "two\nlines", "drop table x", 7, 2.5, None]
VALID_COLUMNS = ["numbers", "integers", "categories", "booleans"]
CLASSES = [None, *COLUMNS, *["labels"] * 20]


@st.composite
def tables(draw, wild=True):
    """Draw a data frame, whose last column holds class labels or something else."""
    n = draw(st.sampled_from([1, 2, 5, 12, 30, 30] if wild else [30, 40]))
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    kind = st.sampled_from(VALID_COLUMNS * 3 + (list(COLUMNS) if wild else []))
    columns = draw(st.lists(kind, min_size=0 if wild else 2, max_size=5))
    table = pd.DataFrame({i: COLUMNS[kind](rng, n) for i, kind in enumerate(columns)})
    y_kind = draw(st.sampled_from(CLASSES if wild else ["labels"]))
    if y_kind is not None:
        labels = rng.choice(["yes", "no"], n) if y_kind == "labels" else COLUMNS[y_kind](rng, n)
        table[len(columns)] = labels
    count = table.shape[1]
    usual = [*"abcdefg"[: count - 1], "class"][:count]
    names = draw(st.lists(st.sampled_from(NAMES), min_size=count, max_size=count)) if wild else []
    table.columns = names if wild and draw(st.booleans()) else usual
    return table


@st.composite
def tables_and_targets(draw):
    """Draw a table, and the name of its target, which may be absent."""
    table = draw(tables(wild=draw(st.sampled_from([True, True, False]))))
    names = list(table.columns)
    return table, draw(st.sampled_from([None, *names, *names[-1:] * 5, "absent", 0, -1]))


@given(tables(), tables(), st.sampled_from(["raise", "impute", "keep", None, 3]))
@examples(40)
def test_table_encoder(table, new, missing):
    """An encoder gives finite features, except for the missing values that it keeps."""
    try:
        encoder = obeying_rules(TableEncoder(missing=missing).fit, table)
    except Refused:
        return
    for X in (table, new, table.to_numpy(), table[:1], table[table.columns[::-1]]):
        try:
            features = obeying_rules(encoder.transform, X)
            obeying_rules(encoder.encode, X)
        except Refused:
            continue
        assert len(features) == len(X)
        assert features.shape[1] == len(encoder.get_feature_names_out())
        if missing != "keep":
            assert_finite(features, "features")


@given(
    tables_and_targets(), st.sampled_from(["drop", "raise", "impute", "keep", ""]), st.booleans()
)
@examples(30)
def test_read_table(tmp_path_factory, table_and_target, missing, from_file):
    """A table gives samples and labels of equal lengths, from memory and from a file."""
    source, target = table_and_target
    if from_file:
        path = tmp_path_factory.mktemp("tables") / "table.csv"
        source.to_csv(path, index=False)
        source = path
    try:
        data = obeying_rules(read_table, source, target, missing=missing)
    except Refused:
        return
    assert_finite(data.X, "X")
    assert data.y is None or len(data.X) == len(data.y)
    assert data.X.shape[1] == len(data.feature_names)


COMPARE_CHOICES = {
    "groups": ["a", "class", "absent", np.arange(30) // 3, [1, 2]],
    "learners": [["LDA", "nonsense"], [LDA(), "PCA"], {"mine": Covariance()}, [], "LDA"],
    "n_neighbors": [1, 5, 100],
    "cv": [2, 30],
    "rope": [0.0, 0.5, 2.0],
    "missing": ["impute", "nonsense"],
    "drop": [["a"], ["absent"], "a", ["class"]],
    "random_state": [0, 7],
    "callback": [None],
}


@given(st.data())
@examples(8)
def test_compare(tmp_path_factory, data):
    """A comparison ends with valid scores, a verdict and a report, or a clear error."""
    table, target = data.draw(tables_and_targets())
    drawn = data.draw(arguments(COMPARE_CHOICES, COMPARE_CHOICES, data.draw(st.booleans())))
    options = {"learners": ["LDA", "PCA"]} | drawn | {"budget": 1.0, "n_jobs": 1}
    try:
        result = obeying_rules(dimetric.compare, table, target=target, **options)
    except Refused:
        return
    for scores in map(np.asarray, result.scores.values()):
        assert np.all(np.isfinite(scores))
        if not result.samples.task.is_regression:
            assert np.all((scores >= 0) & (scores <= 1))
    path = tmp_path_factory.mktemp("reports") / "report.html"
    with suppress(Refused):
        obeying_rules(result.report, path)
        text = re.sub(r"base64,[\w+/=]*", "", path.read_text(encoding="utf-8"))  # pictures
        assert "nan" not in re.findall(r"[a-z]+", text)
        obeying_rules(lambda: result.insight)
        assert obeying_rules(result.to_dict)


RUN_CHOICES = {
    "n_neighbors": [1, (1, 3), 1000, []],
    "cv": [2, 10, 1],
    "n_repeats": [2, 0],
    "groups": [np.arange(40) // 4, {"first": np.arange(40) // 2}, [1]],
    "scale": ["fold", "all", None, "nonsense"],
    "param_grids": [{"LDA": {"reg": [0.0, 0.1]}}, {"absent": {}}, {"LDA": {"nonsense": [1]}}],
    "tuning_cv": [2, 0],
    "time_budget": [10.0, 0.0],
    "retry": [True],
    "random_state": [1, None],
    "drop": [None, "a"],
}


@given(st.data())
@examples(12)
def test_benchmark(data):
    """A benchmark gives a cell for each fold, and failed fits do not stop it."""
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    samples = rng.normal(size=(40, 3)), rng.choice(["u", "v"], 40)
    data_sets = data.draw(
        st.sampled_from([{"first": samples}, {"first": (samples[0][:3], [0, 0, 1])}, {}, samples])
    )
    learners = data.draw(
        st.sampled_from([{"LDA": LDA()}, [None, NCA(max_iter=2)], [LDA(9)], ["PCA"], {}, None])
    )
    wild = data.draw(st.booleans())
    options = {"cv": 3} | data.draw(arguments(RUN_CHOICES, RUN_CHOICES, wild)) | {"n_jobs": None}
    try:
        result = obeying_rules(benchmark.run, learners, data_sets, **options)
        frame = obeying_rules(result.frame)
    except Refused:
        return
    assert_finite(frame.query("status == 'ok'")[["train", "test", "time"]], "scores")
    assert (frame.query("status != 'ok'")["message"].str.len() > 0).all()
    for value in (None, 3, data.draw(ANYTHING)):
        for function in (result.scores, partial(benchmark.summary, result)):
            with suppress(Refused):
                obeying_rules(function, n_neighbors=value)


@given(st.lists(st.tuples(st.sampled_from("gacrn"), ANYTHING, ANYTHING), max_size=6))
@examples(25)
def test_store(tmp_path_factory, steps):
    """A store accepts keys and cells of the right types only, and stays readable."""
    path = tmp_path_factory.mktemp("stores") / "store.sqlite"
    store = benchmark.Store(path)
    cell = benchmark.Cell("iris", "PCA", 3, 0, 0, 0.9, 0.8)
    store.add("fit", {"key": cell})
    for step, first, second in steps:
        calls = {
            "g": (store.get, [first, "key"]),
            "a": (store.add, "another fit", {"another key": cell._replace(data=first)}),
            "c": (store.claim, first, second),
            "r": (store.release,),
            "n": (store.renew,),
        }
        with suppress(Refused):
            obeying_rules(*calls[step])
    store.close()
    reopened = benchmark.Store(path)
    assert reopened.get(["key"])["key"].test == 0.8
    reopened.close()


# The command

OPTION_VALUES = [*("", "0", "1", "2", "3", "-1", "1.5", "nan", "inf", "1e400", "a", "class"), "é"]
OPTION_VALUES += ["absent", "a,b", ",", "LDA", "PCA", "NCA", "impute", "\x1b[31m", "x" * 3000]
OPTION_VALUES += [
    "n_components=1",
    "n_components=",
    "=",
    "max_iter=2",
    "n_components=99",
    "--",
    "/",
]
VERBS = {
    "fit": ["--target", "--learner", "--option", "--k", "--scale", "--drop", "--missing", "--seed"],
    "embed": [
        *("--method", "--color", "--components", "--option", "--k", "--scale", "--drop"),
        *("--missing", "--seed"),
    ],
    "transform": ["--keep"],
    "predict": ["--keep", "--probabilities"],
    "neighbors": ["--row", "--k", "--target", "--show"],
    "info": [],
    "export": ["--to", "--id", "--kind", "--dtype", "--table", "--columns"],
    "compare": ["--target", "--learners", "--k", "--folds", "--drop", "--groups", "--missing"],
}
REQUIRED = {
    "fit": ["--learner", "LDA", "--out", "new.dimetric"],
    "embed": ["--method", "pca", "--out", "embedding.csv"],
    "neighbors": ["--row", "0"],
    "export": ["--to", "duckdb", "--out", "model.sql"],
    "compare": ["--budget", "1", "--jobs", "1", "--learners", "LDA", "--out", "results"],
}


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A model file of samples with the columns a and b."""
    rng = np.random.default_rng(0)
    path = tmp_path_factory.mktemp("model") / "lda.dimetric"
    table = path.with_suffix(".csv")
    frame = pd.DataFrame(rng.normal(size=(30, 2)), columns=["a", "b"])
    frame.assign(c=["yes", "no", "maybe"] * 10).to_csv(table, index=False)
    words = ["fit", str(table), "--learner", "LDA", "--out", str(path), "--target", "c"]
    assert CliRunner().invoke(app, words).exit_code == 0
    return path


@pytest.mark.parametrize("verb", VERBS)
@given(data=st.data())
@examples(10)
def test_command(verb, model, tmp_path_factory, data):
    """The command prints printable text, and valid JSON on request. An error is one line."""
    folder = tmp_path_factory.mktemp("command")
    table = data.draw(tables(wild=data.draw(st.sampled_from([True, True, False]))))
    path = folder / "table.csv"
    table.to_csv(path, index=False)
    words = [verb] if verb in ("fit", "embed", "compare") else [verb, str(model)]
    words += [] if verb in ("info", "export") else [str(path)]
    words += [str(folder / each) if "." in each else each for each in REQUIRED.get(verb, [])]
    words = [str(folder / each) if each == "results" else each for each in words]
    for option in data.draw(st.lists(st.sampled_from(VERBS[verb] or ["--nonsense"]), max_size=2)):
        words += [option, data.draw(st.sampled_from(OPTION_VALUES))]
    words += data.draw(st.sampled_from([[], [], ["--json"], ["--no-header"], ["--header"]]))
    _check_command(words)


def _check_command(words):
    """Check the output of the command. Errors that a user can fix are printed in one line."""
    result = obeying_rules(CliRunner().invoke, app, words)
    error = result.exception
    if isinstance(error, ValueError | OSError | ImportError):  # main() prints their messages
        with pytest.raises(Refused):
            obeying_rules(_raise, error)
        return
    if error is not None and not isinstance(error, SystemExit):
        raise error
    text = result.output
    assert "Traceback" not in text
    assert all(c.isprintable() or c in printable for c in text), repr(text)
    assert "\x1b" not in text, repr(text)
    if "--json" in words and result.exit_code == 0:
        json.loads(result.stdout, parse_constant=_refuse_constant)


def _raise(error):
    raise error


def _refuse_constant(text):
    raise AssertionError(f"the JSON contains {text}")
