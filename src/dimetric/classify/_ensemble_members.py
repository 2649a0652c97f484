"""The members of an ensemble: learners that are fitted to some of the samples and features."""

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import cycle
from numbers import Integral, Real
from typing import Any, TypeAlias

import joblib
import numpy as np
from scipy import sparse
from sklearn import get_config
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import Pipeline, make_pipeline

from dimetric._arrays.blocks import row_blocks
from dimetric._arrays.namespaces import Array, asarray_like, namespace, selected_rows, to_host
from dimetric._arrays.row_order import canonical_order
from dimetric._compat import Interval
from dimetric.classify._rank_scaler import RankScaler
from dimetric.classify._training import Training
from dimetric.kernels.kda import KDA
from dimetric.learners._inner_learner import last_step
from dimetric.learners._linear import LinearMetric
from dimetric.learners.nca import NCA
from dimetric.learners.pca import PCA
from dimetric.linalg.row_basis import is_made_dense

# Parameters of the default learners, chosen by accuracy on 40 data sets. Few iterations suffice.
REG, MAX_ITER = 0.02, 10
NUMBER_OR_FRACTION = [
    Interval(Integral, 1, None, closed="left"),
    Interval(Real, 0, 1, closed="right"),
]
# By default, a learner is fitted to this fraction of the samples, but to at most so many.
DEFAULT_FRACTION, DEFAULT_MAX_SAMPLES = 0.8, 2000
MIN_ROWS_PER_CLASS = 2  # most learners compare samples of the same class


PRIVATE_STATE = {"_codes", "_vote_weights", "_member_points", "_temperatures", "_member_weights"}


def is_state(name: str) -> bool:
    """Return whether predictions of an ensemble may need an attribute."""
    return name.endswith("_") or name in PRIVATE_STATE


@dataclass(frozen=True)
class Draw:
    """The samples and features that a member is fitted to."""

    rows: np.ndarray  # indices of distinct samples
    counts: np.ndarray | None  # how often a bootstrap sample contains each of them
    columns: np.ndarray  # indices of features, sorted
    seed: int

    def weights(self, weights: np.ndarray | None) -> np.ndarray | None:
        """Return the weights of the drawn samples, given the weights of all samples."""
        drawn = None if weights is None else weights[self.rows]
        if self.counts is None:
            return drawn
        return self.counts if drawn is None else self.counts * drawn


def checked_learners(learner: Any, X: Array, n_classes: int) -> list[BaseEstimator]:
    """Return the learners that members use in turn. None stands for the default learners.

    Examples
    --------
    >>> from dimetric import LDA
    >>> X = np.zeros((9, 2))
    >>> checked_learners(LDA(), X, n_classes=2), len(checked_learners(None, X, n_classes=2))
    ([LDA()], 4)
    """
    if learner is None:
        nca = NCA(init="identity", reg=REG, max_iter=MAX_ITER)
        if get_config()["enable_metadata_routing"]:
            nca.set_fit_request(sample_weight=True)
        kernel = [KDA()] if n_classes > 1 else []  # KDA raises an error for a single class
        learners = [nca, make_pipeline(RankScaler(), nca), *kernel]
        if not sparse.issparse(X) or is_made_dense(*X.shape):  # otherwise NCA lacks the features
            learners.append(clone(nca).set_params(max_iter=2 * MAX_ITER, diagonal=True))
        return learners
    learners = learner if isinstance(learner, list) else [learner]
    if not learners or not all(hasattr(each, "transform") for each in learners):
        raise ValueError(f"learner={learner!r} must be a learner, or a list of learners.")
    return learners


