"""Write columns some rows at a time: CSV, Parquet or NPZ, by the ending of the file."""

import sys
import tempfile
import zipfile
from collections.abc import Mapping
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import IO, Any, Protocol

import numpy as np

from dimetric._files import atomic_write
from dimetric.data._missing import is_missing_value

ENDINGS = (".csv", ".tsv", ".csv.gz", ".tsv.gz", ".parquet", ".npz")
COPY_BYTES = 2**20  # are copied at a time

Columns = dict[str, np.ndarray]


def check_ending(path: Path | None) -> None:
    """Raise if a file has an ending that cannot be written, before any work is done."""
    if path is not None and not path.name.lower().endswith(ENDINGS):
        raise ValueError(
            f"{path} cannot be written: its ending must be one of {', '.join(ENDINGS)}."
        )


class ColumnWriter(AbstractContextManager["ColumnWriter"]):
    """Write columns to a file, which exists only once all rows are written.

    Parameters
    ----------
    path : path or None
        The file; None writes CSV to standard output.
    matrices : mapping of str to list of str
        Columns that become one array in NPZ, by its name; each other column becomes an array.
    like : mapping of str to ndarray
        Values of the dtype that a column has, where its first rows may not show it.

    Examples
    --------
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "found.csv")
    ...     with ColumnWriter(path) as writer:
    ...         writer.write({"id": np.array([1, 2]), "size": np.array([0.5, np.nan])})
    ...         writer.write({"id": np.array([3]), "size": np.array([2.5])})
    ...     path.read_text().split()
    ['"id","size"', '1,0.5', '2,', '3,2.5']
    """

    def __init__(
        self,
        path: Path | None,
        matrices: Mapping[str, list[str]] | None = None,
        like: Mapping[str, np.ndarray] | None = None,
    ) -> None:
        check_ending(path)
        self._path, self._matrices, self._like = path, matrices or {}, like or {}
        self._writer: _Writer | None = None

    def __enter__(self) -> "ColumnWriter":
        self._stack = ExitStack()
        self._file = None
        if self._path is not None:
            self._file = self._stack.enter_context(atomic_write(self._path))
        return self

    def __exit__(self, *error: Any) -> bool | None:
        with self._stack:  # removes the temporary files even if the last rows cannot be written
            if error[0] is None and self._writer is not None:
                self._writer.close()
            return self._stack.__exit__(*error)

    def write(self, columns: Columns) -> None:
        """Add rows.

        Parameters
        ----------
        columns : dict of str to ndarray
            Numbers, in which NaN is missing, or objects, in which None is. Each call must give the
            same names and kinds.
        """
        if self._writer is None:
            self._writer = self._open(columns)
        if isinstance(self._writer, _NpzWriter):
            columns = _stacked(_as_numbers(columns, self._like), self._matrices)
        self._writer.write(columns)

    def _open(self, columns: Columns) -> "_Writer":
        # By the name that was given: that of the temporary file follows links.
        name = "" if self._path is None else self._path.name.lower()
        if self._file is not None and name.endswith(".npz"):
            return _NpzWriter(self._file, self._stack)
        return _RowWriter(self._file, name, columns | dict(self._like))


class _Writer(Protocol):
    def write(self, columns: Columns) -> None: ...

    def close(self) -> None: ...


def _as_numbers(columns: Columns, like: Mapping[str, np.ndarray]) -> Columns:
    """Return columns of objects as numbers, None as NaN, where `like` holds numbers."""
    found = dict(columns)
    for name in [name for name, values in like.items() if values.dtype.kind in "iufb"]:
        found[name] = np.array([np.nan if each is None else each for each in columns[name]], float)
    return found


def _stacked(columns: Columns, matrices: Mapping[str, list[str]]) -> Columns:
    """Return columns with those that belong to a matrix joined."""
    joined = {each for group in matrices.values() for each in group}
    found = {name: values for name, values in columns.items() if name not in joined}
    for name, group in matrices.items():
        found[name] = np.column_stack([columns[each] for each in group])
    return found


