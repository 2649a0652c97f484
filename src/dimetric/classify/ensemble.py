"""Ensemble of learned distances, each from some of the samples and features."""

from collections.abc import Iterator
from copy import copy
from functools import partial
from numbers import Integral, Real
from time import perf_counter
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from dimetric._arrays.namespaces import Array, to_host
from dimetric._arrays.random_state import random_generator
from dimetric._arrays.validation import checked_samples, rescale_for_squares
from dimetric._compat import CallbackSupportMixin, HasMethods, Interval, Progress, fit_method
from dimetric.blocks.lazy import lazy_on_dask
from dimetric.classify._base import DistanceClassifier, as_array, values_like
from dimetric.classify._ensemble_members import (
    NUMBER_OR_FRACTION,
    Draw,
    checked_learners,
    columns_of,
    draw_members,
    fitted_members,
    is_state,
    mean_importances,
    member_tasks,
)
from dimetric.classify._neighbors import points_like
from dimetric.classify._out_of_bag import chosen_votes, fractions
from dimetric.classify._softmax import softmax_sums
from dimetric.classify._training import Training
from dimetric.classify._votes import one_hot_rows
from dimetric.classify._weights import ClassWeights, relative_weights, samples_used
from dimetric.learners._fitting.verbose import report
from dimetric.neighbors.queries import Queries


