"""Scale, tune, fit and score one learner on one fold of a benchmark."""

import ctypes
import json
import math
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cached_property
from time import perf_counter
from typing import Any, NamedTuple

import joblib
import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MinMaxScaler

from dimetric._arrays.blas_limit import limited_threads
from dimetric.benchmark._scoring import FoldScores, class_scores, number_scores
from dimetric.classify.knn import KNNClassifier
from dimetric.learners._inner_learner import learner_in
from dimetric.selection._class_scores import CLASS_SCORES
from dimetric.selection._tune import tune
from dimetric.selection._weighted import group_arguments

CRITERIA = ("balanced_accuracy", "f1_macro", "mae")  # scores that tune has a criterion for


@dataclass(frozen=True, eq=False)
class SplitDataSet:
    """A data set with its splits into training and test samples and its kind of scaling."""

    name: str
    X: np.ndarray
    y: np.ndarray
    splits: list[tuple[np.ndarray, np.ndarray]]
    n_folds: int
    scale: str | None
    groups: np.ndarray  # tuning does not split them either

    @cached_property
    def fingerprint(self) -> str:
        """Hash of the samples, classes, groups and scaling. It does not depend on the name."""
        return str(joblib.hash([self.X, self.y, self.scale, self.groups]))


@dataclass(frozen=True, eq=False)
class Fit:
    """Description of one fit: the model, the split, the tuning and the numbers of neighbours."""

    learner: str
    model: Any
    ks: tuple[int | None, ...]
    split: int
    seed: int
    grid: Any = None
    tuning_cv: int = 5
    tuning_k: int | None = None  # number of neighbours of the tuning criterion
    score: str = "accuracy"  # one of CLASS_SCORES, or of NUMBER_SCORES for a regressor

    @property
    def predicts(self) -> bool:
        """Whether the model is a classifier or regressor, rather than a learner used with k-NN."""
        return self.ks == (None,)


class Outcome(NamedTuple):
    """Result of a fit for one number of neighbours: the fields of a Cell that the fit computes."""

    n_neighbors: int | None
    train: float = math.nan
    test: float = math.nan
    time: float = math.nan
    memory: float = math.nan
    status: str = "ok"
    message: str = ""
    metadata: dict[str, Any] = {}  # noqa: RUF012 - never modified


def evaluate(data: SplitDataSet, fit: Fit) -> list[Outcome]:
    """Run a fit and return one outcome per number of neighbours. Errors become outcomes.

    BLAS runs on one thread, so that scores do not depend on the number of cores or the load.
    """
    started = perf_counter()
    n_others = len(data.splits[fit.split][0]) - 1  # neighbours available to a training sample
    possible = tuple(k for k in fit.ks if k is None or k <= n_others) or fit.ks
    with limited_threads(1), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            scores, seconds, memory, metadata = _scores(data, replace(fit, ks=possible))
        except (Exception, SystemExit) as error:
            message = f"{type(error).__name__}: {error}"
            return outcomes_without_scores(fit, "failed", message, perf_counter() - started)
    message = "\n".join(dict.fromkeys(str(each.message) for each in caught))
    by_k = dict(zip(possible, scores, strict=True))
    outcomes = []
    for k in fit.ks:
        if k in by_k:
            train, test, confusion = by_k[k]
            known = metadata | ({"confusion": confusion} if confusion else {})
            outcomes.append(Outcome(k, train, test, seconds, memory, "ok", message, known))
        else:
            error_message = (
                f"n_neighbors={k} is larger than the number of other training samples, {n_others}."
            )
            outcomes.append(Outcome(k, time=seconds, status="failed", message=error_message))
    return outcomes


def outcomes_without_scores(fit: Fit, status: str, message: str, seconds: float) -> list[Outcome]:
    """Return outcomes without scores, for a fit that failed or was killed."""
    return [Outcome(k, time=seconds, status=status, message=message) for k in fit.ks]


def _scores(data: SplitDataSet, fit: Fit) -> tuple[list[FoldScores], float, float, dict[str, Any]]:
    """Return the train and test scores, time in seconds, memory in MB and metadata of a fit."""
    train, test = data.splits[fit.split]
    _check_target(data, fit)
    X, X_test, scaler = _scaled(data, fit, train, test)
    y, y_test = data.y[train], data.y[test]
    tuned: dict[str, Any] = {}
    with _peak_memory() as memory:
        started = perf_counter()
        if fit.grid is None:
            model = _fitted(fit, X, y, data.groups[train])
        else:
            model, tuned = _tuned(fit, scaler, X, y, data.groups[train])
        seconds = perf_counter() - started
    metadata = _json_metadata(_learner_metadata(model) | tuned)
    on_train, on_test = (X, y), (X_test, y_test)
    if fit.score in CLASS_SCORES:
        scores = class_scores(fit.score, model, fit.ks, on_train, on_test)
    else:
        scores = [number_scores(fit.score, model, on_train, on_test, float(np.std(data.y)))]
    return scores, seconds, memory[0], metadata


