"""Read dates and times of day as they are written in tables."""

import re
from collections.abc import Iterable
from datetime import date, datetime
from typing import Any, NamedTuple

MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
# Other languages, where the first three letters differ from the English ones.
OTHER_MONTHS = {"mär": 3, "mrz": 3, "mai": 5, "okt": 10, "dez": 12, "ene": 1, "fév": 2, "avr": 4}
OTHER_MONTHS |= {"abr": 4, "aoû": 8, "ago": 8, "dic": 12, "déc": 12, "mag": 5, "gen": 1, "set": 9}
ZONE = r"(?:\s*(?P<zone>Z|UTC|GMT|[+-]\d{2}:?\d{2}|[+-]\d{2})(?:\[[^\]]*\])?)?"
CLOCK = (
    r"(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2}(?:[.,]\d+)?))?"
    r"(?:\s*(?P<half>[AaPp])\.?[Mm]\.?)?"
)
WEEKDAY = r"(?:[A-Za-z]{2,9}\.?,?\s+)?"
MONTH = r"(?P<name>[^\W\d_]{3,9})\.?"
DAYS = (
    r"(?P<y>\d{4})(?P<s>[-/.])(?P<m>\d{1,2})(?:(?P=s)(?P<d>\d{1,2}))?",
    r"(?P<a>\d{1,2})(?P<s>[-/.])(?P<b>\d{1,2})(?P=s)(?P<c>\d{4}|\d{2})",
    rf"{WEEKDAY}(?P<d>\d{{1,2}})(?:st|nd|rd|th|\.)?[-/ ]*{MONTH},?[-/ ]*(?P<y>\d{{4}}|\d{{2}})",
    rf"{WEEKDAY}{MONTH}[-/ ]+(?P<d>\d{{1,2}})(?:st|nd|rd|th)?(?:,\s*|\s+|[-/])(?P<y>\d{{4}})",
    rf"{MONTH}[-/ ]*,?\s*(?P<y>\d{{4}})",
    r"(?P<m>\d{1,2})[-/.](?P<y>\d{4})",
    r"(?P<y>\d{4})[-/ ]?Q(?P<quarter>[1-4])",
    r"Q(?P<quarter>[1-4])[-/ ]?(?P<y>\d{4})",
    r"(?P<y>\d{4})(?P<m>\d{2})(?P<d>\d{2})(?=$|T)",
)
DATE_PATTERNS = tuple(re.compile(rf"{each}(?:[T ,]+{CLOCK}{ZONE})?") for each in DAYS)
TIME_PATTERN = re.compile(CLOCK)
EPOCH = date(1970, 1, 1).toordinal()
YEARS = range(1000, 9000)  # dates such as 0000-00-00 and 9999-12-31 stand for missing ones
FIRST_TWO_DIGIT_YEAR = 1969
SECONDS_PER_DAY = 86400


class WrittenDate(NamedTuple):
    """A date as written, before the order of its parts is known.

    Attributes
    ----------
    parts : tuple of int
        Year, month and day if `is_ordered`, else the three numbers as written.
    is_ordered : bool
        Whether the order of the parts is known.
    seconds : float
        Seconds since midnight.
    offset : float or None
        Seconds that the time zone is ahead of UTC.
    """

    parts: tuple[int, int, int]
    is_ordered: bool
    seconds: float
    offset: float | None


def written_date(value: Any) -> WrittenDate | None:
    """Return the parts of a date, or None if a value is not a date.

    Examples
    --------
    >>> written_date("2021-03-05 06:00"), written_date("5.3.2021"), written_date("a-b")
    (WrittenDate(parts=(2021, 3, 5), is_ordered=True, seconds=21600.0, offset=None), \
WrittenDate(parts=(5, 3, 2021), is_ordered=False, seconds=0.0, offset=None), None)
    """
    if isinstance(value, float) and value.is_integer():
        value = int(value)  # missing values turn a column of integers into floats
    if getattr(value, "tzinfo", None) is not None:
        value = value.replace(tzinfo=None)  # a column of one zone, whose local times count
    text = value.isoformat() if hasattr(value, "isoformat") else str(value).strip()
    if len(text) < 6 or len(text) > 48:
        return None
    return (_iso_date(text) if text[4] == "-" else None) or _other_date(text)


