"""Dates and times of day, and the features that they become."""

from dataclasses import dataclass, replace
from datetime import date
from typing import Any, Self

import numpy as np

from dimetric.data._kinds._encoding import ColumnEncoding, mapped_numbers
from dimetric.data._kinds._written_dates import (
    EPOCH,
    SECONDS_PER_DAY,
    YEARS,
    day_number,
    hours_of_clock,
    written_date,
)

CYCLES = {"month": 12, "weekday": 7, "hour": 24}  # their last value is next to their first
PARTS = ("year", "month", "day", "weekday", "days", "hour")


@dataclass(frozen=True)
class DateColumn(ColumnEncoding):
    """Dates: year, month, day, weekday, elapsed days and hour.

    Month, weekday and hour have two features each, sine and cosine of an angle. So December is as
    near to January as to November, which one feature from 1 to 12 cannot express.

    Attributes
    ----------
    order : {"dmy", "mdy", ""}
        The order of the parts of dates such as 1/2/2021. It is "" if the training rows hold no
        such dates. Then new ones are missing if both orders are possible.
    utc : bool
        Whether times are converted to UTC.
    parts : tuple of str
        The parts that vary.
    origin : float
        The earliest day, in days since 1970-01-01. Elapsed days count from it.
    """

    order: str = "dmy"
    utc: bool = False
    parts: tuple[str, ...] = PARTS[:5]
    origin: float = 0.0

    @property
    def content(self) -> str:
        """What the column holds."""
        return "dates"

    def is_valid(self) -> bool:
        """Return whether order and parts exist."""
        return (
            self.order in ("dmy", "mdy", "") and bool(self.parts) and set(self.parts) <= set(PARTS)
        )

    def codes(self, values: np.ndarray) -> np.ndarray:
        """Return the days since 1970-01-01."""
        return date_numbers(values, self.order, self.utc)[:, None]

    def read(self, codes: np.ndarray) -> np.ndarray:
        """Return the dates as datetime64."""
        microseconds = np.round(np.where(np.isnan(codes), 0, codes) * SECONDS_PER_DAY * 1e6)
        dates = microseconds.astype(np.int64).astype("datetime64[us]")
        dates[np.isnan(codes)] = np.datetime64("NaT")
        return dates

    def unknown_note(self, name: str, n_values: int) -> str:
        """Return a message about values that cannot be read."""
        note = super().unknown_note(name, n_values)
        if self.order:
            return note
        return (
            f"{note} Dates such as 3/4/2020 cannot be read, because the training rows do not show "
            "the order of day and month. Write them as 2020-04-03."
        )

    def fitted(self, codes: np.ndarray) -> Self:
        """Return an encoding whose elapsed days count from the first date in the training rows."""
        present = codes[~np.isnan(codes)]
        return replace(self, origin=float(np.floor(present.min())) if len(present) else 0.0)

    def features(self, codes: np.ndarray) -> np.ndarray:
        """Return the parts of the dates."""
        code = codes[:, 0]
        columns = []
        for part, values in date_parts(code, self.origin).items():
            if part in self.parts:
                columns += _cycle(values, CYCLES[part]) if part in CYCLES else [values]
        features = np.stack(columns, axis=1)
        features[np.isnan(code)] = np.nan
        return features

    def feature_names(self, name: str) -> list[str]:
        """Return names such as "signup year" and "signup month (sin)"."""
        return _part_names(name, self.parts)


@dataclass(frozen=True)
class TimeColumn(ColumnEncoding):
    """Times of day. The features are sine and cosine, so that 23:59 is near to 0:00."""

    @property
    def content(self) -> str:
        """What the column holds."""
        return "times of day"

    def codes(self, values: np.ndarray) -> np.ndarray:
        """Return the hours since midnight."""
        return mapped_numbers(values, hours_of_clock)[:, None]

    def read(self, codes: np.ndarray) -> np.ndarray:
        """Return the hours."""
        return codes

    def features(self, codes: np.ndarray) -> np.ndarray:
        """Return sine and cosine of the time."""
        return np.stack(_cycle(codes[:, 0], CYCLES["hour"]), axis=1)

    def feature_names(self, name: str) -> list[str]:
        """Return the names of sine and cosine."""
        return _part_names(name, ("hour",))


def date_numbers(values: np.ndarray, order: str, utc: bool) -> np.ndarray:
    """Return dates as days since 1970-01-01, and NaN for values that are not dates."""
    if values.dtype.kind == "M":
        missing = np.isnat(values)
        micro = values.astype("datetime64[us]").astype(np.int64)
        days = np.where(missing, 0, micro) / (SECONDS_PER_DAY * 1e6)
        first, last = (date(year, 1, 1).toordinal() - EPOCH for year in (YEARS[0], YEARS[-1] + 1))
        return np.where(missing | (days < first) | (days >= last), np.nan, days)

    def parse(value: Any) -> float | None:
        written = written_date(value)
        return None if written is None else day_number(written, order, utc)

    if values.dtype.kind in "iuf":  # such as 20210305
        values = values.astype(object)
    return mapped_numbers(values, parse)


def date_parts(code: np.ndarray, origin: float) -> dict[str, np.ndarray]:
    """Return the parts of dates, given as days since 1970-01-01.

    Examples
    --------
    >>> {name: float(each[0]) for name, each in date_parts(np.array([18691.25]), 18690).items()}
    {'year': 2021.0, 'month': 3.0, 'day': 5.0, 'weekday': 4.0, 'days': 1.0, 'hour': 6.0}
    """
    filled = np.where(np.isnan(code), 0.0, code)
    # Rounding to microseconds, so that the time of 6:00 is not a little less than 6 hours.
    filled = np.round(filled * SECONDS_PER_DAY, 3) / SECONDS_PER_DAY
    day = np.floor(filled)
    dates = day.astype(np.int64).astype("datetime64[D]")
    months = dates.astype("datetime64[M]")
    return {
        "year": dates.astype("datetime64[Y]").astype(np.int64) + 1970.0,
        "month": months.astype(np.int64) % 12 + 1.0,
        "day": (dates - months).astype(np.int64) + 1.0,
        "weekday": (day + 3) % 7,  # 0 is Monday. 1970-01-01 was a Thursday
        "days": day - origin,
        "hour": (filled - day) * 24,
    }


def _cycle(values: np.ndarray, period: int) -> list[np.ndarray]:
    angle = 2 * np.pi * values / period
    return [np.sin(angle), np.cos(angle)]


def _part_names(name: str, parts: tuple[str, ...]) -> list[str]:
    names = []
    for part in PARTS:
        if part in parts:
            full = f"{name} elapsed days" if part == "days" else f"{name} {part}".strip()
            names += [f"{full} (sin)", f"{full} (cos)"] if part in CYCLES else [full]
    return names
