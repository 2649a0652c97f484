r"""LMNN's objective: target neighbours are pulled near, and impostors pushed beyond a margin.

A sample i has target neighbours :math:`j \to i` of its class :math:`y_i`. Samples l of other
classes should keep a margin of 1 beyond each of them:

.. math:: (1 - \mu) \sum_{j \to i} d^2_{ij} + \mu \sum_{j \to i} \sum_{l: y_l \ne y_i} h(t_{ijl}),
          \qquad t_{ijl} = 1 + d^2_{ij} - d^2_{il}

The first sum are the pulls, the second the pushes; h is the hinge of
:mod:`dimetric.objectives.margins.hinge`.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from dimetric._arrays.namespaces import Array, asarray_like, eps, namespace, take_rows, to_host
from dimetric.linalg.psd import inverse_square_root
from dimetric.linalg.scatter import difference_scatter
from dimetric.objectives.engine import Rule
from dimetric.objectives.listed import listed_distances
from dimetric.objectives.margins.hinge import hinge
from dimetric.objectives.margins.impostors import pushes
from dimetric.objectives.objective import Smoothable
from dimetric.objectives.pairwise import PairwiseObjective
from dimetric.objectives.side import Side


@dataclass(frozen=True)
class MarginRule(Rule):
    """The sum of all pulls and pushes over labelled samples.

    The margin is 1. As dtheta it returns the derivative of the loss in the margin: the sum of the
    slopes of all hinges, times the weight of a push. Bounds of the objective need it.

    Parameters
    ----------
    targets : array of shape (n_points, k)
        Target neighbours of each point, in the points' namespace; -1 stands for none.
    n_samples : int
        Points that may be impostors. The points after them serve as targets only.
    pull, push : float
        Weights of the two terms.
    width : float
        Width of the smooth part of the hinge.
    """

    targets: Array
    n_samples: int
    pull: float
    push: float
    width: float

    def n_terms(self, rows: Side, columns: Side) -> float:
        """Return the number of samples."""
        return float(self.n_samples)

    def block(
        self, xp: Any, D: Array, rows: Side, columns: Side, theta: Any = None
    ) -> tuple[Array, Array, float]:
        """Return (loss, W, derivative in the margin) of a block, see :class:`Rule`."""
        column = columns.positions[None, :]
        impostors = ~rows.same_label(columns) & (column < self.n_samples)
        targets = xp.take(self.targets, rows.positions, axis=0)
        distances = xp.take_along_axis(D, xp.clip(targets, 0), axis=1)
        nothing = xp.zeros_like(D)
        loss, W, slopes = 0.0, nothing, 0.0
        for rank in range(targets.shape[1]):
            target, distance = targets[:, rank, None], distances[:, rank, None]
            there = target >= 0
            value, slope = hinge(1 + distance - D, self.width)
            slope = self.push * xp.where(impostors & there, slope, nothing)
            pushed = xp.sum(slope, axis=1, keepdims=True)
            loss += self.push * float(xp.sum(xp.where(impostors & there, value, nothing)))
            loss += self.pull * float(xp.sum(xp.where(there, distance, 0 * distance)))
            W = W - slope + xp.where(there & (target == column), self.pull + pushed, nothing)
            slopes += float(xp.sum(pushed))
        return loss, W, slopes

    def fast(
        self, Z: np.ndarray, V: np.ndarray, side: Side, theta: Any
    ) -> tuple[float, np.ndarray, float]:
        """Return what ``engine.laplacian_product`` does, in NumPy."""
        n, k = self.n_samples, self.targets.shape[1]
        targets, there = np.maximum(self.targets[:n], 0), self.targets[:n] >= 0
        samples = np.repeat(np.arange(n), k)
        distances = listed_distances(Z, samples, targets.ravel()).reshape(n, k)
        V1 = np.hstack([V, np.ones_like(V[:, :1])])  # a product with ones is a degree
        thresholds = np.where(there, 1 + distances, -1 - self.width).astype(Z.dtype)
        pushed = pushes(Z[:n], V1[:n], thresholds, side, self.width)
        weights = np.where(there, self.pull + self.push * pushed.slopes, 0).astype(Z.dtype)
        near = sparse.csr_array(
            (weights.ravel(), targets.ravel(), np.arange(0, n * k + 1, k)), shape=(n, len(Z))
        )
        total = near.T @ V1[:n]
        total[:n] += near @ V1
        pushed.product *= self.push
        total[:n] -= pushed.product
        product = total[:, -1:] * V
        product -= total[:, :-1]
        loss = self.pull * float(np.sum(distances, where=there, dtype=np.float64))
        loss += self.push * pushed.loss
        slopes = self.push * float(pushed.slopes.sum())
        return loss, product, slopes


class MarginObjective(PairwiseObjective, Smoothable):
    """The pulls and pushes of labelled samples, given their targets.

    Parameters
    ----------
    X : array of shape (n_points, d)
        Samples, centred, perhaps followed by points that serve as targets only.
    labels : ndarray of shape (n_points,)
        Classes as integers from 0, ascending, on the host.
    targets : ndarray of shape (n_samples, k)
        Row numbers of each sample's target neighbours, on the host; -1 stands for none.
    mu : float
        Weight of the pushes; that of the pulls is ``1 - mu``.
    width : float, default=0.0
        Width of the smooth part of the hinge.
    share : float, default=1.0
        Share of all samples that are here: the weight of a push is divided by it, so that a batch
        has the pushes of all samples on average.
    order : ndarray of shape (n_samples,), optional
        Row numbers of the samples in the data that the user gave.
    """

    def __init__(
        self,
        X: Array,
        labels: np.ndarray,
        targets: np.ndarray,
        *,
        mu: float,
        width: float = 0.0,
        share: float = 1.0,
        order: np.ndarray | None = None,
    ) -> None:
        self.targets, self.mu, self.width, self.order = targets, mu, width, order
        n_samples, k = targets.shape
        padded = np.concatenate([targets, np.full((X.shape[0] - n_samples, k), -1)])
        there = asarray_like(padded, X, dtype=namespace(X).int64)
        super().__init__(MarginRule(there, n_samples, 1 - mu, mu / share, width), X, labels)

    def smoothed(self, width: float) -> "MarginObjective":
        """Return the objective whose hinges have a smooth part of another width."""
        return MarginObjective(self.points, self.strata, self.targets, mu=self.mu, width=width)

    def aimed(self, targets: np.ndarray) -> "MarginObjective":
        """Return the objective with other targets."""
        return MarginObjective(self.points, self.strata, targets, mu=self.mu, width=self.width)

    def moved(self, X: Array) -> "MarginObjective":
        """Return the objective of other points, with the same targets."""
        return MarginObjective(X, self.strata, self.targets, mu=self.mu, width=self.width)

    def batch(self, rows: np.ndarray) -> "MarginObjective | None":
        """Return the objective of some samples and their targets; impostors are among the samples.

        None if no sample has a target.
        """
        labels, targets = self.strata[rows], self.targets[rows]
        if np.all(targets < 0):
            return None
        others = np.setdiff1d(targets[targets >= 0], rows)
        points = np.concatenate([rows, others])
        ranked = np.argsort(points)
        places = ranked[np.searchsorted(points[ranked], np.maximum(targets, points[ranked[0]]))]
        return MarginObjective(
            take_rows(self.points, points),
            np.concatenate([labels, np.full(len(others), labels[-1] + 1)]),
            np.where(targets < 0, -1, places),
            mu=self.mu,
            width=self.width,
            share=len(rows) / len(self.targets),
        )

    def pull(self) -> np.ndarray:
        r"""Return P, with :math:`\langle P, M \rangle` the mean of all pulls under a metric M."""
        X = self.points
        itself = np.arange(len(self.targets))[:, None]
        near = asarray_like(
            np.where(self.targets < 0, itself, self.targets), X, dtype=namespace(X).int64
        )
        total = difference_scatter(X, near, np.ones(len(itself)), root=False)
        return (1 - self.mu) * to_host(total) / self.n_terms


def pull_scale(objective: Smoothable, ridge: float) -> np.ndarray:
    """Return T for a solver that steps in A, with L = A T: there all pulls are of similar size.

    On many kinds of data this saves three quarters of the iterations, or more.
    """
    X = objective.points
    sizes = to_host(namespace(X).std(X, axis=0)).astype(np.float64)
    largest = float(sizes.max())
    sizes[sizes <= 64 * eps(X) * largest] = largest or 1.0  # rounding errors only
    P = (objective.pull() + ridge * np.eye(len(sizes))) / sizes / sizes[:, None]
    least = 1e-3 * np.trace(P) / len(P) or 1.0
    return inverse_square_root(P + least * np.eye(len(P))) / sizes
