"""Choose the best learner within a time budget, and test it against the Euclidean distance."""

import warnings
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from math import ceil
from time import perf_counter
from typing import Any

import joblib
import numpy as np

from dimetric.advice._candidates import candidate_grid, candidate_learners
from dimetric.advice._race import (
    LEARNER_PREFIX,
    Callback,
    RaceOptions,
    pipeline_grid,
    run_final,
    run_race,
    scores_on_common_folds,
)
from dimetric.advice._seeds import MAX_SEED
from dimetric.advice._settings import SETTINGS
from dimetric.advice._stratified import stratified_rows
from dimetric.benchmark._cells import seeded
from dimetric.data._fold_encoder import FoldEncoder
from dimetric.learners._base import with_objects
from dimetric.report._records import BASELINE, Choice
from dimetric.selection._splits import check_groups, splits
from dimetric.selection._tune import tune
from dimetric.stats._bayes import correlated_t_test

__all__ = ["choose"]


def choose(
    X: np.ndarray,
    y: np.ndarray,
    learners: Mapping[str, Any] | None = None,
    *,
    seconds: float = 60.0,
    n_neighbors: int = 3,
    cv: int = 5,
    rope: float = 0.01,
    random_state: int = 0,
    n_jobs: int | None = None,
    callback: Callback | None = None,
    groups: np.ndarray | None = None,
    encoder: FoldEncoder | None = None,
    option: str = "n_neighbors",
) -> Choice:
    """Find the most accurate learner, and test whether it beats the Euclidean distance.

    1. Race: cross-validate all learners in the same folds. In each fold, features are scaled to
       [0, 1] on the training samples.
    2. Final: cross-validate the best learner and the Euclidean distance in new folds. The
       learner's parameters are tuned within each fold. With 1,000 samples or more, the final uses
       samples that the race did not use.
    3. Tuning: choose the parameters of the best learner on the samples of the race.

    Parameters
    ----------
    X, y : ndarray of shape (n_samples, n_features) and (n_samples,)
        Samples and their classes. Each class has at least `cv` members.
    learners : mapping of names to learners, optional
        Learners to compare. By default, all learners that are fast enough for data of this size.
    seconds : float, default=60.0
        Approximate time for all three steps.
    n_neighbors, cv, rope, n_jobs, callback
        As in :func:`dimetric.compare`.
    random_state : int, default=0
        Seed for selecting samples, splitting folds and fitting learners.
    groups : ndarray of shape (n_samples,), optional
        Group of each sample. No group is split between race and final, or between the training and
        test samples of a fold.
    encoder : FoldEncoder, optional
        Encodes the columns of X as features. It is fitted to the training samples of each fold.
    option : str, default="n_neighbors"
        Name of the option that sets `n_neighbors`, used in error messages.

    Examples
    --------
    >>> from dimetric import LDA, PCA
    >>> from sklearn.datasets import load_wine
    >>> choice = choose(*load_wine(return_X_y=True), {"LDA": LDA(), "PCA": PCA(2)})
    >>> choice.best, round(choice.mean_scores["LDA"], 2)
    ('LDA', 0.99)
    """
    started = perf_counter()
    max_rows = int(SETTINGS.race_rows_per_root_second * seconds**0.5)
    n_features = X.shape[1] if encoder is None else encoder.n_features
    race, final = _split_rows(X, y, max_rows, cv, random_state, groups)
    models = _models(learners, len(race), n_features)
    _check_neighbor_count(n_neighbors, min(len(race), len(final)), cv, option)
    n_processes = _n_processes(len(race), n_features, n_jobs)
    options = RaceOptions(n_neighbors, cv, n_processes, random_state, callback, None, encoder)
    final_options = options
    if groups is not None:
        options, final_options = (replace(options, groups=groups[rows]) for rows in (race, final))
    cells, dropped = run_race(models, X[race], y[race], SETTINGS.race_fraction * seconds, options)
    scores, fit_seconds, dropped = scores_on_common_folds(cells, models, dropped)
    best = max((each for each in scores if each != BASELINE), key=lambda each: scores[each].mean())
    seconds_left = seconds - (perf_counter() - started)
    grid, final_scores, n_repeats = _final(
        best,
        models[best],
        X[final],
        y[final],
        fit_seconds[best],
        SETTINGS.final_fraction / (1 - SETTINGS.race_fraction) * seconds_left,
        final_options,
    )
    params = _best_params(models[best], X[race], y[race], grid, options)
    posterior = correlated_t_test(
        final_scores[BASELINE], final_scores[best], rope, random_state, n_repeats=n_repeats
    )
    return Choice(
        best=best,
        learner=seeded(models[best], random_state).set_params(**params),
        params=params,
        scores=scores,
        fit_seconds=fit_seconds,
        dropped=dropped,
        final_scores=final_scores,
        n_repeats=n_repeats,
        judged_on_unseen_rows=not np.array_equal(race, final),
        n_race_rows=len(race),
        n_final_rows=len(final),
        posterior=posterior,
    )


