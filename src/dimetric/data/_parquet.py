"""Read Parquet files, as a whole or in chunks of rows."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dimetric._errors import error_text
from dimetric.data._compressed import check_expansion
from dimetric.data._limits import check_n_columns

BYTES_PER_CELL = 8  # size of a value in memory


def parquet_chunks(path: Path, cells_per_chunk: int) -> Iterator[Any]:
    """Yield chunks of rows of a Parquet file, as pandas data frames."""
    from pyarrow import parquet

    with _parquet_errors(), parquet.ParquetFile(path) as file:
        check_n_columns(file.metadata.num_columns)
        rows = max(1, cells_per_chunk // max(1, file.metadata.num_columns))
        for batch in file.iter_batches(rows):
            # pandas would convert integers with missing values to floats, which round long ids.
            yield batch.to_pandas(integer_object_nulls=True)


def read_parquet(library: Any, path: Path) -> Any:
    """Read a Parquet file with pandas or polars."""
    try:
        from pyarrow import parquet
    except ImportError:  # polars does not need pyarrow
        return library.read_parquet(path)
    with _parquet_errors():
        with parquet.ParquetFile(path) as file:
            check_n_columns(file.metadata.num_columns)
            n_cells = file.metadata.num_rows * file.metadata.num_columns
        check_expansion(n_cells * BYTES_PER_CELL, path.stat().st_size)
        return library.read_parquet(path)


@contextmanager
def _parquet_errors() -> Iterator[None]:
    """Reraise errors of pyarrow on damaged files, which have many types, as a ValueError."""
    import pyarrow

    try:
        yield
    except (pyarrow.ArrowException, LookupError, OverflowError, TypeError) as error:
        raise ValueError(f"it is not a valid Parquet file: {error_text(error)}") from error
