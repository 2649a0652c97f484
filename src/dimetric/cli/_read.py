"""Read tables and learners as they are named on the command line."""

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dimetric.cli._options import check_choice, names, parsed_options

if TYPE_CHECKING:
    from dimetric.advice._table import TableSamples


def read(
    path: Path, target: str | None, drop: str, missing: str, header: bool | None, *, labelled: bool
) -> "TableSamples":
    """Return the rows of a file that can be learned from.

    Parameters
    ----------
    path, target, drop, missing, header
        As the user gave them.
    labelled : bool
        Whether to guess the column of classes if none is named.
    """
    from dimetric.advice._table import read_samples

    check_choice("--missing", missing, ["drop", "impute"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the notes say it
        table = read_samples(
            path, target, drop=names(drop) or [], missing=missing, header=header, labelled=labelled
        )
    if target is not None or table.target is None:
        return table
    note = f"The classes are in column {table.target!r}: no --target was given."
    return table._replace(notes=[note, *table.notes])


def learner_from(name: str, options: list[str] | None, seed: int) -> Any:
    """Return a learner by name, with options of the form name=value; None for "Euclidean"."""
    from dimetric.advice._by_name import learner_by_name

    params = parsed_options(options)
    if params and name.lower() == "euclidean":
        raise ValueError("The Euclidean distance has no --option.")
    return learner_by_name(name, params, random_state=seed)
