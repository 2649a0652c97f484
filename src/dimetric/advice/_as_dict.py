"""The results of a comparison as a dictionary, for JSON."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from dimetric.report._records import Choice, LearnerRow
from dimetric.selection._curve_result import LearningCurve

if TYPE_CHECKING:
    from dimetric.advice._comparison import Comparison

__all__ = ["comparison_dict"]


def comparison_dict(comparison: "Comparison") -> dict[str, Any]:
    """Return all results of a comparison as strings, numbers, lists and arrays.

    Parameters
    ----------
    comparison : Comparison
        The comparison.
    """
    choice, samples = comparison.choice, comparison.samples
    sampling = samples.table.sampling
    verdict = {
        "text": comparison.verdict,
        "learner": choice.best,
        "chosen": choice.chosen,
        "params": choice.params,
        "better": choice.posterior.right,
        "equivalent": choice.posterior.rope,
        "worse": choice.posterior.left,
        "rope": comparison.rope,
        "selection_bias": choice.selection_bias,
        "better_than_guess": choice.better_than_guess,
        "majority": choice.majority,
        "reference": _reference(choice),
        "scores": choice.final_scores,
        "repeats": choice.n_repeats,
        "judged_on_unseen_rows": choice.judged_on_unseen_rows,
        "rows": choice.n_final_rows,
    }
    return {
        "data": samples.table.name,
        "rows": len(samples.y),
        "sampling": None if sampling is None else asdict(sampling),
        "target": samples.target,
        "target_kind": samples.task.kind,
        "target_reading": samples.reading,
        "classes": samples.classes,
        "equal_rows": comparison.equal_rows,
        "groups": samples.n_given_groups,
        "notes": samples.notes,
        "score": samples.task.score,
        "n_neighbors": choice.n_neighbors,
        "scale": choice.scale,
        "race_rows": choice.n_race_rows,
        "rounds": [each._asdict() for each in choice.rounds],
        "folds": samples.n_folds,
        "random_state": comparison.random_state,
        "budget": comparison.budget,
        "budget_for_all": choice.budget_for_all,
        "table": _listed(choice.table, choice.scores),
        "references": _listed(choice.reference_table, choice.references),
        "dropped": choice.dropped,
        "confusion": None if choice.confusion is None else choice.confusion.as_dict(),
        "verdict": verdict,
        "advice": comparison.advice,
        "learning_curve": _curve(comparison.curve),
        "model": comparison.learner_description,
        "seconds": comparison.seconds,
    }


def _listed(rows: list[LearnerRow], scores: dict[str, np.ndarray]) -> list[dict[str, Any]]:
    return [
        {
            "learner": row.learner,
            "score": row.score,
            "std": row.std,
            "scores": scores[row.learner],
            "seconds": row.seconds,
        }
        for row in rows
    ]


def _reference(choice: Choice) -> dict[str, Any] | None:
    """Return the results of the best reference model in the final."""
    posterior = choice.reference_posterior
    if choice.best_reference is None or posterior is None:
        return None
    return {
        "name": choice.best_reference,
        "scores": choice.reference_scores,
        "better": posterior.right,
        "equivalent": posterior.rope,
        "worse": posterior.left,
    }


def _curve(curve: LearningCurve | None) -> dict[str, Any] | None:
    if curve is None:
        return None
    return {
        "rows": curve.sizes,
        "scores": curve.scores,
        "mean": curve.mean,
        "interval": curve.interval,
        "gain": curve.gain._asdict(),
        "statement": curve.statement,
    }
