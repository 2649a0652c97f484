"""Tables of scores: those of a benchmark beside the published ones."""

import csv
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dimetric.benchmark._result import BenchmarkResult
from dimetric.stats._ranking import averages

__all__ = ["Block", "PublishedTables", "make_block"]

# Names in the published tables, and ours.
PUBLISHED_NAMES = {
    "DML_eig": "DML-eig",
    "EUCLIDEAN": "Euclidean",
    "N. Clases - 1": "classes - 1",
    "Dim. máxima": "max",
}

DIMENSION_SEPARATOR = " @ "  # in names of learners, before the dimension of experiment 4

Table = dict[tuple[str, str], float]  # scores by row and column


@dataclass(frozen=True, eq=False)
class Block:
    """A table of scores, ours and the published ones; NaN where a score is missing.

    Attributes
    ----------
    name : str
        Name of a data set if the rows are dimensions, else empty.
    rows, learners : list of str
        Rows (data sets, or dimensions) and columns.
    train, test, published_train, published_test : ndarray of shape (n_rows, n_learners)
        Means over folds.
    """

    name: str
    rows: list[str]
    learners: list[str]
    train: np.ndarray
    test: np.ndarray
    published_train: np.ndarray
    published_test: np.ndarray

    def averages(self, what: str = "test") -> tuple[np.ndarray, np.ndarray]:
        """Return average scores and average ranks.

        A score is averaged over the rows that have both ours and the published one, so that the
        averages can be compared; a rank over the rows that have all scores. Learners without a
        score in most rows have neither.

        Parameters
        ----------
        what : {"train", "test", "published_train", "published_test"}, default="test"
            Which table.
        """
        means, ranks = np.full((2, len(self.learners)), np.nan)
        values = getattr(self, what)
        if np.isnan(values).all():
            return means, ranks
        there, usual, whole = self._comparable()
        for j in np.flatnonzero(usual):
            means[j] = np.mean(values[there[:, j], j])
        if np.any(whole):
            ranks[usual] = averages(values[whole][:, usual]).ranks
        return means, ranks

    def coverage(self) -> tuple[np.ndarray, int]:
        """Return the number of rows of the average of each learner, 0 if none, and of the ranks."""
        there, usual, whole = self._comparable()
        return np.where(usual, np.sum(there, axis=0), 0), int(np.sum(whole))

    def _comparable(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return which scores count, which learners have most of theirs, and rows without gaps."""
        tables = [each for each in (self.test, self.published_test) if not np.isnan(each).all()]
        there = np.all([~np.isnan(each) for each in tables or [self.test]], axis=0)
        usual = np.mean(there, axis=0) > 0.5
        return there, usual, np.all(there[:, usual], axis=1) & np.any(usual)


@dataclass(frozen=True)
class PublishedTables:
    """The published tables of an experiment, in the folder ``paper_tables``.

    Attributes
    ----------
    folder : path or None
        Folder of the data sets; None is that of the environment variable DIMETRIC_DATA. The
        tables are in it or beside it.
    experiment : int
        Number of the experiment.
    k : int
        Number of neighbours.
    """

    folder: str | Path | None
    experiment: int
    k: int

    def read(self, name: str, kind: str) -> Table:
        """Return a table of "train" or "test" scores, empty if its file does not exist."""
        file = self._file(f"{self._stem(name)}-{kind}.csv")
        if file is None:
            return {}
        with open(file, newline="", encoding="utf-8") as opened:
            head, *lines = list(csv.reader(opened))
        columns = [PUBLISHED_NAMES.get(each, each) for each in head]
        return {
            (PUBLISHED_NAMES.get(line[0], line[0]), column): float(value)
            for line in lines
            for column, value in zip(columns[1:], line[1:], strict=True)
            if value
        }

    def _stem(self, name: str) -> str:
        k = self.k
        return {1: f"basic-{k}nn", 2: "ncm", 3: f"ker-{k}nn", 4: f"dim-{k}nn-{name}"}[
            self.experiment
        ]

    def _file(self, name: str) -> Path | None:
        folder = self.folder or os.environ.get("DIMETRIC_DATA") or None
        places = [] if folder is None else [Path(folder), Path(folder).parent]
        files = [place / "paper_tables" / name for place in places]
        return next((each for each in files if each.is_file()), None)


def make_block(
    result: BenchmarkResult,
    published: PublishedTables,
    name: str,
    rows: list[str],
    columns: list[str],
) -> Block:
    """Return our scores beside the published ones.

    Parameters
    ----------
    result : BenchmarkResult
        All cells.
    published : PublishedTables
        Where the published tables are.
    name : str
        Name of a data set if the rows are dimensions, else empty.
    rows, columns : list of str
        Data sets or dimensions, and learners.
    """
    kinds = ("train", "test")
    ours = [_array(_own_table(result, name, kind), rows, columns) for kind in kinds]
    theirs = [_array(published.read(name, kind), rows, columns) for kind in kinds]
    return Block(name, rows, columns, *ours, *theirs)


def _array(table: Table, rows: list[str], columns: list[str]) -> np.ndarray:
    return np.array([[table.get((row, each), np.nan) for each in columns] for row in rows])


def _own_table(result: BenchmarkResult, name: str, kind: str) -> Table:
    """Return means over folds: of all data sets, or of all dimensions of one."""
    means = result.scores(kind)
    found: Table = {}
    for i, data in enumerate(means.data):
        for j, learner in enumerate(means.learners):
            column, _, dimension = learner.partition(DIMENSION_SEPARATOR)
            if name == (data if dimension else ""):
                found[dimension or data, column] = float(means.values[i, j])
    return found
