"""A sample of the rows of a Parquet table, which stands for the table where it is too large."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from dimetric.data._columns import columns_of
from dimetric.data._files import TableFile
from dimetric.data._parquet.row_groups import ParquetTable
from dimetric.data._parquet.sample import Sampling, sample_rows_of
from dimetric.data._readers.arrow import frame_of
from dimetric.data._roles import better_target, roles_of

PREVIEW_ROWS = 1000  # of a sample that shows which column may be the target


@dataclass(frozen=True, eq=False)
class TableSample(TableFile):
    """Some rows of Parquet files. They are read like a small table.

    Attributes
    ----------
    frame : data frame
        The rows.
    rows : ndarray
        Their numbers in the whole table.
    sampling : Sampling
        Numbers of rows and row groups.
    reason : str
        A sentence that says why the table is sampled, or "".
    """

    frame: Any
    rows: np.ndarray
    sampling: Sampling
    reason: str = ""

    @classmethod
    def draw(
        cls,
        table: ParquetTable,
        n_rows: int,
        target: str | int | None = None,
        *,
        drop: Iterable[str] = (),
        extra: Iterable[str] = (),
        seed: int,
        needs_target: bool,
        option_names: dict[str, str] | None = None,
        reason: str = "",
    ) -> Self:
        """Draw random rows, in proportion to the class sizes.

        Parameters
        ----------
        table : ParquetTable
            The table.
        n_rows : int
            Approximate number of rows.
        target, drop, extra, needs_target, option_names
            As in :func:`~dimetric.data._tables.open_table`.
        seed : int
            Seed of the choice.
        reason : str
            A sentence that says why the table is sampled, or "".
        """
        names, nested = table.column_names, table.file.nested_columns()
        options = {each: each for each in ("target", "drop", "extra")} | (option_names or {})
        roles = roles_of(names, target, drop, extra, table.file.name, needs_target, options, nested)
        unread = {*nested, *roles.drop}
        columns = [each for each in names if each not in unread]
        label = roles.target
        if label is not None and target is None:
            preview = sample_rows_of(table, columns, PREVIEW_ROWS, seed=seed).table
            label = better_target(roles, columns_of(frame_of(preview), target=label))
        label = None if label in unread else label
        drawn = sample_rows_of(table, columns, n_rows, seed=seed, target=label)
        return cls(table.file.readers, frame_of(drawn.table), drawn.rows, drawn.sampling, reason)

    def read(self, target: str | None = None) -> Any:
        """Return the rows of the sample."""
        return self.frame

    def notes(self) -> list[str]:
        """Return messages about the format of the files, and the size of the sample."""
        note = f"{self.reason} A sample was drawn: {self.sampling}."
        return [*super().notes(), *([note] if self.reason else [])]
