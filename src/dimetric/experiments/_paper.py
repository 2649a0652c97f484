"""The four published experiments: which learners, on which data sets, judged how."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dimetric._names import look_up
from dimetric.benchmark._result import BenchmarkResult
from dimetric.benchmark._run import run
from dimetric.benchmark._scheduler import Callback
from dimetric.benchmark._store import Store
from dimetric.data import DataSet
from dimetric.experiments._plans import TITLES, Plan, baselines, is_tied_to_k, plan, sets_of
from dimetric.experiments._protocol import FOLD, load_published_data_set
from dimetric.experiments._tables import DIMENSION_SEPARATOR, Block, PublishedTables, make_block
from dimetric.stats._bayes import Posterior, sign_test

__all__ = ["Reproduction", "reproduce"]

PUBLISHED_KS = (3, 5, 7)  # numbers of neighbours


@dataclass(frozen=True, eq=False)
class Reproduction:
    """The results of an experiment, beside the published ones.

    Attributes
    ----------
    experiment : int
        Number of the experiment, 1 to 4.
    k : int or None
        Number of neighbours; None for centroids.
    blocks : list of Block
        One; in experiment 4, one for each data set.
    result : BenchmarkResult
        All cells.
    baselines : dict of str to str
        The baseline of each learner.
    notes : dict of str to tuple of str
        Notes about data sets.
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
        """Return the Bayesian sign test of each baseline and learner, over the data sets.

        Experiment 4 has none: three data sets are too few.
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
    data_sets: Iterable[str] | None = None,
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
    data_sets : iterable of str, optional
        Names of data sets, in place of all.
    learners : iterable of str, optional
        Names of columns, in place of all.
    store, time_budget, retry, n_jobs, callback
        As in :func:`dimetric.benchmark.run`.

    Examples
    --------
    >>> found = reproduce(1, data_sets=["iris"], learners=["Euclidean", "LDA"])
    >>> found.title
    'Experiment 1: Nearest neighbours under learned distances, k = 3'
    >>> np.round(found.blocks[0].test, 2)
    array([[0.95, 0.96]])
    """
    if experiment not in TITLES:
        raise ValueError(f"experiment={experiment!r} must be 1, 2, 3 or 4.")
    names = _chosen("data set", data_sets, sets_of(experiment))
    data = [load_published_data_set(name, folder) for name in names]
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
    result = _run(experiment, k, data, plans, columns, options)
    published = PublishedTables(folder, experiment, k)
    rows = {"": names}
    if experiment == 4:
        rows = {name: list(dict.fromkeys(row for row, _ in plans[name])) for name in names}
    blocks = [make_block(result, published, name, own, columns) for name, own in rows.items()]
    notes = {each.name: each.notes for each in data if each.notes}
    own_k = None if experiment == 2 else k
    return Reproduction(experiment, own_k, blocks, result, baselines(experiment, columns), notes)


def _chosen(kind: str, asked: Iterable[str] | None, known: Sequence[str]) -> list[str]:
    """Return the names that were asked for, in the order of the experiment."""
    if asked is None:
        return list(known)
    found = {look_up(each, {name: name for name in known}, kind) for each in asked}
    return [each for each in known if each in found]


def _run(
    experiment: int,
    k: int,
    data: list[DataSet],
    plans: dict[str, Plan],
    columns: list[str],
    options: dict[str, Any],
) -> BenchmarkResult:
    """Return all cells.

    Learners that do not depend on k are fitted once and judged for all published k, so that a
    later run for another k finds their cells in the store.
    """
    groups = [[each] for each in data] if experiment == 4 else [data]
    all_ks = PUBLISHED_KS if k in PUBLISHED_KS else (k,)
    cells = []
    for group in groups:
        fits = plans[group[0].name]
        models = {_name(experiment, *at): m for at, m in fits.items() if at[1] in columns}
        tied = {name: model for name, model in models.items() if is_tied_to_k(model)}
        others = {name: model for name, model in models.items() if name not in tied}
        for part, ks in ((others, all_ks), (tied, (k,))):
            if part:
                cells += run(part, group, n_neighbors=ks, **options).cells
    return BenchmarkResult([cell for cell in cells if cell.n_neighbors in (None, k)])


def _name(experiment: int, row: str, column: str) -> str:
    return f"{column}{DIMENSION_SEPARATOR}{row}" if experiment == 4 else column
