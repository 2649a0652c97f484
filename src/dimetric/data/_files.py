"""Table files, read as a whole or in chunks of rows."""

import gzip
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np

from dimetric._errors import error_text
from dimetric.data._array_files import array_chunks
from dimetric.data._columns import code_columns
from dimetric.data._compressed import check_gzip
from dimetric.data._dialect import GROUPED_NUMBER, Dialect, detect_dialect
from dimetric.data._missing import MISSING_MARKERS, NUMBER_MISSING_MARKERS
from dimetric.data._parquet import parquet_chunks, read_parquet

TEXT_EXTENSIONS = {".csv", ".tsv", ".txt", ".dat", ".data"}
OTHER_COMPRESSIONS = {".bz2", ".xz", ".zip", ".zst", ".tar", ".tgz", ".7z"}
SUPPORTED_EXTENSIONS = ".csv, .tsv, .txt (also with .gz), .parquet, .npz or .npy"
# Put before the values of the target while pandas reads a file, so that it does not read "NA" as a
# missing value. The option na_values of pandas can differ by column, but then it is slow for many
# columns.
MARK = "\0"
CELLS_PER_CHUNK = 2**20  # values in a chunk, which take 8 MB as float64


@dataclass(frozen=True)
class TableFile:
    """A file that holds a table, with its file type and dialect.

    The dialect of a text file is detected once, by :meth:`open`. All methods use it.

    Attributes
    ----------
    path : Path
        Path of the file.
    kind : {"text", "parquet", "arrays"}
        File type, determined by the extension.
    dialect : Dialect or None
        Separator, header, decimal sign and encoding of a text file. None for other files.
    """

    path: Path
    kind: str
    dialect: Dialect | None = None

    @classmethod
    def open(cls, path: str | Path, header: bool | None = None) -> Self:
        """Check that a file is a table and detect its dialect.

        Parameters
        ----------
        path : str or Path
            Path of the file.
        header : bool or None, default=None
            Whether the first line of a text file holds column names. None detects this.
        """
        path = Path(path)
        kind = _file_kind(path)
        with naming_file_in_errors(path):
            if path.suffix.lower() == ".gz":
                check_gzip(path)
            return cls(path, kind, detect_dialect(path, header) if kind == "text" else None)

    def column_names(self) -> list[str]:
        """Return the column names, or x0, x1, ... if the file has none."""
        if self.dialect is None:
            return [str(each) for each in next(self.chunks(cells_per_chunk=1), ())]
        with naming_file_in_errors(self.path):
            return [str(each) for each in _with_names(self._head).columns]

    @cached_property
    def _head(self) -> Any:
        """A data frame with the columns of a text file, read only once."""
        assert self.dialect is not None
        library, is_pandas = _data_frame_library()
        if is_pandas:
            # If nrows were 0, pandas would take much longer for files with many columns.
            return library.read_csv(self.path, nrows=1, **_pandas_options(self.dialect))
        return _read_with_polars(library, self.path, self.dialect, n_rows=0)

    def read(self, target: str | None = None) -> Any:
        """Read the whole table.

        Text and Parquet files become a pandas or polars data frame, NumPy files a dict of columns.

        Parameters
        ----------
        target : str, optional
            A column of a text file whose values are read as strings. Ignored with polars.
        """
        with naming_file_in_errors(self.path):
            if self.kind == "arrays":
                return next(array_chunks(self.path, None))
            library, is_pandas = _data_frame_library()
            if self.dialect is None:
                return read_parquet(library, self.path)
            if not is_pandas:
                return _with_names(_read_with_polars(library, self.path, self.dialect))
            options = _pandas_options(self.dialect)
            options["dtype"] = code_columns(library, self.path, options, target)
            if target is not None:
                key = self._head.columns[self.column_names().index(target)]
                normalize = self.dialect.normalize
                options["converters"] = {key: lambda text: MARK + normalize(text)}
            frame = _with_names(library.read_csv(self.path, low_memory=False, **options))
            if target is not None:
                values = frame[target].str.removeprefix(MARK)
                frame[target] = values.mask(values == "")
            return _parse_thousands(frame, self.dialect, [] if target is None else [target])

    def chunks(
        self, *, string_columns: Iterable[str] = (), cells_per_chunk: int | None = None
    ) -> Iterator[Any]:
        """Yield chunks of rows, as pandas data frames or dicts of columns.

        Parameters
        ----------
        string_columns : iterable of str
            Columns whose values are read as strings, even if a chunk holds only numbers.
        cells_per_chunk : int, optional
            Number of values in each chunk. By default, about a million.
        """
        cells_per_chunk = CELLS_PER_CHUNK if cells_per_chunk is None else cells_per_chunk
        with naming_file_in_errors(self.path):
            if self.dialect is not None:
                yield from _text_chunks(
                    self.path, self.dialect, set(string_columns), cells_per_chunk
                )
            elif self.kind == "arrays":
                yield from array_chunks(self.path, cells_per_chunk)
            else:
                yield from parquet_chunks(self.path, cells_per_chunk)


