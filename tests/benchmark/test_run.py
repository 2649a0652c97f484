"""Tests of benchmark.run: scores, failures, worker processes, keys, and runs that are killed."""

import multiprocessing
import os
import random
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from functools import partial

import numpy as np
import pytest
from benchmark_runs import (
    CrashingLearner,
    FailingLearner,
    LoggingLearner,
    alive,
    small_run,
    wait_for,
)
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris
from sklearn.metrics import r2_score
from sklearn.model_selection import StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler, minmax_scale

from dimetric import LDA, PCA, KNNRegressor, NCMClassifier, benchmark
from dimetric.benchmark import Store, _cells, _keys, summary
from dimetric.benchmark._keys import key_of, source_digest
from dimetric.data import DataSet
from dimetric.selection import _splits, tune
from dimetric.selection._splits import splits

X, y = load_iris(return_X_y=True)


def results(found):
    """Return the reproducible fields of all cells: all but time, memory and metadata."""
    return repr([(*cell[:7], cell.status, cell.message) for cell in found.cells])


def iris_with_folds(X=X):
    fold = np.zeros(len(y), int)
    for i, (_, test) in enumerate(StratifiedKFold(5, shuffle=True, random_state=1).split(X, y)):
        fold[test] = i + 1
    return DataSet(X, y, tuple("abcd"), name="iris", extra={"fold": fold})


@pytest.mark.parametrize("scale", ["fold", "set", None])
def test_scores_match_scikit_learn(scale):
    # Without ties, at which scikit-learn's result depends on the order of the samples.
    X = load_iris().data + np.random.default_rng(0).normal(scale=1e-3, size=(150, 4))
    data = iris_with_folds(X)
    found = benchmark.run(
        [None, NCMClassifier()], [data], n_neighbors=[3, 5], fold_column="fold", scale=scale
    )
    assert len(found.cells) == 5 * 3
    for cell in found.cells:
        assert (cell.data, cell.repeat, cell.status, cell.message) == ("iris", 0, "ok", "")
        if cell.learner == "NCMClassifier":
            assert cell.n_neighbors is None
            continue
        test = data.extra["fold"] == cell.fold + 1
        Z = minmax_scale(X) if scale == "set" else X
        if scale == "fold":
            Z = MinMaxScaler().fit(X[~test]).transform(X)
        model = KNeighborsClassifier(cell.n_neighbors).fit(Z[~test], y[~test])
        assert cell.test == pytest.approx(model.score(Z[test], y[test]))
        alone = model.kneighbors(return_distance=False)
        votes = np.stack([(y[~test][alone] == c).sum(axis=1) for c in range(3)], axis=1)
        assert cell.train == pytest.approx(np.mean(votes.argmax(axis=1) == y[~test]))


def test_result_as_frame_and_mean_scores():
    found = benchmark.run({"E": None, "LDA": LDA()}, ["iris", "wine"], cv=3, n_repeats=2)
    assert repr(found) == "BenchmarkResult(24 cells: 24 ok)"
    frame = found.frame()
    assert list(frame.columns[:5]) == ["data", "learner", "n_neighbors", "repeat", "fold"]
    assert list(frame[frame.data == "wine"].repeat) == [0] * 6 + [1] * 6
    means = found.scores("train")
    assert (means.data, means.learners) == (["iris", "wine"], ["E", "LDA"])
    grouped = frame.groupby(["data", "learner"]).train.mean().unstack()
    assert_allclose(means.values, grouped.to_numpy())
    assert np.all(found.scores("time").values > 0)
    assert all("time" in cell.metadata for cell in found.cells if cell.learner == "LDA")
    with pytest.raises(ValueError, match="field='speed' must be"):
        found.scores("speed")
    several = benchmark.run([None], ["iris"], cv=3, n_neighbors=[1, 3])
    with pytest.raises(ValueError, match=r"n_neighbors is required\. Choose one of \[1, 3\]"):
        several.scores()
    alone = benchmark.run([None], ["iris"], cv=3, n_neighbors=3)
    assert_array_equal(several.scores(n_neighbors=3).values, alone.scores().values)


