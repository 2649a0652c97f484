"""The verbs fit, transform and predict."""

import json
import os
import signal
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

import dimetric
from dimetric import KDA, LMNN
from dimetric.kernels import Kernel
from dimetric.solvers import SGD

SRC = str(Path(dimetric.__file__).parents[1])


def features(wine):
    return pd.read_csv(wine).drop(columns=["id", "kind"])


def test_fit_prints_a_summary(run, wine):
    out = wine.parent / "m.dimetric"
    done = run("fit", wine, "--target", "kind", "--learner", "NCA", "--option", "n_components=2",
                 "--option", "init=pca", "--out", out)  # fmt: skip
    assert done.exit_code == 0
    assert "Dropped column 'id': it looks like a row identifier." in done.stderr
    assert "NCA: 178 rows, 7 features" in done.stdout
    assert "3 classes: grignolino (71), barolo (59), barbera (48)" in done.stdout
    learner = dimetric.load(out)[-1].learner_
    assert learner.n_components == 2
    assert learner.init == "pca"
    assert learner.random_state == 0


def test_fit_as_json(run, wine):
    out = wine.parent / "m.dimetric"
    done = run("fit", wine, "--target", "kind", "--out", out, "--json")
    found = json.loads(done.stdout)
    assert found["rows"] == 178
    assert found["classes"] == {"grignolino": 71, "barolo": 59, "barbera": 48}
    assert 0.8 < found["leave_one_out_accuracy"] <= 1
    assert done.stderr == ""


def test_fit_without_classes(run, wine):
    out = wine.parent / "m.dimetric"
    done = run("fit", wine, "--learner", "pca", "--drop", "kind,colour", "--scale", "standard",
                 "--out", out)  # fmt: skip
    assert done.exit_code == 0, done.output
    model = dimetric.load(out)
    assert [name for name, _ in model.steps] == ["columns", "scale", "learner"]
    done = run("transform", out, wine)
    assert done.stdout.startswith('"pca0","pca1"')


def test_guessed_target_is_printed(run, wine):
    done = run("fit", wine, "--out", wine.parent / "m.dimetric", "--scale", "none")
    assert "No --target was given, so column 'kind' is used." in done.stderr
    assert [name for name, _ in dimetric.load(wine.parent / "m.dimetric").steps] == [
        "columns", "model",
    ]  # fmt: skip


@pytest.mark.parametrize("ending", ["csv", "tsv", "csv.gz", "parquet", "npz"])
def test_transform_matches_the_model(run, wine, model, ending):
    out = wine.parent / f"z.{ending}"
    done = run("transform", model, wine, "--out", out, "--keep", "id")
    assert done.exit_code == 0, done.output
    loaded = dimetric.load(model)
    Z = loaded[-1].learner_.transform(loaded[:-1].transform(features(wine)))
    if ending == "npz":
        with np.load(out) as found:
            np.testing.assert_array_equal(found["X"], Z)
            assert found["id"][0] == "1000"
        return
    found = pd.read_parquet(out) if ending == "parquet" else pd.read_csv(
        out, sep="\t" if ending == "tsv" else ",")  # fmt: skip
    assert list(found.columns) == ["id", "lda0", "lda1"]
    np.testing.assert_allclose(found[["lda0", "lda1"]], Z, rtol=1e-12)
    assert found["id"].astype(int).tolist() == list(range(1000, 1178))


@pytest.mark.parametrize("cells", [10, 10**6])
def test_predict_matches_the_model(run, wine, model, cells, monkeypatch):
    monkeypatch.setattr("dimetric.data._files.CELLS_PER_CHUNK", cells)
    out = wine.parent / "p.csv"
    done = run("predict", model, wine, "--out", out, "--probabilities", "--json")
    assert done.exit_code == 0, done.output
    loaded = dimetric.load(model)
    found = pd.read_csv(out)
    assert found["prediction"].tolist() == loaded.predict(features(wine)).tolist()
    probabilities = found[[f"probability of {name}" for name in loaded.classes_]]
    np.testing.assert_allclose(probabilities, loaded.predict_proba(features(wine)))
    summary = json.loads(done.stdout)
    assert summary["rows"] == 178
    assert sum(summary["classes"].values()) == 178


