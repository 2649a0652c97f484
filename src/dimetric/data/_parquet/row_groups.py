"""The row groups of Parquet files, which can be read one by one."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from dimetric.data._files import TableFile
from dimetric.data._limits import check_n_columns
from dimetric.data._readers.arrow import ParquetReader, open_parquet
from dimetric.data._readers.errors import naming_file_in_errors

BYTES_PER_NUMBER = 8  # of a value in memory
BYTES_PER_OBJECT = 64  # of a text, which is a Python object


@dataclass(frozen=True)
class RowGroup:
    """Consecutive rows of a Parquet file.

    Attributes
    ----------
    file, index : int
        Index of the file in the table, and of the row group in the file.
    first : int
        Number of the first row in the table.
    n_rows : int
        Number of rows.
    """

    file: int
    index: int
    first: int
    n_rows: int


class ParquetTable:
    """A table in one or several Parquet files, of which only the metadata are in memory.

    Parameters
    ----------
    file : TableFile
        The files. All must be Parquet files with the same columns and types.

    Attributes
    ----------
    groups : list of RowGroup
        The row groups that have rows, in the order of the table.
    n_rows : int
        Number of rows.
    """

    def __init__(self, file: TableFile) -> None:
        self.file = file
        other = next((each for each in file.readers if not isinstance(each, ParquetReader)), None)
        if other is not None:
            raise ValueError(
                f"{other.file.label} is {other.kind}, but only Parquet files can be read by row "
                "groups. Convert it to Parquet, or read it with read_table."
            )
        self.column_names = file.column_names()
        self._check_types()
        self.groups, self.n_rows = [], 0
        for i in range(len(file.readers)):
            with self._opened(i) as opened:
                check_n_columns(opened.metadata.num_columns)
                for j in range(opened.metadata.num_row_groups):
                    n_rows = opened.metadata.row_group(j).num_rows
                    if n_rows:
                        self.groups.append(RowGroup(i, j, self.n_rows, n_rows))
                    self.n_rows += n_rows
        if not self.groups:
            raise ValueError(f"{file.label} has no rows.")

    @cached_property
    def schema(self) -> Any:
        """The Arrow schema of the first file."""
        return self._schemas[0]

    @cached_property
    def n_bytes(self) -> int:
        """Approximate size of the table as a data frame, which may be much larger than the file."""
        from pyarrow import types

        nested = self.file.nested_columns()
        flat = [each for each in self.schema if each.name not in nested]
        is_fixed = (types.is_primitive, types.is_boolean)
        sizes = (
            BYTES_PER_NUMBER if any(check(each.type) for check in is_fixed) else BYTES_PER_OBJECT
            for each in flat
        )
        return self.n_rows * sum(sizes)

    def batches(
        self, columns: Sequence[str], max_rows: int, group: RowGroup | None = None
    ) -> Iterator[Any]:
        """Yield record batches of all rows, or of the rows of a group, in their order.

        Parameters
        ----------
        columns : sequence of str
            Names of the columns to read.
        max_rows : int
            Largest number of rows in a batch.
        group : RowGroup, optional
            The row group. By default, all.
        """
        files = range(len(self.file.readers)) if group is None else [group.file]
        for i in files:
            with self._opened(i) as opened:
                indices = None if group is None else [group.index]
                parts = opened.iter_batches(max_rows, row_groups=indices, columns=list(columns))
                for batch in parts:
                    if batch.num_rows:
                        yield batch.select(list(columns))

    @cached_property
    def _schemas(self) -> list[Any]:
        schemas = []
        for i in range(len(self.file.readers)):
            with self._opened(i) as opened:
                schemas.append(opened.schema_arrow)
        return schemas

    @contextmanager
    def _opened(self, index: int) -> Iterator[Any]:
        """Open a file. Errors name it."""
        reader = self.file.readers[index]
        with naming_file_in_errors(reader.file.label), open_parquet(reader.file.path) as opened:
            yield opened

    def _check_types(self) -> None:
        """Raise if a column has different types in two files."""
        first, *others = self._schemas
        readers = self.file.readers
        for schema, reader in zip(others, readers[1:], strict=True):
            for name in self.column_names:
                types = [each.field(name).type for each in (first, schema)]
                if types[0] != types[1]:
                    raise ValueError(
                        f"Column {name!r} has the type {types[1]} in {reader.file.label}, but "
                        f"{types[0]} in {readers[0].file.label}. Convert it to the same type in "
                        "all files."
                    )
