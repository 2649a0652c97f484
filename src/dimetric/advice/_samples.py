"""Prepare the samples of a comparison: read the target, encode columns, find equal rows."""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dimetric._names import listed_classes
from dimetric.advice._settings import SETTINGS
from dimetric.advice._table import TableSamples, class_counts
from dimetric.advice._target import ReadTarget, read_target
from dimetric.data._encoder import TableEncoder
from dimetric.data._fold_encoder import CodedTable, coded_table
from dimetric.report._task import CLASSIFICATION, Task
from dimetric.selection._equal_rows import EqualRows, equal_rows
from dimetric.selection._splits import check_groups
from dimetric.supervision._groups import checked_groups

__all__ = ["LabelledSamples", "labelled_samples"]

MIN_MEMBERS = 3  # smaller classes are dropped, because they would allow only one or two folds


@dataclass(frozen=True, eq=False)
class LabelledSamples:
    """Encoded samples with their classes or numbers, ready for cross-validation.

    Attributes
    ----------
    table : TableSamples
        The rows before encoding.
    X : ndarray of shape (n_rows, n_features)
        The rows, encoded with the categories and imputed values of the whole table.
    coded : CodedTable
        The rows with an encoder that is fitted to the training rows of each fold.
    y : ndarray of shape (n_rows,)
        Classes of the rows, or the numbers to predict.
    feature_names : list of str
        Names of the encoded features.
    target : str
        Name of the target column.
    classes : dict of str to int
        Number of rows of each class, the largest first. Empty if the target contains numbers.
    notes : list of str
        Sentences that say which rows and columns were dropped, imputed or encoded.
    n_folds : int
        Number of folds: the requested number, or the size of the smallest class (of the table, if
        the target contains numbers) if that is smaller.
    missing : str
        How missing values were treated.
    equal_rows : EqualRows
        Number of equal rows, and of copies among them.
    groups : ndarray of shape (n_rows,) or None
        Group of each row, as given, or of copies. Folds do not split groups.
    task : Task
        What the target contains, and how predictions are scored.
    reading : str
        A sentence that says how the target is read and how to change that, or "".
    """

    table: TableSamples
    X: np.ndarray
    coded: CodedTable
    y: np.ndarray
    feature_names: list[str]
    target: str
    classes: dict[str, int]
    notes: list[str]
    n_folds: int
    missing: str
    equal_rows: EqualRows
    groups: np.ndarray | None
    task: Task = CLASSIFICATION
    reading: str = ""

    @property
    def n_given_groups(self) -> int | None:
        """Number of groups that were given, or None."""
        if self.table.groups is None or self.groups is None:
            return None
        return len(np.unique(self.groups))


def labelled_samples(
    table: TableSamples,
    *,
    cv: int,
    missing: str,
    kind: str | None = None,
    score: str | None = None,
    option_names: Mapping[str, str] | None = None,
) -> LabelledSamples:
    """Read the target, encode columns, and return the samples to compare learners on.

    Parameters
    ----------
    table : TableSamples
        Rows with a target.
    cv : int
        Requested number of folds.
    missing : {"drop", "impute", "raise"}
        How rows with missing values were treated.
    kind, score : str or None
        As in :func:`~dimetric.advice._target.read_target`.
    option_names : mapping of str to str, optional
        What messages call `target`, `groups`, `target_kind` and `score`, for example
        ``{"target": "--target"}`` on the command line. By default, these names.
    """
    names = {each: each for each in ("target", "groups", "target_kind", "score")}
    names |= dict(option_names or {})
    read = read_target(table, kind, score, option=names["target_kind"], score_option=names["score"])
    table, classes = _with_target(table, read, min(cv, MIN_MEMBERS), names["target"])
    assert table.y is not None
    labels = None if read.task.is_regression else table.y
    encoder = table_encoder(missing)
    X = encoder.fit_transform(table.columns)
    coded = coded_table(encoder, table.columns)
    n_folds = min(cv, min(classes.values(), default=len(X)))
    equal = equal_rows(coded.codes, labels, n_folds)
    groups, group_notes = equal.groups, [_equal_rows_note(equal, len(X), table.groups is not None)]
    if table.groups is not None:
        groups = checked_groups(table.groups, len(X), names["groups"])
        group_notes += _notes_on_groups(table, labels, groups, n_folds, names["groups"])
    fold_notes = _notes_on_small_classes(
        classes, cv, n_folds, len(X), has_groups=groups is not None
    )
    return LabelledSamples(
        table=table,
        X=X,
        coded=coded,
        y=table.y,
        feature_names=[str(each) for each in encoder.get_feature_names_out()],
        target=str(table.target),
        classes=classes,
        notes=[*table.notes, *encoder.notes_, *filter(None, group_notes), *fold_notes],
        n_folds=n_folds,
        missing=missing,
        equal_rows=equal,
        groups=groups,
        task=read.task,
        reading=read.reading,
    )


