"""A work to measure, and what it must reach."""

import importlib.util
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from _bar.data import Data
from _bar.process import Side
from _bar.qualities import Quality


@dataclass(frozen=True)
class Bar:
    """What a work must reach. Parts that are None are not required.

    Parameters
    ----------
    ratio : float, optional
        Least time of the peer divided by our time.
    seconds : float, optional
        Our largest time.
    megabytes : float, optional
        The most memory that we may add.
    """

    ratio: float | None = None
    seconds: float | None = None
    megabytes: float | None = None

    def __str__(self) -> str:
        """Return the requirement in words."""
        parts = []
        if self.ratio is not None:
            parts.append(f"{self.ratio:g}x")
        if self.seconds is not None:
            small = self.seconds < 1
            parts.append(f"{1e3 * self.seconds:g} ms" if small else f"{self.seconds:g} s")
        if self.megabytes is not None:
            parts.append(f"{self.megabytes:g} MB")
        return ", ".join(parts) or "finishes"


@dataclass(frozen=True)
class Work:
    """A work that we and a peer do on the same data.

    Parameters
    ----------
    row : str
        Key of the row of the bar, in ``bar_rows.py``.
    name : str
        Name of the work.
    data : callable
        Returns the title and the arrays of the data.
    ours, peer, limit : Side
        Our side, that of the peer, and the products that the work cannot do without.
    bar : Bar
        What the work must reach.
    quality : Quality, optional
        Evaluates the results of both sides. Ours must be no worse.
    limit_per_iteration : bool
        Whether the limit is the time of one iteration, which our number of iterations multiplies.
    quick : bool
        Whether the quick run includes the work.
    quick_data : callable, optional
        Smaller data for the quick run. They cannot show that the bar is missed.
    seconds_limit : float, optional
        Time limit of a run in the full run, if it differs from that of the other works.
    needs : tuple of str
        Keys of ``REQUIREMENTS``. The work is skipped if one is missing.
    """

    row: str
    name: str
    data: Callable[[], Data]
    ours: Side
    peer: Side | None = None
    limit: Side | None = None
    bar: Bar = Bar()  # frozen
    quality: Quality | None = None
    limit_per_iteration: bool = False
    quick: bool = True
    quick_data: Callable[[], Data] | None = None
    seconds_limit: float | None = None
    needs: tuple[str, ...] = ()

    @property
    def sides(self) -> dict[str, Side]:
        """The sides of the work, by role."""
        roles = {"ours": self.ours, "peer": self.peer, "limit": self.limit}
        return {role: side for role, side in roles.items() if side is not None}

    def missing(self) -> str:
        """Return what the work needs and this machine does not have, or ""."""
        return "; ".join(
            message for name in self.needs for message in [REQUIREMENTS[name]()] if message
        )


@cache
def _cuda() -> str:
    if importlib.util.find_spec("torch") is None:
        return "torch is not installed"
    import torch

    return "" if torch.cuda.is_available() else "no CUDA device"


def _data() -> str:
    return "" if os.environ.get("DIMETRIC_DATA") else "DIMETRIC_DATA is not set"


REQUIREMENTS = {"cuda": _cuda, "data": _data}
