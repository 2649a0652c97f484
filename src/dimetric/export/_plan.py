"""What a fitted model computes, as formulas that can be written for other programs.

A model is a chain of maps, each of them linear or of a kernel, perhaps with a vote at its end.
Linear maps that follow each other, such as scalers and a learner, are joined into one.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler
from sklearn.utils.validation import check_is_fitted

from dimetric._arrays.namespaces import to_host
from dimetric.classify.centroid import CentroidClassifier
from dimetric.classify.knn import KNNClassifier
from dimetric.classify.multi_metric import MultiMetricKNNClassifier
from dimetric.kernels._base import KernelMetric
from dimetric.kernels._function import KernelFunction
from dimetric.learners._linear import LinearMetric


@dataclass(frozen=True)
class Linear:
    """A map :math:`z = W (x - o) + b`; W is a matrix, or the diagonal of one."""

    W: np.ndarray
    o: np.ndarray
    b: np.ndarray

    def matrix(self) -> np.ndarray:
        """Return W as a matrix."""
        return self.W if self.W.ndim == 2 else np.diag(self.W)

    def before(self, other: "Linear") -> "Linear":
        """Return one map that does what this map and then the other one do."""
        if self.W.ndim == 1:
            W = other.W * self.W
        else:
            W = other.W @ self.W if other.W.ndim == 2 else other.W[:, None] * self.W
        return Linear(W, self.o, other(self.b[None, :])[0])

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """Return mapped samples."""
        moved = X - self.o
        return (moved * self.W if self.W.ndim == 1 else moved @ self.W.T) + self.b


@dataclass(frozen=True)
class KernelMap:
    """A map :math:`z = A (k(S, x) - o)` of the kernel with samples S."""

    kernel: KernelFunction
    S: np.ndarray
    A: np.ndarray
    o: np.ndarray

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """Return mapped samples."""
        return (self.kernel(X, self.S) - self.o) @ self.A.T


@dataclass(frozen=True)
class Vote:
    """The vote of the k nearest points.

    Attributes
    ----------
    points : ndarray of shape (m, p)
        Mapped samples, or centroids.
    codes : ndarray of shape (m,)
        Classes of the points, as positions in `classes`.
    classes : ndarray of shape (n_classes,)
        Labels.
    k : int
        Number of neighbours.
    by_distance : bool
        Whether votes are weighted by 1 / distance.
    """

    points: np.ndarray
    codes: np.ndarray
    classes: np.ndarray
    k: int
    by_distance: bool


@dataclass(frozen=True)
class Plan:
    """The maps of a model in their order, its vote if it has one, and the names of its features."""

    maps: tuple[Linear | KernelMap, ...]
    vote: Vote | None
    features: tuple[str, ...]

    def linear(self, wanted: str) -> Linear:
        """Return the one linear map that the model is; `wanted` names what needs it."""
        if len(self.maps) == 1 and isinstance(self.maps[0], Linear):
            return self.maps[0]
        raise ValueError(
            f"{wanted} needs a linear map, and this model has a kernel. Export it to ONNX or "
            "NumPy, or put its mapped samples into an index of usearch."
        )

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """Return mapped samples, in double precision."""
        Z = np.asarray(X, dtype=np.float64)
        for each in self.maps:
            Z = each(Z)
        return Z


def plan_of(model: BaseEstimator) -> Plan:
    """Return what a fitted model computes.

    Parameters
    ----------
    model : estimator
        A linear or kernel learner, a nearest-neighbour or centroid classifier, or a Pipeline of
        scalers and one of these. A :class:`~dimetric.data.TableEncoder` at its beginning is left
        out: the features are those that it returns.

    Examples
    --------
    >>> from dimetric import PCA
    >>> from sklearn.pipeline import make_pipeline
    >>> X = np.array([[0.0, 1.0], [2.0, 3.0], [4.0, 8.0]])
    >>> model = make_pipeline(StandardScaler(), PCA(1)).fit(X)
    >>> bool(np.allclose(plan_of(model)(X), model.transform(X)))
    True
    """
    check_is_fitted(model)
    steps = steps_of(model)
    if not steps:
        raise ValueError("The pipeline has no step that maps samples: there is nothing to export.")
    features = None
    if type(steps[0]).__name__ == "TableEncoder" and len(steps) > 1:
        features = list(steps.pop(0).get_feature_names_out())
    vote = None
    maps: list[Linear | KernelMap] = []
    for number, step in enumerate(steps):
        if isinstance(step, (KNNClassifier, CentroidClassifier)) and number == len(steps) - 1:
            vote = _vote_of(step)
            inner = plan_of(step.learner_) if step.learner_ is not None else None
            maps += inner.maps if inner else [identity(step.n_features_in_)]
        elif isinstance(step, Pipeline):
            maps += plan_of(step).maps
        else:
            maps.append(_map_of(step))
    if features is None:
        # A pipeline asks its first step, which may be "passthrough" and know no names.
        names = getattr(model, "feature_names_in_", getattr(steps[0], "feature_names_in_", None))
        n_features = steps[0].n_features_in_
        features = [f"x{i}" for i in range(n_features)] if names is None else list(names)
    return Plan(_joined(maps), vote, tuple(map(str, features)))


def steps_of(model: BaseEstimator) -> list[Any]:
    """Return the estimators that a model applies one after the other."""
    steps = [step for _, step in model.steps] if isinstance(model, Pipeline) else [model]
    return [step for step in steps if step not in (None, "passthrough")]


def identity(d: int) -> Linear:
    """Return the identity map of d features."""
    return Linear(np.ones(d), np.zeros(d), np.zeros(d))


def _joined(maps: list[Linear | KernelMap]) -> tuple[Linear | KernelMap, ...]:
    """Return maps in which linear maps that follow each other are joined into one."""
    joined = maps[:1]
    for each in maps[1:]:
        last = joined[-1]
        if isinstance(last, Linear) and isinstance(each, Linear):
            joined[-1] = last.before(each)
        else:
            joined.append(each)
    return tuple(joined)


def _double(values: Any) -> np.ndarray:
    return np.asarray(to_host(values), dtype=np.float64)


def _scaled(scale: Any, offset: Any, d: int) -> Linear:
    """Return the map scale * (x - offset); None is 1 and 0."""
    W = np.ones(d) if scale is None else _double(scale)
    return Linear(W, np.zeros(d) if offset is None else _double(offset), np.zeros(d))


SCALERS: dict[type, Callable[[Any], Linear]] = {
    StandardScaler: lambda s: _scaled(_inverse(s.scale_), s.mean_, s.n_features_in_),
    RobustScaler: lambda s: _scaled(_inverse(s.scale_), s.center_, s.n_features_in_),
    MaxAbsScaler: lambda s: _scaled(_inverse(s.scale_), None, s.n_features_in_),
    MinMaxScaler: lambda s: replace(
        _scaled(s.scale_, s.data_min_, s.n_features_in_),
        b=np.full(s.n_features_in_, float(s.feature_range[0])),
    ),
}


def _inverse(scale: Any) -> Any:
    return None if scale is None else 1 / _double(scale)


def _map_of(step: Any) -> Linear | KernelMap:
    if isinstance(step, LinearMetric):
        L, offset = _double(step.components_), _double(step.offset_)
        return Linear(L, offset, np.zeros(len(L)))
    if isinstance(step, KernelMetric) and step._kernel.name != "precomputed":
        if callable(step._kernel.name):
            raise ValueError("The kernel is a Python function, which cannot be exported.")
        kernel = replace(step._kernel, centre=_centre_of(step._kernel))
        return KernelMap(
            kernel, _double(step.X_fit_), _double(step.components_), _double(step.offset_)
        )
    clips = isinstance(step, MinMaxScaler) and step.clip
    if type(step) in SCALERS and not clips:
        return SCALERS[type(step)](step)
    raise ValueError(
        f"{type(step).__name__} cannot be exported: linear and kernel learners, scalers, and "
        "nearest-neighbour or centroid classifiers can."
    )


def _centre_of(kernel: KernelFunction) -> np.ndarray | None:
    return None if kernel.centre is None else _double(kernel.centre)


def _vote_of(step: Any) -> Vote:
    if isinstance(step, CentroidClassifier):
        return Vote(_double(step.centroids_), step._owners, step.classes_, 1, False)
    if isinstance(step, MultiMetricKNNClassifier) or callable(step.weights):
        raise ValueError(
            f"{type(step).__name__} with a metric for each class, or with weights that are a "
            "function, cannot be exported."
        )
    points = step._points
    points = points.toarray() if hasattr(points, "toarray") else points
    by_distance = step.weights == "distance"
    return Vote(_double(points), step._codes, step.classes_, int(step.n_neighbors), by_distance)
