"""Search for the nearest training samples."""

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from dimetric._arrays.namespaces import (
    Array,
    asarray_like,
    is_foreign,
    namespace,
    take_rows,
    to_host,
)
from dimetric._compat import Interval, StrOptions
from dimetric.blocks.source import Source
from dimetric.classify._base import DistanceEstimator, values_like
from dimetric.classify._block_training import mapped_references
from dimetric.classify._class_learner import explaining_class_learner
from dimetric.classify._kept_search import KeptSearchMixin
from dimetric.classify._softmax import RowLoss, leave_one_out_temperature, softmax_sums
from dimetric.classify._training import Training
from dimetric.classify._votes import Weights, weight_function
from dimetric.classify._weights import relative_weights
from dimetric.neighbors.approximate.search import SEARCH_PARAMETER, check_search
from dimetric.neighbors.metric_search import Metric, check_metric, is_euclidean
from dimetric.neighbors.queries import Queries
from dimetric.neighbors.ties import Neighborhoods


class NeighborsEstimator(KeptSearchMixin, DistanceEstimator):
    """Base class of nearest-neighbour classifiers and regressors. Stores the mapped samples."""

    n_neighbors: int
    weights: Weights
    temperature: float | None
    temperature_: float
    metric: Metric
    metric_params: dict[str, Any] | None
    n_references: int | None
    n_samples_fit_: int
    n_samples_seen_: int
    _points: Array

    _searches_points: ClassVar[bool] = True  # whether neighbours are searched among `_points`
    _learns_from_blocks: ClassVar[bool] = True
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **DistanceEstimator._parameter_constraints,
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "weights": [StrOptions({"uniform", "distance", "softmax"}), callable, None],
        "temperature": [Interval(Real, 0, None, closed="neither"), None],
        "metric": [str, callable],
        "metric_params": [dict, None],
        **SEARCH_PARAMETER,
        "n_references": [Interval(Integral, 1, None, closed="left"), None],
    }

    def __init__(
        self,
        n_neighbors: int = 3,
        *,
        learner: Any = None,
        weights: Weights = "uniform",
        temperature: float | None = None,
        metric: Metric = "euclidean",
        metric_params: dict[str, Any] | None = None,
        search: Any = None,
        n_references: int | None = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.learner = learner
        self.weights = weights
        self.temperature = temperature
        self.metric = metric
        self.metric_params = metric_params
        self.search = search
        self.n_references = n_references

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
            Samples. If None, the training samples with a label and a positive weight are used, and
            a sample is not its own neighbour.
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
        rows = self._rows_used()
        indices = indices if rows is None else rows[indices]
        return (distances, indices) if return_distance else indices

    def _neighborhoods(self, X: Array | None, n_neighbors: int | None = None) -> tuple[Any, int]:
        """Return the neighbours of samples, as :class:`Neighborhoods`, and their number."""
        Z = self._mapped_or_none(X)
        k = self.n_neighbors if n_neighbors is None else n_neighbors
        available = self.n_samples_fit_ - (X is None)
        if not isinstance(k, Integral) or not 1 <= k <= available:
            others = "other training samples" if X is None else "training samples"
            raise ValueError(
                f"n_neighbors={k} must be an int between 1 and the number of {others}, {available}."
            )
        return self._search(Z, int(k)), int(k)

    def _mapped_or_none(self, X: Array | None) -> Array | None:
        """Return mapped samples, or None if X is None. Precomputed distances are those used."""
        if X is None:
            check_is_fitted(self)
            return None
        Z, rows = self._mapped(X), self._rows_used()
        if rows is not None and self.metric == "precomputed":
            Z = take_rows(Z.T, rows).T
        return Z

    def _search(self, Z: Array | None, k: int) -> Any:
        """Return the neighbours of mapped samples Z, or of the training samples if Z is None."""
        queries = self._points if Z is None else Z
        return Neighborhoods(
            queries,
            k,
            None if Z is None else points_like(self._points, Z),
            index=self._index,
        )

    def _weighted_sums(self, X: Array | None) -> tuple[np.ndarray, np.dtype]:
        """Return weighted sums of the values of the neighbours of samples, and their dtype.

        The sums of a sample have a common factor.
        """
        if self.weights != "softmax":
            near, k = self._neighborhoods(X)
            return near.sums(self._values(), k, weight_function(self.weights)), near.dtype
        check_is_fitted(self)
        if X is None and self.n_samples_fit_ < 2:
            raise ValueError("Leave-one-out results require at least 2 training samples.")
        queries = self._queries(self._mapped_or_none(X))
        return softmax_sums(queries, self._values(), self.temperature_), queries.dtype

    def _queries(self, Z: Array | None) -> Queries:
        """Return mapped samples Z, or the training samples if Z is None, for a softmax vote."""
        points = None if Z is None else points_like(self._points, Z)
        return Queries(self._points if Z is None else Z, points, self.metric, self.metric_params)

    def _keep_temperature(self, loss: RowLoss, slack: float = 0.0) -> None:
        """Set the temperature of a softmax vote: the given one, or the best in leave-one-out.

        The arguments are those of :func:`leave_one_out_temperature`.
        """
        self.__dict__.pop("temperature_", None)
        if self.weights == "softmax" and self.temperature is not None:
            self.temperature_ = float(self.temperature)
        elif self.weights == "softmax":
            weights = self._weights_of_votes()
            self.temperature_ = leave_one_out_temperature(
                self._queries(None), self._values(), loss, weights=weights, slack=slack
            )

    def _like_samples(self, values: np.ndarray, X: Array | None) -> Array:
        """Return predictions in the namespace of X, or of the training samples if X is None."""
        return values_like(values, self._points if X is None else X)

    def _keep_mapped(
        self,
        training: Training,
        *,
        n_seen: int,
        weights_given: bool = False,
        source: Source | None = None,
    ) -> None:
        """Fit the learner, and store the mapped training samples and their weights.

        Parameters
        ----------
        training : Training
            The training samples.
        n_seen : int
            Number of labelled samples from which the training samples were drawn.
        weights_given : bool, default=False
            Whether the user gave sample weights.
        source : Source, optional
            All samples, if they are in blocks. The learner is fitted to them.
        """
        n, which = training.n_labelled, ""
        if n < n_seen:
            which = ", the number of references"
        elif training.rows is not None:
            which = f", the number of {'' if training.labelled is None else 'labelled '}samples"
            which += " of positive weight"
        if self.n_neighbors > n and self.weights != "softmax":
            raise ValueError(
                f"n_neighbors={self.n_neighbors} is larger than n_samples={n}{which}. Choose a "
                "smaller n_neighbors."
            )
        with explaining_class_learner(self, training.y):
            if source is None:
                self._points = self._fit_learner(training, weights_given=weights_given)
            else:
                self._points = mapped_references(self, source, training.samples)
        self.n_samples_fit_, self.n_samples_seen_ = n, n_seen
        self._forget_search()
        if self._searches_points and (self.weights != "softmax" or self.search is not None):
            check_search(self.search, self._points)
            self._build_search()
        # Attributes of weights are missing in models without weights.
        for name, value in (
            ("_vote_weights", relative_weights(training.weights)),
            ("_rows", training.rows),
        ):
            self.__dict__.pop(name, None)
            if value is not None:
                setattr(self, name, value)

    def _weights_of_votes(self) -> np.ndarray | None:
        """Return the weights of the training samples, at most 1, or None if all are equal."""
        return getattr(self, "_vote_weights", None)

    def _rows_used(self) -> np.ndarray | None:
        """Return the row indices of the training samples in X, or None if these are all rows."""
        return getattr(self, "_rows", None)

    def _of_training_rows(self, values: Any) -> Any:
        """Return the values of the training samples, if there is one for each row of X."""
        rows = self._rows_used()
        if rows is None or values is None:
            return values
        values = to_host(values) if is_foreign(values) else np.asarray(values)
        return values if len(values) <= rows[-1] else values[rows]

    def _require_one_metric(self) -> None:
        if not is_euclidean(self.metric, self.metric_params):
            raise ValueError(
                f"metric={self.metric!r} is not Euclidean, so squared distances are not sums over "
                "features. Set metric='euclidean'."
            )

    def _check_samples(self, X: Array) -> None:
        if self.metric == "precomputed":
            _check_precomputed(X, self.learner)

    def _check_metric(self, X: Any) -> None:
        """Raise if the metric is unknown, lacks a parameter, or does not support X or `search`."""
        samples = X if self.learner is None else None
        check_search(self.search, samples, self.metric, self.metric_params)
        check_metric(X, self.metric, self.metric_params)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.metric == "precomputed"
        return tags


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
