"""Regression by nearest neighbours under a learned distance."""

from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils import Tags, check_consistent_length
from sklearn.utils.validation import check_array

from dimetric._arrays.labels import dense_y
from dimetric._arrays.namespaces import Array, is_dask, to_host
from dimetric._arrays.validation import checked_samples
from dimetric._compat import fit_method
from dimetric.blocks.lazy import lazy_on_dask, r2_over_blocks
from dimetric.classify._block_training import number_references, source_for
from dimetric.classify._class_learner import class_learner_message, learns_from_classes
from dimetric.classify._neighbors import NeighborsEstimator
from dimetric.classify._training import Training
from dimetric.classify._votes import weight_function
from dimetric.classify._weights import labelled_rows
from dimetric.supervision._weights import checked_sample_weight
from dimetric.supervision.labels import may_be_classes


class KNNRegressor(RegressorMixin, NeighborsEstimator):
    r"""Regressor by the average of the k nearest neighbours under a learned distance.

    .. math:: \hat y(x) = \frac{\sum_{j \in N_k(x)} w_j\, s_j\, y_j}
              {\sum_{j \in N_k(x)} w_j\, s_j}, \qquad d(x, x_j) = |L x - L x_j|

    :math:`N_k(x)` is the set of the k training samples nearest to x, L is the map of the learner,
    and :math:`s_j` is the sample weight (1 by default). Samples tied at the k-th distance share the
    remaining weight (see Notes).

    Parameters
    ----------
    n_neighbors : int, default=3
        Number of neighbours k.
    learner : learner or None, default=None
        Learner of the distance, or any transformer. A copy of it is fitted to X and y, and
        neighbours are searched among the mapped samples. If None, the Euclidean distance is used.
        Samples whose target is the learner's parameter ``unlabelled`` only teach the learner: they
        are not neighbours.
    weights : {"uniform", "distance", "softmax"}, callable or None, default="uniform"
        Weights w of the targets. With ``"uniform"`` or None, all weights are 1. With
        ``"distance"``, the weight is the inverse of the distance. If there are neighbours at
        distance 0, only these neighbours count. With ``"softmax"``, all training samples count,
        with the weight :math:`e^{-d^2 / T}`, and `n_neighbors` has no effect. A callable takes an
        array of distances and returns an array of weights.
    temperature : float or None, default=None
        The temperature T of ``"softmax"``. None chooses the T with the smallest squared error in
        leave-one-out.
    metric : str or callable, default="euclidean"
        Metric of the mapped samples, or of X if there is no learner: any metric of
        :class:`sklearn.neighbors.NearestNeighbors`. With ``"precomputed"``, X holds the distances
        to the training samples, and `learner` must be None.
    metric_params : dict, optional
        Parameters of the metric, such as ``{"p": 3}`` for ``"minkowski"``.
    search : ApproximateNeighbors, neighbour model or None, default=None
        Approximate search: an :class:`~dimetric.neighbors.ApproximateNeighbors`, or an object like
        scikit-learn's ``KNeighborsTransformer``. Tied samples share weight if they are found. None
        searches exactly.
    n_references : int or None, default=None
        Largest number of samples that are neighbours, see Notes. None keeps all samples of an
        array, and 20,000 of samples in blocks.

    Attributes
    ----------
    learner_ : learner or None
        The fitted learner.
    n_samples_fit_ : int
        Number of samples that are neighbours: all with a label and a positive weight, or the
        references among them.
    n_samples_seen_ : int
        Number of samples with a label and a positive weight.
    temperature_ : float
        The temperature T, if ``weights="softmax"``.
    search_used_ : str
        If `search` is given: its kind, or "exact" if there are too few samples.
    search_recall_ : float
        If `search` is given: the fraction of neighbours that it finds, from 400 training samples.
    n_features_in_ : int
        Number of features. ``feature_names_in_`` holds their names if X has any.

    Notes
    -----
    Suppose that a training samples are nearer than the k-th neighbour, and t are at its distance.
    Each of these t samples has the weight :math:`w\,(k - a)/t`, so the order of the training
    samples does not affect predictions. Distances that differ only by rounding count as equal.
    :mod:`dimetric.neighbors.ties` defines the tolerance.

    A learner that learns from classes, such as NCA, requires targets that are classes: at most 50
    distinct integers, or integers that occur 5 times on average. For other targets, use a learner
    that learns from numbers, ``MLKR()`` or ``NCA(cost="squared")``, or an unsupervised learner,
    such as PCA or Covariance.

    With ``X=None``, methods return leave-one-out results for the training samples: a sample is not
    its own neighbour. This costs one search, because the distance is not learned again.

    Sample weights do not affect which samples are neighbours. Samples of weight 0 are left out:
    they are not neighbours, and leave-one-out results do not include them.

    With `n_references`, the learner learns from all samples, but only a random sample of them are
    neighbours. They depend on the row numbers alone, so they are the same for arrays and for any
    blocks.

    Examples
    --------
    >>> X, y = np.arange(6.0)[:, None], np.arange(6.0) ** 2
    >>> KNNRegressor(2).fit(X, y).predict([[2.4]])
    array([6.5])
    """

    _targets: np.ndarray

    @fit_method
    def fit(self, X: Array, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn the distance and store the mapped samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples, as a NumPy or sparse array, a pandas or polars data frame, an array of any
            array-API namespace, or in blocks: a Dask array or data frame, a function that returns
            an iterator over blocks ``(X, y)``, or, if `n_references` is set, a memory map of at
            least 256 MiB. Samples in blocks need a learner that learns from blocks.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Targets, one or several per sample.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the samples, which are at least 0. A sample of weight 0 is left out. The
            weights are also passed to the learner if it uses weights.

        Returns
        -------
        self : object
            The fitted regressor.
        """
        self._check_metric(X)
        source = source_for(self, X, y, sample_weight)
        if source is None:
            training = self._array_training(X, y, sample_weight)
            n_seen, training = training.n_labelled, training.references(self.n_references)
        else:
            n_seen, training = number_references(self, source)
            training = replace(training, learner_y=self._checked_targets(training.y))
        weights_given = sample_weight is not None
        self._keep_mapped(training, n_seen=n_seen, weights_given=weights_given, source=source)
        self._targets = training.y
        self._keep_temperature(self._squared_errors)
        return self

    def _array_training(self, X: Array, y: Any, sample_weight: Any) -> Training:
        """Validate the arguments of ``fit``, and leave out rows of weight 0."""
        samples = checked_samples(self, X, reset=True)
        if y is None:
            raise ValueError(
                f"This {type(self).__name__} estimator requires y to be passed, but the target y "
                "is None."
            )
        y = self._checked_targets(y)
        check_consistent_length(samples, y)
        weights = checked_sample_weight(sample_weight, len(y))
        return Training.of(self, samples, y, weights, labelled_rows(self.learner, y))

    def _checked_targets(self, y: Any) -> np.ndarray:
        """Return targets as floats. Raise if the learner cannot learn from them."""
        y = _numbers(y)
        if y.ndim == 1 and not may_be_classes(y) and learns_from_classes(self.learner):
            raise ValueError(class_learner_message(self, y))
        return y.astype(np.result_type(y.dtype, np.float32), copy=False)

    @lazy_on_dask
    def predict(self, X: Array | None = None) -> Array:
        """Predict the average target of the neighbours.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or None
            Samples. If None, leave-one-out results for the training samples are returned.

        Returns
        -------
        targets : array of shape (n_samples,) or (n_samples, n_outputs)
            Predicted targets, in the array namespace of X.
        """
        return self._average_of(*self._weighted_sums(X), X)

    def score(self, X: Array | None = None, y: Any = None, sample_weight: Any = None) -> float:
        """Return the coefficient of determination, R squared.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or None
            Samples. If None, leave-one-out results for the training samples are returned.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), or None
            True targets. If X and y are None, the targets of the training samples are used.
        sample_weight : array-like of shape (n_samples,), optional
            Sample weights. By default, all samples have the same weight in the score.
        """
        if is_dask(X):
            return r2_over_blocks(self, X, y, sample_weight)
        from sklearn.metrics import r2_score

        predicted = to_host(self.predict(X))
        if X is None:
            y = self._targets if y is None else self._of_training_rows(y)
            sample_weight = self._of_training_rows(sample_weight)
        y = dense_y(y)
        sample_weight = checked_sample_weight(sample_weight, len(predicted))
        return float(r2_score(y, predicted, sample_weight=sample_weight))

    def _predicted(self, near: Any, k: int, X: Array | None) -> Array:
        """Return the predictions of k neighbours. `near` belongs to X."""
        sums = near.sums(self._values(), k, weight_function(self.weights))
        return self._average_of(sums, near.dtype, X)

    def _average_of(self, sums: np.ndarray, dtype: np.dtype, X: Array | None) -> Array:
        """Return average targets, in the array namespace of X."""
        average, dtype = _averages(sums), np.result_type(self._targets.dtype, dtype)
        average = average.astype(dtype, copy=False).reshape(-1, *self._targets.shape[1:])
        return self._like_samples(average, X)

    def _values_of_points(self) -> np.ndarray:
        """Return the targets of the training samples times their weights, and the weights."""
        targets, weights = self._targets.reshape(len(self._targets), -1), self._weights_of_votes()
        weights = np.ones(len(targets)) if weights is None else weights
        return np.column_stack([targets * weights[:, None], weights])

    def _squared_errors(self, sums: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Return the squared errors of training samples, summed over the outputs."""
        errors = _averages(sums) - self._targets.reshape(len(self._targets), -1)[rows]
        return np.sum(errors**2, axis=1)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


def _averages(sums: np.ndarray) -> np.ndarray:
    """Return weighted averages, given sums of weighted targets and, last, of weights."""
    return sums[:, :-1] / sums[:, -1:]


def _numbers(y: Any) -> np.ndarray:
    """Return targets as an array of finite numbers. Raise if they are not numbers."""
    y = dense_y(y)
    y = y if hasattr(y, "shape") else np.asarray(y)  # scikit-learn converts objects in arrays only
    dtype = getattr(y, "dtype", "object")
    try:
        numbers = check_array(y, ensure_2d=False, input_name="y")
    except TypeError:  # objects that are not numbers
        numbers = None
    if numbers is None or numbers.dtype.kind not in "biuf":
        raise ValueError(
            f"y must contain numbers, but it has dtype {dtype}. Convert it to numbers, or use "
            "KNNClassifier to predict classes."
        )
    return np.asarray(numbers)
