"""Maximally collapsing metric learning."""

from typing import Any, ClassVar

import numpy as np

from dimetric._arrays.namespaces import Array, to_host
from dimetric.learners._fitting.convex import ConvexMetric
from dimetric.learners._fitting.references import REFERENCE_PARAMETER, ReferenceMixin
from dimetric.objectives.engine import Rule
from dimetric.objectives.pairwise import PairwiseObjective
from dimetric.objectives.references.softmax_tiles import mcml_tile
from dimetric.objectives.side import Side
from dimetric.objectives.softmax import mcml, weighted_by_row
from dimetric.solvers import Solver
from dimetric.supervision._weights import ClassWeight
from dimetric.supervision.labels import Supervision, checked_labels, relative_weights


class MCMLRule(Rule):
    r"""The loss of MCML: the divergence between ideal and actual neighbour probabilities.

    With :math:`p_{ij} \propto e^{-d^2_{ij}}` over :math:`j \ne i`, and :math:`p^0_{ij}` uniform
    over the other samples of i's class, the loss is the divergence of p from p0 plus the entropy
    of p0: :math:`\sum_j p^0_{ij} d^2_{ij} + \log \sum_{k \ne i} e^{-d^2_{ik}}`. The derivatives are
    :math:`W = p^0 - p`. A sample that is alone in its class has no loss. With sample weights,
    :math:`p^0_{ij}` is proportional to :math:`w_j`, and :math:`w_k` multiplies each
    :math:`e^{-d^2_{ik}}`.
    """

    fast = staticmethod(mcml)
    tile = staticmethod(mcml_tile)
    is_convex = True
    halves = True

    def fused(self, Z: Array, V: Array, side: Side, theta: Any) -> tuple[float, Array, float]:
        """Implement the rule for CUDA tensors, see :class:`dimetric.objectives.engine.Rule`."""
        from dimetric.objectives.triton import softmax

        return softmax.mcml(Z, V, side, theta)

    def block(
        self, xp: Any, D: Array, rows: Side, columns: Side, theta: Any = None
    ) -> tuple[Array, Array, float]:
        """Return (loss, W, 0) of a block, see :class:`dimetric.objectives.engine.Rule`."""
        others = rows.different_sample(columns)
        nearest = xp.min(xp.where(others, D, xp.inf), axis=1, keepdims=True)
        # The subtraction prevents exp from underflowing. It does not change the loss, because p0
        # sums to 1.
        D = xp.where(others, D - nearest, 0.0)
        E = xp.where(others, xp.exp(-D), 0.0)
        friends = xp.astype(rows.same_label(columns) & others, D.dtype)
        if columns.weights is not None:
            E, friends = E * columns.weights[None, :], friends * columns.weights[None, :]
        total = xp.sum(E, axis=1, keepdims=True)
        n_friends = xp.sum(friends, axis=1, keepdims=True)
        is_anchor = xp.astype(n_friends > 0, D.dtype)
        target = friends / xp.where(n_friends > 0, n_friends, xp.ones_like(n_friends))
        losses = xp.sum(target * D, axis=1, keepdims=True) + is_anchor * xp.log(total)
        return weighted_by_row(xp, losses, target - is_anchor * E / total, rows)

    def n_terms(self, rows: Side, columns: Side) -> float:
        """Return the weight or number of samples that have another sample of their class."""
        has_friends = rows.n_friends(columns) > 0
        return rows.total_weight(has_friends)

    def infimum(self, rows: Side, columns: Side) -> float:
        """Return the mean entropy of p0, or -inf if a map attains it (as with a single class)."""
        n_friends = rows.n_friends(columns)
        if not n_friends.any() or np.sum(n_friends) == rows.n_different_pairs(columns):
            return -np.inf
        has_friends = n_friends > 0
        entropies = np.log(rows.friend_weights(columns)[has_friends])
        weights = None if rows.weights is None else to_host(rows.weights)[has_friends]
        return float(np.average(entropies, weights=weights))


