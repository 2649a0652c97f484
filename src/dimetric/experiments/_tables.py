"""Tables of the scores of a benchmark together with the published scores."""

import csv
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dimetric.benchmark._result import BenchmarkResult
from dimetric.stats._ranking import averages

__all__ = ["PublishedTables", "ScoreTable", "make_score_table"]

# Names in the published tables, mapped to ours.
PUBLISHED_NAMES = {
    "DML_eig": "DML-eig",
    "EUCLIDEAN": "Euclidean",
    "N. Clases - 1": "classes - 1",
    "Dim. máxima": "max",
}

DIMENSION_SEPARATOR = " @ "  # in experiment 4, names of learners are "learner @ dimension"
MIN_SCORED_FRACTION = 0.5  # a learner with scores in at most half of the rows is not averaged

Table = dict[tuple[str, str], float]  # scores by row and column


@dataclass(frozen=True, eq=False)
class ScoreTable:
    """Table of our scores and the published ones. A missing score is NaN.

    Attributes
    ----------
    name : str
        Name of a data set if the rows are dimensions, otherwise empty.
    rows, learners : list of str
        Names of the rows (data sets or dimensions) and of the columns.
    train, test, published_train, published_test : ndarray of shape (n_rows, n_learners)
        Mean scores over the folds.
    """

    name: str
    rows: list[str]
    learners: list[str]
    train: np.ndarray
    test: np.ndarray
    published_train: np.ndarray
    published_test: np.ndarray

    def averages(self, field: str = "test") -> tuple[np.ndarray, np.ndarray]:
        """Return the average score and the average rank of each learner.

        Scores are averaged over the rows with both our score and the published one, so that the
        averages are comparable. Ranks are averaged over the rows without missing scores. Both are
        NaN for learners that have scores in at most half of the rows.

        Parameters
        ----------
        field : {"train", "test", "published_train", "published_test"}, default="test"
            The table to average.
        """
        means, ranks = np.full((2, len(self.learners)), np.nan)
        values = getattr(self, field)
        if np.isnan(values).all():
            return means, ranks
        has_score, counted, complete = self._comparable()
        for j in np.flatnonzero(counted):
            means[j] = np.mean(values[has_score[:, j], j])
        if np.any(complete):
            ranks[counted] = averages(values[complete][:, counted]).ranks
        return means, ranks

    def coverage(self) -> tuple[np.ndarray, int]:
        """Return how many rows the average of each learner covers, and how many the ranks cover."""
        has_score, counted, complete = self._comparable()
        return np.where(counted, np.sum(has_score, axis=0), 0), int(np.sum(complete))

    def _comparable(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return masks of the comparable scores, the counted learners and the complete rows.

        A learner is counted if it has scores in more than half of the rows. A row is complete if
        all counted learners have a score.
        """
        tables = [each for each in (self.test, self.published_test) if not np.isnan(each).all()]
        has_score = np.all([~np.isnan(each) for each in tables or [self.test]], axis=0)
        counted = np.mean(has_score, axis=0) > MIN_SCORED_FRACTION
        return has_score, counted, np.all(has_score[:, counted], axis=1) & np.any(counted)


@dataclass(frozen=True)
class PublishedTables:
    """The published tables of an experiment, in the folder ``paper_tables``.

    Attributes
    ----------
    folder : path or None
        Folder of the data sets. None uses the environment variable DIMETRIC_DATA. The folder
        ``paper_tables`` is in it or beside it.
    experiment : int
        Number of the experiment.
    k : int
        Number of neighbours.
    """

    folder: str | Path | None
    experiment: int
    k: int

    def read(self, name: str, kind: str) -> Table:
        """Return a table of "train" or "test" scores. It is empty if the file does not exist."""
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


def make_score_table(
    result: BenchmarkResult,
    published: PublishedTables,
    name: str,
    rows: list[str],
    learners: list[str],
) -> ScoreTable:
    """Return a table of our scores and the published ones.

    Parameters
    ----------
    result : BenchmarkResult
        The benchmark with our scores.
    published : PublishedTables
        The published tables.
    name : str
        Name of a data set if the rows are dimensions, otherwise empty.
    rows, learners : list of str
        Names of the rows (data sets or dimensions) and of the learners.
    """
    kinds = ("train", "test")
    ours = [_array(_our_table(result, name, kind), rows, learners) for kind in kinds]
    published_scores = [_array(published.read(name, kind), rows, learners) for kind in kinds]
    return ScoreTable(name, rows, learners, *ours, *published_scores)


def _array(table: Table, rows: list[str], columns: list[str]) -> np.ndarray:
    return np.array([[table.get((row, each), np.nan) for each in columns] for row in rows])


def _our_table(result: BenchmarkResult, name: str, kind: str) -> Table:
    """Return the mean scores over the folds.

    The rows of the table are the data sets, or the dimensions of a single data set.
    """
    means = result.scores(kind)
    table: Table = {}
    for i, data in enumerate(means.data):
        for j, learner in enumerate(means.learners):
            column, _, dimension = learner.partition(DIMENSION_SEPARATOR)
            if name == (data if dimension else ""):
                table[dimension or data, column] = float(means.values[i, j])
    return table
