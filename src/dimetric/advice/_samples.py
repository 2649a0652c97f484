"""Prepare the samples of a comparison: drop rare classes and encode text columns."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from dimetric.advice._table import TableSamples, class_counts
from dimetric.data._encoder import TableEncoder

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
        The encoded rows.
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
    """

    table: TableSamples
    X: np.ndarray
    y: np.ndarray
    feature_names: list[str]
    target: str
    classes: dict[str, int]
    notes: list[str]
    n_folds: int
    missing: str


def labelled_samples(
    table: TableSamples, *, cv: int, missing: str, option: str = "target"
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
    """
    assert table.y is not None
    target = str(table.target)
    class_counts(table.y, target, option)
    table = _without_rare_classes(table, min(cv, MIN_MEMBERS))
    assert table.y is not None
    classes = class_counts(table.y, target, option)
    encoder = table_encoder(missing)
    X = encoder.fit_transform(table.columns)
    return LabelledSamples(
        table=table,
        X=X,
        y=table.y,
        feature_names=[str(each) for each in encoder.get_feature_names_out()],
        target=target,
        classes=classes,
        notes=[*table.notes, *encoder.notes_],
        n_folds=min(cv, min(classes.values())),
        missing=missing,
    )


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
    return table._replace(
        columns=table.take(is_kept),
        y=y[is_kept],
        rows=table.rows[is_kept],
        notes=[*table.notes, _rare_note(rare, int(np.sum(~is_kept)), min_members)],
    )


def _rare_note(rare: np.ndarray, n_rows: int, min_members: int) -> str:
    names = ", ".join(repr(str(each)) for each in rare[:MAX_LISTED_CLASSES])
    names += ", ..." if len(rare) > MAX_LISTED_CLASSES else ""
    classes_have = f"Class {names} has" if len(rare) == 1 else f"Classes {names} have"
    dropped = "1 row was dropped" if n_rows == 1 else f"{n_rows} rows were dropped"
    return f"{classes_have} fewer than {min_members} members: {dropped}."
