"""Learners that keep similar samples within a budget, and send dissimilar ones apart."""

from abc import abstractmethod
from dataclasses import replace
from itertools import pairwise
from numbers import Real
from typing import Any, ClassVar

import array_api_compat as compat
import numpy as np

from dimetric._arrays.blocks import row_blocks, scatter_block_rows
from dimetric._arrays.namespaces import Array, asarray_like, namespace, to_host
from dimetric._arrays.validation import rescale_for_squares
from dimetric._compat import Interval
from dimetric.learners._fitting.coordinates import Coordinates
from dimetric.learners._fitting.gain import GainT, RegularizedGain
from dimetric.learners._fitting.iterative import IterativeMetric
from dimetric.learners._fitting.ordering import in_canonical_order
from dimetric.learners._fitting.problem import Problem, Solution
from dimetric.linalg.scatter import Moments, rounding_bounds
from dimetric.linalg.spectral import whitening
from dimetric.objectives.listed import differing
from dimetric.supervision.labels import Supervision, checked_labels
from dimetric.supervision.pairs import Pairs


class ConstrainedMetric(IterativeMetric[RegularizedGain[GainT]]):
    r"""A learner that maximises a function g of the distances between dissimilar samples.

    .. math:: \max_M g(M)\, \rho(M)^{reg} \quad \text{s.t.} \quad \langle A, M \rangle \le 1, \;
              M \succeq 0, \qquad A = X_S + \delta \tfrac{\mathrm{tr} X_S}{d} I, \quad
              X_S = \sum_S (x_i - x_j)(x_i - x_j)^T

    In coordinates where A is the identity, these are the metrics of trace at most 1. A larger
    metric is a better one, so a map of any size stands for its multiple of norm 1, and no
    constraint is left. Similar pairs S are those of one class, or the ones that are given.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **IterativeMetric._parameter_constraints,
        "reg": [Interval(Real, 0, None, closed="left")],
        "delta": [Interval(Real, 0, None, closed="left")],
        "unlabelled": [Real, str, None],
    }
    _supervision_kinds = ("y", "pairs")
    _maximises = True
    reg: float
    delta: float
    diagonal: bool = False  # whether features are weighted, not mixed

    @abstractmethod
    def _objective(self, points: Array, supervision: Supervision, originals: Array) -> GainT:
        """Return g of dissimilar pairs of points, which are `originals` under a map."""

    @abstractmethod
    def _value(self, gain: RegularizedGain[GainT], L: np.ndarray) -> float:
        """Return g at a map, exactly."""

    @abstractmethod
    def _certified(
        self, gain: RegularizedGain[GainT], L: np.ndarray, theta: np.ndarray
    ) -> tuple[float, float]:
        """Return the objective at a map of norm 1, and how far below its maximum it is at most."""

    def _check_supervision(self, X: Array, supervision: Supervision) -> None:
        check_dissimilar(type(self).__name__, X, supervision)

    def _problem(self, X: Array, supervision: Supervision) -> Problem[RegularizedGain[GainT]]:
        X, supervision, _ = in_canonical_order(X, supervision)
        X, factor = rescale_for_squares(X)  # no parameter has a unit
        xp, d = namespace(X), X.shape[1]
        # The least of many distances between float32 samples would be a rounding error.
        at = Coordinates.of(
            xp.astype(X, xp.float64), np.zeros((1, d)), keep_rest=False, rotate=not self.diagonal
        )
        T = self._whitening(at, supervision, at.unit * to_host(rounding_bounds(X)))
        objective = self._objective(at.samples @ asarray_like(T, at.samples).T, supervision, X)
        gain = RegularizedGain(objective, float(self.reg), self.diagonal)
        start = np.eye(len(T)) / len(T) ** 0.5
        gain = replace(gain, initial=self._value(gain, start))
        return Problem(
            objective=gain,
            start=start,
            restore=lambda L: asarray_like(at.back(L / np.linalg.norm(L) @ T) * factor, X),
            shown=lambda value: gain.unit * float(np.exp(-value)),
        )

    def _facts(
        self, problem: Problem[RegularizedGain[GainT]], solution: Solution
    ) -> dict[str, Any]:
        gain = problem.objective
        value, gap = self._certified(gain, solution.map, solution.theta)
        return {
            "initial_objective": gain.initial,
            "final_objective": value,
            "gap": gap,
            "reg": self.reg,
        }

    def _whitening(
        self, at: Coordinates, supervision: Supervision, rounding: np.ndarray
    ) -> np.ndarray:
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


def check_dissimilar(name: str, X: Array, supervision: Supervision) -> None:
    """Raise unless some samples are dissimilar, and not the same point."""
    if isinstance(supervision, Pairs):
        if not differing(X, supervision.dissimilar).any():
            raise ValueError(
                f"{name} needs dissimilar samples that differ, but in every given pair they are "
                "the same point."
            )
    elif checked_labels(supervision).n_classes == 1:
        raise ValueError(f"{name} needs dissimilar samples, but y holds one class.")


def n_similar(supervision: Supervision) -> int:
    """Return the number of similar pairs: those of one class, or those given."""
    if isinstance(supervision, Pairs):
        return len(supervision.similar)
    counts = np.bincount(checked_labels(supervision).codes)
    return int(counts @ (counts - 1)) // 2


def similar_scatter(X: Array, supervision: Supervision) -> np.ndarray:
    """Return the sum of the outer products of similar pairs' differences, on the host."""
    xp, d = namespace(X), X.shape[1]
    if isinstance(supervision, Pairs):
        left, right = (asarray_like(side, X, dtype=xp.int64) for side in supervision.similar.T)
        scatter = xp.zeros((d, d), dtype=X.dtype, device=compat.device(X))
        for b in row_blocks(len(supervision.similar), scatter_block_rows(d)):
            delta = xp.take(X, left[b], axis=0) - xp.take(X, right[b], axis=0)
            scatter = scatter + delta.T @ delta
        return to_host(scatter)
    # For a class of n samples it is n times the scatter around its mean.
    total = np.zeros((d, d))
    counts = np.bincount(checked_labels(supervision).codes)
    starts = np.concatenate([[0], np.cumsum(counts)]).tolist()
    for first, last in pairwise(starts):
        if last - first > 1:
            deviation = X[first:last, :] - X[first, :]  # exactly 0 where all agree
            deviation = deviation - xp.mean(deviation, axis=0)
            total += (last - first) * to_host(deviation.T @ deviation)
    return total
