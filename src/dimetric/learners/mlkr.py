"""Metric learning for kernel regression."""

from typing import Any

import numpy as np

from dimetric._arrays.namespaces import Array
from dimetric._arrays.validation import rescale_for_squares
from dimetric.learners._fitting.mean_loss import MeanLossMetric
from dimetric.objectives.pairwise import PairwiseObjective
from dimetric.objectives.side import Side
from dimetric.objectives.softmax import (
    NeighborChoiceRule,
    mlkr,
    neighbor_probabilities,
    weighted_by_row,
)
from dimetric.solvers import Solver
from dimetric.supervision.labels import Supervision, checked_targets, relative_weights


class MLKRRule(NeighborChoiceRule):
    r"""The loss of MLKR: the squared error of the prediction from all other samples.

    With :math:`p_{ij} \propto e^{-d^2_{ij}}` over :math:`j \ne i`, the prediction is
    :math:`\hat{y}_i = \sum_j p_{ij} y_j`, the loss is :math:`|y_i - \hat{y}_i|^2`, and the
    derivatives are :math:`W_{ij} = 2 p_{ij} (y_i - \hat{y}_i) \cdot (y_j - \hat{y}_i)`.
    """

    fast = staticmethod(mlkr)

    def fused(self, Z: Array, V: Array, side: Side, theta: Any) -> tuple[float, Array, float]:
        """Implement the rule for CUDA tensors, see :class:`dimetric.objectives.engine.Rule`."""
        from dimetric.objectives.triton import costs

        return costs.mlkr(Z, V, side, theta)

    def block(
        self, xp: Any, D: Array, rows: Side, columns: Side, theta: Any = None
    ) -> tuple[Array, Array, float]:
        """Return (loss, W, 0) of a block, see :class:`dimetric.objectives.engine.Rule`."""
        P = neighbor_probabilities(xp, D, rows, columns)
        targets = columns.target_columns(P.dtype)
        predicted = P @ targets
        errors = rows.target_columns(P.dtype) - predicted
        offsets = xp.sum(errors * predicted, axis=1, keepdims=True)
        losses = xp.sum(errors**2, axis=1, keepdims=True)
        return weighted_by_row(xp, losses, 2 * P * (errors @ targets.T - offsets), rows)

    def infimum(self, rows: Side, columns: Side) -> float:
        """Return 0, which no finite map attains."""
        return 0.0


