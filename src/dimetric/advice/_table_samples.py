"""The rows of a table that a model is fitted to."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from dimetric.data._columns import rows_of
from dimetric.data._parquet.sample import Sampling
from dimetric.data._records import ColumnRecord


class TableSamples(NamedTuple):
    """The rows of a table that a model is fitted to.

    Attributes
    ----------
    columns : dict of str to ndarray, or ndarray of shape (n_rows, n_features)
        The features: named columns of any type, or an array of numbers.
    y : ndarray of shape (n_rows,) or None
        The target.
    rows : ndarray of shape (n_rows,)
        Row indices in the original table, from 0.
    target : str or None
        Name of the target column.
    name, source : str
        Name of the table, and its origin: a path, "a data frame" or "arrays".
    notes : list of str
        Sentences that say which rows and columns were dropped or imputed.
    groups : ndarray of shape (n_rows,) or None
        Group of each row. Rows of one group are not split between training and test rows.
    group_name : str
        Name of the column of groups, or "".
    reducer : PCA or None
        The map of sparse rows to `columns`, if they were reduced.
    records : tuple of ColumnRecord
        What is done with each column of the table that may become a feature. Empty for arrays.
    unit : str
        Unit of the target, such as "USD", or "".
    sampling : Sampling or None
        From how many rows and row groups the rows were sampled, if the table is too large for the
        memory.
    """

    columns: Any
    y: np.ndarray | None
    rows: np.ndarray
    target: str | None
    name: str
    source: str
    notes: list[str]
    groups: np.ndarray | None = None
    group_name: str = ""
    reducer: Any = None
    records: tuple[ColumnRecord, ...] = ()
    unit: str = ""
    sampling: Sampling | None = None

    def take(self, rows: np.ndarray) -> Any:
        """Return the features of the given rows."""
        if isinstance(self.columns, Mapping):
            return rows_of(self.columns, rows)
        return self.columns[rows]

    def select(self, rows: np.ndarray, note: str) -> "TableSamples":
        """Return a table of the given rows, with an additional note."""
        return self._replace(
            columns=self.take(rows),
            y=None if self.y is None else self.y[rows],
            rows=self.rows[rows],
            notes=[*self.notes, note],
            groups=None if self.groups is None else self.groups[rows],
        )
