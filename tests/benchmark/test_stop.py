"""Tests of the options stop and drop of benchmark.run."""

import time
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest
from benchmark_runs import EndlessLearner, LoggingLearner, alive, wait_for

from dimetric import benchmark
from dimetric.benchmark import Store

ONE, TWO = (pytest.param(n, marks=pytest.mark.slow) for n in (1, 2))  # numbers of workers
FOR_EACH_N_JOBS = pytest.mark.parametrize("n_jobs", [None, ONE, TWO])


def children():
    """Return the ids of the living child processes."""
    files = Path("/proc/self/task").glob("*/children")
    return {int(pid) for file in files for pid in file.read_text().split() if alive(int(pid))}


def names(cells):
    return [cell.learner for cell in cells]


@FOR_EACH_N_JOBS
def test_stop_after_the_first_cell(tmp_path, n_jobs):
    log, before = tmp_path / "log", children()
    learners, asked = {"a": LoggingLearner(log=log), "b": LoggingLearner(2)}, []

    def stop(cells):
        asked.append(names(cells))
        return len(cells) >= 1

    found = benchmark.run(learners, ["iris"], cv=5, n_jobs=n_jobs, stop=stop)
    assert len(found.cells) == 1
    assert asked == [[], names(found.cells)]  # called at the start and after the first cell
    assert not log.exists() or len(log.read_text().splitlines()) <= 2
    assert children() == before  # all workers have exited


@FOR_EACH_N_JOBS
def test_stopped_run_resumes(tmp_path, n_jobs):
    learners = {"a": LoggingLearner(), "b": LoggingLearner(2)}
    options = {"cv": 4, "store": tmp_path / "cells", "n_jobs": n_jobs}
    whole = benchmark.run(learners, ["iris"], cv=4)
    found = benchmark.run(
        learners, ["iris"], stop=lambda cells: names(cells).count("b") == 4, **options
    )
    assert names(found.cells).count("b") == 4
    expected = {cell[:5]: cell.test for cell in whole.cells}
    assert all(expected[cell[:5]] == cell.test for cell in found.cells)
    # stop also sees the cells from the store, so the next run stops before its first fit.
    calls = []
    again = benchmark.run(
        learners,
        ["iris"],
        stop=lambda cells: len(cells) >= 4,
        callback=lambda *each: calls.append(each),
        **options,
    )
    assert again.cells == found.cells
    assert len(calls) == 1
    resumed = benchmark.run(learners, ["iris"], **options)
    assert [cell[:7] for cell in resumed.cells] == [cell[:7] for cell in whole.cells]


@pytest.mark.slow
def test_stop_kills_running_fits(tmp_path):
    log, started = tmp_path / "pids", time.monotonic()
    learners = {"fast": LoggingLearner(), "endless": EndlessLearner(log=log)}

    def stop(cells):
        if cells:
            wait_for(lambda: log.exists() and log.read_text().count("\n") == 1)
        return bool(cells)

    found = benchmark.run(learners, ["iris"], cv=3, n_jobs=2, stop=stop)
    assert set(names(found.cells)) == {"fast"}
    assert {cell.status for cell in found.cells} == {"ok"}
    assert not any(alive(int(pid)) for pid in log.read_text().split())
    assert time.monotonic() - started < 120  # a fit lasts 600 seconds


@FOR_EACH_N_JOBS
def test_dropped_learners_are_not_fitted_again(n_jobs):
    learners = {"a": LoggingLearner(), "b": LoggingLearner(2), "c": LoggingLearner(3)}
    found = benchmark.run(
        learners,
        ["iris"],
        cv=6,
        n_jobs=n_jobs,
        drop=lambda cells: {"b"} if "b" in names(cells) else set(),
    )
    counts = Counter(names(found.cells))
    assert (counts["a"], counts["c"]) == (6, 6)
    assert 1 <= counts["b"] <= (n_jobs or 1)


@pytest.mark.slow
def test_running_fits_of_dropped_learners_are_killed(tmp_path):
    log = tmp_path / "pids"
    learners = {"endless": EndlessLearner(log=log), "a": LoggingLearner(), "b": LoggingLearner(2)}

    def drop(cells):
        if cells:
            wait_for(lambda: log.exists() and log.read_text().count("\n") >= 1)
        return {"endless"} if cells else ()

    found = benchmark.run(learners, ["iris"], cv=5, n_jobs=2, drop=drop)
    assert Counter(names(found.cells)) == {"a": 5, "b": 5}
    assert {cell.status for cell in found.cells} == {"ok"}  # no other fit was killed
    assert not any(alive(int(pid)) for pid in log.read_text().split())


def test_equal_learners_are_fitted_until_all_are_dropped():
    learners = {"a": LoggingLearner(), "same": LoggingLearner(), "b": LoggingLearner(2)}
    seen = []

    def drop(cells):
        seen.append(names(cells))
        return {"a"}

    found = benchmark.run(learners, ["iris"], cv=2, drop=drop)
    assert names(found.cells) == ["a", "same", "b"] * 2  # "same" is not dropped
    assert seen[1] == ["a", "same"]
    without_both = benchmark.run(learners, ["iris"], cv=2, drop=lambda cells: ["a", "same"])
    assert names(without_both.cells) == ["b"] * 2


@pytest.mark.parametrize("n_jobs", [None, TWO])
@pytest.mark.parametrize("hook", ["stop", "drop", "callback"])
def test_errors_in_hooks_are_raised(tmp_path, hook, n_jobs):
    def wrong(*args):
        if args[-1]:
            raise KeyError("wrong")
        return ()

    with closing(Store(tmp_path / "cells")) as store, pytest.raises(KeyError, match="wrong"):
        benchmark.run(
            [LoggingLearner()], ["iris"], cv=3, n_jobs=n_jobs, store=store, **{hook: wrong}
        )