def table_name(path: Path) -> str:
    """Return the name of a file without its extension.

    Examples
    --------
    >>> table_name(Path("data/iris.csv.gz")), table_name(Path("sales.2024.csv"))
    ('iris', 'sales.2024')
    """
    name = path.name.removesuffix(".gz")
    return name.rpartition(".")[0] or name


def _file_kind(path: Path) -> str:
    """Return "text", "parquet" or "arrays". Raise if the file cannot be a table."""
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a directory, not a file.")
    if not path.is_file():
        raise FileNotFoundError(f"There is no file {path}.")
    if not path.stat().st_size:
        raise ValueError(f"{path} is empty.")
    extensions = {each.lower() for each in path.suffixes}
    is_compressed = path.suffix.lower() == ".gz" and not extensions & TEXT_EXTENSIONS
    if is_compressed or extensions & OTHER_COMPRESSIONS:
        raise ValueError(
            f"Unsupported compression: {path.name}. Use a {SUPPORTED_EXTENSIONS} file."
        )
    if ".parquet" in extensions:
        return "parquet"
    if extensions & {".npz", ".npy"}:
        return "arrays"
    if extensions & TEXT_EXTENSIONS:
        return "text"
    raise ValueError(f"Unsupported file type: {path.name}. Use a {SUPPORTED_EXTENSIONS} file.")


@contextmanager
def naming_file_in_errors(path: Path) -> Iterator[None]:
    """Reraise reading errors as a ValueError of one sentence that names the file."""
    try:
        yield
    except (UnicodeError, OSError, MemoryError) as error:
        raise ValueError(f"{path} cannot be read as a table: {_reason(error)}.") from error
    except ValueError as error:
        if type(error).__module__ == "builtins" and str(path) in str(error):
            raise
        raise ValueError(f"{path} cannot be read as a table: {_reason(error)}.") from error


def _reason(error: Exception) -> str:
    """Return why a file cannot be read, as a clause. Errors of libraries are put into our words."""
    if isinstance(error, UnicodeError):  # other encodings are decoded without errors
        return "it is not valid UTF-16 text; save it as UTF-8"
    if isinstance(error, OSError):
        return error.strerror or error_text(error)
    if isinstance(error, MemoryError):
        return "it does not fit into memory"
    text = error_text(error).removeprefix("Error tokenizing data. C error: ")
    if text.startswith("Expected "):
        return f"{text}; remove lines above the header and lines that are not table rows"
    if text.startswith("EOF inside string"):
        return f"a quoted value has no closing quote ({text.rpartition(' starting at ')[2]})"
    return "it has no columns" if text == "No columns to parse from file" else text


def _data_frame_library() -> tuple[Any, bool]:
    """Return pandas if installed, else polars, and whether it is pandas."""
    try:
        import pandas

        return pandas, True
    except ImportError:
        pass
    try:
        import polars

        return polars, False
    except ImportError:
        raise ImportError(
            "Reading a table file requires pandas or polars: pip install pandas pyarrow. "
            "Alternatively, pass the samples as arrays."
        ) from None


