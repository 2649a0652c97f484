"""Read Parquet and Feather files, as a whole or in chunks of rows."""

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np

from dimetric._errors import error_text
from dimetric.data._limits import check_n_columns
from dimetric.data._readers import frames
from dimetric.data._readers.compressed import check_expansion
from dimetric.data._readers.content import ARROW_STREAM_MAGIC
from dimetric.data._readers.reader import Reader
from dimetric.data._readers.source import InputFile

BYTES_PER_CELL = 8  # size of a value in memory
BUFFER_BYTES = 2**16  # of each column of a Parquet file that is read in batches
MAX_LISTED_LENGTHS = 3  # of vectors, in a message
PANDAS_INDEX = re.compile(r"__index_level_\d+__")


@dataclass(frozen=True)
class ParquetReader(Reader):
    """Reads Parquet files with pyarrow, or with polars if pyarrow is not installed."""

    file: InputFile
    kind: ClassVar[str] = "a Parquet file"

    def column_names(self) -> list[str]:
        """Return the names of all columns, including nested ones."""
        return _column_names(self._schema.names)

    def nested_columns(self) -> dict[str, str]:
        """Return the columns of lists, structs, maps and bytes, and what they hold."""
        return _nested_columns(self._schema) if has_pyarrow() else {}

    def read(self, target: str | None = None) -> Any:
        """Return a data frame without nested columns."""
        library, is_pandas = frames.data_frame_library()
        if not has_pyarrow():  # polars does not need pyarrow
            return library.read_parquet(self.file.path)
        from pyarrow import parquet

        with _arrow_errors("Parquet"):
            with parquet.ParquetFile(self.file.path) as file:
                check_n_columns(file.metadata.num_columns)
                n_cells = file.metadata.num_rows * file.metadata.num_columns
                check_expansion(n_cells * BYTES_PER_CELL, self.file.path.stat().st_size)
                table = file.read(_flat_names(file.schema_arrow))
            return frame_of(table) if is_pandas else library.from_arrow(table)

    def chunks(self, string_columns: set[str], cells_per_chunk: int) -> Iterator[Any]:
        """Yield chunks of rows, as pandas data frames without nested columns."""
        with open_parquet(self.file.path) as file:
            check_n_columns(file.metadata.num_columns)
            rows = max(1, cells_per_chunk // max(1, file.metadata.num_columns))
            for batch in file.iter_batches(rows, columns=_flat_names(file.schema_arrow)):
                yield frame_of(batch)

    def read_vectors(self, name: str) -> np.ndarray:
        """Return a column of lists of numbers, which have equal lengths, as a matrix."""
        _require_pyarrow("Parquet")
        from pyarrow import parquet

        with _arrow_errors("Parquet"), parquet.ParquetFile(self.file.path) as file:
            groups = [file.metadata.row_group(i) for i in range(file.metadata.num_row_groups)]
            n_values = sum(
                group.column(i).num_values
                for group in groups
                for i in range(group.num_columns)
                if group.column(i).path_in_schema.partition(".")[0] == name
            )
            check_expansion(n_values * BYTES_PER_CELL, self.file.path.stat().st_size)
            return _matrix(file.read([name]).column(name), name)

    @cached_property
    def _schema(self) -> Any:
        library, is_pandas = frames.data_frame_library()
        if not is_pandas and not has_pyarrow():
            return SimpleNamespace(names=list(library.read_parquet_schema(self.file.path)))
        _require_pyarrow("Parquet")
        from pyarrow import parquet

        with _arrow_errors("Parquet"), parquet.ParquetFile(self.file.path) as file:
            return file.schema_arrow


@dataclass(frozen=True)
class FeatherReader(Reader):
    """Reads Feather files, which are Arrow IPC files, and Arrow IPC streams."""

    file: InputFile
    kind: ClassVar[str] = "a Feather file"

    def column_names(self) -> list[str]:
        """Return the names of all columns, including nested ones."""
        return _column_names(self._schema.names)

    def nested_columns(self) -> dict[str, str]:
        """Return the columns of lists, structs, maps and bytes, and what they hold."""
        return _nested_columns(self._schema)

    def read(self, target: str | None = None) -> Any:
        """Return a data frame without nested columns."""
        import pyarrow

        library, is_pandas = frames.data_frame_library()
        with _arrow_errors("Feather"):
            batches = list(self._batches())
            table = pyarrow.Table.from_batches(batches, _flat_schema(self._schema))
            return frame_of(table) if is_pandas else library.from_arrow(table)

    def chunks(self, string_columns: set[str], cells_per_chunk: int) -> Iterator[Any]:
        """Yield chunks of rows, as pandas data frames without nested columns."""
        with _arrow_errors("Feather"):
            for batch in self._batches():
                rows = max(1, cells_per_chunk // max(1, batch.num_columns))
                for start in range(0, batch.num_rows, rows):
                    yield frame_of(batch.slice(start, rows))

    def read_vectors(self, name: str) -> np.ndarray:
        """Return a column of lists of numbers, which have equal lengths, as a matrix."""
        import pyarrow

        with _arrow_errors("Feather"):
            batches = list(self._batches([name]))
            return _matrix(pyarrow.chunked_array([each.column(0) for each in batches]), name)

    def _batches(self, names: list[str] | None = None) -> Iterator[Any]:
        """Yield the record batches of the file: some columns, or all that are not nested."""
        names, n_bytes = _flat_names(self._schema) if names is None else names, 0
        with self._opened() as reader:
            check_n_columns(len(self._schema))
            if hasattr(reader, "num_record_batches"):
                parts = (reader.get_batch(i) for i in range(reader.num_record_batches))
            else:
                parts = iter(reader)
            for batch in parts:
                batch.validate(full=True)
                n_bytes += batch.num_rows * batch.num_columns * BYTES_PER_CELL
                check_expansion(n_bytes, self.file.path.stat().st_size)
                yield batch.select(names)

    @contextmanager
    def _opened(self) -> Iterator[Any]:
        import pyarrow
        from pyarrow import ipc

        with pyarrow.OSFile(str(self.file.path)) as source:
            is_stream = source.read(len(ARROW_STREAM_MAGIC)) == ARROW_STREAM_MAGIC
            source.seek(0)
            yield ipc.open_stream(source) if is_stream else ipc.open_file(source)

    @cached_property
    def _schema(self) -> Any:
        _require_pyarrow("Feather")
        with _arrow_errors("Feather"), self._opened() as reader:
            return reader.schema


def _matrix(column: Any, name: str) -> np.ndarray:
    """Return a column of lists as a matrix of numbers. Raise if a list has another length."""
    from pyarrow import compute

    if column.null_count:
        raise ValueError(f"{column.null_count} rows have no vector in column {name!r}")
    lengths = compute.unique(compute.list_value_length(column)).to_pylist()
    if len(lengths) != 1 or not lengths[0]:
        shown = sorted(lengths)[:MAX_LISTED_LENGTHS]
        raise ValueError(f"the vectors in column {name!r} have different lengths, such as {shown}")
    values = compute.list_flatten(column)
    if values.null_count:
        raise ValueError(f"{values.null_count} numbers of the vectors in {name!r} are missing")
    return values.to_numpy().reshape(-1, lengths[0])


@contextmanager
def open_parquet(path: Path) -> Iterator[Any]:
    """Open a Parquet file to read batches of rows, in memory that does not grow with the file."""
    _require_pyarrow("Parquet")
    from pyarrow import parquet

    # By default, pyarrow keeps the bytes of all row groups that it has read.
    options = {"pre_buffer": False, "buffer_size": BUFFER_BYTES}
    with _arrow_errors("Parquet"), parquet.ParquetFile(path, **options) as file:
        yield file


def has_pyarrow() -> bool:
    """Return whether pyarrow is installed."""
    try:
        import pyarrow.parquet  # noqa: F401
    except ImportError:
        return False
    return True


def _require_pyarrow(kind: str) -> None:
    if not has_pyarrow():
        raise ImportError(f"Reading a {kind} file requires pyarrow: pip install pyarrow.")


def _nested_kind(arrow_type: Any) -> str:
    """Return what a column holds if its values are neither numbers, texts nor dates, or ""."""
    from pyarrow import types

    while types.is_dictionary(arrow_type):
        arrow_type = arrow_type.value_type
    if types.is_map(arrow_type):
        return "maps"
    if types.is_struct(arrow_type):
        return "structs"
    if types.is_nested(arrow_type):
        return "lists"
    is_binary = "binary" in str(arrow_type)
    return "bytes" if is_binary else ""


def _nested_columns(schema: Any) -> dict[str, str]:
    kinds = {str(field.name): _nested_kind(field.type) for field in schema}
    return {name: kind for name, kind in kinds.items() if kind}


def _column_names(names: Iterable[Any]) -> list[str]:
    """Return the names of columns, without the row numbers and row names that pandas adds."""
    return [str(each) for each in names if not PANDAS_INDEX.fullmatch(str(each))]


def _flat_names(schema: Any) -> list[str]:
    nested = _nested_columns(schema)
    return [each for each in _column_names(schema.names) if each not in nested]


def _flat_schema(schema: Any) -> Any:
    import pyarrow

    names = set(_flat_names(schema))
    return pyarrow.schema([field for field in schema if field.name in names])


def frame_of(table: Any) -> Any:
    """Return an Arrow table as a pandas data frame. Dates become timestamps without time zone."""
    # pandas would convert integers with missing values to floats, which round long ids.
    # The metadata of pandas would turn columns into names of rows.
    frame = table.to_pandas(integer_object_nulls=True, date_as_object=False, ignore_metadata=True)
    for name, dtype in zip(frame.columns, frame.dtypes, strict=True):
        if getattr(dtype, "tz", None) is not None:
            frame[name] = frame[name].dt.tz_localize(None)  # the local time of the column
    return frame


@contextmanager
def _arrow_errors(kind: str) -> Iterator[None]:
    """Reraise errors of pyarrow on damaged files, which have many types, as a ValueError."""
    import pyarrow

    try:
        yield
    except (pyarrow.ArrowException, LookupError, OverflowError, TypeError) as error:
        raise ValueError(f"it is not a valid {kind} file: {error_text(error)}") from error