def draw_member(
    groups: list[np.ndarray], n_columns: int, d: int, share: float, bootstrap: bool, seed: int
) -> Draw:
    """Draw the samples and features of a member.

    Parameters
    ----------
    groups : list of ndarray
        Indices of the samples of each class.
    n_columns, d : int
        Number of features to draw, and of all features.
    share : float
        Fraction of the samples of each class to draw. At least two are drawn.
    bootstrap : bool
        Whether to draw samples with replacement.
    seed : int
        Seed of the random numbers of the member.

    Examples
    --------
    >>> draw = draw_member([np.arange(4), np.arange(4, 8)], 2, 3, 0.5, bootstrap=False, seed=0)
    >>> len(draw.rows), len(draw.columns), draw.counts is None
    (4, 2, True)
    """
    rng = np.random.RandomState(seed)
    columns = np.sort(rng.permutation(d)[:n_columns])
    parts = []
    for rows in groups:
        size = min(len(rows), max(MIN_ROWS_PER_CLASS, round(share * len(rows))))
        parts.append(rng.choice(rows, size, replace=bootstrap))
    if not bootstrap:
        return Draw(np.sort(np.concatenate(parts)), None, columns, seed)
    drawn, counts = np.unique(np.concatenate(parts), return_counts=True)
    return Draw(drawn, counts.astype(np.float64), columns, seed)


def draw_members(
    X: Array,
    y: np.ndarray,
    max_features: float,
    max_samples: float | None,
    bootstrap: bool,
    seeds: np.ndarray,
) -> list[Draw]:
    """Draw the samples and features of all members, one for each seed."""
    n, d = X.shape
    groups, share = rows_by_class(X, y), fraction_of_samples(max_samples, n)
    n_columns = amount(max_features, d, "max_features")
    return [draw_member(groups, n_columns, d, share, bootstrap, int(seed)) for seed in seeds]


def fraction_of_samples(max_samples: float | None, n: int) -> float:
    """Return the fraction of n samples that a learner is fitted to.

    Examples
    --------
    >>> fraction_of_samples(None, 100), fraction_of_samples(None, 10_000)
    (0.8, 0.2)
    """
    if max_samples is None:
        return min(DEFAULT_FRACTION, DEFAULT_MAX_SAMPLES / n)
    return amount(max_samples, n, "max_samples") / n


def rows_by_class(X: Array, y: np.ndarray) -> list[np.ndarray]:
    """Return the indices of the samples of each class, in an order that depends on their content.

    The order of the samples in X does not affect which samples are drawn.
    """
    codes = np.unique(y, return_inverse=True, axis=0)[1].reshape(-1)
    host = X if sparse.issparse(X) else to_host(X)
    order = canonical_order(host, codes)
    return np.split(order, np.cumsum(np.bincount(codes))[:-1])


def amount(value: float, n: int, name: str) -> int:
    """Return a number of samples or features, given as a number or as a fraction of all n.

    Examples
    --------
    >>> amount(0.8, 4, "max_features"), amount(3, 4, "max_features")
    (4, 3)
    """
    if not isinstance(value, Integral):
        return max(1, int(np.ceil(value * n)))
    if value > n:
        raise ValueError(f"{name}={value} is larger than the number available, {n}.")
    return int(value)


def columns_of(X: Array, columns: np.ndarray) -> Array:
    """Return some columns of an array of any namespace, or of a sparse array."""
    if sparse.issparse(X):
        return sparse.csr_array(X)[:, columns]
    xp = namespace(X)
    return xp.take(X, asarray_like(columns, X, dtype=xp.int64), axis=1)


def fit_member(
    learner: BaseEstimator,
    X: Array,
    y: np.ndarray,
    arguments: dict[str, Any],
    draw: Draw,
    is_quiet: bool,
) -> BaseEstimator:
    """Return a fitted copy of a learner.

    Parameters
    ----------
    learner : learner
        The learner, or a pipeline that ends with one.
    X, y
        All samples and their labels.
    arguments : dict
        Further arguments of ``fit``. Their values have an entry for each sample of the draw.
    draw : Draw
        The samples and features.
    is_quiet : bool
        Whether to ignore that the learner did not converge, or is not defined for these samples.
    """
    fitted = clone(learner)
    names = [name for name in fitted.get_params() if name.split("__")[-1] == "random_state"]
    fitted.set_params(**dict.fromkeys(names, draw.seed))
    samples = columns_of(selected_rows(X, draw.rows), draw.columns)
    with warnings.catch_warnings():
        if is_quiet:
            warnings.simplefilter("ignore", ConvergenceWarning)
        try:
            return fitted.fit(samples, y[draw.rows], **arguments)
        except ValueError:
            if not is_quiet:
                raise
    # KDA is not defined if no class varies. The Euclidean distance takes its place.
    return PCA().fit(samples)


