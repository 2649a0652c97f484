"""Result of a benchmark: one cell per data set, split, learner and number of neighbours."""

from collections import Counter
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from dimetric.benchmark._cell import Cell

__all__ = ["BenchmarkResult", "Scores"]

FIELDS = ("train", "test", "time", "memory")


class Scores(NamedTuple):
    """Mean scores over the folds: one row per data set, one column per learner."""

    data: list[str]
    learners: list[str]
    values: np.ndarray


@dataclass(frozen=True, eq=False)
class BenchmarkResult:
    """Result of a benchmark.

    Attributes
    ----------
    cells : list of Cell
        One finished cell per data set, split, learner and number of neighbours.
    """

    cells: list[Cell]

    def __repr__(self) -> str:
        counts = Counter(cell.status for cell in self.cells)
        statuses = ("ok", "failed", "timeout", "crashed")
        parts = ", ".join(f"{counts[each]} {each}" for each in statuses if counts[each])
        return f"BenchmarkResult({len(self.cells)} cells: {parts})"

    def frame(self) -> Any:
        """Return the cells as the rows of a pandas data frame."""
        import pandas as pd

        return pd.DataFrame(self.cells, columns=Cell._fields)

    def scores(self, field: str = "test", n_neighbors: int | None = None) -> Scores:
        """Return the mean scores over the folds.

        Parameters
        ----------
        field : {"train", "test", "time", "memory"}, default="test"
            The field of the cells to average.
        n_neighbors : int or None, default=None
            The number of neighbours to report. Required if the benchmark has several. Classifiers
            without neighbours are always included.

        Returns
        -------
        Scores
            Mean scores. A mean is NaN if the learner failed in at least one fold.
        """
        if field not in FIELDS:
            raise ValueError(f"field={field!r} must be 'train', 'test', 'time' or 'memory'.")
        ks = {cell.n_neighbors for cell in self.cells if cell.n_neighbors is not None}
        if n_neighbors is None and len(ks) > 1:
            raise ValueError(f"n_neighbors is required. Choose one of {sorted(ks)}.")
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
        """Return the cells with this number of neighbours, and the cells of classifiers."""
        if n_neighbors is None:
            return self.cells
        return [cell for cell in self.cells if cell.n_neighbors in (None, n_neighbors)]
