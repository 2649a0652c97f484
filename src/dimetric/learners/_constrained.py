"""Learners that keep similar samples within a budget, and send dissimilar ones apart."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from numbers import Real
from typing import Any, ClassVar

import array_api_compat as compat
import numpy as np

from dimetric._arrays.blocks import row_blocks, tall_block
from dimetric._arrays.namespaces import Array, like, namespace, to_host
from dimetric._arrays.validation import rescale_for_squares
from dimetric._compat import Interval, Progress
from dimetric.learners._coordinates import Coordinates
from dimetric.learners._informed import InformedMetric
from dimetric.learners._solve import Solution, Watch
from dimetric.linalg.psd import root
from dimetric.linalg.scatter import Moments, rounding_of
from dimetric.linalg.spectral import whitening
from dimetric.objectives.objective import Objective, ValueAndGrad

# The value of a loss and its gradient, at a map of norm 1.
Loss = Callable[[np.ndarray], tuple[float, np.ndarray]]


@dataclass(frozen=True)
class Gain:
    r"""What is maximised over metrics of trace 1: a function g of distances, kept from collapsing.

    .. math:: g(M)\, \rho(M)^{reg}, \qquad \rho(M) = r \det(M)^{1 / r}

    A solver minimises minus its logarithm, which is convex, relative to a `unit`: tolerances are
    not to depend on how many pairs there are. The objective returns g for the sum.
    """

    objective: Any
    reg: float
    diagonal: bool = False
    unit: float = 1.0

    def of_map(self, L: np.ndarray, theta: np.ndarray) -> tuple[float, np.ndarray]:
        """Return minus the logarithm at a map of norm 1, and its gradient."""
        there = like(L, self.objective.points)
        total, LS, _ = self.objective.scatter(there, there, theta)
        evenness, inverse = self._log_evenness(L)
        value = -float(np.log(total / self.unit)) - self.reg * evenness
        return value, -2 * (to_host(LS) / total + self.reg / len(L) * inverse.T)

    def of_metric(self, M: np.ndarray, theta: np.ndarray) -> tuple[float, np.ndarray]:
        """Return minus the logarithm at a metric of trace 1, and its gradient."""
        total, S = self.sum_and_scatter(root(M), theta)
        value = -float(np.log(total / self.unit))
        if self.reg == 0:
            return value, -S / total
        sign, log_det = np.linalg.slogdet(M)
        if sign <= 0:
            return np.inf, -S / total
        r = len(M)
        value -= self.reg * float(log_det / r + np.log(r))
        return value, -S / total - self.reg / r * np.linalg.inv(M)

    def sum_and_scatter(self, L: np.ndarray, theta: np.ndarray) -> tuple[float, np.ndarray]:
        """Return g at a map, and its gradient in the metric."""
        total, S, _ = self.objective.scatter(like(L, self.objective.points), None, theta)
        S = to_host(S)
        return total, (S + S.T) / 2

    def certified(
        self, value: float, L: np.ndarray, total: float, S: np.ndarray
    ) -> tuple[float, float]:
        r"""Return the objective at a map of norm 1 where g is `value`, and its gap.

        For all metrics N, g(N) is at most the tangent :math:`total + \langle S, N - M \rangle`,
        and so the logarithm of the objective at most its own.
        """
        evenness, inverse = self._log_evenness(L)
        reached = value * float(np.exp(self.reg * evenness))
        if self.reg == 0:
            return reached, max(0.0, total + self._rise(S, L) - reached)
        G = S / total + self.reg / len(L) * inverse @ inverse.T
        bound = np.log(total) + self.reg * evenness + self._rise(G, L)
        return reached, max(0.0, float(np.exp(bound)) - reached)

    def _rise(self, G: np.ndarray, L: np.ndarray) -> float:
        """Return the largest product of G with a metric of trace 1, less that with this one."""
        steepest = np.max(np.diag(G)) if self.diagonal else np.linalg.eigvalsh(G)[-1]
        return float(steepest - np.vdot(L @ G, L))

    def _log_evenness(self, L: np.ndarray) -> tuple[float, np.ndarray]:
        r"""Return :math:`\log \rho` and the inverse of a map, both 0 if they do not matter."""
        if self.reg == 0:
            return 0.0, np.zeros_like(L)
        r, (sign, log_det) = len(L), np.linalg.slogdet(L)
        if sign == 0:
            return -np.inf, np.zeros_like(L)
        return float(2 * log_det / r + np.log(r)), np.linalg.inv(L)


class BoundedMetric(InformedMetric):
    r"""A learner that maximises a function g of the distances between dissimilar samples.

    .. math:: \max_M g(M)\, \rho(M)^{reg} \quad \text{s.t.} \quad \langle A, M \rangle \le 1, \;
              M \succeq 0, \qquad A = X_S + \delta \tfrac{\mathrm{tr} X_S}{d} I, \quad
              X_S = \sum_S (x_i - x_j)(x_i - x_j)^T

    In coordinates where A is the identity, these are the metrics of trace 1 at most. A larger
    metric is a better one, so a map of any size stands for that of norm 1, and no constraint is
    left. Similar pairs are those of one class, or the ones that are given.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **InformedMetric._parameter_constraints,
        "reg": [Interval(Real, 0, None, closed="left")],
        "delta": [Interval(Real, 0, None, closed="left")],
    }
    reg: float
    delta: float
    diagonal: bool = False  # whether features are to be weighted, not mixed

    def _objective(self, points: Array, supervision: Any, originals: Array) -> Objective:
        """Return g of dissimilar pairs of points, which were `originals` before a map."""
        raise TypeError(f"{type(self).__name__} does not say what it maximises.")

    def _maximise(self, gain: Gain, L0: np.ndarray, watch: Watch) -> Solution:
        """Return the best map, of any norm; the solver has minimised minus the logarithm."""
        raise TypeError(f"{type(self).__name__} does not say how it maximises.")

    def _value(self, gain: Gain, L: np.ndarray) -> float:
        """Return g at a map, exactly."""
        raise TypeError(f"{type(self).__name__} does not say what it maximises.")

    def _certified(self, gain: Gain, L: np.ndarray, theta: np.ndarray) -> tuple[float, float]:
        """Return the objective at a map of norm 1, and how far below its maximum it is at most."""
        raise TypeError(f"{type(self).__name__} does not say how good a map is.")

    def _learn(self, X: Array, supervision: Any, progress: Progress) -> dict[str, Any]:
        X, supervision = self._in_order(X, supervision, by_class=True)
        X, factor = rescale_for_squares(X)  # no parameter has a unit
        xp, d = namespace(X), X.shape[1]
        # The least of many distances between float32 samples would be a rounding error.
        at = Coordinates.of(
            xp.astype(X, xp.float64), np.zeros((1, d)), keep_rest=False, rotate=not self.diagonal
        )
        T = self._whitening(at, supervision, at.unit * to_host(rounding_of(X)))
        objective = self._objective(at.samples @ like(T, at.samples).T, supervision, X)
        gain, L0 = Gain(objective, float(self.reg), self.diagonal), np.eye(len(T)) / len(T) ** 0.5
        initial = self._value(gain, L0)
        gain = replace(gain, unit=initial or 1.0)  # 0 may be left of near samples for rounding

        def fitted(L: np.ndarray) -> dict[str, Array]:
            components = like(at.back(L / np.linalg.norm(L) @ T) * factor, X)
            return {"components_": components, "offset_": xp.zeros_like(components[0, :])}

        watch = self._watch(fitted, progress, lambda value: gain.unit * float(np.exp(-value)))
        solution = self._maximise(gain, L0, watch)
        L, result = solution.map / np.linalg.norm(solution.map), solution.result
        value, gap = self._certified(gain, L, solution.theta)
        history = tuple(gain.unit * float(np.exp(-each)) for each in result.history)
        return self._ended(
            result,
            fitted(L) | {"history_": history},
            "Raise max_iter or tol, or scale the features.",
            initial_objective=initial,
            final_objective=value,
            gap=gap,
            reg=self.reg,
        )

    def _whitening(self, at: Coordinates, supervision: Any, rounding: np.ndarray) -> np.ndarray:
        """Return T that makes the matrix of the constraint the identity.

        `rounding` is how far features may be off by rounding alone.
        """
        name, d = type(self).__name__, len(rounding)
        S, n_pairs = similar_scatter(at.samples, supervision), n_similar(supervision)
        if at.basis is not None:  # its columns mix features
            rounding = np.full(len(S), np.max(rounding))
        if not np.any(np.diag(S) > n_pairs * rounding**2):
            raise ValueError(
                f"{name} measures by similar pairs of samples that differ, and there are none: "
                "every class is a single point, or every given pair one of identical samples."
            )
        ridge = self.delta * float(np.trace(S)) / d
        if ridge > 0:
            return self._whitened(S + ridge * np.eye(len(S)), at, 0 * rounding)
        T = self._whitened(S, at, n_pairs**0.5 * rounding)
        total = to_host(Moments.of_all(at.samples, root=False).spread)
        n_directions = len(self._whitened(total, at, len(at.samples) ** 0.5 * rounding))
        if len(T) < n_directions:
            raise ValueError(
                f"{name} has no optimum: samples differ in {n_directions} directions, similar "
                f"ones in {len(T)} alone, so that distances could grow forever. Set delta > 0."
            )
        return T

    def _whitened(self, S: np.ndarray, at: Coordinates, rounding: np.ndarray) -> np.ndarray:
        """Return a whitening of a scatter, without directions of nothing but rounding errors."""
        if self.diagonal:
            weights = np.diag(S)
            return np.diag(1 / np.sqrt(np.where(weights > 0, weights, 1)))[weights > rounding**2]
        return whitening(S, is_root=False, by_feature=at.basis is None, rounding=rounding)[0]