def _with_target(
    table: TableSamples, read: ReadTarget, min_members: int, option: str
) -> tuple[TableSamples, dict[str, int]]:
    """Return a table with its target as it is read, without rare classes, and the class sizes."""
    if read.task.is_regression:
        return table._replace(y=read.y), {}
    class_counts(read.y, str(table.target), option)
    table = without_rare_classes(table, min_members)
    assert table.y is not None
    return table, class_counts(table.y, str(table.target), option)


def _notes_on_small_classes(
    classes: dict[str, int], cv: int, n_folds: int, n_rows: int, *, has_groups: bool
) -> list[str]:
    """Return notes on classes that reduce the number of folds, or are in the race only.

    The last case is that of :func:`~dimetric.advice._split_rows.split_rows` without groups.
    """
    notes = []
    if n_folds < cv and classes:
        smallest = min(classes, key=lambda name: classes[name])
        notes.append(
            f"Class {smallest!r} has only {n_folds} rows, so there are {n_folds} folds instead of "
            f"{cv}."
        )
    small = [name for name, n in classes.items() if n < 2 * n_folds]
    is_split = n_rows >= SETTINGS.min_rows_to_split and not has_groups
    if small and is_split and len(classes) - len(small) > 1:
        is_one = len(small) == 1
        have = (
            f"Class{'' if is_one else 'es'} {listed_classes(small)} {'has' if is_one else 'have'}"
        )
        notes.append(
            f"{have} fewer than {2 * n_folds} rows, so {'it is' if is_one else 'they are'} used to "
            "choose the best learner, but not to test it."
        )
    return notes


def _notes_on_groups(
    table: TableSamples, labels: np.ndarray | None, groups: np.ndarray, n_folds: int, option: str
) -> list[str]:
    """Return notes on the given groups. Raise if the rows cannot be split by them."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        check_groups(groups, labels, n_folds, option)
    if labels is not None:
        _check_classes_of_groups(groups, labels, option)
    column = f" in column {table.group_name!r}" if table.group_name else ""
    n_groups = len(np.unique(groups))
    note = f"The {n_groups} groups{column} are not split between training and test rows."
    return [note, *(str(each.message) for each in caught)]


def _check_classes_of_groups(groups: np.ndarray, y: Any, option: str) -> None:
    """Raise if the rows outside a group are all of one class, which no learner can learn from."""
    classes, codes = np.unique(y, return_inverse=True)
    class_of, group_of = np.unique(np.stack([codes, groups]), axis=1)
    only_here = group_of[np.bincount(class_of)[class_of] == 1]  # groups of single-group classes
    n_lost = np.bincount(only_here, minlength=int(groups.max()) + 1)
    if len(classes) - n_lost.max() < 2:
        raise ValueError(
            f"{option}: the rows outside one of the groups are all of the same class, so a "
            "distance cannot be learned from them. Use groups that contain several classes, or "
            "more groups."
        )


def _equal_rows_note(equal: EqualRows, n_rows: int, has_groups: bool) -> str:
    """Return a sentence about equal rows, or "" if there are none."""
    if not equal.n_repeated:
        return ""
    note = f"{equal.n_repeated} of {n_rows} rows equal another row"
    if equal.n_conflicting:
        note += f" ({equal.n_conflicting} of them equal a row of another class)"
    if has_groups:
        return f"{note}."
    if not equal.n_copies:
        return f"{note}. Chance may explain this, so equal rows may be in different folds."
    copies = "These are" if equal.n_copies == equal.n_repeated else f"{equal.n_copies} of them are"
    return f"{note}. {copies} probably copies, so copies of a row stay in one fold."


def table_encoder(missing: str) -> TableEncoder:
    """Return an encoder that imputes missing values if `missing` is "impute".

    With "auto", it imputes them if the rows that it is fitted to have some. Otherwise, it raises an
    error for missing values in new rows.
    """
    return TableEncoder(missing=missing if missing in ("impute", "auto") else "raise")


def without_rare_classes(table: TableSamples, min_members: int) -> TableSamples:
    """Return a table without the classes that have fewer than `min_members` rows.

    Raise if fewer than two classes remain.
    """
    y: Any = table.y
    labels, counts = np.unique(y, return_counts=True)
    rare = labels[counts < min_members]
    if len(rare) == 0:
        return table
    if len(labels) - len(rare) < 2:
        raise ValueError(
            f"Fewer than two classes in column {table.target!r} have at least {min_members} rows. "
            "Add rows, or merge classes."
        )
    is_kept = ~np.isin(y, rare)
    return table.select(is_kept, _rare_note(rare, int(np.sum(~is_kept)), min_members))


def _rare_note(rare: np.ndarray, n_rows: int, min_members: int) -> str:
    names = listed_classes(rare)
    classes_have = f"Class {names} has" if len(rare) == 1 else f"Classes {names} have"
    dropped = "1 row was dropped" if n_rows == 1 else f"{n_rows} rows were dropped"
    return f"{classes_have} fewer than {min_members} members: {dropped}."
