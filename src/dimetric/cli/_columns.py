"""Columns that are written some rows at a time: CSV, Parquet, NPZ, by the ending of the file."""

import sys
import tempfile
import zipfile
from collections.abc import Mapping
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from dimetric._files import atomic

if TYPE_CHECKING:
    import numpy as np

ENDINGS = (".csv", ".tsv", ".csv.gz", ".tsv.gz", ".parquet", ".npz")
BLOCK = 2**20


def check_ending(path: Path | None) -> None:
    """Raise, before any work is done, if a file is of no kind that can be written."""
    if path is not None and not path.name.lower().endswith(ENDINGS):
        raise ValueError(
            f"{path} is of no kind that can be written: its ending must be one of "
            f"{', '.join(ENDINGS)}."
        )


class ColumnWriter(AbstractContextManager["ColumnWriter"]):
    """Columns for a file, which is there when all are written, and not at all if they are not.

    Parameters
    ----------
    path : path or None
        The file; None writes CSV to standard output.
    matrices : mapping of str to list of str
        Columns that are one array in NPZ, by its name; all others are an array each.
    like : mapping of str to ndarray
        Values of the kind that a column has, which its first rows may not show.
    """

    def __init__(
        self,
        path: Path | None,
        matrices: Mapping[str, list[str]] | None = None,
        like: "Mapping[str, np.ndarray] | None" = None,
    ) -> None:
        check_ending(path)
        self._path, self._matrices, self._like = path, matrices or {}, like or {}
        self._writer: Any = None

    def __enter__(self) -> "ColumnWriter":
        self._stack = ExitStack()
        self._file = None
        if self._path is not None:
            self._file = self._stack.enter_context(atomic(self._path))
        return self

    def __exit__(self, *error: Any) -> bool | None:
        with self._stack:  # which also ends what the last step could not write
            if error[0] is None and self._writer is not None:
                self._writer.close()
            return self._stack.__exit__(*error)

    def write(self, columns: "dict[str, np.ndarray]") -> None:
        """Add rows: numbers, in which NaN is empty, or objects, in which None is.

        Parameters
        ----------
        columns : dict of str to ndarray
            Of the same names and kinds each time.
        """
        if self._writer is None:
            npz = self._path is not None and self._path.suffix.lower() == ".npz"
            kinds = columns | dict(self._like)
            self._writer = (
                _Arrays(self._file, self._stack) if npz else _Rows(self._file, self._path, kinds)
            )
        if isinstance(self._writer, _Arrays):
            columns = _stacked(_as_numbers(columns, self._like), self._matrices)
        self._writer.write(columns)


def _as_numbers(
    columns: "dict[str, np.ndarray]", like: "Mapping[str, np.ndarray]"
) -> "dict[str, np.ndarray]":
    """Return columns of objects as numbers, None as NaN, if they are like numbers."""
    import numpy as np

    found = dict(columns)
    for name in [name for name, values in like.items() if values.dtype.kind in "iufb"]:
        found[name] = np.array([np.nan if each is None else each for each in columns[name]], float)
    return found


def _stacked(
    columns: "dict[str, np.ndarray]", matrices: Mapping[str, list[str]]
) -> "dict[str, np.ndarray]":
    import numpy as np

    among = {each for group in matrices.values() for each in group}
    found = {name: values for name, values in columns.items() if name not in among}
    for name, group in matrices.items():
        found[name] = np.column_stack([columns[each] for each in group])
    return found


class _Rows:
    """Rows for CSV and Parquet, by pyarrow."""

    def __init__(
        self, file: Path | None, path: Path | None, columns: "dict[str, np.ndarray]"
    ) -> None:
        import pyarrow as pa
        from pyarrow import csv, parquet

        kinds = {name: values.type for name, values in _arrow(columns).items()}
        self._schema = pa.schema(list(kinds.items()))
        self._sink: Any = None
        name = "" if path is None else path.name.lower()
        if name.endswith(".parquet"):
            self._writer = parquet.ParquetWriter(file, self._schema)
            return
        packed = "gzip" if name.endswith(".gz") else None
        self._sink = sys.stdout.buffer if file is None else pa.output_stream(file, packed)
        tabs = "\t" if ".tsv" in name else ","
        options = csv.WriteOptions(delimiter=tabs, quoting_style="needed")
        self._writer = csv.CSVWriter(self._sink, self._schema, write_options=options)

    def write(self, columns: "dict[str, np.ndarray]") -> None:
        import pyarrow as pa

        self._writer.write_table(pa.table(_arrow(columns, self._schema), schema=self._schema))

    def close(self) -> None:
        self._writer.close()
        if self._sink is not None and self._sink is not sys.stdout.buffer:
            self._sink.close()


def _arrow(columns: "dict[str, np.ndarray]", schema: Any = None) -> dict[str, Any]:
    import numpy as np
    import pyarrow as pa

    kinds = {name: None if schema is None else schema.field(name).type for name in columns}
    found = {}
    for name, values in columns.items():
        if values.dtype.kind in "OU" and kinds[name] is None:
            kinds[name] = pa.string() if _all_texts(values) else None
        elif kinds[name] == pa.string():  # the rows before may have had no value
            values = np.array([each if _is_gap(each) else str(each) for each in values], object)
        found[name] = pa.array(values, type=kinds[name], from_pandas=True)
    return found


def _all_texts(values: "np.ndarray") -> bool:
    return all(isinstance(each, str) or _is_gap(each) for each in values)


def _is_gap(value: Any) -> bool:
    return value is None or bool(value != value)


class _Arrays:
    """Arrays for NPZ: of each column its rows wait in a file until their number is known."""

    def __init__(self, file: Path | None, files: ExitStack) -> None:
        assert file is not None
        self._file = file
        self._files, self._waiting = files, dict[str, IO[bytes]]()
        self._texts: dict[str, list[str]] = {}
        self._kinds: dict[str, Any] = {}
        self._n_rows = 0

    def write(self, columns: "dict[str, np.ndarray]") -> None:
        import numpy as np

        self._n_rows += len(next(iter(columns.values())))
        for name, values in columns.items():
            numbers = values.dtype.kind in "iufb"
            if name in (self._texts if numbers else self._waiting):
                raise ValueError(
                    f"Column {name!r} holds numbers in some rows, none in others, which is no "
                    "array of NumPy: write .csv or .parquet."
                )
            if numbers:
                self._kinds.setdefault(name, (values.dtype, values.shape[1:]))
                if name not in self._waiting:
                    waiting = tempfile.TemporaryFile()  # noqa: SIM115 - the stack closes it
                    self._waiting[name] = self._files.enter_context(waiting)
                content = np.ascontiguousarray(values, self._kinds[name][0])
                self._waiting[name].write(content.tobytes())
            else:
                texts = ["" if _is_gap(each) else str(each) for each in values]
                self._texts.setdefault(name, []).extend(texts)

    def close(self) -> None:
        import numpy as np

        with zipfile.ZipFile(self._file, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
            for name, waiting in self._waiting.items():
                with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                    dtype, tail = self._kinds[name]
                    shape = (self._n_rows, *tail)
                    head = {"descr": dtype.str, "fortran_order": False, "shape": shape}
                    np.lib.format.write_array_header_2_0(member, head)
                    waiting.seek(0)
                    while block := waiting.read(BLOCK):
                        member.write(block)
            for name, texts in self._texts.items():
                with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                    np.lib.format.write_array(member, np.array(texts, dtype=str))