def test_rows_with_missing_values_have_empty_results(run, wine, model):
    frame = pd.read_csv(wine)
    frame.loc[[3, 170], "ash"] = np.nan
    frame.loc[5, "colour"] = "rosé"
    frame.drop(columns="kind").to_csv(wine, index=False)
    out = wine.parent / "p.csv"
    done = run("predict", model, wine, "--out", out, "--keep", "id")
    assert done.stderr.splitlines() == [
        "Found unknown categories in column 'colour' (number of values: 1).",
        "Results are empty for 2 of 178 rows because of missing values.",
    ]
    found = pd.read_csv(out)
    assert found.index[found["prediction"].isna()].tolist() == [3, 170]
    assert found["id"].tolist() == frame["id"].tolist()
    done = run("transform", model, wine, "--json", "--out", wine.parent / "z.npz")
    assert json.loads(done.stdout)["incomplete_rows"] == 2
    with np.load(wine.parent / "z.npz") as found:
        assert np.flatnonzero(np.isnan(found["X"]).any(axis=1)).tolist() == [3, 170]


def test_a_model_that_imputes_has_no_empty_results(run, wine):
    frame = pd.read_csv(wine)
    frame.loc[[3, 170], "ash"] = np.nan
    frame.to_csv(wine, index=False)
    out = wine.parent / "m.dimetric"
    done = run("fit", wine, "--target", "kind", "--missing", "impute", "--out", out, "--json")
    assert json.loads(done.stdout)["rows"] == 178
    done = run("predict", out, wine)
    assert "" not in done.stdout.splitlines()
    done = run("fit", wine, "--target", "kind", "--out", out, "--json")
    assert json.loads(done.stdout)["rows"] == 176


def test_npz_files(run, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 3)) + np.repeat([0, 5], 20)[:, None]
    np.savez(tmp_path / "a.npz", X=X, y=np.repeat([0, 1], 20))
    assert run("fit", tmp_path / "a.npz", "--out", tmp_path / "m.dimetric").exit_code == 0
    done = run("predict", tmp_path / "m.dimetric", tmp_path / "a.npz", "--out",
                 tmp_path / "p.npz")  # fmt: skip
    assert done.exit_code == 0, done.output
    with np.load(tmp_path / "p.npz") as found:
        assert found["prediction"].tolist() == [0] * 20 + [1] * 20


def test_model_that_is_only_a_learner(run, wine):
    from dimetric import LDA

    frame = pd.read_csv(wine)
    numbers = frame[["alcohol", "mg", "phenols"]]
    dimetric.save(LDA().fit(numbers, frame["kind"]), wine.parent / "m.dimetric")
    done = run("transform", wine.parent / "m.dimetric", wine)
    assert done.exit_code == 0, done.output
    first = [float(each) for each in done.stdout.splitlines()[1].split(",")]
    Z = LDA().fit(numbers, frame["kind"]).transform(numbers)
    np.testing.assert_allclose(first, np.asarray(Z)[0])


