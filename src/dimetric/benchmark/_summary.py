"""The result of a benchmark in a few numbers: the score of each learner, and its std."""

from typing import NamedTuple

import numpy as np

from dimetric.benchmark._result import BenchmarkResult
from dimetric.benchmark._store import Cell

__all__ = ["LearnerScores", "summary"]


class LearnerScores(NamedTuple):
    """The scores of one learner.

    Attributes
    ----------
    learner : str
        Name of the learner.
    values : ndarray
        Scores in the folds of one data set, or means on several data sets; NaN where it failed.
    mean, std : float
        Mean and standard deviation of the values; NaN if any is missing.
    n_failed, n_cells : int
        Number of fits that are not "ok", and of all fits.
    time : float
        Mean seconds of a fit.
    """

    learner: str
    values: np.ndarray
    mean: float
    std: float
    n_failed: int
    n_cells: int
    time: float


def summary(
    result: BenchmarkResult,
    *,
    field: str = "test",
    n_neighbors: int | None = None,
    data: str | None = None,
) -> list[LearnerScores]:
    """Return the scores of each learner, the best first, those that failed somewhere last.

    Parameters
    ----------
    result : BenchmarkResult
        The result of :func:`run`.
    field : {"test", "train", "time", "memory"}, default="test"
        Which field of the cells; for the last two, the lowest values are best.
    n_neighbors : int or None, default=None
        The number of neighbours to report. None is allowed if there is only one.
    data : str, optional
        Name of the data set. By default all: if there are several, the values of a learner are
        its means on them.

    Examples
    --------
    >>> from dimetric import benchmark
    >>> for each in summary(benchmark.run([None, "LDA"], ["wine"], cv=5)):
    ...     print(f"{each.learner:10}{each.mean:.3f} ± {each.std:.3f}")
    LDA       0.989 ± 0.015
    Euclidean 0.966 ± 0.024
    """
    if not result.cells:
        raise ValueError("The result is empty: it has no cells.")
    means = result.scores(field, n_neighbors)  # also checks the arguments
    if data is not None and data not in means.data:
        raise ValueError(f"data={data!r} is none of the data sets, {means.data}.")
    only = data or (means.data[0] if len(means.data) == 1 else None)
    cells = [cell for cell in result._cells_for(n_neighbors) if only in (None, cell.data)]
    rows = []
    for j, learner in enumerate(means.learners):
        own = [cell for cell in cells if cell.learner == learner]
        if own:
            rows.append(_row(learner, own, field, means.values[:, j] if only is None else None))
    sign = 1 if field in ("time", "memory") else -1
    return sorted(rows, key=lambda row: (np.isnan(row.mean), sign * row.mean))


def _row(learner: str, cells: list[Cell], field: str, values: np.ndarray | None) -> LearnerScores:
    """Return the scores of a learner; without means on several data sets, those of its cells."""
    done = [cell for cell in cells if cell.status == "ok"]
    if values is None:
        by_fold = [getattr(cell, field) if cell.status == "ok" else np.nan for cell in cells]
        values = np.array(by_fold, dtype=np.float64)
    mean = float(np.mean(values))
    std = float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
    seconds = float(np.mean([cell.time for cell in done] or [np.nan]))
    return LearnerScores(learner, values, mean, std, len(cells) - len(done), len(cells), seconds)
