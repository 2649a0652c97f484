"""One cell of a comparison: scale, tune, fit and judge one learner on one fold."""

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

from dimetric.classify._neighbors import NearestNeighbors
from dimetric.classify.knn import KNNClassifier
from dimetric.learners._steps import last_step, learner_in
from dimetric.selection._knn_scores import knn_accuracies
from dimetric.selection._tune import tune


@dataclass(frozen=True, eq=False)
class Problem:
    """A data set, and how it is split."""

    name: str
    X: np.ndarray
    y: np.ndarray
    splits: list[tuple[np.ndarray, np.ndarray]]
    n_folds: int
    scale: str | None

    @cached_property
    def fingerprint(self) -> str:
        """What the samples are, whatever they are called."""
        return joblib.hash([self.X, self.y, self.scale])


@dataclass(frozen=True, eq=False)
class Fit:
    """What is fitted to one split, and how it is judged."""

    learner: str
    model: Any
    ks: tuple[int | None, ...]
    split: int
    seed: int
    grid: Any = None
    tuning_cv: int = 5
    tuned_for: int | None = None  # neighbours that judge the parameters


class Outcome(NamedTuple):
    """What came out for one number of neighbours: the end of a Cell."""

    n_neighbors: int | None
    train: float = math.nan
    test: float = math.nan
    time: float = math.nan
    memory: float = math.nan
    status: str = "ok"
    message: str = ""
    metadata: dict[str, Any] = {}  # noqa: RUF012 - nobody changes it


def judge(problem: Problem, fit: Fit) -> list[Outcome]:
    """Return the outcomes of a fit, one for each number of neighbours; it never raises.

    BLAS has one thread, so that scores depend neither on the machine nor on who else is busy.
    """
    started = perf_counter()
    others = len(problem.splits[fit.split][0]) - 1  # training samples that can vote for one
    few = replace(fit, ks=tuple(k for k in fit.ks if k is None or k <= others) or fit.ks)
    with threadpool_limits(1), warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            scores, seconds, memory, facts = _scores(problem, few)
        except (Exception, SystemExit) as error:
            message = f"{type(error).__name__}: {error}"
            return unfinished(fit, "failed", message, perf_counter() - started)
    message = "\n".join(dict.fromkeys(str(each.message) for each in told))
    found = dict(zip(few.ks, scores, strict=True))
    return [
        Outcome(k, *found[k], seconds, memory, "ok", message, facts)
        if k in found
        else Outcome(k, time=seconds, status="failed",
                     message=f"n_neighbors={k} is more than the other training samples, {others}.")
        for k in fit.ks
    ]  # fmt: skip


def unfinished(fit: Fit, status: str, message: str, seconds: float) -> list[Outcome]:
    """Return the outcomes of a fit that has no scores."""
    return [Outcome(k, time=seconds, status=status, message=message) for k in fit.ks]


def _scores(
    problem: Problem, fit: Fit
) -> tuple[list[tuple[float, float]], float, float, dict[str, Any]]:
    """Return train and test scores, seconds, megabytes and metadata of a fit."""
    train, test = problem.splits[fit.split]
    classes = np.unique(problem.y)
    if len(classes) < 2:
        raise ValueError(
            f"Data set {problem.name!r} has one class, {classes[0]!r}: there is nothing to learn."
        )
    X, X_test = _scaled(problem, train, test)
    y, y_test = problem.y[train], problem.y[test]
    facts: dict[str, Any] = {}
    classifies = fit.ks == (None,)
    with _peak_memory() as memory:
        started = perf_counter()
        model = seeded(fit.model, fit.seed)
        if fit.grid is not None:
            criterion = "score" if classifies else fit.tuned_for
            found = tune(
                model,
                X,
                y,
                fit.grid,
                criterion=criterion,
                cv=fit.tuning_cv,
                random_state=fit.seed,
            )
            model, facts["best_params"] = found.best_estimator_, found.best_params_
        else:
            model = model if classifies else KNNClassifier(_most(fit.ks), learner=model)
            model.fit(X, y)
        seconds = perf_counter() - started
    facts = _plain(_metadata(model) | facts)
    if classifies:
        left_out = isinstance(last_step(model), NearestNeighbors)
        on_train = last_step(model).score() if left_out else model.score(X, y)
        return [(on_train, model.score(X_test, y_test))], seconds, memory[0], facts
    ks = [k for k in fit.ks if k is not None]
    on_train = knn_accuracies(model, None, y, ks)
    on_test = knn_accuracies(model, X_test, y_test, ks)
    return list(zip(on_train, on_test, strict=True)), seconds, memory[0], facts


def _most(ks: tuple[int | None, ...]) -> int:
    return max(k for k in ks if k is not None)


def _scaled(problem: Problem, train: np.ndarray, test: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the samples, to [0, 1] by those of the training set, or by all."""
    X, X_test = problem.X[train], problem.X[test]
    if problem.scale is None:
        return X, X_test
    scaler = MinMaxScaler().fit(problem.X if problem.scale == "set" else X)
    return scaler.transform(X), scaler.transform(X_test)


def seeded(model: Any, seed: int) -> Any:
    """Return a copy in which whatever would be random is not."""
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
    """Return what of the metadata can be written down: numbers and texts, no arrays."""
    plain = {}
    for name, value in facts.items():
        value = value.item() if isinstance(value, np.generic) else value
        if name == "best_params":
            value = {key: _text(each) for key, each in value.items()}
        if value is None or isinstance(value, bool | int | float | str | dict):
            plain[name] = value
    return plain


def _text(value: Any) -> Any:
    """Return a parameter's value as JSON can hold it."""
    value = value.item() if isinstance(value, np.generic) else value
    with suppress(TypeError, ValueError):
        return json.loads(json.dumps(value))
    return str(value)


@contextmanager
def _peak_memory() -> Iterator[list[float]]:
    """Give a list whose item is, at the end, the megabytes needed beyond what was in use."""
    found = [math.nan]
    before = _reset_peak()
    yield found
    if before is not None:
        found[0] = max(0.0, _status("VmHWM") - before)


def _reset_peak() -> float | None:
    """Set the peak to what is in use now; return that, None where the system cannot."""
    with suppress(OSError, AttributeError):  # or a fit would reuse what another gave back
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
