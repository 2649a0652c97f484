r"""The stress of coordinates, and a function that majorises it.

.. math:: \sigma(Z) = \sum_{i<j} w_{ij} (\delta_{ij} - d_{ij}(Z))^2
          = \eta^2 + \mathrm{tr}(Z^T V Z) - 2\, \mathrm{tr}(Z^T B(Z) Z)

Here :math:`\eta^2 = \sum_{i<j} w_{ij} \delta_{ij}^2`, and V and B(Z) are the graph Laplacians of
the weights :math:`w_{ij}` and :math:`w_{ij} \delta_{ij} / d_{ij}(Z)`. The quadratic function that
equals the stress at Z and is nowhere below it has its minimum at :math:`V^+ B(Z) Z` [1]_. One pass
over the dissimilarities gives the stress at Z and this minimum.

References
----------
.. [1] I. Borg, P. J. F. Groenen, "Modern multidimensional scaling", Springer, 2005, chapter 8.
"""

from collections.abc import Iterator
from typing import NamedTuple

import array_api_compat as compat
import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import isotonic_regression
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import cdist, pdist, squareform
from sklearn.utils.validation import check_array

from dimetric._arrays.blocks import row_blocks
from dimetric._arrays.compiled import import_compiled
from dimetric._arrays.namespaces import Array, asarray_like, eps, namespace, to_host
from dimetric._arrays.squared_distances import left_factor, right_factor, squared_distances
from dimetric._arrays.threads import run_on_threads

BLOCK_ENTRIES = 2**18  # distances per block, to fit the cache of a core
MIN_COMPILED_SAMPLES = 1024  # for fewer, importing numba takes as long as 100 iterations without it


class Evaluation(NamedTuple):
    """The stress at Z, the weighted sum of squared distances, and B(Z) Z."""

    stress: float
    sum_of_squares: float
    pull: np.ndarray


