"""Objectives over all pairs of samples that have labels or other targets."""

from dataclasses import replace
from functools import cached_property
from typing import Any

import array_api_compat as compat
import numpy as np

from dimetric._arrays.namespaces import Array, asarray_like, eps, namespace, take_rows, to_host
from dimetric.linalg.scatter import Moments
from dimetric.objectives.engine import Rule, fast_implementation, laplacian_product
from dimetric.objectives.objective import Objective, SimilarityObjective
from dimetric.objectives.side import Side
from dimetric.supervision.labels import sum_of_pair_weights

MAX_FLOAT32_ERROR = 1e-3  # largest rounding error of a squared distance in float32
MAX_APPROXIMATION_ERROR = 1e-4  # the same for an approximation of a float64 objective
MIN_SAMPLES_FOR_APPROXIMATION = 500  # with fewer samples, float32 saves little time
WHITENING_RIDGE = 1e-6  # relative to the variance of each feature
N_TARGET_STRATA = 10  # samples with targets instead of labels are divided into this many strata


class PairwiseObjective(SimilarityObjective):
    """The sum of a rule over all pairs of samples that have labels or other targets.

    NumPy arrays use the rule's ``fast`` method if it has one, CUDA tensors of torch its ``fused``
    method. All other arrays use the engine.

    Parameters
    ----------
    rule : Rule
        Computes the terms of the sum.
    X : array of shape (n, d)
        Samples, centred.
    labels : ndarray of shape (n,), optional
        Classes as integers from 0, ascending, on the host. If None, the samples are sorted by
        target, and consecutive samples form the strata of mini-batches.
    theta : sequence of float
        Initial values of the rule's extra parameters.
    targets : array of shape (n,) or (n, q), optional
        Targets of the samples that are not classes, for rules that use them.
    weights : array of shape (n,), optional
        Weights of the samples, for rules that use them.
    single : bool, default=False
        Whether X was computed in float64 from samples in float32. A graphics processor then
        computes sums over pairs in float32.
    """

    def __init__(
        self,
        rule: Rule,
        X: Array,
        labels: np.ndarray | None,
        theta: Any = (),
        *,
        targets: Array | None = None,
        weights: Array | None = None,
        single: bool = False,
    ) -> None:
        if labels is not None and np.any(np.diff(labels) < 0):
            raise ValueError("labels must be in ascending order. Sort the samples by class.")
        n = X.shape[0]
        self.strata = np.arange(n) * N_TARGET_STRATA // n if labels is None else labels
        self.rule, self.points = rule, X
        self.theta = np.asarray(theta, dtype=np.float64)
        self.side = Side.of(X, labels=labels, targets=targets, weights=weights)
        self.is_constant = labels is None and _is_constant(self.side.targets)
        self.n_terms = rule.n_terms(self.side, self.side) or 1.0
        self.infimum = rule.infimum(self.side, self.side)
        self._single = single
        # The map, theta and result of the last call of gradient_in_metric().
        self._last: tuple[Array, np.ndarray, Any] | None = None

    def gradient_in_map(
        self, L: Array, theta: np.ndarray
    ) -> tuple[float, Array, np.ndarray | float]:
        """Return the objective and its gradients. See :meth:`Objective.gradient_in_map`.

        With a square map, the gradient in the metric takes no longer. A certificate often needs it
        at the last map of a solver, so it is kept.
        """
        if not self._keeps_gradient(L):
            return super().gradient_in_map(L, theta)
        loss, S, dtheta = self.gradient_in_metric(L, theta)
        return loss, 2 * (L @ S), dtheta

    def gradient_in_metric(
        self, L: Array, theta: np.ndarray
    ) -> tuple[float, Array, np.ndarray | float]:
        """Return the objective and its gradients. See :meth:`Objective.gradient_in_metric`."""
        if not self._keeps_gradient(L):
            return super().gradient_in_metric(L, theta)
        last = self._last
        if last is None or not (np.array_equal(last[0], L) and np.array_equal(last[1], theta)):
            last = np.copy(L), np.copy(theta), self._scatter(L, theta)
            self._last = last
        loss, S, dtheta = last[2]
        return loss, S, dtheta

    def _scatter(self, L: Array, theta: np.ndarray) -> tuple[float, Array, np.ndarray | float]:
        """Return the objective and its gradients in float64."""
        if self.rule.fast is None or not self.rule.halves:
            return super().gradient_in_metric(L, theta)
        return half_scatter(self.rule, self.points @ L.T, self.points, self.side, theta)

    def _keeps_gradient(self, L: Array) -> bool:
        """Return whether the gradient at a map may be needed again, and is precise enough."""
        is_precise = compat.is_numpy_array(self.points) and self.points.dtype == np.float64
        return is_precise and self.rule.is_convex and L.shape[0] >= L.shape[1]

    def evaluate(
        self, Z: Array, V: Array, theta: np.ndarray
    ) -> tuple[float, Array, np.ndarray | float]:
        """Return the objective, the product and dtheta. See :meth:`Objective.evaluate`."""
        fast = fast_implementation(self.rule, Z, single=self._single)
        uses_kernel = fast is not None and not compat.is_numpy_array(Z)
        if needs_float64(Z) and not uses_kernel:  # kernels handle large norms themselves
            xp = namespace(Z)
            wide = xp.astype(Z, xp.float64), xp.astype(V, xp.float64)
            loss, product, dtheta = self.evaluate(*wide, theta)
            return loss, xp.astype(product, V.dtype), dtheta
        if fast is not None:
            return fast(Z, V, self.side, theta)
        return laplacian_product(self.rule, Z, V, self.side, theta)

    def in_float32(self) -> Objective | None:
        """Return an approximation, if the rule is convex and the samples are in float64.

        See :meth:`Objective.in_float32`. Without convexity, small differences in early iterations
        may lead to another minimum.
        """
        is_fast = compat.is_numpy_array(self.points) and self.rule.fast is not None
        is_fast = is_fast and self.points.dtype == np.float64
        if is_fast and self.rule.is_convex and len(self.side) >= MIN_SAMPLES_FOR_APPROXIMATION:
            return _Float32Objective(self)
        return None

    def batch(self, rows: np.ndarray) -> "PairwiseObjective | None":
        """Return the objective of some samples.

        Return None if all of them have the same class or target, if no two of them have the same
        class, or if there are only two samples with targets.
        """
        labels, side = self.strata[rows], self.side.take(rows)
        has_labels = side.labels is not None
        if has_labels and (labels[0] == labels[-1] or np.all(labels[1:] != labels[:-1])):
            return None
        if not has_labels and _is_constant(side.targets):
            return None
        return PairwiseObjective(
            self.rule,
            take_rows(self.points, rows),
            labels if has_labels else None,
            self.theta,
            targets=side.targets,
            weights=side.weights,
            single=self._single,
        )

    def within_class_covariance(self) -> np.ndarray:
        """Return the within-class covariance of the samples."""
        return within_class_covariance(self.points, self.strata)

    def n_similar(self) -> float:
        """Return the number of pairs of the same class, or the sum of their weights."""
        if self.side.weights is not None:
            weights = np.split(to_host(self.side.weights), self.side.class_starts[1:-1])
            return sum(sum_of_pair_weights(part.astype(np.float64)) for part in weights)
        counts = np.bincount(self.strata)
        return float(counts @ (counts - 1)) / 2


