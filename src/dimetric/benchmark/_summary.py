"""A comparison in a few numbers: each learner's score, and how much it varies."""

from typing import NamedTuple

import numpy as np

from dimetric.benchmark._result import BenchmarkResult

__all__ = ["LearnerScores", "summary"]


class LearnerScores(NamedTuple):
    """How a learner has done.

    Attributes
    ----------
    learner : str
        Its name.
    values : ndarray
        Its scores: on the folds of one data set, or the means on several; NaN where it failed.
    mean, spread : float
        Mean and standard deviation of the values; NaN if any is missing.
    n_failed, n_cells : int
        How many fits did not end well, of how many.
    time : float
        Mean seconds of a fit.
    """

    learner: str
    values: np.ndarray
    mean: float
    spread: float
    n_failed: int
    n_cells: int
    time: float


def summary(
    result: BenchmarkResult,
    *,
    what: str = "test",
    n_neighbors: int | None = None,
    data: str | None = None,
) -> list[LearnerScores]:
    """Return how each learner has done, the best first, and last those that failed somewhere.

    Parameters
    ----------
    result : BenchmarkResult
        The table.
    what : {"test", "train", "time", "memory"}, default="test"
        Which numbers; of the last two, the lowest are best.
    n_neighbors : int or None, default=None
        Of which number of neighbours; None if there is but one.
    data : str, optional
        On which data set. By default on all: if they are several, a learner's values are its means
        on them.

    Examples
    --------
    >>> from dimetric import benchmark
    >>> for each in summary(benchmark.run([None, "LDA"], ["wine"], cv=5)):
    ...     print(f"{each.learner:10}{each.mean:.3f} ± {each.spread:.3f}")
    LDA       0.989 ± 0.015
    Euclidean 0.966 ± 0.024
    """
    if not result.cells:
        raise ValueError("The result is empty: it has no cells.")
    means = result.scores(what, n_neighbors)  # checks what is asked for
    if data is not None and data not in means.data:
        raise ValueError(f"data={data!r} is none of the data sets, {means.data}.")
    only = data or (means.data[0] if len(means.data) == 1 else None)
    judged = result._cells_for(n_neighbors)
    cells = [cell for cell in judged if only in (None, cell.data)]
    rows = []
    for j, learner in enumerate(means.learners):
        own = [cell for cell in cells if cell.learner == learner]
        if not own:
            continue
        by_fold = [getattr(each, what) if each.status == "ok" else np.nan for each in own]
        values = means.values[:, j] if only is None else np.array(by_fold, dtype=np.float64)
        failed = sum(each.status != "ok" for each in own)
        seconds = [each.time for each in own if each.status == "ok"] or [np.nan]
        spread = float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
        mean = float(np.mean(values))
        rows.append(
            LearnerScores(learner, values, mean, spread, failed, len(own), float(np.mean(seconds)))
        )
    sign = 1 if what in ("time", "memory") else -1
    return sorted(rows, key=lambda row: (np.isnan(row.mean), sign * row.mean))
