"""Many learners on many data sets, fold by fold, in one table that survives any interruption."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import joblib
import numpy as np
from sklearn.base import is_classifier

from dimetric.benchmark._cells import Fit
from dimetric.benchmark._given import (
    check_options,
    data_sets_of,
    models_of,
    problem_of,
)
from dimetric.benchmark._scheduler import Job, Run, Watch, learner_key
from dimetric.benchmark._store import Cell, Store
from dimetric.selection._cross_validation import checked_neighbors

__all__ = ["Comparison", "Scores", "compare"]


class Scores(NamedTuple):
    """Means over the folds: a row for each data set, a column for each learner."""

    data: list[str]
    learners: list[str]
    values: np.ndarray


@dataclass(frozen=True, eq=False)
class Comparison:
    """The table of a comparison.

    Attributes
    ----------
    cells : list of Cell
        One for each data set, split, learner and number of neighbours.
    """

    cells: list[Cell]

    def __repr__(self) -> str:
        counts = {status: 0 for status in ("ok", "failed", "timeout", "crashed")}
        for cell in self.cells:
            counts[cell.status] += 1
        told = ", ".join(f"{n} {status}" for status, n in counts.items() if n)
        return f"Comparison({len(self.cells)} cells: {told})"

    def frame(self) -> Any:
        """Return the table as a pandas data frame, a row for each cell."""
        import pandas as pd

        return pd.DataFrame(self.cells, columns=Cell._fields)

    def scores(self, what: str = "test", n_neighbors: int | None = None) -> Scores:
        """Return the means over folds.

        Parameters
        ----------
        what : {"train", "test", "time", "memory"}, default="test"
            What is averaged.
        n_neighbors : int or None, default=None
            Of which number of neighbours; None if there is but one. Classifiers of another kind
            are there in any case.

        Returns
        -------
        Scores
            NaN where a learner has failed in some fold.
        """
        if what not in ("train", "test", "time", "memory"):
            raise ValueError(f"what={what!r} must be 'train', 'test', 'time' or 'memory'.")
        kinds = {cell.n_neighbors for cell in self.cells if cell.n_neighbors is not None}
        if n_neighbors is None and len(kinds) > 1:
            raise ValueError(f"Say by n_neighbors which of {sorted(kinds)} is meant.")
        cells = self._judged_by(n_neighbors)
        data = list(dict.fromkeys(cell.data for cell in cells))
        learners = list(dict.fromkeys(cell.learner for cell in cells))
        found: dict[tuple[str, str], list[float]] = {}
        for cell in cells:
            value = getattr(cell, what) if cell.status == "ok" else np.nan
            found.setdefault((cell.data, cell.learner), []).append(value)
        values = [[np.mean(found.get((row, column), np.nan)) for column in learners]
                  for row in data]  # fmt: skip
        return Scores(data, learners, np.array(values, dtype=np.float64))

    def _judged_by(self, n_neighbors: int | None) -> list[Cell]:
        """Return the cells of a number of neighbours, and of classifiers that have none."""
        if n_neighbors is None:
            return self.cells
        return [cell for cell in self.cells if cell.n_neighbors in (None, n_neighbors)]


def compare(
    learners: Mapping[str, Any] | Iterable[Any],
    data: Mapping[str, Any] | Iterable[Any],
    *,
    n_neighbors: int | Iterable[int] = 3,
    n_folds: int = 10,
    n_repeats: int = 1,
    folds: str | None = None,
    scale: str | None = "fold",
    params: Mapping[str, Any] | None = None,
    n_tuning_folds: int = 5,
    time_budget: float | None = None,
    store: Store | str | Path | None = None,
    retry: bool = False,
    random_state: int = 0,
    n_jobs: int | None = None,
    folder: str | Path | None = None,
    watch: Watch | None = None,
) -> Comparison:
    """Judge many learners on many data sets by repeated, stratified cross-validation.

    What goes wrong in a fit is told by its cell, and the others go on. With a store, each cell is
    durable the moment it is finished: a run that was killed goes on from there when it is started
    again with the same arguments, and ends with the same table. Processes that share a store share
    the work.

    Parameters
    ----------
    learners : mapping of names to learners, or iterable
        Learners of a distance, which are judged by nearest neighbours; classifiers, which are
        judged by themselves; names of either, such as "NCA"; None or "Euclidean" is no learner.
    data : mapping of names to data sets, or iterable
        Each a :class:`~dimetric.data.DataSet`, a pair (X, y), or a name that
        :func:`~dimetric.data.load_data_set` knows.
    n_neighbors : int or iterable of int, default=3
        Numbers of neighbours; a learner is fitted once for all of them.
    n_folds, n_repeats : int, default=10, 1
        Number of folds, and how often the samples are split anew. There are no more folds than the
        smallest class has members, which a warning tells.
    folds : str or None, default=None
        Name of a column in ``extra`` of the data sets that holds the number of the test fold of
        each sample: such splits are used where they are.
    scale : {"fold", "set"} or None, default="fold"
        Features are scaled to [0, 1] by the training samples of the fold, or by all samples, test
        samples included, as many published results were; or not at all.
    params : mapping of learners' names to grids, optional
        Values of parameters to choose from inside each fold, as :func:`~dimetric.selection._tune`
        takes them, by the score of the (first number of) nearest neighbours.
    n_tuning_folds : int, default=5
        Folds of that choice.
    time_budget : float or None, default=None
        Seconds after which a fit is killed; its cell has the status "timeout".
    store : Store, path or None, default=None
        Where finished cells are kept: a file, made if it is not there. None keeps none. A cell is
        known again by samples, split, parameters and code: of dimetric, and of learners and
        functions that are not installed, as those of a script. A change in either computes it anew;
        a new version of another package does not.
    retry : bool, default=False
        Whether cells of the store that are not "ok" are computed again.
    random_state : int, default=0
        Of the folds, and of all learners that are given none.
    n_jobs : int or None, default=None
        Processes, as joblib counts them. Scores do not depend on it. None fits in this process,
        unless there is a time budget: that saves the two seconds in which another starts, but a
        fit that crashes the interpreter ends the run, where else its cell is "crashed".
    folder : path, optional
        Where data sets are looked for by name.
    watch : callable, optional
        Called as ``watch(n_done, n_all, cell)`` after each fit, and with None at the start.

    Returns
    -------
    Comparison
        Cells sorted as data sets, splits, learners and numbers of neighbours are given.

    Examples
    --------
    >>> from dimetric import LDA
    >>> found = compare([None, LDA()], ["iris", "wine"], n_folds=5)
    >>> found
    Comparison(20 cells: 20 ok)
    >>> np.round(found.scores().values, 2)
    array([[0.95, 0.96],
           [0.97, 0.99]])
    """
    models = models_of(learners)
    unknown = set(params or {}) - set(models)
    if unknown:
        raise ValueError(f"params has a grid for {sorted(unknown)}, which is no learner here.")
    ks = checked_neighbors(n_neighbors)
    check_options(scale, time_budget, random_state, n_jobs)
    split_by = {"n_folds": n_folds, "n_repeats": n_repeats, "random_state": random_state}
    sets = data_sets_of(data, folder)
    if folds is not None and not any(folds in each.extra for each in sets.values()):
        extra = dict.fromkeys(name for each in sets.values() for name in each.extra)
        raise ValueError(f"No data set has a column {folds!r} in extra: {list(extra)} are there.")
    problems = [problem_of(name, each, folds, scale, split_by) for name, each in sets.items()]
    fits = {}
    for name, model in models.items():
        of_learner = (None,) if model is not None and is_classifier(model) else ks
        grid = (params or {}).get(name)
        fits[name] = Fit(name, model, of_learner, 0, 0, grid, n_tuning_folds, of_learner[0])
    keys = {name: learner_key(fit) for name, fit in fits.items()}
    jobs = []
    for problem in problems:
        for split in range(len(problem.splits)):
            # A state for each split, so that no result depends on what ran before it.
            seed = int(np.random.SeedSequence([random_state, split]).generate_state(1)[0])
            for name, fit in fits.items():
                jobs.append(Job(problem, replace(fit, split=split, seed=seed), keys[name]))
    opened = store if isinstance(store, Store) else Store(store)
    try:
        Run(opened, jobs, retry, watch).finish(
            None if n_jobs is None else joblib.effective_n_jobs(n_jobs), time_budget
        )
        found = [(job, opened.get(job.keys)) for job in jobs]
    finally:
        if opened is not store:
            opened.close()
    return Comparison(
        [job.cell(k, cells[key]) for job, cells in found for key, k in job.keys.items()]
    )
