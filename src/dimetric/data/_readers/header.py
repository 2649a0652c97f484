"""Find the column names of a table below titles and comments, and above a row of units.

All functions take rows of texts, from the start of a text file or of a sheet.
"""

import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from dimetric.data._missing import NUMBER_MISSING_MARKERS, marks_missing

MAX_COLUMN_DIGITS = 9  # of a column number
MAX_TITLE_ROWS = 50
LONGEST_UNIT = 6  # characters of a single unit, such as [kWh]
# These patterns take linear time for any string, because a string can match each of their repeated
# parts in only one way.
POINT_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")
COMMA_NUMBER = re.compile(r"[+-]?(\d+|\d{1,3}(\.\d{3})+),\d+([eE][+-]?\d+)?")
COMMENT = re.compile(r"(#|%|//)\s*")
LINE_BREAKS = re.compile(r"\s*[\r\n]\s*")
YEAR = re.compile(r"(1[89]|20)\d\d")
RULE = re.compile(r":?[-=]{2,}:?")  # below the names of a printed table
IN_BRACKETS = re.compile(r"[\[(].*[\])]")

Row = Sequence[str]


class Header(NamedTuple):
    """The rows at the start of a table that are not data.

    Attributes
    ----------
    n_titles : int
        Number of rows above the column names, such as titles and comments.
    n_rows : int
        Number of rows of column names: 0, 1 or 2.
    names : tuple of str
        The column names, if they are not those of the only header row as written.
    has_units : bool
        Whether the row below the column names holds units.
    has_empty_ends : bool
        Whether all rows of data have an empty value at the end, without a name.
    """

    n_titles: int = 0
    n_rows: int = 1
    names: tuple[str, ...] = ()
    has_units: bool = False
    has_empty_ends: bool = False

    @property
    def n_skipped(self) -> int:
        """Number of rows above the first row of data."""
        return self.n_titles + self.n_rows + self.has_units

    def notes(self, unit: str) -> list[str]:
        """Return messages about skipped rows. `unit` is "line" or "row"."""
        notes = []
        if self.n_titles:
            lines = f"the {unit}" if self.n_titles == 1 else f"{self.n_titles} {unit}s"
            notes.append(f"Skipped {lines} above the column names.")
        if self.n_rows == 2:
            notes.append(
                f"Joined two {unit}s of column names, for example {max(self.names, key=len)!r}."
            )
        if self.has_units:
            notes.append(f"Skipped the {unit} below the column names, which seems to hold units.")
        return notes


def find_header(rows: Sequence[Row], decimal: str = ".", header: bool | None = None) -> Header:
    """Find the column names and the first row of data.

    Parameters
    ----------
    rows : sequence of sequences of str
        The first rows of a table, without empty rows.
    decimal : {".", ","}
        The decimal sign.
    header : bool or None, default=None
        Whether the first row holds column names. None detects this.

    Examples
    --------
    >>> find_header([["Report"], ["size", "name"], ["1", "a"], ["2", "b"]])
    Header(n_titles=1, n_rows=1, names=(), has_units=False, has_empty_ends=False)
    """
    if header is not None:
        return Header(n_rows=int(header))
    n_titles = _n_titles(rows, decimal)
    body = rows[n_titles:]
    if not has_header(body, decimal):
        names = _names_in_comment(rows[n_titles - 1], body[0]) if n_titles else ()
        return Header(n_titles - bool(names), int(bool(names)), names)
    if _has_two_header_rows(body, decimal):
        return Header(n_titles, 2, _joined_names(body[0], body[1]))
    has_units = _second_row_holds_units(body, decimal)
    comment = COMMENT.match(body[0][0]) if body and body[0] else None
    first = body[0][0][comment.end() :] if comment else ""
    names = (first, *body[0][1:]) if first else ()
    return Header(n_titles, 1, names, has_units, _has_empty_ends(body))


