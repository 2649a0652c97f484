"""The most important reason why the answer of a comparison is uncertain or suspicious."""

import re
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from sklearn.metrics import recall_score
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from dimetric.advice._race_options import RaceOptions
from dimetric.advice._references import reference_models
from dimetric.advice._samples import LabelledSamples
from dimetric.advice._stratified import strata, stratified_rows
from dimetric.report._records import Choice
from dimetric.report._text import cut_middle, percent
from dimetric.selection._curve_result import LearningCurve
from dimetric.selection._splits import splits

__all__ = ["is_too_slow", "leaking_column", "main_limit"]

SUSPICIOUS_SCORE = 0.97  # a leak makes a model at least this good; of the accuracy or R2
LEAK_SCORE = 0.99  # of a single column
MIN_LEAK_ROWS = 50
MAX_LEAK_ROWS, MAX_LEAK_COLUMNS, MAX_LEAVES = 2000, 200, 64
MAX_DROPPED, MAX_COPIES, MAX_CONFLICTS = 0.2, 0.1, 0.05  # fractions of the rows
MIN_MEMBERS = 20  # the recall of a smaller class is uncertain
MIN_ROWS = 100
MAX_WIDTH = 0.2  # of the interval of the score
MAX_NAME_LENGTH = 40  # of a column, in characters


class LeakingColumn(NamedTuple):
    """A column that predicts the target almost perfectly on its own.

    Attributes
    ----------
    name : str
        Name of the column.
    score : float
        Its accuracy on test rows, or the mean recall of the classes if that is smaller. R2 of
        numbers.
    """

    name: str
    score: float


def main_limit(
    samples: LabelledSamples,
    choice: Choice,
    curve: LearningCurve | None,
    expected: tuple[float, float, float],
    n_fitted: int,
) -> str:
    """Return a sentence about the most important limit, or about more rows if there is none.

    Parameters
    ----------
    samples : LabelledSamples
        The rows of the comparison.
    choice : Choice
        The scores.
    curve : LearningCurve or None
        The learning curve.
    expected : tuple of float
        The expected score on new data, and its interval.
    n_fitted : int
        Number of rows that the saved model was fitted to.
    """
    if len(samples.y) < MIN_LEAK_ROWS:  # any column may predict a few rows by chance
        return _few_rows(samples, expected)
    return (
        _leak(samples, choice)
        or _dropped_rows(samples)
        or _equal_rows(samples)
        or _few_rows(samples, expected)
        or _rare_class(samples)
        or _budget(samples, choice, curve, n_fitted)
        or _more_rows(samples, curve)
    )


def leaking_column(samples: LabelledSamples) -> LeakingColumn | None:
    """Return the column that predicts the target almost perfectly on its own, or None.

    A decision tree of each single column is fitted to half of up to 2,000 rows, and tested on the
    other half.

    Parameters
    ----------
    samples : LabelledSamples
        The rows.
    """
    is_regression, codes = samples.task.is_regression, samples.coded.codes
    columns = samples.table.columns
    names = list(columns) if isinstance(columns, Mapping) else samples.feature_names
    by, rng = strata(samples.y, is_regression), np.random.default_rng(0)
    rows = stratified_rows(np.arange(len(codes)), by, MAX_LEAK_ROWS, 2, rng)
    y = samples.y[rows]
    groups = np.arange(len(rows)) if samples.groups is None else samples.groups[rows]
    labels = None if is_regression else y
    (train, test), _ = splits(rows, labels, 2, random_state=0, groups=groups)[0]
    kind = DecisionTreeRegressor if is_regression else DecisionTreeClassifier
    found = []
    for j, name in enumerate(names[:MAX_LEAK_COLUMNS]):
        column = codes[rows, j : j + 1]
        tree = kind(max_leaf_nodes=MAX_LEAVES, random_state=0).fit(column[train], y[train])
        score = tree.score(column[test], y[test])
        if not is_regression:  # the accuracy is high for any column if one class is rare
            recall = recall_score(y[test], tree.predict(column[test]), average="macro")
            score = min(score, recall)
        found.append(LeakingColumn(str(name), float(score)))
    best = max(found, key=lambda each: each.score)
    return best if best.score >= LEAK_SCORE else None


def is_too_slow(reason: str) -> bool:
    """Return whether a learner was dropped to save time.

    Parameters
    ----------
    reason : str
        The sentence that says why a learner was dropped.

    Examples
    --------
    >>> is_too_slow("The time limit was reached."), is_too_slow("One fit took 2 s.")
    (True, True)
    """
    return re.search(r"\btime\b|\btook\b", reason) is not None


