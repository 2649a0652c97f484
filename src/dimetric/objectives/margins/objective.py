r"""LMNN's objective, which pulls target neighbours near and pushes impostors beyond a margin.

A sample i has target neighbours :math:`j \to i` of its class :math:`y_i`. The squared distance to
each sample l of another class should exceed that to each target by a margin of 1:

.. math:: (1 - \mu) \sum_{j \to i} d^2_{ij} + \mu \sum_{j \to i} \sum_{l: y_l \ne y_i} h(t_{ijl}),
          \qquad t_{ijl} = 1 + d^2_{ij} - d^2_{il}

The terms of the first sum are called pulls, those of the second sum pushes. h is the hinge loss of
:mod:`dimetric.objectives.margins.hinge`. The terms of a target j may have a weight
:math:`\omega_{ij}`. If the samples have weights, all terms of sample i are multiplied by
:math:`w_i`, and the pushes also by the weight :math:`w_l` of the impostor.
"""

from copy import copy
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from dimetric._arrays.namespaces import Array, asarray_like, eps, namespace, take_rows, to_host
from dimetric.linalg.psd import inverse_square_root
from dimetric.linalg.scatter import difference_scatter
from dimetric.objectives.engine import Rule
from dimetric.objectives.listed import listed_distances
from dimetric.objectives.margins.hinge import hinge
from dimetric.objectives.margins.impostors import PushSums, sum_pushes
from dimetric.objectives.margins.kept_pairs import KeptPairs
from dimetric.objectives.margins.targets import in_user_order
from dimetric.objectives.objective import Objective, Ridge, Smoothable, ridge_matrix
from dimetric.objectives.pairwise import PairwiseObjective
from dimetric.objectives.side import Side

ROUNDING_FACTOR = 64  # a feature with a spread of fewer units of rounding counts as constant
KEPT_WIDTH = 0.1  # pairs are kept for hinges with smooth parts up to this width
MIN_SAMPLES_FOR_FLOAT32 = 1000  # with fewer samples, float32 saves little time
PRECONDITIONER_RIDGE = 1e-3  # relative to the mean eigenvalue; chosen by experiment