def has_header(rows: Sequence[Row], decimal: str) -> bool:
    """Return whether the first row holds column names.

    The row holds column names if a name stands above a column of numbers, or if its only numbers
    are consecutive column numbers or years.
    """
    if len(rows) < 2:
        return True
    first = rows[0]
    numbers = {i: each for i, each in enumerate(first) if is_number(each, decimal)}
    if _names_above_numbers(rows, decimal):
        return True
    if not all(each.isdecimal() and len(each) <= MAX_COLUMN_DIGITS for each in numbers.values()):
        return False
    if {int(each) - i for i, each in numbers.items()} in ({0}, {1}, {-1}, set()):
        return True
    return _are_years(list(numbers.values())) and not any(
        _are_years([row[i] for i in numbers if i < len(row)]) for row in rows[1:]
    )


def _are_years(texts: Sequence[str]) -> bool:
    """Return whether texts are several years in order, as in a table with a column for each."""
    if len(texts) < 2 or not all(map(YEAR.fullmatch, texts)):
        return False
    years = [int(each) for each in texts]
    steps = {later - earlier for earlier, later in pairwise(years)}
    return len(steps) == 1 and 0 not in steps


def is_number(text: str, decimal: str) -> bool:
    """Return whether a text is a number.

    Examples
    --------
    >>> is_number("1.5e3", "."), is_number("1.234,5", ","), is_number("1,5", ".")
    (True, True, False)
    """
    if POINT_NUMBER.fullmatch(text):
        return True
    return decimal == "," and COMMA_NUMBER.fullmatch(text) is not None


def clean_name(name: str) -> str:
    r"""Return a column name without line breaks and outer spaces.

    Examples
    --------
    >>> clean_name(" weight\n(kg)")
    'weight (kg)'
    """
    return LINE_BREAKS.sub(" ", name).strip()


def usual_width(rows: Sequence[Row]) -> int:
    """Return the most frequent number of values in a row, or the larger one of two."""
    counts = Counter(map(len, rows))
    return max(counts, key=lambda width: (counts[width], width), default=1)


def _names_above_numbers(rows: Sequence[Row], decimal: str) -> set[int]:
    """Return the columns with a name in the first row and only numbers, or nothing, below."""
    # Columns with a name above them whose values so far are numbers, or missing.
    named = {
        i for i, each in enumerate(rows[0]) if not is_number(each, decimal) and not _is_empty(each)
    }
    numeric: set[int] = set()
    for row in rows[1:]:
        for i, each in enumerate(row if named else ()):
            if i in named and not _is_empty(each):
                (numeric.add if is_number(each, decimal) else named.discard)(i)
    return named & numeric


def _is_header_above_numbers(rows: Sequence[Row], decimal: str) -> bool:
    """Return whether the first row has no numbers, and a name above a column of numbers."""
    has_numbers = any(is_number(each, decimal) for each in rows[0])
    return not has_numbers and bool(_names_above_numbers(rows, decimal))


