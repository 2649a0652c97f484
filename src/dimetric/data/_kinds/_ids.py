"""Find columns that name rows or groups of rows: numbers, codes, addresses and names."""

import re
from typing import NamedTuple

import numpy as np

from dimetric.data._missing import is_missing

MIN_ROWS = 20  # in smaller tables, ids are recognised only by the name of the column
MIN_DENSITY = 0.8  # fraction of the integers between the smallest and the largest id that occur
MIN_DISTINCT = 0.98  # fraction of distinct values among ids of rows
MIN_DISTINCT_TEXTS = 0.9  # the same among codes and names, which are not counted as texts
MAX_TEMPLATES = 0.1  # number of shapes of codes, as a fraction of their number
MIN_MATCHES = 0.9  # fraction of addresses or hashes in a column
MAX_WORDS = 3.5  # of a name, on average
MIN_REPEATS = 2  # rows of a group, on average
MIN_GROUPS = 20  # fewer groups than this may be categories
MIN_NAMED_GROUPS = 5  # fewer values are probably not groups of rows that belong together
ROW_ID_NAMES = ("", "id", "index", "no", "nr", "row", "rownames", "rowid", "#", "uid", "idx")
ID_WORDS = {"id", "ids", "uuid", "guid", "uid", "pk", "oid", "identifier"}
NUMBER_WORDS = {"no", "nr", "num", "number", "nummer", "index", "idx", "row", "code", "ref"}
CONTACT_WORDS = {"phone", "telephone", "tel", "telefon", "mobile", "fax", "email", "mail"}
CONTACT_WORDS |= {"iban", "ssn", "passport"}
WEB_WORDS = {"url", "website"}
JOINED_ID = re.compile(
    r"(customer|client|user|order|patient|account|product|person|subject|member|invoice|session|"
    r"transaction|employee|student|passenger|case|record|sample|item|visit)id"
)
# Consecutive numbers of these columns count something other than rows.
COUNTED_WORDS = {"year", "jahr", "month", "day", "week", "hour", "time", "t", "date", "age", "rank"}
COUNTED_WORDS |= {"step", "cycle", "minute", "second", "epoch", "position", "distance"}
WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
PATTERNS = {
    "email addresses": re.compile(r"[^@\s]+@[^@\s]+\.[A-Za-z]{2,}"),
    "unique identifiers": re.compile(r"\{?[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\}?"),
    "hashes": re.compile(r"(?=.*\d)(?=.*[a-fA-F])(?:[0-9a-f]{16,}|[0-9A-F]{16,})"),
    "web addresses": re.compile(r"(?:https?://|www\.)\S+"),
    "phone numbers": re.compile(r"(?=(?:\D*\d){7,15}\D*$)(?:\+|\(|0)[\d\s()/.-]{6,22}"),
}


class IdColumn(NamedTuple):
    """The reason why a column holds identifiers.

    Attributes
    ----------
    reason : str
        A clause, such as "it looks like a row identifier".
    is_group : bool
        Whether its values repeat, so that they may name groups of rows.
    is_kept : bool
        Whether the column is still a feature, because there are few groups.
    """

    reason: str
    is_group: bool = False
    is_kept: bool = False


