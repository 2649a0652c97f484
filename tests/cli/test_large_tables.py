"""Parquet tables larger than the memory limit: in blocks, or sampled by row groups."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import dimetric

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

LIMIT = 4e-4  # GB; the table takes 5e-4
N_ROWS, GROUP_ROWS = 3000, 50


@pytest.fixture
def table(tmp_path):
    """Write a table of 60 row groups, with a category, missing values, and rows in class order."""
    rng = np.random.default_rng(0)
    y = np.sort(rng.integers(0, 3, N_ROWS))
    X = rng.normal(size=(N_ROWS, 4)) * [1, 1, 1, 20] + y[:, None] * [2.0, -1.0, 0.5, 0]
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    frame["colour"] = rng.choice(["red", "green", "blue"], N_ROWS)
    frame["number"] = X[:, 0] - X[:, 1] + 0.1 * rng.normal(size=N_ROWS)
    frame["kind"] = np.array(["barolo", "grignolino", "barbera"])[y]
    frame.loc[::500, "b"] = np.nan
    frame.loc[7, "kind"] = None
    path = tmp_path / "big.parquet"
    arrow = pa.Table.from_pandas(frame, preserve_index=False)
    pq.write_table(arrow, path, row_group_size=GROUP_ROWS)
    return path


def fitted(run, table, *words):
    """Run fit, and return the model and the results."""
    out = table.parent / "m.dimetric"
    done = run("fit", table, "--out", out, "--json", *words)
    assert done.exit_code == 0, done.output
    return dimetric.load(out), json.loads(done.stdout)


@pytest.mark.parametrize("scale", ["minmax", "standard", "none"])
@pytest.mark.parametrize("learner", ["LDA", "PCA"])
def test_a_fit_in_blocks_equals_the_fit_in_memory(run, table, learner, scale):
    words = ("--target", "kind", "--learner", learner, "--scale", scale, "--drop", "number")
    whole, in_memory = fitted(run, table, *words)
    model, results = fitted(run, table, *words, "--max-memory", LIMIT, "--sample-rows", 1000)
    assert not in_memory["in_blocks"]
    assert results["in_blocks"]
    assert results["rows"] == in_memory["rows"] == N_ROWS - 7
    assert results["classes"] == in_memory["classes"]
    assert results["features"] == in_memory["features"] == 7
    assert results["sampling"] == {
        "n_rows": 1001,  # the row without a class is a stratum
        "n_all_rows": N_ROWS,
        "n_groups": 60,
        "n_all_groups": 60,
    }
    assert any("Left out 7 of 3,000 rows" in each for each in results["notes"])
    frame = pd.read_parquet(table).dropna()
    mapped, expected = (
        each[:-1].transform(frame) @ each[-1].learner_.components_.T for each in (model, whole)
    )
    np.testing.assert_allclose(mapped, expected, rtol=0, atol=1e-8 * np.abs(expected).max())
    assert 990 <= model[-1].n_samples_fit_ < 1001
    assert set(model[-1].classes_) == {"barolo", "grignolino", "barbera"}
    agreement = np.mean(model.predict(frame) == whole.predict(frame))
    assert agreement > 0.8


def test_the_robust_scaling_is_that_of_the_sampled_rows(run, table):
    words = ("--target", "kind", "--learner", "LDA", "--scale", "robust", "--max-memory", LIMIT)
    model, results = fitted(run, table, *words)
    assert any("quartiles for scaling are those of the sampled rows" in n for n in results["notes"])
    frame = pd.read_parquet(table).dropna()
    assert abs(model["scale"].center_[0] - frame["a"].median()) < 0.1


def test_a_fit_without_target_ends_with_the_learner(run, table):
    words = ("--learner", "PCA", "--drop", "kind,number", "--max-memory", LIMIT)
    model, results = fitted(run, table, *words)
    assert results["in_blocks"]
    assert results["rows"] == N_ROWS - 6
    assert results["target"] is None
    whole, _ = fitted(run, table, "--learner", "PCA", "--drop", "kind,number")
    np.testing.assert_allclose(
        model[-1].explained_variance_, whole[-1].explained_variance_, rtol=1e-9
    )


def test_numbers_are_predicted_from_sampled_neighbours(run, table):
    words = ("--target", "number", "--learner", "PCA", "--drop", "kind", "--max-memory", LIMIT)
    model, results = fitted(run, table, *words)
    assert results["in_blocks"]
    assert results["classes"] == {}
    assert results["leave_one_out_r2"] > 0.5
    frame = pd.read_parquet(table).dropna()
    assert np.corrcoef(model.predict(frame), frame["number"])[0, 1] > 0.8


def test_a_pairwise_learner_says_how_many_references_it_used(run, table):
    out = table.parent / "m.dimetric"
    done = run("fit", table, "--target", "kind", "--learner", "NCA", "--out", out,
               "--max-memory", LIMIT, "--option", "n_references=200")  # fmt: skip
    assert done.exit_code == 0, done.output
    assert "NCA: 2,993 rows in blocks" in done.stdout
    assert "All 2,993 rows met 200 reference rows" in done.stderr


def test_a_learner_that_needs_all_rows_is_fitted_to_a_sample(run, table):
    out = table.parent / "m.dimetric"
    done = run("fit", table, "--target", "kind", "--learner", "ITML", "--out", out,
               "--max-memory", LIMIT, "--sample-rows", 300)  # fmt: skip
    assert done.exit_code == 0, done.output
    sentence = "301 of 3,000 rows, sampled from 60 of 60 row groups"
    assert f"Fitted to: {sentence}" in done.stdout
    assert "more than the limit of 0.0004 GB (--max-memory)" in done.stderr
    assert dimetric.describe(out)["about"]["sample"] == sentence


def test_a_model_of_blocks_is_like_any_other(run, table):
    out, results = table.parent / "m.dimetric", table.parent / "r.parquet"
    done = run("fit", table, "--target", "kind", "--learner", "LDA", "--drop", "number",
               "--out", out, "--max-memory", LIMIT)  # fmt: skip
    assert "LDA: 2,993 rows in blocks, 7 features" in done.stdout
    neighbors = "2,379 of 3,000 rows, sampled from 60 of 60 row groups"
    assert f"Neighbours of new rows: {neighbors}" in done.stdout
    assert dimetric.describe(out)["about"]["neighbors"] == neighbors
    assert "reads" in run("info", out).stdout
    assert run("transform", out, table, "--out", results).exit_code == 0
    frame = pd.read_parquet(table)
    model = dimetric.load(out)
    Z = model[-1].learner_.transform(model[:-1].transform(frame.dropna()))
    mapped = pd.read_parquet(results).dropna()
    assert len(mapped) == N_ROWS - 6
    np.testing.assert_allclose(mapped.drop(index=7).to_numpy(), Z, rtol=0, atol=1e-12)
    assert run("predict", out, table, "--out", results, "--keep", "kind").exit_code == 0
    found = pd.read_parquet(results).dropna()
    assert np.mean(found["prediction"] == found["kind"]) > 0.8


def test_compare_says_that_it_used_a_sample(run, table):
    folder = table.parent / "out"
    words = ("compare", table, "--target", "kind", "--learners", "LDA", "--budget", 3, "--jobs", 1)
    words += ("--max-memory", LIMIT, "--out", folder)
    sentence = "2,379 of 3,000 rows, sampled from 60 of 60 row groups"
    done = run(*words)
    assert done.exit_code == 0, done.output
    assert f"  {sentence}" in done.stdout
    assert f"A sample was drawn: {sentence}." in done.stderr
    assert sentence in (folder / "big.html").read_text()
    assert dimetric.describe(folder / "big.dimetric")["about"]["sample"] == sentence
    found = json.loads(run(*words, "--json").stdout)["results"][0]
    assert found["sampling"]["n_rows"] == 2379
    assert found["sampling"]["n_all_rows"] == N_ROWS


@pytest.mark.filterwarnings("ignore:Dropped:UserWarning")
def test_compare_in_python_samples_a_large_file(table):
    options = {"target": "kind", "learners": ["LDA"], "budget": 2, "max_memory": LIMIT, "n_jobs": 1}
    one, same = (dimetric.compare(table, random_state=3, **options) for _ in range(2))
    rows = one.samples.table.rows
    np.testing.assert_array_equal(rows, same.samples.table.rows)
    frame = pd.read_parquet(table)
    np.testing.assert_array_equal(frame["a"].to_numpy()[rows], one.samples.table.columns["a"])
    assert any("sampled from 60 of 60 row groups" in each for each in one.notes)
    other = dimetric.compare(table, random_state=4, **options)
    assert not np.array_equal(rows, other.samples.table.rows)
    assert dimetric.compare(table, **options | {"max_memory": None}).samples.table.sampling is None


def test_embed_shows_a_sample(run, table):
    out = table.parent / "e.csv"
    done = run("embed", table, "--color", "kind", "--method", "pca", "--max-memory", LIMIT,
               "--out", out)  # fmt: skip
    assert done.exit_code == 0, done.output
    assert "2,379 of 3,000 rows, sampled from 60 of 60 row groups" in done.stderr
    assert pd.read_csv(out)["row"].max() > 2900  # numbers of the rows in the file


def test_the_limit_must_be_positive(error_of, table):
    words = ("fit", table, "--learner", "LDA", "--out", table.parent / "m.dimetric")
    assert "--max-memory must be a positive number of GB, not 0" in error_of(
        *words, "--max-memory", 0
    )
    with pytest.raises(ValueError, match="max_memory must be a positive number of GB, not -1"):
        dimetric.compare(table, target="kind", max_memory=-1)


def test_errors_name_the_options(error_of, table):
    words = ("fit", table, "--learner", "LDA", "--max-memory", LIMIT, "--out", "m.dimetric")
    assert "--target: there is no column 'kin'. Did you mean kind" in error_of(
        *words, "--target", "kin"
    )
    message = error_of(*words, "--target", "number")
    assert "LDA learns from classes, but column 'number' is read as" in message


# Prints how much the anonymous memory of the process grows while the command runs, in MB.
MEASURED = """
import re, sys, threading, time
import numpy, pandas, pyarrow.parquet, sklearn.pipeline, sklearn.frozen, scipy.linalg, rich.console
import dimetric
from dimetric.cli.main import app