def n_similar(supervision: Any) -> int:
    """Return the number of similar pairs, of sorted codes or among pairs."""
    if isinstance(supervision, np.ndarray):
        counts = np.bincount(supervision)
        return int(counts @ (counts - 1)) // 2
    return len(supervision.similar)


def similar_scatter(X: Array, supervision: Any) -> np.ndarray:
    """Return the sum of the outer products of similar pairs' differences, on the host."""
    xp, d = namespace(X), X.shape[1]
    if isinstance(supervision, np.ndarray):
        # Of a class of n samples that is n times the scatter around its mean.
        total = np.zeros((d, d))
        starts = np.concatenate([[0], np.cumsum(np.bincount(supervision))]).tolist()
        for first, last in pairwise(starts):
            if last - first > 1:
                deviation = X[first:last, :] - X[first, :]  # 0 where all agree, as no mean is
                deviation = deviation - xp.mean(deviation, axis=0)
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


def sphere_start(L: np.ndarray, *, diagonal: bool = False) -> np.ndarray:
    """Return a flattened map to start from, or its diagonal, of the identity's size.

    The first step of a solver has length 1. From the identity that leads to no singular map, but
    from one of norm 1 it may, where the logarithm has no value.
    """
    flat = np.diag(L) if diagonal else L.ravel()
    return flat * (len(L) ** 0.5 / np.linalg.norm(flat))


def as_square(flat: np.ndarray, *, diagonal: bool = False) -> np.ndarray:
    """Return the square matrix of a flat vector, or of a diagonal."""
    return np.diag(flat) if diagonal else flat.reshape(round(flat.size**0.5), -1)