def _pandas_options(dialect: Dialect) -> dict[str, Any]:
    names: dict[str, Any] = {}
    if dialect.unique_names:
        # pandas makes the names of a header unique even if other names are given, so skip it.
        names = {"names": list(dialect.unique_names), "skiprows": dialect.header_lines}
    return {
        "sep": dialect.separator,
        "header": 0 if dialect.header and not names else None,
        "decimal": dialect.decimal,
        "encoding": dialect.encoding,
        "encoding_errors": dialect.encoding_errors,
        "skipinitialspace": True,
        "na_values": sorted(MISSING_MARKERS),
        "keep_default_na": False,
        **names,
    }


def _parse_thousands(frame: Any, dialect: Dialect, string_columns: Iterable[str]) -> Any:
    """Convert columns of numbers such as "1.234,5" from strings to floats.

    The ``thousands`` option of pandas would also read the date 1.2.2020 as a number.
    """
    if dialect.decimal != ",":
        return frame
    for name in [each for each in frame.columns if str(each) not in set(string_columns)]:
        if frame[name].dtype.kind in "iufb":
            continue
        values = frame[name].astype(str).str.strip()
        present = (frame[name].notna() & ~values.isin(NUMBER_MISSING_MARKERS)).to_numpy()
        if present.any() and values[present].str.fullmatch(GROUPED_NUMBER.pattern).all():
            plain = values[present].str.replace(".", "", regex=False)
            numbers = np.full(len(frame), np.nan)
            numbers[present] = plain.str.replace(",", ".", regex=False).astype(float)
            frame[name] = numbers
    return frame


def _read_with_polars(polars: Any, path: Path, dialect: Dialect, **options: Any) -> Any:
    if len(dialect.separator) > 1:
        raise ValueError("polars cannot read values separated by spaces; install pandas")
    options |= {
        "separator": dialect.separator,
        "has_header": dialect.header,
        "decimal_comma": dialect.decimal == ",",
        "null_values": sorted(MISSING_MARKERS),
    }
    try:
        if dialect.encoding.startswith("utf-8"):
            try:
                return polars.read_csv(path, **options)
            except polars.exceptions.ComputeError as error:
                if "utf-8" not in str(error):
                    raise
        is_gzip = path.suffix.lower() == ".gz"
        content = gzip.decompress(path.read_bytes()) if is_gzip else path.read_bytes()
        text = content.decode(dialect.encoding, dialect.encoding_errors)
        return polars.read_csv(text.encode(), **options)
    except polars.exceptions.PolarsError as error:
        raise ValueError(error_text(error)) from error


def _text_chunks(
    path: Path, dialect: Dialect, string_columns: set[str], cells_per_chunk: int
) -> Iterator[Any]:
    library, is_pandas = _data_frame_library()
    if not is_pandas:
        raise ImportError("Reading a table in chunks requires pandas: pip install pandas.")
    options = _pandas_options(dialect)
    head = library.read_csv(path, nrows=1, **options)
    positions = [
        i for i, each in enumerate(_with_names(head).columns) if str(each) in string_columns
    ]
    options["dtype"] = {head.columns[i] if dialect.header else i: str for i in positions}
    rows = max(1, cells_per_chunk // max(1, head.shape[1]))
    with library.read_csv(path, chunksize=rows, **options) as chunks:
        for chunk in chunks:
            yield _parse_thousands(_with_names(chunk), dialect, string_columns)


def _with_names(frame: Any) -> Any:
    """Name columns x0, x1, ... if the file has no names. With pandas, strip spaces from names."""
    if hasattr(frame, "set_axis"):  # pandas, which numbers columns without names
        if len(frame.columns) and frame.columns.dtype.kind in "iu":
            return frame.set_axis([f"x{i}" for i in range(frame.shape[1])], axis=1)
        return frame.set_axis([str(each).strip() for each in frame.columns], axis=1)
    if list(frame.columns) == [f"column_{i + 1}" for i in range(frame.width)]:
        return frame.rename({each: f"x{i}" for i, each in enumerate(frame.columns)})
    return frame
