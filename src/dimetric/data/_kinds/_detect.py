"""Decide what a column holds: dates, times, durations, numbers with units, or texts."""

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from dimetric.data._columns import CODE_DIGITS, MAX_QUOTED_CHARACTERS
from dimetric.data._kinds._dates import PARTS, DateColumn, TimeColumn, date_parts
from dimetric.data._kinds._durations import DurationColumn, duration_hours
from dimetric.data._kinds._encoding import ColumnEncoding
from dimetric.data._kinds._quantities import (
    CURRENCIES,
    FAMILIES,
    QuantityColumn,
    decimal_sign,
    number_of,
    quantity,
    unit_factors,
)
from dimetric.data._kinds._texts import FrequencyColumn, WordsColumn
from dimetric.data._kinds._written_dates import (
    day_number,
    hours_of_clock,
    order_and_zone,
    written_date,
)
from dimetric.data._missing import NUMBER_MISSING_MARKERS, is_missing, marks_missing

MAX_CATEGORIES = 50  # of a column; the limit does not depend on the number of rows
MAX_EXCEPTIONS = 0.1  # fraction of values that may differ in kind from the others
MAX_MARKED = 0.4  # the same, if these values are one to three distinct texts
MAX_FOREIGN = 0.01  # fraction of values of another unit, such as a few euros among dollars
MIN_NUMBERS = 10  # distinct numbers, for a column with some texts to be numeric
N_TRIED = 100  # values of a column that must mostly fit a kind, before all are read
MIN_WORDS = 3.5  # of a free text, on average
MAX_REPEATED = 0.9  # texts are encoded by frequency up to this ratio of distinct texts to rows
MAX_EXAMPLES = 3  # values quoted in a message
FISCAL_YEAR = re.compile(r"(\d{4})[-/](\d{2})")
VERSION = re.compile(r"\d{1,2}\.0\.\d{1,2}|0\.\d{1,2}\.\d{1,2}")  # no day or month is 0
SHORT_DATE = re.compile(r"\d{2}-\d{2}-\d{2}")  # the year may be first or last
DATE_NAMES = ("date", "datum", "day", "dt", "fecha")


class Detected(NamedTuple):
    """What a column was found to hold.

    Attributes
    ----------
    encoding : ColumnEncoding or None
        None if the column holds plain numbers or categories.
    note : str
        A sentence about what is done with unusual values, or "".
    problem : str
        A clause that says why the column cannot be used, or "".
    """

    encoding: ColumnEncoding | None
    note: str = ""
    problem: str = ""


def detect(name: str, values: np.ndarray) -> Detected:
    """Return what a column holds.

    Parameters
    ----------
    name : str
        Name of the column.
    values : ndarray of shape (n_rows,)
        Numbers, dates, or objects in which None marks missing values.

    Examples
    --------
    >>> detect("rate", np.array(["12 %", "3.5%", None], dtype=object)).encoding
    QuantityColumn(unit='%', decimal='.', factors={'%': 1.0})
    """
    if values.dtype.kind == "M":
        return Detected(_with_parts(DateColumn(""), DateColumn().codes(values)[:, 0]))
    if values.dtype.kind == "m":
        return Detected(DurationColumn())
    if values.dtype.kind in "iufb":
        return _numbers(name, values)
    counts = distinct_values(values)
    if not counts:
        return Detected(None)
    finders: tuple[Callable[[np.ndarray, Counter[Any]], Detected | None], ...] = (
        _dates,
        _times,
        _quantities,
        _durations,
    )
    for find in finders:
        found = find(values, counts)
        if found is not None:
            return found
    return Detected(text_encoding(counts))


def text_encoding(counts: Counter[Any]) -> ColumnEncoding | None:
    """Return the encoding of texts, or None if they are few enough for categories.

    Parameters
    ----------
    counts : Counter
        The distinct texts, and how often they occur.
    """
    if len(counts) <= MAX_CATEGORIES:
        return None
    n_values = sum(counts.values())
    words = sum(len(str(each).split()) * count for each, count in counts.items()) / n_values
    if words >= MIN_WORDS:
        return WordsColumn()
    if len(counts) > MAX_REPEATED * n_values:
        return WordsColumn(characters=True)
    texts = [str(each) for each in counts]
    return FrequencyColumn.of(texts, list(counts.values()))


