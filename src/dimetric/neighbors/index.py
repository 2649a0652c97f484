"""Points that are prepared once, and then searched for the neighbours of many queries."""

from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from dimetric._arrays.namespaces import Array, is_foreign, to_host
from dimetric._arrays.row_order import EqualRows, equal_rows
from dimetric.neighbors.approximate.index import ApproximateIndex
from dimetric.neighbors.approximate.search import is_approximate
from dimetric.neighbors.euclidean.index import EuclideanIndex
from dimetric.neighbors.metric_search import Metric, is_euclidean
from dimetric.neighbors.queries import norms_of, varying_features


class NeighborIndex:
    """What a search needs to know about the points, computed on first use and then kept.

    Pass it to :class:`~dimetric.neighbors.ties.Neighborhoods`.

    Parameters
    ----------
    points : array or sparse array of shape (n, d)
        Points, in any namespace. With ``metric="precomputed"``, the distances between them.
    metric, metric_params
        A metric of :class:`sklearn.neighbors.NearestNeighbors` and its parameters.
    is_mapped : bool, default=False
        Whether a learner mapped the points.
    search : ApproximateNeighbors, neighbour model or None, default=None
        An approximate search in Euclidean distance. By default, the search is exact.

    Attributes
    ----------
    values : array or sparse array of shape (n, c), or None
        Values of the points, which an estimator keeps here.

    Examples
    --------
    >>> from dimetric.neighbors.ties import Neighborhoods
    >>> X = np.array([[3.0], [1.0], [1.0]])
    >>> index = NeighborIndex(X)
    >>> Neighborhoods(np.array([[0.0]]), 2, X, index=index).listed(2)[1]
    array([[1, 2]])
    """

    def __init__(
        self,
        points: Array,
        metric: Metric = "euclidean",
        metric_params: dict[str, Any] | None = None,
        *,
        is_mapped: bool = False,
        search: Any = None,
    ) -> None:
        self.points, self.search = points, search
        self.metric, self.metric_params = metric, metric_params
        self.is_mapped = is_mapped
        self.values: Any = None
        self._totals: tuple[Any, Any] = None, None  # values, and their totals

    @property
    def settings(self) -> tuple[Any, Any, Any, Any]:
        """The points, the metric and its parameters, and the approximate search."""
        return self.points, self.metric, self.metric_params, self.search

    @property
    def is_approximate(self) -> bool:
        """Whether the search is approximate."""
        return isinstance(self.euclidean, ApproximateIndex)

    def build(self) -> None:
        """Prepare the search now. Otherwise the first search prepares it."""
        _ = self.equal, self.spread
        if self.euclidean is not None:
            _ = self.varies
            self.euclidean.build()

    @cached_property
    def equal(self) -> EqualRows | None:
        """Groups of equal points, or None if all points differ."""
        return None if self.metric == "precomputed" else equal_rows(self.points)

    @cached_property
    def distinct(self) -> Array:
        """One point of each group of equal points."""
        return self.points if self.equal is None else self.equal.distinct(self.points)

    def totals(self, values: Any) -> Any:
        """Return the sums of the values over equal points. Those of the last values are kept."""
        if self.equal is None:
            return values
        if self._totals[0] is not values:
            self._totals = values, self.equal.totals(values)
        return self._totals[1]

    @cached_property
    def spread(self) -> float:
        """The median norm of the points, if a learner mapped them, and 0 otherwise."""
        if not self.is_mapped:
            return 0.0
        return float(np.median(norms_of(self.points, self.varies, self.metric, self.metric_params)))

    @cached_property
    def varies(self) -> Any:
        """Which features are not constant."""
        return varying_features(self.points)

    @cached_property
    def euclidean(self) -> EuclideanIndex | ApproximateIndex | None:
        """The search among dense points in Euclidean distance, on the host or approximate."""
        if is_approximate(self.search, self.distinct.shape[0]):
            return ApproximateIndex(to_host(self.distinct), self.search)
        if (
            not is_euclidean(self.metric, self.metric_params)
            or sparse.issparse(self.points)
            or is_foreign(self.points)
        ):
            return None
        return EuclideanIndex(self.distinct)
