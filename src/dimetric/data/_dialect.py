"""Detect the dialect of a text file: separator, decimal sign, encoding and header.

Detection reads the first ``HEAD_BYTES`` bytes of the file once, or more if the lines are very long.
All later reads of the file use the resulting :class:`Dialect`.
"""

import codecs
import csv
import gzip
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from threading import Lock
from typing import IO

from dimetric.data._limits import check_n_columns
from dimetric.data._missing import NUMBER_MISSING_MARKERS, marks_missing

SEPARATORS = (";", "\t", "|", ",")
SPACES = r"\s+"
HEAD_BYTES = 2**20  # decompressed bytes that detection reads
# If they hold fewer lines than MIN_HEAD_LINES, detection reads more, up to MAX_HEAD_BYTES.
MIN_HEAD_LINES = 4
MAX_HEAD_BYTES = 2**25
HEAD_LINES = 1000  # non-empty lines that detection uses
MAX_COLUMN_DIGITS = 9  # of a column number
MAX_REPEATED_NAMES = 1000  # in a header whose names pandas makes unique, in quadratic time

# These patterns take linear time for any string, because a string can match each of their repeated
# parts in only one way.
POINT_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")
COMMA_NUMBER = re.compile(r"[+-]?(\d+|\d{1,3}(\.\d{3})+),\d+([eE][+-]?\d+)?")
# A number in a file with decimal commas. Points may separate its thousands.
GROUPED_NUMBER = re.compile(r"[+-]?(\d{1,3}(\.\d{3})+|\d+)(,\d+)?")
POINT_THOUSANDS = re.compile(r"[+-]?\d{1,3}(\.\d{3})+")


FIELD_SIZE_LOCK = Lock()  # csv.field_size_limit() applies to all threads


@dataclass(frozen=True)
class Dialect:
    r"""The format of a table in a text file.

    Attributes
    ----------
    separator : str
        The separator between values. Spaces are represented by the regular expression ``\s+``.
    header : bool
        Whether the first line holds the names of the columns.
    decimal : {".", ","}
        The decimal sign. In files with decimal commas, points may separate thousands.
    encoding : str
        The encoding, detected from the first part of the file.
    unique_names : tuple of str
        Unique names of the columns, if the header repeats names very often. Empty otherwise.
    header_lines : int
        Number of lines up to the header: 1, or more if the file begins with empty lines.
    """

    separator: str = ","
    header: bool = True
    decimal: str = "."
    encoding: str = "utf-8"
    unique_names: tuple[str, ...] = field(default=(), repr=False)
    header_lines: int = field(default=1, repr=False)

    @property
    def encoding_errors(self) -> str:
        """The handler of decoding errors, for ``open(..., errors=...)``.

        The first non-ASCII character may come after the part of the file that was used to detect
        the encoding. Bytes that are not valid UTF-8 are decoded as Windows-1252, and bytes that
        Windows-1252 leaves undefined as Latin-1.
        """
        return "strict" if self.encoding == "utf-16" else DECODING_ERROR_HANDLER

    def normalize(self, text: str) -> str:
        """Strip spaces from a value. Write a number with a decimal point and without thousands.

        Examples
        --------
        >>> Dialect(separator=";", decimal=",").normalize(" 1.234,5 ")
        '1234.5'
        """
        text = text.strip()
        if self.decimal == "," and GROUPED_NUMBER.fullmatch(text):
            return text.replace(".", "").replace(",", ".")
        return text