class _Float32Objective(SimilarityObjective):
    """An approximation of a pairwise objective: distances and weights in float32.

    The points are mapped and the gradients are computed in float64.
    """

    def __init__(self, exact: PairwiseObjective) -> None:
        assert exact.rule.fast is not None
        self._exact, self._fast, self._float32_side = exact, exact.rule.fast, exact.side
        if exact.side.weights is not None:
            weights = exact.side.weights.astype(np.float32)
            self._float32_side = replace(exact.side, weights=weights)
        self.points, self.n_terms, self.infimum = exact.points, exact.n_terms, exact.infimum
        self.theta, self.strata = exact.theta, exact.strata

    def evaluate(
        self, Z: Array, V: Array, theta: np.ndarray
    ) -> tuple[float, Array, np.ndarray | float]:
        """Return the objective, the product and dtheta. See :meth:`Objective.evaluate`."""
        Z32 = Z.astype(np.float32)
        if needs_float64(Z32, MAX_APPROXIMATION_ERROR):
            return self._exact.evaluate(Z, V, theta)
        V32 = Z32 if V is Z else V.astype(np.float32)
        loss, product, dtheta = self._fast(Z32, V32, self._float32_side, theta)
        return loss, product.astype(np.float64), dtheta

    def gradient_in_metric(
        self, L: Array, theta: np.ndarray
    ) -> tuple[float, Array, np.ndarray | float]:
        """Return the objective and its gradients. See :meth:`Objective.gradient_in_metric`.

        In any direction of the points, the rounding error is small relative to their variance.
        """
        Z = self.points @ L.T
        Z32 = Z.astype(np.float32)
        if needs_float64(Z32, MAX_APPROXIMATION_ERROR):
            return self._exact.gradient_in_metric(L, theta)
        R, white = self._white
        rule, side = self._exact.rule, self._float32_side
        if rule.halves:
            loss, S, dtheta = half_scatter(rule, Z32, white, side, theta)
        else:
            loss, product, dtheta = self._fast(Z32, white, side, theta)
            S = product.T @ white
        return loss, R.T @ S.astype(np.float64) @ R, dtheta

    def gradient_in_map(
        self, L: Array, theta: np.ndarray
    ) -> tuple[float, Array, np.ndarray | float]:
        """Return the objective and its gradients. See :meth:`Objective.gradient_in_map`."""
        if L.shape[0] < L.shape[1]:
            return super().gradient_in_map(L, theta)
        loss, S, dtheta = self.gradient_in_metric(L, theta)
        return loss, 2 * (L @ S), dtheta

    @cached_property
    def _white(self) -> tuple[np.ndarray, np.ndarray]:
        """A matrix R, and the points times its inverse, in float32. These are uncorrelated."""
        X = self.points
        S = np.cov(X, rowvar=False, ddof=0).reshape(X.shape[1], -1)
        variances = np.where(np.diag(S) > 0, np.diag(S), 1.0)
        R = np.linalg.cholesky(S + WHITENING_RIDGE * np.diag(variances)).T
        return R, np.linalg.solve(R.T, X.T).T.astype(np.float32, order="C")

    def part(self, max_units: int) -> Objective:
        """Return the objective of some of the samples, without approximation."""
        return self._exact.part(max_units)

    def within_class_covariance(self) -> np.ndarray:
        """Return the within-class covariance of the samples."""
        return self._exact.within_class_covariance()

    def n_similar(self) -> float:
        """Return the number of pairs of the same class, or the sum of their weights."""
        return self._exact.n_similar()


