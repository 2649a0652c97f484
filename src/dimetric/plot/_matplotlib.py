"""Helpers for matplotlib: its import, axes to draw into, and texts shown as they are."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np


def pyplot(who: str) -> Any:
    """Return ``matplotlib.pyplot``, or raise with a hint how to install it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            f"{who} draws by matplotlib: install it with pip install 'dimetric[plot]'."
        ) from error
    return plt


def one_axes(who: str, ax: Any, size: tuple[float, float], *, solid: bool = False) -> Any:
    """Return the axes that were given, or those of a new figure.

    Parameters
    ----------
    who : str
        Name of the display, for messages.
    ax : matplotlib Axes or None
        The axes that were given.
    size : tuple of float
        Width and height of a new figure, in inches.
    solid : bool, default=False
        Whether the axes must have three dimensions.
    """
    plt = pyplot(who)
    if ax is None:
        kind = {"projection": "3d"} if solid else {}
        return plt.subplots(figsize=size, layout="constrained", subplot_kw=kind)[1]
    if not hasattr(ax, "get_figure") or not hasattr(ax, "plot"):
        raise TypeError(f"ax must be matplotlib axes, not {type(ax).__name__}.")
    if solid != (getattr(ax, "name", "") == "3d"):
        remedy = "make ax by projection='3d'" if solid else "make ax without a projection"
        raise ValueError(
            f"{who} has {3 if solid else 'fewer than 3'} dimensions to draw: {remedy}."
        )
    return ax


def grid_of_axes(
    who: str,
    ax: Any,
    n: int,
    size: tuple[float, float],
    *,
    columns: int,
    beside: float = 0.0,
    solid: Sequence[bool] | None = None,
) -> list[Any]:
    """Return n axes: those given, new ones in the place of the one given, or of a new figure.

    Parameters
    ----------
    who : str
        Name of the display, for messages.
    ax : matplotlib Axes, array of n of them, or None
        The axes that were given.
    n : int
        Number of axes.
    size : tuple of float
        Width and height of each in a new figure, in inches.
    columns : int
        Largest number of axes in a row.
    beside : float, default=0.0
        Width of the legend beside them in a new figure, in inches.
    solid : sequence of bool, optional
        Which of them must have three dimensions; by default none.
    """
    solid = [False] * n if solid is None else solid
    if n == 1 and not isinstance(ax, Iterable):
        return [one_axes(who, ax, (size[0] + beside, size[1]), solid=solid[0])]
    plt = pyplot(who)
    if isinstance(ax, Iterable):
        given = list(np.ravel(np.asarray(ax, dtype=object)))
        if len(given) != n:
            raise ValueError(f"{who} draws {n} pictures, but ax holds {len(given)} axes.")
        return [
            one_axes(who, one, size, solid=is_3d) for one, is_3d in zip(given, solid, strict=True)
        ]
    if columns < 1:
        raise ValueError(f"n_columns={columns} must be at least 1.")
    across = min(columns, n)
    down = -(-n // across)
    if ax is None:
        width = size[0] * across + beside
        figure = plt.figure(figsize=(width, size[1] * down), layout="constrained")
        cells = figure.add_gridspec(down, across)
    else:
        one_axes(who, ax, size, solid=getattr(ax, "name", "") == "3d")
        place, figure = ax.get_subplotspec(), ax.get_figure()
        if place is None:
            raise ValueError(f"{who} draws {n} pictures: give as many axes, or one of subplots().")
        ax.set_axis_off()
        cells = place.subgridspec(down, across)
    kinds: list[dict[str, str]] = [{"projection": "3d"} if each else {} for each in solid]
    return [figure.add_subplot(cells[i // across, i % across], **kinds[i]) for i in range(n)]


def leave_room(ax: Any) -> None:
    """Draw a cube and its texts smaller, since matplotlib leaves no room for its labels."""
    ax.set_box_aspect(None, zoom=0.85)
    ax.tick_params(labelsize=7)
    for axis in (ax.xaxis, ax.yaxis, ax.zaxis):
        axis.label.set_size(8)


def plain(text: object, most: int = 40) -> str:
    r"""Return a name as one short line that matplotlib shows as it is, and not as a formula.

    Examples
    --------
    >>> plain("price in $ and $cents$"), plain("a very long name indeed", 10)
    ('price in \\$ and \\$cents\\$', 'a ver…deed')
    """
    line = " ".join(str(text).split())
    line = "".join(each if each.isprintable() else "?" for each in line)
    if len(line) > most:  # names often differ at their ends
        line = f"{line[: most // 2]}…{line[len(line) - (most - 1) // 2 :]}"
    return line.replace("$", r"\$")