def test_seeds_depend_on_the_split_only():
    first = benchmark.run({"a": LoggingLearner()}, ["iris"], cv=3)
    again = benchmark.run({"b": LoggingLearner(2), "a": LoggingLearner()}, ["iris"], cv=3)
    seeds = [cell.metadata["seed"] for cell in first.cells]
    assert len(set(seeds)) == 3
    assert seeds == [cell.metadata["seed"] for cell in again.cells if cell.learner == "a"]
    assert "array" not in first.cells[0].metadata
    fixed = benchmark.run({"a": LoggingLearner(random_state=7)}, ["iris"], cv=2)
    assert [cell.metadata["seed"] for cell in fixed.cells] == [7, 7]


def test_nested_tuning():
    params = {"power": {"power": [0, 1]}, "NCM": {"learner": [None, LDA()]}}
    learners = {"power": LoggingLearner(), "NCM": NCMClassifier()}
    found = benchmark.run(learners, ["iris"], cv=3, param_grids=params, tuning_cv=3)
    chosen = [cell.metadata["best_params"] for cell in found.cells if cell.learner == "power"]
    assert chosen == [{"power": 1}] * 3  # with power 0, all samples are equal
    assert found.cells[1].metadata["best_params"] == {"learner": "LDA()"}
    with pytest.raises(
        ValueError, match=r"param_grids has keys \['NCA'\], which are not names of learners"
    ):
        benchmark.run(learners, ["iris"], param_grids={"NCA": {}})


def test_failed_fits_do_not_stop_the_run(tmp_path):
    learners = {"bad": FailingLearner(log=tmp_path / "log"), "good": LoggingLearner()}
    options = {"cv": 2, "store": tmp_path / "cells"}
    found = benchmark.run(learners, ["iris"], **options)
    assert repr(found) == "BenchmarkResult(4 cells: 2 ok, 2 failed)"
    assert found.cells[0].message == "RuntimeError: no way"
    assert np.isnan(found.scores().values[0]).tolist() == [True, False]
    (tmp_path / "log").touch()
    assert results(benchmark.run(learners, ["iris"], **options)) == results(found)
    again = benchmark.run(learners, ["iris"], retry=True, **options)
    assert repr(again) == "BenchmarkResult(4 cells: 4 ok)"


@pytest.mark.slow
def test_statuses_in_worker_processes(tmp_path):
    class Local(LoggingLearner):
        pass

    learners = {
        "slow": LoggingLearner(seconds=60.0),
        "crashing": CrashingLearner(),
        "local": Local(),
        "exiting": CrashingLearner(how="sys.exit"),
    }
    options = {"cv": 2, "n_jobs": 2, "store": tmp_path / "cells"}
    found = benchmark.run(learners, ["iris"], time_budget=1.0, **options)
    status = {cell.learner: (cell.status, cell.message) for cell in found.cells}
    assert status == {
        "slow": ("timeout", "Exceeded the time budget of 1 s."),
        "crashing": ("crashed", "The worker process exited with status 3."),
        "local": ("ok", ""),
        "exiting": ("failed", "SystemExit: bye"),
    }
    assert all(1 <= cell.time < 60 for cell in found.cells if cell.learner == "slow")


@pytest.mark.slow
def test_crashes_in_a_single_worker():
    learners = {
        "killed": CrashingLearner(how="kill"),
        "crashing": CrashingLearner(),
        "good": LoggingLearner(),
    }
    found = benchmark.run(learners, ["iris"], cv=2, n_jobs=1, time_budget=np.inf)
    status = {cell.learner: (cell.status, cell.message) for cell in found.cells}
    assert status == {
        "killed": ("crashed", "The worker process was killed by SIGSEGV."),
        "crashing": ("crashed", "The worker process exited with status 3."),
        "good": ("ok", ""),
    }
    exiting = benchmark.run([CrashingLearner(how="sys.exit")], ["iris"], cv=2)  # in this process
    assert {cell.message for cell in exiting.cells} == {"SystemExit: bye"}


@pytest.mark.slow
def test_results_do_not_depend_on_n_jobs(tmp_path):
    learners, calls = ["NCA", "ITML", None], []
    one = benchmark.run(learners, ["iris"], cv=3)
    two = benchmark.run(
        learners, ["iris"], cv=3, n_jobs=2, callback=lambda *each: calls.append(each)
    )
    assert results(one) == results(two)
    assert [each[0] for each in calls] == list(range(10))
    assert {each[1] for each in calls} == {9}