def _models(learners: Mapping[str, Any] | None, n_samples: int, n_features: int) -> dict[str, Any]:
    """Return the learners of the race by name, the Euclidean baseline (None) first."""
    if learners is None:
        learners = candidate_learners(n_samples, n_features)
    # Grids contain kernel parameters such as kernel__gamma, which need a Kernel object.
    others = {
        name: with_objects(each, ["kernel"]) for name, each in learners.items() if each is not None
    }
    if not others:
        raise ValueError("learners contains only Euclidean. Add a learner to compare it with.")
    return {BASELINE: None} | others


def _n_training_rows(n_rows: int, n_folds: int) -> int:
    """Return the size of the smallest training set in a cross-validation."""
    return n_rows - ceil(n_rows / n_folds)


def _check_neighbor_count(k: int, n_rows: int, cv: int, option: str) -> None:
    n_train = _n_training_rows(n_rows, cv)
    if k >= n_train:  # a training row has n_train - 1 possible neighbours
        raise ValueError(
            f"{option} must be at most {n_train - 1}, not {k}, because only {n_train} rows are "
            "used for training in each fold."
        )


def _split_rows(
    X: np.ndarray,
    y: np.ndarray,
    max_rows: int,
    cv: int,
    seed: int,
    groups: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows of the race and of the final.

    They are disjoint, and no group has rows in both, if there are enough rows and groups.
    """
    n, rows = len(X), np.arange(len(X))
    if n < SETTINGS.min_rows_to_split:
        return rows, rows
    max_rows_in_memory = max(SETTINGS.min_race_rows, SETTINGS.max_race_values // X.shape[1])
    max_rows = min(max_rows, max_rows_in_memory, n // 2)
    rng = np.random.default_rng(seed)
    if groups is not None:
        return _split_groups(groups, y, max_rows, cv, rng)
    race = stratified_rows(rows, y, max_rows, cv, rng)
    unused = np.setdiff1d(rows, race)
    classes, counts = np.unique(y[unused], return_counts=True)
    unused = unused[np.isin(y[unused], classes[counts >= cv])]
    if len(np.unique(y[unused])) < 2:
        return race, race
    return race, stratified_rows(unused, y, max_rows, cv, rng)


def _split_groups(
    groups: np.ndarray, y: np.ndarray, max_rows: int, cv: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Return rows of the race and of the final that have no group in common, if possible."""
    sample = stratified_rows(np.arange(len(y)), y, 2 * max_rows, 2 * cv, rng)
    seed = int(rng.integers(MAX_SEED))
    with suppress(ValueError):  # each class has a single group
        folds, _ = splits(sample, y[sample], 2, random_state=seed, groups=groups[sample])
        race, final = folds[0]
        halves = sample[race], sample[final]
        if all(_can_be_split(groups[half], y[half], y, cv) for half in halves):
            return halves
    sample = stratified_rows(np.arange(len(y)), y, max_rows, cv, rng)
    if len(np.unique(groups[sample])) < cv:  # the sample has left out small groups
        sample = np.union1d(sample, np.unique(groups, return_index=True)[1])
    return sample, sample


def _can_be_split(groups: np.ndarray, y: np.ndarray, all_y: np.ndarray, cv: int) -> bool:
    """Return whether rows have enough groups, and enough rows of each class, for the folds."""
    classes, counts = np.unique(y, return_counts=True)
    has_all_classes = len(classes) == len(np.unique(all_y))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            check_groups(groups, y, cv)
        except (ValueError, UserWarning):
            return False
    return has_all_classes and int(counts.min()) >= cv


def _final(
    best: str,
    learner: Any,
    X: np.ndarray,
    y: np.ndarray,
    fit_seconds: float,
    seconds: float,
    options: RaceOptions,
) -> tuple[dict[str, list[Any]], dict[str, np.ndarray], int]:
    """Run the final. Return its parameter grid, the scores, and the number of repeats."""
    smallest_class = np.min(np.unique(y, return_counts=True)[1])
    n_tuning_rows = _n_training_rows(_n_training_rows(len(y), options.cv), SETTINGS.tuning_folds)
    can_tune = (
        smallest_class >= SETTINGS.min_tuning_members
        and options.n_neighbors <= n_tuning_rows
        # With two folds, the training rows of a fold may be a single group.
        and (options.groups is None or options.cv > 2)
    )
    n_features = X.shape[1] if options.encoder is None else options.encoder.n_features
    grid = candidate_grid(learner, n_features) if can_tune else {}
    grid, n_repeats = _limit_to_time(grid, fit_seconds, seconds, options)
    scores, n_repeats = run_final(
        {BASELINE: None, best: learner},
        X,
        y,
        seconds,
        replace(options, random_state=options.random_state + 1),  # not the folds of the race
        param_grids={best: grid} if grid else None,
        n_repeats=n_repeats,
    )
    return grid, scores, n_repeats


def _n_processes(n_rows: int, n_features: int, n_jobs: int | None) -> int | None:
    """Return the number of worker processes, or None if fits are too short to need any."""
    if n_rows**2 * n_features <= SETTINGS.max_in_process_work:
        return None
    wanted = joblib.effective_n_jobs(-1 if n_jobs is None else n_jobs)
    return int(min(SETTINGS.max_processes, wanted))


def _limit_to_time(
    grid: dict[str, list[Any]], fit_seconds: float, seconds: float, options: RaceOptions
) -> tuple[dict[str, list[Any]], int]:
    """Shrink a parameter grid until it fits the time. Return the grid and the number of repeats."""
    n_fits = (
        seconds * (options.n_jobs or 1) / max(fit_seconds, SETTINGS.min_fit_seconds) / options.cv
    )
    size = _n_combinations(grid)
    while grid and size * SETTINGS.tuning_folds + 1 > n_fits:
        longest = max(grid, key=lambda name: len(grid[name]))
        grid = {name: values[:-1] if name == longest else values for name, values in grid.items()}
        size = _n_combinations(grid)
        if size == 1:
            grid = {}
    fits_per_fold = size * SETTINGS.tuning_folds + 1 if grid else 1
    return grid, int(np.clip(n_fits // fits_per_fold, 1, SETTINGS.max_final_repeats))


def _n_combinations(grid: dict[str, list[Any]]) -> int:
    return int(np.prod([len(values) for values in grid.values()]))


def _best_params(
    learner: Any, X: np.ndarray, y: np.ndarray, grid: dict[str, list[Any]], options: RaceOptions
) -> dict[str, Any]:
    """Return the values in the grid that give the best cross-validated accuracy."""
    if not grid:
        return {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        search = tune(
            options.pipeline(learner),
            X,
            y,
            pipeline_grid(grid),
            groups=np.arange(len(y)) if options.groups is None else options.groups,
            cv=SETTINGS.tuning_folds,
            random_state=options.random_state,
        )
    return {name.removeprefix(LEARNER_PREFIX): value for name, value in search.best_params_.items()}
