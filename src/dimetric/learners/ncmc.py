"""Metric learning for nearest class multiple centroids."""

from numbers import Integral
from typing import Any, ClassVar

import numpy as np

from dimetric._arrays.namespaces import Array
from dimetric._arrays.validation import rescale_for_squares
from dimetric._compat import Interval
from dimetric.blocks.source import Source
from dimetric.learners._block_clusters import ClusteredRows, Clusters, k_means_clusters
from dimetric.learners._centroid import CentroidMetric
from dimetric.learners._class_clusters import class_clusters
from dimetric.learners._input import CLASS_PARAMETERS
from dimetric.linalg.scatter import Moments
from dimetric.solvers import Solver
from dimetric.supervision._weights import ClassWeight
from dimetric.supervision.labels import Labels


class NCMC(CentroidMetric):
    r"""Metric learning for nearest class multiple centroids (NCMC).

    .. math:: \max_L \frac{1}{n} \sum_i w_i \log p(y_i \mid x_i) - reg\, \frac{v}{d} |L|_F^2, \qquad
              p(c \mid x) = \frac{\sum_{m: y_m = c} e^{-|L (x - \mu_m)|^2 / 2}}
                                {\sum_m e^{-|L (x - \mu_m)|^2 / 2}}

    The objective is the mean log-likelihood of the labels. Each sample picks a centroid at random,
    with a probability that decreases with the distance to the centroid, and :math:`p(c \mid x)` is
    the probability that the centroid belongs to class c. The centroids :math:`\mu_m` of a class are
    found by k-means with the Euclidean distance [1]_. With one centroid per class, this is
    :class:`~dimetric.learners.ncmml.NCMML`. More centroids suit classes that consist of several
    clusters. The weights :math:`w_i` are the `sample_weight` of :meth:`fit`, by default 1, and n is
    the sum of the weights. k-means and v are weighted, too.

    Parameters
    ----------
    n_components : int or None, default=None
        Number of rows of L. None stands for ``n_features``.
    n_centroids : int or array-like of shape (n_classes,), default=3
        Number of centroids per class: one number for all classes, or one per class in the order
        of ``classes_``. A class gets at most as many centroids as it has distinct samples.
    diagonal : bool, default=False
        Whether L is diagonal, so that only a weight of each feature is learned.
    init : str or array of shape (n_components, n_features), default="auto"
        Initial map: "identity", "pca", "lda" (at most ``n_classes - 1`` rows), "random", or an
        array. "auto" chooses "lda" if that has enough rows, otherwise "pca" if L has fewer rows
        than ``min(n_samples, n_features)``, otherwise "identity".
        A named map is rescaled to maximise the objective, and an array is used as it is.
    solver : {"lbfgs", "bgd", "sgd"} or solver object, default="lbfgs"
        Solver: :class:`~dimetric.solvers.LBFGS`, :class:`~dimetric.solvers.GradientDescent` or
        :class:`~dimetric.solvers.SGD`.
    max_iter : int, default=50
        Maximum number of iterations. With "sgd", an iteration is an epoch of at most 100
        mini-batches, and the objectives in the metadata are means over mini-batches.
    tol : float or None, default=None
        Tolerance of the stopping criterion, see :class:`~dimetric.solvers.LBFGS`. None stands for
        1e-5 with early stopping: "lbfgs" stops after an iteration that raises the objective by at
        most 0.0005. Later iterations often fit noise. A diagonal map
        and one with fewer components than features are not stopped early.
    reg : float or None, default=None
        Weight of the ridge penalty. v is the mean variance of the features, so the effect of `reg`
        does not depend on their unit. None stands for 0.1 max(0, d / n - 0.1) with n distinct
        samples, and with the variance of each feature in place of v. It is 0 for a diagonal map,
        and with fewer components than features.
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
    verbose : int, default=0
        Log each iteration if positive.
    random_state : int, RandomState or None, default=None
        Seed of k-means, which keeps the best of 10 starts, of the mini-batches, of
        ``init="random"`` and of randomised PCA.

    Attributes
    ----------
    components_ : array of shape (n_components, n_features)
        The map L.
    offset_ : array of shape (n_features,)
        Zeros.
    centroids_ : array of shape (n_all_centroids, n_features)
        The centroids, sorted by class.
    centroid_classes_ : ndarray of shape (n_all_centroids,)
        Class label of each centroid.
    n_centroids_ : tuple of int
        Number of centroids of each class.
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
    .. [1] T. Mensink, J. Verbeek, F. Perronnin, G. Csurka, "Distance-based image classification:
       generalizing to new classes at near-zero cost", IEEE Transactions on Pattern Analysis and
       Machine Intelligence 35, 2013.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> learner = NCMC(n_centroids=[1, 2, 2], reg=0.0, random_state=0).fit(X, y)
    >>> learner.centroid_classes_
    array([0, 1, 1, 2, 2])
    >>> facts = learner.metadata()
    >>> facts["initial_objective"] < -0.07, facts["final_objective"] > -0.05
    (True, True)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **CentroidMetric._parameter_constraints,
        "n_centroids": [Interval(Integral, 1, None, closed="left"), "array-like"],
        **CLASS_PARAMETERS,
    }

    def __init__(
        self,
        n_components: int | None = None,
        *,
        n_centroids: Any = 3,
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
        self.n_centroids = n_centroids

    def _block_clusters(self, source: Source, rows: ClusteredRows, moments: Moments) -> Clusters:
        total = moments.pooled()
        variance = float(np.mean(np.sum(total.spread**2, axis=0))) / total.n_samples
        return k_means_clusters(source, rows, self.n_centroids, self.random_state, variance)

    def _clusters(self, X: Array, labels: Labels) -> np.ndarray:
        A = rescale_for_squares(X)[0]
        return class_clusters(
            A, labels.codes, self.n_centroids, labels.classes, self.random_state, labels.weights
        )
