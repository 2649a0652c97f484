"""Bounds on the Bayes error from nearest neighbours."""

from typing import Any, NamedTuple

from dimetric._arguments import check_types
from dimetric.classify.knn import KNNClassifier


class BayesErrorBounds(NamedTuple):
    """Bounds on the error of the best possible classifier.

    Attributes
    ----------
    lower, upper : float
        The bounds. The upper bound is the leave-one-out error of the nearest-neighbour classifier.
    """

    lower: float
    upper: float


@check_types
def bayes_error_bounds(X: Any, y: Any, *, learner: Any = None) -> BayesErrorBounds:
    r"""Return bounds on the Bayes error, the lowest error that any classifier can reach.

    .. math:: R^* \le R \le R^* \Bigl( 2 - \frac{C}{C - 1} R^* \Bigr), \qquad \text{hence} \qquad
              \frac{C - 1}{C} \Bigl( 1 - \sqrt{1 - \tfrac{C}{C - 1} R} \Bigr) \le R^* \le R

    Cover and Hart's inequalities [1]_ relate the Bayes error :math:`R^*` to the error R of the
    nearest-neighbour classifier in the limit of infinitely many samples of C classes. Here R is
    estimated by leave-one-out, so the bounds are estimates too.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Samples.
    y : array-like of shape (n_samples,)
        Class labels.
    learner : learner or None, default=None
        Learner of the distance. If None, the Euclidean distance is used. A supervised learner is
        fitted to the same labels that R is estimated from, which makes the bounds too low.

    References
    ----------
    .. [1] T. Cover, P. Hart, "Nearest neighbor pattern classification", IEEE Transactions on
       Information Theory 13, 1967.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> bounds = bayes_error_bounds(*load_iris(return_X_y=True))
    >>> round(bounds.lower, 4), round(bounds.upper, 4)
    (0.0203, 0.04)
    """
    model = KNNClassifier(1, learner=learner).fit(X, y)
    n_classes = len(model.classes_)
    if n_classes < 2:
        raise ValueError("bayes_error_bounds requires at least 2 classes, but y has only 1.")
    error, guessing_error = 1 - model.score(), (n_classes - 1) / n_classes
    # If the error exceeds that of random guessing, the lower bound is the error of guessing.
    lower = guessing_error * (1 - max(0.0, 1 - error / guessing_error) ** 0.5)
    return BayesErrorBounds(lower, error)