class Stress:
    """Stress of metric scaling, which compares distances with the dissimilarities.

    Parameters
    ----------
    D : array of shape (n, n)
        Dissimilarities, in any namespace.
    W : ndarray of shape (n, n), optional
        Symmetric weights, 0 for missing dissimilarities. By default, all weights are 1.
    """

    def __init__(self, D: Array, W: np.ndarray | None = None) -> None:
        self._n, self._W = D.shape[0], W
        if W is not None:
            self._V = np.diag(W.sum(axis=1)) - W
            # V is singular. V + 1 is not, and has the same effect on vectors whose sum is 0.
            self._root = cho_factor(self._V + 1)
        self._set_target(D)

    def _set_target(self, D: Array) -> None:
        self._D = D
        self._weighted = D if self._W is None else asarray_like(to_host(D) * self._W, D)
        self._eta_squared = self.value(np.zeros((self._n, 1)))

    def evaluate(self, Z: np.ndarray) -> Evaluation:
        """Return the stress at Z, and B(Z) Z for the next step."""
        pull = pull_of(self._weighted, Z)
        sum_of_squares = self.sum_of_squares(Z)
        stress = self._eta_squared + sum_of_squares - 2 * float(np.vdot(Z, pull))
        if stress < 1e-9 * self._eta_squared:  # cancellation has made the difference inaccurate
            stress = self.value(Z)
        return Evaluation(stress, sum_of_squares, pull)

    def value(self, Z: np.ndarray) -> float:
        """Return the stress at Z, computed by its definition."""
        blocks = list(row_blocks(self._n, max(1, BLOCK_ENTRIES // self._n)))
        totals = np.empty(len(blocks))

        def work(tasks: Iterator[int]) -> None:
            for t in tasks:
                b, from_block = blocks[t], slice(blocks[t].start, self._n)
                error = to_host(self._D[b, from_block]) - cdist(Z[b], Z[from_block])
                weighted = error if self._W is None else self._W[b, from_block] * error
                in_block = slice(b.stop - b.start)  # holds both (i, j) and (j, i)
                twice = float(np.vdot(weighted[:, in_block], error[:, in_block]))
                totals[t] = float(np.vdot(weighted, error)) - twice / 2

        run_on_threads(work, range(len(blocks)), n_rows=self._n, shared_queue=True)
        return float(np.sum(totals))

    def stress_1(self, Z: np.ndarray) -> float:
        r"""Return Kruskal's stress-1, which has no unit.

        .. math:: \Big( \sum_{i<j} w_{ij} (\delta_{ij} - d_{ij})^2
                  \Big/ \sum_{i<j} w_{ij} d_{ij}^2 \Big)^{1/2}
        """
        return (self.value(Z) / (self.sum_of_squares(Z) or 1.0)) ** 0.5

    def minimum(self, pull: np.ndarray) -> np.ndarray:
        """Return the coordinates that minimise the majorising function, given B(Z) Z."""
        return pull / self._n if self._W is None else cho_solve(self._root, pull)

    def steps(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Return None: disparities equal the dissimilarities."""
        return None

    def sum_of_squares(self, Z: np.ndarray) -> float:
        """Return the weighted sum of squared distances."""
        if self._W is not None:
            return float(np.vdot(Z, self._V @ Z))
        return self._n * float(np.vdot(Z, Z)) - float(np.sum(Z.sum(axis=0) ** 2))


class NonmetricStress(Stress):
    """Stress of non-metric scaling, which uses only the order of the dissimilarities.

    Distances are compared with disparities: the isotonic regression of the distances on the
    dissimilarities, scaled to a mean square of 1. Equal dissimilarities have equal disparities.
    The first evaluation uses the dissimilarities as disparities.
    """

    def __init__(self, D: Array, W: np.ndarray | None = None) -> None:
        condensed = squareform(to_host(D), checks=False).astype(np.float64)
        weights = np.ones_like(condensed) if W is None else squareform(W, checks=False)
        self._known = np.flatnonzero(weights)
        self._weights = weights[self._known]
        rounding = 100 * float(eps(D))  # relative to the largest dissimilarity
        self.levels, self._level_index = _levels(condensed[self._known], rounding)
        self._level_weights = np.bincount(self._level_index, self._weights)
        self._condensed = np.zeros_like(condensed)
        self._is_evaluated = False
        super().__init__(self._disparity_matrix(self.levels), W)

    def evaluate(self, Z: np.ndarray) -> Evaluation:
        """Return the stress at Z with the best disparities, and B(Z) Z for the next step."""
        if self._is_evaluated:
            self._set_target(self._disparity_matrix(self._fitted(pdist(Z)[self._known])))
        self._is_evaluated = True
        return super().evaluate(Z)

    def stress_1(self, Z: np.ndarray) -> float:
        """Return Kruskal's stress-1, with the isotonic regression of the distances as target.

        The regression is not scaled, as Kruskal defines it. Therefore stress-1 is at most 1. Equal
        dissimilarities have equal targets, which is Kruskal's secondary treatment of ties. His
        primary treatment gives a smaller value if there are ties.
        """
        distances = pdist(Z)[self._known]
        errors = distances - self._fitted(distances)[self._level_index]
        total = float(np.sum(self._weights * distances**2))
        return (float(np.sum(self._weights * errors**2)) / (total or 1.0)) ** 0.5

    def _fitted(self, distances: np.ndarray) -> np.ndarray:
        """Return the isotonic regression of the distances on the dissimilarities, by level."""
        means = np.bincount(self._level_index, self._weights * distances) / self._level_weights
        return isotonic_regression(means, weights=self._level_weights).x

    def steps(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the corners of the step function from dissimilarities to disparities."""
        step = np.diff(self.disparities) != 0
        corner = np.r_[True, step] | np.r_[step, True]
        return self.levels[corner], self.disparities[corner]

    def _disparity_matrix(self, increasing: np.ndarray) -> np.ndarray:
        """Scale increasing values to the disparities of the levels.

        Return the matrix of the disparities of all pairs.
        """
        mean_square = float(np.sum(self._level_weights * increasing**2)) / float(
            np.sum(self._weights)
        )
        self.disparities = increasing / mean_square**0.5 if mean_square > 0 else increasing
        self._condensed[self._known] = self.disparities[self._level_index]
        return squareform(self._condensed)


def _levels(values: np.ndarray, rounding: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the levels (values distinct up to rounding), and the level index of each value."""
    distinct, inverse = np.unique(values, return_inverse=True)
    first = np.r_[True, np.diff(distinct) > rounding * distinct[-1]]
    return distinct[first], (np.cumsum(first) - 1)[inverse]


def checked_weights(W: Array, n: int) -> np.ndarray:
    """Return the weights as an array. Raise if they are invalid or do not connect all samples."""
    W = check_array(to_host(W), dtype=np.float64, input_name="weights")
    if W.shape != (n, n):
        raise ValueError(
            f"weights has shape {W.shape}, but must have shape {(n, n)} for {n} samples."
        )
    if (W < 0).any() or not np.array_equal(W, W.T):
        raise ValueError("weights must be symmetric and non-negative.")
    W = W * (1 - np.eye(n))
    parts = connected_components(W > 0, directed=False)[0]
    if parts > 1:
        raise ValueError(
            f"weights are 0 between {parts} groups of samples. Embed each group separately, or set "
            "positive weights between the groups."
        )
    return W


def pull_of(D: Array, Z: np.ndarray) -> np.ndarray:
    """Return B(Z) Z in host memory. Samples at the same point do not pull each other."""
    if compat.is_numpy_array(D):
        centred = Z - Z.mean(axis=0)
        bound, use_compiled = _rounding_bound(centred), len(Z) >= MIN_COMPILED_SAMPLES
        compiled = import_compiled("manifold._compiled_stress") if use_compiled else None
        if compiled is not None and D.flags.c_contiguous:
            return compiled.pull_from_upper_triangle(D, centred, bound)
        return _pull_from_upper_triangle(D, centred, bound)
    xp = namespace(D)
    centred = asarray_like(Z - Z.mean(axis=0), D, dtype=xp.float64)
    parts = []
    for b in row_blocks(len(Z), max(1, BLOCK_ENTRIES // len(Z))):
        square = xp.clip(squared_distances(centred[b, :], centred), _rounding_bound(Z))
        ratio = xp.astype(D[b, :], xp.float64) / xp.sqrt(square)
        parts.append(xp.sum(ratio, axis=1)[:, None] * centred[b, :] - ratio @ centred)
    return to_host(xp.concat(parts))


def _rounding_bound(Z: np.ndarray) -> float:
    """Return the bound below which a squared distance may be a rounding error."""
    largest = float(np.abs(Z - Z.mean(axis=0)).max())
    return 16 * Z.shape[1] * float(np.finfo(float).eps) * largest**2 or 1.0


def _pull_from_upper_triangle(D: np.ndarray, Z: np.ndarray, bound: float) -> np.ndarray:
    """Return B(Z) Z from the upper triangle of D, in blocks on several threads."""
    n, k = Z.shape
    left, right = left_factor(Z), np.ascontiguousarray(right_factor(Z).T)
    Z1 = np.hstack([Z, np.ones((n, 1))])  # the column of ones gives the row sums
    rows = max(1, BLOCK_ENTRIES // n)
    blocks = list(row_blocks(n, rows))

    def work(tasks: Iterator[slice]) -> np.ndarray:
        buffer, total = np.empty(rows * n), np.zeros((n, k + 1))
        for b in tasks:
            height, from_block = b.stop - b.start, slice(b.start, n)
            ratio = buffer[: height * (n - b.start)].reshape(height, n - b.start)
            np.matmul(left[b], right[:, from_block], out=ratio)
            np.maximum(ratio, bound, out=ratio)
            np.sqrt(ratio, out=ratio)
            np.divide(D[b, from_block], ratio, out=ratio)
            ratio[:, :height] = np.triu(ratio[:, :height], 1)  # count each pair once
            total[b] += ratio @ Z1[from_block]
            total[from_block] += ratio.T @ Z1[b]
        return total

    total = np.sum(run_on_threads(work, blocks), axis=0)
    return total[:, -1:] * Z - total[:, :-1]
