"""Benchmarks that are asked to stop, or to drop a learner."""

import time
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest
from benchmark_runs import Lasting, Noting, alive, wait_for

from dimetric import benchmark
from dimetric.benchmark import Store

ONE, TWO = (pytest.param(n, marks=pytest.mark.slow) for n in (1, 2))  # processes
IN_THIS_PROCESS_OR_OTHERS = pytest.mark.parametrize("n_jobs", [None, ONE, TWO])


def children():
    """Return the processes that this one has started and that are still alive."""
    files = Path("/proc/self/task").glob("*/children")
    return {int(pid) for file in files for pid in file.read_text().split() if alive(int(pid))}


def names(cells):
    return [cell.learner for cell in cells]


@IN_THIS_PROCESS_OR_OTHERS
def test_stop_after_the_first_cell(tmp_path, n_jobs):
    log, before = tmp_path / "log", children()
    learners, asked = {"a": Noting(log=log), "b": Noting(2)}, []

    def stop(cells):
        asked.append(names(cells))
        return len(cells) >= 1

    found = benchmark.run(learners, ["iris"], cv=5, n_jobs=n_jobs, stop=stop)
    assert len(found.cells) == 1
    assert asked == [[], names(found.cells)]  # at the start, and once
    assert not log.exists() or len(log.read_text().splitlines()) <= 2
    assert children() == before  # no process is left


@IN_THIS_PROCESS_OR_OTHERS
def test_stop_after_a_learner_and_go_on(tmp_path, n_jobs):
    learners = {"a": Noting(), "b": Noting(2)}
    options = {"cv": 4, "store": tmp_path / "cells", "n_jobs": n_jobs}
    whole = benchmark.run(learners, ["iris"], cv=4)
    found = benchmark.run(
        learners, ["iris"], stop=lambda cells: names(cells).count("b") == 4, **options
    )
    assert names(found.cells).count("b") == 4
    expected = {cell[:5]: cell.test for cell in whole.cells}
    assert all(expected[cell[:5]] == cell.test for cell in found.cells)
    # Cells of the store count: the next run stops before it begins.
    told = []
    again = benchmark.run(
        learners,
        ["iris"],
        stop=lambda cells: len(cells) >= 4,
        callback=lambda *each: told.append(each),
        **options,
    )
    assert again.cells == found.cells
    assert len(told) == 1
    rest = benchmark.run(learners, ["iris"], **options)
    assert [cell[:7] for cell in rest.cells] == [cell[:7] for cell in whole.cells]


@pytest.mark.slow
def test_stop_kills_fits_that_still_run(tmp_path):
    log, started = tmp_path / "pids", time.monotonic()
    learners = {"fast": Noting(), "lasting": Lasting(log=log)}

    def stop(cells):
        if cells:
            wait_for(lambda: log.exists() and log.read_text().count("\n") == 1)
        return bool(cells)

    found = benchmark.run(learners, ["iris"], cv=3, n_jobs=2, stop=stop)
    assert set(names(found.cells)) == {"fast"}
    assert {cell.status for cell in found.cells} == {"ok"}
    assert not any(alive(int(pid)) for pid in log.read_text().split())
    assert time.monotonic() - started < 120  # a fit lasts 600 seconds


@IN_THIS_PROCESS_OR_OTHERS
def test_dropped_learners_are_not_fitted_any_more(n_jobs):
    learners = {"a": Noting(), "b": Noting(2), "c": Noting(3)}
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
def test_a_dropped_learner_that_still_runs_is_killed(tmp_path):
    log = tmp_path / "pids"
    learners = {"lasting": Lasting(log=log), "a": Noting(), "b": Noting(2)}

    def drop(cells):
        if cells:
            wait_for(lambda: log.exists() and log.read_text().count("\n") >= 1)
        return {"lasting"} if cells else ()

    found = benchmark.run(learners, ["iris"], cv=5, n_jobs=2, drop=drop)
    assert Counter(names(found.cells)) == {"a": 5, "b": 5}
    assert {cell.status for cell in found.cells} == {"ok"}  # no other fit was killed
    assert not any(alive(int(pid)) for pid in log.read_text().split())


def test_equal_learners_are_dropped_together_or_not_at_all():
    learners = {"a": Noting(), "same": Noting(), "b": Noting(2)}
    seen = []

    def drop(cells):
        seen.append(names(cells))
        return {"a"}

    found = benchmark.run(learners, ["iris"], cv=2, drop=drop)
    assert names(found.cells) == ["a", "same", "b"] * 2  # "same" is still asked for
    assert seen[1] == ["a", "same"]
    both = benchmark.run(learners, ["iris"], cv=2, drop=lambda cells: ["a", "same"])
    assert names(both.cells) == ["b"] * 2


@pytest.mark.parametrize("n_jobs", [None, TWO])
@pytest.mark.parametrize("what", ["stop", "drop", "callback"])
def test_errors_of_these_functions_are_raised(tmp_path, what, n_jobs):
    def wrong(*args):
        if args[-1]:
            raise KeyError("wrong")
        return ()

    with closing(Store(tmp_path / "cells")) as store, pytest.raises(KeyError, match="wrong"):
        benchmark.run([Noting()], ["iris"], cv=3, n_jobs=n_jobs, store=store, **{what: wrong})
