"""Neighbourhood components analysis."""

from typing import Any

import numpy as np

from dimetric._arrays.namespaces import Array
from dimetric.learners._fitting.mean_loss import MeanLossMetric
from dimetric.objectives import fast_paths
from dimetric.objectives.engine import Rule
from dimetric.objectives.pairwise import PairwiseObjective
from dimetric.objectives.side import Side
from dimetric.supervision.labels import Supervision, checked_labels


class NCARule(Rule):
    r"""The loss of NCA: minus the probability :math:`p_i` of picking a sample of the same class.

    With :math:`p_{ij} \propto e^{-d^2_{ij}}` over :math:`j \ne i`, and
    :math:`p_i = \sum_{j: y_j = y_i} p_{ij}`, the weights are
    :math:`W_{ij} = p_{ij} ([y_i = y_j] - p_i)`.
    """

    fast = staticmethod(fast_paths.nca)

    def block(
        self, xp: Any, D: Array, rows: Side, columns: Side, theta: Any = None
    ) -> tuple[Array, Array, float]:
        """Return (loss, W, 0) of a block, see :class:`dimetric.objectives.engine.Rule`."""
        D = xp.where(rows.different_sample(columns), D, xp.inf)
        E = xp.exp(xp.min(D, axis=1, keepdims=True) - D)
        P = E / xp.sum(E, axis=1, keepdims=True)
        same = xp.astype(rows.same_label(columns), D.dtype)
        p = xp.sum(P * same, axis=1, keepdims=True)
        return -xp.sum(p, dtype=xp.float64), P * (same - p), 0.0

    def infimum(self, rows: Side, columns: Side) -> float:
        """Return minus the fraction of samples that have another sample of their class."""
        return -float(np.mean(rows.n_friends(columns) > 0))


class NCA(MeanLossMetric[PairwiseObjective]):
    r"""Neighbourhood components analysis (NCA).

    .. math:: \max_L \frac{1}{n} \sum_i \sum_{j \ne i,\, y_j = y_i} p_{ij}
              - reg\, \frac{v}{d} |L|_F^2, \qquad
              p_{ij} = \frac{e^{-|L x_i - L x_j|^2}}{\sum_{l \ne i} e^{-|L x_i - L x_l|^2}}

    Each sample i picks a neighbour j at random, with the probability :math:`p_{ij}`. The first term
    is the expected fraction of samples that pick a neighbour of their own class. It is a smooth
    approximation of the leave-one-out accuracy of nearest neighbours [1]_.

    Parameters
    ----------
    n_components : int or None, default=None
        Number of rows of L. None stands for ``n_features``.
    init : str or array of shape (n_components, n_features), default="auto"
        Initial map: "identity", "pca", "lda" (at most ``n_classes - 1`` rows), "random", or an
        array. "auto" chooses "lda" if that has enough rows, otherwise "pca" if L has fewer rows
        than ``min(n_samples, n_features)``, otherwise "identity".
        "identity", "pca" and "random" are rescaled to a typical squared distance of 16 between
        samples. "lda" and arrays are used as they are.
    solver : {"lbfgs", "bgd", "sgd"} or solver object, default="lbfgs"
        Solver: :class:`~dimetric.solvers.LBFGS`, :class:`~dimetric.solvers.GradientDescent`, or
        :class:`~dimetric.solvers.SGD` for data too large to evaluate all pairs of samples.
    max_iter : int, default=50
        Maximum number of iterations. With "sgd", an iteration is an epoch of at most 100
        mini-batches, and the objectives in the metadata are means over mini-batches.
    tol : float, default=1e-5
        Tolerance of the stopping criterion, see :class:`~dimetric.solvers.LBFGS`.
    reg : float, default=0.0
        Weight of the ridge penalty. v is the mean variance of the features, so the effect of `reg`
        does not depend on their unit.
    warm_start : bool, default=False
        Whether to start from the map of the previous fit.
    unlabelled : float, str or None, default=None
        Value of `y` that marks unlabelled samples, often -1. These samples are ignored, unless
        ``unlabelled_reg > 0``.
    unlabelled_reg : float, default=0.0
        Weight of a penalty :math:`\frac{v}{d} \mathrm{tr}(L G L^T)` on the distances between
        neighbours. G is the sum of :math:`(x_i - x_j)(x_i - x_j)^T` over all samples i, labelled or
        not, and their 10 nearest neighbours j, divided by its mean eigenvalue.
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

    References
    ----------
    .. [1] J. Goldberger, S. Roweis, G. Hinton, R. Salakhutdinov, "Neighbourhood components
       analysis", Advances in Neural Information Processing Systems 17, 2005.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> facts = NCA().fit(X, y).metadata()
    >>> round(facts["initial_objective"], 2), facts["final_objective"] > 0.985
    (0.91, True)
    """

    _maximises = True
    _needs_class_neighbors = True
    # The scale that maximises the objective can be so large that the gradient vanishes.
    _searches_start_scale = False

    def _objective(
        self, X: Array, supervision: Supervision, order: np.ndarray
    ) -> PairwiseObjective:
        return PairwiseObjective(NCARule(), X, checked_labels(supervision).codes)