def test_cv_accepts_splitters_and_lists_of_splits():
    splitter = StratifiedKFold(4, shuffle=True, random_state=2)
    found = benchmark.run([None], ["iris"], cv=splitter)
    assert [(cell.repeat, cell.fold) for cell in found.cells] == [(0, i) for i in range(4)]
    listed = benchmark.run([None], {"iris": (X, y)}, cv=list(splitter.split(X, y)))
    assert results(listed) == results(found)
    with pytest.raises(ValueError, match="n_repeats=2 requires an int as cv"):
        benchmark.run([None], ["iris"], cv=splitter, n_repeats=2)


def test_equal_learners_are_fitted_once(tmp_path):
    log = tmp_path / "log"
    learners = {"a": LoggingLearner(log=log), "b": LoggingLearner(log=log)}
    found = benchmark.run(learners, ["iris"], cv=2, store=tmp_path / "cells")
    assert [cell.learner for cell in found.cells] == ["a", "b"] * 2
    assert len(log.read_text().splitlines()) == 2
    more = benchmark.run(learners, ["iris"], cv=2, store=tmp_path / "cells", n_neighbors=[3, 5])
    assert len(log.read_text().splitlines()) == 4  # the cells of 5 neighbours were missing
    assert [c.test for c in more.cells if c.n_neighbors == 3] == [c.test for c in found.cells]


def preloaded_processes():
    """Return a multiprocessing context whose processes start with dimetric imported."""
    processes = multiprocessing.get_context("forkserver")
    processes.set_forkserver_preload(["dimetric.benchmark._run"])
    return processes


@pytest.mark.slow
@pytest.mark.parametrize(("n_jobs", "n_kills"), [(None, 20), (2, 4)])
def test_killed_runs_resume_without_repeating_cells(tmp_path, n_jobs, n_kills):
    """Kill runs at random moments: finished cells are neither lost nor computed again."""
    processes = preloaded_processes()
    whole = small_run(None, tmp_path / "log")
    lines = (tmp_path / "log").read_text().splitlines()
    line_of = {cell[:5]: line for cell, line in zip(whole.cells, lines, strict=True)}
    assert len(set(lines)) == len(whole.cells) == 48

    rng, kills, n_stores = random.Random(0), 0, 0
    while kills < n_kills:
        n_stores += 1
        store, log = tmp_path / f"cells {n_stores}", tmp_path / f"log {n_stores}"
        log.touch()
        finished, n_lines = {}, 0
        while kills < n_kills and len(finished) < 48:
            options = {"n_jobs": n_jobs}
            process = processes.Process(target=small_run, args=(store, log), kwargs=options)
            process.start()
            enough = n_lines + rng.randint(0, 4)
            while process.is_alive() and log.read_text().count("\n") < enough:
                time.sleep(0.001)
            time.sleep(rng.uniform(0.0, 0.02))  # kill between two fits or during one
            kills += process.is_alive()
            process.kill()
            process.join()
            before, finished = finished, rows_of(store)
            assert before.items() <= finished.items()  # finished cells do not change
            new = log.read_text().splitlines()[n_lines:]
            assert not {line_of[row[:5]] for row in before.values()} & set(new)
            n_lines += len(new)
        final = small_run(store, log)
        assert results(final) == results(whole)
        assert finished.items() <= rows_of(store).items()


def rows_of(path):
    """Return the rows of the cells in a store, by key."""
    if not path.exists():
        return {}
    db = sqlite3.connect(path, timeout=60)
    try:
        return {row[0]: row[1:] for row in db.execute("SELECT * FROM cells")}
    except sqlite3.OperationalError as error:
        if "no such table" not in str(error):  # killed before the table was created
            raise
        return {}
    finally:
        db.close()


@pytest.mark.slow
def test_workers_of_a_killed_run_exit(tmp_path):
    log = tmp_path / "pids"
    code = (
        "from benchmark_runs import EndlessLearner; from dimetric import benchmark\n"
        f"benchmark.run([EndlessLearner(log={str(log)!r})], ['iris'], cv=2, n_jobs=2)"
    )
    env = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    process = subprocess.Popen([sys.executable, "-c", code], env=env)
    wait_for(lambda: log.exists() and log.read_text().count("\n") == 2)
    process.kill()
    process.wait()
    fitting = [int(pid) for pid in log.read_text().split()]
    assert len(set(fitting)) == 2
    wait_for(lambda: not any(map(alive, fitting)))


