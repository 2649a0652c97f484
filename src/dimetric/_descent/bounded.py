"""Learners that keep similar samples within a budget, and send dissimilar ones apart."""

from collections.abc import Callable
from contextlib import nullcontext
from numbers import Integral, Real
from typing import Any, ClassVar

import array_api_compat as compat
import numpy as np

from dimetric._base import LinearMetric, report
from dimetric._compat import Interval, Progress
from dimetric._descent.coordinates import Coordinates
from dimetric._descent.metric import into_range
from dimetric._descent.solve import Solution, Watch
from dimetric._threads import _one_blas_thread
from dimetric._xp import Array, like, namespace, to_host
from dimetric.linalg.directions import directions
from dimetric.linalg.spectral import whitening
from dimetric.pairwise.objective import Objective, ValueAndGrad
from dimetric.reduce.order import canonical_order
from dimetric.reduce.tree import row_blocks, tall_block

# The value of an objective and its gradient, at a map of norm 1.
Loss = Callable[[np.ndarray], tuple[float, np.ndarray]]


class BoundedMetric(LinearMetric):
    r"""A learner that maximises a function g of the distances between dissimilar samples.

    .. math:: \max_M g(M) \quad \text{s.t.} \quad
              \langle X_S + \delta \tfrac{\mathrm{tr} X_S}{d} I, M \rangle \le 1, \; M \succeq 0,
              \qquad X_S = \sum_S (x_i - x_j)(x_i - x_j)^T

    In coordinates where the matrix on the left is the identity, these are the metrics of trace 1
    at most. A larger metric is a better one, so a map of any size stands for that of norm 1, and
    no constraint is left. Similar pairs are those of one class, or the ones that are given.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "delta": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "verbose": ["verbose"],
    }
    _takes: ClassVar[tuple[str, ...]] = ("y", "pairs")
    delta: float
    max_iter: int
    tol: float
    verbose: int
    diagonal: bool = False  # whether features are to be weighted, not mixed

    def _objective(self, points: Array, supervision: Any) -> Objective:
        """Return what is summed over dissimilar pairs of points."""
        raise TypeError(f"{type(self).__name__} does not say what it maximises.")

    def _maximise(self, objective: Any, L0: np.ndarray, watch: Watch) -> Solution:
        """Return the best map, of norm 1; the solver's values are :meth:`_shown` as g."""
        raise TypeError(f"{type(self).__name__} does not say how it maximises.")

    def _certified(self, objective: Any, solution: Solution) -> tuple[float, float]:
        """Return g at a map of norm 1, and how far below its maximum that is at most."""
        raise TypeError(f"{type(self).__name__} does not say how good a map is.")

    @staticmethod
    def _shown(value: float) -> float:
        """Return g, but for smoothing, of a value that a solver has minimised."""
        raise TypeError("A learner says what its solver minimises.")

    def _fit(self, X: Array, supervision: Any, progress: Progress) -> dict[str, Any]:
        # Objectives bring their own threads; all else is too short for those of BLAS.
        with _one_blas_thread() if compat.is_numpy_array(X) else nullcontext():
            return self._fitted(X, supervision, progress)

    def _fitted(self, X: Array, supervision: Any, progress: Progress) -> dict[str, Any]:
        xp, d = namespace(X), X.shape[1]
        is_labelled = isinstance(supervision, np.ndarray)
        codes = supervision if is_labelled else np.zeros(X.shape[0], dtype=np.int64)
        order = canonical_order(to_host(X), codes)
        order = order[codes[order] >= 0]  # samples without a label are left out
        X = xp.take(X, like(order, X, dtype=xp.int64), axis=0)
        supervision = codes[order] if is_labelled else supervision.reordered(order)
        X, factor = into_range(X, "delta")
        at = Coordinates.of(X, np.zeros((1, d)), keep_rest=False, rotate=not self.diagonal)
        # The least of many distances between float32 samples would be a rounding error.
        samples = xp.astype(at.samples, xp.float64)
        T = self._whitening(samples, supervision, d)
        objective = self._objective(samples @ like(T, samples).T, supervision)

        def fitted(L: np.ndarray) -> dict[str, Array]:
            components = like(at.back(L / np.linalg.norm(L) @ T) * factor, X)
            return {"components_": components, "offset_": xp.zeros_like(components[0, :])}

        def watch(current: Any, value: float, n_iter: int) -> bool:
            if self.verbose:
                name = type(self).__name__
                report("[%s] iteration %d: objective %.6g", name, n_iter, self._shown(value))
            return progress.step(lambda: fitted(current()[0]))

        solution = self._maximise(objective, np.eye(len(T)) / len(T) ** 0.5, watch)
        value, gap = self._certified(objective, solution)
        result = solution.result
        result.warn_unless_converged(
            type(self).__name__, "Raise max_iter or tol, or scale the features."
        )
        for name, array in fitted(solution.map).items():
            setattr(self, name, array)
        self.n_iter_ = result.n_iter
        return {
            "n_components": len(T),
            "n_iter": result.n_iter,
            "initial_objective": self._shown(result.history[0]),
            "final_objective": value,
            "converged": result.converged,
            "reason": result.reason,
            "gap": gap,
        }

    def _whitening(self, samples: Array, supervision: Any, d: int) -> np.ndarray:
        """Return T that makes the matrix of the constraint the identity; d features there were."""
        name = type(self).__name__
        S = similar_scatter(samples, supervision)
        if not np.trace(S) > 0:
            raise ValueError(
                f"{name} measures by similar pairs of samples that differ, and there are none: "
                "every class is a single point, or every given pair one of identical samples."
            )
        ridge = self.delta * float(np.trace(S)) / d
        if self.diagonal:
            diagonal = np.diag(S) + ridge
            varies = diagonal > 0
            T = np.diag(np.where(varies, 1 / np.sqrt(np.where(varies, diagonal, 1.0)), 0.0))
            rank = int(np.sum(varies))
            n_directions = int(np.sum(np.ptp(to_host(samples), axis=0) > 0))
        else:
            T, _ = whitening(S, is_root=False, ridge=ridge)
            rank, n_directions = len(T), directions(samples)[0].shape[1]
        if rank < n_directions:
            raise ValueError(
                f"{name} has no optimum: samples differ in {n_directions} directions, similar "
                f"ones in {rank} alone, so that distances could grow forever. Set delta > 0."
            )
        return T


