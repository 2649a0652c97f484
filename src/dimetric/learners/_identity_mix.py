"""Mixing of a learned metric with the identity."""

from numbers import Real
from typing import Any

from dimetric._compat import Interval, StrOptions

# Constraints of the parameter of all metric learners.
MIX_PARAMETER: dict[str, list[Any]] = {
    "identity_mix": [Interval(Real, 0, 1, closed="both"), StrOptions({"auto"}), None],
}
