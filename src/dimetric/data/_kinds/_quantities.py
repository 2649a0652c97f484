"""Numbers that are written with a percent sign, a currency or a unit."""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from dimetric.data._kinds._encoding import ColumnEncoding, mapped_numbers

SPACES = "\u00a0\u202f\u2009'’ "  # also between thousands
NUMBER = (
    rf"(?:\d{{1,2}}(?:,\d{{2}})+,\d{{3}}(?:\.\d+)?|\d{{1,3}}(?:[{SPACES}.,]\d{{3}})+(?:[.,]\d+)?|\d+(?:[.,]\d*)?|[.,]\d+)"
    r"(?:[eE][+-]?\d{1,3})?"
)
SIGNS = {"$": "USD", "€": "EUR", "£": "GBP", "¥": "JPY", "₹": "INR", "₽": "RUB", "₩": "KRW"}
SIGNS |= {"us$": "USD", "a$": "AUD", "c$": "CAD", "r$": "BRL", "fr.": "CHF", "fr": "CHF"}
SIGNS |= {"rs.": "INR", "rs": "INR", "rp.": "IDR", "rp": "IDR"}
CODES = (
    "USD EUR GBP JPY INR RUB KRW CHF AUD CAD NZD SEK NOK DKK PLN CZK HUF TRY CNY RMB HKD SGD MXN "
    "BRL ZAR THB IDR MYR PHP ILS AED SAR RON BGN UAH CLP COP ARS EGP VND TWD"
)
CURRENCIES = {each.lower(): each for each in CODES.split()} | SIGNS
CURRENCY = "|".join(re.escape(each) for each in sorted(CURRENCIES, key=len, reverse=True))
UNIT = r"%|‰|°?[^\W\d_]{1,8}[²³]?(?:/[^\W\d_]{1,4}[²³]?)?|°|\"|€|£|\$|¥|₹"
PATTERN = re.compile(
    rf"(?P<open>\()?\s*(?P<sign>[+\-−])?\s*(?P<prefix>{CURRENCY})?\s*(?P<sign2>[+\-−])?\s*"
    rf"(?P<number>{NUMBER})\s*(?P<unit>{UNIT})?\.?\s*(?P<close>\))?(?P<after>-)?",
    re.IGNORECASE,
)
# Numbers without a unit among these are not multiples.
MULTIPLES: dict[str, float] = {"k": 1e3, "m": 1e6, "mn": 1e6, "mio": 1e6, "bn": 1e9, "mrd": 1e9}
MONEY_MULTIPLES = MULTIPLES | {"b": 1e9}
# Units that can be converted into each other: the size of each in units of the first.
FAMILIES: tuple[dict[str, float], ...] = (
    {"kg": 1, "g": 1e-3, "mg": 1e-6, "t": 1e3, "lb": 0.45359237, "lbs": 0.45359237,
     "oz": 0.028349523125},
    {"m": 1, "mm": 1e-3, "cm": 1e-2, "km": 1e3, "in": 0.0254, '"': 0.0254, "inch": 0.0254,
     "ft": 0.3048, "mi": 1609.344, "miles": 1609.344},
    {"l": 1, "ml": 1e-3, "cl": 1e-2, "dl": 0.1},
    {"s": 1, "ms": 1e-3, "sec": 1, "secs": 1, "second": 1, "seconds": 1, "min": 60, "mins": 60,
     "minute": 60, "minutes": 60, "h": 3600, "hr": 3600, "hrs": 3600, "hour": 3600, "hours": 3600,
     "d": 86400, "day": 86400, "days": 86400, "week": 604800, "weeks": 604800,
     "month": 2629800, "months": 2629800, "yr": 31557600, "yrs": 31557600, "year": 31557600,
     "years": 31557600},
    {"b": 1, "kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12},
    {"%": 1, "‰": 0.1, "percent": 1, "pct": 1},
    MULTIPLES,
)  # fmt: skip
MIN_GROUP_DIGITS = 3  # of a group of thousands


class Quantity(NamedTuple):
    """A number as written, its unit ("" if it has none), and a multiple such as 1000 for "k"."""

    digits: str
    is_negative: bool
    unit: str
    multiple: float = 1.0


def quantity(value: Any) -> Quantity | None:
    """Return the number and the unit of a text such as "12.5 %", or None if it is not one.

    Examples
    --------
    >>> quantity("€ 3.50"), quantity("(120)"), quantity("12 kg"), quantity("A 12")
    (Quantity(digits='3.50', is_negative=False, unit='EUR', multiple=1.0), \
Quantity(digits='120', is_negative=True, unit='', multiple=1.0), \
Quantity(digits='12', is_negative=False, unit='kg', multiple=1.0), None)
    """
    match = PATTERN.fullmatch(str(value).strip())
    if match is None or (match["open"] is None) != (match["close"] is None):
        return None
    signs = [
        each for each in (match["open"], match["sign"], match["sign2"], match["after"]) if each
    ]
    if len(signs) > 1:
        return None
    prefix, unit = (match["prefix"] or "").lower(), match["unit"] or ""
    multiple = MONEY_MULTIPLES.get(unit.lower()) if prefix else None
    if multiple is not None:
        unit = ""  # "$41.4k" is 41400 dollars
    if prefix and unit and CURRENCIES.get(unit.lower()) != CURRENCIES[prefix]:
        return None
    unit = CURRENCIES.get(prefix or unit.lower(), unit)
    return Quantity(match["number"], signs not in ([], ["+"]), unit, multiple or 1.0)


def number_of(digits: str, decimal: str) -> float | None:
    """Return the number that digits with a decimal sign and separated thousands represent.

    Examples
    --------
    >>> number_of("1.200,5", ","), number_of("1'200", "."), number_of("1,5", ".")
    (1200.5, 1200.0, None)
    >>> number_of("12,34,567.5", ".")  # Indian groups
    1234567.5
    """
    whole, sign, fraction = digits.partition(decimal)
    if decimal in fraction:
        return None
    first, *groups = re.split(rf"[{SPACES},.]", whole)
    sizes = {len(each) for each in groups[:-1]}
    is_indian = decimal == "." and sizes == {2}  # 1,23,456 is 123456
    if not is_indian and (sizes - {MIN_GROUP_DIGITS} or (groups and len(first) > 3)):
        return None
    if groups and len(groups[-1]) != MIN_GROUP_DIGITS:
        return None
    try:
        return float("".join((first, *groups)) + (f".{fraction}" if sign else ""))
    except ValueError:
        return None


def decimal_sign(all_digits: Iterable[str], is_currency: bool) -> str:
    """Return the decimal sign of a column, "." or ",".

    A sign that occurs twice in a number, or before the other sign, separates thousands. So does
    one that always precedes three digits, if it is a comma or the column holds a currency.
    """
    votes = Counter({".": 0, ",": 0})
    signs = set()
    for digits in all_digits:
        signs |= {each for each in ".," if each in digits}
        last = max(digits.rfind("."), digits.rfind(","))
        if last < 0:
            continue
        sign = digits[last]
        other = "," if sign == "." else "."
        if digits.count(sign) > 1:
            votes[other] += 1
        elif other in digits or len(digits) - last - 1 != MIN_GROUP_DIGITS:
            votes[sign] += 1
        elif len(digits[:last]) > 3 or digits[:last] in ("", "0"):
            votes[sign] += 1  # "1234.567" and "0.125" have no thousands
    if votes["."] != votes[","]:
        return "." if votes["."] > votes[","] else ","
    return "," if signs == {"."} and is_currency else "."


@dataclass(frozen=True)
class QuantityColumn(ColumnEncoding):
    """Numbers that are written with a percent sign, a currency or a unit.

    Attributes
    ----------
    unit : str
        The unit of the feature: "%", a currency such as "EUR", a unit such as "kg", or "".
    decimal : {".", ","}
        The decimal sign.
    factors : dict of str to float
        The sizes of the units that occur, relative to `unit`.
    """

    unit: str
    decimal: str
    factors: dict[str, float]

    @property
    def content(self) -> str:
        """What the column holds."""
        if self.unit == "%":
            return "percentages"
        is_currency = self.unit in CURRENCIES.values()
        return f"amounts in {self.unit}" if is_currency else f"numbers {self.in_unit}".strip()

    @property
    def in_unit(self) -> str:
        """The unit with a preposition, or ""."""
        return f"in {self.unit}" if self.unit else ""

    def is_valid(self) -> bool:
        """Return whether the decimal sign exists and all factors are finite numbers."""
        return self.decimal in (".", ",") and all(
            isinstance(unit, str) and isinstance(factor, float) and np.isfinite(factor)
            for unit, factor in self.factors.items()
        )

    def read(self, codes: np.ndarray) -> np.ndarray:
        """Return the numbers."""
        return codes

    def codes(self, values: np.ndarray) -> np.ndarray:
        """Return the numbers, in the unit of the column."""
        if values.dtype.kind in "iufb":
            numbers = values.astype(np.float64)
            return np.where(np.isinf(numbers), np.nan, numbers)[:, None]
        return mapped_numbers(values, self._number)[:, None]

    def _number(self, value: Any) -> float | None:
        if not isinstance(value, str):
            is_number = isinstance(value, int | float | np.number) and np.isfinite(value)
            return float(value) if is_number else None
        found = quantity(value)
        if found is None:
            return None
        factor = self._factor(found.unit)
        number = number_of(found.digits, self.decimal)
        if factor is None or number is None or not np.isfinite(number):
            return None
        number *= factor * found.multiple
        return -number if found.is_negative else number

    def _factor(self, unit: str) -> float | None:
        """Return the size of a unit, which may not have been seen before, or None."""
        if unit in self.factors:
            return self.factors[unit]
        known = unit_factors(Counter({self.unit: 2, unit: 1}))
        return None if known is None or (unit and not self.unit) else known[unit]


def unit_factors(units: Counter[str]) -> dict[str, float] | None:
    """Return the sizes of the units of a column, relative to the most frequent one.

    Parameters
    ----------
    units : Counter of str
        How often each unit occurs. Numbers without a unit have the most frequent one.

    Returns
    -------
    dict of str to float, or None
        None if the units cannot be converted into each other. The first key is the unit of the
        column.

    Examples
    --------
    >>> unit_factors(Counter({"kg": 5, "g": 2, "": 1})), unit_factors(Counter({"kg": 5, "cm": 2}))
    ({'kg': 1.0, 'g': 0.001, '': 1.0}, None)
    """
    named = [each for each, _ in units.most_common() if each]
    if not named:
        return {"": 1.0}
    main = named[0]
    # Cases of one unit are the same unit, such as KG and kg.
    factors = {each: 1.0 for each in named if each.lower() == main.lower()}
    for each in named:
        if each not in factors:
            family = next((f for f in FAMILIES if main.lower() in f and each.lower() in f), None)
            if family is None:
                return None
            factors[each] = float(family[each.lower()] / family[main.lower()])
    if "" in units:
        is_multiple = main.lower() in MULTIPLES and main != "m"  # which stands for metres
        factors[""] = 1 / MULTIPLES[main.lower()] if is_multiple else 1.0
    return factors
