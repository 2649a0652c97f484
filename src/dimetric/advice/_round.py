"""One round of a race: cross-validate models, and drop some of them if the time is short."""

from collections.abc import Mapping
from time import perf_counter
from typing import Any

from sklearn.pipeline import Pipeline

from dimetric.advice._final import Stage
from dimetric.advice._round_control import RoundControl
from dimetric.advice._round_records import Round, RoundScores
from dimetric.advice._settings import SETTINGS
from dimetric.benchmark._cell import Cell
from dimetric.benchmark._run import run

__all__ = ["run_round"]


def run_round(plan: Round, stage: Stage, deadline: float) -> RoundScores:
    """Cross-validate the models of a round in the same folds.

    Fits are ordered by folds, so all models have scores in the first folds early. If the time is
    not enough for all folds, learners are dropped as :func:`survivors` says. With time left, the
    rows are split into folds again, and reference models that were dropped are fitted after all.

    Parameters
    ----------
    plan : Round
        The models.
    stage : Stage
        The rows and options.
    deadline : float
        Time of ``perf_counter`` at which the round should end.
    """
    options, limit = stage.options, None
    if options.n_jobs is not None:
        seconds = SETTINGS.fit_limit_fraction * (deadline - perf_counter())
        limit = round(max(SETTINGS.min_fit_limit_seconds, seconds), 1)
    control = RoundControl(plan, stage, deadline)

    def fit(models: Mapping[str, Pipeline], n_repeats: int, **hooks: Any) -> list[Cell]:
        return run(
            models,
            {"data": (stage.X, stage.y)},
            n_repeats=n_repeats,
            time_budget=limit,
            random_state=options.random_state,
            **options.for_run("race", len(stage.y)) | hooks,
        ).cells

    fit(
        {**plan.models, **plan.references},
        plan.n_repeats,
        stop=control.stop,
        drop=control.drop,
        callback=control.report,
    )
    for name in plan.references:
        if control.has_time_for(name):
            cells = fit(
                {name: plan.references[name]},
                control.n_complete,
                stop=control.is_too_late,
                callback=None,
            )
            control.add(name, cells)
    return control.result()