def _iso_date(text: str) -> WrittenDate | None:
    """Return a date that Python reads, which is faster than to compare it with patterns."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    if text[5] == "W":
        return None
    offset, seconds = found.utcoffset(), 3600.0 * found.hour + 60.0 * found.minute + found.second
    return WrittenDate(
        (found.year, found.month, found.day),
        True,
        seconds + found.microsecond / 1e6,
        None if offset is None else offset.total_seconds(),
    )


def _other_date(text: str) -> WrittenDate | None:
    """Return a date that one of the patterns describes."""
    for pattern in DATE_PATTERNS:
        match = pattern.fullmatch(text)
        if match:
            found = match.groupdict()
            break
    else:
        return None
    seconds, offset = _seconds(found), _offset(found.get("zone"))
    if seconds is None:
        return None
    if found.get("a"):
        parts = int(found["a"]), int(found["b"]), _full_year(found["c"])
        return WrittenDate(parts, False, seconds, offset)
    month = 3 * int(found["quarter"]) - 2 if found.get("quarter") else int(found.get("m") or 0)
    month = _month(found["name"]) if found.get("name") else month
    if not month:
        return None
    parts = _full_year(found["y"]), month, int(found.get("d") or 1)
    return WrittenDate(parts, True, seconds, offset)


def day_number(written: WrittenDate, order: str, utc: bool) -> float | None:
    """Return the days since 1970-01-01, or None if there is no such day.

    Parameters
    ----------
    written : WrittenDate
        The date.
    order : {"dmy", "mdy", ""}
        The order of the parts of dates such as 1/2/2021. If it is "", which means unknown, only
        dates that are the same day in both orders, or a day in one order, are read.
    utc : bool
        Whether to convert times to UTC. Otherwise, they stay local times.
    """
    if not order and not written.is_ordered:
        either = {day_number(written, each, utc) for each in ("dmy", "mdy")} - {None}
        return either.pop() if len(either) == 1 else None
    year, month, day = written.parts
    if not written.is_ordered:
        first, second, year = written.parts
        day, month = (first, second) if order == "dmy" else (second, first)
    if year not in YEARS:
        return None
    try:
        days = date(year, month, day).toordinal() - EPOCH
    except ValueError:
        return None
    return days + (written.seconds - (written.offset or 0.0) * utc) / SECONDS_PER_DAY


def order_and_zone(texts: Iterable[tuple[WrittenDate, int]]) -> tuple[str, bool, bool]:
    """Return the order of day and month in a column, whether zones differ, and if it is certain.

    The order is "" if all dates are written in a way that leaves no doubt, such as 2021-03-05.

    Parameters
    ----------
    texts : iterable of (WrittenDate, int)
        The distinct dates of a column, and how often they occur.
    """
    offsets, firsts, seconds = set(), set(), set()
    fits = {"dmy": 0, "mdy": 0}
    for written, count in texts:
        offsets.add(written.offset)
        if written.is_ordered:
            continue
        first, second, _ = written.parts
        firsts.add(first)
        seconds.add(second)
        for order in fits:
            fits[order] += count * (day_number(written, order, False) is not None)
    utc = len(offsets) > 1
    if not firsts:
        return "", utc, True
    if fits["dmy"] != fits["mdy"]:
        return max(fits, key=lambda each: fits[each]), utc, True
    # All numbers are at most 12. Days that are all equal, such as first days of months, are days.
    if (len(firsts) == 1) != (len(seconds) == 1):
        return ("dmy" if len(firsts) == 1 else "mdy"), utc, True
    return "dmy", utc, len(firsts) <= 1


def hours_of_clock(value: Any) -> float | None:
    """Return the hours since midnight of a time such as "14:30", or None if it is not one.

    Examples
    --------
    >>> hours_of_clock("14:30"), hours_of_clock("2:30 pm"), hours_of_clock("25:00")
    (14.5, 14.5, None)
    """
    text = value.isoformat() if hasattr(value, "isoformat") else str(value).strip()
    match = TIME_PATTERN.fullmatch(text)
    seconds = _seconds(match.groupdict()) if match else None
    return None if seconds is None else seconds / 3600


def _seconds(found: dict[str, str | None]) -> float | None:
    """Return the seconds since midnight, 0 without a time, or None if there is no such time."""
    if not found.get("hour"):
        return 0.0
    hour, minute = int(found["hour"] or 0), int(found["minute"] or 0)
    second = float((found["second"] or "0").replace(",", "."))
    if found.get("half"):
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + 12 * (str(found["half"]).lower() == "p")
    if hour > 23 or minute > 59 or second >= 61:
        return None
    return 3600.0 * hour + 60.0 * minute + second


def _offset(zone: str | None) -> float | None:
    """Return the seconds that a time zone is ahead of UTC, or None without a zone."""
    if not zone:
        return None
    if zone[0] not in "+-":
        return 0.0
    digits = zone[1:].replace(":", "").ljust(4, "0")
    return (60.0 * int(digits[:2]) + int(digits[2:])) * (-60.0 if zone[0] == "-" else 60.0)


def _month(name: str) -> int:
    """Return the number of a month, or 0."""
    short = name.lower()[:3]
    return MONTHS.index(short) + 1 if short in MONTHS else OTHER_MONTHS.get(short, 0)


def _full_year(digits: str) -> int:
    """Return a year as a number. Two digits stand for the years 1969 to 2068."""
    year = int(digits)
    if len(digits) > 2:
        return year
    return year + (1900 if year + 1900 >= FIRST_TWO_DIGIT_YEAR else 2000)
