"""The verbs info and export."""

import json
import os
import runpy

import duckdb
import faiss
import numpy as np
import onnxruntime
import pandas as pd
import pytest
import usearch.index
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MinMaxScaler
from typer.testing import CliRunner

import dimetric
from dimetric import KPCA, LDA, Isomap, KNNClassifier
from dimetric.cli.main import app
from dimetric.cli.main import run as command
from dimetric.data._encoder import TableEncoder
from dimetric.export._index import map_samples


@pytest.fixture(autouse=True)
def wide(monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    y = np.arange(90) % 3
    frame = pd.DataFrame(rng.normal(size=(90, 3)) + y[:, None], columns=["a", "b", "c"])
    frame["colour"] = np.array(["red", "green", "blue"])[rng.integers(0, 3, 90)]
    return frame.assign(key=7 * np.arange(90) + 1, kind=np.array(["x", "y", "z"])[y])


@pytest.fixture
def folder(tmp_path, table):
    """Write a table, a classifier and two learners fitted to it. Return their directory."""
    columns = table[["a", "b", "c", "colour"]]
    steps = [("columns", TableEncoder()), ("scale", MinMaxScaler())]
    for name, last in (("knn", KNNClassifier(learner=LDA())), ("kpca", KPCA(2)), ("lda", LDA())):
        model = Pipeline([*steps, ("model", last)]).fit(columns, table["kind"])
        dimetric.save(model, tmp_path / f"{name}.dimetric", about={"rows": 90, "data": "made up"})
    table.to_csv(tmp_path / "table.csv", index=False)
    return tmp_path


def run(*words):
    return CliRunner().invoke(app, [str(each) for each in words])


def output_of(*words):
    result = run(*words)
    assert result.exit_code == 0, result.output
    return result.stdout


# info ----------------------------------------------------------------------------------------


def test_info(folder):
    text = output_of("info", folder / "knn.dimetric")
    for part in (
        "TableEncoder(missing='raise')", "KNNClassifier(learner=LDA(",
        "4 columns: a, b, c, colour", "3: x, y, z", "made up", "dimetric ", "format 2",
    ):  # fmt: skip
        assert part in text


def test_info_json(folder):
    found = json.loads(output_of("info", folder / "knn.dimetric", "--json"))
    assert found["model"] == str(folder / "knn.dimetric")
    assert found["classes"] == ["x", "y", "z"]
    assert [step["class"] for step in found["steps"]][-1] == "KNNClassifier"
    assert found["about"]["rows"] == 90


def test_info_of_a_learner_with_many_names(tmp_path):
    rng = np.random.default_rng(0)
    names = [f"[red]\x1b[31m{i}" for i in range(30)]  # control codes and rich markup
    frame = pd.DataFrame(rng.normal(size=(60, 30)), columns=names)
    dimetric.save(LDA().fit(frame, np.arange(60) % 3), tmp_path / "model", about="a\x07bc")
    text = output_of("info", tmp_path / "model")
    assert "\x1b" not in text
    assert "\x07" not in text
    assert r"[red]\x1b[31m0, " in text
    assert "and 18 more" in text
    assert r"a\x07bc" in text


def test_info_of_other_files(folder, capsys, monkeypatch):
    for name, error in (
        ("nowhere", "There is no file nowhere."),
        (str(folder), "is a directory, not a model file."),
        (
            str(folder / "table.csv"),
            "is not a model file, but a table. Run `dimetric fit ",
        ),
    ):
        monkeypatch.setattr("sys.argv", ["dimetric", "info", name])
        with pytest.raises(SystemExit, match=error):
            command()
    assert not capsys.readouterr().out


# export --------------------------------------------------------------------------------------


def encoded(folder, table, name="knn"):
    """Return a model, the columns of its table, and the encoded columns."""
    model = dimetric.load(folder / f"{name}.dimetric")
    columns = table[["a", "b", "c", "colour"]]
    return model, columns, model[0].transform(columns)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_onnx(folder, table, dtype):
    model, columns, X = encoded(folder, table)
    out = folder / "m.onnx"
    text = output_of(
        "export", folder / "knn.dimetric", "--to", "onnx", "--out", out, "--dtype", dtype
    )
    assert "X has 6 numeric columns: a, b, c, colour=blue, colour=green, colour=red" in text
    session = onnxruntime.InferenceSession(out, providers=["CPUExecutionProvider"])
    (label,) = session.run(["label"], {"X": X.astype(dtype)})
    np.testing.assert_array_equal(label, model.predict(columns))


def test_numpy(folder, table):
    model, columns, X = encoded(folder, table, "kpca")
    text = output_of("export", folder / "kpca.dimetric", "--to", "numpy", "--out", folder / "m.py")
    assert "import m; m.transform(X)" in text
    module = runpy.run_path(str(folder / "m.py"))
    np.testing.assert_allclose(module["transform"](X), model.transform(columns), atol=1e-9)
    text = output_of(
        "export", folder / "kpca.dimetric", "--to", "numpy", "--out", folder / "m-1.py"
    )
    assert "To use it" not in text


@pytest.mark.parametrize("words", [[], ["--kind", "hnsw"]])
def test_faiss(folder, table, words):
    model, columns, X = encoded(folder, table)
    table.loc[5, "a"] = None
    table.to_csv(folder / "incomplete.csv", index=False)
    out = folder / "index"
    result = run("export", folder / "knn.dimetric", folder / "incomplete.csv", "--to", "faiss",
                   "--out", out, "--id", "key", "--json", *words)  # fmt: skip
    assert json.loads(result.stdout)["samples"] == 89
    assert json.loads(result.stdout)["notes"] == ["Dropped 1 of 90 rows because of missing values."]
    _, ids = faiss.read_index(str(out)).search(X[:3].astype(np.float32), 10)
    kept = np.delete(np.arange(90), 5)
    Z = map_samples(model, columns)
    near = np.argsort(np.linalg.norm(Z[:3, None] - Z[kept], axis=2), axis=1)[:, :10]
    np.testing.assert_array_equal(ids, 7 * kept[near] + 1)


def test_usearch_index_of_training_samples(folder, table):
    model, columns, _ = encoded(folder, table)
    text = output_of(
        "export", folder / "knn.dimetric", "--to", "usearch", "--out", folder / "index"
    )
    assert "(USearch index, 90 samples)" in text
    found = usearch.index.Index.restore(str(folder / "index"))
    Z = map_samples(model, columns).astype(np.float32)
    np.testing.assert_array_equal(found.search(Z[:4], 1, exact=True).keys.ravel(), np.arange(4))


def test_usearch_index_of_a_kernel_learner(folder, table):
    text = output_of("export", folder / "kpca.dimetric", folder / "table.csv", "--to", "usearch",
                "--out", folder / "index")  # fmt: skip
    call = text.partition("To use it: ")[2].partition(".search")[0]
    assert len(eval(call, {"usearch": usearch})) == 90  # the call that is shown to the user


def test_duckdb(folder, table):
    model, columns, _ = encoded(folder, table)
    output_of("export", folder / "knn.dimetric", "--to", "duckdb", "--out", folder / "map.sql",
         "--table", "things", "--id", "key")  # fmt: skip
    with duckdb.connect() as base:
        base.register("table_", table)
        base.sql("CREATE TABLE things AS SELECT * FROM table_")
        base.execute((folder / "map.sql").read_text())
        found = base.sql("SELECT key FROM things_nearest(8, 10)").fetchnumpy()["key"]
    Z = map_samples(model, columns)
    near = np.argsort(np.linalg.norm(Z - Z[1], axis=1))[1:11]
    np.testing.assert_array_equal(found, 7 * near + 1)


@pytest.mark.parametrize(("columns", "part"), [("e", '"e" AS x'), ("a,b,c,d,e,f", '"f"')])
def test_postgres(folder, columns, part):
    output_of("export", folder / "knn.dimetric", "--to", "postgres", "--out", folder / "map.sql",
         "--columns", columns)  # fmt: skip
    assert part in (folder / "map.sql").read_text()


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["lda.dimetric", "--to", "faiss"], "required, because LDA does not store its"),
        (["kpca.dimetric", "table.csv", "--to", "faiss"], "A faiss index requires a linear map"),
        (["kpca.dimetric", "--to", "duckdb"], "SQL requires a linear map"),
        (["knn.dimetric", "--to", "faiss", "--kind", "tree"], "--kind must be 'flat' or 'hnsw'"),
        (["knn.dimetric", "table.csv", "--to", "faiss", "--id", "kind"], "must contain integers"),
        (["knn.dimetric", "table.csv", "--to", "faiss", "--id", "kee"], "Did you mean key?"),
        (
            ["knn.dimetric", "empty.csv", "--to", "faiss"],
            "All rows of empty.csv have missing values",
        ),
        (["knn.dimetric", "nowhere.csv", "--to", "faiss"], "There is no file nowhere.csv"),
        (["knn.dimetric", "--to", "onnx", "--dtype", "int8"], "--dtype must be 'float32' or"),
        (["knn.dimetric", "--to", "duckdb", "--columns", "a,b"], "--columns has 2 names, but the"),
        (["knn.dimetric", "--to", "duckdb", "--columns", "a,a"], "--columns contains 'a' more"),
        (["isomap.dimetric", "--to", "onnx"], "Isomap cannot be exported"),
        (["table.csv", "--to", "onnx"], "table.csv is not a model file"),
    ],
)
def test_error_messages(words, error, folder, monkeypatch):
    monkeypatch.chdir(folder)
    dimetric.save(Isomap().fit(np.random.default_rng(0).normal(size=(30, 3))), "isomap.dimetric")
    (folder / "empty.csv").write_text("a,b,c,colour\n,1,1,red\n1,,1,red\n")
    before = sorted(os.listdir())
    monkeypatch.setattr("sys.argv", ["dimetric", "export", *words, "--out", "out"])
    with pytest.raises(SystemExit) as raised:
        command()
    assert str(raised.value).startswith("dimetric: ")
    assert error in str(raised.value)
    assert sorted(os.listdir()) == before


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["table.csv", "--to", "onnx"], "DATA can only be used with --to faiss or"),
        (["--to", "faiss", "--id", "key"], "--id requires DATA"),
        (["--to", "oracle"], "'oracle' is not one of"),
        (["--to", "numpy"], "must end in .py"),
        ([], "--out out does not determine the format. Add --to FORMAT."),
    ],
)
def test_wrong_usage(words, error, folder, monkeypatch):
    monkeypatch.chdir(folder)
    result = run("export", "knn.dimetric", *words, "--out", "out")
    assert result.exit_code == 2
    assert error in result.output
    assert not (folder / "out").exists()