@pytest.mark.parametrize(
    ("learner", "options", "expected"),
    [
        (
            "KDA",
            ["kernel=poly", "kernel__degree=2", "kernel__n_landmarks=40"],
            KDA(kernel=Kernel("poly", degree=2, n_landmarks=40, random_state=0)),
        ),
        (
            "LMNN",
            ["solver=sgd", "solver__batch_size=32", "max_iter=2"],
            LMNN(solver=SGD(batch_size=32), max_iter=2, random_state=0),
        ),
    ],
)
def test_nested_parameters(run, wine, learner, options, expected):
    words = [word for each in options for word in ("--option", each)]
    path = wine.parent / "m.dimetric"
    done = run("fit", wine, "--target", "kind", "--learner", learner, *words, "--out", path)
    assert done.exit_code == 0, done.output
    assert str(dimetric.load(path)[-1].learner_) == str(expected)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--learner", "ncca"], "There is no learner 'ncca'. Did you mean NCA"),
        (["--learner", "zzz"], "Choose from ANMM, Covariance"),
        (["--learner", "Kernelized"], "There is no learner 'Kernelized'"),
        (["--learner", "Euclidean", "--option", "a=1"], "--option cannot be used with Euclidean"),
        (["--option", "n_comp=2"], "NCA has no parameter 'n_comp'. Did you mean n_components?"),
        (["--learner", "KDA", "--option", "gamma=1"], "Did you mean kernel__gamma?"),
        (["--learner", "KDA", "--option", "kernel__gamma=-1"], "'gamma' parameter of Kernel"),
        (["--option", "n_components"], "must have the form name=value"),
        (["--option", "n_components=-1"], "'n_components' parameter of NCA"),
        (["--target", "kin"], "--target: there is no column 'kin'. Did you mean kind"),
        (
            ["--target", "alcohol", "--target-kind", "classes"],
            "'alcohol' has 126 distinct numbers in 178 rows, so it",
        ),
        (["--target", "99"], "--target: column number 99 is out of range. There are 9 columns"),
        (["--scale", "big"], "--scale must be"),
        (["--missing", "fill"], "--missing must be"),
        (["--drop", "kint"], "--drop: there is no column 'kint'"),
        (["--out", "no/where/m.dimetric"], "the directory"),
        (["--k", "178"], "--k must be at most 177, not 178, because the model is fitted"),
    ],
)
def test_error_messages_of_fit(monkeypatch, wine, words, sentence, error_of):
    monkeypatch.chdir(wine.parent)
    words = ["--out", "m.dimetric", *words] if "--out" not in words else words
    words = ["--target", "kind", *words] if "--target" not in words else words
    assert sentence in error_of("fit", wine, *words)
    assert {each.name for each in wine.parent.iterdir()} == {"wine.csv"}


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["transform", "no.dimetric", "wine.csv"], "no.dimetric"),
        (["transform", "wine.csv", "wine.csv"], "wine.csv is not a model file"),
        (["transform", "wine.dimetric", "no.csv"], "There is no file no.csv"),
        (["transform", "wine.dimetric", "other.csv"], "no column 'alcohol' (6 more are missing)"),
        (["transform", "wine.dimetric", "wine.csv", "--keep", "idd"], "Did you mean id"),
        (
            ["transform", "wine.dimetric", "wine.csv", "--out", "z.xls"],
            "Unsupported file type: z.xls",
        ),
        (["predict", "pca.dimetric", "wine.csv"], "was fitted without a target"),
    ],
)
def test_error_messages_of_transform_and_predict(
    monkeypatch, wine, model, run, words, sentence, error_of
):
    monkeypatch.chdir(wine.parent)
    Path("other.csv").write_text("a,b\n1,2\n")
    run("fit", wine, "--learner", "pca", "--out", "pca.dimetric")
    before = {each.name for each in wine.parent.iterdir()}
    assert sentence in error_of(*words)
    assert {each.name for each in wine.parent.iterdir()} == before


def test_wrong_usage_exits_with_2(run, wine, model):
    assert run("fit").exit_code == 2
    assert run("fit", wine, "--out", "/dev/stdout", "--json").exit_code == 2
    assert run("fit", wine, "--out", "x.dimetric", "--k", 0).exit_code == 2
    for verb in ("fit", "transform", "predict", "compare"):
        assert "--json" in run(verb, "--help").output


CODE = "from dimetric.cli import main; main()"
ENVIRONMENT = os.environ | {"PYTHONPATH": os.pathsep.join([SRC, *sys.path])}


def start_process(*words, **options):
    return subprocess.Popen(
        [sys.executable, "-c", CODE, *map(str, words)], text=True, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, env=ENVIRONMENT, **options,
    )  # fmt: skip


@pytest.mark.slow
def test_interrupt_leaves_no_files(wine, model):
    big = wine.parent / "big.csv"
    frame = pd.concat([pd.read_csv(wine)] * 3000)
    frame.to_csv(big, index=False)
    out = wine.parent / "z.csv"
    out.write_text("as it was")
    process = start_process("transform", model, big, "--out", out)
    deadline = time.monotonic() + 120
    while not any(each.name.startswith(".") for each in wine.parent.iterdir()):
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.01)
    # An interrupt in the microseconds after the folder is created leaves it to the next call.
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in stderr
    assert out.read_text() == "as it was"
    assert not any(each.name.startswith(".") for each in wine.parent.iterdir())


