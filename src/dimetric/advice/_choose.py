"""Choose the best learner within a time budget, and test it against the Euclidean distance."""

from collections.abc import Mapping
from dataclasses import replace
from time import perf_counter
from typing import Any

import joblib
import numpy as np

from dimetric.advice._candidates import candidate_learners
from dimetric.advice._equal_distance import SAME_AS_BASELINE, equals_of_baseline
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
from dimetric.advice._race import (
    RaceResult,
    budget_for_all,
    is_long,
    max_race_rows,
    run_race,
    sampled_stage,
)
from dimetric.advice._race_options import Callback, RaceOptions
from dimetric.advice._references import best_reference, reference_models
from dimetric.advice._selection import best_learner, selection_bias
from dimetric.advice._settings import SETTINGS
from dimetric.advice._split_rows import split_rows
from dimetric.advice._survivors import FitTime
from dimetric.benchmark._cells import seeded
from dimetric.data._fold_encoder import FoldEncoder
from dimetric.learners._base import with_objects
from dimetric.report._choice import BASELINE, Choice
from dimetric.report._task import CLASSIFICATION, Task

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

    1. Race: cross-validate all learners in the same folds, on some of the rows at first, and those
       that are left on more rows. In each fold, the training samples determine how features are
       scaled, and the number of neighbours. Reference models, which use no distance, take part in
       the last round. They cannot become the best learner.
    2. Final: cross-validate the best learner, the Euclidean distance and the best reference model
       in new folds. The learner's parameters are tuned within each fold. With 1,000 samples or
       more, the final uses samples that the race did not use. With fewer samples, the test
       subtracts an estimate of the luck of the best learner in the race.
    3. Tuning: choose the parameters of the best learner on the samples of the race.

    Numbers are predicted by nearest neighbours, too.

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
    >>> X, y = load_wine(return_X_y=True)
    >>> choice = choose(X, y, {"LDA": LDA(), "PCA": PCA(2)}, seconds=10)
    >>> choice.best, round(choice.mean_scores["LDA"], 2)
    ('LDA', 0.99)
    """
    started = perf_counter()
    options = RaceOptions(
        n_neighbors, cv, None, random_state, callback, groups, encoder, task, scale
    )
    race, final = _stages(X, y, seconds, n_jobs, options)
    _check_neighbor_count(n_neighbors, min(len(race.y), len(final.y)), cv, option)
    models = _models(learners, len(race.y), race.n_features, task)
    # A learner may have the name of a reference model.
    references = {
        name: each for name, each in reference_models(options).items() if name not in models
    }
    result = run_race(models, references, race, SETTINGS.race_fraction * seconds)
    scores, dropped, were_compared = _contenders(result, models)
    best = best_learner(scores, cv)
    seconds_left = (1 - SETTINGS.reserve_fraction) * (seconds - (perf_counter() - started))
    final = _affordable(final, result.fit_times[best], seconds_left)
    rival = best_reference(result.last.references)
    outcome = final_scores(
        _contestant(best, models, result, final),
        None if rival is None else _contestant(rival, references, result, final),
        final,
        seconds_left,
    )
    params = best_params(models[best], result.stage, outcome.grid)
    learner = seeded(models[best], random_state).set_params(**params)
    choice = _choice(best, learner, scores, result, outcome, final, rope)
    setting = result.stage.options.setting(result.stage.X, result.stage.y)
    return replace(
        choice,
        params=params,
        dropped=dropped,
        too_short=None if were_compared else seconds / SETTINGS.choice_fraction,
        majority=task.guess_score(y),
        budget_for_all=budget_for_all(result, race, len(y), seconds),
        n_neighbors=setting.n_neighbors,
        scale=setting.scale,
        chosen_in_folds=options.chosen_in_folds,
    )


def _contestant(
    name: str, models: Mapping[str, Any], result: RaceResult, final: Stage
) -> Contestant:
    return Contestant(name, models[name], result.fit_times[name].at(len(final.y)))


def _affordable(final: Stage, fit_time: FitTime, seconds: float) -> Stage:
    """Return the final with fewer rows if the time is not enough for one fit in each fold."""
    options, n_rows = final.options, len(final.y)
    needed = options.cv * fit_time.at(n_rows) / (options.n_jobs or 1)
    if needed <= seconds or options.groups is not None:
        return final
    fewer = n_rows * (max(seconds, SETTINGS.min_fit_seconds) / needed) ** (1 / fit_time.growth)
    return sampled_stage(final, max(int(fewer), min(n_rows, SETTINGS.min_race_rows)))


def _choice(
    best: str,
    learner: Any,
    scores: dict[str, np.ndarray],
    result: RaceResult,
    outcome: FinalScores,
    final: Stage,
    rope: float,
) -> Choice:
    """Test the scores of the final, and return them with the results of the race."""
    task, seed = final.options.task, final.options.random_state
    are_unseen = not np.intersect1d(result.stage.rows, final.rows).size
    biases = {} if are_unseen else _selection_biases(outcome, best, scores, result)
    unbiased = {name: each - biases.get(name, 0.0) for name, each in outcome.scores.items()}
    judgement = judge(outcome._replace(scores=unbiased), best, final.y, task, rope, seed)
    in_final, last = _in_units(outcome.scores, task), result.last
    reference = next((name for name in in_final if name in last.references), None)
    return Choice(
        best=best,
        learner=learner,
        params={},
        scores=_in_units(scores, task),
        fit_seconds={name: last.fit_seconds[name] for name in scores},
        dropped={},
        final_scores={name: in_final[name] for name in (BASELINE, best)},
        n_repeats=outcome.n_repeats,
        judged_on_unseen_rows=are_unseen,
        n_race_rows=len(result.stage.y),
        n_final_rows=len(final.y),
        posterior=judgement.posterior,
        selection_bias=biases.get(best, 0.0),
        better_than_guess=judgement.better_than_guess,
        task=task,
        references=_in_units(last.references, task),
        reference_seconds={name: last.fit_seconds[name] for name in last.references},
        best_reference=reference,
        reference_scores=None if reference is None else in_final[reference],
        reference_posterior=judgement.reference_posterior,
        rounds=result.rounds,
        confusion=outcome.confusion,
    )


def _contenders(
    result: RaceResult, models: Mapping[str, Any]
) -> tuple[dict[str, np.ndarray], dict[str, str], bool]:
    """Return the scores of learners other than the Euclidean distance, and who was dropped why.

    If all learners with scores are the Euclidean distance, their scores are returned. The last
    value is then False if there was no time for other learners.
    """
    scores, dropped = result.last.scores, result.dropped
    same = equals_of_baseline(scores, models, result.stage)
    if len(scores) - len(same) < 2:  # all learners are
        return scores, dropped, not result.had_no_time
    dropped = dropped | dict.fromkeys(same, SAME_AS_BASELINE)
    return {name: each for name, each in scores.items() if name not in same}, dropped, True


def _selection_biases(
    final: FinalScores, best: str, scores: dict[str, np.ndarray], result: RaceResult
) -> dict[str, float]:
    """Return how much too good the scores of the best models are because the same rows chose them.

    Luck in the race does not make a learner worse than the baseline.
    """
    cv = result.stage.options.cv
    lead = max(0.0, float(np.mean(final.scores[best] - final.scores[BASELINE])))
    bias = selection_bias(scores, best, cv, result.offsets.values())
    biases = {best: min(lead, bias)}
    references = result.last.references
    name = best_reference(references)
    return biases if name is None else biases | {name: selection_bias(references, name, cv)}


def _stages(
    X: np.ndarray, y: np.ndarray, seconds: float, n_jobs: int | None, options: RaceOptions
) -> list[Stage]:
    """Return the race and the final."""
    max_rows = max_race_rows(seconds)
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


def _check_neighbor_count(k: int | str, n_rows: int, cv: int, option: str) -> None:
    n_train = n_training_rows(n_rows, cv)
    if isinstance(k, int) and k >= n_train:  # a training row has n_train - 1 possible neighbours
        raise ValueError(
            f"{option} must be at most {n_train - 1}, not {k}, because only {n_train} rows are "
            "used for training in each fold."
        )


def _n_processes(n_rows: int, n_features: int, n_jobs: int | None) -> int | None:
    """Return the number of worker processes, or None if fits are too short to need any."""
    if not is_long(n_rows, n_features):
        return None
    wanted = joblib.effective_n_jobs(-1 if n_jobs is None else n_jobs)
    return int(min(SETTINGS.max_processes, wanted))
