"""Whether a Parquet table is too large to be read into memory, and the sample that replaces it."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from dimetric._arrays.memory import physical_memory
from dimetric.data._files import TableFile
from dimetric.data._parquet.row_groups import ParquetTable
from dimetric.data._parquet.table_sample import TableSample
from dimetric.data._readers.arrow import ParquetReader, has_pyarrow

MEMORY_PART = 8  # a table may take this part of the memory; a fit needs several copies of it
SAMPLE_ROWS = 50_000
MIN_SAMPLE_ROWS = 1000
GB = 1e9


class SampleOptions(NamedTuple):
    """When a Parquet table is sampled, and how.

    Attributes
    ----------
    max_memory : float or None
        Memory in GB that a table may take as a data frame. None is an eighth of the memory of the
        machine.
    n_rows : int
        Number of rows of the sample. It is smaller if these rows would take more than
        `max_memory`.
    seed : int
        Seed of the sample.
    """

    max_memory: float | None = None
    n_rows: int = SAMPLE_ROWS
    seed: int = 0

    @property
    def max_bytes(self) -> float:
        """The limit in bytes."""
        if self.max_memory is None:
            return physical_memory() / MEMORY_PART
        return self.max_memory * GB


DEFAULT_SAMPLE = SampleOptions()


def checked_max_memory(max_memory: float | None, option: str = "max_memory") -> float | None:
    """Return a limit in GB. Raise if it is not positive.

    Examples
    --------
    >>> checked_max_memory(0, "--max-memory")
    Traceback (most recent call last):
    ...
    ValueError: --max-memory must be a positive number of GB, not 0.
    """
    if max_memory is not None and not max_memory > 0:
        raise ValueError(f"{option} must be a positive number of GB, not {max_memory:g}.")
    return None if max_memory is None else float(max_memory)


def large_table(file: TableFile, options: SampleOptions) -> ParquetTable | None:
    """Return the Parquet table in a file if it is larger than the limit, else None."""
    if isinstance(file, TableSample):
        return None
    if not all(isinstance(each, ParquetReader) for each in file.readers):
        return None
    if not has_pyarrow():  # polars reads Parquet files, but not by row groups
        return None
    table = ParquetTable(file)
    return table if table.n_bytes > options.max_bytes else None


def sample_if_large(
    file: TableFile,
    target: str | int | None,
    options: SampleOptions,
    *,
    drop: Iterable[str],
    extra: Iterable[str],
    needs_target: bool,
    option_names: Mapping[str, str],
) -> TableFile:
    """Return a sample of the rows of a Parquet table if it is too large, else the file itself.

    Parameters
    ----------
    file : TableFile
        The table.
    options : SampleOptions
        The limit, and the size of the sample.
    target, drop, extra, needs_target, option_names
        As in :func:`~dimetric.data._tables.open_table`. ``option_names["max_memory"]`` is what
        messages call the limit.
    """
    table = large_table(file, options)
    if table is None:
        return file
    n_most = int(options.max_bytes * table.n_rows / table.n_bytes)
    return TableSample.draw(
        table,
        min(options.n_rows, max(MIN_SAMPLE_ROWS, n_most)),
        target,
        drop=drop,
        extra=extra,
        seed=options.seed,
        needs_target=needs_target,
        option_names=dict(option_names),
        reason=size_sentence(table, options, option_names.get("max_memory", "max_memory")),
    )


def size_sentence(table: ParquetTable, options: SampleOptions, option: str) -> str:
    """Return a sentence that says that a table is larger than the limit."""
    size, limit = _in_gb(table.n_bytes), _in_gb(options.max_bytes)
    return (
        f"The table would take about {size} of memory, more than the limit of {limit} ({option})."
    )


def _in_gb(n_bytes: float) -> str:
    """Return a size as text, with a significant digit also for small sizes."""
    size = n_bytes / GB
    return f"{size:.1f} GB" if size >= 0.1 else f"{size:.1g} GB"