class MLKR(MeanLossMetric[PairwiseObjective]):
    r"""Metric learning for kernel regression (MLKR).

    .. math:: \min_L \frac{1}{s^2} \frac{1}{n} \sum_i |y_i - \hat{y}_i|^2
              + reg\, \frac{v}{d} |L|_F^2, \qquad
              \hat{y}_i = \frac{\sum_{j \ne i} e^{-|L x_i - L x_j|^2} y_j}
                               {\sum_{j \ne i} e^{-|L x_i - L x_j|^2}}

    The target of each sample is predicted by a mean of the targets of all others, in which near
    samples have large weights [1]_. Targets are numbers or vectors. :math:`s^2` is their variance
    (for vectors, the sum of the variances of all outputs). The first term is therefore the fraction
    of the variance that the predictions do not explain, in any unit of the targets: it is 1 minus
    the leave-one-out :math:`R^2` of kernel regression. Outputs in different units should be
    scaled before.

    With sample weights, :math:`w_j` multiplies each exponential of sample j, :math:`w_i` multiplies
    the squared error of sample i, and n is the sum of the weights.

    Parameters
    ----------
    n_components : int or None, default=None
        Number of rows of L. None stands for ``n_features``.
    diagonal : bool, default=False
        Whether L is diagonal, so that only a weight of each feature is learned.
    init : str or array of shape (n_components, n_features), default="auto"
        Initial map: "identity", "pca", "random", or an array. "auto" chooses "pca" if L has fewer
        rows than ``min(n_samples, n_features)``, otherwise "identity". A named map is rescaled to a
        typical squared distance of 16 between samples, and an array is used as it is.
    solver : {"lbfgs", "bgd", "sgd"} or solver object, default="lbfgs"
        Solver: :class:`~dimetric.solvers.LBFGS`, :class:`~dimetric.solvers.GradientDescent`, or
        :class:`~dimetric.solvers.SGD` for data too large to evaluate all pairs of samples.
    max_iter : int, default=100
        Maximum number of iterations. With "sgd", an iteration is an epoch of at most 100
        mini-batches, and the objectives in the metadata are means over mini-batches.
    tol : float, default=1e-2
        Tolerance of the stopping criterion, see :class:`~dimetric.solvers.LBFGS`. By default, the
        solver stops if an iteration explains less than 0.1 % more of the variance. Later iterations
        often fit noise.
    reg : float or None, default=None
        Weight of the ridge penalty. v is the mean variance of the features, so the effect of `reg`
        depends neither on their unit nor on that of the targets. None stands for 0.1 with
        the variance of each feature in place of v. Use a larger value for noisy targets and few
        samples.
    warm_start : bool, default=False
        Whether to start from the map of the previous fit.
    identity_mix : float in [0, 1], "auto" or None, default=None
        Weight a of the identity in the metric, :math:`(1 - a) M + a\, \mathrm{tr}(M) / d\, I`,
        or within the span of L if `n_components` is set.
        "auto" chooses a on held-out samples. None stands for 0.
    unlabelled : float or None, default=None
        Value of `y` that marks samples without a target. These samples are ignored, unless
        ``unlabelled_reg > 0``.
    unlabelled_reg : float, default=0.0
        Weight of a penalty :math:`\frac{v}{d} \mathrm{tr}(L G L^T)` on the distances between
        neighbours. G is the sum of :math:`(x_i - x_j)(x_i - x_j)^T` over all samples i, with or
        without a target, and their 10 nearest neighbours j, divided by its mean eigenvalue.
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
    n_iter_ : int
        Number of iterations.
    history_ : tuple of float
        The solver's objective at the start and after each iteration.
    n_features_in_ : int
        Number of features. If X has feature names, they are in ``feature_names_in_``.

    See Also
    --------
    NCA : With ``cost="squared"`` or ``cost="absolute"``, NCA also learns from numbers.
    KNNRegressor : Predicts targets from the nearest neighbours under a learned distance.

    References
    ----------
    .. [1] K. Q. Weinberger, G. Tesauro, "Metric learning for kernel regression", Proceedings of the
       Eleventh International Conference on Artificial Intelligence and Statistics, 2007.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> X, y = make_friedman1(200, random_state=0)
    >>> facts = MLKR().fit(X, y).metadata()
    >>> round(facts["initial_objective"], 1), round(facts["final_objective"], 1)
    (0.5, 0.1)
    """

    _accepts_weights = True
    # If most features are noise, the best scale is so small that the gradient vanishes.
    _searches_start_scale = False
    class_weight = None  # a parameter of the base class that needs classes

    def __init__(
        self,
        n_components: int | None = None,
        *,
        diagonal: bool = False,
        init: str | Array = "auto",
        solver: str | Solver = "lbfgs",
        max_iter: int = 100,
        tol: float = 1e-2,
        reg: float | None = None,
        warm_start: bool = False,
        identity_mix: float | str | None = None,
        unlabelled: float | None = None,
        unlabelled_reg: float = 0.0,
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        # The constructor of the base class has the parameter class_weight, which needs classes.
        self.n_components = n_components
        self.diagonal = diagonal
        self.init = init
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.reg = reg
        self.warm_start = warm_start
        self.identity_mix = identity_mix
        self.unlabelled = unlabelled
        self.unlabelled_reg = unlabelled_reg
        self.verbose = verbose
        self.random_state = random_state

    def _learns_from_classes(self) -> bool:
        return False

    def _default_reg(self, d: int, n: float) -> float:
        return 0.1

    def _objective(
        self, X: Array, supervision: Supervision, order: np.ndarray
    ) -> PairwiseObjective:
        weights = relative_weights(supervision)
        targets = standardised(checked_targets(supervision).values, weights)
        return PairwiseObjective(MLKRRule(), X, None, targets=targets, weights=weights)


def standardised(values: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
    """Return targets with a mean of 0 and a total variance of 1, or 0 if all are equal.

    Examples
    --------
    >>> standardised(np.array([1.0, 3.0]), None)
    array([-1.,  1.])
    """
    values = rescale_for_squares(values, "y")[0]
    values = values - np.average(values, axis=0, weights=weights)
    variance = np.sum(np.average(values**2, axis=0, weights=weights))
    return np.asarray(values / variance**0.5 if variance > 0 else values)
