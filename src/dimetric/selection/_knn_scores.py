"""k-NN accuracy of learners, for several numbers of neighbours in one search."""

from collections.abc import Iterable, Mapping, Sequence
from numbers import Integral
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from dimetric._arguments import check_types
from dimetric.classify._base import accuracy
from dimetric.classify._votes import Weights
from dimetric.classify.knn import KNNClassifier
from dimetric.classify.knn_regressor import KNNRegressor

__all__ = [
    "KNNScore",
    "checked_neighbors",
    "knn_accuracies",
    "knn_predictions",
    "knn_scores",
    "named_learners",
]


class KNNScore(NamedTuple):
    """Accuracy of k nearest neighbours under a learned distance.

    Attributes
    ----------
    learner : str
        Name of the learner.
    n_neighbors : int
        Number of neighbours.
    train : float
        Leave-one-out accuracy on the training samples.
    test : float
        Accuracy on the test samples. NaN if there are none.
    time : float
        Time of the fit in seconds.
    """

    learner: str
    n_neighbors: int
    train: float
    test: float
    time: float


@check_types
def knn_scores(
    learners: Any,
    X: Any,
    y: Any,
    X_test: Any = None,
    y_test: Any = None,
    *,
    n_neighbors: int | Iterable[int] = 3,
    weights: Weights = "uniform",
    sample_weight: Any = None,
    sample_weight_test: Any = None,
) -> list[KNNScore]:
    """Return the k-NN accuracy of learners for several numbers of neighbours.

    Each learner is fitted once, and neighbours are searched once for all numbers of neighbours.

    Parameters
    ----------
    learners : mapping of names to learners, or iterable of learners
        Learners to score. Copies are fitted. None stands for the Euclidean distance.
    X, y : array-like of shape (n_samples, n_features) and (n_samples,)
        Training samples and their classes.
    X_test, y_test : array-like, optional
        Test samples and their classes.
    n_neighbors : int or iterable of int, default=3
        Numbers of neighbours.
    weights : {"uniform", "distance"}, callable or None, default="uniform"
        As in :class:`~dimetric.KNNClassifier`.
    sample_weight : array-like of shape (n_samples,), optional
        Weights of the training samples, in the fits and in the leave-one-out accuracy.
    sample_weight_test : array-like of shape (n_test_samples,), optional
        Weights of the test samples in their accuracy.

    Returns
    -------
    list of KNNScore
        One entry for each learner and number of neighbours, in the given order.

    Examples
    --------
    >>> from dimetric import LDA
    >>> from sklearn.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True)
    >>> for score in knn_scores([None, LDA()], X, y, n_neighbors=[3, 5]):
    ...     print(score.learner, score.n_neighbors, round(score.train, 2))
    Euclidean 3 0.72
    Euclidean 5 0.7
    LDA 3 0.99
    LDA 5 0.99
    """
    if (X_test is None) != (y_test is None):
        raise ValueError("X_test and y_test must be given together.")
    ks = checked_neighbors(n_neighbors)
    scores = []
    for name, learner in named_learners(learners).items():
        started = perf_counter()
        model = KNNClassifier(max(ks), learner=learner, weights=weights)
        model.fit(X, y, sample_weight=sample_weight)
        seconds = perf_counter() - started
        train = knn_accuracies(model, None, None, ks, sample_weight)
        test = [np.nan] * len(ks)
        if X_test is not None:
            test = knn_accuracies(model, X_test, y_test, ks, sample_weight_test)
        for k, on_train, on_test in zip(ks, train, test, strict=True):
            scores.append(KNNScore(name, k, on_train, on_test, seconds))
    return scores


def knn_accuracies(
    model: KNNClassifier, X: Any, y: Any, ks: Sequence[int], sample_weight: Any = None
) -> list[float]:
    """Return the accuracy of a fitted classifier for several numbers of neighbours.

    Parameters
    ----------
    model : KNNClassifier
        A fitted classifier. Its parameter `n_neighbors` is ignored.
    X, y : array-like, or None
        Samples and their classes. If None, the leave-one-out accuracy on the training samples
        is returned.
    ks : sequence of int
        Numbers of neighbours.
    sample_weight : array-like of shape (n_samples,), optional
        Weights of the samples in the accuracy.

    Examples
    --------
    >>> model = KNNClassifier().fit([[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1])
    >>> knn_accuracies(model, None, None, [1, 3])
    [1.0, 0.0]
    """
    if X is None:
        y = model._labels() if y is None else y
        sample_weight = model._of_training_rows(sample_weight)
    return [accuracy(y, each, sample_weight) for each in knn_predictions(model, X, ks)]


def knn_predictions(model: KNNClassifier | KNNRegressor, X: Any, ks: Sequence[int]) -> list[Any]:
    """Return the predictions of a fitted model for several numbers of neighbours.

    Parameters
    ----------
    model : KNNClassifier or KNNRegressor
        A fitted model. Its parameter `n_neighbors` is ignored.
    X, ks
        As in :func:`knn_accuracies`.

    Examples
    --------
    >>> model = KNNRegressor().fit([[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1])
    >>> [each.tolist() for each in knn_predictions(model, [[1.9]], [1, 4])]
    [[0.0], [0.5]]
    """
    near, _ = model._neighborhoods(X, max(ks))
    return [model._predicted(near, k, X) for k in ks]


def checked_neighbors(n_neighbors: int | Iterable[int]) -> tuple[int, ...]:
    """Return the numbers of neighbours as a tuple without duplicates.

    Examples
    --------
    >>> checked_neighbors(3), checked_neighbors([5, 3, 5])
    ((3,), (5, 3))
    """
    ks = tuple(n_neighbors) if isinstance(n_neighbors, Iterable) else (n_neighbors,)
    if not ks:
        raise ValueError("n_neighbors is empty. Pass an int of at least 1, or several.")
    for k in ks:
        if not isinstance(k, Integral) or k < 1:
            raise ValueError(f"n_neighbors={k!r} must be an int of at least 1, or several.")
    return tuple(dict.fromkeys(int(k) for k in ks))


def named_learners(learners: Mapping[str, Any] | Iterable[Any]) -> dict[str, Any]:
    """Return a dict of learners by name.

    A learner without a given name has the name of its class, or its repr if several learners have
    the same class.

    Examples
    --------
    >>> from dimetric import PCA
    >>> named_learners([None, PCA(1), PCA(2)])
    {'Euclidean': None, 'PCA(n_components=1)': PCA(n_components=1), ...}
    """
    if isinstance(learners, Mapping):
        return dict(learners)
    if learners is None or hasattr(learners, "fit"):
        raise TypeError(f"learners={learners!r} is a single learner. Pass a list or a mapping.")
    learners = list(learners)
    names = ["Euclidean" if each is None else type(each).__name__ for each in learners]
    names = [
        str(each) if names.count(name) > 1 else name
        for name, each in zip(names, learners, strict=True)
    ]
    if len(set(names)) < len(names):
        duplicate = next(name for name in names if names.count(name) > 1)
        raise ValueError(
            f"Several learners have the name {duplicate}. Pass a mapping of names to learners."
        )
    return dict(zip(names, learners, strict=True))
