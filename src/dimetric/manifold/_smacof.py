r"""SMACOF (scaling by majorising a complicated function) minimises the stress.

Each step minimises a function that equals the stress at the current coordinates and is nowhere
below it. Therefore no step increases the stress [1]_.

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
from sklearn.utils.validation import check_array

from dimetric._arrays.blocks import row_blocks
from dimetric._arrays.namespaces import Array, asarray_like, namespace, to_host
from dimetric._arrays.random_state import random_generator
from dimetric.linalg.classical_scaling import principal_coordinates
from dimetric.manifold._stress import BLOCK_ENTRIES, Stress
from dimetric.neighbors.paths import geodesics
from dimetric.solvers.result import STOPPED_BY_CALLBACK, Result, max_iter_reached

STRESS_NO_DECREASE = "stress no longer decreases"  # a reason to stop
RELATIVE_PERTURBATION = 0.01  # of coordinates that are 0, relative to the largest spread


def smacof(
    objective: Stress,
    Z: np.ndarray,
    *,
    max_iter: int = 300,
    eps: float = 1e-6,
    callback: Callable[[np.ndarray, float, int], bool] | None = None,
) -> Result:
    """Minimise the stress from starting coordinates.

    Parameters
    ----------
    objective : Stress
        Metric or non-metric stress.
    Z : ndarray of shape (n, k)
        Starting coordinates.
    max_iter : int, default=300
        Maximum number of iterations.
    eps : float, default=1e-6
        Stop when an iteration lowers the stress by less than this fraction of the sum of squared
        distances.
    callback : callable, optional
        Called as ``callback(Z, stress, n_iter)`` after each iteration. It returns True to stop.

    Examples
    --------
    >>> D = cdist(np.eye(3), np.eye(3))
    >>> result = smacof(Stress(D), np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]]))
    >>> result.reason, bool(result.value < 1e-5)
    ('stress no longer decreases', True)
    """
    stress, _, pull = objective.evaluate(Z)
    history, reason = [stress], max_iter_reached(max_iter)
    while len(history) <= max_iter:
        Z = objective.minimum(pull)
        stress, sum_of_squares, pull = objective.evaluate(Z)
        history.append(stress)
        if callback is not None and callback(Z, stress, len(history) - 1):
            reason = STOPPED_BY_CALLBACK
            break
        if history[-2] - stress <= eps * sum_of_squares:
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
    """Run SMACOF from several starts. Return the result of lowest stress and its objective.

    ``callback(objective, Z, stress, n_iter)`` is called after each iteration. If it returns True,
    no further start is tried.
    """
    results = []
    for start in starts:
        objective = make_objective()
        step_callback = partial(callback, objective)
        result = smacof(objective, start, max_iter=max_iter, eps=eps, callback=step_callback)
        results.append((result, objective))
        if result.reason == STOPPED_BY_CALLBACK:
            break
    return min(results, key=lambda pair: pair[0].value)


def starting_coordinates(
    D: Array, W: np.ndarray | None, k: int, init: str | Array, n_init: int, random_state: Any
) -> Iterator[np.ndarray]:
    """Yield starting coordinates. The first are defined by `init`, and the others are random.

    If some dissimilarities have weight 0, classical scaling uses the shortest paths over the
    others instead.
    """
    random = random_generator(random_state)
    shape = (D.shape[0], k)
    if not isinstance(init, str):
        start = check_array(to_host(init), dtype=np.float64, input_name="init")
        if start.shape != shape:
            raise ValueError(f"init has shape {start.shape}, but must have shape {shape}.")
        if np.array_equal(start, np.broadcast_to(start[:1], shape)):
            raise ValueError("init has all samples at the same point, where they would stay.")
        yield start
    elif init == "classical_mds":
        if W is not None and np.count_nonzero(W) < W.size - len(W):
            known = sparse.coo_array(W > 0)
            edges = to_host(D)[known.row, known.col].astype(np.float64)
            ends = known.row, known.col
            D = asarray_like(geodesics(sparse.csr_array((edges, ends), shape=W.shape)), D)
        classical = principal_coordinates(D, k)
        # Perturb coordinates that are 0 for all samples, because SMACOF would never change them.
        flat = classical.lengths == 0
        size = float(classical.lengths.max()) / shape[0] ** 0.5
        yield classical.coordinates + flat * RELATIVE_PERTURBATION * size * random.normal(
            size=shape
        )
    else:
        yield random.normal(size=shape)
    for _ in range(n_init - 1):
        yield random.normal(size=shape)


@dataclass(frozen=True)
class Configuration:
    """Coordinates of the training samples, among which new samples can be placed.

    Attributes
    ----------
    Z : ndarray of shape (n, k)
        Coordinates.
    steps : tuple of (ndarray, ndarray) or None
        Dissimilarities and their disparities, between which disparities of new samples are
        interpolated. None if disparities equal dissimilarities.
    """

    Z: np.ndarray
    steps: tuple[np.ndarray, np.ndarray] | None = None

    def place(self, D: Array, *, max_iter: int = 300, tol: float = 1e-9) -> Array:
        """Return the coordinates of lowest stress for each new sample.

        The training samples do not move. A new sample starts at the least dissimilar training
        sample, and stays there if the dissimilarity is 0.

        Parameters
        ----------
        D : array of shape (m, n)
            Dissimilarities between new samples and training samples.
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
            placed[rows] = self._iterate(placed[rows], wanted[rows], max_iter, tol)
        return asarray_like(placed, D, dtype=namespace(D).float64)

    def _iterate(
        self, new: np.ndarray, wanted: np.ndarray, max_iter: int, tol: float
    ) -> np.ndarray:
        """Return the coordinates of new samples after they stop moving."""
        Z = self.Z
        centre, largest = Z.mean(axis=0), float(np.abs(Z).max())
        for _ in range(max_iter):
            distance = cdist(new, Z)
            # A training sample at the same point does not pull.
            ratio = np.divide(wanted, distance, out=np.zeros_like(distance), where=distance > 0)
            pull = np.sum(ratio, axis=1, keepdims=True) * new - ratio @ Z
            before, new = new, centre + pull / len(Z)
            if np.abs(new - before).max() <= tol * largest:
                break
        return new
