"""How a file of text separates and writes its values: found out by looking at its beginning."""

import codecs
import csv
import gzip
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO

from dimetric.data.columns import GAPS, GAPS_AMONG_NUMBERS

SEPARATORS = (";", "\t", "|", ",")
SPACES = r"\s+"
SAMPLE = 2**20  # characters that are looked at
LINES = 1000
BLOCK = 2**22

POINT = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
POINTED = re.compile(r"[+-]?(\d{1,3}(\.\d{3})+|\d+)(,\d+)?")  # numbers, where decimals have commas
COMMA = re.compile(r"[+-]?(\d+|\d{1,3}(\.\d{3})+),\d+([eE][+-]?\d+)?")
DOTTED_THOUSANDS = re.compile(r"[+-]?\d{1,3}(\.\d{3})+")


@dataclass(frozen=True)
class Dialect:
    """How a file is written.

    Attributes
    ----------
    separator : str
        What stands between values; a regular expression if spaces do.
    header : bool
        Whether the first line holds names.
    decimal : {".", ","}
        What stands before the decimals.
    encoding : str
        How bytes are characters.
    """

    separator: str = ","
    header: bool = True
    decimal: str = "."
    encoding: str = "utf-8"

    def plain(self, text: str) -> str:
        """Return a value without spaces around it; a number with a point before its decimals."""
        text = text.strip()
        if self.decimal == "," and POINTED.fullmatch(text):
            return text.replace(".", "").replace(",", ".")
        return text


def dialect_of(path: Path, header: bool | None = None) -> Dialect:
    r"""Return how a file of text is written.

    Parameters
    ----------
    path : path
        The file, perhaps packed (``.gz``).
    header : bool or None, default=None
        Whether the first line holds names; None finds out.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "prices.csv")
    ...     _ = path.write_text("item;price\nbread;2,50\nmilk;1,20\n")
    ...     dialect_of(path)
    Dialect(separator=';', header=True, decimal=',', encoding='utf-8')
    """
    encoding = _encoding(path)
    with _opened(path) as file:
        text = codecs.getincrementaldecoder(encoding)().decode(file.read(SAMPLE))
    if "\0" in text:
        raise ValueError("it is no file of text")
    lines = list(islice((each for each in text.splitlines() if each.strip()), LINES))
    if len(text) >= SAMPLE // 4 and len(lines) > 1 and len(lines) < LINES:
        lines.pop()  # cut in the middle
    separator = _separator(lines)
    rows = [row for row in _split(lines, separator) if row]
    decimal = "."
    if separator != ",":
        values = [each for row in rows for each in row]
        points = [each for each in values if "." in each and POINT.fullmatch(each)]
        if any(COMMA.fullmatch(each) for each in values) and all(
            DOTTED_THOUSANDS.fullmatch(each) for each in points
        ):
            decimal = ","
    named = _has_header(rows, decimal) if header is None else header
    return Dialect(separator, named, decimal, encoding)


def _encoding(path: Path) -> str:
    """Return the encoding that the whole file can be read in."""
    with _opened(path) as file:
        start = file.read(4)
    if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    for encoding in ("utf-8-sig" if start.startswith(codecs.BOM_UTF8) else "utf-8", "cp1252"):
        decoder = codecs.getincrementaldecoder(encoding)()
        try:
            with _opened(path) as file:
                while block := file.read(BLOCK):
                    decoder.decode(block)
                decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            continue
        return encoding
    return "latin-1"  # as which anything can be read


@contextmanager
def _opened(path: Path) -> Iterator[IO[bytes]]:
    with gzip.open(path, "rb") if path.suffix.lower() == ".gz" else open(path, "rb") as file:
        yield file  # type: ignore[misc]


def _separator(lines: list[str]) -> str:
    """Return the separator that cuts most lines in equally many values, most of them numbers."""
    best, found = (0.0, 0.0, 1), ","
    for separator in SEPARATORS:
        rows = list(_split(lines, separator))
        width = len(rows[0]) if rows else 1
        if width < 2:
            continue
        values = [each for row in rows for each in row]
        alike = sum(len(row) == width for row in rows) / len(rows)
        numbers = sum(_is_number(each, "," if separator != "," else ".") for each in values)
        rank = (round(alike, 1), round(numbers / len(values), 1), width)
        if rank > best or (rank >= best and separator != ","):
            best, found = rank, separator
    if best[2] == 1 and lines:
        widths = {len(each.split()) for each in lines}
        if len(widths) == 1 and widths != {1}:
            return SPACES
    return found


def _split(lines: list[str], separator: str) -> Iterator[list[str]]:
    if separator == SPACES:
        yield from (each.split() for each in lines)
        return
    try:
        for row in csv.reader(lines, delimiter=separator, skipinitialspace=True):
            yield [each.strip() for each in row]
    except csv.Error as error:
        raise ValueError(f"it is no file of text ({error})") from error


def _has_header(rows: list[list[str]], decimal: str) -> bool:
    """Tell whether the first row holds names: texts above numbers, or numbers that just count."""
    if len(rows) < 2:
        return True
    first, below = rows[0], rows[1:]
    numbers = {i: each for i, each in enumerate(first) if _is_number(each, decimal)}
    for i, name in enumerate(first):
        column = [row[i] for row in below if i < len(row) and not _is_gap(row[i])]
        above = i not in numbers and not _is_gap(name)
        if above and column and all(_is_number(each, decimal) for each in column):
            return True
    if not all(each.isdecimal() for each in numbers.values()):
        return False
    return {int(each) - i for i, each in numbers.items()} in ({0}, {1}, {-1}, set())


def _is_gap(text: str) -> bool:
    return text in GAPS or text in GAPS_AMONG_NUMBERS


def _is_number(text: str, decimal: str) -> bool:
    if POINT.fullmatch(text):
        return True
    return decimal == "," and COMMA.fullmatch(text) is not None
