"""Explain a learned distance by feature importances and changed nearest neighbours."""

import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.metrics import r2_score
from sklearn.pipeline import Pipeline, make_pipeline

from dimetric._arguments import check_types
from dimetric.advice._scaled_neighbors import SCALERS, neighbors_model, predicts
from dimetric.advice._seeds import seed_from
from dimetric.advice._settings import SETTINGS
from dimetric.advice._stratified import rows_per_class, strata, stratified_rows
from dimetric.classify.knn_regressor import KNNRegressor
from dimetric.data._fold_encoder import FoldEncoder
from dimetric.learners.pca import PCA
from dimetric.quality._neighborhood import explained_neighbors
from dimetric.report._records import (
    ChangedNeighbors,
    ExplainedChange,
    Insight,
    PredictedNumbers,
)
from dimetric.selection._class_scores import class_score
from dimetric.selection._splits import splits
from dimetric.supervision._groups import checked_groups

__all__ = ["Insight", "insight"]

# Each class keeps at least two rows to learn from, and two to test on.
MIN_MEMBERS = 4
MIN_TRAINING_MEMBERS = 2
MAX_EXPLAINED = 2  # samples with explained neighbours
INSIGHT_FOLDS = 5  # groups are split into this many folds, some of which are test samples


@check_types
def insight(
    learner: Any,
    X: Any,
    y: Any,
    feature_names: Sequence[str],
    *,
    n_neighbors: int = 3,
    scale: str = "minmax",
    random_state: Any = None,
    groups: np.ndarray | None = None,
    encoder: FoldEncoder | None = None,
    is_regression: bool = False,
    score: str = "accuracy",
) -> Insight:
    """Learn a distance on training samples, and compare it with the Euclidean one on test samples.

    Parameters
    ----------
    learner : learner
        The learner. A clone of it is fitted to scaled features. If it is a classifier,
        its own predictions are compared with those of the Euclidean neighbours.
    X, y : array-like of shape (n_samples, n_features) and (n_samples,)
        Samples, and their classes or numbers.
    feature_names : sequence of str
        Names of the features.
    n_neighbors : int, default=3
        Number of nearest neighbours used for predictions.
    scale : {"minmax", "standard", "robust"}, default="minmax"
        How features are scaled, as in :func:`dimetric.compare`.
    random_state : int, RandomState or None, default=None
        Seed for splitting the samples and shuffling the features.
    groups : ndarray of shape (n_samples,), optional
        Group of each sample. Training and test samples have no group in common.
    encoder : FoldEncoder, optional
        Encodes the columns of X as features. It is fitted to the training samples.
    is_regression : bool, default=False
        Whether y contains numbers to predict rather than classes.
    score : {"accuracy", "balanced_accuracy", "f1_macro"}, default="accuracy"
        The score of classes whose drop is the importance of a feature under a nonlinear learner.
        For numbers, it is R2.

    Returns
    -------
    Insight
        Feature importances and changed neighbours.

    Examples
    --------
    >>> from dimetric import LDA
    >>> from sklearn.datasets import load_wine
    >>> data = load_wine()
    >>> result = insight(LDA(), data.data, data.target, data.feature_names, random_state=0)
    >>> result.n_test, len(result.corrected_errors), len(result.new_errors)
    (71, 3, 0)
    >>> next(iter(result.importance))
    'flavanoids'
    """
    if not (hasattr(learner, "fit") and hasattr(learner, "transform")):
        raise TypeError(f"learner={learner!r:.100} must have the methods fit and transform.")
    X, y, seed = np.asarray(X), np.asarray(y), seed_from(random_state)
    if X.ndim != 2 or y.shape != X.shape[:1]:
        raise ValueError(
            f"X and y have shapes {X.shape} and {y.shape}, but must have shapes (n_samples, "
            "n_features) and (n_samples,)."
        )
    groups = None if groups is None else checked_groups(groups, len(y))
    train, test = _train_test_rows(y, seed, groups, is_regression)
    preparation = make_pipeline(encoder, SCALERS[scale]())
    X_train, X_test = preparation.fit_transform(X[train]), preparation.transform(X[test])
    if len(feature_names) != X_train.shape[1]:
        raise ValueError(
            f"feature_names has {len(feature_names)} names, but there are {X_train.shape[1]} "
            "features. Give one name for each feature."
        )
    k = min(n_neighbors, len(train))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        euclidean, learned = (
            neighbors_model(k, each, is_regression).fit(X_train, y[train])
            for each in (None, clone(learner))
        )
    changes = _changed_predictions(euclidean, learned, X_test, y[test], train, test)
    M = _metric(learned.learner_)
    if M is not None:
        importance = dict(zip(feature_names, np.sqrt(np.clip(np.diag(M), 0, None)), strict=True))
    else:
        model = learned.learner_ if predicts(learner) else learned
        measure = r2_score if is_regression else partial(class_score, score)
        importance = _permutation_importance(model, X_test, y[test], feature_names, seed, measure)
    only_test = len(test) >= SETTINGS.min_plotted_test_rows
    X_plotted = X_test if only_test else np.concatenate([X_train, X_test])
    Z_train, Z_plotted = (learned.learner_.transform(each) for each in (X_train, X_plotted))
    return Insight(
        n_train=len(train),
        n_test=len(test),
        corrected_errors=changes.improved,
        new_errors=changes.worsened,
        importance=dict(sorted(importance.items(), key=lambda each: -each[1])),
        from_metric=M is not None,
        metric=M,
        rows=test if only_test else np.concatenate([train, test]),
        shows_unseen_rows=only_test,
        before=_first_two_components(X_train, X_plotted),
        after=_first_two_components(Z_train, Z_plotted),
        predictions=changes.predictions,
        explained_changes=_explained_changes(preparation, learned, X, changes),
    )


