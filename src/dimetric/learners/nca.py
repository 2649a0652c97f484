"""Neighbourhood components analysis."""

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from dimetric._arrays.namespaces import Array, namespace
from dimetric._compat import StrOptions
from dimetric._warnings import warn
from dimetric.learners._fitting.mean_loss import MeanLossMetric
from dimetric.learners._fitting.references import REFERENCE_PARAMETER, ReferenceMixin
from dimetric.objectives.costs import (
    COST_NAMES,
    MAX_SAMPLES_FOR_INFIMUM,
    CostFunction,
    CostRule,
    TableCost,
    checked_table,
    mean_cost,
    target_cost,
)
from dimetric.objectives.pairwise import PairwiseObjective
from dimetric.objectives.references.softmax_tiles import nca_tile
from dimetric.objectives.side import Side
from dimetric.objectives.softmax import (
    Cost,
    NeighborChoiceRule,
    nca,
    neighbor_probabilities,
    weighted_by_row,
)
from dimetric.solvers import Solver
from dimetric.supervision._weights import ClassWeight
from dimetric.supervision.labels import Labels, Supervision, checked_targets, relative_weights

# Default `reg` for targets that are not classes, chosen by cross-validated R2 on eight data sets.
REG_OF_OTHER_TARGETS = 0.1


class NCARule(NeighborChoiceRule):
    r"""The loss of NCA: minus the probability :math:`p_i` of picking a sample of the same class.

    With :math:`p_{ij} \propto e^{-d^2_{ij}}` over :math:`j \ne i`, and
    :math:`p_i = \sum_{j: y_j = y_i} p_{ij}`, the weights are
    :math:`W_{ij} = p_{ij} ([y_i = y_j] - p_i)`.
    """

    fast = staticmethod(nca)
    tile = staticmethod(nca_tile)

    def fused(self, Z: Array, V: Array, side: Side, theta: Any) -> tuple[float, Array, float]:
        """Implement the rule for CUDA tensors, see :class:`dimetric.objectives.engine.Rule`."""
        from dimetric.objectives.triton import softmax

        return softmax.nca(Z, V, side, theta)

    def block(
        self, xp: Any, D: Array, rows: Side, columns: Side, theta: Any = None
    ) -> tuple[Array, Array, float]:
        """Return (loss, W, 0) of a block, see :class:`dimetric.objectives.engine.Rule`."""
        P = neighbor_probabilities(xp, D, rows, columns)
        same = xp.astype(rows.same_label(columns), P.dtype)
        p = xp.sum(P * same, axis=1, keepdims=True)
        return weighted_by_row(xp, -p, P * (same - p), rows)

    def infimum(self, rows: Side, columns: Side) -> float:
        """Return minus the fraction of samples that have another sample of their class."""
        return -rows.total_weight(rows.n_friends(columns) > 0) / rows.total_weight()