@pytest.mark.slow
def test_worker_without_a_parent_exits_silently():
    code = "from dimetric.benchmark._workers import main; main()"
    env = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [sys.executable, "-c", code],
        stdin=subprocess.DEVNULL,
        stdout=write,
        stderr=subprocess.PIPE,
        env=env,
        check=False,
    )
    os.close(write)
    assert (done.returncode, done.stderr) == (0, b"")


def test_memory_of_a_fit_that_reuses_freed_memory():
    blocks = [np.ones(8000) for _ in range(1000)]
    pin = np.ones(8000)  # keeps the process from shrinking its heap below this block
    del blocks
    with _cells._peak_memory() as found:
        blocks = [np.ones(8000) for _ in range(1000)]
    assert np.isnan(found[0]) or found[0] > 30
    assert len(blocks) * pin[0] == 1000


@pytest.mark.slow
def test_two_processes_share_the_work(tmp_path):
    processes = preloaded_processes()
    store, log = tmp_path / "cells", tmp_path / "log"
    runs = [processes.Process(target=small_run, args=(store, log)) for _ in range(2)]
    for run in runs:
        run.start()
    for run in runs:
        run.join()
    assert [run.exitcode for run in runs] == [0, 0]
    lines = log.read_text().splitlines()
    assert len(lines) == len(set(lines)) == 48
    assert results(small_run(store, log)) == results(small_run(None, None))
    assert len(log.read_text().splitlines()) == 48