def _check_target(data: SplitDataSet, fit: Fit) -> None:
    """Raise if all samples have the same target."""
    values = np.unique(data.y)
    if len(values) > 1:
        return
    if fit.score in CLASS_SCORES:
        raise ValueError(
            f"Data set {data.name!r} has one class, {values[0]!r}. At least two are required."
        )
    raise ValueError(f"Data set {data.name!r} has the same target for all samples, {values[0]!r}.")


def _scaled(
    data: SplitDataSet, fit: Fit, train: np.ndarray, test: np.ndarray
) -> tuple[np.ndarray, np.ndarray, MinMaxScaler | None]:
    """Return the training and test samples, scaled as `data.scale` says.

    For tuning within folds, the samples are not scaled. Instead, a scaler is returned, which is
    fitted to the training samples of each inner fold.
    """
    X, X_test = data.X[train], data.X[test]
    if data.scale is None:
        return X, X_test, None
    if data.scale == "fold" and fit.grid is not None:
        return X, X_test, MinMaxScaler()
    scaler = MinMaxScaler().fit(data.X if data.scale == "set" else X)
    return scaler.transform(X), scaler.transform(X_test), None


def _fitted(fit: Fit, X: np.ndarray, y: np.ndarray, groups: np.ndarray) -> Any:
    """Return a fitted classifier or regressor."""
    model = seeded(fit.model, fit.seed)
    if not fit.predicts:
        model = KNNClassifier(max(k for k in fit.ks if k is not None), learner=model)
    return model.fit(X, y, **group_arguments(model, groups))


def _tuned(
    fit: Fit, scaler: Any, X: np.ndarray, y: np.ndarray, groups: np.ndarray
) -> tuple[Any, dict[str, Any]]:
    """Return a fitted model with tuned parameters, and a dict of its ``best_params``."""
    model, prefix = seeded(fit.model, fit.seed), ""
    criterion = _tuning_criterion(fit)
    if scaler is not None:
        model, prefix = Pipeline([("scale", scaler), ("model", model)]), "model__"
    if not fit.predicts and isinstance(criterion, str):
        model, prefix = KNNClassifier(fit.tuning_k or 3, learner=model), f"learner__{prefix}"
    grids = [fit.grid] if isinstance(fit.grid, Mapping) else fit.grid
    grid = [{prefix + name: values for name, values in each.items()} for each in grids]
    search = tune(
        model,
        X,
        y,
        grid,
        criterion=criterion,
        groups=groups,
        cv=min(fit.tuning_cv, len(np.unique(groups))),
        random_state=fit.seed,
    )
    params = {name.removeprefix(prefix): each for name, each in search.best_params_.items()}
    return search.best_estimator_, {"best_params": params}


def _tuning_criterion(fit: Fit) -> int | str | None:
    if fit.score in CRITERIA:
        return fit.score
    return "score" if fit.predicts else fit.tuning_k


def seeded(model: Any, seed: int) -> Any:
    """Return a clone in which each ``random_state`` that is None is set to the seed."""
    if model is None:
        return None
    model = clone(model)
    params = model.get_params()
    names = [name for name in params if name.rpartition("__")[2] == "random_state"]
    return model.set_params(**{name: seed for name in names if params[name] is None})


def _learner_metadata(model: Any) -> dict[str, Any]:
    learner = learner_in(model)
    return learner.metadata() if hasattr(learner, "metadata") else {}


def _json_metadata(metadata: dict[str, Any]) -> dict[str, Any]:
    """Return the metadata that JSON can represent. Arrays are omitted."""
    plain = {}
    for name, value in metadata.items():
        value = value.item() if isinstance(value, np.generic) else value
        if name == "best_params":
            value = {key: _json_value(each) for key, each in value.items()}
        if value is None or isinstance(value, bool | int | float | str | dict):
            plain[name] = value
    return plain


def _json_value(value: Any) -> Any:
    """Return the value of a parameter as JSON represents it, or as a string if JSON cannot."""
    value = value.item() if isinstance(value, np.generic) else value
    with suppress(TypeError, ValueError):
        return json.loads(json.dumps(value))
    return str(value)


@contextmanager
def _peak_memory() -> Iterator[list[float]]:
    """Yield a list that receives the increase in peak memory, in MB, when the block ends."""
    megabytes = [math.nan]
    before = _reset_peak_memory()
    yield megabytes
    if before is not None:
        megabytes[0] = max(0.0, _memory_megabytes("VmHWM") - before)


def _reset_peak_memory() -> float | None:
    """Reset the peak memory of the process. Return its memory in MB, or None if unknown."""
    # Return freed memory to the system. Otherwise, a fit could reuse it without raising the peak.
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
    try:
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")
        return _memory_megabytes("VmRSS")
    except (OSError, StopIteration):
        return None


def _memory_megabytes(name: str) -> float:
    with open("/proc/self/status") as file:  # in kilobytes
        return next(int(line.split()[1]) / 1024 for line in file if line.startswith(name))
