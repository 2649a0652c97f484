"""Turns, medians, time limits, processes and environments of ``benchmarks/bar.py``."""

import math
import sys

import numpy as np
import pytest
from _bar import environments
from _bar.environments import Environments, Pins
from _bar.growth import exponent
from _bar.measure import Effort, Timing, in_turns, measured
from _bar.process import Side, SideFailed, SideProcess, TimeLimitReached
from _bar.worker import LEAST_SECONDS

PYTHON = [sys.executable, "-P"]


class FakeSide:
    """A side whose runs take given times, or raise."""

    def __init__(self, name, runs, log):
        self.name, self.runs, self.log = name, iter(runs), log

    def run(self, limit):
        self.log.append(self.name)
        seconds = next(self.runs)
        if isinstance(seconds, Exception):
            raise seconds
        return seconds, 10 * seconds, {"seconds": np.asarray(seconds)}


def turns(repeats=3, patience=100, **runs):
    log = []
    sides = {name: FakeSide(name, each, log) for name, each in runs.items()}
    return in_turns(sides, Effort(60, patience, repeats)), "".join(log)


def test_sides_alternate_in_rotating_order():
    _, log = turns(a=[1] * 3, b=[1] * 3, c=[1] * 3)
    assert log == "abcbcacab"


def test_times_are_medians_and_memory_is_the_largest():
    timings, _ = turns(a=[5, 1, 3], b=[2, 2, 9])
    assert timings["a"].median == 3
    assert timings["b"].median == 2
    assert timings["b"].megabytes == 90
    assert timings["b"].results["seconds"] == 9


def test_slow_side_is_not_repeated_once_its_patience_is_used_up():
    timings, log = turns(patience=4, a=[1, 1, 1], b=[50])
    assert log == "abaa"
    assert timings["b"].seconds == [50]


def test_side_that_reaches_the_limit_is_not_run_again():
    timings, log = turns(a=[1, 1, 1], b=[TimeLimitReached()])
    assert log == "abaa"
    assert timings["b"].over_limit == 60
    assert math.isnan(timings["b"].median)


def test_side_that_fails_is_not_run_again():
    timings, log = turns(a=[1, 1, 1], b=[2, SideFailed("no memory")])
    assert log == "abbaa"
    assert timings["b"].error == "no memory"
    assert timings["a"].seconds == [1, 1, 1]


def test_exponent_of_a_power_law():
    sizes = (100, 200, 400, 1000)
    seconds = [3e-6 * n**2.5 for n in sizes]
    assert exponent(sizes, seconds) == pytest.approx(2.5)
    seconds[-1] = math.nan  # a side that reached its limit
    assert exponent(sizes, seconds) == pytest.approx(2.5)
    assert math.isnan(exponent(sizes, [1, math.nan, math.nan, math.nan]))


SIDE = """
import os, time
import numpy as np

def double(arrays, factor):
    def call():
        print("some libraries print")
        return {"doubled": factor * arrays["X"]}
    return call

def count(arrays):
    n_calls = 0

    def call():
        nonlocal n_calls
        n_calls += 1
        return {"n_calls": n_calls}
    return call

def fail(arrays):
    def call():
        raise ValueError("the matrix\\nis singular")
    return call

def crash(arrays):
    return lambda: os._exit(3)

def sleep(arrays):
    return lambda: time.sleep(60) or {}

def allocate(arrays):
    return lambda: {"total": np.ones(10_000_000).sum()}
"""


@pytest.fixture
def started(tmp_path):
    """Start a function of ``SIDE`` in a process."""
    (tmp_path / "side.py").write_text(SIDE)
    processes = []

    def start(function, **options):
        side = Side("side", function, options)
        processes.append(SideProcess(PYTHON, side, {"X": np.arange(3.0)}, folder=tmp_path))
        processes[-1].wait_until_ready(60)
        return processes[-1]

    yield start
    for process in processes:
        process.close()


@pytest.mark.slow
def test_process_returns_time_and_results(started):
    process = started("double", factor=2)
    for _ in range(2):
        seconds, _, results = process.run(60)
        assert seconds > 0
        np.testing.assert_array_equal(results["doubled"], [0, 2, 4])


@pytest.mark.slow
def test_short_calls_are_repeated_and_averaged(started):
    seconds, _, results = started("count").run(60)
    n_calls = int(results["n_calls"])
    assert n_calls > 1
    assert seconds * n_calls >= LEAST_SECONDS


@pytest.mark.slow
@pytest.mark.parametrize(
    ("function", "message"),
    [("fail", "ValueError: the matrix is singular"), ("crash", "ended with status 3")],
)
def test_process_reports_errors(started, function, message):
    with pytest.raises(SideFailed, match=message):
        started(function).run(60)


@pytest.mark.slow
def test_process_stops_at_the_limit(started):
    with pytest.raises(TimeLimitReached):
        started("sleep").run(0.2)


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc")
def test_process_measures_the_peak_of_memory(started):
    assert started("allocate").run(60)[1] == pytest.approx(10_000_000 * 8 / 2**20, rel=0.3)


def test_missing_python_is_reported(tmp_path):
    found = Environments(tmp_path, {"peer": Pins("NO_SUCH_VARIABLE", "9.9", (), "peer")})
    for _ in range(2):
        with pytest.raises(SideFailed, match=r"not installed: needs Python 9\.9"):
            found.python("peer")
    assert found.python("dimetric")[0] == sys.executable


def test_variable_names_the_python_of_a_peer(tmp_path, monkeypatch):
    monkeypatch.setenv("PEER_PYTHON", "/opt/peer/bin/python")
    found = Environments(tmp_path, {"peer": Pins("PEER_PYTHON", "9.9", (), "peer")})
    assert found.python("peer") == ["/opt/peer/bin/python", "-I"]


def test_incomplete_installation_is_built_again(tmp_path, monkeypatch):
    commands, fails = [], True

    def run(command, library):
        commands.append(command[1:])
        if "pip" in command and fails:
            raise SideFailed("not installed: no network")
        (tmp_path / "peer").mkdir(exist_ok=True)

    monkeypatch.setattr("_bar.environments._run", run)
    pins = {"peer": Pins("NO_SUCH_VARIABLE", "", (("first==1",), ("second==2",)), "peer")}
    with pytest.raises(SideFailed, match="no network"):
        Environments(tmp_path, pins).python("peer")
    fails = False
    expected = [str(tmp_path / "peer" / "bin" / "python"), "-I"]
    commands.clear()
    assert Environments(tmp_path, pins).python("peer") == expected
    assert [each[-1] for each in commands] == [
        str(tmp_path / "peer"),
        "first==1",
        "second==2",
        "import peer",
    ]
    commands.clear()
    assert Environments(tmp_path, pins).python("peer") == expected
    assert commands == []


def test_failed_step_of_an_installation_is_reported():
    with pytest.raises(SideFailed, match="no-such-python"):
        environments._run(["no-such-python"], "peer")


@pytest.mark.slow
def test_missing_peer_does_not_stop_the_others():
    def pythons(library):
        if library == "pydml":
            raise SideFailed("not installed: no network")
        return PYTHON

    sides = {"peer": Side("pydml", "fit"), "limit": Side("limit", "inner_products")}
    timings = measured(sides, {"X": np.ones((9, 2))}, pythons, Effort(60, 1, 2))
    assert timings["peer"] == Timing(error="not installed: no network")
    assert len(timings["limit"].seconds) == 2
