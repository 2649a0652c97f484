r"""SMACOF: scaling by majorising a complicated function, the stress.

Each step goes to the minimum of a function that touches the stress at the current coordinates and
is nowhere below it, so that no step raises the stress [1]_.

References
----------
.. [1] J. de Leeuw, "Applications of convex analysis to multidimensional scaling", in: Recent
   developments in statistics, North-Holland, 1977.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_array

from dimetric._arrays.blocks import row_blocks
from dimetric._arrays.namespaces import Array, asarray_like, namespace, to_host
from dimetric.linalg.classical_scaling import principal_coordinates
from dimetric.manifold._stress import BLOCK_ENTRIES, Stress
from dimetric.neighbors.paths import geodesics
from dimetric.solvers.result import STOPPED_BY_CALLBACK, Result, max_iter_reached

STRESS_NO_DECREASE = "stress no longer decreases"  # a reason to stop


def smacof(
    objective: Stress,
    Z: np.ndarray,
    *,
    max_iter: int = 300,
    eps: float = 1e-6,
    callback: Callable[[np.ndarray, float, int], bool] | None = None,
) -> Result:
    """Minimise a stress from a start.

    Parameters
    ----------
    objective : Stress
        Metric or non-metric.
    Z : ndarray of shape (n, k)
        The start.
    max_iter : int, default=300
        Maximum number of iterations.
    eps : float, default=1e-6
        Stop when an iteration lowers the stress by less than this share of the sum of squared
        distances.
    callback : callable, optional
        ``callback(Z, stress, n_iter)`` after every iteration; return True to stop.

    Examples
    --------
    >>> D = cdist(np.eye(3), np.eye(3))
    >>> found = smacof(Stress(D), np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]]))
    >>> found.reason, bool(found.value < 1e-5)
    ('stress no longer decreases', True)
    """
    stress, _, pull = objective.evaluate(Z)
    history, reason = [stress], max_iter_reached(max_iter)
    while len(history) <= max_iter:
        Z = objective.minimum(pull)
        stress, size, pull = objective.evaluate(Z)
        history.append(stress)
        if callback is not None and callback(Z, stress, len(history) - 1):
            reason = STOPPED_BY_CALLBACK
            break
        if history[-2] - stress <= eps * size:
            reason = STRESS_NO_DECREASE
            break
    converged = reason == STRESS_NO_DECREASE
    value = objective.value(Z)
    return Result(Z, value, len(history) - 1, converged, reason, tuple(history))


def best_smacof(
    make_objective: Callable[[], Stress],
    starts: Iterable[np.ndarray],
    max_iter: int,
    eps: float,
    callback: Callable[[Stress, np.ndarray, float, int], bool],
) -> tuple[Result, Stress]:
    """Return the result of least stress over several starts, and its objective.

    ``callback(objective, Z, stress, n_iter)`` is called after every iteration. If it returns True,
    no further start is tried.
    """
    ends = []
    for start in starts:
        objective = make_objective()
        after = partial(callback, objective)
        result = smacof(objective, start, max_iter=max_iter, eps=eps, callback=after)
        ends.append((result, objective))
        if result.reason == STOPPED_BY_CALLBACK:
            break
    return min(ends, key=lambda end: end[0].value)


def starts(
    D: Array, W: np.ndarray | None, k: int, init: str | Array, n_init: int, random_state: Any
) -> Iterator[np.ndarray]:
    """Yield coordinates to start from: the first as `init` says, the others at random.

    For dissimilarities without weight, classical scaling uses the shortest paths along those with
    weight.
    """
    random = check_random_state(random_state)
    shape = (D.shape[0], k)
    if not isinstance(init, str):
        start = check_array(to_host(init), dtype=np.float64, input_name="init")
        if start.shape != shape:
            raise ValueError(f"init has shape {start.shape}; it must be {shape}.")
        if np.array_equal(start, np.broadcast_to(start[:1], shape)):
            raise ValueError("init has all samples at one place: they would stay there.")
        yield start
    elif init == "classical_mds":
        if W is not None and np.count_nonzero(W) < W.size - len(W):
            known = sparse.coo_array(W > 0)
            edges = to_host(D)[known.row, known.col].astype(np.float64)
            ends = known.row, known.col
            D = asarray_like(geodesics(sparse.csr_array((edges, ends), shape=W.shape)), D)
        classical = principal_coordinates(D, k)
        # A coordinate that is 0 everywhere would never change.
        flat = classical.lengths == 0
        size = float(classical.lengths.max()) / shape[0] ** 0.5
        yield classical.coordinates + flat * 1e-2 * size * random.normal(size=shape)
    else:
        yield random.normal(size=shape)
    for _ in range(n_init - 1):
        yield random.normal(size=shape)


@dataclass(frozen=True)
class Configuration:
    """Coordinates of samples, and how to place new samples among them.

    Attributes
    ----------
    Z : ndarray of shape (n, k)
        Coordinates.
    steps : tuple of (ndarray, ndarray) or None
        Dissimilarities and their disparities, for interpolation; None if they are equal.
    """

    Z: np.ndarray
    steps: tuple[np.ndarray, np.ndarray] | None = None

    def place(self, D: Array, *, max_iter: int = 300, tol: float = 1e-9) -> Array:
        """Return coordinates of least stress for each new sample, with all others fixed.

        Each starts at the sample that it is least dissimilar to, and stays there if that
        dissimilarity is 0, as for samples of the fit.

        Parameters
        ----------
        D : array of shape (m, n)
            Dissimilarities between the new samples and those of the fit.
        max_iter : int, default=300
            Maximum number of iterations.
        tol : float, default=1e-9
            Stop when no sample moves farther than this, relative to the largest coordinate.
        """
        Z, wanted = self.Z, to_host(D).astype(np.float64)
        placed = Z[np.argmin(wanted, axis=1)]
        moving = np.flatnonzero(np.min(wanted, axis=1) > 0)
        if self.steps is not None:
            wanted = np.interp(wanted, *self.steps)
        for b in row_blocks(len(moving), max(1, BLOCK_ENTRIES // len(Z))):
            rows = moving[b]
            placed[rows] = self._settled(placed[rows], wanted[rows], max_iter, tol)
        return asarray_like(placed, D, dtype=namespace(D).float64)

    def _settled(
        self, new: np.ndarray, wanted: np.ndarray, max_iter: int, tol: float
    ) -> np.ndarray:
        """Return the new samples where they stop moving."""
        Z = self.Z
        centre, reach = Z.mean(axis=0), float(np.abs(Z).max())
        for _ in range(max_iter):
            distance = cdist(new, Z)
            # A sample at the same place pulls in no direction.
            ratio = np.divide(wanted, distance, out=np.zeros_like(distance), where=distance > 0)
            pull = np.sum(ratio, axis=1, keepdims=True) * new - ratio @ Z
            before, new = new, centre + pull / len(Z)
            if np.abs(new - before).max() <= tol * reach:
                break
        return new