def _train_test_rows(
    y: np.ndarray, seed: int, groups: np.ndarray | None = None, is_regression: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows to learn the distance from, and the rows to test it on."""
    rng, by = np.random.default_rng(seed), strata(y, is_regression)
    size = SETTINGS.max_insight_rows
    least = MIN_MEMBERS if is_regression else rows_per_class(size, len(np.unique(y)), MIN_MEMBERS)
    rows = stratified_rows(np.arange(len(y)), by, size, least, rng)
    if groups is not None:
        return _train_test_groups(rows, y, groups, seed)
    n_train = round((1 - SETTINGS.insight_test_fraction) * len(rows))
    train = stratified_rows(rows, by, n_train, MIN_TRAINING_MEMBERS, rng)
    return train, np.setdiff1d(rows, train)


def _train_test_groups(
    rows: np.ndarray, y: np.ndarray, groups: np.ndarray, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Split rows into training and test rows that have no group in common."""
    n_folds = min(INSIGHT_FOLDS, len(np.unique(groups[rows])))
    folds, _ = splits(rows, None, n_folds, random_state=seed, groups=groups[rows])
    n_test = max(1, round(SETTINGS.insight_test_fraction * len(folds)))
    train, test = rows, rows[:0]
    for _, fold in folds:
        others = np.setdiff1d(train, rows[fold])
        if n_test > 0 and len(np.unique(y[others])) > 1:  # learners need two classes
            train, test, n_test = others, np.union1d(test, rows[fold]), n_test - 1
    return train, test


def _metric(learner: Any) -> np.ndarray | None:
    """Return the matrix M of a linear learner, or None for other learners."""
    metric = getattr(learner, "metric", None)
    if not callable(metric):  # in embeddings, metric is a parameter
        return None
    with suppress(AttributeError):  # kernel learners have no matrix
        return np.asarray(metric())
    return None


class _Changes(NamedTuple):
    """Test samples whose predictions improve, worsen or stay, and the predictions of numbers."""

    improved: list[ChangedNeighbors]
    worsened: list[ChangedNeighbors]
    others: list[ChangedNeighbors]
    predictions: PredictedNumbers | None


def _changed_predictions(
    euclidean: Any,
    learned: Any,
    X_test: np.ndarray,
    y_test: np.ndarray,
    train: np.ndarray,
    test: np.ndarray,
) -> _Changes:
    """Return the Euclidean errors that the learned distance corrects, and its new errors.

    Samples with the most new neighbours come first. For numbers, these are the errors that the
    learned distance reduces and increases, and samples whose error changes most come first.
    """
    before, after = (each.kneighbors(X_test)[1] for each in (euclidean, learned))
    model = learned.learner_ if predicts(learned.learner_) else learned
    predicted = [each.predict(X_test) for each in (euclidean, model)]
    is_regression = isinstance(learned, KNNRegressor)
    if is_regression:
        errors = [np.abs(each - y_test) for each in predicted]
        gain = errors[0] - errors[1]
        change = np.abs(gain)
    else:
        was_correct, is_correct = (each == y_test for each in predicted)
        gain = is_correct.astype(int) - was_correct.astype(int)
        change = np.array([np.sum(~np.isin(b, a)) for a, b in zip(before, after, strict=True)])

    def sorted_by_change(which: np.ndarray) -> list[ChangedNeighbors]:
        rows = np.flatnonzero(which)
        order = rows[np.argsort(-change[rows], kind="stable")]
        return [ChangedNeighbors(int(test[i]), train[before[i]], train[after[i]]) for i in order]

    predictions = PredictedNumbers(test, y_test, *predicted) if is_regression else None
    improved, worsened, others = map(sorted_by_change, (gain > 0, gain < 0, gain == 0))
    return _Changes(improved, worsened, others, predictions)


def _explained_changes(
    preparation: Pipeline, model: Any, X: np.ndarray, changes: _Changes
) -> list[ExplainedChange]:
    """Explain the changed neighbours of the most changed test samples under a linear learner.

    The first two samples are one that improves and one that worsens, if both exist.
    """
    if predicts(model.learner_) or not hasattr(model.learner_, "explain_pair"):
        return []
    improved, worsened, others, _ = changes
    ordered = [*improved[:1], *worsened[:1], *improved[1:], *worsened[1:], *others]
    prepared_model, explained = make_pipeline(preparation, model), []
    for row, before, after in ordered[:MAX_EXPLAINED]:
        neighbors = explained_neighbors(prepared_model, X[row], X, before, after)
        if neighbors:
            explained.append(ExplainedChange(row, *neighbors))
    return explained


def _permutation_importance(
    model: Any,
    X: np.ndarray,
    y: np.ndarray,
    names: Sequence[str],
    seed: int,
    measure: Callable[[Any, Any], float],
) -> dict[str, float]:
    """Return the drop in the score when each feature is shuffled, or {} if it takes too long."""
    started, rng, importance = perf_counter(), np.random.default_rng(seed), {}
    score = measure(y, model.predict(X))
    for j, name in enumerate(names):
        drops = []
        for _ in range(SETTINGS.n_shuffles):
            X_shuffled = X.copy()
            X_shuffled[:, j] = rng.permutation(X_shuffled[:, j])
            drops.append(score - measure(y, model.predict(X_shuffled)))
        importance[name] = float(np.mean(drops))
        if perf_counter() - started > SETTINGS.max_shuffle_seconds:
            return {}
    return importance


def _first_two_components(X_fit: np.ndarray, X: np.ndarray) -> np.ndarray:
    """Project X onto the first two principal components of X_fit."""
    if X_fit.shape[1] == 1:
        return np.column_stack([X, np.zeros(len(X))])
    return np.asarray(PCA(2).fit(X_fit).transform(X))