@pytest.mark.slow
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_full_disk_ends_the_run(tmp_path, n_jobs):
    with closing(Store(tmp_path / "cells")) as store:
        small = benchmark.run([LoggingLearner()], ["iris"], cv=2, store=store)
        pages = store._db.execute("PRAGMA page_count").fetchone()[0]
        store._db.execute(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(OSError, match=r"is full\. Finished cells are saved"):
            benchmark.run([LoggingLearner()], ["iris"], cv=50, store=store, n_jobs=n_jobs)
    again = benchmark.run(
        [LoggingLearner()], ["iris"], cv=2, store=tmp_path / "cells", n_jobs=n_jobs
    )
    assert again.cells == small.cells


def test_data_sets_with_one_class_no_classes_or_small_classes():
    sets = {"ones": (X, np.ones(150)), "iris": (X, y)}
    found = benchmark.run([None], sets, cv=2)
    assert [cell.status for cell in found.cells] == ["failed", "failed", "ok", "ok"]
    assert "Data set 'ones' has one class, " in found.cells[0].message
    with pytest.raises(ValueError, match="Data set 'sizes' has no classes"):
        benchmark.run([None], {"sizes": (X, X[:, 0])})
    with pytest.warns(UserWarning, match="'few': cv=10 is larger than the size of the"):
        few = benchmark.run([None], {"few": (X[:104], y[:104])})
    assert [cell.fold for cell in few.cells] == [0, 1, 2, 3]
    rows = [0, 1, 60, 61]
    tiny = {"tiny": (X[rows], y[rows]), "iris": (X, y)}
    with pytest.warns(UserWarning, match="Data set 'tiny': cv=5 is larger than"):
        found = benchmark.run([None], tiny, cv=5, n_neighbors=1)
    assert [cell.fold for cell in found.cells] == [0, 1, 0, 1, 2, 3, 4]
    assert {cell.status for cell in found.cells} == {"ok"}


def test_too_many_neighbours_fail_only_their_own_cells():
    alone = benchmark.run([None], ["iris"], cv=3, n_neighbors=3)
    found = benchmark.run([None], ["iris"], cv=3, n_neighbors=[3, 100])
    assert [cell.status for cell in found.cells] == ["ok", "failed"] * 3
    assert (
        "n_neighbors=100 is larger than the number of other training samples, 99"
        in found.cells[1].message
    )
    assert_array_equal(found.scores(n_neighbors=3).values, alone.scores().values)


def test_classifiers_are_reported_for_each_number_of_neighbours():
    found = benchmark.run([None, NCMClassifier()], ["iris"], cv=3, n_neighbors=[3, 5])
    means = found.scores(n_neighbors=3)
    assert means.learners == ["Euclidean", "NCMClassifier"]
    assert not np.isnan(means.values).any()
    assert {each.learner for each in summary(found, n_neighbors=5)} == set(means.learners)


@pytest.mark.parametrize(
    ("learners", "data", "options", "error"),
    [
        (["NCAA"], ["iris"], {}, "There is no learner 'NCAA'. Did you mean NCA"),
        (["lmn"], ["iris"], {}, "Did you mean LMNN"),
        (["?"], ["iris"], {}, "Choose from ANMM, .*Euclidean"),
        ([], ["iris"], {}, "learners is empty"),
        (["NCA"], [], {}, "data_sets is empty"),
        (["NCA"], {"a": 3}, {}, "A data set must be a DataSet, a name, or"),
        (["NCA"], [(X, y)], {}, "A data set must be a DataSet, a name, or"),
        (["NCA"], ["iris", "iris"], {}, "Two data sets are named 'iris'"),
        ([LDA], ["iris"], {}, "must be a learner, such as NCA"),
        (
            {"a": LoggingLearner(log=(i for i in "a"))},
            ["iris"],
            {},
            "a has a parameter or uses an object",
        ),
        (["NCA"], ["iris"], {"n_neighbors": 0}, "n_neighbors=0 must be"),
        (["NCA"], ["iris"], {"n_neighbors": (0,)}, "n_neighbors=0 must be"),
        (["NCA"], ["iris"], {"n_jobs": "2"}, "n_jobs='2' must be an int"),
        (["NCA"], ["iris"], {"fold_column": "foldd"}, "fold_column='foldd' is not in"),
        (["NCA"], {"a": ([1, 2, 3], [0, 1, 0])}, {}, r"'a': X has shape \(3,\), but must have"),
        (
            ["Kernelized"],
            ["iris"],
            {},
            r"Kernelized has required parameters\. Give Kernelized\(\.\.\.\) instead",
        ),
        (["KNNRegressor"], ["iris"], {}, "KNNRegressor is a regressor.* Set score='r2' or"),
        (["NCA"], ["iris"], {"score": "mae"}, r"NCA is not a regressor.* Pass KNNRegressor\("),
        (["NCA"], ["iris"], {"score": "f1"}, "score='f1' must be 'accuracy', 'balanced_acc"),
        (["NCA"], ["iris"], {"scale": "all"}, "scale='all' must be 'fold', 'set' or None"),
        (["NCA"], ["iris"], {"time_budget": -1}, "time_budget=-1 must be a positive number"),
        (["NCA"], ["iris"], {"random_state": None}, "random_state=None must be a non-negative int"),
    ],
)
def test_bad_input(learners, data, options, error):
    with pytest.raises((ValueError, TypeError), match=error):
        benchmark.run(learners, data, **options)


def test_case_of_learner_names_is_ignored():
    found = benchmark.run(["lda", "euclidean"], ["iris"], cv=2)
    assert found.scores().learners == ["LDA", "Euclidean"]


def test_unknown_data_set(tmp_path, monkeypatch):
    monkeypatch.setattr("dimetric.data._named.from_openml", lambda *each: "")
    with pytest.raises(ValueError, match=r"There is no local data set 'irs'.* Did you mean iris"):
        benchmark.run([None], ["irs"])
    with pytest.raises(ValueError, match="hold no data sets"):
        benchmark.run([None], ["iris"], folder=tmp_path)
    with pytest.raises(FileNotFoundError, match="There is no directory"):
        benchmark.run([None], ["iris"], folder=tmp_path / "nowhere")


class Column:
    def __init__(self, j):
        self.j = j

    def take(self, Z):
        return Z[:, [self.j]]


def column(j):
    return lambda Z: Z[:, [j]]


@pytest.mark.parametrize(
    "columns",
    [
        (lambda Z: Z[:, [0]], lambda Z: Z[:, [3]]),
        (column(0), column(3)),
        (lambda Z, j=0: Z[:, [j]], lambda Z, j=3: Z[:, [j]]),
        (Column(0).take, Column(3).take),
        (partial(np.take, indices=[0], axis=1), partial(np.take, indices=[3], axis=1)),
        (lambda Z: column(0)(Z), lambda Z: column(3)(Z)),
    ],
    ids=["lambdas", "closures", "defaults", "methods", "partial", "inner"],
)
def test_different_functions_have_different_keys(columns):
    first, last = (FunctionTransformer(each) for each in columns)
    found = benchmark.run({"first": first, "last": last}, {"a": (X, y)}, cv=2).scores().values
    alone = benchmark.run({"last": last}, {"a": (X, y)}, cv=2).scores().values
    assert found[0, 1] == alone[0, 0] > found[0, 0]


SCRIPT = """
import sys
from benchmark_runs import LoggingLearner
from dimetric import benchmark
KINDS = {"a", "b", "c", "d"}
POWER = 1
def power(Z):
    return Z ** POWER if "a" in KINDS and 1 in {1, 2, 3} else None
class Own(LoggingLearner):
    @property
    def kind(self): return self.own()
    @classmethod
    def own(cls): return cls.__name__
    def transform(self, X): return power(X)
print(benchmark.run([Own(log=sys.argv[1])], ["iris"], cv=2, store=sys.argv[2]).cells[0].test)
"""


@pytest.mark.slow
def test_editing_a_learner_changes_its_key(tmp_path):
    """Run a script again: cells are reused unless an edit changes what the learner computes."""
    script, log = tmp_path / "script.py", tmp_path / "log"
    edits = [
        ("", ""),
        ("", ""),
        ("import sys", "import sys  # again"),
        ("POWER = 1", "POWER = 0"),
        ("return Z **", "return -Z **"),
        ('"c", "d"', '"c"'),
    ]
    lines = []
    for i, (old, new) in enumerate(edits):
        script.write_text(SCRIPT.replace(old, new))
        env = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "PYTHONHASHSEED": str(i)}
        subprocess.run([sys.executable, script, log, tmp_path / "cells"], env=env, check=True)
        lines.append(len(log.read_text().splitlines()))
    assert lines == [2, 2, 2, 4, 6, 8]