def detect_dialect(path: Path, header: bool | None = None) -> Dialect:
    r"""Detect the dialect of a text file from its first MiB.

    Parameters
    ----------
    path : path
        Path of the file, which may be compressed (``.gz``).
    header : bool or None, default=None
        Whether the first line holds column names. None detects this.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     path = Path(directory, "prices.csv")
    ...     _ = path.write_text("item;price\nbread;2,50\nmilk;1,20\n")
    ...     detect_dialect(path)
    Dialect(separator=';', header=True, decimal=',', encoding='utf-8')
    """
    with _open_binary(path) as file:
        head, is_whole = _read_head(file)
    encoding = _encoding(head, is_whole)
    text = _decode_head(head, encoding, is_whole)
    if "\0" in text:
        raise ValueError("it is not a text file")
    lines = list(islice((each for each in text.splitlines() if each.strip()), HEAD_LINES))
    if not is_whole and 1 < len(lines) < HEAD_LINES:
        lines.pop()  # the bytes that were read may end in the middle of this line
    separator = _separator(lines)
    rows = list(filter(None, _split(lines, separator)))
    check_n_columns(max(map(len, rows), default=0))
    decimal = _decimal(rows, separator)
    has_header = _has_header(rows, decimal) if header is None else header
    if not has_header or not rows or _n_repeated(rows[0]) <= MAX_REPEATED_NAMES:
        return Dialect(separator, has_header, decimal, encoding)
    n_empty = next(i for i, each in enumerate(text.splitlines()) if each.strip())
    names = _unique_names(rows[0])
    return Dialect(separator, has_header, decimal, encoding, names, n_empty + 1)


def _read_head(file: IO[bytes]) -> tuple[bytes, bool]:
    """Return the first part of a file, and whether it is the whole file."""
    parts = [file.read(HEAD_BYTES)]
    n_bytes, n_lines = len(parts[0]), parts[0].count(b"\n") + parts[0].count(b"\r")
    while len(parts[-1]) == HEAD_BYTES and n_lines < MIN_HEAD_LINES and n_bytes < MAX_HEAD_BYTES:
        parts.append(file.read(HEAD_BYTES))
        n_bytes += len(parts[-1])
        n_lines += parts[-1].count(b"\n") + parts[-1].count(b"\r")
    return b"".join(parts), len(parts[-1]) < HEAD_BYTES


def _encoding(head: bytes, is_whole: bool) -> str:
    """Return the encoding in which the first part of a file can be decoded."""
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    for encoding in ("utf-8-sig" if head.startswith(codecs.BOM_UTF8) else "utf-8", "cp1252"):
        try:
            _decode_head(head, encoding, is_whole)
        except UnicodeDecodeError:
            continue
        return encoding
    return "latin-1"  # decodes any byte


def _decode_head(head: bytes, encoding: str, is_whole: bool) -> str:
    """Decode the first part of a file, which may end in the middle of a character."""
    return codecs.getincrementaldecoder(encoding)().decode(head, final=is_whole)


