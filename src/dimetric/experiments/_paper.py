"""Run the four published experiments."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dimetric._arguments import check_types
from dimetric._names import look_up
from dimetric.benchmark._result import BenchmarkResult
from dimetric.benchmark._run import run
from dimetric.benchmark._scheduler import Callback
from dimetric.benchmark._store import Store
from dimetric.data import DataSet
from dimetric.experiments._plans import TITLES, Plan, baselines, data_set_names, is_tied_to_k, plan
from dimetric.experiments._protocol import FOLD_COLUMN, load_published_data_set
from dimetric.experiments._tables import (
    DIMENSION_SEPARATOR,
    PublishedTables,
    ScoreTable,
    make_score_table,
)
from dimetric.stats._bayes import Posterior, sign_test

__all__ = ["Reproduction", "reproduce"]

PUBLISHED_KS = (3, 5, 7)  # numbers of neighbours in the published tables


@dataclass(frozen=True, eq=False)
class Reproduction:
    """Results of an experiment together with the published ones.

    Attributes
    ----------
    experiment : int
        Number of the experiment, 1 to 4.
    k : int or None
        Number of neighbours. None in experiment 2, which uses centroids.
    score_tables : list of ScoreTable
        Tables of scores. Experiment 4 has one table for each data set. Each of the others has one
        table in total.
    result : BenchmarkResult
        The benchmark with all cells.
    baselines : dict of str to str
        The baseline of each learner.
    notes : dict of str to tuple of str
        Notes about each data set.
    """

    experiment: int
    k: int | None
    score_tables: list[ScoreTable]
    result: BenchmarkResult
    baselines: dict[str, str]
    notes: dict[str, tuple[str, ...]]

    @property
    def name(self) -> str:
        """Name of the experiment, used in file names."""
        return f"experiment{self.experiment}" + ("" if self.k is None else f"-{self.k}nn")

    @property
    def title(self) -> str:
        """Title of the experiment."""
        neighbours = "" if self.k is None else f", k = {self.k}"
        return f"Experiment {self.experiment}: {TITLES[self.experiment]}{neighbours}"

    def posteriors(self) -> dict[tuple[str, str], Posterior]:
        """Return a Bayesian sign test over the data sets for each pair (baseline, learner).

        Experiment 4 has no tests, because three data sets are too few.
        """
        posteriors = {}
        score_table = self.score_tables[0]
        for learner, baseline in self.baselines.items():
            if learner not in score_table.learners or baseline not in score_table.learners:
                continue
            a = score_table.test[:, score_table.learners.index(baseline)]
            b = score_table.test[:, score_table.learners.index(learner)]
            scored = ~np.isnan(a) & ~np.isnan(b)
            if np.any(scored):
                posteriors[baseline, learner] = sign_test(a[scored], b[scored], random_state=0)
        return posteriors


@check_types
def reproduce(
    experiment: int,
    *,
    k: int = 3,
    folder: str | Path | None = None,
    data_sets: Iterable[str] | None = None,
    learners: Iterable[str] | None = None,
    store: Store | str | Path | None = None,
    time_budget: float | None = None,
    retry: bool = False,
    n_jobs: int | None = None,
    callback: Callback | None = None,
) -> Reproduction:
    """Run one of the published experiments.

    As in the publication, features are scaled to [0, 1] on the whole data set. Learners that
    use neighbours use k of them: LMNN and KLMNN as targets, DMLMJ and KDMLMJ as neighbours, ANMM
    and KANMM as friends and as enemies. NCMC and the classifier that follows it use the same
    number of centroids.

    Parameters
    ----------
    experiment : {1, 2, 3, 4}
        Number of the experiment. The experiments are about nine learners (1), nearest centroids
        (2), kernels (3) and dimensionality reduction (4).
    k : int, default=3
        Number of neighbours of the k-NN classifier. Scores are published for 3, 5 and 7, and in
        experiment 3 only for 3.
    folder : path, optional
        Folder of the data sets. The published tables are read from ``paper_tables`` in it or
        beside it.
    data_sets : iterable of str, optional
        Names of the data sets to use. By default, all are used.
    learners : iterable of str, optional
        Names of the learners to use. By default, all are used.
    store, time_budget, retry, n_jobs, callback
        As in :func:`dimetric.benchmark.run`.

    Examples
    --------
    >>> iris = reproduce(1, data_sets=["iris"], learners=["Euclidean", "LDA"])
    >>> iris.title
    'Experiment 1: Nearest neighbours under learned distances, k = 3'
    >>> np.round(iris.score_tables[0].test, 2)
    array([[0.95, 0.96]])
    """
    if experiment not in TITLES:
        raise ValueError(f"experiment={experiment!r} must be 1, 2, 3 or 4.")
    names = _selected("data set", data_sets, data_set_names(experiment))
    data = [load_published_data_set(name, folder) for name in names]
    plans = {each.name: plan(experiment, k, each) for each in data}
    all_learner_names = dict.fromkeys(column for fits in plans.values() for _, column in fits)
    learner_names = _selected("learner", learners, list(all_learner_names))
    options = {
        "fold_column": FOLD_COLUMN,
        "scale": "set",
        "store": store,
        "time_budget": time_budget,
        "retry": retry,
        "n_jobs": n_jobs,
        "callback": callback,
    }
    result = _run(experiment, k, data, plans, learner_names, options)
    published = PublishedTables(folder, experiment, k)
    rows = {"": names}
    if experiment == 4:
        rows = {name: list(dict.fromkeys(row for row, _ in plans[name])) for name in names}
    score_tables = [
        make_score_table(result, published, name, row_names, learner_names)
        for name, row_names in rows.items()
    ]
    notes = {each.name: each.notes for each in data if each.notes}
    reported_k = None if experiment == 2 else k
    return Reproduction(
        experiment, reported_k, score_tables, result, baselines(experiment, learner_names), notes
    )


def _selected(kind: str, requested: Iterable[str] | None, known: Sequence[str]) -> list[str]:
    """Return the requested names, or all, in the order of the experiment."""
    if requested is None:
        return list(known)
    selected = {look_up(each, {name: name for name in known}, kind) for each in requested}
    return [each for each in known if each in selected]


def _run(
    experiment: int,
    k: int,
    data: list[DataSet],
    plans: dict[str, Plan],
    learner_names: list[str],
    options: dict[str, Any],
) -> BenchmarkResult:
    """Run the benchmark of an experiment and return its cells.

    Learners whose parameters do not depend on k are fitted once and scored for all published k, so
    that a later run with another k finds their cells in the store.
    """
    groups = [[each] for each in data] if experiment == 4 else [data]
    all_ks = PUBLISHED_KS if k in PUBLISHED_KS else (k,)
    cells = []
    for group in groups:
        fits = plans[group[0].name]
        models = {
            _name(experiment, row, column): model
            for (row, column), model in fits.items()
            if column in learner_names
        }
        tied = {name: model for name, model in models.items() if is_tied_to_k(model)}
        others = {name: model for name, model in models.items() if name not in tied}
        for learners, ks in ((others, all_ks), (tied, (k,))):
            if learners:
                cells += run(learners, group, n_neighbors=ks, **options).cells
    return BenchmarkResult([cell for cell in cells if cell.n_neighbors in (None, k)])


def _name(experiment: int, row: str, column: str) -> str:
    return f"{column}{DIMENSION_SEPARATOR}{row}" if experiment == 4 else column