def test_keys_depend_on_the_source_of_dimetric(tmp_path, monkeypatch):
    for name in ("a.py", "b/c.py", "cli/d.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x = 1")
    before = source_digest(tmp_path)
    (tmp_path / "cli" / "d.py").write_text("x = 2")  # a presentation package
    assert source_digest(tmp_path) == before
    (tmp_path / "b" / "c.py").write_text("x = 2")
    assert source_digest(tmp_path) != before
    key = key_of(LDA())
    monkeypatch.setattr(_keys, "_dimetric_digest", lambda: "another")
    assert key_of(LDA()) != key


def test_groups_are_not_split(monkeypatch):
    rng = np.random.default_rng(0)
    X, groups = rng.standard_normal((90, 3)), rng.permutation(np.arange(90) % 18)
    y, made = np.arange(90) % 2, []
    original = _splits._repeated_folds

    def repeated_folds(codes, *args):
        made.append((codes, original(codes, *args)))
        return made[-1][1]

    monkeypatch.setattr(_splits, "_repeated_folds", repeated_folds)
    data = DataSet(X, y, ("a", "b", "c"), name="grouped", extra={"patient": groups.astype(str)})
    options = {"cv": 3, "n_repeats": 2, "param_grids": {"PCA": {"n_components": [1, 2]}}}
    by_array = benchmark.run(
        [None, PCA()], {"grouped": (X, y)}, groups={"grouped": groups}, **options
    )
    by_name = benchmark.run([None, PCA()], [data], groups="patient", **options)
    assert len(made) == 2 * (1 + 6)  # the outer folds, and those of the tuning
    for codes, folds in made:
        assert len(np.unique(codes)) < len(codes)
        assert not any(set(codes[train]) & set(codes[test]) for train, test in folds)
    assert [cell.test for cell in by_array.cells] == [cell.test for cell in by_name.cells]
    assert all(cell.status == "ok" for cell in by_array.cells)


def test_copies_are_not_split():
    X = np.tile(np.random.default_rng(0).standard_normal((40, 2)), (2, 1))
    y, options = np.arange(80) % 2, {"cv": 4, "n_neighbors": 1}
    with pytest.warns(UserWarning, match="Data set 'copied': 80 of 80 samples are probably copies"):
        fair = benchmark.run([None], {"copied": (X, y)}, **options)
    leaking = benchmark.run([None], {"copied": (X, y)}, groups={"copied": range(80)}, **options)
    assert np.mean([cell.test for cell in leaking.cells]) > 0.8
    assert np.mean([cell.test for cell in fair.cells]) < 0.7


