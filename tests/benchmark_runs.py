"""Learners that log, sleep, fail or crash, and a small benchmark, for tests of benchmarks."""

import os
import signal
import sys
import time
from pathlib import Path

from sklearn.base import BaseEstimator, TransformerMixin

from dimetric import benchmark


class LoggingLearner(TransformerMixin, BaseEstimator):
    """Learn nothing, and append a line to a file in each fit."""

    def __init__(self, power=1, log=None, seconds=0.0, random_state=None):
        self.power = power
        self.log = log
        self.seconds = seconds
        self.random_state = random_state

    def fit(self, X, y=None):
        time.sleep(self.seconds)
        if self.log is not None:
            with open(self.log, "a") as file:
                file.write(f"{self.power} {X.sum():.9f}\n")
        self.seed_ = self.random_state
        return self

    def transform(self, X):
        return X**self.power

    def metadata(self):
        return {"seed": self.seed_, "power": self.power, "array": [1]}


class CrashingLearner(TransformerMixin, BaseEstimator):
    """End the process during a fit."""

    def __init__(self, how="os._exit"):
        self.how = how

    def fit(self, X, y=None):
        if self.how == "sys.exit":
            sys.exit("bye")
        if self.how == "kill":
            os.kill(os.getpid(), signal.SIGSEGV)
        os._exit(3)

    def transform(self, X):
        return X


class EndlessLearner(LoggingLearner):
    """Write the process id to a file and sleep for ten minutes."""

    def fit(self, X, y=None):
        with open(self.log, "a") as file:
            file.write(f"{os.getpid()}\n")
        time.sleep(600)


class FailingLearner(LoggingLearner):
    """Fail unless the log exists."""

    def fit(self, X, y=None):
        if not os.path.exists(self.log):
            raise RuntimeError("no way")
        return super().fit(X, y)


def small_run(store, log, **options):
    """Run a benchmark of 48 cells that take a few milliseconds each."""
    learners = {f"power {p}": LoggingLearner(p, log, 0.004) for p in (1, 2, 3)}
    return benchmark.run(learners, ["iris"], cv=4, n_repeats=4, store=store, **options)


def wait_for(condition):
    for _ in range(600):
        if condition():
            return
        time.sleep(0.1)
    raise AssertionError("The condition was not met within a minute.")


def alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    # A terminated child stays listed as a zombie until its parent waits for it.
    status = Path(f"/proc/{pid}/stat")
    return not status.exists() or status.read_text().rsplit(")", 1)[1].split()[0] != "Z"