def _leak(samples: LabelledSamples, choice: Choice) -> str:
    """Return a warning if the scores are too good to be true."""
    if not choice.task.greater_is_better:
        return ""
    scores = [*choice.final_scores.values(), *choice.references.values()]
    if max(float(np.mean(each)) for each in scores) < max(SUSPICIOUS_SCORE, choice.majority + 0.02):
        return ""
    leak, target = leaking_column(samples), samples.target
    if leak is not None:
        name = cut_middle(leak.name, MAX_NAME_LENGTH)
        score = f"R2 {leak.score:.3f}" if samples.task.is_regression else percent(leak.score)
        return (
            f"Check column {name!r}: alone, it predicts {target} almost perfectly ({score}); drop "
            f"it if it is derived from {target} or not known in advance."
        )
    if all(float(np.min(each)) == 1 for each in choice.final_scores.values()):
        return (
            f"All test rows were predicted correctly, which is suspicious: check that no column is "
            f"derived from {target}."
        )
    return ""


def _dropped_rows(samples: LabelledSamples) -> str:
    """Return a warning if many rows were dropped because of missing values."""
    if samples.missing != "drop":
        return ""
    n_kept, sampling = len(samples.y), samples.table.sampling
    n_all = int(samples.table.rows.max()) + 1 if sampling is None else sampling.n_rows
    if n_all - n_kept <= MAX_DROPPED * n_all:
        return ""
    return (
        f"Only {n_kept:,} of {n_all:,} rows were used, mostly because of missing values; imputing "
        "them (--missing impute) would keep more rows."
    )


def _equal_rows(samples: LabelledSamples) -> str:
    """Return a warning about many copies, or about equal rows with different classes."""
    n, equal = len(samples.y), samples.equal_rows
    if equal.n_conflicting > MAX_CONFLICTS * n:
        return (
            f"{equal.n_conflicting:,} of {n:,} rows equal a row of another class, so no model can "
            "classify all rows correctly; only further columns would help."
        )
    if equal.n_copies > MAX_COPIES * n and equal.groups is not None:
        n_distinct = len(np.unique(equal.groups))
        return (
            f"Many rows are copies: there are only {n_distinct:,} different rows among {n:,}, so "
            "new rows may differ more than the estimate assumes."
        )
    return ""


def _few_rows(samples: LabelledSamples, expected: tuple[float, float, float]) -> str:
    n, (_, low, high) = len(samples.y), expected
    is_wide = samples.task.greater_is_better and high - low > MAX_WIDTH
    if n >= MIN_ROWS and not is_wide:
        return ""
    few = f"With only {n:,} rows" if n < 10 * MIN_ROWS else f"Even with {n:,} rows"
    return f"{few}, this estimate is rough; more rows would make it more certain."


def _rare_class(samples: LabelledSamples) -> str:
    if not samples.classes:
        return ""
    name, count = list(samples.classes.items())[-1]
    if count >= MIN_MEMBERS:
        return ""
    return (
        f"Class {cut_middle(name, MAX_NAME_LENGTH)!r} has only {count} rows, so its recall is "
        "uncertain."
    )


def _more_rows(samples: LabelledSamples, curve: LearningCurve | None) -> str:
    """Return whether more rows would help, unless a rising curve has only a part of the rows."""
    if curve is None:
        return ""
    tells_about_all = 2 * curve.sizes[-1] > len(samples.y) or curve.would_help is False
    return curve.statement if tells_about_all else ""


def _budget(
    samples: LabelledSamples, choice: Choice, curve: LearningCurve | None, n_fitted: int
) -> str:
    """Return a sentence if the scores are based on a part of the rows, or of the learners."""
    n, helps = len(samples.y), None if curve is None else curve.would_help
    used = choice.n_race_rows, choice.n_final_rows
    n_used = sum(used) if choice.judged_on_unseen_rows else max(used)
    if n_used < n and helps is not False:
        adverb = "is probably" if helps else "may be"
        if n_fitted > 2 * choice.n_final_rows:
            return (
                f"The estimate is based on {choice.n_final_rows:,} rows; the saved model was "
                f"trained on {n_fitted:,}, so it {adverb} better."
            )
        part = f"{n_used:,} of {n:,} rows"
        return f"The time was enough for {part}; a model of all rows {adverb} better."
    references = reference_models(RaceOptions(3, samples.n_folds, None, 0, task=samples.task))
    n_slow = sum(
        is_too_slow(reason) for name, reason in choice.dropped.items() if name not in references
    )
    if n_slow > len(choice.scores) / 2 and not helps:
        return (
            f"{n_slow} learner{'s were' if n_slow > 1 else ' was'} not tested for lack of time; a "
            "larger --budget may find a better one."
        )
    return ""