@pytest.mark.slow
def test_model_is_written_to_standard_output(wine):
    """The summary goes to standard error, so that the output is only the model."""
    words = ("fit", wine, "--target", "kind", "--learner", "LDA", "--out")
    process = start_process(*words, wine.parent / "m.dimetric")
    assert "Wrote " in process.communicate(timeout=120)[0]
    expected = dimetric.load(wine.parent / "m.dimetric")[-1].learner_.components_
    for name in ("/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"):
        with open(wine.parent / "log", "wb") as log:
            log.write(b"before")
        with open(wine.parent / "log", "ab") as log:  # as in >> log
            command = [sys.executable, "-c", CODE, *map(str, words), name]
            done = subprocess.run(
                command, stdout=log, stderr=subprocess.PIPE, text=True, check=True, env=ENVIRONMENT
            )
        assert f"Wrote {name}" in done.stderr
        content = (wine.parent / "log").read_bytes()
        assert content.startswith(b"before")
        (wine.parent / "n.dimetric").write_bytes(content.removeprefix(b"before"))
        loaded = dimetric.load(wine.parent / "n.dimetric")  # rejects files with more bytes
        np.testing.assert_array_equal(loaded[-1].learner_.components_, expected)
    process = start_process(*words, "/dev/stdout", "--json")
    assert (
        "--json requires --out FILE, because both would write to standard output."
        in process.communicate(timeout=120)[1]
    )


def test_streams_receive_results(run, wine, model):
    for words in (
        ("transform", model, wine, "--out", "/dev/null"),
        ("predict", model, wine, "--out", "/dev/null"),
        ("fit", wine, "--learner", "PCA", "--target", "kind", "--out", "/dev/null"),
        ("embed", wine, "--method", "pca", "--color", "kind", "--out", "/dev/null"),
    ):
        done = run(*words)
        assert done.exit_code == 0, done.output
        assert "Wrote /dev/null" in done.stdout
        assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    pipe, received = wine.parent / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: received.append(pipe.read_text()))
    reader.start()
    run("transform", model, wine, "--out", pipe)
    reader.join(60)
    assert received == [run("transform", model, wine).stdout]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


@pytest.mark.slow
def test_closed_pipe_prints_no_error(wine, model):
    big = wine.parent / "big.csv"
    pd.concat([pd.read_csv(wine)] * 300).to_csv(big, index=False)
    process = start_process("transform", model, big)
    process.stdout.readline()
    process.stdout.close()
    with process.stderr as stderr:
        assert stderr.read() == ""
    assert process.wait(timeout=60) == 1