def half_scatter(
    rule: Rule, Z: np.ndarray, X: np.ndarray, side: Side, theta: np.ndarray
) -> tuple[float, np.ndarray, Any]:
    """Return the loss, the weighted scatter of the rows of X, and dtheta.

    This needs only half of the products. ``rule.halves`` must be true.
    """
    assert rule.fast is not None
    loss, product, dtheta = rule.fast(Z, X, side, theta, half=True)
    S = X.T @ product
    return loss, (S + S.T) / 2, dtheta


def within_class_covariance(points: Array, labels: np.ndarray) -> np.ndarray:
    """Return the within-class covariance of the samples.

    The samples are the first ``len(labels)`` points. Their labels must be ascending.
    """
    X = points[: len(labels), :]
    codes = asarray_like(labels, X, dtype=namespace(X).int64)
    moments = Moments.of_all(X, codes, int(labels[-1]) + 1, root=False)
    return to_host(moments.spread) / len(labels)


def _is_constant(targets: Array | None) -> bool:
    """Return whether the distances have no effect: all targets are equal, or there are only two.

    Each of two samples has only one neighbour, so its neighbour does not depend on the distance.
    """
    if targets is None or targets.shape[0] < 3:
        return True
    return bool(np.all(to_host(targets[1:, ...] == targets[:1, ...])))


def needs_float64(Z: Array, max_error: float = MAX_FLOAT32_ERROR) -> bool:
    """Return whether small squared distances would be lost to rounding in float32.

    Squared distances come from a matrix product, so their rounding errors grow with the squared
    norms of the points.
    """
    xp = namespace(Z)
    if Z.dtype != xp.float32 or Z.shape[1] == 0:
        return False
    return eps(Z) * float(xp.max(xp.sum(Z * Z, axis=1))) > max_error
