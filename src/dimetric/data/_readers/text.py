"""Read CSV files and other text files, as a whole or in chunks of rows."""

import gzip
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from dimetric._errors import error_text
from dimetric.data._columns import code_columns
from dimetric.data._missing import MISSING_MARKERS, NUMBER_MISSING_MARKERS
from dimetric.data._readers import frames
from dimetric.data._readers.compressed import check_gzip
from dimetric.data._readers.dialect import GROUPED_NUMBER, Dialect, detect_dialect
from dimetric.data._readers.encoding import text_lines
from dimetric.data._readers.header import clean_name
from dimetric.data._readers.reader import Reader
from dimetric.data._readers.source import InputFile

# Put before the values of the target while pandas reads a file, so that it does not read "NA" as a
# missing value. The option na_values of pandas can differ by column, but then it is slow for many
# columns.
MARK = "\0"


@dataclass(frozen=True)
class TextReader(Reader):
    """Reads text files with pandas, or with polars if pandas is not installed.

    Attributes
    ----------
    file : InputFile
        The file.
    is_gzip : bool
        Whether the file is compressed.
    dialect : Dialect
        Separator, header, decimal sign and encoding. They are detected once, by :meth:`open`.
    """

    file: InputFile
    is_gzip: bool
    dialect: Dialect
    kind: ClassVar[str] = "a text file"

    @classmethod
    def open(cls, file: InputFile, is_gzip: bool, header: bool | None) -> Self:
        """Detect the dialect of a file. If `header` is None, this detects the header, too."""
        if is_gzip:
            check_gzip(file.path)
        return cls(file, is_gzip, detect_dialect(file.path, header, is_gzip=is_gzip))

    def column_names(self) -> list[str]:
        """Return the column names, or x0, x1, ... if the file has none."""
        return [str(each) for each in _with_names(self._head).columns]

    @cached_property
    def _head(self) -> Any:
        """A data frame with the columns of the file, read only once."""
        library, is_pandas = frames.data_frame_library()
        if is_pandas:
            # If nrows were 0, pandas would take much longer for files with many columns.
            return library.read_csv(self.file.path, nrows=1, **self._pandas_options())
        return self._read_with_polars(library, n_rows=0)

    def read(self, target: str | None = None) -> Any:
        """Return a data frame. With pandas, the values of the target are strings."""
        library, is_pandas = frames.data_frame_library()
        if not is_pandas:
            return _with_names(self._read_with_polars(library))
        options = self._pandas_options()
        options["dtype"] = code_columns(library, self.file.path, options, target)
        if target is not None:
            key = self._head.columns[self.column_names().index(target)]
            normalize = self.dialect.normalize
            options["converters"] = {key: lambda text: MARK + normalize(text)}
        frame = _with_names(library.read_csv(self.file.path, low_memory=False, **options))
        if target is not None:
            values = frame[target].str.removeprefix(MARK)
            frame[target] = values.mask(values == "")
        return _parse_thousands(frame, self.dialect, [] if target is None else [target])

    def chunks(self, string_columns: set[str], cells_per_chunk: int) -> Iterator[Any]:
        """Yield chunks of rows, as pandas data frames."""
        library, is_pandas = frames.data_frame_library()
        if not is_pandas:
            raise ImportError("Reading a table in chunks requires pandas: pip install pandas.")
        options = self._pandas_options()
        head = library.read_csv(self.file.path, nrows=1, **options)
        positions = [
            i for i, each in enumerate(_with_names(head).columns) if str(each) in string_columns
        ]
        options["dtype"] = {head.columns[i] if self.dialect.header else i: str for i in positions}
        rows = max(1, cells_per_chunk // max(1, head.shape[1]))
        options |= {"chunksize": rows, "low_memory": False}  # one type for the column of a chunk
        with library.read_csv(self.file.path, **options) as chunks:
            for chunk in chunks:
                yield _parse_thousands(_with_names(chunk), self.dialect, string_columns, True)

    def notes(self) -> list[str]:
        """Return messages about skipped lines and a missing header."""
        notes = list(self.dialect.notes)
        if self.dialect.header:
            return notes
        return [*notes, "The file has no header. Its columns are named x0, x1, ..."]

    def _pandas_options(self) -> dict[str, Any]:
        dialect, names = self.dialect, {}
        if dialect.names:
            # pandas makes the names of a header unique even if other names are given, so skip it.
            names = {"names": list(dialect.names)}
        return {
            "sep": dialect.separator,
            "header": 0 if dialect.header and not names else None,
            "decimal": dialect.decimal,
            "encoding": dialect.encoding,
            "encoding_errors": dialect.encoding_errors,
            "escapechar": dialect.escape,
            "compression": "gzip" if self.is_gzip else None,
            "skipinitialspace": True,
            "na_values": sorted(MISSING_MARKERS),
            "keep_default_na": False,
            "skiprows": list(dialect.skipped_lines) or None,
            # If rows have more values than names, pandas takes the first value as the row name.
            "index_col": False if dialect.has_empty_ends else None,
            **names,
        }

    def _read_with_polars(self, polars: Any, **options: Any) -> Any:
        dialect = self.dialect
        if len(dialect.separator) > 1:
            raise ValueError("polars cannot read values separated by spaces; install pandas")
        if dialect.names:
            options["new_columns"] = list(dialect.names)
        options |= {
            "separator": dialect.separator,
            "has_header": dialect.header and not dialect.names,
            "decimal_comma": dialect.decimal == ",",
            "null_values": sorted(MISSING_MARKERS),
        }
        try:
            if dialect.encoding.startswith("utf-8") and not dialect.skipped_lines:
                try:
                    return polars.read_csv(self.file.path, **options)
                except polars.exceptions.ComputeError as error:
                    if "utf-8" not in str(error):
                        raise
            content = Path(self.file.path).read_bytes()
            if self.is_gzip:
                content = gzip.decompress(content)
            text = content.decode(dialect.encoding, dialect.encoding_errors)
            lines = enumerate(text_lines(text))
            kept = "\n".join(each for i, each in lines if i not in set(dialect.skipped_lines))
            return polars.read_csv(kept.encode(), **options)
        except polars.exceptions.PolarsError as error:
            raise ValueError(error_text(error)) from error


def _parse_thousands(
    frame: Any, dialect: Dialect, string_columns: Iterable[str], by_value: bool = False
) -> Any:
    """Convert columns of numbers such as "1.234,5" from strings to floats.

    The ``thousands`` option of pandas would also read the date 1.2.2020 as a number.

    Parameters
    ----------
    frame : data frame
        The table.
    dialect : Dialect
        Its decimal sign.
    string_columns : iterable of str
        Columns that stay strings.
    by_value : bool
        Whether to convert the numbers of a column even if other values are not numbers. So the
        other rows of a chunk do not decide how a number is read.
    """
    if dialect.decimal != ",":
        return frame
    for name in [each for each in frame.columns if str(each) not in set(string_columns)]:
        if frame[name].dtype.kind in "iufb":
            continue
        values = frame[name].astype(str).str.strip()
        present = (frame[name].notna() & ~values.isin(NUMBER_MISSING_MARKERS)).to_numpy()
        matches = values.str.fullmatch(GROUPED_NUMBER.pattern).to_numpy(dtype=bool) & present
        is_numeric = (matches == present).all()
        if matches.any() and (is_numeric or by_value):
            plain = values[matches].str.replace(".", "", regex=False)
            numbers = np.full(len(frame), np.nan) if is_numeric else frame[name].to_numpy(object)
            numbers[matches] = plain.str.replace(",", ".", regex=False).astype(float)
            frame[name] = numbers
    return frame


def _with_names(frame: Any) -> Any:
    """Name columns x0, x1, ... if the file has no names. With pandas, strip spaces from names."""
    if hasattr(frame, "set_axis"):  # pandas, which numbers columns without names
        if len(frame.columns) and frame.columns.dtype.kind in "iu":
            return frame.set_axis([f"x{i}" for i in range(frame.shape[1])], axis=1)
        return frame.set_axis([clean_name(str(each)) for each in frame.columns], axis=1)
    if list(frame.columns) == [f"column_{i + 1}" for i in range(frame.width)]:
        return frame.rename({each: f"x{i}" for i, each in enumerate(frame.columns)})
    return frame