def find_ids(name: str, values: np.ndarray) -> IdColumn | None:
    """Return why a column holds identifiers, or None if it does not.

    Parameters
    ----------
    name : str
        Name of the column.
    values : ndarray of shape (n_rows,)
        Its values.

    Examples
    --------
    >>> find_ids("customer_id", np.array([7, 2, 5])), find_ids("size", np.array([7, 2, 5]))
    (IdColumn(reason='it looks like a row identifier', is_group=False, is_kept=False), None)
    >>> find_ids("x", np.arange(1000, 1300))
    IdColumn(reason='it numbers the rows from 1000 to 1299', is_group=False, is_kept=False)
    """
    missing = is_missing(values)
    plain = "" if name.startswith("Unnamed: ") else name.strip().lower()
    if not plain and missing.all():
        return IdColumn("it has no name and no values")  # a separator ends every line of the file
    present = values[~missing]
    is_text = values.dtype.kind == "O"
    if len(present) < 2 or not (is_text or _are_integers(present)):
        return None
    distinct = {str(each) for each in present.tolist()} if is_text else set(present.tolist())
    is_unique = len(distinct) >= MIN_DISTINCT * len(present)
    *_, last_word = ["", *(each.lower() for each in WORDS.findall(name))]
    words = {each.lower() for each in WORDS.findall(name)}
    named = plain in ROW_ID_NAMES or bool(words & ID_WORDS) or bool(JOINED_ID.search(plain))
    if is_unique and named:
        return IdColumn("it looks like a row identifier")
    if words & WEB_WORDS and is_text and is_unique:
        return IdColumn("it holds web addresses")
    if words & CONTACT_WORDS and (is_unique or (is_text and len(distinct) >= MIN_GROUPS)):
        return IdColumn("it holds contact data", not is_unique)
    if not is_text:
        return _numbered_rows(present, words, last_word, named, len(distinct))
    content = _pattern(present)
    if content and len(distinct) > 2:
        return IdColumn(f"it holds {content}", not is_unique)
    if len(distinct) <= MIN_DISTINCT_TEXTS * len(present) or len(present) < MIN_ROWS:
        return _group(present, distinct, named)
    return _codes_or_names(present, last_word)


def _numbered_rows(
    present: np.ndarray, words: set[str], last_word: str, named: bool, n_distinct: int
) -> IdColumn | None:
    """Return why integers number rows or groups, or None if they do not."""
    if n_distinct < len(present):
        return _group(present, range(n_distinct), named)
    is_numbered = last_word in NUMBER_WORDS  # "row number", in contrast to "number of rooms"
    before, after = present[:-1], present[1:]  # a difference could overflow
    # Numbers in random order may be measurements, such as ranks, whatever their range is.
    is_sorted = bool(np.all(after > before) or np.all(after < before))
    if len(present) < MIN_ROWS or not (is_sorted or is_numbered):
        return None
    first, last = int(present.min()), int(present.max())
    is_dense = len(present) >= MIN_DENSITY * (last - first + 1)
    if is_dense and not words & COUNTED_WORDS:
        return IdColumn(f"it numbers the rows from {first} to {last}")
    return IdColumn("it looks like a row identifier") if is_numbered and is_sorted else None


def _group(present: np.ndarray, distinct: "set[str] | range", named: bool) -> IdColumn | None:
    """Return why a column names groups, or None if it does not."""
    repeats = len(present) / max(1, len(distinct))
    is_many = len(distinct) >= MIN_GROUPS
    if not named or len(distinct) < MIN_NAMED_GROUPS or (repeats < MIN_REPEATS and not is_many):
        return None
    reason = f"it names {len(distinct):,} groups of rows"
    return IdColumn(reason, True, not is_many)


def _codes_or_names(present: np.ndarray, last_word: str) -> IdColumn | None:
    """Return why distinct texts are codes or names, or None if they are free texts."""
    texts = [str(each).strip() for each in present.tolist()]
    n_words = sum(len(each.split()) for each in texts) / len(texts)
    if n_words >= MAX_WORDS:
        return None
    shapes = {re.sub(r"[^\W\d_]", "A", re.sub(r"\d+", "9", each)) for each in texts}
    has_digits = sum(any(map(str.isdigit, each)) for each in texts) >= MIN_MATCHES * len(texts)
    is_alike = len(shapes) <= max(3, MAX_TEMPLATES * len(texts))
    if has_digits and (is_alike or last_word in NUMBER_WORDS):
        return IdColumn("it holds a different code in nearly every row")
    return IdColumn("it holds a different text in nearly every row, like a name")


def _pattern(present: np.ndarray) -> str:
    """Return what most texts are by their shape, such as "email addresses", or ""."""
    texts = [str(each).strip() for each in present.tolist()[:1000]]
    for content, pattern in PATTERNS.items():
        if sum(bool(pattern.fullmatch(each)) for each in texts) >= MIN_MATCHES * len(texts):
            return content
    return ""


def _are_integers(present: np.ndarray) -> bool:
    """Return whether numbers are integers. Missing values turn integers into floats."""
    if present.dtype.kind in "iu":
        return True
    return present.dtype.kind == "f" and bool(
        np.all(np.isfinite(present)) and np.all(present == np.round(present))
    )
