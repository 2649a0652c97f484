"""What is done with each column of a table: one record per column."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dimetric.data._columns import MAX_NUMBER, ReadColumns
from dimetric.data._kinds._dates import DateColumn, TimeColumn
from dimetric.data._kinds._detect import Detected, detect, distinct_values, quoted
from dimetric.data._kinds._durations import DurationColumn
from dimetric.data._kinds._encoding import ColumnEncoding
from dimetric.data._kinds._ids import IdColumn, find_ids
from dimetric.data._kinds._quantities import QuantityColumn
from dimetric.data._kinds._texts import FrequencyColumn, WordsColumn
from dimetric.data._learn_column import part_list
from dimetric.data._missing import is_missing

MAX_MISSING = 0.95  # fraction of missing values, above which a column is left out
MIN_ROWS_FOR_FRACTION = 20  # in smaller tables, only columns without values are left out
MAX_LISTED_ALIKE = 3  # columns that are left out for the same reason and listed one by one
LONGEST_VALUE = 40  # characters of an example


@dataclass(frozen=True)
class ColumnRecord:
    """What a column holds, and what is done with it.

    Attributes
    ----------
    name : str
        Name of the column.
    kind : str
        What it holds, such as "numbers", "categories", "dates", "percentages" or "ids".
    n_missing : int
        Number of missing values.
    range : str
        Its smallest and largest value, or the number of its distinct values.
    example : str
        One of its values.
    treatment : str
        What is done with it, such as "1 feature" or "left out: it looks like a row identifier".
    n_features : int
        Number of features that it becomes.
    note : str
        A sentence about unusual values, or "".
    problem : str
        A sentence that says why the column cannot be used, or "".
    is_group : bool
        Whether the column may name groups of rows.
    encoding : ColumnEncoding or None
        Its encoding, unless it holds numbers or categories, or is left out.
    """

    name: str
    kind: str
    n_missing: int
    range: str = ""
    example: str = ""
    treatment: str = ""
    n_features: int = 0
    note: str = ""
    problem: str = ""
    is_group: bool = False
    encoding: ColumnEncoding | None = None

    @property
    def is_left_out(self) -> bool:
        """Whether the column is not used because of its values."""
        return self.treatment.startswith("left out")

    @property
    def reason(self) -> str:
        """Why the column is left out, or ""."""
        return self.treatment.partition(": ")[2] if self.is_left_out else ""


def record_of(name: str, values: np.ndarray) -> tuple[ColumnRecord, np.ndarray]:
    """Return the record of a feature column, and its values without those that cannot be read.

    Parameters
    ----------
    name : str
        Name of the column.
    values : ndarray of shape (n_rows,)
        Numbers, dates, or objects in which None marks missing values.

    Examples
    --------
    >>> record_of("rate", np.array(["1 %", "2 %", None], dtype=object))[0].range
    '1 to 2 %'
    """
    missing = is_missing(values)
    n, n_missing = len(values), int(missing.sum())
    if n_missing == n:
        kind, reason = "empty", "all values are missing"
        ids = find_ids(name, values)
        return _left_out(name, kind, n_missing, ids.reason if ids else reason), values
    found = detect(name, values)
    written = values
    if found.encoding is not None and found.encoding.n_codes == 1:
        values = _readable(values, found.encoding)
        missing = is_missing(values)
    example = _shown(written[int(np.argmin(missing))])
    kind, span, n_distinct = _described(values, missing, found)
    details: dict[str, Any] = {"range": span, "example": example, "note": _about(name, found.note)}
    n_missing = int(missing.sum())
    if n - n_missing > 1 and n_distinct == 1:
        return _left_out(name, kind, n_missing, "it holds a single value", **details), values
    if n >= MIN_ROWS_FOR_FRACTION and n_missing > MAX_MISSING * n:
        percent = min(99, round(100 * n_missing / n))
        reason = f"{percent} % of its values are missing"
        return _left_out(name, kind, n_missing, reason, **details), values
    ids = None if found.problem else _ids(name, values, found.encoding)
    if ids is not None and ids.is_kept:
        details["note"] = f"Column {name!r}: {ids.reason}. {_group_hint(name)}"
    elif ids is not None:
        details["note"] = _group_hint(name) if ids.is_group else ""
        details["is_group"] = ids.is_group
        return _left_out(name, "ids", n_missing, ids.reason, **details), values
    problem = found.problem or _overflow(values)
    if problem:
        sentence = f"Column {name!r}: {problem}."
        return ColumnRecord(name, kind, n_missing, problem=sentence, **details), values
    n_features = _n_features(found.encoding, values, n_distinct)
    details |= {"treatment": _treatment(found.encoding, n_features), "n_features": n_features}
    return ColumnRecord(name, kind, n_missing, encoding=found.encoding, **details), values


def records_of(
    columns: Mapping[str, np.ndarray], features: list[str]
) -> tuple[list[ColumnRecord], ReadColumns]:
    """Return the records of the feature columns, and all columns without the unreadable values.

    Parameters
    ----------
    columns : mapping of str to ndarray
        All columns of a table.
    features : list of str
        Names of the columns that may become features.
    """
    records, read = [], dict(columns)
    for name in features:
        record, read[name] = record_of(name, columns[name])
        records.append(record)
    encodings = {each.name: each.encoding for each in records if each.encoding is not None}
    return records, ReadColumns(read, encodings)


def record_notes(records: list[ColumnRecord]) -> list[str]:
    """Return sentences about columns that are left out and values that cannot be read."""
    alike = Counter(each.reason for each in records if each.is_left_out)
    notes = []
    for record in records:
        if record.is_left_out and alike[record.reason] <= MAX_LISTED_ALIKE:
            hint = f" {record.note}" if record.is_group else ""
            notes.append(f"Dropped column {record.name!r}: {record.reason}.{hint}")
        elif not record.is_left_out and record.note:
            notes.append(record.note)
    for reason, count in alike.items():
        if count > MAX_LISTED_ALIKE:
            names = [each.name for each in records if each.reason == reason]
            each_one = "each " if reason.startswith("it ") else ""
            notes.append(f"Dropped {count} columns, {each_one}because {reason}: {quoted(names)}.")
    return notes


def _left_out(name: str, kind: str, n_missing: int, reason: str, **details: Any) -> ColumnRecord:
    return ColumnRecord(name, kind, n_missing, treatment=f"left out: {reason}", **details)


def _ids(name: str, values: np.ndarray, encoding: ColumnEncoding | None) -> IdColumn | None:
    """Return why a column holds identifiers. Dates and numbers with a unit are never ids."""
    is_plain = isinstance(encoding, QuantityColumn) and not encoding.unit
    if encoding is None or is_plain or isinstance(encoding, FrequencyColumn | WordsColumn):
        return find_ids(name, values)
    return None


def _readable(values: np.ndarray, encoding: ColumnEncoding) -> np.ndarray:
    """Return values as the encoding reads them. Values that it cannot read are missing."""
    read = encoding.read(encoding.codes(values)[:, 0])
    return values if read is None else read


def _described(values: np.ndarray, missing: np.ndarray, found: Detected) -> tuple[str, str, int]:
    """Return the kind of a column, its range, and how many distinct values it has.

    The number of distinct numbers or dates is not counted: it is 1 or 2 (more than one).
    """
    present, encoding = values[~missing], found.encoding
    if isinstance(encoding, FrequencyColumn | WordsColumn):
        n_distinct = len(distinct_values(present))
        return "texts", f"{n_distinct:,} texts", n_distinct
    if encoding is None and values.dtype.kind not in "iufb":
        n_distinct = len(distinct_values(present))
        kind = "mixed units" if found.problem else "categories"
        return kind, f"{n_distinct} value{'s' * (n_distinct > 1)}", n_distinct
    numbers = present.astype(np.float64) if encoding is None else encoding.codes(present)[:, 0]
    low, high = float(np.min(numbers)), float(np.max(numbers))
    n_distinct = 1 if low == high else 2
    if isinstance(encoding, DateColumn):
        days = [str(np.datetime64(int(np.floor(each)), "D")) for each in (low, high)]
        return "dates", " to ".join(days), n_distinct
    kind = "numbers" if encoding is None else encoding.content
    if isinstance(encoding, TimeColumn):
        clock = [f"{int(each)}:{int(60 * each % 60):02}" for each in (low, high)]
        return kind, " to ".join(clock), n_distinct
    if values.dtype.kind == "b":
        return "true/false", "", n_distinct
    unit = encoding.unit if isinstance(encoding, QuantityColumn) else ""
    unit = "h" if isinstance(encoding, DurationColumn) else unit
    return kind, f"{number_text(low)} to {number_text(high)} {unit}".strip(), n_distinct


def _n_features(encoding: ColumnEncoding | None, values: np.ndarray, n_distinct: int) -> int:
    """Return the number of features of a column that is used."""
    if encoding is not None:
        return encoding.n_features
    return 1 if values.dtype.kind in "iufb" or n_distinct <= 2 else n_distinct


def _treatment(encoding: ColumnEncoding | None, n_features: int) -> str:
    """Return what is done with a column that is used."""
    if isinstance(encoding, FrequencyColumn):
        frequent = f", one-hot for the {encoding.n_frequent} most frequent" * bool(
            encoding.n_frequent
        )
        features = f"{n_features} feature{'s' * (n_features > 1)}"
        return f"{features}: how often each text occurs{frequent}"
    if n_features == 1:
        return "1 feature"
    if encoding is None:
        return f"{n_features} features, one-hot"
    if isinstance(encoding, WordsColumn):
        return f"{n_features} features: hashed {'letters' if encoding.characters else 'words'}"
    return f"{n_features} features: {', '.join(part_list(encoding))}"


def _overflow(values: np.ndarray) -> str:
    """Return why numbers are too large for distances, or ""."""
    if values.dtype.kind != "f":
        return ""
    largest = float(np.max(np.abs(values), initial=0.0, where=np.isfinite(values)))
    if largest <= MAX_NUMBER:
        return ""
    return f"it holds values around {largest:.0e}, whose squares are too large for float64"


def _group_hint(name: str) -> str:
    option = f"--groups {name!r} (groups={name!r} in Python)"
    return f"If the rows of a group belong together, use {option}."


def _about(name: str, note: str) -> str:
    return f"Column {name!r}: {note}" if note else ""


def number_text(value: float) -> str:
    """Return a number for a message.

    Examples
    --------
    >>> number_text(89594.2), number_text(0.123456), number_text(-0.0)
    ('89594', '0.1235', '0')
    """
    is_whole = abs(value) < 1e9 and (abs(value) >= 1e3 or value == round(value))
    shown = f"{value:.0f}" if is_whole else f"{value:.4g}"
    return "0" if shown == "-0" else shown


def _shown(value: Any) -> str:
    if isinstance(value, float | np.floating):
        return f"{value:.6g}"
    text = value.isoformat() if hasattr(value, "isoformat") else str(value)
    return text if len(text) <= LONGEST_VALUE else f"{text[: LONGEST_VALUE - 3]}..."
