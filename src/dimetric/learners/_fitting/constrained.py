"""Learners that separate dissimilar samples, under a constraint on similar samples."""

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
from dimetric._compat import Interval, StrOptions
from dimetric.learners._fitting.coordinates import Coordinates
from dimetric.learners._fitting.gain import GainT, RegularizedGain
from dimetric.learners._fitting.iterative import IterativeMetric
from dimetric.learners._fitting.ordering import in_canonical_order
from dimetric.learners._fitting.problem import Problem, Solution
from dimetric.learners._fitting.references import ReferenceLabels
from dimetric.linalg.scatter import Moments, rounding_bounds
from dimetric.linalg.spectral import whitening
from dimetric.objectives.listed import pairs_differ
from dimetric.objectives.references.objective import ReferenceObjective
from dimetric.objectives.references.similar_pairs import similar_scatter_of
from dimetric.supervision.labels import (
    Supervision,
    checked_labels,
    relative_weights,
    sum_of_pair_weights,
)
from dimetric.supervision.pairs import Pairs


class ConstrainedMetric(IterativeMetric[RegularizedGain[GainT]]):
    r"""A learner that maximises a function g of the distances between dissimilar samples.

    .. math:: \max_M g(M)\, \rho(M)^{reg} \quad \text{s.t.} \quad \langle A, M \rangle \le 1, \;
              M \succeq 0, \qquad A = X_S + \delta \tfrac{\mathrm{tr} X_S}{d} I, \quad
              X_S = \sum_S (x_i - x_j)(x_i - x_j)^T

    The similar pairs S are the user's pairs, or all pairs of the same class. Directions in which
    the samples do not vary are dropped, and d is the number of the other directions. The factor
    :math:`\rho^{reg}` prevents a low rank, see :class:`RegularizedGain`. In coordinates in which
    A is the identity, the constraint is that the trace of M is at most 1. Since g increases with
    the scale of M, each map can be rescaled to norm 1, and no constraint remains.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **IterativeMetric._parameter_constraints,
        "reg": [Interval(Real, 0, None, closed="left")],
        "delta": [Interval(Real, 0, None, closed="left")],
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "unlabelled": [Real, str, None],
    }
    _supervision_kinds = ("y", "pairs")
    _accepts_weights = True
    _min_classes = 2
    _maximises = True
    tol: float
    reg: float
    delta: float
    diagonal: bool = False  # whether M is diagonal

    @abstractmethod
    def _objective(self, points: Array, supervision: Supervision, originals: Array) -> GainT:
        """Return g over dissimilar pairs of points.

        The points are computed from `originals` by a linear map. Because of rounding errors, only
        `originals` show which samples are identical.
        """

    @abstractmethod
    def _exact_gain(self, gain: RegularizedGain[GainT], L: np.ndarray) -> float:
        """Return g at a map, without smoothing."""

    @abstractmethod
    def _objective_and_gap(
        self, gain: RegularizedGain[GainT], L: np.ndarray, theta: np.ndarray
    ) -> tuple[float, float]:
        """Return the objective at a map of norm 1, and a bound on its gap to the maximum."""

    def _check_supervision(self, X: Array, supervision: Supervision) -> None:
        check_dissimilar(type(self).__name__, X, supervision)

    def _problem(self, X: Array, supervision: Supervision) -> Problem[RegularizedGain[GainT]]:
        rows = supervision if isinstance(supervision, ReferenceLabels) else None
        X, supervision, _ = in_canonical_order(X, supervision)
        xp, d = namespace(X), X.shape[1]
        # The value of a constant feature must not set the scale or the size of rounding errors.
        X = xp.where(xp.max(X, axis=0) > xp.min(X, axis=0), X, xp.zeros_like(X))
        X, factor = rescale_for_squares(X)  # all parameters are scale-free
        # In float32, the smallest of many distances would be dominated by rounding errors.
        coordinates = Coordinates.of(
            xp.astype(X, xp.float64),
            np.zeros((1, d)),
            keep_outside=False,
            rotate=not self.diagonal and rows is None,
        )
        samples = coordinates.samples
        rounding = coordinates.sample_scale * to_host(rounding_bounds(X))
        scale = coordinates.sample_scale * factor
        if rows is None:
            S, n_pairs = similar_scatter(samples, supervision), total_similar_weight(supervision)
        else:
            S, n_pairs = similar_scatter_of(rows.source, rows.references)
            S = S * scale**2
        T = self._whitening(coordinates, S, n_pairs, rounding)
        objective = self._objective(samples @ asarray_like(T, samples).T, supervision, X)
        if rows is not None:
            objective = self._objective_of_rows(objective, rows, scale * T)
        gain = RegularizedGain(objective, float(self.reg), self.diagonal)
        start = np.eye(len(T)) / len(T) ** 0.5
        gain = replace(gain, initial_gain=self._exact_gain(gain, start))
        return Problem(
            objective=gain,
            start=start,
            restore=lambda L: asarray_like(
                coordinates.map_of_samples(L / np.linalg.norm(L) @ T) * factor, X
            ),
            reported_objective=lambda value: gain.reference_gain * float(np.exp(-value)),
        )

    def _over_all_rows(
        self, problem: Problem[RegularizedGain[GainT]], labels: ReferenceLabels
    ) -> Problem[RegularizedGain[GainT]]:
        return problem  # `_problem` uses all rows, because the constraint does

    def _objective_of_rows(self, sample: GainT, rows: ReferenceLabels, P: np.ndarray) -> GainT:
        """Return g over all pairs of a row and a reference. Points are samples times P."""
        objective: Any = ReferenceObjective(rows.source, rows.references, sample, P)  # type: ignore[arg-type]
        return objective

    def _extra_metadata(
        self, problem: Problem[RegularizedGain[GainT]], solution: Solution
    ) -> dict[str, Any]:
        gain = problem.objective
        value, gap = self._objective_and_gap(gain, solution.map, solution.theta)
        return {
            "initial_objective": gain.initial_gain,
            "final_objective": value,
            "gap": gap,
            "reg": self.reg,
        }

    def _whitening(
        self, coordinates: Coordinates, S: np.ndarray, n_pairs: float, rounding: np.ndarray
    ) -> np.ndarray:
        """Return T such that T A T^T is the identity, for the matrix A of the constraint.

        S is the scatter of similar pairs, `n_pairs` is their number, and `rounding` is the rounding
        error of each feature.
        """
        name = type(self).__name__
        if coordinates.basis is not None:  # the coordinates mix features
            rounding = np.full(len(S), np.max(rounding))
        if not np.any(np.diag(S) > n_pairs * rounding**2):
            raise ValueError(
                f"{name} needs similar samples that differ, but the samples of each class or of "
                "each similar pair are identical."
            )
        if self.delta > 0:
            P = self._varying_directions(coordinates, rounding)
            ridge = self.delta * float(np.trace(S)) / len(P)
            A = P @ S @ P.T + ridge * np.eye(len(P))
            return self._whitening_of(A, coordinates, np.zeros(len(P))) @ P
        T = self._whitening_of(S, coordinates, n_pairs**0.5 * rounding)
        total = to_host(Moments.of_all(coordinates.samples, root=False).spread)
        n_directions = len(
            self._whitening_of(total, coordinates, len(coordinates.samples) ** 0.5 * rounding)
        )
        if len(T) < n_directions:
            raise ValueError(
                f"{name} has no optimum, because samples vary in {n_directions} directions but "
                f"similar samples only in {len(T)}. Set delta > 0, or drop features that are "
                "constant within classes or similar pairs."
            )
        return T

    def _varying_directions(self, coordinates: Coordinates, rounding: np.ndarray) -> np.ndarray:
        """Return an orthonormal basis, as rows, of the directions in which the samples vary."""
        n, d = coordinates.samples.shape
        if coordinates.basis is not None:  # the coordinates have only such directions
            return np.eye(d)
        root = to_host(Moments.of_all(coordinates.samples, root=True).spread)
        noise = n**0.5 * rounding
        if self.diagonal:
            return np.eye(d)[np.linalg.norm(root, axis=0) > noise]
        T = whitening(root, is_root=True, rounding=noise)[0]
        varies = np.any(T != 0, axis=0)
        if len(T) == np.sum(varies):  # do not mix features, which may have different units
            return np.eye(d)[varies]
        return np.linalg.qr(root.T @ (root @ T.T)).Q.T

    def _whitening_of(
        self, S: np.ndarray, coordinates: Coordinates, rounding: np.ndarray
    ) -> np.ndarray:
        """Return a whitening of a scatter, without directions that contain only rounding errors."""
        if self.diagonal:
            weights = np.diag(S)
            return np.diag(1 / np.sqrt(np.where(weights > 0, weights, 1)))[weights > rounding**2]
        by_feature = coordinates.basis is None
        return whitening(S, is_root=False, by_feature=by_feature, rounding=rounding)[0]


def check_dissimilar(name: str, X: Array, supervision: Supervision) -> None:
    """Raise if the samples of each given dissimilar pair are identical."""
    if isinstance(supervision, Pairs) and not pairs_differ(X, supervision.dissimilar).any():
        raise ValueError(
            f"{name} needs dissimilar samples that differ, but the samples of each dissimilar "
            "pair are identical."
        )


def total_similar_weight(supervision: Supervision) -> float:
    """Return the number of similar pairs, or the sum of their weights if samples have weights.

    Similar pairs are the user's pairs, or all pairs of the same class.
    """
    if isinstance(supervision, Pairs):
        return len(supervision.similar)
    codes, weights = checked_labels(supervision).codes, relative_weights(supervision)
    counts = np.bincount(codes)
    if weights is None:
        return int(counts @ (counts - 1)) // 2
    return sum(sum_of_pair_weights(part) for part in np.split(weights, np.cumsum(counts)[:-1]))


def similar_scatter(X: Array, supervision: Supervision) -> np.ndarray:
    """Return the sum of outer products of the differences of similar pairs, as a NumPy array.

    If the samples have weights, the weight of a pair is the product of its relative weights.
    """
    xp, d = namespace(X), X.shape[1]
    if isinstance(supervision, Pairs):
        left, right = (asarray_like(side, X, dtype=xp.int64) for side in supervision.similar.T)
        scatter = xp.zeros((d, d), dtype=X.dtype, device=compat.device(X))
        for b in row_blocks(len(supervision.similar), scatter_block_rows(d)):
            delta = xp.take(X, left[b], axis=0) - xp.take(X, right[b], axis=0)
            scatter = scatter + delta.T @ delta
        return to_host(scatter)
    # For a class of n samples, the sum is n times the scatter around the class mean. With weights,
    # n is the sum of the weights, and both the mean and the scatter are weighted.
    total, weights = np.zeros((d, d)), relative_weights(supervision)
    counts = np.bincount(checked_labels(supervision).codes)
    starts = np.concatenate([[0], np.cumsum(counts)]).tolist()
    for first, last in pairwise(starts):
        if last - first > 1:
            deviation = X[first:last, :] - X[first, :]  # exactly 0 in constant features
            if weights is None:
                deviation = deviation - xp.mean(deviation, axis=0)
                total += (last - first) * to_host(deviation.T @ deviation)
                continue
            w = asarray_like(weights[first:last], X)[:, None]
            deviation = deviation - xp.sum(w * deviation, axis=0) / xp.sum(w)
            total += float(xp.sum(w)) * to_host((w * deviation).T @ deviation)
    return total
