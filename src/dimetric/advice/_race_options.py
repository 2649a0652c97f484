"""Options of both stages of a comparison, and the pipelines that they evaluate."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MinMaxScaler

from dimetric.benchmark._cell import Cell
from dimetric.classify.knn import KNNClassifier
from dimetric.classify.knn_regressor import KNNRegressor
from dimetric.data._fold_encoder import FoldEncoder
from dimetric.report._task import CLASSIFICATION, Task

Callback = Callable[[str, int, int], None]

LEARNER_PREFIX = "model__learner__"  # of the parameters of the learner in a pipeline


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


@dataclass(frozen=True)
class RaceOptions:
    """Options of both stages.

    Attributes
    ----------
    n_neighbors, cv : int
        Number of nearest neighbours used for predictions, and number of folds.
    n_jobs : int or None
        Number of worker processes. None fits in this process.
    random_state : int
        Seed for splitting folds and fitting learners.
    callback : callable or None
        Called as ``callback(stage, n_done, n_all)`` after each fit.
    groups : ndarray of shape (n_rows,) or None
        Group of each row. Folds do not split groups.
    encoder : FoldEncoder or None
        Encodes the rows as features.
    task : Task
        What the target contains, and how predictions are scored.
    """

    n_neighbors: int
    cv: int
    n_jobs: int | None
    random_state: int
    callback: Callback | None = None
    groups: np.ndarray | None = None
    encoder: FoldEncoder | None = None
    task: Task = CLASSIFICATION

    def pipeline(self, learner: Any) -> Pipeline:
        """Return a model that encodes and scales rows, and predicts with the help of a learner.

        The whole pipeline is fitted to the training rows of each fold, so nothing depends on test
        rows.
        """
        model = predictor(self.n_neighbors, learner, self.task.is_regression)
        return self.pipeline_of(MinMaxScaler(), model)

    def pipeline_of(self, scaler: Any, model: Any) -> Pipeline:
        """Return a pipeline that encodes and scales rows for any classifier or regressor."""
        steps = [("scale", scaler), ("model", model)]
        return Pipeline(steps if self.encoder is None else [("columns", self.encoder), *steps])

    def for_run(self, stage: str, n_rows: int) -> dict[str, Any]:
        """Return the options as keyword arguments of :func:`dimetric.benchmark.run`."""
        callback = self.callback

        def report(n_done: int, n_all: int, cell: Cell | None) -> None:
            if callback is not None:
                callback(stage, n_done, n_all)

        # Without groups, equal rows may be split: this was decided for the whole table.
        return {
            "cv": self.cv,
            "groups": {"data": np.arange(n_rows) if self.groups is None else self.groups},
            "scale": None,  # the pipelines scale the rows
            "score": self.task.score,
            "n_jobs": self.n_jobs,
            "callback": report,
        }


def pipeline_grid(grid: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """Return a grid of parameters of a learner as a grid of parameters of its pipeline."""
    return {LEARNER_PREFIX + name: values for name, values in grid.items()}
