r"""SMACOF: scaling by majorising a complicated function, which is the stress.

A step goes to the minimum of the function that majorises the stress where it starts, so that no
step raises the stress [1]_.

References
----------
.. [1] J. de Leeuw, "Applications of convex analysis to multidimensional scaling", in: Recent
   developments in statistics, North-Holland, 1977.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_array

from dimetric._arrays.blocks import row_blocks
from dimetric._arrays.namespaces import Array, like, namespace, to_host
from dimetric.linalg.classical_scaling import principal_coordinates
from dimetric.manifold.stress import TILE, Stress
from dimetric.neighbors.paths import geodesics
from dimetric.solvers.result import STOPPED_BY_CALLBACK, Result


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
        Most iterations.
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
    history, reason = [stress], f"max_iter={max_iter} reached"
    while len(history) <= max_iter:
        Z = objective.minimum(pull)
        stress, size, pull = objective.evaluate(Z)
        history.append(stress)
        if callback is not None and callback(Z, stress, len(history) - 1):
            reason = STOPPED_BY_CALLBACK
            break
        if history[-2] - stress <= eps * size:
            reason = "stress no longer decreases"
            break
    converged = reason == "stress no longer decreases"
    value = objective.value(Z)
    return Result(Z, value, len(history) - 1, converged, reason, tuple(history))


def starts(
    D: Array, W: np.ndarray | None, k: int, init: str | Array, n_init: int, random_state: Any
) -> Iterator[np.ndarray]:
    """Yield coordinates to start from: the first as asked for, the others at random.

    Classical scaling takes the shortest paths of known dissimilarities for those that have no
    weight.
    """
    random = check_random_state(random_state)
    shape = (D.shape[0], k)
    if not isinstance(init, str):
        start = check_array(to_host(init), dtype=np.float64, input_name="init")
        if start.shape != shape:
            raise ValueError(f"init has shape {start.shape}; it must be {shape}.")
        if np.array_equal(start, np.broadcast_to(start[:1], shape)):
            raise ValueError("init has all samples at one place, from where they never come away.")
        yield start
    elif init == "classical_mds":
        if W is not None and np.count_nonzero(W) < W.size - len(W):
            known = sparse.coo_array(W > 0)
            edges = to_host(D)[known.row, known.col].astype(np.float64)
            ends = known.row, known.col
            D = like(geodesics(sparse.csr_array((edges, ends), shape=W.shape)), D)
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
    """Samples at their places, and what is wanted of the distances of new ones.

    Attributes
    ----------
    Z : ndarray of shape (n, k)
        Coordinates.
    steps : tuple of (ndarray, ndarray) or None
        Dissimilarities and their disparities, between which is interpolated.
    """

    Z: np.ndarray
    steps: tuple[np.ndarray, np.ndarray] | None = None

    def place(self, D: Array, *, max_iter: int = 300, tol: float = 1e-9) -> Array:
        """Return coordinates of least stress for new samples, one by one, the others fixed.

        Each starts at the sample that it is least dissimilar to. One that is not dissimilar to it
        at all, as those of the fit are, stays there.

        Parameters
        ----------
        D : array of shape (m, n)
            Dissimilarities between the new samples and those of the fit.
        max_iter : int, default=300
            Most iterations.
        tol : float, default=1e-9
            Stop when no sample moves farther, relative to the size of the configuration.
        """
        Z, wanted = self.Z, to_host(D).astype(np.float64)
        placed = Z[np.argmin(wanted, axis=1)]
        moving = np.flatnonzero(np.min(wanted, axis=1) > 0)
        if self.steps is not None:
            wanted = np.interp(wanted, *self.steps)
        for b in row_blocks(len(moving), max(1, TILE // len(Z))):
            rows = moving[b]
            placed[rows] = self._settled(placed[rows], wanted[rows], max_iter, tol)
        return like(placed, D, dtype=namespace(D).float64)

    def _settled(
        self, new: np.ndarray, wanted: np.ndarray, max_iter: int, tol: float
    ) -> np.ndarray:
        """Return new samples where they move no more."""
        Z = self.Z
        centre, reach = Z.mean(axis=0), float(np.abs(Z).max())
        for _ in range(max_iter):
            distance = cdist(new, Z)
            # At the very place of another sample it pulls in no direction.
            ratio = np.divide(wanted, distance, out=np.zeros_like(distance), where=distance > 0)
            pull = np.sum(ratio, axis=1, keepdims=True) * new - ratio @ Z
            before, new = new, centre + pull / len(Z)
            if np.abs(new - before).max() <= tol * reach:
                break
        return new