class MetricEnsembleClassifier(
    CallbackSupportMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin, DistanceClassifier
):
    r"""Classifier by the votes of several learned distances.

    .. math:: p(c \mid x) = \sum_{i=1}^m w_i\,
              \frac{\sum_j s_j\, e^{-d_i(x, x_j)^2 / (T u_i)}\, [y_j = c]}
              {\sum_j s_j\, e^{-d_i(x, x_j)^2 / (T u_i)}}, \qquad d_i(x, x_j) = |L_i x - L_i x_j|

    Each of the m members is a copy of the learner, fitted to some of the samples and features. All
    training samples vote under its distance, as in :class:`~dimetric.KNNClassifier` with
    ``weights="softmax"``. :math:`s_j` is the sample weight, :math:`u_i` the mean squared distance
    of training samples. The weights :math:`w_i` of several learners are chosen (see Notes).

    Scale the features first, for example with ``StandardScaler``.

    Parameters
    ----------
    learner : learner, list of learners or None, default=None
        Learner of the distances, or any transformer. The learners of a list are used in turn. None
        stands for NCA, NCA of the ranks of features, KDA, and NCA with a diagonal map.
    n_estimators : int, default=20
        Number of members.
    max_features : int or float, default=0.8
        Number or fraction of the features of each member.
    max_samples : int, float or None, default=None
        Number or fraction of the samples that each learner is fitted to, with at least two of each
        class. None stands for 0.8, but at most 2000 samples.
    bootstrap : bool, default=False
        Whether to draw samples with replacement.
    temperature : float or None, default=None
        The temperature T. None chooses T by out-of-bag samples (see Notes).
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, as in :class:`~dimetric.KNNClassifier`.
    max_seconds : float or None, default=None
        Time after which no members are added. There is at least one.
    n_jobs : int or None, default=None
        Number of processes that fit members. None stands for 1, and -1 for all cores.
    verbose : int, default=0
        Log each member if positive.
    random_state : int, RandomState or None, default=None
        Seed.

    Attributes
    ----------
    estimators_ : list of learners
        The fitted members. ``estimators_features_`` has the indices of their features.
    temperature_ : float
        The temperature T.
    learner_weights_ : ndarray of shape (n_learners,)
        Total weights of the members of each learner, which sum to 1.
    oob_score_ : float
        Out-of-bag accuracy: samples are classified by the members that were not fitted to them, and
        do not vote for themselves. Only set if learners leave samples out.
    oob_decision_function_ : ndarray of shape (n_samples, n_classes)
        Out-of-bag probabilities, or NaN for samples without any. Set as ``oob_score_``.
    feature_importances_ : ndarray of shape (n_features,)
        The diagonal of :math:`L_i^T L_i` times the variances of the features, divided by their sum
        and averaged over the linear members, if there are any.
    classes_ : ndarray of shape (n_classes,)
        Class labels, sorted.

    Notes
    -----
    The temperature is chosen from a grid by the log loss of out-of-bag probabilities, or of all
    samples if none are left out (``max_samples=1.0`` and ``bootstrap=False``), which is optimistic.
    Then 30 iterations of the EM algorithm choose the weights. With more than 1024 samples,
    :math:`2^{20} / n` of them are used, but at least 64.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True)
    >>> X = (X - X.mean(axis=0)) / X.std(axis=0)
    >>> MetricEnsembleClassifier(random_state=0).fit(X, y).oob_score_ > 0.96
    True
    """

    learner_ = None  # members have their own learners
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **DistanceClassifier._parameter_constraints,
        "learner": [HasMethods(["fit", "transform"]), list, None],
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "max_features": NUMBER_OR_FRACTION,
        "max_samples": [*NUMBER_OR_FRACTION, None],
        "bootstrap": ["boolean"],
        "temperature": [Interval(Real, 0, None, closed="neither"), None],
        "max_seconds": [Interval(Real, 0, None, closed="left"), None],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
        "random_state": ["random_state"],
    }
    _min_samples = 2
    estimators_: list[Any]
    estimators_features_: list[np.ndarray]
    _member_points: list[Array]
    _metadata: dict[str, Any]

    def __init__(
        self,
        learner: Any = None,
        *,
        n_estimators: int = 20,
        max_features: float = 0.8,
        max_samples: float | None = None,
        bootstrap: bool = False,
        temperature: float | None = None,
        class_weight: ClassWeights = None,
        max_seconds: float | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        self.learner = learner
        self.n_estimators = n_estimators
        self.max_features = max_features
        self.max_samples = max_samples
        self.bootstrap = bootstrap
        self.temperature = temperature
        self.class_weight = class_weight
        self.max_seconds = max_seconds
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    @fit_method
    def fit(self, X: Array, y: Any, sample_weight: Any = None) -> Self:
        """Learn the distances of the members, and choose the temperature.

        Parameters
        ----------
        X : array-like or sparse array of shape (n_samples, n_features)
            Samples, also as a data frame or as an array of any array-API namespace.
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the samples, at least 0, which multiply votes. Learners get them, too.

        Returns
        -------
        self : object
            The fitted classifier.
        """
        started = perf_counter()
        training = self._checked_training(X, y, sample_weight)
        rescale_for_squares(training.samples)  # raises if squares cannot be represented
        for name in ("oob_score_", "oob_decision_function_", "feature_importances_"):
            self.__dict__.pop(name, None)
        self._codes, self._vote_weights = training.codes, relative_weights(training.weights)
        progress = Progress(self, X, y, self.n_estimators)
        draws = self._add_members(training, sample_weight is not None, progress, started)
        self._choose_votes(draws, training)
        self._metadata = {"n_estimators": len(draws), "complete": len(draws) == self.n_estimators}
        self._metadata |= {"temperature": self.temperature_, "time": perf_counter() - started}
        progress.end()
        return self

    @lazy_on_dask
    def predict_proba(self, X: Array) -> Array:
        """Return the mean of the members' probabilities.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        probabilities : array of shape (n_samples, n_classes)
        """
        return values_like(self._class_scores(X), X)

    def transform(self, X: Array) -> Array:
        r"""Map samples so that squared distances are weighted sums of those of the members.

        .. math:: d(x, x')^2 = \sum_i \frac{w_i}{T u_i}\, d_i(x, x')^2

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        Z : array of shape (n_samples, n_coordinates)
            The coordinates of all members side by side, in the array namespace of X.
        """
        return values_like(self._mapped(X), X)

    def metadata(self) -> dict[str, Any]:
        """Return information about the fit, such as the number of members and the time."""
        check_is_fitted(self)
        return dict(self._metadata)

    def _class_scores(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        votes = self._indicators()
        parts = [
            weight * fractions(softmax_sums(Queries(Z, points_like(points, Z)), votes, T))
            for Z, points, T, weight in self._members_of(X)
        ]
        return fractions(np.sum(parts, axis=0))

    def _mapped(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        return np.hstack([(w / T) ** 0.5 * to_host(Z) for Z, _, T, w in self._members_of(X)])

    def _members_of(self, X: Any) -> Iterator[tuple[Array, Array, float, float]]:
        """Yield samples and training samples mapped by each member, its T u and its weight."""
        samples = checked_samples(self, X, reset=False)
        for i, estimator in enumerate(self.estimators_):
            columns = self.estimators_features_[i]
            Z = as_array(estimator.transform(columns_of(samples, columns)))
            yield Z, self._member_points[i], float(self._temperatures[i]), self._member_weights[i]

    def _require_one_metric(self) -> None:
        raise ValueError("MetricEnsembleClassifier has several distances. Use KNNClassifier.")

    @property
    def _n_features_out(self) -> int:
        return sum(int(each.shape[1]) for each in self._member_points)

    def _indicators(self) -> sparse.csr_array:
        """Return the weights of training samples, in the columns of their classes."""
        return one_hot_rows([(self._codes, len(self.classes_))], self._vote_weights)

    def _add_members(
        self, training: Training, weights_given: bool, progress: Progress, started: float
    ) -> list[Draw]:
        """Fit the members, and return their samples and features."""
        X, y = training.samples, training.learner_y
        seeds = random_generator(self.random_state).randint(2**31 - 1, size=self.n_estimators)
        draws = draw_members(X, y, self.max_features, self.max_samples, self.bootstrap, seeds)
        self.estimators_, self.estimators_features_, self._member_points = [], [], []
        arguments_of = partial(self._learner_arguments, weights_given=weights_given)
        learners, is_quiet = self._learners(training), self.learner is None
        tasks = member_tasks(draws, learners, training, arguments_of, is_quiet=is_quiet)
        for fitted in fitted_members(tasks, self.n_jobs):
            draw = draws[len(self.estimators_)]
            voters = samples_used(columns_of(X, draw.columns), training.labelled)
            self.estimators_.append(fitted)
            self.estimators_features_.append(draw.columns)
            self._member_points.append(as_array(fitted.transform(voters)))
            seconds = perf_counter() - started
            if self.verbose:
                report("member %d of %d: %.1f s", len(self.estimators_), len(draws), seconds)
            is_over = self.max_seconds is not None and seconds > self.max_seconds
            if progress.step(lambda: self._state(draws, training)) or is_over:
                break
        if (means := mean_importances(self.estimators_, self.estimators_features_, X)) is not None:
            self.feature_importances_ = means
        return draws[: len(self.estimators_)]

    def _learners(self, training: Training) -> list[Any]:
        """Return the learners that members use in turn."""
        return checked_learners(self.learner, training.samples, len(self.classes_))

    def _state(self, draws: list[Draw], training: Training) -> dict[str, Any]:
        """Return the fitted attributes of the members so far."""
        self._choose_votes(draws[: len(self.estimators_)], training)
        return {name: copy(each) for name, each in vars(self).items() if is_state(name)}

    def _choose_votes(self, draws: list[Draw], training: Training) -> None:
        """Set the temperature and the weights, and out-of-bag results if samples are left out."""
        voters = np.arange(len(self._codes)) if training.labelled is None else training.labelled
        votes = chosen_votes(
            [Queries(points, None) for points in self._member_points],
            np.arange(len(draws)) % len(self._learners(training)),
            [~np.isin(voters, draw.rows) for draw in draws],
            self._codes,
            self._indicators(),
            self.temperature,
            self._vote_weights,
        )
        self.temperature_, self.learner_weights_ = votes.temperature, votes.learner_weights
        self._temperatures, self._member_weights = votes.member_temperatures, votes.member_weights
        if votes.is_out_of_bag:
            self.oob_score_ = votes.accuracy(self._codes, self._vote_weights)
            P = np.full((training.n_rows, len(self.classes_)), np.nan)
            rows = votes.rows if training.rows is None else training.rows[votes.rows]
            P[rows], self.oob_decision_function_ = votes.probabilities, P
