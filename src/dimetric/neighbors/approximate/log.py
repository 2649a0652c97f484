"""The searches of a fit, and how many of the nearest neighbours they found."""

from typing import Any

import numpy as np

from dimetric._arrays.random_state import random_generator
from dimetric._warnings import warn
from dimetric.neighbors.approximate.index import ApproximateIndex
from dimetric.neighbors.approximate.search import (
    ApproximateNeighbors,
    check_search,
    is_approximate,
    name_of_search,
    remedy_for,
)
from dimetric.neighbors.euclidean.search import euclidean_neighbors
from dimetric.neighbors.queries import RELATIVE_TOLERANCE

RECALL_SAMPLES = 400  # random samples that measure the recall
LOW_RECALL = 0.9  # a lower recall issues a warning


class SearchLog:
    """The approximate searches of a fit, with the lowest recall of them.

    Parameters
    ----------
    search : ApproximateNeighbors, neighbour model or None
        The parameter `search` of an estimator.

    Examples
    --------
    >>> from sklearn.neighbors import NearestNeighbors
    >>> log = SearchLog(NearestNeighbors())
    >>> log.nearest_others(np.array([[0.0], [1.0], [5.0]]), 1)[1].ravel()
    array([1, 0, 1])
    >>> log.metadata()
    {'search': 'NearestNeighbors', 'search_recall': 1.0}
    """

    def __init__(self, search: Any) -> None:
        check_search(search)
        self.search = search
        self._recall: float | None = None

    def is_approximate(self, n_points: int) -> bool:
        """Return whether a search among some points is approximate."""
        return is_approximate(self.search, n_points)

    def nearest_others(self, X: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the distances and indices of the k other rows near each row, nearest first."""
        found = ApproximateIndex(X, self.search).nearest_others(k)
        rows = self.sampled_rows(len(X))
        self.record(found[0][rows], exact_distances(X, rows, k))
        return found

    def record_index(self, index: ApproximateIndex, X: np.ndarray, k: int) -> None:
        """Measure the recall of the search among distinct points X for their k neighbours."""
        rows, k = self.sampled_rows(len(X)), min(k, len(X) - 1)
        self.record(index.nearest_others(k, rows)[0], exact_distances(X, rows, k))

    def sampled_rows(self, n: int) -> np.ndarray:
        """Return the row numbers of random samples, ascending."""
        is_seeded = isinstance(self.search, ApproximateNeighbors)
        rng = random_generator(int(self.search.random_state) if is_seeded else 0)
        return np.sort(rng.choice(n, min(n, RECALL_SAMPLES), replace=False))

    def record(self, found: np.ndarray, exact: np.ndarray) -> None:
        """Compute the recall from distances to neighbours, and warn if it is low.

        Parameters
        ----------
        found, exact : ndarray of shape (m, k)
            Distances to the neighbours that were found, and to the nearest neighbours. They are
            infinite for missing neighbours.
        """
        exists = np.isfinite(exact)
        bound = np.max(exact, axis=1, where=exists, initial=0)[:, None]
        is_near = found <= bound * (1 + RELATIVE_TOLERANCE["float64"])
        total = int(np.sum(exists))
        recall = float(np.sum(is_near) / total) if total else 1.0
        if recall < LOW_RECALL:
            warn(
                f"The approximate search {name_of_search(self.search)!r} found only "
                f"{100 * recall:.0f} % of the nearest neighbours of {len(found)} random samples. "
                + remedy_for(self.search),
            )
        self._recall = recall if self._recall is None else min(recall, self._recall)

    def metadata(self) -> dict[str, Any]:
        """Return which search was used, and its recall. Without the parameter, return nothing."""
        if self.search is None:
            return {}
        if self._recall is None:
            return {"search": "exact", "search_recall": 1.0}
        return {"search": name_of_search(self.search), "search_recall": self._recall}


def exact_distances(X: np.ndarray, rows: np.ndarray, k: int) -> np.ndarray:
    """Return the exact distances from some rows of X to their k nearest other rows."""
    X = X.astype(np.float64, copy=False)
    return euclidean_neighbors(X[rows], k + 1, X)[0][:, 1:]  # the first is the row itself
