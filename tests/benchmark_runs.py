"""Learners that note, sleep, fail or die, and runs in processes of their own."""

import os
import signal
import sys
import time
from pathlib import Path

from sklearn.base import BaseEstimator, TransformerMixin

from dimetric import benchmark


class Noting(TransformerMixin, BaseEstimator):
    """Learns nothing, and writes a line into a file for each fit."""

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


class Dying(TransformerMixin, BaseEstimator):
    """Ends the process in some way."""

    def __init__(self, how="exit"):
        self.how = how

    def fit(self, X, y=None):
        if self.how == "leave":
            sys.exit("bye")
        if self.how == "kill":
            os.kill(os.getpid(), signal.SIGSEGV)
        os._exit(3)

    def transform(self, X):
        return X


class Lasting(Noting):
    """Says who it is, and does not end."""

    def fit(self, X, y=None):
        with open(self.log, "a") as file:
            file.write(f"{os.getpid()}\n")
        time.sleep(600)


class Failing(Noting):
    """Fails where there is no log yet."""

    def fit(self, X, y=None):
        if not os.path.exists(self.log):
            raise RuntimeError("no way")
        return super().fit(X, y)


def small_run(store, log, **options):
    """Compare three learners on iris, 48 cells that take some milliseconds each."""
    learners = {f"power {p}": Noting(p, log, 0.004) for p in (1, 2, 3)}
    return benchmark.run(learners, ["iris"], cv=4, n_repeats=4, store=store, **options)


def wait_for(condition):
    for _ in range(600):
        if condition():
            return
        time.sleep(0.1)
    raise AssertionError("It did not happen within a minute.")


def alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    # A dead child that nobody asks about is still listed.
    status = Path(f"/proc/{pid}/stat")
    return not status.exists() or status.read_text().rsplit(")", 1)[1].split()[0] != "Z"