@pytest.mark.parametrize(("groups", "message"), [
    ({"iris": [1, 2]}, r"groups\['iris'\] has shape \(2,\), but must have shape \(150,\)"),
    ({"iris": np.arange(150) % 3}, "Data set 'iris': groups has 3 distinct values, fewer than"),
    ({"wine": [1, 2]}, r"groups has keys \['wine'\], which are not names of data sets"),
    ("patient", r"groups='patient' is not in the extra columns of any data set: \[\]"),
])  # fmt: skip
def test_wrong_groups(groups, message):
    with pytest.raises(ValueError, match=message):
        benchmark.run([None], ["iris"], groups=groups)
    with pytest.raises(TypeError, match="groups is ndarray, but must be the name of an extra"):
        benchmark.run([None], ["iris"], groups=np.arange(150))


class UnitRangeLearner(LoggingLearner):
    """Fail unless the samples of the fit span [0, 1] in each feature."""

    def fit(self, X, y=None):
        np.testing.assert_allclose([X.min(axis=0), X.max(axis=0)], [[0, 0], [1, 1]], atol=1e-12)
        return super().fit(X, y)


def test_tuning_scales_within_inner_folds():
    X, y = np.random.default_rng(0).standard_normal((60, 2)), np.arange(60) % 2
    learners, grids = {"unit": UnitRangeLearner()}, {"unit": {"power": [1, 2]}}
    found = benchmark.run(learners, {"data": (X, y)}, cv=2, tuning_cv=3, param_grids=grids)
    assert [cell.status for cell in found.cells] == ["ok", "ok"]
    assert set(found.cells[0].metadata["best_params"]) == {"power"}


def test_regressors_are_scored_by_errors_in_common_units():
    X = np.random.default_rng(0).standard_normal((43, 3))
    y = 5 + X[:, 0] + X[:, 1] ** 2
    model = KNNRegressor(4)
    folds, _ = splits(X, None, 5, random_state=0)
    errors = [model.fit(X[train], y[train]).predict(X[test]) - y[test] for train, test in folds]
    options = {"cv": 5, "scale": None}
    by_fold = {
        score: [
            cell.test
            for cell in benchmark.run([model], {"a": (X, y)}, score=score, **options).cells
        ]
        for score in ("r2", "mae")
    }
    assert_allclose(by_fold["r2"], [1 - np.mean(each**2) / np.var(y) for each in errors])
    assert_allclose(by_fold["mae"], [-np.mean(np.abs(each)) for each in errors])
    pooled = r2_score(y[np.concatenate([test for _, test in folds])], np.concatenate(
        [y[test] + error for (_, test), error in zip(folds, errors, strict=True)]))  # fmt: skip
    sizes = [len(each) for each in errors]
    assert np.average(by_fold["r2"], weights=sizes) == pytest.approx(pooled)


def test_regressors_are_tuned_for_the_score():
    X = np.random.default_rng(0).standard_normal((60, 2))
    y, grid = X[:, 0] ** 3, {"n_neighbors": [1, 4, 20]}
    for score, criterion in (("r2", "score"), ("mae", "mae")):
        options = {"score": score, "cv": 3, "scale": None, "tuning_cv": 3}
        cells = benchmark.run(
            {"k": KNNRegressor()}, {"a": (X, y)}, param_grids={"k": grid}, **options
        ).cells
        train = splits(X, None, 3, random_state=0)[0][0][0]
        seed = int(np.random.SeedSequence([0, 0]).generate_state(1)[0])
        found = tune(
            KNNRegressor(), X[train], y[train], grid, criterion=criterion, cv=3, random_state=seed
        )
        assert cells[0].metadata["best_params"] == found.best_params_


@pytest.mark.parametrize("y", [np.array(["a", "b"] * 5), np.full(10, np.inf), np.ones((10, 2))])
def test_regressors_need_numbers(y):
    with pytest.raises(ValueError, match="'a': score='r2' requires a finite number as the target"):
        benchmark.run(["KNNRegressor"], {"a": (np.eye(10), y)}, score="r2")


def test_constant_numbers_are_an_error():
    cells = benchmark.run(["KNNRegressor"], {"a": (np.eye(10), np.ones(10))}, score="r2", cv=2)
    assert "has the same target for all samples" in cells.cells[0].message