@dataclass(frozen=True)
class MarginRule(Rule):
    """The sum of all pulls and pushes over labelled samples.

    The rule has no extra parameters. In place of dtheta, it returns the derivative of the loss with
    respect to the margin, which :class:`~dimetric.objectives.margins.bounds.MarginBounds` uses.
    This derivative is the sum of the slopes of all hinges, times the weight of a push.

    Parameters
    ----------
    targets : array of shape (n_points, k)
        Target neighbours of each point, in the namespace of the points. -1 means no target.
    n_samples : int
        The first `n_samples` points are samples. Further points serve as targets only, and never
        as impostors.
    pull, push : float
        Weights of the two sums.
    width : float
        Width of the smooth part of the hinge.
    weights : array of shape (n_points, k), optional
        Weights of the targets. By default, all weights are 1.
    kept_pairs : KeptPairs, optional
        Keeps pairs near each other between evaluations of :meth:`fast`.
    """

    targets: Array
    n_samples: int
    pull: float
    push: float
    width: float
    weights: Array | None = None
    kept_pairs: KeptPairs = field(default_factory=KeptPairs, repr=False, compare=False)
    is_convex: ClassVar[bool] = True

    def n_terms(self, rows: Side, columns: Side) -> float:
        """Return the number of samples, or the sum of their weights."""
        if rows.weights is not None:
            return float(np.sum(to_host(rows.weights)[: self.n_samples], dtype=np.float64))
        return float(self.n_samples)

    def block(
        self, xp: Any, D: Array, rows: Side, columns: Side, theta: Any = None
    ) -> tuple[Array, Array, float]:
        """Return the loss of a block, and its derivatives with respect to D and the margin."""
        column = columns.positions[None, :]
        impostors = ~rows.same_label(columns) & (column < self.n_samples)
        targets = xp.take(self.targets, rows.positions, axis=0)
        distances = xp.take_along_axis(D, xp.clip(targets, 0), axis=1)
        weights = xp.ones_like(distances)
        if self.weights is not None:
            weights = xp.take(self.weights, rows.positions, axis=0)
        if rows.weights is not None:
            weights = weights * rows.weights[:, None]
        zeros = xp.zeros_like(D)
        loss, W, slopes = 0.0, zeros, 0.0
        for rank in range(targets.shape[1]):
            target, distance = targets[:, rank, None], distances[:, rank, None]
            exists, weight = target >= 0, weights[:, rank, None]
            value, slope = hinge(1 + distance - D, self.width)
            if columns.weights is not None:
                value, slope = columns.weights * value, columns.weights * slope
            slope = self.push * weight * xp.where(impostors & exists, slope, zeros)
            pushed = xp.sum(slope, axis=1, keepdims=True)
            loss += self.push * float(xp.sum(weight * xp.where(impostors & exists, value, zeros)))
            loss += self.pull * float(xp.sum(weight * xp.where(exists, distance, 0 * distance)))
            pulled = self.pull * weight + pushed
            W = W - slope + xp.where(exists & (target == column), pulled, zeros)
            slopes += float(xp.sum(pushed))
        return loss, W, slopes

    def fast(
        self, Z: np.ndarray, V: np.ndarray, side: Side, theta: Any
    ) -> tuple[float, np.ndarray, float]:
        """Return the loss, the Laplacian product and dtheta, computed fast with NumPy."""
        n, k = self.n_samples, self.targets.shape[1]
        targets, exists = np.maximum(self.targets[:n], 0), self.targets[:n] >= 0
        near = listed_distances(Z, np.arange(n)[:, None], targets)
        thresholds = np.where(exists, 1 + near, -1 - self.width).astype(Z.dtype)
        weights, counts = self._fast_weights(side, Z.dtype)
        pushes = Z[:n], thresholds, self.width, weights, counts
        reach = thresholds.max(axis=1) + max(self.width, KEPT_WIDTH) / 2
        pairs = self.kept_pairs.within(Z[:n], reach, targets, side, len(Z))
        if pairs is None:
            V1 = np.hstack([V[:n], np.ones_like(V[:n, :1])])  # the last column yields the degrees
            pushed = sum_pushes(*pushes, side, V1, search=not self.kept_pairs.are_many)
            self.kept_pairs.note_impostors(float(pushed.slopes.sum()) / k)
        else:
            pushed = PushSums(*pushes)
            pair_slopes = pushed.weigh_pairs(pairs.samples, pairs.impostors)
        pulls = self.pull if weights is None else self.pull * weights
        slopes = np.where(exists, pulls + self.push * pushed.slopes, 0).astype(Z.dtype).ravel()
        if pairs is None:
            product = self.kept_pairs.target_graph(targets, len(Z)).laplacian_product(slopes, V)
            product[:n] -= self.push * (pushed.product[:, -1:] * V[:n] - pushed.product[:, :-1])
        else:
            w = np.concatenate([slopes, -self.push * pair_slopes])
            product = pairs.graph.laplacian_product(w, V)
        pulled = near if weights is None else near * weights
        loss = self.pull * float(np.sum(pulled, where=exists, dtype=np.float64))
        loss += self.push * pushed.loss
        return loss, product, self.push * float(pushed.slopes.sum())

    def _fast_weights(self, side: Side, dtype: Any) -> tuple[np.ndarray | None, np.ndarray | None]:
        """Return the weights of each sample's targets, and those of samples as impostors."""
        n, weights = self.n_samples, self.weights
        if weights is not None:
            weights = weights[:n].astype(dtype, copy=False)
        if side.weights is None:
            return weights, None
        counts = side.weights[:n].astype(dtype, copy=False)
        ones = np.ones((1, self.targets.shape[1]), dtype)
        return counts[:, None] * (ones if weights is None else weights), counts

    def fused(self, Z: Array, V: Array, side: Side, theta: Any) -> tuple[float, Array, float]:
        """Return the loss, the Laplacian product and dtheta, computed by a kernel."""
        from dimetric.objectives.triton.margins import Targets, margins

        targets = Targets.of(self.targets[: self.n_samples], self.weights, side, Z)
        options = {"pull": self.pull, "push": self.push, "width": self.width}
        return margins(Z, V, side, targets, **options)