class MCML(ReferenceMixin, ConvexMetric[PairwiseObjective]):
    r"""Maximally collapsing metric learning (MCML).

    .. math:: \min_L \frac{1}{n} \sum_i \Big[\sum_j p^0_{ij} d^2_{ij}
              + \log \sum_{k \ne i} e^{-d^2_{ik}}\Big] + reg\, \frac{v}{d} |L|_F^2, \qquad
              d^2_{ij} = |L x_i - L x_j|^2

    Each sample i picks a neighbour j at random, with a probability proportional to
    :math:`e^{-d^2_{ij}}`. Ideally, each class collapses to one point, far from all others: the
    probability :math:`p^0_{ij}` is then uniform over the other samples of i's class, and 0
    elsewhere. Up to a constant, the objective is the mean Kullback-Leibler divergence from this
    ideal [1]_.

    Unlike the objective of NCA, it is convex in :math:`M = L^T L`. ``metadata()["gap"]`` bounds how
    far it is above its minimum: over all metrics if ``gap_proven``, else over metrics of trace at
    most ``gap_radius``. There is no such bound for "sgd", for fewer components than features, for
    a diagonal map, or with references.

    Parameters
    ----------
    n_components : int or None, default=None
        Number of rows of L. None stands for ``n_features``.
    diagonal : bool, default=False
        Whether L is diagonal, so that only a weight of each feature is learned.
    init : str or array of shape (n_components, n_features), default="auto"
        Initial map: "identity", "pca", "lda" (at most ``n_classes - 1`` rows), "random", or an
        array. "auto" chooses "lda" if that has enough rows, otherwise "pca" if L has fewer rows
        than ``min(n_samples, n_features)``, otherwise "identity".
        A named map is rescaled to minimise the objective, and an array is used as it is.
    solver : {"lbfgs", "bgd", "sgd", "sdp"} or solver object, default="lbfgs"
        Solver: :class:`~dimetric.solvers.LBFGS`, :class:`~dimetric.solvers.GradientDescent`,
        :class:`~dimetric.solvers.SGD` for data too large to evaluate all pairs of samples, or
        :class:`~dimetric.solvers.ProjectedGradient` ("sdp"), which minimises over M instead of L.
    max_iter : int, default=50
        Maximum number of iterations. With "sgd", an iteration is an epoch of at most 100
        mini-batches, and the objectives in the metadata are means over mini-batches.
    tol : float or None, default=None
        Tolerance of the stopping criterion, see :class:`~dimetric.solvers.LBFGS`. None stands for
        1e-5 with early stopping: "lbfgs" stops after an iteration that lowers the objective by at
        most 0.05 %. Later iterations often fit noise. A diagonal map
        and one with fewer components than features are not stopped early.
    reg : float or None, default=None
        Weight of the ridge penalty. v is the mean variance of the features, so the effect of `reg`
        does not depend on their unit. None stands for 2 max(0, d / n - 0.1) with n distinct
        samples, and with the variance of each feature in place of v. It is 0 for a diagonal map,
        and with fewer components than features.
    warm_start : bool, default=False
        Whether to start from the map of the previous fit.
    identity_mix : float in [0, 1], "auto" or None, default=None
        Weight a of the identity in the metric, :math:`(1 - a) M + a\, \mathrm{tr}(M) / d\, I`,
        or within the span of L if `n_components` is set.
        "auto" chooses a on held-out samples. None stands for 0. The gap in the
        metadata is that of the metric before mixing.
    class_weight : dict, "balanced" or None, default=None
        Weight of each class, which multiplies the weights of its samples. "balanced" gives all
        classes the same total weight.
    unlabelled : float, str or None, default=None
        Value of `y` that marks unlabelled samples, often -1. These samples are ignored, unless
        ``unlabelled_reg > 0``.
    unlabelled_reg : float, default=0.0
        Weight of a penalty :math:`\frac{v}{d} \mathrm{tr}(L G L^T)` on the distances between
        neighbours. G is the sum of :math:`(x_i - x_j)(x_i - x_j)^T` over all samples i, labelled or
        not, and their 10 nearest neighbours j, divided by its mean eigenvalue.
    n_references : int or None, default=None
        Number of references: a fixed random sample of the samples, by class. Each sample then picks
        a neighbour among the references only, so the time grows with ``n_samples * n_references``.
        None stands for all pairs of samples, or for 4,000 references if X comes in blocks.
    verbose : int, default=0
        Log each iteration if positive.
    random_state : int, RandomState or None, default=None
        Seed of the mini-batches, of ``init="random"`` and of randomised PCA.

    Attributes
    ----------
    components_ : array of shape (n_components, n_features)
        The map L.
    offset_ : array of shape (n_features,)
        Zeros.
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    n_iter_ : int
        Number of iterations.
    history_ : tuple of float
        The solver's objective at the start and after each iteration.
    n_features_in_ : int
        Number of features. If X has feature names, they are in ``feature_names_in_``.

    Notes
    -----
    A sample that is alone in its class is left out of the sum and of n, but can be picked as a
    neighbour.

    Sample weights are first divided by their mean. Then :math:`w_k` multiplies each exponential of
    sample k, :math:`p^0_{ij}` is proportional to :math:`w_j`, :math:`w_i` multiplies the terms of
    sample i, and n is the sum of the weights.

    References
    ----------
    .. [1] A. Globerson, S. Roweis, "Metric learning by collapsing classes", Advances in Neural
       Information Processing Systems 18, 2006.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> facts = MCML(reg=0.0, tol=1e-5).fit(X, y).metadata()
    >>> round(facts["final_objective"], 2), facts["gap"] < 0.01
    (4.08, True)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **ConvexMetric._parameter_constraints,
        **REFERENCE_PARAMETER,
    }
    _needs_class_neighbors = True
    _accepts_weights = True
    # Chosen by experiment, see docs/results/defaults.md.
    _reg_factor = 2.0
    _early_decrease = 0.0005

    def __init__(
        self,
        n_components: int | None = None,
        *,
        diagonal: bool = False,
        init: str | Array = "auto",
        solver: str | Solver = "lbfgs",
        max_iter: int = 50,
        tol: float | None = None,
        reg: float | None = None,
        warm_start: bool = False,
        identity_mix: float | str | None = None,
        class_weight: ClassWeight = None,
        unlabelled: float | str | None = None,
        unlabelled_reg: float = 0.0,
        n_references: int | None = None,
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            n_components,
            diagonal=diagonal,
            init=init,
            solver=solver,
            max_iter=max_iter,
            tol=tol,
            reg=reg,
            warm_start=warm_start,
            identity_mix=identity_mix,
            class_weight=class_weight,
            unlabelled=unlabelled,
            unlabelled_reg=unlabelled_reg,
            verbose=verbose,
            random_state=random_state,
        )
        self.n_references = n_references

    def _objective(
        self, X: Array, supervision: Supervision, order: np.ndarray
    ) -> PairwiseObjective:
        labels = checked_labels(supervision)
        weights = relative_weights(labels)
        return PairwiseObjective(MCMLRule(), X, labels.codes, weights=weights)
