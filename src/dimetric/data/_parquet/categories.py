"""An encoder that knows the categories in all rows of a Parquet table."""

import numpy as np

from dimetric.data._categories import category_name
from dimetric.data._columns import ReadColumns, columns_of
from dimetric.data._encoder import TableEncoder
from dimetric.data._kinds._detect import MAX_CATEGORIES
from dimetric.data._missing import is_missing
from dimetric.data._parquet.row_groups import ParquetTable

ROWS_PER_BATCH = 2**16


def encoder_of(
    table: ParquetTable, columns: ReadColumns, missing: str
) -> tuple[TableEncoder, list[str]]:
    """Return an encoder fitted to a sample of the rows, and notes on columns of many categories.

    The categories of the columns that hold categories in the sample are searched for in all rows.
    Everything else, such as the values for imputation, is learned from the sample.

    Parameters
    ----------
    table : ParquetTable
        The table.
    columns : ReadColumns
        The feature columns of the sample.
    missing : str
        As in :class:`~dimetric.data.ParquetBlocks`.
    """
    names = [
        name
        for name, values in columns.items()
        if values.dtype.kind not in "iufbmM" and name not in columns.encodings
    ]
    found, notes = {}, []
    for name, categories in _all_categories(table, names).items():
        if categories is not None:
            found[name] = categories
            continue
        notes.append(
            f"Column {name!r} has more than {MAX_CATEGORIES} categories. Those that do not occur "
            "in a sample of rows are encoded as unknown categories."
        )
    # As in memory, the encoder raises an error for missing values in new rows if rows with missing
    # values are left out.
    treatment = missing if missing in ("impute", "auto") else "raise"
    return TableEncoder(missing=treatment, categories=found or None).fit(columns), notes


def _all_categories(table: ParquetTable, names: list[str]) -> dict[str, list[str] | None]:
    """Return the sorted categories of columns, or None for a column that has too many."""
    found: dict[str, set[str]] = {name: set() for name in names}
    for batch in table.batches(names, ROWS_PER_BATCH) if names else ():
        for name, categories in found.items():
            if len(categories) > MAX_CATEGORIES:
                continue
            distinct = batch.column(name).unique().to_pylist()
            values = columns_of({name: np.array(distinct, dtype=object)}, [name])[name]
            categories |= {category_name(each) for each in values[~is_missing(values)]}
    return {
        name: sorted(each) if len(each) <= MAX_CATEGORIES else None for name, each in found.items()
    }