def _n_titles(rows: Sequence[Row], decimal: str) -> int:
    """Return the number of rows above the column names."""
    width, last = usual_width(rows), min(MAX_TITLE_ROWS, len(rows) - 2)
    if width == 1:
        return 0
    n_certain = 0
    while n_certain < last and _is_not_data(rows[n_certain], width):
        n_certain += 1
    n = n_certain
    while n < last and (_is_not_data(rows[n], width) or _may_be_title(rows[n], width)):
        n += 1
    if n == n_certain:
        return n
    # Rows that may be titles or column names are titles if column names follow.
    is_sparse = all(sum(map(bool, row)) <= width // 2 for row in rows[n_certain:n])
    may_be_texts = is_sparse and width >= 3 and _is_full_header(rows[n], width, decimal)
    return n if may_be_texts or _is_header_above_numbers(rows[n:], decimal) else n_certain


def _is_not_data(row: Row, width: int) -> bool:
    """Return whether a row is too short for the table, has no values, or is a comment."""
    is_comment = bool(row) and COMMENT.match(row[0]) is not None
    return len(row) < width - 1 or not any(row) or (is_comment and len(row) != width)


def _may_be_title(row: Row, width: int) -> bool:
    """Return whether a row has few values, all of them at the left, or looks like a comment."""
    n_filled = sum(map(bool, row))
    is_at_left = all(row[:n_filled])
    return COMMENT.match(row[0]) is not None or (is_at_left and n_filled <= max(1, width // 2))


def _is_full_header(row: Row, width: int, decimal: str) -> bool:
    """Return whether a row has a different name for each column."""
    return (
        len(row) == width
        and len(set(row)) == width
        and not any(_is_empty(each) or is_number(each, decimal) for each in row)
    )


def _names_in_comment(comment: Row, first: Row) -> tuple[str, ...]:
    """Return the column names in a comment such as "# a b c", or () if it holds none."""
    if not comment or not COMMENT.match(comment[0]):
        return ()
    start = comment[0][COMMENT.match(comment[0]).end() :]  # type: ignore[union-attr]
    names = tuple(comment[1:] if not start else (start, *comment[1:]))
    return names if len(names) == len(first) > 1 else ()


def _numeric_columns(rows: Sequence[Row], decimal: str) -> set[int]:
    """Return the columns whose values are all numbers or missing, with at least one number."""
    n_columns = max(map(len, rows), default=0)
    names = ["name"] * n_columns
    return _names_above_numbers([names, *rows], decimal)


def _is_text_above_numbers(row: Row, numeric: set[int], decimal: str) -> bool:
    """Return whether a row has texts, and no numbers, in several columns of numbers."""
    cells = [row[i] for i in numeric if i < len(row)]
    texts = [each for each in cells if not _is_empty(each)]
    return len(texts) >= min(2, len(numeric)) > 0 and not any(
        is_number(each, decimal) for each in row
    )


def _has_two_header_rows(body: Sequence[Row], decimal: str) -> bool:
    """Return whether the names of the first row repeat or are empty, and the second row has more.

    Merged cells, as in a row of years above a row of months, have a name and then empty cells.
    """
    if len(body) < 4 or any(is_number(each, decimal) for each in body[1]):
        return False
    first, second = body[0], body[1]
    names = first[1:]
    lacks_name = any(not above and below for above, below in zip(names, second[1:], strict=False))
    is_ambiguous = len(first) == len(second) and (lacks_name or len(set(names)) < len(names))
    numeric = _numeric_columns(body[2:], decimal)
    has_all = len(numeric) >= 2 and all(i < len(second) and second[i] for i in numeric)
    is_full = bool(numeric) and lacks_name and _is_full_header(second, len(first), decimal)
    return is_ambiguous and (has_all or is_full) and any(names)


def _joined_names(first: Row, second: Row) -> tuple[str, ...]:
    names, group = [], ""
    for above, below in zip(first, second, strict=True):
        group = above or group
        names.append(" ".join(dict.fromkeys(filter(None, (group, below)))))
    return tuple(names)


def _second_row_holds_units(body: Sequence[Row], decimal: str) -> bool:
    if len(body) < 4:
        return False
    row, below = body[1], body[2:]
    numeric = _numeric_columns(below, decimal)
    if any(row) and all(not each or RULE.fullmatch(each) for each in row):
        return True
    if not _is_text_above_numbers(row, numeric, decimal):
        return False
    texts = [each for each in row if not _is_empty(each)]
    if len(texts) == 1 or len(numeric) == 1:
        # A value such as "unknown" is more likely than units.
        return len(texts) == 1 and len(texts[0]) <= LONGEST_UNIT
    for i, each in enumerate(row):
        if i in numeric or _is_empty(each) or IN_BRACKETS.fullmatch(each):
            continue
        values = [other[i] for other in below if i < len(other)]
        is_categorical = len(set(values)) <= len(values) / 2
        if not is_categorical or each in values:
            return False
    return True


def _has_empty_ends(body: Sequence[Row]) -> bool:
    n_names = len(body[0]) if body else 0
    return len(body) > 1 and all(len(row) == n_names + 1 and not row[-1] for row in body[1:])


def _is_empty(text: str) -> bool:
    return marks_missing(text, NUMBER_MISSING_MARKERS)
