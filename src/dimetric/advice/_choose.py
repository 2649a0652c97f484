"""Choose the best learner within a time budget, and test it against the Euclidean distance."""

import warnings
from collections.abc import Mapping
from dataclasses import replace
from math import ceil
from time import perf_counter
from typing import Any, NamedTuple

import joblib
import numpy as np

from dimetric.advice._candidates import candidate_grid, candidate_learners
from dimetric.advice._race import (
    common_folds,
    run_final,
    run_race,
    scores_on_common_folds,
)
from dimetric.advice._race_options import LEARNER_PREFIX, Callback, RaceOptions, pipeline_grid
from dimetric.advice._references import ReferenceScores, reference_scores
from dimetric.advice._selection import best_learner, selection_bias
from dimetric.advice._settings import SETTINGS
from dimetric.advice._split_rows import split_rows
from dimetric.benchmark._cells import seeded
from dimetric.data._fold_encoder import FoldEncoder
from dimetric.learners._base import with_objects
from dimetric.report._confusion import Confusion
from dimetric.report._records import BASELINE, Choice
from dimetric.report._task import CLASSIFICATION, Task
from dimetric.selection._tune import tune
from dimetric.stats._bayes import Posterior, correlated_t_test

__all__ = ["choose"]


def choose(
    X: np.ndarray,
    y: np.ndarray,
    learners: Mapping[str, Any] | None = None,
    *,
    seconds: float = 60.0,
    n_neighbors: int | str = "auto",
    scale: str = "auto",
    cv: int = 5,
    rope: float = 0.01,
    random_state: int = 0,
    n_jobs: int | None = None,
    callback: Callback | None = None,
    groups: np.ndarray | None = None,
    encoder: FoldEncoder | None = None,
    option: str = "n_neighbors",
    task: Task = CLASSIFICATION,
) -> Choice:
    """Find the learner with the best score, and test whether it beats the Euclidean distance.

    1. Race: cross-validate all learners in the same folds. In each fold, the training samples
       determine how features are scaled, and the number of neighbours.
    2. Final: cross-validate the best learner and the Euclidean distance in new folds. The
       learner's parameters are tuned within each fold. With 1,000 samples or more, the final uses
       samples that the race did not use. With fewer samples, the test subtracts an estimate of
       the luck of the best learner in the race.
    3. Tuning: choose the parameters of the best learner on the samples of the race.

    Numbers are predicted by nearest neighbours, too. Reference models of regression are then
    evaluated in the folds of the race. They cannot become the best learner.

    Parameters
    ----------
    X, y : ndarray of shape (n_samples, n_features) and (n_samples,)
        Samples, and their classes or numbers. Each class has at least `cv` members.
    learners : mapping of names to learners, optional
        Learners to compare. By default, all learners that are fast enough for data of this size.
    seconds : float, default=60.0
        Approximate time for all three steps.
    n_neighbors, scale, cv, rope, n_jobs, callback
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
    task : Task
        What y contains, and how predictions are scored. By default, classes and the accuracy.

    Examples
    --------
    >>> from dimetric import LDA, PCA
    >>> from sklearn.datasets import load_wine
    >>> choice = choose(*load_wine(return_X_y=True), {"LDA": LDA(), "PCA": PCA(2)})
    >>> choice.best, round(choice.mean_scores["LDA"], 2)
    ('LDA', 0.99)
    """
    started = perf_counter()
    options = RaceOptions(
        n_neighbors, cv, None, random_state, callback, groups, encoder, task, scale
    )
    race, final = _stages(X, y, seconds, n_jobs, options)
    _check_neighbor_count(n_neighbors, min(len(race.y), len(final.y)), cv, option)
    models = _models(learners, len(race.y), _n_features(X, encoder), task)
    cells, dropped = run_race(
        models, race.X, race.y, SETTINGS.race_fraction * seconds, race.options
    )
    scores, fit_seconds, dropped = scores_on_common_folds(cells, models, dropped)
    best = best_learner(scores)
    references = ReferenceScores({}, {}, {})
    if task.is_regression:
        folds, limit = common_folds(cells, scores), SETTINGS.reference_fraction * seconds
        references = reference_scores(race.X, race.y, folds, limit, race.options)
    seconds_left = seconds - (perf_counter() - started)
    seconds_left *= SETTINGS.final_fraction / (1 - SETTINGS.race_fraction)
    grid, final_scores, n_repeats, confusion = _final(
        best, models[best], final, fit_seconds[best], seconds_left
    )
    params = _best_params(models[best], race, grid)
    setting = race.options.setting(race.X, race.y)
    are_unseen = not np.array_equal(race.rows, final.rows)
    # Luck in the race does not make a learner worse than the baseline.
    lead = max(0.0, float(np.mean(final_scores[best] - final_scores[BASELINE])))
    bias = 0.0 if are_unseen else min(lead, selection_bias(scores, best))
    unbiased = final_scores | {best: final_scores[best] - bias}
    posterior, better_than_guess = _verdict(unbiased, best, final, rope, n_repeats)
    return Choice(
        best=best,
        learner=seeded(models[best], random_state).set_params(**params),
        params=params,
        scores=_in_units(scores, task),
        fit_seconds=fit_seconds,
        dropped=dropped | references.dropped,
        final_scores=_in_units(final_scores, task),
        n_repeats=n_repeats,
        judged_on_unseen_rows=are_unseen,
        n_race_rows=len(race.y),
        n_final_rows=len(final.y),
        posterior=posterior,
        selection_bias=bias,
        better_than_guess=better_than_guess,
        task=task,
        references=_in_units(references.scores, task),
        reference_seconds=references.fit_seconds,
        n_neighbors=setting.n_neighbors,
        scale=setting.scale,
        chosen_in_folds=options.chosen_in_folds,
        confusion=confusion,
    )


