"""Summarize a benchmark: mean and standard deviation of the scores of each learner."""

from typing import NamedTuple

import numpy as np

from dimetric._arguments import check_types
from dimetric.benchmark._cell import Cell
from dimetric.benchmark._result import BenchmarkResult

__all__ = ["LearnerScores", "summary"]


class LearnerScores(NamedTuple):
    """Scores of one learner.

    Attributes
    ----------
    learner : str
        Name of the learner.
    values : ndarray
        Scores of the folds of one data set, or mean scores of several data sets. A value is NaN if
        the learner failed.
    mean, std : float
        Mean and standard deviation of the values. NaN if a value is NaN.
    n_failed, n_cells : int
        Number of cells whose status is not "ok", and number of all cells.
    time : float
        Mean time of a fit, in seconds.
    """

    learner: str
    values: np.ndarray
    mean: float
    std: float
    n_failed: int
    n_cells: int
    time: float


@check_types
def summary(
    result: BenchmarkResult,
    *,
    field: str = "test",
    n_neighbors: int | None = None,
    data: str | None = None,
) -> list[LearnerScores]:
    """Return the scores of each learner, sorted from best to worst. Failed learners come last.

    Parameters
    ----------
    result : BenchmarkResult
        The result of :func:`run`.
    field : {"test", "train", "time", "memory"}, default="test"
        The field of the cells to summarize. Low values of "time" and "memory" are best.
    n_neighbors : int or None, default=None
        The number of neighbours to report. Required if the benchmark has several.
    data : str, optional
        Name of a data set. By default, all data sets are used. If there are several, the values of
        a learner are its mean scores on each data set.

    Examples
    --------
    >>> from dimetric import benchmark
    >>> for each in summary(benchmark.run([None, "LDA"], ["wine"], cv=5)):
    ...     print(f"{each.learner:10}{each.mean:.3f} ± {each.std:.3f}")
    LDA       0.989 ± 0.015
    Euclidean 0.966 ± 0.024
    """
    if not result.cells:
        raise ValueError("result is empty. Give a result with at least one cell.")
    means = result.scores(field, n_neighbors)  # also checks the arguments
    if data is not None and data not in means.data:
        raise ValueError(f"data={data!r} must be one of the data sets {means.data}.")
    single_data_set = data or (means.data[0] if len(means.data) == 1 else None)
    cells = result._cells_for(n_neighbors)
    cells = [cell for cell in cells if single_data_set in (None, cell.data)]
    rows = []
    for j, learner in enumerate(means.learners):
        learner_cells = [cell for cell in cells if cell.learner == learner]
        if learner_cells:
            values = means.values[:, j] if single_data_set is None else None
            rows.append(_row(learner, learner_cells, field, values))
    sign = 1 if field in ("time", "memory") else -1
    return sorted(rows, key=lambda row: (np.isnan(row.mean), sign * row.mean))


def _row(learner: str, cells: list[Cell], field: str, values: np.ndarray | None) -> LearnerScores:
    """Return the scores of a learner. If `values` is None, they are taken from its cells."""
    done = [cell for cell in cells if cell.status == "ok"]
    if values is None:
        by_fold = [getattr(cell, field) if cell.status == "ok" else np.nan for cell in cells]
        values = np.array(by_fold, dtype=np.float64)
    mean = float(np.mean(values))
    std = float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
    seconds = float(np.mean([cell.time for cell in done] or [np.nan]))
    return LearnerScores(learner, values, mean, std, len(cells) - len(done), len(cells), seconds)
