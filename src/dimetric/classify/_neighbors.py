"""Search for the nearest training samples, and the weights of their votes."""

from collections.abc import Callable, Sequence
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.base import ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from dimetric._arrays.namespaces import Array, asarray_like, is_foreign, namespace, to_host
from dimetric._compat import Interval, StrOptions
from dimetric.classify._base import DistanceEstimator
from dimetric.neighbors.metric_search import Metric, is_euclidean
from dimetric.neighbors.queries import relative_tolerance
from dimetric.neighbors.ties import Neighborhoods, WeightFunction

# Votes for two classes that differ by less than this multiple of the tolerance of distances count
# as equal. Weights 1 / distance have larger relative errors than distances.
VOTE_TOLERANCE = 16

Weights = str | Callable[[np.ndarray], np.ndarray] | None


class NeighborsEstimator(DistanceEstimator):
    """Base class of nearest-neighbour classifiers and regressors. Stores the mapped samples."""

    n_neighbors: int
    weights: Weights
    metric: Metric
    metric_params: dict[str, Any] | None
    n_samples_fit_: int
    _points: Array

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **DistanceEstimator._parameter_constraints,
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "weights": [StrOptions({"uniform", "distance"}), callable, None],
        "metric": [str, callable],
        "metric_params": [dict, None],
    }

    def __init__(
        self,
        n_neighbors: int = 3,
        *,
        learner: Any = None,
        weights: Weights = "uniform",
        metric: Metric = "euclidean",
        metric_params: dict[str, Any] | None = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.learner = learner
        self.weights = weights
        self.metric = metric
        self.metric_params = metric_params

    def kneighbors(
        self,
        X: Array | None = None,
        n_neighbors: int | None = None,
        return_distance: bool = True,
    ) -> Any:
        """Return the training samples nearest to each sample, in order of distance.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or None
            Samples. If None, the training samples are used, and a sample is not its own neighbour.
        n_neighbors : int, optional
            Number of neighbours. The default is the parameter `n_neighbors` of the estimator.
        return_distance : bool, default=True
            Whether to return the distances.

        Returns
        -------
        distances, indices : ndarray of shape (n_samples, n_neighbors)
            Learned distances and row indices of training samples, in host memory. Samples at equal
            distance are in row order. Without distances, only the indices are returned.
        """
        near, k = self._neighborhoods(X, n_neighbors)
        distances, indices = near.listed(k)
        return (distances, indices) if return_distance else indices

    def _neighborhoods(self, X: Array | None, n_neighbors: int | None = None) -> tuple[Any, int]:
        """Return the neighbours of samples, as :class:`Neighborhoods`, and their number."""
        check_is_fitted(self)
        k = self.n_neighbors if n_neighbors is None else n_neighbors
        available = self.n_samples_fit_ - (X is None)
        if not isinstance(k, Integral) or not 1 <= k <= available:
            others = "other training samples" if X is None else "training samples"
            raise ValueError(
                f"n_neighbors={k} must be an int between 1 and the number of {others}, {available}."
            )
        return self._search(None if X is None else self._mapped(X), int(k)), int(k)

    def _search(self, Z: Array | None, k: int) -> Any:
        """Return the neighbours of mapped samples Z, or of the training samples if Z is None."""
        queries = self._points if Z is None else Z
        return Neighborhoods(
            queries,
            k,
            None if Z is None else points_like(self._points, Z),
            metric=self.metric,
            metric_params=self.metric_params,
            is_mapped=self.learner_ is not None,
        )

    def _keep_mapped(self, X: Array, y: np.ndarray) -> None:
        """Fit the learner, and store the mapped training samples."""
        n = X.shape[0]
        if self.n_neighbors > n:
            raise ValueError(
                f"n_neighbors={self.n_neighbors} is larger than n_samples={n}. Choose a smaller "
                "n_neighbors."
            )
        if self.metric == "precomputed":
            _check_precomputed(X, self.learner)
        try:
            self._points = self._fit_learner(X, y)
        except ValueError as error:
            # scikit-learn's checks of class labels raise these messages.
            if "Unknown label type" in str(error) or "should be a 1d array" in str(error):
                raise ValueError(class_learner_message(self.learner, y)) from error
            raise
        self.n_samples_fit_ = n

    def _check_metric(self, X: Any) -> None:
        """Raise if the metric is unknown, lacks a parameter, or does not support sparse X."""
        if callable(self.metric) or is_euclidean(self.metric, self.metric_params):
            return
        from sklearn.neighbors import VALID_METRICS, VALID_METRICS_SPARSE

        names = sorted({*VALID_METRICS["brute"], "precomputed"} - {"nan_euclidean", "pyfunc"})
        if self.metric not in names:
            raise ValueError(
                f"metric={self.metric!r} is unknown. Use a function or one of {', '.join(names)}."
            )
        if sparse.issparse(X) and self.metric not in VALID_METRICS_SPARSE["brute"]:
            raise ValueError(
                f"metric={self.metric!r} does not support sparse samples. Pass a dense array."
            )
        required = {"mahalanobis": "VI", "seuclidean": "V"}.get(self.metric)
        if required and required not in (self.metric_params or {}):
            raise ValueError(
                f"metric={self.metric!r} requires metric_params={{{required!r}: ...}}, but "
                f"metric_params={self.metric_params!r}."
            )

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.metric == "precomputed"
        return tags


def learns_from_classes(learner: Any) -> bool:
    """Return whether a learner, or a step of a pipeline, learns from class labels.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from dimetric import LDA, PCA
    >>> learns_from_classes(PCA()), learns_from_classes(make_pipeline(PCA(), LDA()))
    (False, True)
    """
    parts = [learner, *learner.get_params().values()] if hasattr(learner, "get_params") else []
    return any(
        isinstance(part, ClassifierMixin) or bool(getattr(part, "_supervision_kinds", ()))
        for part in parts
    )


def class_learner_message(learner: Any, y: np.ndarray) -> str:
    """Return the error message for a learner that cannot learn from the targets y."""
    has = "continuous targets" if y.ndim == 1 else f"{y.shape[1]} outputs"
    return (
        f"learner={learner!r} learns from one class per sample, but y has {has}. Use an "
        "unsupervised learner, such as PCA or Covariance, or learner=None."
    )


def _check_precomputed(D: Array, learner: Any) -> None:
    """Raise unless D is a dense square matrix of distances, and there is no learner."""
    if learner is not None:
        raise ValueError(
            "metric='precomputed' cannot be combined with a learner, because a learner maps "
            "samples, not distances. Set learner=None."
        )
    if sparse.issparse(D):
        raise ValueError(
            "With metric='precomputed', X must be a dense matrix of distances, but it is sparse."
        )
    if D.shape[0] != D.shape[1]:
        raise ValueError(
            "With metric='precomputed', X must be a square matrix of the distances between all "
            f"training samples, but it has shape {tuple(D.shape)}."
        )
    if bool(namespace(D).any(D < 0)):
        raise ValueError(
            "With metric='precomputed', X holds distances, which must not be negative."
        )


def points_like(points: Array, Z: Array) -> Array:
    """Return points in the namespace of Z.

    If Z is a NumPy or SciPy array, the points keep their dtype. Otherwise they get the dtype of Z.
    """
    if is_foreign(Z):
        return asarray_like(points, Z)
    return to_host(points) if is_foreign(points) else points


def weights_of(distances: np.ndarray, weights: Weights) -> np.ndarray:
    """Return the weights of neighbours at given distances.

    Examples
    --------
    >>> weights_of(np.array([[1.0, 4.0], [0.0, 2.0]]), "distance")
    array([[1.  , 0.25],
           [1.  , 0.  ]])
    """
    if callable(weights):
        values = np.asarray(weights(distances), dtype=np.float64)
        if values.shape != distances.shape:
            raise ValueError(
                "weights must return an array of the same shape as the distances, "
                f"{distances.shape}, but returned shape {values.shape}."
            )
        if not np.all(np.isfinite(values) & (values >= 0)):
            raise ValueError(
                "weights must return finite numbers of at least 0, but returned negative, infinite "
                "or NaN values."
            )
    else:
        with np.errstate(divide="ignore"):
            values = 1 / distances
        at_zero = np.isinf(values)  # includes distances so small that their inverse overflows
        values = np.where(np.any(at_zero, axis=1, keepdims=True), at_zero, values)
    if np.any(np.all(values == 0, axis=1)):
        raise ValueError(
            "All neighbours of a sample have weight 0. weights must return at least one positive "
            "weight for each sample."
        )
    return values


def has_several_outputs(y: Any) -> bool:
    """Return whether y is a matrix with several columns.

    Examples
    --------
    >>> has_several_outputs([0, 1]), has_several_outputs([[0], [1]])
    (False, False)
    >>> has_several_outputs([[0, 1], [1, 1]])
    True
    """
    shape = y.shape if hasattr(y, "shape") else np.asarray(y).shape
    return len(shape) == 2 and shape[1] > 1


def weight_function(weights: Weights) -> WeightFunction | None:
    """Return the function that returns weights from distances, or None if all weights are 1."""
    if weights is None or weights == "uniform":
        return None
    return lambda distances: weights_of(distances, weights)


def one_hot_rows(outputs: Sequence[tuple[np.ndarray, int]]) -> sparse.csr_array:
    """Return the indicators of classes as a sparse array with a column for each class.

    Parameters
    ----------
    outputs : sequence of (ndarray of shape (n,), int)
        For each output, the codes of the samples and the number of classes.

    Examples
    --------
    >>> one_hot_rows([(np.array([0, 1]), 2), (np.array([2, 0]), 3)]).toarray()
    array([[1., 0., 0., 0., 1.],
           [0., 1., 1., 0., 0.]])
    """
    for codes, n_classes in outputs:
        if np.any((codes < 0) | (codes >= n_classes)):  # from a damaged model file
            raise ValueError(f"Class codes must be between 0 and {n_classes - 1}.")
    first = np.cumsum([0, *(n_classes for _, n_classes in outputs)])
    columns = np.stack([codes + first[i] for i, (codes, _) in enumerate(outputs)], axis=1)
    n, m = columns.shape
    starts = np.arange(0, n * m + 1, m)
    return sparse.csr_array((np.ones(n * m), columns.ravel(), starts), shape=(n, first[-1]))


def most_voted(votes: np.ndarray, points: Array) -> np.ndarray:
    """Return the first class of each row whose votes are the most, up to rounding.

    Examples
    --------
    >>> most_voted(np.array([[0.1 + 0.2, 0.3, 0.0], [0.3, 0.1 + 0.2, 0.0]]), np.zeros(1))
    array([0, 0])
    """
    tolerance = VOTE_TOLERANCE * relative_tolerance(points)
    return np.argmax(votes >= (1 - tolerance) * np.max(votes, axis=1, keepdims=True), axis=1)
