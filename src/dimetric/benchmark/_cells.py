"""One cell of a benchmark: scale, tune, fit and score one learner on one fold."""

import ctypes
import json
import math
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cached_property
from time import perf_counter
from typing import Any, NamedTuple

import joblib
import numpy as np
from sklearn.base import clone
from sklearn.preprocessing import MinMaxScaler
from threadpoolctl import threadpool_limits

from dimetric.classify._neighbors import NeighborsEstimator
from dimetric.classify.knn import KNNClassifier
from dimetric.learners._inner_learner import last_step, learner_in
from dimetric.selection._knn_scores import knn_accuracies
from dimetric.selection._tune import tune


@dataclass(frozen=True, eq=False)
class SplitDataSet:
    """A data set, its splits into training and test samples, and how features are scaled."""

    name: str
    X: np.ndarray
    y: np.ndarray
    splits: list[tuple[np.ndarray, np.ndarray]]
    n_folds: int
    scale: str | None

    @cached_property
    def fingerprint(self) -> str:
        """Identifies the samples and their scaling; it does not depend on the name."""
        return str(joblib.hash([self.X, self.y, self.scale]))


@dataclass(frozen=True, eq=False)
class Fit:
    """One fit: which model to which split, how it is tuned, and the numbers of neighbours."""

    learner: str
    model: Any
    ks: tuple[int | None, ...]
    split: int
    seed: int
    grid: Any = None
    tuning_cv: int = 5
    tuned_for: int | None = None  # number of neighbours whose accuracy decides

    @property
    def is_classifier(self) -> bool:
        """Whether the model classifies by itself, and not by nearest neighbours."""
        return self.ks == (None,)


class Outcome(NamedTuple):
    """The result for one number of neighbours: those fields of a Cell that a fit computes."""

    n_neighbors: int | None
    train: float = math.nan
    test: float = math.nan
    time: float = math.nan
    memory: float = math.nan
    status: str = "ok"
    message: str = ""
    metadata: dict[str, Any] = {}  # noqa: RUF012 - nobody changes it


def judge(data: SplitDataSet, fit: Fit) -> list[Outcome]:
    """Return the outcomes of a fit, one for each number of neighbours; it never raises.

    BLAS has one thread, so that scores depend neither on the machine nor on its load.
    """
    started = perf_counter()
    n_others = len(data.splits[fit.split][0]) - 1  # training samples that can vote for one
    possible = tuple(k for k in fit.ks if k is None or k <= n_others) or fit.ks
    with threadpool_limits(1), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            scores, seconds, memory, facts = _scores(data, replace(fit, ks=possible))
        except (Exception, SystemExit) as error:
            message = f"{type(error).__name__}: {error}"
            return unfinished(fit, "failed", message, perf_counter() - started)
    message = "\n".join(dict.fromkeys(str(each.message) for each in caught))
    by_k = dict(zip(possible, scores, strict=True))
    outcomes = []
    for k in fit.ks:
        if k in by_k:
            outcomes.append(Outcome(k, *by_k[k], seconds, memory, "ok", message, facts))
        else:
            why = f"n_neighbors={k} is more than the other training samples, {n_others}."
            outcomes.append(Outcome(k, time=seconds, status="failed", message=why))
    return outcomes


def unfinished(fit: Fit, status: str, message: str, seconds: float) -> list[Outcome]:
    """Return the outcomes of a fit that has no scores."""
    return [Outcome(k, time=seconds, status=status, message=message) for k in fit.ks]