def quoted(values: list[Any]) -> str:
    """Return a few values for a message.

    Examples
    --------
    >>> quoted(["a", "b", "c", "d"])
    "'a', 'b', 'c' and 1 more"
    """
    shown = ", ".join(repr(str(each)[:MAX_QUOTED_CHARACTERS]) for each in values[:MAX_EXAMPLES])
    more = len(values) - MAX_EXAMPLES
    return f"{shown} and {more} more" if more > 0 else shown


def distinct_values(values: np.ndarray) -> Counter[Any]:
    """Return the distinct values that are not missing, and how often each occurs."""
    counts: Counter[Any] = Counter()
    for value, missing in zip(values.tolist(), is_missing(values).tolist(), strict=True):
        if not missing:
            counts[value if value.__hash__ is not None else str(value)] += 1
    return counts


def _read(counts: Counter[Any], read: Callable[[Any], Any]) -> tuple[dict[Any, Any], list[Any]]:
    """Return the results of a function that reads values, and the values that it cannot read.

    Markers of missing numbers are in neither. Both are empty if most values cannot be read.
    """
    tried = [each for each, _ in zip(counts, range(N_TRIED), strict=False)]
    if sum(read(each) is not None for each in tried) < len(tried) / 2:
        return {}, []
    found, others = {}, []
    for each in counts:
        result = read(each)
        if result is not None:
            found[each] = result
        elif not marks_missing(each, NUMBER_MISSING_MARKERS):
            others.append(each)
    return found, others


def _few(others: list[Any], counts: Counter[Any]) -> bool:
    """Return whether values are so few that they may be missing values.

    One to three distinct texts, such as "unknown", may occur more often than different texts.
    """
    limit = MAX_EXCEPTIONS if len(others) > MAX_EXAMPLES else MAX_MARKED
    return sum(counts[each] for each in others) <= limit * sum(counts.values())


def _exceptions_note(others: list[Any], counts: Counter[Any], content: str) -> str:
    if not others:
        return ""
    n_others = sum(counts[each] for each in others)
    values, are = ("value", "is") if n_others == 1 else ("values", "are")
    return (
        f"{n_others} {values} cannot be read as {content} and {are} treated as missing: "
        f"{quoted(others)}."
    )


def _dates(values: np.ndarray, counts: Counter[Any]) -> Detected | None:
    found, others = _read(counts, written_date)
    if not found or not _few(others, counts) or _are_codes(list(counts)):
        return None
    order, utc, is_certain = order_and_zone((each, counts[key]) for key, each in found.items())
    days = {key: day_number(each, order, utc) for key, each in found.items()}
    codes = np.array([each for each in days.values() if each is not None])
    unread = [key for key, each in days.items() if each is None]
    if not len(codes) or not _few([*unread, *others], counts):
        return None
    notes = [_exceptions_note([*unread, *others], counts, "dates")]
    if not is_certain:
        notes.append("the order of day and month is unclear; dates are read as day, month, year.")
    short = next((each for each in map(str, found) if SHORT_DATE.fullmatch(each)), "")
    if short and is_certain:
        words = "day, month, year" if order == "dmy" else "month, day, year"
        notes.append(f"dates such as {short!r} are read as {words}.")
    return Detected(_with_parts(DateColumn(order, utc), codes), " ".join(filter(None, notes)))


def _are_codes(texts: list[Any]) -> bool:
    """Return whether texts are fiscal years such as 2012/13, or versions such as 10.0.2."""
    if any(VERSION.fullmatch(str(each).strip()) for each in texts):
        return True
    found = [FISCAL_YEAR.fullmatch(str(each).strip()) for each in texts]
    return len(found) > 1 and all(
        each is not None and (int(each[1]) + 1) % 100 == int(each[2]) for each in found
    )


def _times(values: np.ndarray, counts: Counter[Any]) -> Detected | None:
    found, others = _read(counts, hours_of_clock)
    if not found or not _few(others, counts):
        return None
    if any(duration_hours(each) is not None for each in others):
        return None  # one is longer than a day, so they are durations
    return Detected(TimeColumn(), _exceptions_note(others, counts, "times"))


def _durations(values: np.ndarray, counts: Counter[Any]) -> Detected | None:
    found, others = _read(counts, duration_hours)
    if not found or not _few(others, counts):
        return None
    return Detected(DurationColumn(), _exceptions_note(others, counts, "durations"))


