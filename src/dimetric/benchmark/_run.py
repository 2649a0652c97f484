"""Many learners on many data sets, fold by fold, in one table that survives any interruption."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import joblib
import numpy as np
from sklearn.base import is_classifier

from dimetric.benchmark._cells import Fit, SplitDataSet
from dimetric.benchmark._inputs import check_options, data_sets_of, models_of, split_data_sets
from dimetric.benchmark._result import BenchmarkResult
from dimetric.benchmark._scheduler import Callback, Control, Job, Scheduler, learner_key
from dimetric.benchmark._store import Cell, Store
from dimetric.selection._knn_scores import checked_neighbors

__all__ = ["run"]


def run(
    learners: Mapping[str, Any] | Iterable[Any],
    data_sets: Mapping[str, Any] | Iterable[Any],
    *,
    n_neighbors: int | Iterable[int] = 3,
    cv: Any = 10,
    n_repeats: int = 1,
    fold_column: str | None = None,
    scale: str | None = "fold",
    param_grids: Mapping[str, Any] | None = None,
    tuning_cv: int = 5,
    time_budget: float | None = None,
    store: Store | str | Path | None = None,
    retry: bool = False,
    random_state: int = 0,
    n_jobs: int | None = None,
    folder: str | Path | None = None,
    callback: Callback | None = None,
    stop: Callable[[list[Cell]], bool] | None = None,
    drop: Callable[[list[Cell]], Iterable[str]] | None = None,
) -> BenchmarkResult:
    """Judge many learners on many data sets by repeated, stratified cross-validation.

    A fit that fails does not end the run: its cell says what went wrong. With a store, each cell
    is durable the moment it is finished: a run that was killed continues from there when it is
    started again with the same arguments, and ends with the same table. Processes that share a
    store share the work.

    Parameters
    ----------
    learners : mapping of names to learners, or iterable
        Learners of a distance, which are judged by nearest neighbours; classifiers, which are
        judged by their own predictions; names of either, such as "NCA". None or "Euclidean" is the
        Euclidean distance.
    data_sets : mapping of names to data sets, or iterable
        Each a :class:`~dimetric.data.DataSet`, a pair (X, y), or a name that
        :func:`~dimetric.data.load_data_set` knows.
    n_neighbors : int or iterable of int, default=3
        Numbers of neighbours. A learner is fitted once for all of them.
    cv : int, splitter or iterable of (train, test), default=10
        Number of stratified folds, shuffled by `random_state`; or a splitter of scikit-learn. If
        the smallest class has fewer members than folds, there are fewer folds, with a warning.
    n_repeats : int, default=1
        How often the samples are split into `cv` folds. Must be 1 if `cv` is not an int.
    fold_column : str or None, default=None
        Name of a column in ``extra`` of the data sets that holds the number of the test fold of
        each sample. Data sets that have it are split by it, others by `cv`.
    scale : {"fold", "set"} or None, default="fold"
        Scale features to [0, 1] by the training samples of each fold, or by all samples, test
        samples included, as many published results did; or not at all.
    param_grids : mapping of learners' names to grids, optional
        Parameters to choose from inside each fold, as :func:`~dimetric.selection.tune` takes
        them, by the score of the (first number of) nearest neighbours.
    tuning_cv : int, default=5
        Number of folds of that choice.
    time_budget : float or None, default=None
        Seconds after which a fit is killed; its cell has the status "timeout".
    store : Store, path or None, default=None
        Where finished cells are kept: a file, made if it does not exist. None keeps none. A cell
        is identified by samples, split, parameters and code: that of dimetric, and that of
        learners and functions that are not installed, such as those of a script. If either
        changes, it is computed again; a new version of another package does not count.
    retry : bool, default=False
        Whether to repeat cells of the store that are not "ok".
    random_state : int, default=0
        Seed of the folds, and of all learners that have none. It must be a number, so that a run
        that is started again finds its cells.
    n_jobs : int or None, default=None
        Number of processes, as joblib counts them. Scores do not depend on it. None fits in this
        process, unless there is a time budget: this saves the two seconds in which a process
        starts, but a fit that crashes the interpreter ends the run. In a process of its own,
        its cell would be "crashed".
    folder : path, optional
        Folder that is searched for data sets by name.
    callback : callable, optional
        Called as ``callback(n_done, n_all, cell)`` after each fit, and with None at the start.
    stop : callable, optional
        Called as ``stop(cells)`` at the start and after each fit, with all cells that are
        finished, those of the store included. If it returns True, the run ends: processes that
        still fit are killed, and the table holds what is finished.
    drop : callable, optional
        Called as ``drop(cells)`` at the same times. Returns names of learners that are not to be
        fitted any more. Processes that fit one of them are killed; finished cells stay.

    Returns
    -------
    BenchmarkResult
        Cells sorted by data sets, splits, learners and numbers of neighbours, each in the order
        given.

    Examples
    --------
    >>> from dimetric import LDA, benchmark
    >>> found = benchmark.run([None, LDA()], ["iris", "wine"], cv=5)
    >>> found
    BenchmarkResult(20 cells: 20 ok)
    >>> np.round(found.scores().values, 2)
    array([[0.95, 0.96],
           [0.97, 0.99]])
    """
    check_options(scale, time_budget, random_state, n_jobs)
    fits = _fits(models_of(learners), checked_neighbors(n_neighbors), param_grids, tuning_cv)
    sets = data_sets_of(data_sets, folder)
    split_by = {"cv": cv, "n_repeats": n_repeats, "random_state": random_state}
    jobs = _jobs(fits, split_data_sets(sets, fold_column, scale, **split_by), random_state)
    opened = store if isinstance(store, Store) else Store(store)
    try:
        n_workers = None if n_jobs is None else joblib.effective_n_jobs(n_jobs)
        Scheduler(opened, jobs, retry, Control(callback, stop, drop)).run(n_workers, time_budget)
        return BenchmarkResult([cell for job in jobs for cell in job.cells(opened.get(job.keys))])
    finally:
        if opened is not store:
            opened.close()


def _fits(
    models: dict[str, Any],
    ks: tuple[int, ...],
    param_grids: Mapping[str, Any] | None,
    tuning_cv: int,
) -> dict[str, Fit]:
    """Return by name how each learner is fitted and judged; the split is set later."""
    grids = dict(param_grids or {})
    unknown = set(grids) - set(models)
    if unknown:
        raise ValueError(f"param_grids has {sorted(unknown)}, but no learner has this name.")
    fits = {}
    for name, model in models.items():
        own_ks = (None,) if model is not None and is_classifier(model) else ks
        fits[name] = Fit(name, model, own_ks, 0, 0, grids.get(name), tuning_cv, own_ks[0])
    return fits


def _jobs(fits: dict[str, Fit], sets: list[SplitDataSet], random_state: int) -> list[Job]:
    """Return a job for each data set, split and learner."""
    keys = {name: learner_key(fit) for name, fit in fits.items()}
    jobs = []
    for data in sets:
        for split in range(len(data.splits)):
            # A seed for each split, so that no result depends on what ran before it.
            seed = int(np.random.SeedSequence([random_state, split]).generate_state(1)[0])
            for name, fit in fits.items():
                jobs.append(Job(data, replace(fit, split=split, seed=seed), keys[name]))
    return jobs
