"""Prepare the samples of a comparison: drop rare classes, encode columns, find equal rows."""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from dimetric.advice._table import TableSamples, class_counts
from dimetric.data._encoder import TableEncoder
from dimetric.data._fold_encoder import CodedTable, coded_table
from dimetric.selection._equal_rows import EqualRows, equal_rows
from dimetric.selection._splits import check_groups
from dimetric.supervision._groups import checked_groups

__all__ = ["LabelledSamples", "labelled_samples"]

MIN_MEMBERS = 3  # smaller classes are dropped, because they would allow only one or two folds
MAX_LISTED_CLASSES = 5  # in a note about dropped classes


@dataclass(frozen=True, eq=False)
class LabelledSamples:
    """Encoded samples of classes that are large enough for cross-validation.

    Attributes
    ----------
    table : TableSamples
        The rows before encoding.
    X : ndarray of shape (n_rows, n_features)
        The rows, encoded with the categories and imputed values of the whole table.
    coded : CodedTable
        The rows with an encoder that is fitted to the training rows of each fold.
    y : ndarray of shape (n_rows,)
        Classes of the rows.
    feature_names : list of str
        Names of the encoded features.
    target : str
        Name of the target column.
    classes : dict of str to int
        Number of rows of each class, the largest first.
    notes : list of str
        Sentences that say which rows and columns were dropped, imputed or encoded.
    n_folds : int
        Number of folds: the requested number, or the size of the smallest class if that is smaller.
    missing : str
        How missing values were treated.
    equal_rows : EqualRows
        Number of equal rows, and of copies among them.
    groups : ndarray of shape (n_rows,) or None
        Group of each row, as given, or of copies. Folds do not split groups.
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
    option: str = "target",
    groups_option: str = "groups",
) -> LabelledSamples:
    """Drop rare classes, encode columns, and return the samples to compare learners on.

    Parameters
    ----------
    table : TableSamples
        Rows with a target.
    cv : int
        Requested number of folds.
    missing : {"drop", "impute", "raise"}
        How rows with missing values were treated.
    option : str, default="target"
        Name of the option that sets the target column, used in error messages.
    groups_option : str, default="groups"
        Name of the option that sets the groups, used in error messages.
    """
    assert table.y is not None
    target = str(table.target)
    class_counts(table.y, target, option)
    table = _without_rare_classes(table, min(cv, MIN_MEMBERS))
    assert table.y is not None
    classes = class_counts(table.y, target, option)
    encoder = table_encoder(missing)
    X = encoder.fit_transform(table.columns)
    coded = coded_table(encoder, table.columns)
    n_folds = min(cv, min(classes.values()))
    equal = equal_rows(coded.codes, table.y, n_folds)
    groups, group_notes = equal.groups, [_equal_rows_note(equal, len(X), table.groups is not None)]
    if table.groups is not None:
        groups = checked_groups(table.groups, len(X), groups_option)
        group_notes += _notes_on_groups(table, groups, n_folds, groups_option)
    return LabelledSamples(
        table=table,
        X=X,
        coded=coded,
        y=table.y,
        feature_names=[str(each) for each in encoder.get_feature_names_out()],
        target=target,
        classes=classes,
        notes=[*table.notes, *encoder.notes_, *filter(None, group_notes)],
        n_folds=n_folds,
        missing=missing,
        equal_rows=equal,
        groups=groups,
    )


def _notes_on_groups(
    table: TableSamples, groups: np.ndarray, n_folds: int, option: str
) -> list[str]:
    """Return notes on the given groups. Raise if the rows cannot be split by them."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        check_groups(groups, table.y, n_folds, option)
    _check_classes_of_groups(groups, table.y, option)
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
        note += f" ({equal.n_conflicting} of them a row of another class)"
    if has_groups:
        return f"{note}."
    if not equal.n_copies:
        return f"{note}. Such rows are likely to recur in new data, so folds may split them."
    copies = "These are" if equal.n_copies == equal.n_repeated else f"{equal.n_copies} of them are"
    return f"{note}. {copies} probably copies, so folds do not split them."


def table_encoder(missing: str) -> TableEncoder:
    """Return an encoder that imputes missing values if `missing` is "impute".

    Otherwise, the encoder raises an error for missing values in new rows.
    """
    return TableEncoder(missing="impute" if missing == "impute" else "raise")


def _without_rare_classes(table: TableSamples, min_members: int) -> TableSamples:
    """Return a table without the classes that have fewer than `min_members` rows."""
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
    names = ", ".join(repr(str(each)) for each in rare[:MAX_LISTED_CLASSES])
    names += ", ..." if len(rare) > MAX_LISTED_CLASSES else ""
    classes_have = f"Class {names} has" if len(rare) == 1 else f"Classes {names} have"
    dropped = "1 row was dropped" if n_rows == 1 else f"{n_rows} rows were dropped"
    return f"{classes_have} fewer than {min_members} members: {dropped}."
