"""Samples with classes that can be compared on: rare classes left out, text columns encoded."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from dimetric.advice._table import TableSamples, class_counts
from dimetric.data._encoder import TableEncoder

__all__ = ["LabelledSamples", "labelled_samples"]

MIN_MEMBERS = 3  # of a class that can be judged: fewer folds would say nothing about it


@dataclass(frozen=True, eq=False)
class LabelledSamples:
    """Samples with classes, each of which is large enough to be judged.

    Attributes
    ----------
    table : TableSamples
        The rows, their columns as they were given.
    X : ndarray of shape (n_rows, n_features)
        The rows as numbers.
    y : ndarray of shape (n_rows,)
        Classes.
    feature_names : list of str
        Names of the features.
    target : str
        Name of the column of classes.
    classes : dict of str to int
        Sizes of the classes, the largest first.
    notes : list of str
        What was done to the table, in sentences.
    n_folds : int
        Number of folds: what was asked for, or the size of the smallest class.
    missing : str
        What was done about missing values.
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
    """Return samples to compare learners on.

    Parameters
    ----------
    table : TableSamples
        Rows with a target.
    cv : int
        Number of folds that are wanted.
    missing : {"drop", "impute", "raise"}
        What was done about rows with missing values.
    option : str, default="target"
        The option that sets the column of classes, for error messages.
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
    """Return an encoder that fills in missing values if the user asked for it.

    Rows without all values were dropped otherwise, and are an error in new data.
    """
    return TableEncoder(missing="impute" if missing == "impute" else "raise")


def _without_rare_classes(table: TableSamples, min_members: int) -> TableSamples:
    """Return a table without the classes that are too small to be judged."""
    y: Any = table.y
    labels, counts = np.unique(y, return_counts=True)
    rare = labels[counts < min_members]
    if len(rare) == 0:
        return table
    if len(labels) - len(rare) < 2:
        raise ValueError(
            f"Fewer than two classes of {table.target!r} have {min_members} members: there are too "
            "few rows to compare anything."
        )
    is_kept = ~np.isin(y, rare)
    return table._replace(
        columns=table.take(is_kept),
        y=y[is_kept],
        rows=table.rows[is_kept],
        notes=[*table.notes, _rare_note(rare, int(np.sum(~is_kept)), min_members)],
    )


def _rare_note(rare: np.ndarray, n_rows: int, min_members: int) -> str:
    names = ", ".join(repr(str(each)) for each in rare[:5]) + (", ..." if len(rare) > 5 else "")
    one = len(rare) == 1
    return (
        f"{'Class' if one else 'Classes'} {names} {'has' if one else 'have'} fewer than "
        f"{min_members} members: {n_rows} {'row was' if n_rows == 1 else 'rows were'} left out, as "
        "nothing can be said about such a class."
    )