def _scores(
    data: SplitDataSet, fit: Fit
) -> tuple[list[tuple[float, float]], float, float, dict[str, Any]]:
    """Return train and test scores, seconds, megabytes and metadata of a fit."""
    train, test = data.splits[fit.split]
    classes = np.unique(data.y)
    if len(classes) < 2:
        raise ValueError(
            f"Data set {data.name!r} has one class, {classes[0]!r}: there is nothing to learn."
        )
    X, X_test = _scaled(data, train, test)
    y, y_test = data.y[train], data.y[test]
    with _peak_memory() as memory:
        started = perf_counter()
        model, tuned = _fitted(fit, X, y)
        seconds = perf_counter() - started
    facts = _plain(_metadata(model) | tuned)
    if fit.is_classifier:
        is_left_out = isinstance(last_step(model), NeighborsEstimator)
        on_train = last_step(model).score() if is_left_out else model.score(X, y)
        return [(on_train, model.score(X_test, y_test))], seconds, memory[0], facts
    ks = [k for k in fit.ks if k is not None]
    by_k = zip(
        knn_accuracies(model, None, y, ks), knn_accuracies(model, X_test, y_test, ks), strict=True
    )
    return list(by_k), seconds, memory[0], facts


def _fitted(fit: Fit, X: np.ndarray, y: np.ndarray) -> tuple[Any, dict[str, Any]]:
    """Return a fitted classifier, and ``best_params`` if it was tuned."""
    model = seeded(fit.model, fit.seed)
    if fit.grid is not None:
        criterion = "score" if fit.is_classifier else fit.tuned_for
        options: dict[str, Any] = {"cv": fit.tuning_cv, "random_state": fit.seed}
        found = tune(model, X, y, fit.grid, criterion=criterion, **options)
        return found.best_estimator_, {"best_params": found.best_params_}
    if not fit.is_classifier:
        model = KNNClassifier(max(k for k in fit.ks if k is not None), learner=model)
    return model.fit(X, y), {}


def _scaled(
    data: SplitDataSet, train: np.ndarray, test: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return training and test samples, scaled by the training samples, by all, or not."""
    X, X_test = data.X[train], data.X[test]
    if data.scale is None:
        return X, X_test
    scaler = MinMaxScaler().fit(data.X if data.scale == "set" else X)
    return scaler.transform(X), scaler.transform(X_test)


def seeded(model: Any, seed: int) -> Any:
    """Return a copy with a seed for every ``random_state`` that is None."""
    if model is None:
        return None
    model = clone(model)
    params = model.get_params()
    names = [name for name in params if name.rpartition("__")[2] == "random_state"]
    return model.set_params(**{name: seed for name in names if params[name] is None})


def _metadata(model: Any) -> dict[str, Any]:
    learner = learner_in(model)
    return learner.metadata() if hasattr(learner, "metadata") else {}


def _plain(facts: dict[str, Any]) -> dict[str, Any]:
    """Return the metadata that JSON can hold: numbers and texts, no arrays."""
    plain = {}
    for name, value in facts.items():
        value = value.item() if isinstance(value, np.generic) else value
        if name == "best_params":
            value = {key: _text(each) for key, each in value.items()}
        if value is None or isinstance(value, bool | int | float | str | dict):
            plain[name] = value
    return plain


def _text(value: Any) -> Any:
    """Return the value of a parameter as JSON holds it, or its repr."""
    value = value.item() if isinstance(value, np.generic) else value
    with suppress(TypeError, ValueError):
        return json.loads(json.dumps(value))
    return str(value)


@contextmanager
def _peak_memory() -> Iterator[list[float]]:
    """Yield a list; at the end its item is the peak memory beyond that at the start, in MB."""
    found = [math.nan]
    before = _reset_peak()
    yield found
    if before is not None:
        found[0] = max(0.0, _status("VmHWM") - before)


def _reset_peak() -> float | None:
    """Reset the peak of the process; return the memory in use now, None if it is not known."""
    with suppress(
        OSError, AttributeError
    ):  # else a fit would reuse freed memory, which does not show
        ctypes.CDLL(None).malloc_trim(0)
    try:
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")
        return _status("VmRSS")
    except (OSError, StopIteration):
        return None


def _status(name: str) -> float:
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) / 1024 for line in file if line.startswith(name))
