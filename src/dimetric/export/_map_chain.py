"""Reduce a fitted model to a chain of maps that can be exported to other programs.

A chain consists of linear and kernel maps. The chain of a classifier ends with a vote. Consecutive
linear maps, such as a scaler and a linear learner, are merged into one.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler
from sklearn.utils.validation import check_is_fitted

from dimetric._arrays.namespaces import eps, to_host
from dimetric.classify._neighbors import NeighborsEstimator
from dimetric.classify.centroid import CentroidClassifier
from dimetric.classify.knn import KNNClassifier
from dimetric.classify.multi_metric import MultiMetricKNNClassifier
from dimetric.kernels._base import KernelMetric
from dimetric.kernels._function import KernelFunction
from dimetric.learners._linear import LinearMetric
from dimetric.learners.space_map import SpaceMap
from dimetric.linalg.row_basis import MAX_DENSE_ENTRIES
from dimetric.neighbors.metric_search import is_euclidean
from dimetric.neighbors.queries import (
    COORDINATE_ROUNDINGS,
    norms_of,
    relative_tolerance,
    varying_features,
)


@dataclass(frozen=True)
class Linear:
    """The map :math:`z = W (x - o) + b`. A vector W represents a diagonal matrix."""

    W: np.ndarray
    o: np.ndarray
    b: np.ndarray

    def matrix(self) -> np.ndarray:
        """Return W as a matrix."""
        return self.W if self.W.ndim == 2 else np.diag(self.W)

    def then(self, other: "Linear") -> "Linear":
        """Return the composition of this map and another map that is applied after it."""
        if self.W.ndim == 1:
            W = other.W * self.W
        else:
            W = other.W @ self.W if other.W.ndim == 2 else other.W[:, None] * self.W
        return Linear(W, self.o, other(self.b[None, :])[0])

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """Map samples."""
        moved = X - self.o
        return (moved * self.W if self.W.ndim == 1 else moved @ self.W.T) + self.b


@dataclass(frozen=True)
class KernelMap:
    """The map :math:`z = A (k(S, x) - o)`, with the kernel k and the reference samples S."""

    kernel: KernelFunction
    S: np.ndarray
    A: np.ndarray
    o: np.ndarray

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """Map samples."""
        return (self.kernel(X, self.S) - self.o) @ self.A.T


@dataclass(frozen=True)
class TieTolerance:
    """The tolerance of :func:`~dimetric.neighbors.queries.tie_tolerance`.

    For a query q with the k-th distance d, it is relative * d + constant + per_size * |q * varies|.
    """

    relative: float
    constant: float
    per_size: float
    varies: np.ndarray  # (p,) 0 for constant features, 1 for other features


@dataclass(frozen=True)
class Vote:
    """A vote of the k nearest points.

    Attributes
    ----------
    points : ndarray of shape (m, p)
        Mapped training samples, or centroids.
    codes : ndarray of shape (m,)
        Classes of the points, as indices into `classes`.
    classes : ndarray of shape (n_classes,)
        Class labels.
    k : int
        Number of neighbours.
    by_distance : bool
        Whether votes are weighted by 1 / distance.
    tolerance : TieTolerance or None
        The tolerance of distances within which points share votes. None if the first of several
        nearest points votes.
    weights : ndarray of shape (m,) or None
        Factors of the votes of the points. None if all are 1.
    """

    points: np.ndarray
    codes: np.ndarray
    classes: np.ndarray
    k: int
    by_distance: bool
    tolerance: TieTolerance | None
    weights: np.ndarray | None = None


@dataclass(frozen=True)
class MapChain:
    """The maps of a model in order of application, its vote if any, and its feature names."""

    maps: tuple[Linear | KernelMap, ...]
    vote: Vote | None
    features: tuple[str, ...]

    def linear(self, exporter: str) -> Linear:
        """Return the model as one linear map, or raise an error that names the exporter."""
        if len(self.maps) == 1 and isinstance(self.maps[0], Linear):
            return self.maps[0]
        raise ValueError(
            f"{exporter} requires a linear map, but this model uses a kernel. Export it to ONNX or "
            "NumPy, or build a usearch index of its mapped samples."
        )

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """Map samples in double precision."""
        Z = np.asarray(X, dtype=np.float64)
        for each in self.maps:
            Z = each(Z)
        return Z


def map_chain(model: BaseEstimator) -> MapChain:
    """Return the chain of maps of a fitted model.

    Parameters
    ----------
    model : estimator
        A linear or kernel learner, a nearest-neighbour or centroid classifier, or a Pipeline of
        scalers and one of these. If the first step is a :class:`~dimetric.data.TableEncoder`, it is
        skipped, and the features of the chain are the features that the encoder returns.

    Examples
    --------
    >>> from dimetric import PCA
    >>> from sklearn.pipeline import make_pipeline
    >>> X = np.array([[0.0, 1.0], [2.0, 3.0], [4.0, 8.0]])
    >>> model = make_pipeline(StandardScaler(), PCA(1)).fit(X)
    >>> bool(np.allclose(map_chain(model)(X), model.transform(X)))
    True
    """
    check_is_fitted(model)
    steps = steps_of(model)
    if not steps:
        raise ValueError(
            "The pipeline has no step that maps samples, so there is nothing to export."
        )
    features = None
    if type(steps[0]).__name__ == "TableEncoder" and len(steps) > 1:
        features = list(steps.pop(0).get_feature_names_out())
    vote = None
    maps: list[Linear | KernelMap] = []
    for number, step in enumerate(steps):
        if isinstance(step, (KNNClassifier, CentroidClassifier)) and number == len(steps) - 1:
            vote = _vote_of(step)
            inner = map_chain(step.learner_) if step.learner_ is not None else None
            maps += inner.maps if inner else [identity(step.n_features_in_)]
        elif isinstance(step, Pipeline):
            maps += map_chain(step).maps
        else:
            maps.append(_map_of(step))
    if features is None:
        # A pipeline takes its names from its first step, which has none if it is "passthrough".
        names = getattr(model, "feature_names_in_", getattr(steps[0], "feature_names_in_", None))
        n_features = steps[0].n_features_in_
        features = [f"x{i}" for i in range(n_features)] if names is None else list(names)
    return MapChain(_merge_linear(maps), vote, tuple(map(str, features)))


def steps_of(model: BaseEstimator) -> list[Any]:
    """Return the estimators that a model applies, in order."""
    steps = [step for _, step in model.steps] if isinstance(model, Pipeline) else [model]
    return [step for step in steps if step not in (None, "passthrough")]


def identity(d: int) -> Linear:
    """Return the identity map of d features."""
    return Linear(np.ones(d), np.zeros(d), np.zeros(d))


def _merge_linear(maps: list[Linear | KernelMap]) -> tuple[Linear | KernelMap, ...]:
    """Merge consecutive linear maps."""
    merged = maps[:1]
    for each in maps[1:]:
        last = merged[-1]
        if isinstance(last, Linear) and isinstance(each, Linear):
            merged[-1] = last.then(each)
        else:
            merged.append(each)
    return tuple(merged)


def _as_float64(values: Any) -> np.ndarray:
    return np.asarray(to_host(values), dtype=np.float64)


def _scaling(scale: Any, offset: Any, d: int) -> Linear:
    """Return the map scale * (x - offset). None stands for a scale of 1 or an offset of 0."""
    W = np.ones(d) if scale is None else _as_float64(scale)
    return Linear(W, np.zeros(d) if offset is None else _as_float64(offset), np.zeros(d))


SCALERS: dict[type, Callable[[Any], Linear]] = {
    StandardScaler: lambda s: _scaling(_inverse(s.scale_), s.mean_, s.n_features_in_),
    RobustScaler: lambda s: _scaling(_inverse(s.scale_), s.center_, s.n_features_in_),
    MaxAbsScaler: lambda s: _scaling(_inverse(s.scale_), None, s.n_features_in_),
    MinMaxScaler: lambda s: replace(
        _scaling(s.scale_, s.data_min_, s.n_features_in_),
        b=np.full(s.n_features_in_, float(s.feature_range[0])),
    ),
}


def _inverse(scale: Any) -> Any:
    return None if scale is None else 1 / _as_float64(scale)


def _map_of(step: Any) -> Linear | KernelMap:
    if isinstance(step, LinearMetric | SpaceMap):
        L, offset = _as_float64(step.components_), getattr(step, "offset_", 0.0)
        offset = np.zeros(L.shape[1]) + _as_float64(offset)  # a SpaceMap has none
        return Linear(L, offset, np.zeros(len(L)))
    if isinstance(step, KernelMetric) and step._kernel.name != "precomputed":
        if callable(step._kernel.name):
            raise ValueError("A kernel that is a Python function cannot be exported.")
        kernel = replace(step._kernel, centre=_centre_of(step._kernel))
        return KernelMap(
            kernel,
            _as_float64(_dense(step.X_fit_)),
            _as_float64(step.components_),
            _as_float64(step.offset_),
        )
    clips = isinstance(step, MinMaxScaler) and step.clip
    if type(step) in SCALERS and not clips:
        return SCALERS[type(step)](step)
    raise ValueError(
        f"{type(step).__name__} cannot be exported. Export supports linear and kernel learners, "
        "scalers, and nearest-neighbour and centroid classifiers."
    )


def _dense(points: Any) -> Any:
    """Return points as a dense array, because exports do not support sparse arrays."""
    if not sparse.issparse(points):
        return points
    n, d = points.shape
    if n * d > MAX_DENSE_ENTRIES:
        raise ValueError(
            f"{n} sparse samples with {d} features cannot be exported, because exports contain "
            "them as dense arrays. Use a learner that maps them to few components, or landmarks."
        )
    return points.toarray()


def _centre_of(kernel: KernelFunction) -> np.ndarray | None:
    return None if kernel.centre is None else _as_float64(kernel.centre)


def require_euclidean(step: Any) -> None:
    """Raise if a classifier or regressor does not use one Euclidean distance of mapped samples."""
    name = type(step).__name__
    if isinstance(step, MultiMetricKNNClassifier):
        raise ValueError(f"{name} cannot be exported, because it has a metric for each class.")
    if isinstance(step, NeighborsEstimator) and not is_euclidean(step.metric, step.metric_params):
        raise ValueError(
            f"{name} cannot be exported, because metric={step.metric!r} is not Euclidean."
        )


def _vote_of(step: Any) -> Vote:
    if isinstance(step, CentroidClassifier):
        return Vote(_as_float64(step.centroids_), step._owners, step.classes_, 1, False, None)
    require_euclidean(step)
    name = type(step).__name__
    if callable(step.weights):
        raise ValueError(f"{name} cannot be exported, because its weights are a function.")
    if step.weights == "softmax":
        raise ValueError(
            f"{name} cannot be exported, because weights='softmax' lets all training samples vote. "
            "Export its learner_, or save the model with dimetric.save."
        )
    if step._codes.ndim == 2:
        raise ValueError(f"{name} cannot be exported, because y has several outputs.")
    points = _dense(step._points)
    tolerance = _tolerance_of(points, step.learner_ is not None)
    return Vote(
        _as_float64(points),
        step._codes,
        step.classes_,
        int(step.n_neighbors),
        step.weights == "distance",
        tolerance,
        step._weights_of_votes(),
    )


def _tolerance_of(points: Any, is_mapped: bool) -> TieTolerance:
    relative = relative_tolerance(points)
    per_size = COORDINATE_ROUNDINGS * eps(points)
    points = to_host(points)
    varies = varying_features(points)
    spread = float(np.median(norms_of(points, varies, "euclidean", None))) if is_mapped else 0.0
    varies = np.max(points, axis=0) > np.min(points, axis=0)
    return TieTolerance(relative, relative * spread, per_size, varies.astype(np.float64))
