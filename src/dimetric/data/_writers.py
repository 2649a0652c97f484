"""Write columns to CSV, Parquet or NPZ files in chunks of rows."""

import sys
import tempfile
import zipfile
from collections.abc import Mapping
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import IO, Any, Protocol

import numpy as np

from dimetric._files import atomic_write, is_stream
from dimetric._names import TerminalOutput
from dimetric.data._formulas import FormulaCells
from dimetric.data._missing import is_missing_value

WRITABLE_EXTENSIONS = (".csv", ".tsv", ".csv.gz", ".tsv.gz", ".parquet", ".npz")
BYTES_PER_COPY = 2**20

Columns = dict[str, np.ndarray]


def is_writable_table(path: Path) -> bool:
    """Return whether a table can be written to a path. A pipe without an extension gets CSV."""
    return path.name.lower().endswith(WRITABLE_EXTENSIONS) or is_stream(path)


def check_extension(path: Path | None) -> None:
    """Raise if the extension of a file is not supported, before any work is done."""
    if path is not None and not is_writable_table(path):
        raise ValueError(
            f"Unsupported file type: {path}. Supported extensions are "
            f"{', '.join(WRITABLE_EXTENSIONS)}."
        )


class ColumnWriter(AbstractContextManager["ColumnWriter"]):
    """Write columns to a file in chunks of rows. The file appears once all rows are written.

    Parameters
    ----------
    path : Path or None
        Path of the file. None writes CSV to standard output.
    matrices : mapping of str to list of str
        In an NPZ file, the two-dimensional arrays by name, and the columns of each. Every other
        column becomes a separate array.
    dtype_examples : mapping of str to ndarray
        Example values of columns whose dtype cannot be inferred from the first rows.
    escape_formulas : bool, default=False
        In CSV files, whether to put an apostrophe before names and texts that a spreadsheet program
        would run as formulas, such as ``=A1``. By default, all values are written as they are.

    Attributes
    ----------
    n_formula_cells : int
        Number of such names and texts in a CSV file.

    Examples
    --------
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     path = Path(directory, "sizes.csv")
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
        dtype_examples: Mapping[str, np.ndarray] | None = None,
        *,
        escape_formulas: bool = False,
    ) -> None:
        check_extension(path)
        self._formulas = FormulaCells(escape=escape_formulas)
        self._path, self._matrices = path, matrices or {}
        self._dtype_examples = dtype_examples or {}
        self._writer: _Writer | None = None

    @property
    def n_formula_cells(self) -> int:
        return self._formulas.count

    def __enter__(self) -> "ColumnWriter":
        self._stack = ExitStack()
        self._file = None
        if self._path is not None:
            self._file = self._stack.enter_context(atomic_write(self._path))
        return self

    def __exit__(self, *error: Any) -> bool | None:
        with self._stack:  # removes the temporary files even if writing the last rows fails
            if error[0] is None and self._writer is not None:
                self._writer.close()
            return self._stack.__exit__(*error)

    def write(self, columns: Columns) -> None:
        """Append rows.

        Parameters
        ----------
        columns : dict of str to ndarray
            Numbers with NaN for missing values, or objects with None for missing values. Every call
            must pass the same names and dtypes.
        """
        if self._writer is None:
            self._writer = self._open(columns)
        if isinstance(self._writer, _NpzWriter):
            columns = _join_matrices(_as_numbers(columns, self._dtype_examples), self._matrices)
        self._writer.write(columns)

    def _open(self, columns: Columns) -> "_Writer":
        # Use the extension of the given path. The target of a symbolic link may have another one.
        name = "" if self._path is None else self._path.name.lower()
        if self._file is not None and name.endswith(".npz"):
            return _NpzWriter(self._file, self._stack)
        return _RowWriter(self._file, name, columns | dict(self._dtype_examples), self._formulas)


class _Writer(Protocol):
    def write(self, columns: Columns) -> None: ...

    def close(self) -> None: ...


def _as_numbers(columns: Columns, dtype_examples: Mapping[str, np.ndarray]) -> Columns:
    """Convert columns whose example values are numeric to floats, with NaN for None."""
    converted = dict(columns)
    for name in [each for each, values in dtype_examples.items() if values.dtype.kind in "iufb"]:
        converted[name] = np.array(
            [np.nan if each is None else each for each in columns[name]], float
        )
    return converted


def _join_matrices(columns: Columns, matrices: Mapping[str, list[str]]) -> Columns:
    """Join the columns that belong to a matrix."""
    in_matrices = {each for group in matrices.values() for each in group}
    arrays = {name: values for name, values in columns.items() if name not in in_matrices}
    for name, group in matrices.items():
        arrays[name] = np.column_stack([columns[each] for each in group])
    return arrays


class _RowWriter:
    """Write rows as CSV or Parquet with pyarrow."""

    def __init__(
        self, file: Path | None, name: str, columns: Columns, formulas: FormulaCells
    ) -> None:
        import pyarrow as pa
        from pyarrow import csv, parquet

        types = {name: values.type for name, values in _arrow(columns).items()}
        self._schema = pa.schema(list(types.items()))
        self._file_sink: Any = None  # closed at the end, unlike standard output
        if name.endswith(".parquet"):
            self._writer, self._formulas = parquet.ParquetWriter(file, self._schema), None
            return
        self._formulas = formulas
        self._names = formulas.apply(pa.array(list(types), pa.string())).to_pylist()
        compression = "gzip" if name.endswith(".gz") else None
        if file is not None:
            self._file_sink = pa.output_stream(file, compression)
        separator = "\t" if name.endswith((".tsv", ".tsv.gz")) else ","
        options = csv.WriteOptions(delimiter=separator, quoting_style="needed")
        sink = _standard_output() if file is None else self._file_sink
        fields = [pa.field(*each) for each in zip(self._names, types.values(), strict=True)]
        self._writer = csv.CSVWriter(sink, pa.schema(fields), write_options=options)

    def write(self, columns: Columns) -> None:
        import pyarrow as pa

        table = pa.table(_arrow(columns, self._schema), schema=self._schema)
        if self._formulas is not None:
            table = self._formulas.apply_to_table(table).rename_columns(self._names)
        self._writer.write_table(table)

    def close(self) -> None:
        self._writer.close()
        if self._file_sink is not None:
            self._file_sink.close()


def _standard_output() -> Any:
    """Return standard output. If it is a terminal, control characters are escaped."""
    return TerminalOutput(sys.stdout) if sys.stdout.isatty() else sys.stdout.buffer


def _arrow(columns: Columns, schema: Any = None) -> dict[str, Any]:
    """Convert columns to pyarrow arrays, with the types of the schema if given."""
    import pyarrow as pa

    arrays = {}
    for name, values in columns.items():
        arrow_type = None if schema is None else schema.field(name).type
        if values.dtype.kind in "OU" and arrow_type is None:
            arrow_type = pa.string() if _are_strings(values) else None
        elif arrow_type == pa.string():  # all values of the first rows were strings or missing
            values = np.array(
                [each if is_missing_value(each) else str(each) for each in values], object
            )
        arrays[name] = pa.array(values, type=arrow_type, from_pandas=True)
    return arrays


def _are_strings(values: np.ndarray) -> bool:
    return all(isinstance(each, str) or is_missing_value(each) for each in values)


class _NpzWriter:
    """Write columns as the arrays of an NPZ file.

    In the file, the shape of an array precedes its values. So the values of each numeric column are
    collected in a temporary file until the number of rows is known.
    """

    def __init__(self, file: Path, files: ExitStack) -> None:
        self._file = file
        self._files, self._temporary_files = files, dict[str, IO[bytes]]()
        self._texts: dict[str, list[str]] = {}
        self._dtypes_and_shapes: dict[str, Any] = {}
        self._n_rows = 0

    def write(self, columns: Columns) -> None:
        self._n_rows += len(next(iter(columns.values())))
        for name, values in columns.items():
            is_numeric = values.dtype.kind in "iufb"
            if name in (self._texts if is_numeric else self._temporary_files):
                raise ValueError(
                    f"Column {name!r} holds numbers in some rows and strings in others, which an "
                    "array cannot store. Write a .csv or .parquet file."
                )
            if is_numeric:
                self._dtypes_and_shapes.setdefault(name, (values.dtype, values.shape[1:]))
                if name not in self._temporary_files:
                    temporary = tempfile.TemporaryFile()  # noqa: SIM115 - the stack closes it
                    self._temporary_files[name] = self._files.enter_context(temporary)
                content = np.ascontiguousarray(values, self._dtypes_and_shapes[name][0])
                self._temporary_files[name].write(content.tobytes())
            else:
                texts = ["" if is_missing_value(each) else str(each) for each in values]
                self._texts.setdefault(name, []).extend(texts)

    def close(self) -> None:
        with zipfile.ZipFile(self._file, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
            for name, temporary in self._temporary_files.items():
                with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                    dtype, shape_of_row = self._dtypes_and_shapes[name]
                    shape = (self._n_rows, *shape_of_row)
                    head = {"descr": dtype.str, "fortran_order": False, "shape": shape}
                    np.lib.format.write_array_header_2_0(member, head)
                    temporary.seek(0)
                    while block := temporary.read(BYTES_PER_COPY):
                        member.write(block)
            for name, texts in self._texts.items():
                with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                    np.lib.format.write_array(member, np.array(texts, dtype=str))