# The arguments of fit_member.
Task: TypeAlias = tuple[BaseEstimator, Array, np.ndarray, dict[str, Any], Draw, bool]


def member_tasks(
    draws: list[Draw],
    learners: list[BaseEstimator],
    training: Training,
    arguments_of: Callable[..., dict[str, Any]],
    *,
    is_quiet: bool,
) -> list[Task]:
    """Return the arguments of :func:`fit_member` for all members, which use the learners in turn.

    `arguments_of` returns the arguments that pass weights to ``fit`` of a learner.
    """
    tasks: list[Task] = []
    for draw, learner in zip(draws, cycle(learners), strict=False):
        weights = draw.weights(training.learner_weights)
        arguments = {} if weights is None else arguments_of(weights, learner=learner)
        data = training.samples, training.learner_y, arguments
        tasks.append((learner, *data, draw, is_quiet))
    return tasks


def fitted_members(tasks: list[Task], n_jobs: int | None) -> Iterator[Any]:
    """Yield fitted members, in order. Several processes fit as many members at a time."""
    n_jobs = 1 if n_jobs is None else joblib.effective_n_jobs(n_jobs)
    if n_jobs == 1:
        yield from (fit_member(*task) for task in tasks)
        return
    # The threads of linear algebra would compete with the other processes for the cores.
    with joblib.parallel_config("loky", n_jobs=n_jobs, inner_max_num_threads=1):
        for part in row_blocks(len(tasks), n_jobs):
            yield from joblib.Parallel()(joblib.delayed(fit_member)(*task) for task in tasks[part])


def mean_importances(
    estimators: list[Any], features: list[np.ndarray], X: Array
) -> np.ndarray | None:
    """Return the importances of features, averaged over the linear members that have them.

    Importances sum to 1. Return None if no map is linear.
    """
    sums, counts = np.zeros(X.shape[1]), np.zeros(X.shape[1])
    for estimator, columns in zip(estimators, features, strict=True):
        parts = importances_of(estimator, columns_of(X, columns))
        if parts is not None:
            sums[columns] += parts
            counts[columns] += 1
    means = sums / np.maximum(counts, 1)
    return means / np.sum(means) if np.any(counts) else None


def importances_of(estimator: Any, samples: Array) -> np.ndarray | None:
    r"""Return the importances of the features of a member, or None if its map is not linear.

    The importance of feature k is :math:`M_{kk} \mathrm{var}(x_k)`, half of its part in the mean
    squared distance if features are uncorrelated. Importances sum to 1.

    Examples
    --------
    >>> from dimetric import PCA
    >>> X = np.array([[0.0, 1.0], [2.0, 1.0], [0.0, 2.0], [2.0, 2.0]])
    >>> importances_of(PCA().fit(X), X)
    array([0.8, 0.2])
    """
    learner = last_step(estimator)
    if not isinstance(learner, LinearMetric):
        return None
    Z = estimator[:-1].transform(samples) if isinstance(estimator, Pipeline) else samples
    L = to_host(learner.components_)
    if Z.shape[1] != samples.shape[1]:  # a step of the pipeline changes the features
        return None
    parts = np.sum(L.astype(np.float64) ** 2, axis=0) * _variances(Z)
    total = float(np.sum(parts))
    return parts / total if total > 0 else np.full(len(parts), 1 / len(parts))


def _variances(X: Array) -> np.ndarray:
    """Return the variances of the features, on the host."""
    if sparse.issparse(X):
        X = sparse.csr_array(X, dtype=np.float64)
        return np.asarray((X**2).mean(axis=0) - X.mean(axis=0) ** 2)
    return np.var(to_host(X).astype(np.float64), axis=0)
