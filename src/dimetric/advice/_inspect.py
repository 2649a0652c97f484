"""Find out what would be done with each column of a table, without learning anything."""

import warnings
from dataclasses import dataclass
from typing import Any

from dimetric.advice._samples import MIN_MEMBERS, without_rare_classes
from dimetric.advice._table import class_counts
from dimetric.advice._table_samples import TableSamples
from dimetric.advice._target import ReadTarget, read_target
from dimetric.data._columns import ReadColumns
from dimetric.data._files import TableFile
from dimetric.data._problems import check_features
from dimetric.data._records import ColumnRecord, number_text
from dimetric.data._samples import samples_of
from dimetric.data._tables import Table, open_table

__all__ = ["Inspection", "inspect_table"]

MAX_BYTES = 2**24  # only the first rows of larger files are read
MAX_CELLS = 2**19  # values that are read from a large file


@dataclass(frozen=True)
class Inspection:
    """What would be done with a table.

    Attributes
    ----------
    name : str
        Name of the table.
    n_rows : int
        Number of rows that were read.
    is_sample : bool
        Whether the table has more rows, which were not read.
    records : tuple of ColumnRecord
        What would be done with each column that may become a feature.
    target : str or None
        Name of the target column.
    reading : str
        How the target would be read.
    n_kept : int
        Number of rows that would be used.
    notes : list of str
        Sentences about rows and columns.
    problems : list of str
        Sentences about columns that cannot be used.
    """

    name: str
    n_rows: int
    is_sample: bool
    records: tuple[ColumnRecord, ...]
    target: str | None
    reading: str
    n_kept: int
    notes: list[str]
    problems: list[str]

    @property
    def unusable(self) -> list[str]:
        """Names of the columns that have to be dropped."""
        return [each.name for each in self.records if each.problem]


def inspect_table(
    source: Any,
    target: str | int | None = None,
    *,
    drop: Any = (),
    missing: str = "auto",
    groups: str | None = None,
    target_kind: str | None = None,
    needs_target: bool = True,
    option_names: dict[str, str] | None = None,
) -> Inspection:
    """Return what would be done with a table.

    Parameters
    ----------
    source : TableFile, or data frame of pandas or polars
        The table. Only the first rows of files larger than 16 MiB are read.
    target, drop, missing, groups, needs_target, option_names
        As in :func:`~dimetric.advice._table.read_samples`.
    target_kind : {"classes", "ordinal", "continuous"}, optional
        How to read the target, as in :func:`dimetric.compare`.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame(
    ...     {
    ...         "id": [7, 8, 9, 10],
    ...         "rate": ["1 %", "2 %", "3 %", "4 %"],
    ...         "class": ["a", "b", "b", "a"],
    ...     }
    ... )
    >>> found = inspect_table(frame)
    >>> [each.treatment for each in found.records], found.reading
    (['left out: it looks like a row identifier', '1 feature'], '2 classes: a (2), b (2)')
    """
    name, frame, is_sample = "table", source, False
    if isinstance(source, TableFile):
        name = source.name
        frame, is_sample = _first_rows(source)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the notes repeat the warnings
        table = open_table(
            frame,
            target,
            drop=drop,
            extra=[] if groups is None else [groups],
            name=name,
            needs_target=needs_target,
            option_names=option_names,
            auto=True,
            needs_features=False,
        )
        problems = [each.problem for each in table.records if each.problem]
        n_rows, n_kept, notes, reading = _rows_and_target(
            table, missing, target_kind, problems, is_sample=is_sample
        )
    return Inspection(
        table.name,
        n_rows,
        is_sample,
        tuple(table.records),
        table.target,
        reading,
        n_kept,
        [*table.notes, *notes],
        problems,
    )


def _first_rows(file: TableFile) -> tuple[Any, bool]:
    """Return a file, or a data frame with its first rows and True if the file is large."""
    if file.n_bytes <= MAX_BYTES or file.holds_arrays:
        return file, False
    return next(file.chunks(cells_per_chunk=MAX_CELLS)), True


def _rows_and_target(
    table: Table, missing: str, target_kind: str | None, problems: list[str], *, is_sample: bool
) -> tuple[int, int, list[str], str]:
    """Return the numbers of rows and kept rows, notes, and how the target is read."""
    n_rows = len(next(iter(table.columns.values()), ()))
    try:
        check_features(table.columns, {table.target, *table.extra}, table.records, table.name)
        samples = samples_of(
            table.columns, table.target, missing=missing, extra=table.extra, name=table.name
        )
    except ValueError as error:
        problems.append(str(error))
        return n_rows, 0, [], ""
    reading, notes, n_kept = "", samples.notes, len(samples.rows)
    if table.target is not None:
        rows = TableSamples(
            ReadColumns({}, {}), samples.y, samples.rows, table.target, table.name, "", []
        )
        try:
            found = read_target(rows, target_kind, option="--target-kind")
            reading = _reading(found, table.target)
            if not found.task.is_regression and not is_sample:
                kept = without_rare_classes(rows, MIN_MEMBERS)
                notes, n_kept = [*notes, *kept.notes], len(kept.rows)
        except ValueError as error:
            problems.append(str(error))
    return n_rows, n_kept, notes, reading


def _reading(found: ReadTarget, name: str) -> str:
    """Return how the target would be read. Raise if it cannot be predicted."""
    if found.task.is_regression:
        low, high = (number_text(float(each)) for each in (found.y.min(), found.y.max()))
        return f"{found.task.reading}, from {low} to {high}"
    classes = class_counts(found.y, name, "--target")
    shown = [f"{name} ({count:,})" for name, count in list(classes.items())[:5]]
    more = ", ..." if len(classes) > len(shown) else ""
    return f"{len(classes)} classes: {', '.join(shown)}{more}"