class NCA(ReferenceMixin, MeanLossMetric[PairwiseObjective]):
    r"""Neighbourhood components analysis (NCA).

    .. math:: \max_L \frac{1}{n} \sum_i \sum_{j \ne i,\, y_j = y_i} p_{ij}
              - reg\, \frac{v}{d} |L|_F^2, \qquad
              p_{ij} = \frac{e^{-|L x_i - L x_j|^2}}{\sum_{l \ne i} e^{-|L x_i - L x_l|^2}}

    Each sample i picks a neighbour j at random, with the probability :math:`p_{ij}`. The first term
    is the expected fraction of samples that pick a neighbour of their own class. It is a smooth
    approximation of the leave-one-out accuracy of nearest neighbours [1]_.

    With a `cost` :math:`c_{ij}` between the targets of i and j, the objective is the expected cost
    of the picked neighbours, which is minimised:

    .. math:: \min_L \frac{1}{n} \sum_i \sum_{j \ne i} p_{ij}\, c_{ij}
              + reg\, \bar{c}\, \frac{v}{d} |L|_F^2

    :math:`\bar{c}` is the mean cost of all pairs, so the effect of `reg` and `tol` does not depend
    on the unit of the targets. With sample weights, :math:`w_j` multiplies each exponential of
    sample j, :math:`w_i` multiplies the terms of sample i, and n is the sum of the weights.

    Parameters
    ----------
    n_components : int or None, default=None
        Number of rows of L. None stands for ``n_features``.
    cost : str, array of shape (n_classes, n_classes) or callable, default="zero-one"
        Cost of picking a neighbour:

        - "zero-one": 0 for a neighbour of the same class, else 1. This is NCA. Its
          `final_objective` is 1 minus the expected cost, and is maximised.
        - an array: costs between classes, in the order of ``classes_``. A row is the class of the
          sample that picks.
        - "absolute" or "squared": the distance between targets, or its square. `y` contains numbers
          or vectors, such as ordinal or continuous targets.
        - "jaccard": 1 minus the Jaccard similarity of two sets of labels. `y` has a row for each
          sample and a column for each label, with 1 where the sample has the label, else 0.
        - a function: it gets two NumPy arrays, the targets of b and of m samples, and returns their
          costs as an array of shape (b, m). `y` contains numbers or vectors.

        Costs are at least 0.
    diagonal : bool, default=False
        Whether L is diagonal, so that only a weight of each feature is learned.
    init : str or array of shape (n_components, n_features), default="auto"
        Initial map: "identity", "pca", "lda" (at most ``n_classes - 1`` rows), "random", or an
        array. "auto" chooses "lda" if that has enough rows, otherwise "pca" if L has fewer rows
        than ``min(n_samples, n_features)``, otherwise "identity". "lda" needs classes.
        "identity", "pca" and "random" are rescaled to a typical squared distance of 16 between
        samples. "lda" and arrays are used as they are.
    solver : {"lbfgs", "bgd", "sgd"} or solver object, default="lbfgs"
        Solver: :class:`~dimetric.solvers.LBFGS`, :class:`~dimetric.solvers.GradientDescent`, or
        :class:`~dimetric.solvers.SGD` for data too large to evaluate all pairs of samples.
    max_iter : int, default=50
        Maximum number of iterations. With "sgd", an iteration is an epoch of at most 100
        mini-batches, and the objectives in the metadata are means over mini-batches.
    tol : float or None, default=None
        Tolerance of the stopping criterion, see :class:`~dimetric.solvers.LBFGS`. None stands for
        1e-5 with early stopping: if the targets are classes, "lbfgs" stops after an iteration that
        gains at most 0.003. Later iterations often fit noise. A diagonal map is not stopped early.
        With m references and n samples, the limit is multiplied by m / n.
    reg : float or None, default=None
        Weight of the ridge penalty. v is the mean variance of the features, so the effect of `reg`
        does not depend on their unit. None stands for 0 if the targets are classes, else for 0.1
        with the variance of each feature in place of v, because numbers and sets of labels are
        easier to overfit.
    warm_start : bool, default=False
        Whether to start from the map of the previous fit.
    identity_mix : float in [0, 1], "auto" or None, default=None
        Weight a of the identity in the metric, :math:`(1 - a) M + a\, \mathrm{tr}(M) / d\, I`,
        or within the span of L if `n_components` is set.
        "auto" chooses a on held-out samples. None stands for 0.
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
        None stands for all pairs of samples, or for 4,000 references if X comes in blocks. The cost
        must be one between classes.
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
        Class labels, if the cost is a cost between classes.
    n_iter_ : int
        Number of iterations.
    history_ : tuple of float
        The solver's objective at the start and after each iteration.
    n_features_in_ : int
        Number of features. If X has feature names, they are in ``feature_names_in_``.

    References
    ----------
    .. [1] J. Goldberger, S. Roweis, G. Hinton, R. Salakhutdinov, "Neighbourhood components
       analysis", Advances in Neural Information Processing Systems 17, 2005.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> facts = NCA(reg=0.0, tol=1e-5).fit(X, y).metadata()
    >>> round(facts["initial_objective"], 2), facts["final_objective"] > 0.985
    (0.91, True)

    With a cost, NCA learns from numbers:

    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> facts = NCA(cost="absolute").fit(X, y).metadata()
    >>> facts["final_objective"] < facts["initial_objective"] < 80
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **MeanLossMetric._parameter_constraints,
        **REFERENCE_PARAMETER,
        "cost": [StrOptions({"zero-one", *COST_NAMES}), "array-like", callable],
    }
    _accepts_weights = True
    # The scale that maximises the objective can be so large that the gradient vanishes.
    _searches_start_scale = False
    _early_decrease = 0.003  # chosen by experiment, see docs/results/defaults.md

    def __init__(
        self,
        n_components: int | None = None,
        *,
        cost: str | Array | CostFunction = "zero-one",
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
        self.cost = cost
        self.n_references = n_references

    @property
    def _maximises(self) -> bool:  # type: ignore[override]
        return isinstance(self.cost, str) and self.cost == "zero-one"

    @property
    def _needs_class_neighbors(self) -> bool:  # type: ignore[override]
        return self._maximises

    def _default_reg(self, d: int, n: float) -> float:
        return 0.0 if self._learns_from_classes() else REG_OF_OTHER_TARGETS

    def _least_decrease(self, solver: Solver) -> float:
        return super()._least_decrease(solver) if self._learns_from_classes() else -np.inf

    def _learns_full_map(self) -> bool:
        return not self.diagonal  # with fewer components, the same defaults do as well, and faster

    def _learns_from_classes(self) -> bool:
        return self._maximises or not (isinstance(self.cost, str) or callable(self.cost))

    def _check_supervision(self, X: Array, supervision: Supervision) -> None:
        if self.class_weight is not None and not self._learns_from_classes():
            raise ValueError(
                f"class_weight={self.class_weight!r} needs classes, but cost={self.cost!r} learns "
                "from other targets. Set class_weight=None."
            )
        super()._check_supervision(X, supervision)

    def _objective(
        self, X: Array, supervision: Supervision, order: np.ndarray
    ) -> PairwiseObjective:
        weights, factor = relative_weights(supervision), 1.0
        if isinstance(supervision, Labels):
            codes, values = supervision.codes, None
            if self._maximises:
                return PairwiseObjective(NCARule(), X, codes, weights=weights)
            cost: Cost = TableCost(checked_table(self.cost, supervision.classes))
        else:
            codes, values = None, checked_targets(supervision).values
            cost, values, factor = target_cost(self.cost, values)
        side = Side.of(X, labels=codes, targets=values, weights=weights)
        mean = mean_cost(cost, namespace(X), side) or 1.0
        rule = CostRule(cost, mean, mean / factor)
        objective = PairwiseObjective(rule, X, codes, targets=values, weights=weights)
        # The infimum of a few samples is known, unless each has the same cost to all others.
        is_known = (
            2 < X.shape[0] <= MAX_SAMPLES_FOR_INFIMUM and len(getattr(self, "classes_", ())) != 1
        )
        if objective.infimum == -np.inf and is_known and not objective.is_constant:
            warn("All neighbours of a sample have the same cost, so NCA has nothing to learn.")
            objective.is_constant = True
        return objective

    def _reported_objective(self, objective: PairwiseObjective) -> Callable[[float], float]:
        rule = objective.rule
        if not isinstance(rule, CostRule):
            return super()._reported_objective(objective)
        return lambda value: rule.unit * value
