"""Durations, such as "1 day, 2:30:00", "36:15" or "PT2H", as hours."""

import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from dimetric.data._kinds._encoding import ColumnEncoding, mapped_numbers

CLOCK = re.compile(
    r"(?P<sign>-)?(?:(?P<days>\d+)\s*d(?:ays?)?,?\s*)?"
    r"(?:(?P<hours>\d+):(?P<minutes>[0-5]\d)(?::(?P<seconds>[0-5]\d(?:\.\d+)?))?)"
)
UNITS = re.compile(
    r"(?P<sign>-)?P?(?:(?P<days>\d+(?:\.\d+)?)\s*d(?:ays?)?,?\s*)?T?"
    r"(?:(?P<hours>\d+(?:\.\d+)?)\s*h(?:(?:ou)?rs?)?,?\s*)?"
    r"(?:(?P<minutes>\d+(?:\.\d+)?)\s*m(?:in(?:ute)?s?)?,?\s*)?"
    r"(?:(?P<seconds>\d+(?:\.\d+)?)\s*s(?:ec(?:ond)?s?)?)?",
    re.IGNORECASE,
)
HOURS = {"days": 24.0, "hours": 1.0, "minutes": 1 / 60, "seconds": 1 / 3600}
NANOSECONDS_PER_HOUR = 3.6e12


def duration_hours(value: Any) -> float | None:
    """Return the hours of a duration, or None if a value is not one.

    Examples
    --------
    >>> duration_hours("1 day, 2:30:00"), duration_hours("1h 30m"), duration_hours("PT45M")
    (26.5, 1.5, 0.75)
    """
    if hasattr(value, "total_seconds"):
        return float(value.total_seconds()) / 3600
    text = str(value).strip()
    match = CLOCK.fullmatch(text) or UNITS.fullmatch(text)
    found = {} if match is None else match.groupdict()
    if not any(found.get(each) for each in HOURS):
        return None
    hours = sum(size * float(found[each] or 0) for each, size in HOURS.items())
    return -hours if found["sign"] else hours


@dataclass(frozen=True)
class DurationColumn(ColumnEncoding):
    """Durations: the number of hours."""

    @property
    def content(self) -> str:
        """What the column holds."""
        return "durations"

    def read(self, codes: np.ndarray) -> np.ndarray:
        """Return the hours."""
        return codes

    def codes(self, values: np.ndarray) -> np.ndarray:
        """Return the hours."""
        if values.dtype.kind == "m":
            missing = np.isnat(values)
            nanoseconds = np.where(missing, 0, values.astype("timedelta64[ns]").astype(np.int64))
            return np.where(missing, np.nan, nanoseconds / NANOSECONDS_PER_HOUR)[:, None]
        return mapped_numbers(values, duration_hours)[:, None]

    def feature_names(self, name: str) -> list[str]:
        """Return the name of the feature."""
        return [f"{name} hours".strip()]