class _Stage(NamedTuple):
    """The rows of the race or the final, and its options."""

    rows: np.ndarray
    X: np.ndarray
    y: np.ndarray
    options: RaceOptions


def _stages(
    X: np.ndarray, y: np.ndarray, seconds: float, n_jobs: int | None, options: RaceOptions
) -> list[_Stage]:
    """Return the race and the final."""
    max_rows = int(SETTINGS.race_rows_per_root_second * seconds**0.5)
    groups, is_regression = options.groups, options.task.is_regression
    race, final = split_rows(
        X, y, max_rows, options.cv, options.random_state, groups, is_regression=is_regression
    )
    n_processes = _n_processes(len(race), _n_features(X, options.encoder), n_jobs)
    return [
        _Stage(
            rows,
            X[rows],
            y[rows],
            replace(options, n_jobs=n_processes, groups=None if groups is None else groups[rows]),
        )
        for rows in (race, final)
    ]


def _n_features(X: np.ndarray, encoder: FoldEncoder | None) -> int:
    return int(X.shape[1] if encoder is None else encoder.n_features)


def _in_units(scores: dict[str, np.ndarray], task: Task) -> dict[str, np.ndarray]:
    """Return the scores of a benchmark, in which errors have a minus sign, without this sign."""
    return scores if task.greater_is_better else {name: -each for name, each in scores.items()}


def _models(
    learners: Mapping[str, Any] | None, n_samples: int, n_features: int, task: Task
) -> dict[str, Any]:
    """Return the learners of the race by name, the Euclidean baseline (None) first."""
    if learners is None:
        learners = candidate_learners(n_samples, n_features, task.kind)
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


def _check_neighbor_count(k: int | str, n_rows: int, cv: int, option: str) -> None:
    n_train = _n_training_rows(n_rows, cv)
    if isinstance(k, int) and k >= n_train:  # a training row has n_train - 1 possible neighbours
        raise ValueError(
            f"{option} must be at most {n_train - 1}, not {k}, because only {n_train} rows are "
            "used for training in each fold."
        )


def _final(
    best: str, learner: Any, stage: _Stage, fit_seconds: float, seconds: float
) -> tuple[dict[str, list[Any]], dict[str, np.ndarray], int, Confusion | None]:
    """Run the final. Return its grid, the scores, the number of repeats, and the confusion."""
    y, options = stage.y, stage.options
    is_regression = options.task.is_regression
    smallest_class = len(y) if is_regression else np.min(np.unique(y, return_counts=True)[1])
    min_members = SETTINGS.min_tuning_rows if is_regression else SETTINGS.min_tuning_members
    n_tuning_rows = _n_training_rows(_n_training_rows(len(y), options.cv), SETTINGS.tuning_folds)
    can_tune = (
        smallest_class >= min_members
        and options.min_neighbors <= n_tuning_rows
        # With two folds, the training rows of a fold may be a single group.
        and (options.groups is None or options.cv > 2)
    )
    grid = candidate_grid(learner, _n_features(stage.X, options.encoder)) if can_tune else {}
    grid, n_repeats = _limit_to_time(grid, fit_seconds, seconds, options)
    scores, n_repeats, confusion = run_final(
        {BASELINE: None, best: learner},
        stage.X,
        y,
        seconds,
        replace(options, random_state=options.random_state + 1),  # not the folds of the race
        param_grids={best: grid} if grid else None,
        n_repeats=n_repeats,
    )
    return grid, scores, n_repeats, confusion


def _verdict(
    scores: dict[str, np.ndarray], best: str, stage: _Stage, rope: float, n_repeats: int
) -> tuple[Posterior, float]:
    """Test the best learner against the baseline, and against a guess without features.

    The guess is the largest class, or the mean of the numbers. Distances that average over more
    samples come closer to it. On noise, this alone makes a learner better than the Euclidean
    distance. Therefore, the probability of "better" is at most that of being better than the guess.
    """
    y, options = stage.y, stage.options

    def test(other: np.ndarray, rope: float) -> Posterior:
        seed = options.random_state
        return correlated_t_test(other, scores[best], rope, seed, n_repeats=n_repeats)

    posterior = test(scores[BASELINE], rope)
    guess = options.task.guess_score(y) * (1 if options.task.greater_is_better else -1)
    # Where one class is rare, even a good learner is better than the guess by little.
    than_guess = test(np.full(len(scores[best]), guess), 0.1 * rope).right
    better = min(posterior.right, than_guess)
    return replace(posterior, rope=1 - posterior.left - better, right=better), than_guess


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


def _best_params(learner: Any, stage: _Stage, grid: dict[str, list[Any]]) -> dict[str, Any]:
    """Return the values in the grid that give the best cross-validated score."""
    if not grid:
        return {}
    X, y, options = stage.X, stage.y, stage.options
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        search = tune(
            options.pipeline(learner),
            X,
            y,
            pipeline_grid(grid),
            criterion="score" if options.task.score == "r2" else options.task.score,
            groups=np.arange(len(y)) if options.groups is None else options.groups,
            cv=SETTINGS.tuning_folds,
            random_state=options.random_state,
        )
    return {name.removeprefix(LEARNER_PREFIX): value for name, value in search.best_params_.items()}
