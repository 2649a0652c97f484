"""Choose how features are scaled, and the number of neighbours, from training rows alone."""

import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import joblib
import numpy as np
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MinMaxScaler, RobustScaler, StandardScaler
from sklearn.utils import Tags

from dimetric.classify.knn import KNNClassifier
from dimetric.classify.knn_regressor import KNNRegressor
from dimetric.learners._inner_learner import learner_in
from dimetric.selection._class_scores import CLASS_SCORES, NUMBER_SCORES
from dimetric.selection._knn_scores import knn_predictions
from dimetric.selection._splits import splits

__all__ = ["NEIGHBOR_COUNTS", "SCALERS", "ScaledNeighbors", "Setting", "best_setting"]

SCALERS = {"minmax": MinMaxScaler, "standard": StandardScaler, "robust": RobustScaler}
NEIGHBOR_COUNTS = (1, 3, 5, 7)
N_FOLDS = 5  # used instead of leave-one-out if rows have groups
MAX_REMEMBERED = 64  # settings that are kept, because all learners share that of a fold


def check_scale(scale: str, option: str = "scale") -> None:
    """Raise if a scaling is unknown.

    Parameters
    ----------
    scale : str
        The scaling.
    option : str, default="scale"
        Name of the option, used in the error message.
    """
    if scale not in (*SCALERS, "auto"):
        raise ValueError(
            f"{option} must be 'minmax', 'standard', 'robust' or 'auto', not {scale!r}."
        )


class Setting(NamedTuple):
    """How features are scaled, and the number of nearest neighbours.

    Attributes
    ----------
    scale : {"minmax", "standard", "robust"}
        To [0, 1], to zero mean and unit variance, or to zero median and unit interquartile range.
    n_neighbors : int
        Number of nearest neighbours used for predictions.
    """

    scale: str
    n_neighbors: int


def neighbors_model(
    n_neighbors: int, learner: Any, is_regression: bool
) -> KNNClassifier | KNNRegressor:
    """Return an unfitted model that predicts by nearest neighbours under a learned distance.

    Parameters
    ----------
    n_neighbors : int
        Number of nearest neighbours.
    learner : learner or None
        The learner. None stands for the Euclidean distance.
    is_regression : bool
        Whether to predict numbers rather than classes.
    """
    model = KNNRegressor if is_regression else KNNClassifier
    return model(n_neighbors, learner=learner)


def predicts(learner: Any) -> bool:
    """Return whether a learner is a classifier or regressor, which predicts without neighbours."""
    return hasattr(learner, "predict")


def predictor(n_neighbors: int, learner: Any, is_regression: bool) -> Any:
    """Return a learner that predicts by itself, and :func:`neighbors_model` of any other."""
    return learner if predicts(learner) else neighbors_model(n_neighbors, learner, is_regression)


def best_setting(
    X: np.ndarray,
    y: np.ndarray,
    groups: np.ndarray | None = None,
    *,
    n_neighbors: int | str = "auto",
    scale: str = "auto",
    score: str = "accuracy",
    random_state: int = 0,
) -> Setting:
    r"""Return the scaling and the number of neighbours that suit the Euclidean distance.

    Each row is predicted by its Euclidean neighbours among the other rows, for each scaling and for
    k = 1, 3, 5 and 7. The scaling with the smallest mean loss over all k is chosen, and then the k
    with the smallest mean loss. For the accuracy, it is the largest k whose mean loss is within one
    standard error of the smallest. Such a k is better under most learned distances:

    .. math:: \bar l_k \le \bar l_{best} + s / \sqrt n

    Here s is the standard deviation of the losses of the n rows. No distance is learned from the
    rows, so the leave-one-out loss is a fair estimate.

    Parameters
    ----------
    X, y : ndarray of shape (n_rows, n_features) and (n_rows,)
        Training rows, and their classes or numbers.
    groups : ndarray of shape (n_rows,), optional
        Group of each row. A row is then predicted by rows of other groups, in five folds.
    n_neighbors : int or "auto", default="auto"
        A given number of neighbours is returned.
    scale : {"minmax", "standard", "robust", "auto"}, default="auto"
        A given scaling is returned.
    score : str, default="accuracy"
        The score, as in :class:`~dimetric.report.Task`. The loss of a row is 1 if it is
        misclassified, divided by the size of its class for "balanced_accuracy" and "f1_macro". For
        numbers, it is the squared error for "r2", and the absolute error for "mae".
    random_state : int, default=0
        Seed of the folds.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> best_setting(*load_wine(return_X_y=True))
    Setting(scale='standard', n_neighbors=7)
    """
    scales = tuple(SCALERS) if scale == "auto" else (scale,)
    folds = _folds(len(y), groups, random_state)
    max_neighbors = min(len(train) for train, _ in folds) if folds else len(y) - 1
    ks: tuple[int, ...] = tuple(k for k in NEIGHBOR_COUNTS if k <= max_neighbors) or (1,)
    if isinstance(n_neighbors, int):
        if len(scales) == 1 or n_neighbors > max_neighbors:
            return Setting(scales[0], n_neighbors)
        ks = (n_neighbors,)
    losses = {each: _losses(X, y, each, ks, folds, score) for each in scales}
    best_scale = min(scales, key=lambda each: float(losses[each].mean()))
    means = losses[best_scale].mean(axis=1)
    best = losses[best_scale][int(np.argmin(means))]
    # Large k average out noise. If all classes count the same, they also miss the small classes.
    slack = best.std() / np.sqrt(len(best)) if score == "accuracy" else 0.0
    is_close = means <= best.mean() + slack
    return Setting(best_scale, ks[int(np.flatnonzero(is_close).max())])


