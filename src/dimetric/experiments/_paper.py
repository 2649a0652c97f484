"""The four published experiments: which learners, on which data sets, judged how."""

import csv
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dimetric._names import suggest
from dimetric.benchmark._result import BenchmarkResult
from dimetric.benchmark._run import run
from dimetric.benchmark._scheduler import Callback
from dimetric.benchmark._store import Store
from dimetric.data import DataSet
from dimetric.experiments._plans import TIED, TITLES, Plan, baselines, plan, sets_of
from dimetric.experiments._protocol import FOLD, published_set
from dimetric.stats._bayes import Posterior, sign_test
from dimetric.stats._ranking import averages

__all__ = ["Block", "Reproduction", "reproduce"]

KS = (3, 5, 7)
# What the published tables call things.
PUBLISHED = {
    "DML_eig": "DML-eig",
    "EUCLIDEAN": "Euclidean",
    "N. Clases - 1": "classes - 1",
    "Dim. máxima": "max",
}

Table = dict[tuple[str, str], float]


@dataclass(frozen=True, eq=False)
class Block:
    """A table of scores, ours and the published ones; NaN where there is none.

    Attributes
    ----------
    name : str
        Name of a data set if the rows are dimensions, else empty.
    rows, learners : list of str
        Data sets, or dimensions; and learners.
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

        A score is averaged over the rows where it is there and the published one is too, so that
        the two can be compared; a rank over the rows where all scores are. Learners without a score
        in most rows have no average, and no rank.

        Parameters
        ----------
        what : {"train", "test", "published_train", "published_test"}, default="test"
            Of which table.
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
        """Return over how many rows each learner's average is, 0 if it has none, and all ranks."""
        there, usual, whole = self._comparable()
        return np.where(usual, np.sum(there, axis=0), 0), int(np.sum(whole))

    def _comparable(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return where scores are, which learners have most of theirs, and rows where those do."""
        tables = [each for each in (self.test, self.published_test) if not np.isnan(each).all()]
        there = np.all([~np.isnan(each) for each in tables or [self.test]], axis=0)
        usual = np.mean(there, axis=0) > 0.5
        return there, usual, np.all(there[:, usual], axis=1) & np.any(usual)


@dataclass(frozen=True, eq=False)
class Reproduction:
    """An experiment as it came out here, beside what was published.

    Attributes
    ----------
    experiment : int
        Number of the experiment, 1 to 4.
    k : int or None
        Neighbours that vote; None for centroids.
    blocks : list of Block
        One, or, of experiment 4, one for each data set.
    result : BenchmarkResult
        All cells.
    baselines : dict of str to str
        What each learner is to be better than.
    notes : dict of str to tuple of str
        What is to be said about data sets.
    """

    experiment: int
    k: int | None
    blocks: list[Block]
    result: BenchmarkResult
    baselines: dict[str, str]
    notes: dict[str, tuple[str, ...]]

    @property
    def name(self) -> str:
        """Name of the experiment, for files."""
        return f"experiment{self.experiment}" + ("" if self.k is None else f"-{self.k}nn")

    @property
    def title(self) -> str:
        """Title of the experiment."""
        neighbours = "" if self.k is None else f", k = {self.k}"
        return f"Experiment {self.experiment}: {TITLES[self.experiment]}{neighbours}"

    def posteriors(self) -> dict[tuple[str, str], Posterior]:
        """Return what is believed of each baseline and learner, by the Bayesian sign test.

        Over data sets; there is none for dimensions, which are of three data sets only.
        """
        found = {}
        block = self.blocks[0]
        for learner, baseline in self.baselines.items():
            if learner not in block.learners or baseline not in block.learners:
                continue
            a = block.test[:, block.learners.index(baseline)]
            b = block.test[:, block.learners.index(learner)]
            both = ~np.isnan(a) & ~np.isnan(b)
            if np.any(both):
                found[baseline, learner] = sign_test(a[both], b[both], random_state=0)
        return found


def reproduce(
    experiment: int,
    *,
    k: int = 3,
    folder: str | Path | None = None,
    only: Iterable[str] | None = None,
    learners: Iterable[str] | None = None,
    store: Store | str | Path | None = None,
    time_budget: float | None = None,
    retry: bool = False,
    n_jobs: int | None = None,
    callback: Callback | None = None,
) -> Reproduction:
    """Run one of the published experiments.

    Features are scaled to [0, 1] over the whole set first, as was done there. LMNN's and KLMNN's
    targets, DMLMJ's and KDMLMJ's neighbours, and ANMM's and KANMM's friends and enemies are as
    many as the neighbours that vote; NCMC's centroids as many as its classifier's.

    Parameters
    ----------
    experiment : {1, 2, 3, 4}
        1: nine learners; 2: nearest centroids; 3: kernels; 4: dimensions.
    k : int, default=3
        Neighbours that vote; published are 3, 5 and 7, of experiment 3 only 3.
    folder : path, optional
        Where data sets are looked for, and the published tables, in ``paper_tables``.
    only : iterable of str, optional
        Names of data sets, in place of all.
    learners : iterable of str, optional
        Names of columns, in place of all.
    store, time_budget, retry, n_jobs, callback
        As in :func:`dimetric.benchmark.run`.

    Examples
    --------
    >>> found = reproduce(1, only=["iris"], learners=["Euclidean", "LDA"])
    >>> found.title
    'Experiment 1: Nearest neighbours under learned distances, k = 3'
    >>> np.round(found.blocks[0].test, 2)
    array([[0.95, 0.96]])
    """
    if experiment not in TITLES:
        raise ValueError(f"experiment={experiment!r} must be 1, 2, 3 or 4.")
    names = _chosen("data set", only, sets_of(experiment))
    data = [published_set(name, folder) for name in names]
    plans = {each.name: plan(experiment, k, each) for each in data}
    all_columns = dict.fromkeys(column for fits in plans.values() for _, column in fits)
    columns = _chosen("learner", learners, list(all_columns))
    options = {
        "fold_column": FOLD,
        "scale": "set",
        "store": store,
        "time_budget": time_budget,
        "retry": retry,
        "n_jobs": n_jobs,
        "callback": callback,
    }
    result = _compared(experiment, k, data, plans, columns, options)
    tables = {what: _table(result, plans, what) for what in ("train", "test")}
    blocks = []
    for name in names if experiment == 4 else [""]:
        rows = list(dict.fromkeys(row for row, _ in plans[name])) if name else names
        ours = [_array(tables[what].get(name, {}), rows, columns) for what in ("train", "test")]
        published = [
            _array(_published(folder, experiment, k, name, what), rows, columns)
            for what in ("train", "test")
        ]
        blocks.append(Block(name, rows, columns, *ours, *published))
    notes = {each.name: each.notes for each in data if each.notes}
    of = None if experiment == 2 else k
    return Reproduction(experiment, of, blocks, result, baselines(experiment, columns), notes)


def _chosen(kind: str, asked: Iterable[str] | None, there: Sequence[str]) -> list[str]:
    """Return what was asked for, in the order of the experiment."""
    if asked is None:
        return list(there)
    asked = list(asked)
    for each in asked:
        if each not in there:
            raise ValueError(f"The experiment has no {kind} {each!r}. {suggest(each, there)}")
    return [each for each in there if each in asked]


# Runs and tables


def _compared(
    experiment: int,
    k: int,
    data: list[DataSet],
    plans: dict[str, Plan],
    columns: list[str],
    options: dict[str, Any],
) -> BenchmarkResult:
    """Return all cells; learners that are not tied to k are judged for every k while at it."""
    groups = [[each] for each in data] if experiment == 4 else [data]
    cells = []
    for group in groups:
        fits = plans[group[0].name]
        models = {_name(experiment, *at): m for at, m in fits.items() if at[1] in columns}
        tied = {
            name: model
            for name, model in models.items()
            if model is not None and set(TIED) & set(model.get_params())
        }
        others = {name: model for name, model in models.items() if name not in tied}
        for part, ks in ((others, KS if k in KS else (k,)), (tied, (k,))):
            if part:
                cells += run(part, group, n_neighbors=ks, **options).cells
    return BenchmarkResult([cell for cell in cells if cell.n_neighbors in (None, k)])


def _name(experiment: int, row: str, column: str) -> str:
    return f"{column} @ {row}" if experiment == 4 else column


def _table(result: BenchmarkResult, plans: dict[str, Any], what: str) -> dict[str, Table]:
    """Return means over folds, by block, row and column."""
    means = result.scores(what)
    found: dict[str, Table] = {}
    for i, name in enumerate(means.data):
        for j, learner in enumerate(means.learners):
            column, _, row = learner.partition(" @ ")
            table = found.setdefault(name if row else "", {})
            table[row or name, column] = float(means.values[i, j])
    return found


def _array(table: Table, rows: list[str], columns: list[str]) -> np.ndarray:
    return np.array([[table.get((row, each), np.nan) for each in columns] for row in rows])


def _published(folder: str | Path | None, experiment: int, k: int, name: str, what: str) -> Table:
    """Return a published table, empty if it is not there."""
    folder = folder or os.environ.get("DIMETRIC_DATA") or None
    stem = {1: f"basic-{k}nn", 2: "ncm", 3: f"ker-{k}nn", 4: f"dim-{k}nn-{name}"}[experiment]
    places = [] if folder is None else [Path(folder), Path(folder).parent]
    files = [place / "paper_tables" / f"{stem}-{what}.csv" for place in places]
    file = next((each for each in files if each.is_file()), None)
    if file is None:
        return {}
    with open(file, newline="", encoding="utf-8") as opened:
        head, *lines = list(csv.reader(opened))
    columns = [PUBLISHED.get(each, each) for each in head]
    return {
        (PUBLISHED.get(line[0], line[0]), column): float(value)
        for line in lines
        for column, value in zip(columns[1:], line[1:], strict=True)
        if value
    }