def similar_scatter(X: Array, supervision: Any) -> np.ndarray:
    """Return the sum of the outer products of similar pairs' differences, on the host."""
    xp, d = namespace(X), X.shape[1]
    if isinstance(supervision, np.ndarray):
        # Of a class of n samples that is n times the scatter around its mean.
        total = np.zeros((d, d))
        starts = np.concatenate([[0], np.cumsum(np.bincount(supervision))]).tolist()
        for first, last in zip(starts[:-1], starts[1:], strict=True):
            if last - first > 1:
                deviation = X[first:last, :] - xp.mean(X[first:last, :], axis=0)
                total += (last - first) * to_host(deviation.T @ deviation)
        return total
    left, right = (like(side, X, dtype=xp.int64) for side in supervision.similar.T)
    total = xp.zeros((d, d), dtype=X.dtype, device=compat.device(X))
    for b in row_blocks(len(supervision.similar), tall_block(d)):
        delta = xp.take(X, left[b], axis=0) - xp.take(X, right[b], axis=0)
        total = total + delta.T @ delta
    return to_host(total)


def on_sphere(loss: Loss, *, diagonal: bool = False) -> ValueAndGrad:
    """Return a loss of square maps of norm 1 as a function of flattened maps of any size.

    If they are to be `diagonal`, it is a function of the diagonal.
    """

    def value_and_grad(flat: np.ndarray) -> tuple[float, np.ndarray]:
        size = float(np.linalg.norm(flat))
        U = flat / size
        value, G = loss(as_square(U, diagonal=diagonal))
        G = np.diag(G) if diagonal else G.ravel()
        return value, (G - (G @ U) * U) / size

    return value_and_grad


def as_square(flat: np.ndarray, *, diagonal: bool = False) -> np.ndarray:
    """Return the square matrix of a flat vector, or of a diagonal."""
    return np.diag(flat) if diagonal else flat.reshape(round(flat.size**0.5), -1)
