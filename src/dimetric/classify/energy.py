"""Energy-based classification with the objective of LMNN."""

from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np

from dimetric._arrays.blocks import row_blocks
from dimetric._arrays.namespaces import (
    Array,
    asarray_like,
    is_host,
    namespace,
    one_hot,
    smallest_in_rows,
    take_rows,
    to_host,
)
from dimetric._arrays.squared_distances import squared_distances
from dimetric._arrays.validation import checked_mapped, ignoring_overflow
from dimetric._compat import Interval, fit_method
from dimetric.classify._base import DistanceClassifier
from dimetric.classify._training import Training
from dimetric.classify._weights import ClassWeights, relative_weights
from dimetric.learners.lmnn import LMNN
from dimetric.objectives.margins.hinge import hinge
from dimetric.objectives.margins.targets import checked_targets, in_user_order, nearest_targets

BLOCK_ENTRIES = 2**21  # distances per block
DEVICE_BLOCK_ENTRIES = 2**26  # distances per block on an accelerator


class EnergyClassifier(DistanceClassifier):
    r"""Energy-based classifier: predict the class that increases the objective of LMNN least.

    .. math:: \hat y(x) = \arg\min_c\; (1 - \mu) \sum_{j \to x} d^2_{xj}
              + \mu \sum_{j \to x} \sum_{l: y_l \ne c} [1 + d^2_{xj} - d^2_{xl}]_+
              + \mu \sum_{i: y_i \ne c} \sum_{j \to i} w_{ij} [1 + d^2_{ij} - d^2_{ix}]_+

    The energy of a class c is the increase in the objective if x is added to c. The targets
    :math:`j \to x` are the nearest neighbours of x in c. The three terms are the squared distances
    to the targets, the violations of the margins of x by samples of other classes, and the
    violations of the margins of these samples by x [1]_. The weights :math:`w_{ij}` of targets
    differ from 1 only if they are tied, see :class:`~dimetric.LMNN`.

    With sample weights, divided by their mean, the weight of l multiplies its term in the second
    sum, and the weight of i its terms in the third sum. The targets are found without weights.

    Parameters
    ----------
    learner : learner or None, default=None
        Learner of the distance, or any transformer. A copy of it is fitted. If None,
        :class:`~dimetric.learners.lmnn.LMNN` with the parameters below is used. The margin of 1
        is a squared learned distance, so the scale of the learned distance matters. Samples whose
        label is the learner's parameter ``unlabelled`` only teach the learner.
    n_neighbors : int or None, default=None
        Number of targets of a sample. If None, the ``n_neighbors`` of the learner is used, or 3
        if the learner has none. In a class with fewer samples, the sums over the targets of x are
        scaled up to `n_neighbors` targets.
    mu : float or None, default=None
        Weight of the margin terms, between 0 and 1. If None, the ``mu`` of the learner is
        used, or 0.5 if the learner has none.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, which multiply the sample weights. A class that is not in the dict
        has the weight 1. With ``"balanced"``, all classes have the same total weight.

    Attributes
    ----------
    targets_, target_weights_ : ndarray of shape (n_samples, k)
        Row indices and weights of the targets of each training sample: those of the learner if it
        has them, otherwise the nearest neighbours of the same class. -1 and 0 mark missing targets,
        and a sample without a label or of weight 0 has none.
    classes_ : ndarray of shape (n_classes,)
        Class labels, sorted.
    learner_ : learner
        The fitted learner.
    n_features_in_ : int
        Number of features. ``feature_names_in_`` holds their names if X has any.

    References
    ----------
    .. [1] K. Q. Weinberger, L. K. Saul, "Distance metric learning for large margin nearest
       neighbor classification", Journal of Machine Learning Research 10, 2009.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = EnergyClassifier().fit(X[::2], y[::2])
    >>> round(model.score(X[1::2], y[1::2]), 2)
    0.97
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **DistanceClassifier._parameter_constraints,
        "n_neighbors": [Interval(Integral, 1, None, closed="left"), None],
        "mu": [Interval(Real, 0, 1, closed="neither"), None],
    }
    _min_samples = 2

    def __init__(
        self,
        learner: Any = None,
        *,
        n_neighbors: int | None = None,
        mu: float | None = None,
        class_weight: ClassWeights = None,
    ) -> None:
        self.learner = learner
        self.n_neighbors = n_neighbors
        self.mu = mu
        self.class_weight = class_weight

    @fit_method
    def fit(self, X: Array, y: Any, sample_weight: Any = None) -> Self:
        """Learn the distance and compute the margins of the training samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples, as a NumPy array, a pandas or polars data frame, or an array of any array-API
            namespace.
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the samples, which are at least 0. A sample of weight 0 is left out. The
            weights are also passed to the learner if it uses weights.

        Returns
        -------
        self : object
            The fitted classifier.
        """
        training = self._checked_training(X, y, sample_weight)
        codes = training.codes
        self._k = self._setting("n_neighbors", 3)
        self._mu = self._setting("mu", 0.5)
        default = LMNN(n_neighbors=self._k, mu=self._mu) if self.learner is None else None
        mapped = self._fit_learner(
            training, weights_given=sample_weight is not None, default=default
        )
        Z = self._made_dense(mapped)
        xp = namespace(Z)
        order = np.argsort(codes, kind="stable")
        Z = xp.astype(take_rows(Z, order), xp.float64)
        self._codes, self._centre = codes[order], xp.mean(Z, axis=0)
        self._points = Z - self._centre
        targets, weights = self._targets(training, order)
        self._store_targets(training, in_user_order(targets, order, weights))
        self.__dict__.pop("_sample_weights", None)
        if (relative := relative_weights(training.weights)) is not None:
            self._sample_weights = (relative / np.mean(relative))[order]
            shares = np.ones(targets.shape) if weights is None else weights
            weights = shares * self._sample_weights[:, None]
        self._thresholds, self._weights = self._margin_thresholds(targets), weights
        return self

    def _store_targets(self, training: Training, found: tuple[np.ndarray, np.ndarray]) -> None:
        """Set the targets and their weights. Row indices refer to the X of the user."""
        self.targets_, self.target_weights_ = found
        if training.rows is None:
            return
        rows = np.append(training.rows, -1)
        shape = (training.n_rows, found[0].shape[1])
        self.targets_, self.target_weights_ = np.full(shape, -1), np.zeros(shape)
        self.targets_[training.rows] = rows[found[0]]
        self.target_weights_[training.rows] = found[1]

    def energy(self, X: Array) -> Array:
        """Return the energy of each sample under each class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        energies : array of shape (n_samples, n_classes)
            Energies, in the array namespace of X.
        """
        Z = self._made_dense(self._mapped(X))
        xp = namespace(Z)
        centred = xp.astype(Z, xp.float64) - asarray_like(self._centre, Z, dtype=xp.float64)
        points = asarray_like(self._points, Z, dtype=xp.float64)
        thresholds = asarray_like(self._thresholds, Z, dtype=xp.float64)
        entries = BLOCK_ENTRIES if is_host(Z) else DEVICE_BLOCK_ENTRIES
        with ignoring_overflow():
            blocks = [
                self._energies(squared_distances(centred[rows, :], points), thresholds)
                for rows in row_blocks(Z.shape[0], max(1, entries // points.shape[0]))
            ]
            return checked_mapped(xp.astype(xp.concat(blocks), Z.dtype))

    def _class_scores(self, X: Any) -> Array:
        return -self.energy(X)

    def _energies(self, D: Array, thresholds: Array) -> Array:
        """Return the energies, given squared distances D to the training samples in class order."""
        xp = namespace(D)
        n_classes = len(self.classes_)
        starts = np.searchsorted(self._codes, np.arange(n_classes + 1)).tolist()
        weights = getattr(self, "_weights", None)  # missing in model files of older versions
        weights = None if weights is None else asarray_like(weights, D, dtype=D.dtype)
        violations = xp.zeros_like(D)  # how far a query is inside the margins of each sample
        for rank in range(thresholds.shape[1]):
            violation = hinge(thresholds[:, rank][None, :] - D, 0.0)[0]
            weight = 1.0 if weights is None else weights[:, rank][None, :]
            violations = violations + weight * violation
        labels = one_hot(asarray_like(self._codes, D, dtype=xp.int64), n_classes, D.dtype)
        violations_by_class = violations @ labels
        of_samples = getattr(self, "_sample_weights", None)  # missing without sample weights
        of_samples = None if of_samples is None else asarray_like(of_samples, D, dtype=D.dtype)
        third_term = violations_by_class @ asarray_like(1 - np.eye(n_classes), D)
        energies = []
        for c in range(n_classes):
            members = slice(starts[c], starts[c + 1])
            k = min(self._k, members.stop - members.start)
            near = smallest_in_rows(D[:, members], k)[0]
            violations_by_others = xp.zeros_like(D[:, 0])
            for others in (slice(0, members.start), slice(members.stop, None)):
                for rank in range(k):
                    value = hinge(1 + near[:, rank][:, None] - D[:, others], 0.0)[0]
                    value = value if of_samples is None else value * of_samples[None, others]
                    violations_by_others = violations_by_others + xp.sum(value, axis=1)
            first_two = (1 - self._mu) * xp.sum(near, axis=1) + self._mu * violations_by_others
            energies.append(first_two * (self._k / k) + self._mu * third_term[:, c])
        return xp.stack(energies, axis=1)

    def _margin_thresholds(self, targets: np.ndarray) -> Array:
        """Return the squared radius of each margin, 1 plus the squared distance to the target.

        A sample of another class within this radius violates the margin. -1 marks missing targets.
        """
        Z = self._points
        xp = namespace(Z)
        exists = asarray_like(targets >= 0, Z, dtype=xp.bool)
        rows = asarray_like(np.maximum(targets, 0), Z, dtype=xp.int64)
        ranks = []
        for rank in range(targets.shape[1]):
            difference = Z - xp.take(Z, rows[:, rank], axis=0)
            ranks.append(1 + xp.sum(difference * difference, axis=1))
        thresholds = xp.stack(ranks, axis=1)
        return xp.where(exists, thresholds, -xp.ones_like(thresholds))

    def _targets(
        self, training: Training, order: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray | None]:
        """Return the targets of the labelled samples in class order, and their weights."""
        targets = getattr(self.learner_, "targets_", None)
        if targets is None:
            return nearest_targets(self._points, self._codes, self._k)
        weights = getattr(self.learner_, "target_weights_", None)
        if training.labelled is not None:  # the rows of the learner include unlabelled samples
            order = training.labelled[order]
        weights = None if weights is None else to_host(weights)[order].astype(np.float64)
        unlabelled = np.setdiff1d(np.arange(training.samples.shape[0]), order)
        return checked_targets(targets, self._codes, np.append(order, unlabelled)), weights

    def _setting(self, name: str, default: Any) -> Any:
        """Return a parameter of the classifier.

        If it is None, return the parameter of the learner, or `default` if the learner has none.
        """
        value = getattr(self, name)
        return getattr(self.learner, name, default) if value is None else value