def test_euclidean_coordinates_are_the_scaled_features(run, wine):
    out = wine.parent / "m.dimetric"
    run("fit", wine, "--target", "kind", "--learner", "Euclidean", "--out", out)
    done = run("transform", out, wine)
    assert done.stdout.splitlines()[0].startswith('"alcohol","acid"')
    values = np.array([line.split(",") for line in done.stdout.splitlines()[1:]], dtype=float)
    np.testing.assert_allclose(values.min(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(values.max(axis=0), 1)


def test_model_without_feature_names_ignores_other_columns(run, tmp_path, error_of):
    X, y = load_iris(return_X_y=True)
    path, out = tmp_path / "m.dimetric", tmp_path / "out.csv"
    classifier = dimetric.KNNClassifier(3, learner=dimetric.LDA()).fit(X, y)
    dimetric.save(classifier, path)
    frame = pd.DataFrame(X, columns=list("abcd"))
    table = tmp_path / "iris.csv"
    ids = {"id": np.arange(150) + 7, "kind": np.where(y, "u", "v")}
    for others, keep in (({"class": y}, ""), ({"species": y}, "species"), (ids, "")):
        frame.assign(**others).to_csv(table, index=False)
        done = run("predict", path, table, "--out", out, "--keep", keep)
        assert done.exit_code == 0, done.exception
        names = ", ".join(map(repr, others))
        assert f"4 features are matched by position. Ignored columns: {names}." in done.stderr
        np.testing.assert_array_equal(pd.read_csv(out)["prediction"], classifier.predict(X))
    np.savez(tmp_path / "iris.npz", X=X, y=y)
    done = run("predict", path, tmp_path / "iris.npz", "--out", out)
    assert "Ignored columns: 'y'." in done.stderr
    frame.assign(e=1.0).to_csv(table, index=False)
    message = error_of("predict", path, table)
    expected = "5 columns, but there were 4 columns without names during fit. Pass exactly these"
    assert expected in message


@pytest.mark.parametrize("ending", ["csv", "parquet", "npz"])
def test_dtype_of_results_does_not_depend_on_the_first_rows(run, tmp_path, monkeypatch, ending):
    monkeypatch.setattr("dimetric.data._files.CELLS_PER_CHUNK", 4)
    frame = pd.DataFrame({"a": [0.0, 1, 2, 10, 11, 12], "b": 0.5, "class": [0, 0, 0, 1, 1, 1]})
    frame.to_csv(tmp_path / "t.csv", index=False)
    model, out = tmp_path / "m.dimetric", tmp_path / f"p.{ending}"
    words = ("--target", "class", "--learner", "pca", "--out", model, "--k", 1)
    assert run("fit", tmp_path / "t.csv", *words).exit_code == 0
    frame.loc[:2, "a"] = np.nan
    frame.drop(columns="class").to_csv(tmp_path / "new.csv", index=False)
    done = run("predict", model, tmp_path / "new.csv", "--out", out)
    assert done.exit_code == 0, done.output
    if ending == "npz":
        with np.load(out) as arrays:
            found = arrays["prediction"]
    else:
        found = (pd.read_csv if ending == "csv" else pd.read_parquet)(out)["prediction"]
    np.testing.assert_array_equal(np.asarray(found, dtype=float), [np.nan] * 3 + [1] * 3)


def test_failed_write_leaves_no_files(run, wine, model, monkeypatch):
    def full(self):
        raise OSError("No space left on device")

    for ending, writer in (("npz", "_NpzWriter"), ("csv", "_RowWriter")):
        monkeypatch.setattr(f"dimetric.data._writers.{writer}.close", full)
        done = run("transform", model, wine, "--out", wine.parent / f"z.{ending}")
        assert isinstance(done.exception, OSError)
        assert {each.name for each in wine.parent.iterdir()} == {"wine.csv", "wine.dimetric"}


def test_table_without_rows(run, wine, model):
    wine.write_text(wine.read_text().splitlines()[0] + "\n")
    done = run("predict", model, wine)
    assert done.exit_code == 0, done.output
    assert done.stdout == '"row","prediction"\n'


@pytest.fixture
def long_ids(wine, monkeypatch):
    """Return a function that writes a Parquet file with ids above 2^53, some of them missing.

    The file is read in chunks of two rows.
    """
    monkeypatch.setattr("dimetric.data._files.CELLS_PER_CHUNK", 20)

    def write(*missing):
        frame = pd.read_csv(wine).head(8)
        frame["id"] = pd.array([2**53 + 1 + i for i in range(8)], dtype="Int64")
        frame.loc[list(missing), "id"] = pd.NA
        frame.to_parquet(wine.with_name("long.parquet"))
        return wine.with_name("long.parquet"), frame["id"]

    return write


@pytest.mark.parametrize("missing", [(0,), (0, 1), (3,), ()])
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_ids_are_copied_exactly(run, model, long_ids, missing, ending):
    table, ids = long_ids(*missing)
    out = table.with_name(f"p.{ending}")
    done = run("predict", model, table, "--keep", "id", "--out", out)
    assert done.exit_code == 0, done.output
    read = pd.read_parquet(out, dtype_backend="pyarrow") if ending == "parquet" else (
        pd.read_csv(out, dtype=str))  # fmt: skip
    copied = ["" if pd.isna(each) else str(each) for each in read["id"]]
    assert copied == ["" if pd.isna(each) else str(each) for each in ids]


def test_npz_with_missing_ids_is_an_error(run, model, long_ids, error_of):
    table, _ = long_ids(5)
    words = ("predict", model, table, "--keep", "id", "--out", table.with_name("p.npz"))
    assert "Write a .csv or .parquet file" in error_of(*words)
    assert not table.with_name("p.npz").exists()


def test_kept_column_with_the_name_of_a_result_is_an_error(wine, model, error_of):
    frame = pd.read_csv(wine).rename(columns={"kind": "prediction"})
    frame.to_csv(wine, index=False)
    message = error_of("predict", model, wine, "--keep", "prediction")
    assert "--keep: column 'prediction' has the same name as a column of results" in message
