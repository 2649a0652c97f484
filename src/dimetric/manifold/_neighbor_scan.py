"""A scan over numbers of neighbours: graphs that fall apart, and graphs with edges across gaps."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csgraph

from dimetric._arrays.namespaces import Array, to_host
from dimetric._arrays.validation import check_dissimilarities, checked_array, rescale_for_squares
from dimetric.neighbors.graph import directed, undirected
from dimetric.neighbors.landmarks import draw_landmarks
from dimetric.neighbors.metric_search import metric_neighbors
from dimetric.neighbors.paths import geodesics

NOTICEABLE_DROP = 0.02  # share of the mean geodesic
SUDDEN_FACTOR = 3.0  # times the smallest drop before


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
        Share by which the mean has fallen since the number before, over the paths that both graphs
        have; 0 for the first number.
    """

    n_neighbors: np.ndarray
    n_parts: np.ndarray
    mean_geodesic: np.ndarray
    drop: np.ndarray

    @property
    def open_circuit(self) -> np.ndarray:
        """Tell where the graph has several components."""
        return self.n_parts > 1

    @property
    def short_circuit(self) -> np.ndarray:
        """Tell where geodesics fall suddenly.

        With every further neighbour they fall a little, and less and less. A drop of 2 % or more,
        and more than three times the smallest drop before, means an edge across a gap.
        """
        drops = np.where(np.arange(len(self.drop)) == 0, np.inf, self.drop)
        before = np.r_[np.inf, np.minimum.accumulate(drops)[:-1]]
        return (self.drop >= NOTICEABLE_DROP) & (self.drop > SUDDEN_FACTOR * before)

    @property
    def usable(self) -> np.ndarray:
        """Tell which numbers of neighbours are large enough and not too large."""
        return ~self.open_circuit & (np.cumsum(self.short_circuit) == 0)


def scan_neighbors(
    X: Array,
    n_neighbors: Iterable[int] = range(3, 31),
    *,
    metric: str | Callable[..., float] = "euclidean",
    metric_params: dict[str, Any] | None = None,
    n_sources: int = 50,
    random_state: Any = None,
) -> NeighborScan:
    """Build the neighbour graph for many numbers of neighbours, and compare their geodesics.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Samples, or all distances if `metric` is ``"precomputed"``.
    n_neighbors : iterable of int, default=range(3, 31)
        Numbers of neighbours, below the number of samples.
    metric, metric_params
        As in :class:`Isomap`.
    n_sources : int, default=50
        Number of samples, drawn at random, whose geodesics to all others are computed.
    random_state : int, RandomState or None, default=None
        Draws these samples.

    Examples
    --------
    On this roll four neighbours are enough, and sixteen link its turns:

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
        raise ValueError("n_neighbors must hold numbers of neighbours, from 1 on.")
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
    """Return the share by which geodesics have fallen, over the paths that existed before."""
    if previous is None:
        return 0.0
    both = np.isfinite(previous)
    before = previous[both].sum()
    return 1 - G[both].sum() / before if before > 0 else 0.0
