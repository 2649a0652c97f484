"""Decide how a target is read: as classes, ordinal numbers or continuous numbers."""

from typing import NamedTuple

import numpy as np

from dimetric._names import printable
from dimetric.advice._table import MIN_ROWS_PER_TEXT_CLASS, TableSamples
from dimetric.data._columns import MAX_NUMBER, parse_numbers, refuse_dates
from dimetric.data._target_values import unit_problem
from dimetric.report._task import READINGS, SCORE_NAMES, Task
from dimetric.report._text import percent
from dimetric.selection._class_scores import CLASS_SCORES, NUMBER_SCORES
from dimetric.supervision.labels import may_be_classes

__all__ = ["ReadTarget", "read_target"]

MIN_ROWS = 10  # with fewer rows, R2 and the verdict would be random
MAX_LARGEST_CLASS = 0.8  # with a larger class, the accuracy says little about the others
MAX_QUOTED_CHARACTERS = 40  # of a value quoted in a message


class ReadTarget(NamedTuple):
    """A target as it is read.

    Attributes
    ----------
    y : ndarray of shape (n_rows,)
        Classes, or numbers as floats.
    task : Task
        What the target contains, and how predictions are scored.
    reading : str
        A sentence that says how the target is read and how to change that. "" if the target
        cannot be read otherwise.
    """

    y: np.ndarray
    task: Task
    reading: str


def read_target(
    table: TableSamples,
    kind: str | None = None,
    score: str | None = None,
    *,
    option: str = "target_kind",
    score_option: str = "score",
) -> ReadTarget:
    """Return the target of a table as classes or numbers.

    Numbers are classes by default if they are integers that are few or occur often (see
    :func:`~dimetric.supervision.labels.may_be_classes`), and occur twice on average. Other numbers
    are continuous. Strings and booleans are classes.

    Parameters
    ----------
    table : TableSamples
        Rows with a target.
    kind : {"classes", "ordinal", "continuous"} or None, default=None
        How to read the target. None decides by its values.
    score : {"accuracy", "balanced_accuracy", "f1_macro", "r2", "mae"} or None, default=None
        The score. None uses R2 for numbers, and the accuracy for classes, or the balanced accuracy
        if the largest class has more than 80 % of the rows.
    option, score_option : str
        Names of the options that set `kind` and `score`, used in messages.
    """
    assert table.y is not None
    name = str(table.target)
    if kind is not None and kind not in READINGS:
        raise ValueError(f"{option} must be 'classes', 'ordinal' or 'continuous', not {kind!r}.")
    given, y = kind, table.y
    if kind is None:
        kind = _likely_kind(y)
    task = _task(kind, score, name, option, score_option)
    if task.is_regression:
        y = _numbers(y, name, kind, option)
    sentences = [_reading(y, name, task, given, option)]
    if score is None and not task.is_regression:
        task, why = _fair_score(task, y, score_option)
        sentences.append(why)
    return ReadTarget(y, task, " ".join(filter(None, sentences)))


def _likely_kind(y: np.ndarray) -> str:
    """Return the most likely kind of a target, given its values."""
    n_values = len(np.unique(y))
    repeats = n_values <= len(y) // MIN_ROWS_PER_TEXT_CLASS or n_values == 1
    if y.dtype.kind in "iuf":
        is_small_table = len(y) < MIN_ROWS  # too few rows for regression
        return "classes" if may_be_classes(y) and (repeats or is_small_table) else "continuous"
    if y.dtype.kind == "b" or repeats or parse_numbers(y.astype(object)) is None:
        return "classes"
    return "continuous"


def _fair_score(task: Task, y: np.ndarray, option: str) -> tuple[Task, str]:
    """Return the task, with the balanced accuracy if one class dominates, and the reason."""
    largest = int(np.max(np.unique(y, return_counts=True)[1]))
    if not MAX_LARGEST_CLASS < largest / len(y) < 1:
        return task, ""
    return Task(task.kind, "balanced_accuracy"), (
        f"The largest class has {largest:,} of {len(y):,} rows (more than "
        f"{percent(MAX_LARGEST_CLASS, 0)}), so the score is the balanced accuracy, the mean of the "
        f"recalls of the classes. To change this, set {option} to 'accuracy' or 'f1_macro'."
    )


