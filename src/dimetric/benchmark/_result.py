"""The table of a benchmark: one cell for each data set, split, learner and number of neighbours."""

from collections import Counter
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from dimetric.benchmark._store import Cell

__all__ = ["BenchmarkResult", "Scores"]

SCORES = ("train", "test", "time", "memory")


class Scores(NamedTuple):
    """Means over the folds: a row for each data set, a column for each learner."""

    data: list[str]
    learners: list[str]
    values: np.ndarray


@dataclass(frozen=True, eq=False)
class BenchmarkResult:
    """The table of a benchmark.

    Attributes
    ----------
    cells : list of Cell
        One for each data set, split, learner and number of neighbours that was finished.
    """

    cells: list[Cell]

    def __repr__(self) -> str:
        counts = Counter(cell.status for cell in self.cells)
        statuses = ("ok", "failed", "timeout", "crashed")
        parts = ", ".join(f"{counts[each]} {each}" for each in statuses if counts[each])
        return f"BenchmarkResult({len(self.cells)} cells: {parts})"

    def frame(self) -> Any:
        """Return the table as a pandas data frame with one row for each cell."""
        import pandas as pd

        return pd.DataFrame(self.cells, columns=Cell._fields)

    def scores(self, field: str = "test", n_neighbors: int | None = None) -> Scores:
        """Return the means over the folds.

        Parameters
        ----------
        field : {"train", "test", "time", "memory"}, default="test"
            The field of the cells to average.
        n_neighbors : int or None, default=None
            The number of neighbours to report. None is allowed if there is only one.
            Classifiers that do not vote by neighbours are always included.

        Returns
        -------
        Scores
            NaN where a learner failed in some fold.
        """
        if field not in SCORES:
            raise ValueError(f"field={field!r} must be 'train', 'test', 'time' or 'memory'.")
        ks = {cell.n_neighbors for cell in self.cells if cell.n_neighbors is not None}
        if n_neighbors is None and len(ks) > 1:
            raise ValueError(f"Give n_neighbors: the benchmark has {sorted(ks)}.")
        cells = self._cells_for(n_neighbors)
        data = list(dict.fromkeys(cell.data for cell in cells))
        learners = list(dict.fromkeys(cell.learner for cell in cells))
        by_pair: dict[tuple[str, str], list[float]] = {}
        for cell in cells:
            value = getattr(cell, field) if cell.status == "ok" else np.nan
            by_pair.setdefault((cell.data, cell.learner), []).append(value)
        values = [
            [np.mean(by_pair.get((row, column), np.nan)) for column in learners] for row in data
        ]
        return Scores(data, learners, np.array(values, dtype=np.float64))

    def _cells_for(self, n_neighbors: int | None) -> list[Cell]:
        """Return the cells of a number of neighbours, and of classifiers that use none."""
        if n_neighbors is None:
            return self.cells
        return [cell for cell in self.cells if cell.n_neighbors in (None, n_neighbors)]
