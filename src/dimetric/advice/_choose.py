"""Choose the best learner within a time budget, and test it against the Euclidean distance."""

from collections.abc import Mapping
from dataclasses import replace
from time import perf_counter
from typing import Any

import joblib
import numpy as np

from dimetric.advice._candidates import candidate_learners
from dimetric.advice._final import (
    Contestant,
    FinalScores,
    Stage,
    best_params,
    final_scores,
    n_features,
    n_training_rows,
)
from dimetric.advice._judge import judge
from dimetric.advice._race import common_folds, run_race, scores_on_common_folds
from dimetric.advice._race_options import Callback, RaceOptions
from dimetric.advice._references import ReferenceScores, reference_models, reference_scores
from dimetric.advice._selection import best_learner, selection_bias
from dimetric.advice._settings import SETTINGS
from dimetric.advice._split_rows import split_rows
from dimetric.benchmark._cells import seeded
from dimetric.data._fold_encoder import FoldEncoder
from dimetric.learners._base import with_objects
from dimetric.report._choice import BASELINE, Choice, RaceRound
from dimetric.report._task import CLASSIFICATION, Task

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
    task: Task = CLASSIFICATION,
) -> Choice:
    """Find the learner with the best score, and test whether it beats the Euclidean distance.

    1. Race: cross-validate all learners in the same folds. In each fold, features are scaled to
       [0, 1] on the training samples.
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
    options = RaceOptions(n_neighbors, cv, None, random_state, callback, groups, encoder, task)
    race, final = _stages(X, y, seconds, n_jobs, options)
    _check_neighbor_count(n_neighbors, min(len(race.y), len(final.y)), cv, option)
    models = _models(learners, len(race.y), n_features(X, encoder), task)
    cells, dropped = run_race(
        models, race.X, race.y, SETTINGS.race_fraction * seconds, race.options
    )
    scores, fit_seconds, dropped = scores_on_common_folds(cells, models, dropped)
    best = best_learner(scores)
    folds, limit = common_folds(cells, scores), SETTINGS.reference_fraction * seconds
    # A learner may have the name of a reference model.
    reference_pipelines = {
        name: each for name, each in reference_models(options).items() if name not in models
    }
    references = reference_scores(reference_pipelines, race.X, race.y, folds, limit, race.options)
    seconds_left = seconds - (perf_counter() - started)
    seconds_left *= SETTINGS.final_fraction / (1 - SETTINGS.race_fraction)
    outcome = final_scores(
        Contestant(best, models[best], fit_seconds[best]),
        _best_reference(references, reference_pipelines),
        final,
        seconds_left,
    )
    params = best_params(models[best], race, outcome.grid)
    are_unseen = not np.array_equal(race.rows, final.rows)
    biases = {} if are_unseen else _selection_biases(outcome, best, scores, references)
    unbiased = {name: each - biases.get(name, 0.0) for name, each in outcome.scores.items()}
    judgement = judge(
        outcome._replace(scores=unbiased), best, final.y, task, rope, options.random_state
    )
    in_final = _in_units(outcome.scores, task)
    reference = next((name for name in in_final if name not in (BASELINE, best)), None)
    return Choice(
        best=best,
        learner=seeded(models[best], random_state).set_params(**params),
        params=params,
        scores=_in_units(scores, task),
        fit_seconds=fit_seconds,
        dropped=dropped | references.dropped,
        final_scores={name: in_final[name] for name in (BASELINE, best)},
        n_repeats=outcome.n_repeats,
        judged_on_unseen_rows=are_unseen,
        n_race_rows=len(race.y),
        n_final_rows=len(final.y),
        posterior=judgement.posterior,
        selection_bias=biases.get(best, 0.0),
        better_than_guess=judgement.better_than_guess,
        task=task,
        references=_in_units(references.scores, task),
        reference_seconds=references.fit_seconds,
        majority=task.guess_score(y),
        best_reference=reference,
        reference_scores=None if reference is None else in_final[reference],
        reference_posterior=judgement.reference_posterior,
        rounds=(RaceRound(len(race.y), len(folds), tuple(scores)),),
    )


def _best_reference(references: ReferenceScores, models: Mapping[str, Any]) -> Contestant | None:
    name = references.best
    return None if name is None else Contestant(name, models[name], references.fit_seconds[name])


def _selection_biases(
    final: FinalScores, best: str, scores: dict[str, np.ndarray], references: ReferenceScores
) -> dict[str, float]:
    """Return how much too good the scores of the best models are because the same rows chose them.

    Luck in the race does not make a learner worse than the baseline.
    """
    lead = max(0.0, float(np.mean(final.scores[best] - final.scores[BASELINE])))
    biases = {best: min(lead, selection_bias(scores, best))}
    if references.best in final.scores:
        biases[references.best] = selection_bias(references.scores, references.best)
    return biases


def _stages(
    X: np.ndarray, y: np.ndarray, seconds: float, n_jobs: int | None, options: RaceOptions
) -> list[Stage]:
    """Return the race and the final."""
    max_rows = int(SETTINGS.race_rows_per_root_second * seconds**0.5)
    groups, is_regression = options.groups, options.task.is_regression
    race, final = split_rows(
        X, y, max_rows, options.cv, options.random_state, groups, is_regression=is_regression
    )
    n_processes = _n_processes(len(race), n_features(X, options.encoder), n_jobs)
    return [
        Stage(
            rows,
            X[rows],
            y[rows],
            replace(options, n_jobs=n_processes, groups=None if groups is None else groups[rows]),
        )
        for rows in (race, final)
    ]


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


def _check_neighbor_count(k: int, n_rows: int, cv: int, option: str) -> None:
    n_train = n_training_rows(n_rows, cv)
    if k >= n_train:  # a training row has n_train - 1 possible neighbours
        raise ValueError(
            f"{option} must be at most {n_train - 1}, not {k}, because only {n_train} rows are "
            "used for training in each fold."
        )


def _n_processes(n_rows: int, n_features: int, n_jobs: int | None) -> int | None:
    """Return the number of worker processes, or None if fits are too short to need any."""
    if n_rows**2 * n_features <= SETTINGS.max_in_process_work:
        return None
    wanted = joblib.effective_n_jobs(-1 if n_jobs is None else n_jobs)
    return int(min(SETTINGS.max_processes, wanted))