def anonymous():
    return int(re.search(r"RssAnon:\\s+(\\d+)", open("/proc/self/status").read())[1]) / 1024

def watch():
    while True:
        peak[0] = max(peak[0], anonymous())
        time.sleep(0.005)

base = anonymous()
peak = [base]
threading.Thread(target=watch, daemon=True).start()
try:
    app(sys.argv[1:])
finally:
    print(f"grew by {peak[0] - base:.0f} MB")
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc")
@pytest.mark.parametrize("group_rows", [100_000, 2_000_000])
def test_memory_does_not_grow_with_the_table(tmp_path, group_rows):
    rng = np.random.default_rng(0)
    n, path = 2_000_000, tmp_path / "big.parquet"
    y = rng.integers(0, 3, n)
    columns = {f"f{j}": np.round(rng.normal(size=n) + y, 2) for j in range(18)}
    arrow = pa.table(columns | {"class": y})
    assert arrow.nbytes > 300e6
    pq.write_table(arrow, path, row_group_size=group_rows)
    del arrow, columns
    source = str(Path(dimetric.__file__).parents[1])
    environment = os.environ | {"PYTHONPATH": source, "OMP_NUM_THREADS": "1"}
    model, mapped = tmp_path / "m.dimetric", tmp_path / "z.parquet"
    options = ["--max-memory", "0.05", "--sample-rows", "2000"]
    for words in (
        ["fit", path, "--target", "class", "--learner", "LDA", "--out", model, *options],
        ["transform", model, path, "--out", mapped],
    ):
        done = subprocess.run(
            [sys.executable, "-c", MEASURED, *map(str, words)],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        grown = int(done.stdout.rpartition("grew by ")[2].split()[0])
        # In memory, the table alone would take more than 300 MB. Imports take about 30 MB.
        assert 5 < grown < 200, f"{words[0]} takes {grown} MB"
    assert pq.ParquetFile(mapped).metadata.num_rows == n