class _RowWriter:
    """Write rows as CSV or Parquet, by pyarrow."""

    def __init__(self, file: Path | None, name: str, columns: Columns) -> None:
        import pyarrow as pa
        from pyarrow import csv, parquet

        types = {name: values.type for name, values in _arrow(columns).items()}
        self._schema = pa.schema(list(types.items()))
        self._own_sink: Any = None  # standard output is not ours to close
        if name.endswith(".parquet"):
            self._writer = parquet.ParquetWriter(file, self._schema)
            return
        packed = "gzip" if name.endswith(".gz") else None
        if file is not None:
            self._own_sink = pa.output_stream(file, packed)
        separator = "\t" if name.endswith((".tsv", ".tsv.gz")) else ","
        options = csv.WriteOptions(delimiter=separator, quoting_style="needed")
        sink = sys.stdout.buffer if file is None else self._own_sink
        self._writer = csv.CSVWriter(sink, self._schema, write_options=options)

    def write(self, columns: Columns) -> None:
        import pyarrow as pa

        self._writer.write_table(pa.table(_arrow(columns, self._schema), schema=self._schema))

    def close(self) -> None:
        self._writer.close()
        if self._own_sink is not None:
            self._own_sink.close()


def _arrow(columns: Columns, schema: Any = None) -> dict[str, Any]:
    """Return columns as arrays of pyarrow, of the types of the schema if there is one."""
    import pyarrow as pa

    found = {}
    for name, values in columns.items():
        kind = None if schema is None else schema.field(name).type
        if values.dtype.kind in "OU" and kind is None:
            kind = pa.string() if _are_texts(values) else None
        elif kind == pa.string():  # all values of the first rows were texts or missing
            values = np.array(
                [each if is_missing_value(each) else str(each) for each in values], object
            )
        found[name] = pa.array(values, type=kind, from_pandas=True)
    return found


def _are_texts(values: np.ndarray) -> bool:
    return all(isinstance(each, str) or is_missing_value(each) for each in values)


class _NpzWriter:
    """Write columns as the arrays of an NPZ file.

    An array begins with its shape. So the rows of each column wait in a temporary file until all
    are there.
    """

    def __init__(self, file: Path, files: ExitStack) -> None:
        self._file = file
        self._files, self._waiting = files, dict[str, IO[bytes]]()
        self._texts: dict[str, list[str]] = {}
        self._kinds: dict[str, Any] = {}
        self._n_rows = 0

    def write(self, columns: Columns) -> None:
        self._n_rows += len(next(iter(columns.values())))
        for name, values in columns.items():
            numbers = values.dtype.kind in "iufb"
            if name in (self._texts if numbers else self._waiting):
                raise ValueError(
                    f"Column {name!r} holds numbers in some rows and texts in others, which one "
                    "array cannot hold: write .csv or .parquet."
                )
            if numbers:
                self._kinds.setdefault(name, (values.dtype, values.shape[1:]))
                if name not in self._waiting:
                    waiting = tempfile.TemporaryFile()  # noqa: SIM115 - the stack closes it
                    self._waiting[name] = self._files.enter_context(waiting)
                content = np.ascontiguousarray(values, self._kinds[name][0])
                self._waiting[name].write(content.tobytes())
            else:
                texts = ["" if is_missing_value(each) else str(each) for each in values]
                self._texts.setdefault(name, []).extend(texts)

    def close(self) -> None:
        with zipfile.ZipFile(self._file, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
            for name, waiting in self._waiting.items():
                with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                    dtype, tail = self._kinds[name]
                    shape = (self._n_rows, *tail)
                    head = {"descr": dtype.str, "fortran_order": False, "shape": shape}
                    np.lib.format.write_array_header_2_0(member, head)
                    waiting.seek(0)
                    while block := waiting.read(COPY_BYTES):
                        member.write(block)
            for name, texts in self._texts.items():
                with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                    np.lib.format.write_array(member, np.array(texts, dtype=str))