class MarginObjective(PairwiseObjective, Smoothable):
    """LMNN's objective for labelled samples and their targets.

    Parameters
    ----------
    X : array of shape (n_points, d)
        Samples, centred. Further points, which serve as targets only, may follow.
    labels : ndarray of shape (n_points,)
        Classes as integers from 0, ascending, on the host.
    targets : ndarray of shape (n_samples, k)
        Row indices of each sample's target neighbours, on the host. -1 means no target.
    weights : ndarray of shape (n_samples, k), optional
        Weights of the targets, on the host. By default, all weights are 1.
    mu : float
        Weight of the pushes. The pulls have weight ``1 - mu``.
    width : float, default=0.0
        Width of the smooth part of the hinge.
    fraction : float, default=1.0
        Fraction of all samples that this batch contains. The weight of a push is divided by it,
        because a sample meets only this fraction of its impostors in the batch.
    order : ndarray, optional
        Row indices in the user's X: first those of the samples, then those of samples without a
        label.
    sample_weights : ndarray of shape (n_samples,), optional
        Weights of the samples, on the host.
    single : bool, default=False
        See :class:`~dimetric.objectives.pairwise.PairwiseObjective`.
    """

    rule: MarginRule

    def __init__(
        self,
        X: Array,
        labels: np.ndarray,
        targets: np.ndarray,
        weights: np.ndarray | None = None,
        *,
        mu: float,
        width: float = 0.0,
        fraction: float = 1.0,
        order: np.ndarray | None = None,
        sample_weights: np.ndarray | None = None,
        single: bool = False,
    ) -> None:
        self.targets, self.weights = targets, weights
        self.mu, self.width, self.order = mu, width, order
        n_samples, k = targets.shape
        no_targets = np.full((X.shape[0] - n_samples, k), -1)
        rule_targets = asarray_like(
            np.concatenate([targets, no_targets]), X, dtype=namespace(X).int64
        )
        if weights is not None:
            weights = asarray_like(np.concatenate([weights, 0.0 * no_targets]), X)
        rule = MarginRule(rule_targets, n_samples, 1 - mu, mu / fraction, width, weights)
        self.sample_weights = padded = sample_weights
        if sample_weights is not None:  # points that are not samples have no terms
            padded = np.concatenate([sample_weights, np.zeros(len(no_targets))])
        super().__init__(rule, X, labels, weights=padded, single=single)

    def smoothed(self, width: float) -> "MarginObjective":
        """Return the same objective with another width of the hinges' smooth part."""
        other = copy(self)
        other.width, other.rule = width, replace(self.rule, width=width)
        other._last = None
        return other

    def with_targets(
        self, targets: np.ndarray, weights: np.ndarray | None = None
    ) -> "MarginObjective":
        """Return the same objective with other targets."""
        return self._changed(self.points, targets, weights, order=self.order)

    def in_float32(self) -> Objective | None:
        """Return an approximation, if there are many samples. See :meth:`Objective.in_float32`."""
        return super().in_float32() if len(self.targets) >= MIN_SAMPLES_FOR_FLOAT32 else None

    def has_targets_of(self, other: "MarginObjective") -> bool:
        """Return whether both objectives have the same targets with the same weights."""
        if self.weights is None or other.weights is None:
            same_weights = self.weights is other.weights
        else:
            same_weights = np.array_equal(self.weights, other.weights)
        return same_weights and np.array_equal(self.targets, other.targets)

    def user_targets(self) -> tuple[Array, Array] | None:
        """Return the targets and their weights in the order of the user's X, if it is known."""
        if self.order is None:
            return None
        targets, weights = in_user_order(self.targets, self.order, self.weights)
        X = self.points
        return asarray_like(targets, X, dtype=namespace(X).int64), asarray_like(weights, X)

    def with_points(self, X: Array, *, single: bool = False) -> "MarginObjective":
        """Return the same objective for other points, with the same targets."""
        return self._changed(X, self.targets, self.weights, single=single)

    def _changed(
        self, X: Array, targets: np.ndarray, weights: np.ndarray | None, **changed: Any
    ) -> "MarginObjective":
        """Return the same objective for other points, targets or options."""
        options = {
            "mu": self.mu,
            "width": self.width,
            "sample_weights": self.sample_weights,
            "single": self._single,
        }
        return MarginObjective(X, self.strata, targets, weights, **options | changed)

    def batch(self, rows: np.ndarray) -> "MarginObjective | None":
        """Return the objective of some samples, or None if none of them has a target.

        All targets of these samples are kept. Impostors are only searched among these samples.
        """
        labels, targets = self.strata[rows], self.targets[rows]
        if np.all(targets < 0):
            return None
        if len(rows) == len(self.targets):
            return self
        others = np.setdiff1d(targets[targets >= 0], rows)
        points = np.concatenate([rows, others])
        sorting = np.argsort(points)
        positions = sorting[
            np.searchsorted(points[sorting], np.maximum(targets, points[sorting[0]]))
        ]
        return MarginObjective(
            take_rows(self.points, points),
            np.concatenate([labels, np.full(len(others), labels[-1] + 1)]),
            np.where(targets < 0, -1, positions),
            None if self.weights is None else self.weights[rows],
            mu=self.mu,
            width=self.width,
            fraction=len(rows) / len(self.targets),
            sample_weights=None if self.sample_weights is None else self.sample_weights[rows],
        )

    def pull_matrix(self) -> np.ndarray:
        r"""Return P such that :math:`\langle P, M \rangle` is the mean pull under a metric M."""
        X = self.points
        itself = np.arange(len(self.targets))[:, None]
        near = asarray_like(
            np.where(self.targets < 0, itself, self.targets), X, dtype=namespace(X).int64
        )
        weights = self.weights
        if self.sample_weights is not None:
            weights = np.ones(near.shape) if weights is None else weights
            weights = weights * self.sample_weights[:, None]
        total = difference_scatter(X, near, np.ones(len(itself)), weights, root=False)
        return (1 - self.mu) * to_host(total) / self.n_terms


def pull_scale(objective: Smoothable, ridge: Ridge) -> np.ndarray:
    """Return a matrix T that preconditions the problem: solvers then optimise A, where L = A T.

    In terms of A, the pulls have about the same size in all directions. On many data sets this
    saves three quarters of the iterations or more.
    """
    X = objective.points
    sizes = to_host(namespace(X).std(X, axis=0)).astype(np.float64)
    largest = float(sizes.max())
    sizes[sizes <= ROUNDING_FACTOR * eps(X) * largest] = largest or 1.0
    P = objective.pull_matrix() + ridge_matrix(ridge, len(sizes))
    P = P / sizes / sizes[:, None]
    least = PRECONDITIONER_RIDGE * np.trace(P) / len(P) or 1.0
    return np.asarray(inverse_square_root(P + least * np.eye(len(P))) / sizes)
