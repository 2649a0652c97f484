"""Options of both stages of a comparison, and the pipelines that they evaluate."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from dimetric.advice._scaled_neighbors import (
    NEIGHBOR_COUNTS,
    SCALERS,
    ScaledNeighbors,
    Setting,
    best_setting,
    neighbors_model,
    predictor,
    predicts,
)
from dimetric.benchmark._cell import Cell
from dimetric.data._fold_encoder import FoldEncoder
from dimetric.report._task import CLASSIFICATION, Task

__all__ = [
    "LEARNER_PREFIX",
    "Callback",
    "RaceOptions",
    "neighbors_model",
    "pipeline_grid",
    "predictor",
    "predicts",
]

Callback = Callable[[str, int, int], None]

LEARNER_PREFIX = "model__learner__"  # of the parameters of the learner in a pipeline


@dataclass(frozen=True)
class RaceOptions:
    """Options of both stages.

    Attributes
    ----------
    n_neighbors : int or "auto"
        Number of nearest neighbours used for predictions. "auto" chooses it in each fold.
    cv : int
        Number of folds.
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
    scale : {"minmax", "standard", "robust", "auto"}, default="minmax"
        How features are scaled. "auto" chooses it in each fold.
    """

    n_neighbors: int | str
    cv: int
    n_jobs: int | None
    random_state: int
    callback: Callback | None = None
    groups: np.ndarray | None = None
    encoder: FoldEncoder | None = None
    task: Task = CLASSIFICATION
    scale: str = "minmax"

    @property
    def min_neighbors(self) -> int:
        """Smallest number of neighbours that may be used."""
        return self.n_neighbors if isinstance(self.n_neighbors, int) else NEIGHBOR_COUNTS[0]

    @property
    def chosen_in_folds(self) -> tuple[str, ...]:
        """What is chosen in each fold: any of "n_neighbors" and "scale"."""
        given = {"n_neighbors": self.n_neighbors, "scale": self.scale}
        return tuple(name for name, value in given.items() if value == "auto")

    def pipeline(self, learner: Any) -> Pipeline:
        """Return a model that encodes and scales rows, and predicts with the help of a learner.

        The whole pipeline is fitted to the training rows of each fold, so nothing depends on test
        rows.
        """
        if isinstance(self.n_neighbors, int) and self.scale in SCALERS:
            model = predictor(self.n_neighbors, learner, self.task.is_regression)
            return self.pipeline_of(SCALERS[self.scale](), model)
        model = ScaledNeighbors(
            learner, n_neighbors=self.n_neighbors, scale=self.scale, scoring=self.task.score
        )
        return self._encoded([("model", model)])

    def setting(self, X: np.ndarray, y: np.ndarray) -> Setting:
        """Return the scaling and the number of neighbours for all rows of a stage.

        Parameters
        ----------
        X, y : ndarray of shape (n_rows, n_columns) and (n_rows,)
            The rows before encoding, and their classes or numbers.
        """
        X = X if self.encoder is None else clone(self.encoder).fit_transform(X)
        options: dict[str, Any] = {"n_neighbors": self.n_neighbors, "scale": self.scale}
        return best_setting(X, y, self.groups, score=self.task.score, **options)

    def pipeline_of(self, scaler: Any, model: Any) -> Pipeline:
        """Return a pipeline that encodes and scales rows for any classifier or regressor."""
        return self._encoded([("scale", scaler), ("model", model)])

    def _encoded(self, steps: list[tuple[str, Any]]) -> Pipeline:
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
