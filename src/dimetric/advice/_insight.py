"""What a learned distance changes: which features count, and which neighbours are new."""

import warnings
from collections.abc import Sequence
from contextlib import suppress
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.preprocessing import MinMaxScaler

from dimetric.advice._seeds import seed_from
from dimetric.advice._settings import SETTINGS
from dimetric.advice._stratified import stratified_rows
from dimetric.classify.knn import KNNClassifier
from dimetric.learners.pca import PCA
from dimetric.report._records import ChangedNeighbors, Insight

__all__ = ["Insight", "insight"]


def insight(
    learner: Any,
    X: Any,
    y: Any,
    feature_names: Sequence[str],
    *,
    n_neighbors: int = 3,
    random_state: Any = None,
) -> Insight:
    """Learn a distance from a part of the samples, and see what it changes for the others.

    Parameters
    ----------
    learner : learner
        A copy of it is fitted to features scaled to [0, 1].
    X, y : array-like of shape (n_samples, n_features) and (n_samples,)
        Samples and their classes.
    feature_names : sequence of str
        Names of the features.
    n_neighbors : int, default=3
        Number of neighbours that vote.
    random_state : int, RandomState or None, default=None
        Decides which samples are drawn, and how features are shuffled.

    Returns
    -------
    Insight
        Which features count, and which neighbours changed.

    Examples
    --------
    >>> from dimetric import LDA
    >>> from sklearn.datasets import load_wine
    >>> data = load_wine()
    >>> found = insight(LDA(), data.data, data.target, data.feature_names, random_state=0)
    >>> found.n_test, len(found.gained), len(found.lost), next(iter(found.importance))
    (71, 3, 0, 'flavanoids')
    """
    X, y, seed = np.asarray(X), np.asarray(y), seed_from(random_state)
    train, test = _parts(y, seed)
    scaler = MinMaxScaler().fit(X[train])
    A, B = scaler.transform(X[train]), scaler.transform(X[test])
    k = min(n_neighbors, len(train))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plain, learned = (
            KNNClassifier(k, learner=each).fit(A, y[train]) for each in (None, clone(learner))
        )
    gained, lost = _changed(plain, learned, B, y[test], train, test)
    M = _metric(learned.learner_)
    if M is not None:
        importance = dict(zip(feature_names, np.sqrt(np.clip(np.diag(M), 0, None)), strict=True))
    else:
        importance = _shuffled(learned, B, y[test], feature_names, seed)
    only_test = len(test) >= SETTINGS.min_drawn_test_rows
    drawn = B if only_test else np.concatenate([A, B])
    return Insight(
        n_train=len(train),
        n_test=len(test),
        gained=gained,
        lost=lost,
        importance=dict(sorted(importance.items(), key=lambda each: -each[1])),
        from_metric=M is not None,
        metric=M,
        rows=test if only_test else np.concatenate([train, test]),
        shows_unseen_rows=only_test,
        before=_plane(A, drawn),
        after=_plane(*(learned.learner_.transform(each) for each in (A, drawn))),
    )


def _parts(y: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows to learn from, and those to try the distance on."""
    rng = np.random.default_rng(seed)
    rows = stratified_rows(np.arange(len(y)), y, SETTINGS.max_insight_rows, 4, rng)
    n_train = round((1 - SETTINGS.insight_test_share) * len(rows))
    train = stratified_rows(rows, y, n_train, 2, rng)
    return train, np.setdiff1d(rows, train)


def _metric(learner: Any) -> np.ndarray | None:
    """Return the matrix M of a distance, if it has one."""
    metric = getattr(learner, "metric", None)
    if not callable(metric):  # embeddings have a parameter of this name
        return None
    with suppress(AttributeError):  # distances of a kernel have no matrix
        return np.asarray(metric())
    return None


def _changed(
    plain: KNNClassifier,
    learned: KNNClassifier,
    B: np.ndarray,
    y: np.ndarray,
    train: np.ndarray,
    test: np.ndarray,
) -> tuple[list[ChangedNeighbors], list[ChangedNeighbors]]:
    """Return samples that only one of the distances classifies correctly, most changed first."""
    before, after = (each.kneighbors(B)[1] for each in (plain, learned))
    was, now = plain.predict(B) == y, learned.predict(B) == y

    def sorted_by_change(which: np.ndarray) -> list[ChangedNeighbors]:
        rows = np.flatnonzero(which)
        n_new = [int(np.sum(~np.isin(after[i], before[i]))) for i in rows]
        order = rows[np.argsort(-np.array(n_new, dtype=int), kind="stable")]
        return [ChangedNeighbors(int(test[i]), train[before[i]], train[after[i]]) for i in order]

    return sorted_by_change(now & ~was), sorted_by_change(was & ~now)


def _shuffled(
    model: KNNClassifier, B: np.ndarray, y: np.ndarray, names: Sequence[str], seed: int
) -> dict[str, float]:
    """Return the loss of score when a feature is shuffled; nothing if that takes too long."""
    started, rng, importance = perf_counter(), np.random.default_rng(seed), {}
    score = model.score(B, y)
    for j, name in enumerate(names):
        losses = []
        for _ in range(SETTINGS.n_shuffles):
            C = B.copy()
            C[:, j] = rng.permutation(C[:, j])
            losses.append(score - model.score(C, y))
        importance[name] = float(np.mean(losses))
        if perf_counter() - started > SETTINGS.max_shuffle_seconds:
            return {}
    return importance


def _plane(A: np.ndarray, Z: np.ndarray) -> np.ndarray:
    """Return Z in the plane in which A varies most."""
    if A.shape[1] == 1:
        return np.column_stack([Z, np.zeros(len(Z))])
    return np.asarray(PCA(2).fit(A).transform(Z))
