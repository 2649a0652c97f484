"""Benchmark learners on data sets, fold by fold, and resume interrupted runs."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import joblib
import numpy as np
from sklearn.base import is_classifier, is_regressor

from dimetric._arguments import check_types
from dimetric.benchmark._cell import Cell
from dimetric.benchmark._cells import Fit, SplitDataSet
from dimetric.benchmark._inputs import (
    check_options,
    check_score,
    data_sets_of,
    models_of,
    split_data_sets,
)
from dimetric.benchmark._result import BenchmarkResult
from dimetric.benchmark._scheduler import Callback, Hooks, Job, Scheduler, learner_key
from dimetric.benchmark._store import Store
from dimetric.selection._class_scores import CLASS_SCORES
from dimetric.selection._knn_scores import checked_neighbors

__all__ = ["run"]


@check_types
def run(
    learners: Mapping[str, Any] | Iterable[Any],
    data_sets: Mapping[str, Any] | Iterable[Any],
    *,
    n_neighbors: int | Iterable[int] = 3,
    cv: Any = 10,
    n_repeats: int = 1,
    fold_column: str | None = None,
    groups: Any = None,
    scale: str | None = "fold",
    score: str = "accuracy",
    param_grids: Mapping[str, Any] | None = None,
    tuning_cv: int = 5,
    time_budget: float | None = None,
    store: Store | str | Path | None = None,
    retry: bool = False,
    random_state: Any = 0,
    n_jobs: int | None = None,
    folder: str | Path | None = None,
    callback: Callback | None = None,
    stop: Callable[[list[Cell]], bool] | None = None,
    drop: Callable[[list[Cell]], Iterable[str]] | None = None,
) -> BenchmarkResult:
    """Evaluate learners on data sets by repeated, stratified cross-validation.

    If a fit fails, the run continues, and the cell of the result records the error. If a store is
    given, each finished cell is saved immediately. A run that was killed resumes when it is started
    again with the same arguments, and returns the same result. Processes that use the same store
    share the work.

    Parameters
    ----------
    learners : mapping of names to learners, or iterable
        Distance metric learners, classifiers, or their names, such as "NCA". None or "Euclidean"
        is the Euclidean distance. A metric learner is scored by the accuracy of nearest neighbours
        under its distance, a classifier by the accuracy of its predictions.
    data_sets : mapping of names to data sets, or iterable
        Each data set is a :class:`~dimetric.data.DataSet`, a pair (X, y), or a name accepted by
        :func:`~dimetric.data.load_data_set`.
    n_neighbors : int or iterable of int, default=3
        Numbers of neighbours. Each learner is fitted once for all of them.
    cv : int, splitter or iterable of (train, test), default=10
        Number of stratified folds, shuffled with `random_state`, or a scikit-learn splitter. If
        the smallest class has fewer samples than folds, fewer folds are used and a warning is
        issued.
    n_repeats : int, default=1
        Number of times that the samples are split into folds. Must be 1 if `cv` is not an int.
    fold_column : str or None, default=None
        Name of a column in ``extra`` that contains the test fold of each sample. Data sets without
        this column are split by `cv`.
    groups : mapping of names of data sets to array-like, or str, optional
        Group of each sample, or the name of a column in ``extra`` that contains it. Samples of one
        group are never in both the training and the test part of a fold, neither in the folds of
        `cv` nor in those of the tuning. A splitter given as `cv` receives the groups. If a data
        set has no groups and `cv` is an int, copies of a sample form a group, as in
        :func:`~dimetric.selection.cross_validate`.
    scale : {"fold", "set"} or None, default="fold"
        How to scale features to [0, 1]. "fold" uses the training samples of each fold, and those of
        each inner fold for tuning. "set" uses
        all samples, including test samples, as in many published results. None does not scale.
    score : {"accuracy", "balanced_accuracy", "f1_macro", "r2", "mae"}, default="accuracy"
        Score of the predictions. "balanced_accuracy" is the mean of the recalls of the classes, and
        "f1_macro" the mean of their F1 scores. "r2" and "mae" require regressors and data sets of
        numbers, and the folds are not stratified. "mae" is the mean absolute error with a minus
        sign, so that greater is better. "r2" is the coefficient of determination,
        1 - (mean squared error in the fold) / (variance of the targets of the whole data set). All
        folds have the same denominator, because the variance within a small fold is noisy. So
        the mean over folds of equal size is R2 of all cross-validated predictions.
    param_grids : mapping of learners' names to grids, optional
        Grids of parameters to tune within each fold by :func:`~dimetric.selection.tune`. Metric
        learners are tuned for `score` with the first value of `n_neighbors`, classifiers and
        regressors for `score`.
    tuning_cv : int, default=5
        Number of folds for tuning.
    time_budget : float or None, default=None
        Time limit for each fit, in seconds. A fit that exceeds it is killed, and its cell has the
        status "timeout".
    store : Store, path or None, default=None
        File in which finished cells are saved. It is created if it does not exist. If None, cells
        are not saved. A saved cell is reused if its samples, split, parameters and code are
        unchanged. The code is dimetric itself, and any learners and functions defined outside
        installed packages, for example in a script. Versions of other packages are ignored.
    retry : bool, default=False
        Whether to repeat the cells in the store whose status is not "ok".
    random_state : int, default=0
        Random seed of the folds, and of learners whose ``random_state`` is None. It must be an
        integer, so that a resumed run finds its cells.
    n_jobs : int or None, default=None
        Number of worker processes, interpreted as by joblib. It does not affect the scores. If None
        and there is no time budget, learners are fitted in the current process. This avoids the
        two seconds it takes to start a worker, but a fit that crashes the interpreter ends the run.
        In a worker process, a crash only sets the status of the cell to "crashed".
    folder : path, optional
        Folder in which data sets are looked up by name.
    callback : callable, optional
        Called as ``callback(n_done, n_all, cell)`` after each fit. At the start, it is called with
        ``cell=None``.
    stop : callable, optional
        Called as ``stop(cells)`` at the start and after each fit, with all finished cells,
        including cells from the store. If it returns True, running fits are killed and the run
        returns the finished cells.
    drop : callable, optional
        Called as ``drop(cells)`` at the same times as `stop`. Returns the names of learners to
        drop. They are not fitted any more, and their running fits are killed. Finished cells are
        kept.

    Returns
    -------
    BenchmarkResult
        Cells in the order of data sets, splits, learners and numbers of neighbours.

    Examples
    --------
    >>> from dimetric import LDA, benchmark
    >>> result = benchmark.run([None, LDA()], ["iris", "wine"], cv=5)
    >>> result
    BenchmarkResult(20 cells: 20 ok)
    >>> np.round(result.scores().values, 2)
    array([[0.95, 0.96],
           [0.97, 0.99]])
    """
    check_options(scale, time_budget, random_state, n_jobs)
    models = models_of(learners)
    check_score(score, models)
    fits = _fits(models, checked_neighbors(n_neighbors), param_grids, tuning_cv, score)
    sets = data_sets_of(data_sets, folder)
    split_by = {"cv": cv, "n_repeats": n_repeats, "random_state": random_state}
    split_by["stratify"] = score in CLASS_SCORES
    split_sets = split_data_sets(sets, fold_column, scale, groups, score, **split_by)
    jobs = _jobs(fits, split_sets, random_state)
    opened = store if isinstance(store, Store) else Store(store)
    try:
        n_workers = None if n_jobs is None else joblib.effective_n_jobs(n_jobs)
        Scheduler(opened, jobs, retry, Hooks(callback, stop, drop)).run(n_workers, time_budget)
        return BenchmarkResult([cell for job in jobs for cell in job.cells(opened.get(job.keys))])
    finally:
        if opened is not store:
            opened.close()


def _fits(
    models: dict[str, Any],
    ks: tuple[int, ...],
    param_grids: Mapping[str, Any] | None,
    tuning_cv: int,
    score: str,
) -> dict[str, Fit]:
    """Return a template fit for each learner. Split and seed are set later."""
    grids = dict(param_grids or {})
    unknown = set(grids) - set(models)
    if unknown:
        raise ValueError(
            f"param_grids has keys {sorted(unknown)}, which are not names of learners. The "
            f"learners are {list(models)}."
        )
    fits = {}
    for name, model in models.items():
        predicts = model is not None and (is_classifier(model) or is_regressor(model))
        fit_ks = (None,) if predicts else ks
        fits[name] = Fit(name, model, fit_ks, 0, 0, grids.get(name), tuning_cv, fit_ks[0], score)
    return fits


def _jobs(fits: dict[str, Fit], sets: list[SplitDataSet], random_state: int) -> list[Job]:
    """Return a job for each data set, split and learner."""
    keys = {name: learner_key(fit) for name, fit in fits.items()}
    jobs = []
    for data in sets:
        for split in range(len(data.splits)):
            # Each split has its own seed, so that results do not depend on the order of the fits.
            seed = int(np.random.SeedSequence([random_state, split]).generate_state(1)[0])
            for name, fit in fits.items():
                jobs.append(Job(data, replace(fit, split=split, seed=seed), keys[name]))
    return jobs
