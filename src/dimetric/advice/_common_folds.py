"""Scores of learners in the folds that all of them have finished."""

from collections.abc import Collection, Iterable, Mapping

import numpy as np

from dimetric.advice._settings import SETTINGS
from dimetric.benchmark._cell import Cell
from dimetric.report._choice import BASELINE
from dimetric.report._task import Task

__all__ = [
    "TIME_LIMIT_REACHED",
    "common_splits",
    "offsets_of",
    "score_sentence",
    "scores_on_common_folds",
    "split_of",
]

TIME_LIMIT_REACHED = "The time limit was reached."


def scores_on_common_folds(
    cells: list[Cell], names: Iterable[str], dropped: Mapping[str, str]
) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """Return the scores in the folds that all remaining learners have finished.

    Learners with the fewest folds are dropped until the remaining ones have enough folds in common:
    the number of folds that at least half of the learners have finished, and two or more. So a few
    slow learners do not make the ranking of the others noisy.

    Parameters
    ----------
    cells : list of Cell
        Results of the fits.
    names : iterable of str
        Names of all learners.
    dropped : mapping of str to str
        The reason why a learner was dropped from the round, by its name.

    Returns
    -------
    scores : dict of str to ndarray
        Test scores of each remaining learner.
    dropped : dict of str to str
        The reason why a learner has no scores, by its name.
    """
    dropped = dict(dropped)
    done: dict[str, dict[tuple[int, int], float]] = {
        name: {} for name in names if name not in dropped
    }
    for cell in cells:
        if cell.status == "ok" and cell.learner in done:
            done[cell.learner][split_of(cell)] = cell.test
    failed = {cell.learner: cell.message or cell.status for cell in cells if cell.status != "ok"}
    counts = sorted(map(len, done.values()))
    of_half = max(SETTINGS.min_race_folds, counts[len(counts) // 2])
    while len(done) > 1:
        # The last learner may have fewer folds than others that were dropped.
        n_required = of_half if len(done) > 2 else SETTINGS.min_race_folds
        if len(set.intersection(*map(set, done.values()))) >= n_required:
            break
        slowest = min(done, key=lambda name: (name == BASELINE, len(done[name])))
        dropped[slowest] = failed.get(slowest, TIME_LIMIT_REACHED)
        del done[slowest]
    if len(done) == 1:
        raise ValueError(_nothing_evaluated(failed | dropped, failed))
    common = sorted(set.intersection(*map(set, done.values())))
    return {name: np.array([each[fold] for fold in common]) for name, each in done.items()}, dropped


def _nothing_evaluated(reasons: dict[str, str], failed: dict[str, str]) -> str:
    if BASELINE in failed:  # a fault of the data, which the learners only repeat
        reasons = {BASELINE: failed[BASELINE]}
    why = " ".join(f"{name}: {message.rstrip('.')}." for name, message in reasons.items())
    hint = " Set a larger budget." if "time limit" in why or " took " in why else ""
    return f"No learner could be evaluated. {why}{hint}"


def split_of(cell: Cell) -> tuple[int, int]:
    return cell.repeat, cell.fold


def common_splits(cells: list[Cell], names: Iterable[str]) -> list[tuple[int, int]]:
    """Return the splits that all learners of the given names have finished."""
    done = [{split_of(each) for each in cells if each.learner == name and each.status == "ok"}
            for name in names]  # fmt: skip
    return sorted(set.intersection(*done))


def offsets_of(
    cells: list[Cell], kept: Collection[str], dropped: Collection[str]
) -> dict[str, float]:
    """Return the mean scores of dropped learners, minus those of kept ones in the same folds.

    Parameters
    ----------
    cells : list of Cell
        Results of the fits.
    kept, dropped : collection of str
        Names of the learners. The baseline does not count as kept.
    """
    of_kept: dict[tuple[int, int], list[float]] = {}
    for cell in cells:
        if cell.status == "ok" and cell.learner in kept and cell.learner != BASELINE:
            of_kept.setdefault(split_of(cell), []).append(cell.test)
    leads: dict[str, list[float]] = {}
    for cell in cells:
        if cell.status == "ok" and cell.learner in dropped and split_of(cell) in of_kept:
            lead = cell.test - float(np.mean(of_kept[split_of(cell)]))
            leads.setdefault(cell.learner, []).append(lead)
    return {name: float(np.mean(each)) for name, each in leads.items()}


def score_sentence(where: str, means: Mapping[str, float], name: str, task: Task) -> str:
    """Return a sentence with the mean score of a learner that was dropped.

    Parameters
    ----------
    where : str
        The folds and rows of the scores.
    means : mapping of str to float
        Mean score of each learner. Greater is better.
    name : str
        Name of the learner.
    task : Task
        How predictions are scored.
    """
    sign = 1 if task.greater_is_better else -1
    score, baseline = (task.text(sign * means[each]) for each in (name, BASELINE))
    return f"{where}, its {task.score_name} was {score} ({BASELINE}: {baseline})."