def _decode_late_bytes(error: UnicodeError) -> tuple[str, int]:
    """Decode bytes that are invalid in the detected encoding: see `Dialect.encoding_errors`."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    wrong = error.object[error.start : error.end]
    try:
        return wrong.decode("cp1252"), error.end
    except UnicodeDecodeError:
        return wrong.decode("latin-1"), error.end


DECODING_ERROR_HANDLER = "dimetric.decode_late_bytes"
codecs.register_error(DECODING_ERROR_HANDLER, _decode_late_bytes)


@contextmanager
def _open_binary(path: Path) -> Iterator[IO[bytes]]:
    with gzip.open(path, "rb") if path.suffix.lower() == ".gz" else open(path, "rb") as file:
        yield file  # type: ignore[misc]


def _separator(lines: list[str]) -> str:
    """Return the separator that gives the most regular table.

    Candidates are ranked by the fraction of rows as wide as the first, then by the fraction of
    values that are numbers, then by the number of columns.
    """
    best_rank, best = (0.0, 0.0, 1), ","
    for separator in SEPARATORS:
        rows = _split(lines, separator)
        width = len(rows[0]) if rows else 1
        if width < 2:
            continue
        values = [each for row in rows for each in row]
        uniformity = sum(len(row) == width for row in rows) / len(rows)
        numbers = sum(_is_number(each, "," if separator != "," else ".") for each in values)
        rank = (round(uniformity, 1), round(numbers / len(values), 1), width)
        if rank > best_rank or (rank >= best_rank and separator != ","):
            best_rank, best = rank, separator
    if best_rank[2] == 1 and lines:
        widths = {len(each.split()) for each in lines}
        if len(widths) == 1 and widths != {1}:
            return SPACES
    return best


def _split(lines: list[str], separator: str) -> list[list[str]]:
    if separator == SPACES:
        return [each.split() for each in lines]
    max_length = sum(map(len, lines)) + len(lines)  # quotes may join all lines to one field
    with FIELD_SIZE_LOCK:
        limit = csv.field_size_limit()
        try:
            csv.field_size_limit(max(limit, max_length))
            rows = list(csv.reader(lines, delimiter=separator, skipinitialspace=True))
        except csv.Error as error:
            raise ValueError(f"it is not a text file ({error})") from error
        finally:
            csv.field_size_limit(limit)
    return [[each.strip() for each in row] for row in rows]


def _decimal(rows: list[list[str]], separator: str) -> str:
    """Return the decimal sign: a comma if a number uses it and no number uses a decimal point."""
    if separator == ",":
        return "."
    values = [each for row in rows for each in row]
    with_points = [each for each in values if "." in each and POINT_NUMBER.fullmatch(each)]
    has_commas = any(COMMA_NUMBER.fullmatch(each) for each in values)
    are_thousands = all(POINT_THOUSANDS.fullmatch(each) for each in with_points)
    return "," if has_commas and are_thousands else "."


def _has_header(rows: list[list[str]], decimal: str) -> bool:
    """Return whether the first row holds column names.

    The row holds column names if a name stands above a column of numbers, or if its only numbers
    are consecutive column numbers.
    """
    if len(rows) < 2:
        return True
    first, below = rows[0], rows[1:]
    numbers = {i: each for i, each in enumerate(first) if _is_number(each, decimal)}
    # Columns with a name above them whose values so far are numbers, or missing.
    named = {i for i, name in enumerate(first) if i not in numbers and not _is_missing(name)}
    numeric: set[int] = set()
    for row in below:
        for i, each in enumerate(row if named else ()):
            if i in named and not _is_missing(each):
                (numeric.add if _is_number(each, decimal) else named.discard)(i)
    if named & numeric:
        return True
    if not all(each.isdecimal() and len(each) <= MAX_COLUMN_DIGITS for each in numbers.values()):
        return False
    return {int(each) - i for i, each in numbers.items()} in ({0}, {1}, {-1}, set())


def _n_repeated(names: list[str]) -> int:
    """Return how many names occur earlier in a header. Empty names are not counted."""
    named = list(filter(None, names))
    return len(named) - len(set(named))


def _unique_names(names: list[str]) -> tuple[str, ...]:
    """Return the names that pandas gives to the columns, such as x, x.1 and "Unnamed: 2".

    Examples
    --------
    >>> _unique_names(["x", "x", "", "x.1", "x"])
    ('x', 'x.2', 'Unnamed: 2', 'x.1', 'x.3')
    """
    filled = [each or f"Unnamed: {i}" for i, each in enumerate(names)]
    taken, counts = set(filled), dict.fromkeys(filled, 0)
    unique = []
    for each in filled:
        name = each
        if counts[each]:
            while (name := f"{each}.{counts[each]}") in taken:
                counts[each] += 1
            taken.add(name)
        counts[each] += 1
        unique.append(name)
    return tuple(unique)


def _is_missing(text: str) -> bool:
    return marks_missing(text, NUMBER_MISSING_MARKERS)


def _is_number(text: str, decimal: str) -> bool:
    if POINT_NUMBER.fullmatch(text):
        return True
    return decimal == "," and COMMA_NUMBER.fullmatch(text) is not None
