"""Detect the dialect of a text file: separator, decimal sign, encoding and header.

Detection reads the first ``HEAD_BYTES`` bytes of the file once, or more if the lines are very long.
All later reads of the file use the resulting :class:`Dialect`.
"""

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
from dimetric.data._readers.encoding import (
    DECODING_ERROR_HANDLER,
    decode_head,
    detect_encoding,
    text_lines,
)
from dimetric.data._readers.header import (
    COMMA_NUMBER,
    COMMENT,
    POINT_NUMBER,
    Header,
    find_header,
    is_number,
    usual_width,
)

SEPARATORS = (";", "\t", "|", ",")
DECLARED_SEPARATOR = re.compile(r'"?sep=([;\t|,])"?', re.IGNORECASE)  # as Excel writes it
SPACES = r"\s+"
# A quote in a quoted value, as MySQL writes it. Before a separator, it may be the end of "C:\".
ESCAPED_QUOTE = re.compile(r'\\"(?![;\t|,\r\n]|$)')
HEAD_BYTES = 2**20  # decompressed bytes that detection reads
# If they hold fewer lines than MIN_HEAD_LINES, detection reads more, up to MAX_HEAD_BYTES.
MIN_HEAD_LINES = 4
MAX_HEAD_BYTES = 2**25
HEAD_LINES = 1000  # non-empty lines that detection uses
MAX_REPEATED_NAMES = 1000  # in a header whose names pandas makes unique, in quadratic time

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
    names : tuple of str
        Unique names of the columns, if they are not those of the header line as written.
    skipped_lines : tuple of int
        Numbers of the lines that are neither data nor the header, from 0. They include the header
        if `names` are given.
    has_empty_ends : bool
        Whether a separator ends all lines but the header.
    escape : str or None
        The character before a quote inside of a quoted value. None if such quotes are doubled.
    notes : tuple of str
        Messages about skipped lines.
    """

    separator: str = ","
    header: bool = True
    decimal: str = "."
    encoding: str = "utf-8"
    names: tuple[str, ...] = field(default=(), repr=False)
    skipped_lines: tuple[int, ...] = field(default=(), repr=False)
    has_empty_ends: bool = field(default=False, repr=False)
    escape: str | None = field(default=None, repr=False)
    notes: tuple[str, ...] = field(default=(), repr=False)

    @property
    def encoding_errors(self) -> str:
        """The handler of decoding errors, for ``open(..., errors=...)``.

        The first non-ASCII character may come after the part of the file that was used to detect
        the encoding. Bytes that are not valid UTF-8 are decoded as Windows-1252, and bytes that
        Windows-1252 leaves undefined as Latin-1.
        """
        return "strict" if self.encoding.startswith("utf-16") else DECODING_ERROR_HANDLER

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


def detect_dialect(path: Path, header: bool | None = None, *, is_gzip: bool = False) -> Dialect:
    r"""Detect the dialect of a text file from its first MiB.

    Parameters
    ----------
    path : path
        Path of the file.
    header : bool or None, default=None
        Whether the first line holds column names. None detects this.
    is_gzip : bool, default=False
        Whether the file is compressed by gzip.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     path = Path(directory, "prices.csv")
    ...     _ = path.write_text("item;price\nbread;2,50\nmilk;1,20\n")
    ...     detect_dialect(path)
    Dialect(separator=';', header=True, decimal=',', encoding='utf-8')
    """
    with _open_binary(path, is_gzip) as file:
        head, is_whole = _read_head(file)
    encoding = detect_encoding(head, is_whole)
    text = decode_head(head, encoding, is_whole)
    if "\0" in text:
        raise ValueError("it is not a text file")
    lines = text_lines(text)[: 2 * HEAD_LINES]
    if not is_whole and 1 < len(lines) < 2 * HEAD_LINES:
        lines.pop()  # the bytes that were read may end in the middle of this line
    declared = DECLARED_SEPARATOR.fullmatch(lines[0].strip(" ")) if lines else None
    if declared:
        lines[0] = ""
    filled = list(islice((each for each in lines if each.strip()), HEAD_LINES))
    separator = declared[1] if declared else _separator(filled)
    escape = "\\" if ESCAPED_QUOTE.search(text) else None
    rows, comments = _rows_and_comments(_split(lines, separator, escape))
    check_n_columns(max(map(len, rows.values()), default=0))
    listed = list(rows.values())[:HEAD_LINES]
    decimal = _decimal(listed, separator)
    found = find_header(listed, decimal, header)
    names = _checked_names(listed, found)
    skipped = _skipped_lines(list(rows), found, bool(names))
    return Dialect(
        separator,
        found.n_rows > 0,
        decimal,
        encoding,
        names,
        (*([0] if declared else []), *comments, *skipped),
        found.has_empty_ends,
        escape,
        _notes(found, list(rows), comments),
    )


def _rows_and_comments(
    all_rows: list[list[str]],
) -> tuple[dict[int, list[str]], list[int]]:
    """Return the rows with values by line, and the lines of comments. Both count from 0.

    A quoted line break does not end a line. Comments that look like rows are returned as rows.
    """
    rows = {i: row for i, row in enumerate(all_rows) if row not in ([], [""])}
    if usual_width(list(rows.values())) == 1:
        return rows, []
    comments = [i for i, row in rows.items() if len(row) == 1 and COMMENT.match(row[0])]
    for i in comments:
        del rows[i]
    return rows, comments


def _notes(header: Header, lines: list[int], comments: list[int]) -> tuple[str, ...]:
    first = lines[header.n_titles] if len(lines) > header.n_titles else 0
    n_above = sum(each < first for each in comments)
    n_below = len(comments) - n_above
    notes = header._replace(n_titles=header.n_titles + n_above).notes("line")
    if n_below:
        lines_text = "1 line that starts" if n_below == 1 else f"{n_below} lines that start"
        notes.append(f"Skipped {lines_text} like a comment.")
    return tuple(notes)


def _checked_names(rows: list[list[str]], header: Header) -> tuple[str, ...]:
    """Return unique column names, or () if pandas can read them from the file."""
    if header.names:
        return unique_names(list(header.names))
    if not header.n_rows or not rows:
        return ()
    names = rows[header.n_titles]
    return unique_names(names) if _n_repeated(names) > MAX_REPEATED_NAMES else ()


def _skipped_lines(lines: list[int], header: Header, has_names: bool) -> list[int]:
    """Return the lines above and below the header to skip. With `has_names`, also the header."""
    rest = lines[header.n_titles :]
    names = rest[: header.n_rows] if has_names else []
    units = rest[header.n_rows : header.n_rows + header.has_units]
    return [*lines[: header.n_titles], *names, *units]


def _read_head(file: IO[bytes]) -> tuple[bytes, bool]:
    """Return the first part of a file, and whether it is the whole file."""
    parts = [file.read(HEAD_BYTES)]
    n_bytes, n_lines = len(parts[0]), parts[0].count(b"\n") + parts[0].count(b"\r")
    while len(parts[-1]) == HEAD_BYTES and n_lines < MIN_HEAD_LINES and n_bytes < MAX_HEAD_BYTES:
        parts.append(file.read(HEAD_BYTES))
        n_bytes += len(parts[-1])
        n_lines += parts[-1].count(b"\n") + parts[-1].count(b"\r")
    return b"".join(parts), len(parts[-1]) < HEAD_BYTES


@contextmanager
def _open_binary(path: Path, is_gzip: bool) -> Iterator[IO[bytes]]:
    with gzip.open(path, "rb") if is_gzip else open(path, "rb") as file:
        yield file  # type: ignore[misc]


def _separator(lines: list[str]) -> str:
    """Return the separator that gives the most regular table.

    Candidates are ranked by the fraction of rows with the usual width, then by the fraction of
    values that are numbers, then by the number of columns.
    """
    best_rank, best = (0.0, 0.0, 1), ","
    for separator in SEPARATORS:
        rows = _split(lines, separator)
        width = usual_width(rows)
        if width < 2:
            continue
        values = [each for row in rows for each in row]
        uniformity = sum(len(row) == width for row in rows) / len(rows)
        numbers = sum(is_number(each, "," if separator != "," else ".") for each in values)
        rank = (round(uniformity, 1), round(numbers / len(values), 1), width)
        if rank > best_rank or (rank >= best_rank and separator != ","):
            best_rank, best = rank, separator
    if best_rank[2] == 1 and lines:
        widths = {len(each.split()) for each in lines if not COMMENT.match(each)}
        if len(widths) == 1 and widths != {1}:
            return SPACES
    return best


def _split(lines: list[str], separator: str, escape: str | None = None) -> list[list[str]]:
    if separator == SPACES:
        return [each.split() for each in lines]
    max_length = sum(map(len, lines)) + len(lines)  # quotes may join all lines to one field
    with FIELD_SIZE_LOCK:
        limit = csv.field_size_limit()
        try:
            csv.field_size_limit(max(limit, max_length))
            rows = list(
                csv.reader(lines, delimiter=separator, escapechar=escape, skipinitialspace=True)
            )
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


def _n_repeated(names: list[str]) -> int:
    """Return how many names occur earlier in a header. Empty names are not counted."""
    named = list(filter(None, names))
    return len(named) - len(set(named))


def unique_names(names: list[str]) -> tuple[str, ...]:
    """Return the names that pandas gives to the columns, such as x, x.1 and "Unnamed: 2".

    Examples
    --------
    >>> unique_names(["x", "x", "", "x.1", "x"])
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
