"""Curves that share axes: each in a colour and a stroke of its own."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from dimetric.plot._labels import ROWS
from dimetric.plot._matplotlib import one_axes, plain
from dimetric.plot._palette import COLORS, MARKERS

STROKES = ("-", "--", "-.", ":")
DOTS = 60  # points up to which each is marked


def draw_curves(
    display: Any,
    curves: Mapping[str, tuple[np.ndarray, np.ndarray]],
    ax: Any,
    artist: dict[str, Any],
    *,
    legend: bool,
) -> tuple[Any, list[Any], Any]:
    """Draw curves; return the axes, the lines, and the legend if there is one.

    Parameters
    ----------
    display : display
        What draws, with a ``title``.
    curves : mapping of names to (x, y)
        What is drawn.
    ax : matplotlib Axes or None
        Axes to draw into.
    artist : dict
        Passed on to ``Axes.plot``.
    legend : bool
        Whether there is a legend, beside the axes.
    """
    who = type(display).__name__
    if not curves:
        raise ValueError(f"{who} has nothing to draw.")
    longest = max(len(plain(name)) for name in curves)
    columns = -(-len(curves) // ROWS) * legend
    height = max(3.6, 0.5 + 0.2 * min(len(curves), ROWS) * legend)
    ax = one_axes(who, ax, (5.2 + (0.6 + 0.08 * longest) * columns, height))
    lines: list[Any] = []
    beside = None
    for i, (x, y) in enumerate(curves.values()):
        marked = len(x) <= DOTS
        own = {
            "color": COLORS[i % len(COLORS)],
            "linestyle": STROKES[i // len(COLORS) % len(STROKES)],
            "marker": MARKERS[i % len(MARKERS)] if marked else None,
            "markersize": 4,
            "linewidth": 1.5,
        }
        lines += ax.plot(x, y, **(own | artist))
    if legend:
        beside = ax.legend(
            lines, [" "] * len(curves), frameon=False, loc="upper left",
            bbox_to_anchor=(1.02, 1.0), borderaxespad=0.0, ncols=columns,
        )  # fmt: skip
        for text, name in zip(beside.get_texts(), curves, strict=True):
            text.set_text(plain(name))
    ax.spines[["top", "right"]].set_visible(False)
    if display.title:
        ax.set_title(plain(display.title, 80))
    return ax, lines, beside
