"""Every verb that reads a table reads all types of files, several files, and standard input."""

import gzip
import json
import sqlite3
import subprocess
import sys

import duckdb
import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from dimetric.cli.main import app

SLOW_KINDS = ["tsv", "json", "jsonl.gz", "parquet", "duckdb"]
KINDS = ["xlsx", "jsonl", "feather", "sqlite"] + [
    pytest.param(each, marks=pytest.mark.slow) for each in SLOW_KINDS
]


def convert(source, kind):
    """Write the table of a CSV file as a file of another type."""
    frame, path = pd.read_csv(source), source.with_name(f"wine.{kind}")
    match kind:
        case "tsv":
            frame.to_csv(path, sep="\t", index=False)
        case "xlsx":
            frame.to_excel(path, index=False, startrow=2)
        case "jsonl":
            frame.to_json(path, orient="records", lines=True, double_precision=15)
        case "jsonl.gz":
            text = frame.to_json(orient="records", lines=True, double_precision=15)
            path.write_bytes(gzip.compress(text.encode()))
        case "json":
            frame.to_json(path, orient="records", double_precision=15)
        case "feather":
            frame.to_feather(path)
        case "parquet":
            frame.to_parquet(path)
        case "sqlite":
            connection = sqlite3.connect(path)
            frame.to_sql("wine", connection, index=False)
            connection.close()
        case "duckdb":
            import duckdb

            with duckdb.connect(str(path)) as connection:
                connection.register("frame", frame)
                connection.execute("CREATE TABLE wine AS SELECT * FROM frame")
    return path


@pytest.fixture
def fit(run, wine):
    """Return a function that fits a model to files, and returns its path."""

    def fitted(*files, name="a"):
        model = wine.with_name(f"{name}.dimetric")
        done = run("fit", *files, "--target", "kind", "--learner", "LDA", "--out", model)
        assert done.exit_code == 0, done.output
        return model

    return fitted


def outputs(run, model, *files, chunk="--keep id,colour,kind"):
    """Return the tables that transform and predict write."""
    tables = []
    for verb in ("transform", "predict"):
        out = model.with_name(f"{verb}.csv")
        done = run(verb, model, *files, "--out", out, *chunk.split())
        assert done.exit_code == 0, done.output
        tables.append(pd.read_csv(out))
    return tables


@pytest.mark.parametrize("kind", KINDS)
def test_all_types_give_the_results_of_a_csv_file(run, wine, fit, kind, monkeypatch):
    monkeypatch.setattr("dimetric.data._files.CELLS_PER_CHUNK", 400)
    path = convert(wine, kind)
    expected = outputs(run, fit(wine), wine)
    found = outputs(run, fit(path, name="b"), path)
    for one, other in zip(expected, found, strict=True):
        pd.testing.assert_frame_equal(one, other)
    near = []
    for each in (wine, path):
        done = run("neighbors", wine.with_name("a.dimetric"), each, "--row", 5, "--json")
        near.append(json.loads(done.stdout)["after"])
    assert near[0] == near[1]
    out = wine.with_name("z.csv")
    done = run("embed", path, "--method", "pca", "--color", "kind", "--out", out)
    assert done.exit_code == 0, done.output


def test_several_files(run, wine, fit):
    parts = [wine.with_name(f"part{i}.csv") for i in range(3)]
    for i, part in enumerate(parts):
        rows = pd.read_csv(wine)[i * 60 : (i + 1) * 60]
        rows[rows.columns[:: -1 if i else 1]].to_csv(part, index=False)
    expected = outputs(run, fit(wine), wine)
    found = outputs(run, fit(*parts, name="b"), *parts)
    for one, other in zip(expected, found, strict=True):
        pd.testing.assert_frame_equal(one, other)
    parts[1].write_text(parts[1].read_text().replace("ash", "asche"))
    done = run("fit", *parts, "--target", "kind", "--out", wine.with_name("c.dimetric"))
    assert done.exit_code == 1
    assert "part1.csv lacks the column 'ash'" in str(done.exception)


def test_standard_input(wine, fit, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    model = fit(wine)
    for content in (wine.read_bytes(), convert(wine, "parquet").read_bytes()):
        done = CliRunner().invoke(app, ["predict", str(model), "-"], input=content)
        assert done.exit_code == 0, done.output
        assert len(done.stdout.splitlines()) == 179
    arguments = ["embed", "-", "--method", "pca", "--color", "kind"]
    done = CliRunner().invoke(app, arguments, input=wine.read_bytes())
    assert done.exit_code == 0, done.output
    assert (tmp_path / "stdin-pca.png").exists()


def test_sheets_and_queries(run, wine):
    frame, book = pd.read_csv(wine), wine.with_name("wine.xlsx")
    with pd.ExcelWriter(book) as writer:
        pd.DataFrame({"a": [1]}).to_excel(writer, sheet_name="cover", index=False)
        frame.to_excel(writer, sheet_name="wines", index=False)
    model = wine.with_name("a.dimetric")
    for sheet in ("wines", "2"):
        done = run("fit", book, "--sheet", sheet, "--learner", "LDA", "--out", model)
        assert done.exit_code == 0, done.output
        assert "178 rows" in done.stdout
    out = wine.with_name("z.csv")
    done = run("predict", model, book, "--sheet", "wines", "--out", out)
    assert done.exit_code == 0, done.output
    database = convert(wine, "sqlite")
    query = "SELECT * FROM wine WHERE mg > 100"
    for path, sql in ((database, query), (wine, query.replace("wine", "data"))):
        done = run("transform", model, path, "--sql", sql, "--out", out)
        assert done.exit_code == 0, done.output
        assert len(pd.read_csv(out)) == np.sum(frame["mg"] > 100)
    done = run("fit", database, "--sql", "DROP TABLE wine", "--out", model)
    assert done.exit_code == 1
    assert "must be one SELECT statement" in str(done.exception)


@pytest.mark.slow
def test_duckdb_reports_no_leaks(wine):
    database, model = convert(wine, "duckdb"), wine.with_name("a.dimetric")
    words = ["fit", database, "--target", "kind", "--learner", "LDA", "--out", model]
    command = [sys.executable, "-m", "dimetric", *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "leak" not in done.stderr


@pytest.mark.parametrize(
    "words",
    [("compare",), ("fit", "--out", "a.dimetric"), ("embed",)],
    ids=lambda words: words[0],
)
def test_urls_are_refused(run, words):
    done = run(words[0], "https://example.org/a.csv", *words[1:])
    assert done.exit_code == 1
    assert str(done.exception) == (
        "dimetric does not download files. Download https://example.org/a.csv first, then pass the "
        "file."
    )


@pytest.mark.slow
def test_compare_reads_a_workbook(run, wine, tmp_path):
    path, out = convert(wine, "xlsx"), tmp_path / "out"
    words = ["--target", "kind", "--learners", "LDA", "--budget", 2, "--jobs", 1, "--out", out]
    done = run("compare", path, *words, "--json")
    assert done.exit_code == 0, done.output
    result = json.loads(done.stdout)["results"][0]
    assert (result["rows"], result["data"]) == (178, "wine")
    assert (out / "wine.html").exists()


@pytest.mark.slow
def test_duckdb_reports_no_leaks_when_the_command_ends(tmp_path):
    path = tmp_path / "iris.duckdb"
    with duckdb.connect(path) as base:
        base.execute("CREATE TABLE t AS SELECT i % 7 AS a, i % 3 AS kind FROM range(60) r(i)")
    command = [sys.executable, "-m", "dimetric", "inspect", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stderr == ""