def _task(kind: str, score: str | None, name: str, option: str, score_option: str) -> Task:
    """Return the task. Raise if the score does not fit the kind of target."""
    is_regression = kind != "classes"
    if score is None:
        return Task(kind, "r2" if is_regression else "accuracy")
    if score not in SCORE_NAMES:
        raise ValueError(f"{score_option} must be {_either(tuple(SCORE_NAMES))}, not {score!r}.")
    remedies = NUMBER_SCORES if is_regression else CLASS_SCORES
    if score not in remedies:
        kinds = ("ordinal", "continuous") if not is_regression else ("classes",)
        raise ValueError(
            f"{score_option} must be {_either(remedies)}, not {score!r}, because column {name!r} "
            f"is read as {READINGS[kind]}. To change this, set {option} to {_either(kinds)}."
        )
    return Task(kind, score)


def _either(values: tuple[str, ...]) -> str:
    *first, last = map(repr, values)
    return f"{', '.join(first)} or {last}" if first else last


def _numbers(y: np.ndarray, name: str, kind: str, option: str) -> np.ndarray:
    """Return a target as floats. Raise if it cannot be predicted by regression."""
    if y.dtype.kind == "b":
        raise ValueError(
            f"Column {name!r} holds booleans, which are two classes. Set {option} to 'classes', "
            "or convert the column to the numbers 0 and 1."
        )
    if y.dtype.kind not in "iuf":
        y = _parsed(y, name, option)
    y = y.astype(np.float64)
    n_infinite = int(np.sum(np.isinf(y)))
    if n_infinite:
        values = "value" if n_infinite == 1 else "values"
        raise ValueError(
            f"Column {name!r} holds {n_infinite} infinite {values}. Replace or remove these "
            "targets."
        )
    if len(y) < MIN_ROWS:
        raise ValueError(
            f"Column {name!r} is read as {READINGS[kind]}, but the table has only {len(y)} usable "
            f"rows. At least {MIN_ROWS} are needed."
        )
    smallest, largest = float(np.min(y)), float(np.max(y))
    if smallest == largest:
        raise ValueError(
            f"Column {name!r} has the value {smallest:g} in all rows, so there is nothing to "
            "predict. Choose another target."
        )
    limits = {"large": max(abs(smallest), abs(largest)), "small": largest - smallest}
    for size, value in limits.items():
        if value > MAX_NUMBER if size == "large" else value < 1 / MAX_NUMBER:
            what = "values around" if size == "large" else "values that differ by only"
            raise ValueError(
                f"Column {name!r} holds {what} {value:.0e}, whose squares are too {size} for "
                "float64. Rescale the column."
            )
    return y


def _parsed(y: np.ndarray, name: str, option: str) -> np.ndarray:
    """Return strings as numbers. Raise if one is not a number."""
    values = y.astype(object)
    refuse_dates(name, values)
    numbers = parse_numbers(values)
    if numbers is not None and not np.isnan(numbers).any():
        return numbers
    if problem := unit_problem(name, values):
        raise ValueError(problem)
    text = next(each for each in values if np.isnan(_number(each)))
    raise ValueError(
        f"Column {name!r} holds {printable(repr(str(text)[:MAX_QUOTED_CHARACTERS]))}, which is not "
        f"a number. Set {option} to 'classes', or replace the values by numbers. Ordered names, "
        "such as low, medium and high, become 1, 2 and 3."
    )


def _number(value: object) -> float:
    """Return a value as a number, or NaN if it is not one."""
    values = np.empty(1, dtype=object)
    values[0] = value
    numbers = parse_numbers(values)
    return float("nan") if numbers is None else float(numbers[0])


def _reading(y: np.ndarray, name: str, task: Task, given: str | None, option: str) -> str:
    """Return a sentence that says how a target is read and how to change that."""
    if not task.is_regression and y.dtype.kind not in "iuf":
        return ""
    n_values = len(np.unique(y))
    reading = f"Column {name!r} is read as {task.reading} ({n_values} distinct values)."
    if given is not None:
        return reading
    others = tuple(each for each in READINGS if each != task.kind)
    return f"{reading} To change this, set {option} to {_either(others)}."