def _quantities(values: np.ndarray, counts: Counter[Any]) -> Detected | None:
    found, others = _read(counts, _quantity_of)
    if not found or not _few(others, counts):
        return None
    found, foreign = _without_rare_units(found, counts)
    others += foreign
    units: Counter[str] = Counter()
    for key, each in found.items():
        units[each.unit] += counts[key]
        is_code = each.digits[0] == "0" and each.digits.isdigit() and not each.unit
        if is_code and len(each.digits) >= CODE_DIGITS:
            return None
    factors = unit_factors(units)
    if factors is None:
        known = {*CURRENCIES.values(), *(unit for family in FAMILIES for unit in family)}
        if all(not each or each in known or each.lower() in known for each in units):
            named = sorted(each for each in units if each)
            return Detected(None, "", f"it holds numbers of different units ({', '.join(named)})")
        return None
    unit = next(iter(factors))
    is_currency = unit in CURRENCIES.values()
    decimal = decimal_sign((each.digits for each in found.values()), is_currency)
    wrong = [key for key, each in found.items() if number_of(each.digits, decimal) is None]
    n_numbers = len(found) - len(wrong)
    if not _few([*others, *wrong], counts) or (not unit and n_numbers < MIN_NUMBERS):
        return None
    encoding = QuantityColumn(unit, decimal, factors)
    notes = [_exceptions_note([*others, *wrong], counts, encoding.content)]
    converted = [each for each, factor in factors.items() if factor != 1 and each]
    if converted:
        notes.append(f"values in {', '.join(converted)} are converted to {unit}.")
    if unit and factors.get("") == 1:
        n_plain = units[""]
        notes.append(f"{n_plain} values without a unit are read as {unit}.")
    return Detected(encoding, " ".join(filter(None, notes)))


def _without_rare_units(
    found: dict[Any, Any], counts: Counter[Any]
) -> tuple[dict[Any, Any], list[Any]]:
    """Return the quantities without those of rare units that cannot be converted, and the rest."""
    units: Counter[str] = Counter()
    for key, each in found.items():
        units[each.unit] += counts[key]
    main = next((each for each, _ in units.most_common() if each), "")
    foreign = {each for each in units if unit_factors(Counter({main: 2, each: 1})) is None}
    n_foreign = sum(units[each] for each in foreign)
    if not main or n_foreign > MAX_FOREIGN * sum(units.values()):
        return found, []
    kept = {key: each for key, each in found.items() if each.unit not in foreign}
    return kept, [key for key in found if key not in kept]


def _quantity_of(value: Any) -> Any:
    return quantity(value) if isinstance(value, str | int | float) else None


def _numbers(name: str, values: np.ndarray) -> Detected:
    """Return what a column of numbers holds: dates such as 20210305, or plain numbers."""
    n_infinite = int(np.sum(np.isinf(values))) if values.dtype.kind == "f" else 0
    if not n_infinite:
        return Detected(_compact_dates(name, values))
    if n_infinite > MAX_EXCEPTIONS * len(values):
        return Detected(None, "", f"it holds {n_infinite} infinite values")
    are = "value is" if n_infinite == 1 else "values are"
    encoding = QuantityColumn("", ".", {"": 1.0})
    return Detected(encoding, f"{n_infinite} infinite {are} treated as missing.")


def _with_parts(encoding: DateColumn, codes: np.ndarray) -> DateColumn:
    """Return an encoding of dates with only the parts that vary."""
    parts = date_parts(codes[~np.isnan(codes)], 0.0)
    varying = [each for each in PARTS if len(np.unique(parts[each])) > 1]
    if "day" not in varying and "weekday" in varying:
        varying.remove("weekday")  # if the day is the same in each month, the weekday says nothing
    return replace(encoding, parts=tuple(varying or ["days"]))


def _compact_dates(name: str, values: np.ndarray) -> DateColumn | None:
    """Return the encoding of dates such as 20210305, if the name of the column says so."""
    if values.dtype.kind not in "iuf" or not any(each in name.lower() for each in DATE_NAMES):
        return None
    present = values[~is_missing(values)]
    if not len(present) or not np.all((present > 1e7) & (present < 1e8)):
        return None
    codes = DateColumn().codes(present.astype(np.int64).astype(object))[:, 0]
    return None if np.isnan(codes).any() else _with_parts(DateColumn(""), codes)
