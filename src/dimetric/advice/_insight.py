"""What a learned distance changes: which features count, who is near whom."""

import warnings
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.preprocessing import MinMaxScaler

from dimetric.advice._sample import drawn
from dimetric.classify.knn import KNNClassifier
from dimetric.learners.pca import PCA

__all__ = ["Changed", "Insight", "insight"]

ROWS = 1500  # that are looked at, at most
LEFT_OUT = 0.4  # of them, to judge by
ENOUGH = 60  # left out, to draw these alone
PATIENCE = 3.0  # seconds to shuffle features


class Changed(NamedTuple):
    """A sample that was left out of the learning, and who is near it among the others.

    Attributes
    ----------
    row : int
        Row of the sample.
    before, after : ndarray of int
        Rows of its nearest neighbours: Euclidean, and learned.
    """

    row: int
    before: np.ndarray
    after: np.ndarray


@dataclass(frozen=True, eq=False)
class Insight:
    """What a learned distance changes.

    Attributes
    ----------
    n_train, n_test : int
        How many samples it was learned from for this, and how many it was tried on.
    gained, lost : list of Changed
        Samples of the latter that only learned neighbours give their class, and those that only
        Euclidean ones do.
    importance : dict of str to float
        How much each feature counts, the largest first.
    of_metric : bool
        Whether that is the root of its entry on the diagonal of M; else it is what the score loses
        when the feature is shuffled.
    metric : ndarray of shape (n_features, n_features) or None
        The matrix M of features scaled to [0, 1]; None of a distance that has none.
    rows : ndarray
        Rows of samples to draw.
    drawn_are_left_out : bool
        Whether the distance has not seen them.
    before, after : ndarray of shape (n_rows, 2)
        These in the plane of their largest variance: scaled, and under the learned map.
    """

    n_train: int
    n_test: int
    gained: list[Changed]
    lost: list[Changed]
    importance: dict[str, float]
    of_metric: bool
    metric: np.ndarray | None
    rows: np.ndarray
    drawn_are_left_out: bool
    before: np.ndarray
    after: np.ndarray


def insight(
    learner: Any,
    X: Any,
    y: Any,
    feature_names: Sequence[str],
    *,
    n_neighbors: int = 3,
    random_state: int = 0,
) -> Insight:
    """Learn a distance from a part of the samples, and see what it changes for the others.

    Parameters
    ----------
    learner : learner
        A copy of it is fitted, to features scaled to [0, 1].
    X, y : array-like of shape (n_samples, n_features) and (n_samples,)
        Samples and their classes.
    feature_names : sequence of str
        Names of the features.
    n_neighbors : int, default=3
        Neighbours that vote.
    random_state : int, default=0
        Of the parts.

    Examples
    --------
    >>> from dimetric import LDA
    >>> from sklearn.datasets import load_wine
    >>> data = load_wine()
    >>> found = insight(LDA(), data.data, data.target, data.feature_names)
    >>> found.n_test, len(found.gained), len(found.lost), next(iter(found.importance))
    (71, 3, 0, 'flavanoids')
    """
    X, y, rng = np.asarray(X), np.asarray(y), np.random.default_rng(random_state)
    rows = drawn(np.arange(len(X)), y, ROWS, 4, rng)
    train = drawn(rows, y, round((1 - LEFT_OUT) * len(rows)), 2, rng)
    test = np.setdiff1d(rows, train)
    scaler = MinMaxScaler().fit(X[train])
    A, B = scaler.transform(X[train]), scaler.transform(X[test])
    k = min(n_neighbors, len(train))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plain, learned = (KNNClassifier(k, learner=each).fit(A, y[train])
                          for each in (None, clone(learner)))  # fmt: skip
    gained, lost = _changed(plain, learned, B, y[test], train, test)
    M = None
    metric = getattr(learned.learner_, "metric", None)  # of embeddings, a parameter
    if callable(metric):
        with suppress(AttributeError):  # distances of a kernel have no matrix
            M = np.asarray(metric())
    importance = (
        dict(zip(feature_names, np.sqrt(np.clip(np.diag(M), 0, None)), strict=True))
        if M is not None
        else _shuffled(learned, B, y[test], feature_names, random_state)
    )
    enough = len(test) >= ENOUGH
    Z, shown = (B, test) if enough else (np.concatenate([A, B]), np.concatenate([train, test]))
    mapped = [learned.learner_.transform(each) for each in (A, Z)]
    return Insight(
        len(train), len(test), gained, lost,
        dict(sorted(importance.items(), key=lambda each: -each[1])), M is not None, M,
        shown, enough, _plane(A, Z), _plane(*mapped),
    )  # fmt: skip


def _changed(
    plain: KNNClassifier, learned: KNNClassifier, B: np.ndarray, y: np.ndarray,
    train: np.ndarray, test: np.ndarray,
) -> tuple[list[Changed], list[Changed]]:  # fmt: skip
    """Return samples that are right under the one distance alone, the most changed first."""
    before, after = (each.kneighbors(B)[1] for each in (plain, learned))
    was, now = plain.predict(B) == y, learned.predict(B) == y
    found: list[list[Changed]] = []
    for which in (now & ~was, was & ~now):
        rows = np.flatnonzero(which)
        new = [int(np.sum(~np.isin(after[i], before[i]))) for i in rows]
        order = rows[np.argsort(-np.array(new, dtype=int), kind="stable")]
        found.append([Changed(int(test[i]), train[before[i]], train[after[i]]) for i in order])
    return found[0], found[1]


def _shuffled(
    model: KNNClassifier, B: np.ndarray, y: np.ndarray, names: Sequence[str], seed: int
) -> dict[str, float]:
    """Return what the score loses when a feature is shuffled; nothing if that takes too long."""
    started, rng, found = perf_counter(), np.random.default_rng(seed), {}
    score = model.score(B, y)
    for j, name in enumerate(names):
        losses = []
        for _ in range(3):
            C = B.copy()
            C[:, j] = rng.permutation(C[:, j])
            losses.append(score - model.score(C, y))
        found[name] = float(np.mean(losses))
        if perf_counter() - started > PATIENCE:
            return {}
    return found


def _plane(A: np.ndarray, Z: np.ndarray) -> np.ndarray:
    """Return samples in the plane in which others vary most."""
    if A.shape[1] == 1:
        return np.column_stack([Z, np.zeros(len(Z))])
    return np.asarray(PCA(2).fit(A).transform(Z))