def _folds(
    n_rows: int, groups: np.ndarray | None, seed: int
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return folds that do not split groups, or [] to leave out one row at a time."""
    n_groups = n_rows if groups is None else len(np.unique(groups))
    if groups is None or n_groups == n_rows or n_groups < 2:
        return []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        n_folds = min(N_FOLDS, n_groups)
        return splits(np.arange(n_rows), None, n_folds, random_state=seed, groups=groups)[0]


def _losses(
    X: np.ndarray,
    y: np.ndarray,
    scale: str,
    ks: Sequence[int],
    folds: list[tuple[np.ndarray, np.ndarray]],
    score: str,
) -> np.ndarray:
    """Return the loss of each row for each number of neighbours, of shape (n_ks, n_rows)."""
    is_regression = score in NUMBER_SCORES
    predicted = np.empty((len(ks), len(y)), dtype=np.float64 if is_regression else y.dtype)
    if folds:
        for train, test in folds:
            scaler = SCALERS[scale]().fit(X[train])
            model = neighbors_model(max(ks), None, is_regression)
            model.fit(scaler.transform(X[train]), y[train])
            predicted[:, test] = knn_predictions(model, scaler.transform(X[test]), ks)
    else:
        model = neighbors_model(max(ks), None, is_regression)
        model.fit(SCALERS[scale]().fit_transform(X), y)
        predicted[:] = knn_predictions(model, None, ks)
    if is_regression:
        errors: np.ndarray = np.abs(predicted - y)
        return np.square(errors) if score == "r2" else errors
    wrong: np.ndarray = (predicted != y).astype(np.float64)
    if score == "accuracy":
        return wrong
    _, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
    return np.asarray(wrong * (len(y) / len(counts) / counts)[codes])


class ScaledNeighbors(BaseEstimator):  # type: ignore[misc] # scikit-learn has no types
    """Scale features, and predict with the help of a learner. ``fit`` chooses scaling and k.

    All learners get the scaling and k that suit the Euclidean distance (:func:`best_setting`), so
    that a comparison with it is fair, and each learner is fitted once.

    Parameters
    ----------
    learner : learner or None, default=None
        The learner. None stands for the Euclidean distance.
    n_neighbors : int or "auto", default="auto"
        Number of nearest neighbours used for predictions.
    scale : {"minmax", "standard", "robust", "auto"}, default="auto"
        How features are scaled.
    scoring : str, default="accuracy"
        The score to choose by. "r2" and "mae" make this estimator a regressor.

    Attributes
    ----------
    setting_ : Setting
        The scaling and the number of neighbours.
    model_ : Pipeline
        The fitted scaler and model.
    """

    _uses_groups = True  # fit takes the groups of the rows
    _remembered: dict[str, Setting] = {}  # noqa: RUF012 - shared by all learners of a process

    def __init__(
        self,
        learner: Any = None,
        *,
        n_neighbors: int | str = "auto",
        scale: str = "auto",
        scoring: str = "accuracy",
    ) -> None:
        self.learner = learner
        self.n_neighbors = n_neighbors
        self.scale = scale
        self.scoring = scoring

    def fit(self, X: np.ndarray, y: np.ndarray, groups: np.ndarray | None = None) -> Self:
        """Choose the scaling and k, and fit the learner.

        Parameters
        ----------
        X, y : ndarray of shape (n_rows, n_features) and (n_rows,)
            Training rows, and their classes or numbers.
        groups : ndarray of shape (n_rows,), optional
            Group of each row.
        """
        X, y = np.asarray(X), np.asarray(y)
        self.setting_ = self._setting(X, y, groups)
        scaler = SCALERS[self.setting_.scale]()
        is_regression = self.scoring not in CLASS_SCORES
        model = predictor(self.setting_.n_neighbors, self.learner, is_regression)
        self.model_ = Pipeline([("scale", scaler), ("model", model)]).fit(X, y)
        self.learner_ = learner_in(self.model_)
        self.classes_ = None if is_regression else np.unique(y)
        return self

    def _setting(self, X: np.ndarray, y: np.ndarray, groups: np.ndarray | None) -> Setting:
        """Return the setting, which is computed once for all learners that have the same rows."""
        options: dict[str, Any] = {
            "n_neighbors": self.n_neighbors,
            "scale": self.scale,
            "score": self.scoring,
        }
        key = str(joblib.hash([X, y, groups, options]))
        if key not in self._remembered:
            if len(self._remembered) >= MAX_REMEMBERED:
                del self._remembered[next(iter(self._remembered))]
            self._remembered[key] = best_setting(X, y, groups, **options)
        return self._remembered[key]

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Return the predicted classes or numbers of rows."""
        return np.asarray(self.model_.predict(X))

    def score(self, X: np.ndarray, y: np.ndarray) -> float:
        """Return the accuracy, or R2 of a regressor."""
        return float(self.model_.score(X, y))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        is_regression = self.scoring not in CLASS_SCORES
        tags.estimator_type = "regressor" if is_regression else "classifier"
        return tags
