"""Nearest class mean metric learning."""

from dimetric.learners._centroid import CentroidMetric
from dimetric.learners._fitting.convex import ConvexMetric
from dimetric.objectives.centroids import CentroidObjective


class NCMML(CentroidMetric, ConvexMetric[CentroidObjective]):
    r"""Nearest class mean metric learning (NCMML).

    .. math:: \max_L \frac{1}{n} \sum_i w_i \log p(y_i \mid x_i) - reg\, \frac{v}{d} |L|_F^2, \qquad
              p(c \mid x) = \frac{e^{-|L (x - \mu_c)|^2 / 2}}
                                {\sum_{c'} e^{-|L (x - \mu_{c'})|^2 / 2}}

    The objective is the mean log-likelihood of the labels. The probability :math:`p(c \mid x)` of a
    class decreases with the distance of the sample to the class mean :math:`\mu_c` [1]_. The
    objective is concave in :math:`M = L^T L`, and a map with ``n_classes - 1`` rows can reach its
    maximum. ``metadata()["gap"]`` bounds how far it is below its maximum: over all metrics if
    ``gap_proven``, else over metrics of trace at most ``gap_radius``. There is no such bound for
    "sgd", nor for fewer rows. The weights :math:`w_i` are the `sample_weight` of :meth:`fit`, by
    default 1, and n is the sum of the weights. The class means and v are weighted, too, so a sample
    of weight 2 counts as two equal samples.

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
        A named map is rescaled to maximise the objective, and an array is used as it is.
    solver : {"lbfgs", "bgd", "sgd", "sdp"} or solver object, default="lbfgs"
        Solver: :class:`~dimetric.solvers.LBFGS`, :class:`~dimetric.solvers.GradientDescent`,
        :class:`~dimetric.solvers.SGD`, or :class:`~dimetric.solvers.ProjectedGradient` ("sdp"),
        which maximises over M instead of L.
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
    centroids_ : array of shape (n_classes, n_features)
        Class means.
    centroid_classes_ : ndarray of shape (n_classes,)
        Class label of each centroid: ``classes_``.
    n_centroids_ : tuple of int
        Number of centroids of each class: one.
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
    >>> from sklearn.neighbors import NearestCentroid
    >>> X, y = load_iris(return_X_y=True)
    >>> learner = NCMML(reg=0.0, tol=1e-5).fit(X, y)
    >>> learner.metadata()["final_objective"] > -0.05
    True
    >>> Z = learner.transform(X)
    >>> [round(NearestCentroid().fit(A, y).score(A, y), 2) for A in (X, Z)]
    [0.93, 0.99]
    """

    def _enough_rows(self, d: int) -> int:
        return min(d, len(self.classes_) - 1)
