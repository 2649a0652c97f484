"""Scan over numbers of neighbours, to detect disconnected graphs and edges across gaps."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csgraph

from dimetric._arguments import check_types
from dimetric._arrays.dissimilarities import check_dissimilarities
from dimetric._arrays.namespaces import Array, to_host
from dimetric._arrays.validation import checked_array, rescale_for_squares
from dimetric.neighbors.graph import directed, undirected
from dimetric.neighbors.landmarks import draw_landmarks
from dimetric.neighbors.metric_search import metric_neighbors
from dimetric.neighbors.paths import geodesics

NOTICEABLE_DROP = 0.02  # as a fraction of the mean geodesic distance
SUDDEN_FACTOR = 3.0  # ratio to the smallest earlier drop


@dataclass(frozen=True)
class NeighborScan:
    """Properties of the neighbour graph for every number of neighbours scanned.

    Attributes
    ----------
    n_neighbors : ndarray of int
        Numbers of neighbours, ascending.
    n_parts : ndarray of int
        Number of connected components of the graph.
    mean_geodesic : ndarray
        Mean length of the shortest paths that exist.
    drop : ndarray
        Relative decrease in the sum of geodesic distances since the previous number of neighbours,
        over the pairs that the previous graph connects. 0 for the first number.
    """

    n_neighbors: np.ndarray
    n_parts: np.ndarray
    mean_geodesic: np.ndarray
    drop: np.ndarray

    @property
    def open_circuit(self) -> np.ndarray:
        """Whether the graph has several connected components."""
        return self.n_parts > 1

    @property
    def short_circuit(self) -> np.ndarray:
        """Whether geodesic distances drop suddenly.

        Each additional neighbour shortens the distances a little, by less and less. A drop of at
        least 2 % that is more than three times the smallest earlier drop indicates an edge across
        a gap.
        """
        drops = np.where(np.arange(len(self.drop)) == 0, np.inf, self.drop)
        before = np.r_[np.inf, np.minimum.accumulate(drops)[:-1]]
        return (self.drop >= NOTICEABLE_DROP) & (self.drop > SUDDEN_FACTOR * before)

    @property
    def usable(self) -> np.ndarray:
        """Whether the number of neighbours is neither too small nor too large."""
        return ~self.open_circuit & (np.cumsum(self.short_circuit) == 0)


@check_types
def scan_neighbors(
    X: Array,
    n_neighbors: Iterable[int] = range(3, 31),
    *,
    metric: str | Callable[..., float] = "euclidean",
    metric_params: dict[str, Any] | None = None,
    n_sources: int = 50,
    random_state: Any = None,
) -> NeighborScan:
    """Build the neighbour graph for several numbers of neighbours and compare geodesic distances.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Samples, or all pairwise distances if `metric` is ``"precomputed"``.
    n_neighbors : iterable of int, default=range(3, 31)
        Numbers of neighbours, less than the number of samples.
    metric, metric_params
        As in :class:`Isomap`.
    n_sources : int, default=50
        Number of random samples whose geodesic distances to all others are computed.
    random_state : int, RandomState or None, default=None
        Random seed for the choice of these samples.

    Examples
    --------
    On this Swiss roll, four neighbours are enough, and sixteen create edges between its turns:

    >>> from dimetric.data import make_swiss_roll
    >>> X = make_swiss_roll(1000, random_state=0).X
    >>> scan = scan_neighbors(X, range(2, 20), random_state=0)
    >>> scan.n_neighbors[scan.open_circuit], scan.n_neighbors[scan.short_circuit]
    (array([2, 3]), array([16, 18]))
    >>> scan.n_neighbors[scan.usable]
    array([ 4,  5,  6,  7,  8,  9, 10, 11, 12, 13, 14, 15])
    """
    X = checked_array(X, "X")
    if metric == "precomputed":
        check_dissimilarities(X)
    X, factor = rescale_for_squares(X)
    X, numbers = to_host(X), np.unique(list(n_neighbors))
    if len(numbers) == 0 or numbers.dtype.kind != "i" or numbers[0] < 1:
        raise ValueError("n_neighbors must contain one or more ints, all of at least 1.")
    if n_sources < 1:
        raise ValueError(f"n_sources={n_sources} must be at least 1.")
    n = len(X)
    distances, indices = metric_neighbors(
        X, numbers[-1], metric=metric, metric_params=metric_params
    )
    samples = None if metric == "precomputed" else X
    rows = draw_landmarks(n, min(n_sources, n), random_state, samples)
    table, previous = [], None
    for k in numbers:
        graph = undirected(directed(indices[:, :k], distances[:, :k], n))
        G = geodesics(graph, rows)
        parts = csgraph.connected_components(graph, directed=False)[0]
        table.append((parts, G[np.isfinite(G)].mean(), _drop(previous, G)))
        previous = G
    n_parts, mean, drop = np.array(table).T
    return NeighborScan(numbers, n_parts.astype(int), mean / factor, drop)


def _drop(previous: np.ndarray | None, G: np.ndarray) -> float:
    """Return the relative decrease in the sum of geodesic distances.

    The sums are over the pairs that the previous graph connects.
    """
    if previous is None:
        return 0.0
    connected = np.isfinite(previous)
    before = previous[connected].sum()
    return 1 - G[connected].sum() / before if before > 0 else 0.0
