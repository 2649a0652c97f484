"""Maximally collapsing metric learning."""

from typing import Any

import numpy as np

from dimetric._arrays.namespaces import Array
from dimetric.learners._fitting.convex import ConvexMetric
from dimetric.objectives import fast_paths
from dimetric.objectives.engine import Rule
from dimetric.objectives.pairwise import PairwiseObjective
from dimetric.objectives.side import Side
from dimetric.supervision.labels import Supervision, checked_labels


class MCMLRule(Rule):
    r"""The divergence of the softmax over neighbours from a uniform choice in the own class.

    With :math:`p_{ij} \propto e^{-d^2_{ij}}` over :math:`j \ne i`, and :math:`p^0_{ij}` uniform
    over the other samples of i's class, the loss is the divergence of p from p0, up to the entropy
    of p0: :math:`\sum_j p^0_{ij} d^2_{ij} + \log \sum_{k \ne i} e^{-d^2_{ik}}`, and the weights are
    :math:`W = p^0 - p`. Samples that are alone in their class have no loss.
    """

    fast = staticmethod(fast_paths.mcml)

    def block(
        self, xp: Any, D: Array, rows: Side, columns: Side, theta: Any = None
    ) -> tuple[Array, Array, float]:
        """Return (loss, W, 0) of a block, see :class:`dimetric.objectives.engine.Rule`."""
        others = rows.different_sample(columns)
        nearest = xp.min(xp.where(others, D, xp.inf), axis=1, keepdims=True)
        D = xp.where(others, D - nearest, 0.0)  # which changes no loss: p0 sums to 1
        E = xp.where(others, xp.exp(-D), 0.0)
        total = xp.sum(E, axis=1, keepdims=True)
        friends = xp.astype(rows.same_label(columns) & others, D.dtype)
        n_friends = xp.sum(friends, axis=1, keepdims=True)
        is_anchor = xp.astype(n_friends > 0, D.dtype)
        target = friends / xp.clip(n_friends, 1.0, None)
        losses = xp.sum(target * D, axis=1, keepdims=True) + is_anchor * xp.log(total)
        loss = xp.sum(losses, dtype=xp.float64)
        return loss, target - is_anchor * E / total, 0.0

    def n_terms(self, rows: Side, columns: Side) -> float:
        """Return the number of samples that have another one of their class."""
        return max(1.0, float(np.sum(rows.n_friends(columns) > 0)))

    def infimum(self, rows: Side, columns: Side) -> float:
        """Return the mean entropy of p0; a single class attains it, by collapsing."""
        n_friends = rows.n_friends(columns)
        if not n_friends.any() or np.sum(n_friends) == rows.n_different_pairs(columns):
            return -np.inf
        return float(np.mean(np.log(n_friends[n_friends > 0])))


class MCML(ConvexMetric[PairwiseObjective]):
    r"""Maximally collapsing metric learning: classes as points, far from each other.

    .. math:: \min_L \frac{1}{n} \sum_i \Big[\sum_j p^0_{ij} d^2_{ij}
              + \log \sum_{k \ne i} e^{-d^2_{ik}}\Big] + \frac{reg}{d} |L|_F^2, \qquad
              d^2_{ij} = |L x_i - L x_j|^2

    If every sample picked a neighbour at random, near ones more likely, it ideally would pick all
    others of its class equally often, :math:`p^0`, and nobody else. The objective is the mean
    Kullback-Leibler divergence from that ideal, but for a constant [1]_. Unlike that of NCA it is
    convex in :math:`M = L^T L`: a map with all rows has one optimum, and ``metadata()`` holds a
    bound of how far away that is, ``gap`` (among metrics of trace ``gap_radius`` alone, unless
    ``gap_proven``).

    Parameters
    ----------
    n_components : int or None, default=None
        Rows of L; None is ``n_features``.
    init : str or array of shape (n_components, n_features), default="auto"
        Start: "identity", "pca", "lda" (at most ``n_classes - 1`` rows), "random", or a map.
        "auto" is "lda" if that has enough rows, else "pca" if the map has fewer rows than there are
        features and samples, else "identity".
    solver : {"lbfgs", "bgd", "sgd", "sdp"} or solver object, default="lbfgs"
        How the objective is minimised: by :class:`~dimetric.solvers.LBFGS`,
        :class:`~dimetric.solvers.GradientDescent`, :class:`~dimetric.solvers.SGD` for data too
        large to evaluate all pairs of samples, or, over the metric M instead of L,
        :class:`~dimetric.solvers.ProjectedGradient` ("sdp").
    max_iter : int, default=50
        Largest number of iterations. With "sgd" these are passes over the samples, or over 100
        mini-batches of them, and the objectives in the metadata are means over mini-batches.
    tol : float, default=1e-5
        Tolerance at which the solver stops, see :class:`~dimetric.solvers.LBFGS`.
    reg : float, default=0.0
        Weight of the ridge.
    warm_start : bool, default=False
        Start from the map of the last fit.
    verbose : int, default=0
        Log each iteration if positive.
    random_state : int, RandomState or None, default=None
        Seed of mini-batches, of ``init="random"``, and of "pca" where that is randomised.

    Attributes
    ----------
    components_ : array of shape (n_components, n_features)
        The map L.
    offset_ : array of shape (n_features,)
        0.
    classes_ : ndarray of shape (n_classes,)
        Labels.
    n_iter_ : int
        Number of iterations.
    history_ : tuple of float
        The objective at the start and after every iteration, as the solver saw it.
    n_features_in_ : int
        Number of features; ``feature_names_in_`` holds their names where X has any.

    Notes
    -----
    The only sample of a class has no loss term, but counts as a neighbour of other samples. A start
    given by name is rescaled to the size that fits best; a start given as an array is used as it
    is.

    References
    ----------
    .. [1] A. Globerson, S. Roweis, "Metric learning by collapsing classes", Advances in Neural
       Information Processing Systems 18, 2006.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> facts = MCML().fit(X, y).metadata()
    >>> round(facts["final_objective"], 2), facts["gap"] < 0.01
    (4.08, True)
    """

    _single_sample = "which has no class to collapse with"

    def _objective(
        self, X: Array, supervision: Supervision, order: np.ndarray
    ) -> PairwiseObjective:
        return PairwiseObjective(MCMLRule(), X, checked_labels(supervision).codes)
