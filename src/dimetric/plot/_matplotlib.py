"""Helpers for matplotlib: importing it, creating axes, and displaying text literally."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np


def pyplot(display_name: str) -> Any:
    """Return ``matplotlib.pyplot``, or raise an error that says how to install it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            f"{display_name} requires matplotlib. Install it with pip install 'dimetric[plot]'."
        ) from error
    return plt


def one_axes(display_name: str, ax: Any, size: tuple[float, float], *, is_3d: bool = False) -> Any:
    """Return the given axes, or the axes of a new figure if None.

    Parameters
    ----------
    display_name : str
        Name of the display, used in error messages.
    ax : matplotlib Axes or None
        Axes passed by the caller.
    size : tuple of float
        Width and height of a new figure, in inches.
    is_3d : bool, default=False
        Whether the axes must be three-dimensional.
    """
    plt = pyplot(display_name)
    if ax is None:
        kind = {"projection": "3d"} if is_3d else {}
        return plt.subplots(figsize=size, layout="constrained", subplot_kw=kind)[1]
    if not hasattr(ax, "get_figure") or not hasattr(ax, "plot"):
        raise TypeError(f"ax must be matplotlib axes, not {type(ax).__name__}.")
    if is_3d != (getattr(ax, "name", "") == "3d"):
        expected = "three-dimensional" if is_3d else "two-dimensional"
        remedy = "with projection='3d'" if is_3d else "without a projection"
        raise ValueError(f"{display_name} needs {expected} axes here: create ax {remedy}.")
    return ax


def grid_of_axes(
    display_name: str,
    ax: Any,
    n: int,
    size: tuple[float, float],
    *,
    columns: int,
    legend_width: float = 0.0,
    are_3d: Sequence[bool] | None = None,
) -> list[Any]:
    """Return the axes of n panels.

    They are the given axes if `ax` is an array, parts of the given axes if `ax` is a single axes,
    and the axes of a new figure if `ax` is None.

    Parameters
    ----------
    display_name : str
        Name of the display, used in error messages.
    ax : matplotlib Axes, array of n Axes, or None
        Axes passed by the caller.
    n : int
        Number of axes.
    size : tuple of float
        Width and height of one axes in a new figure, in inches.
    columns : int
        Largest number of axes in a row.
    legend_width : float, default=0.0
        Width to add to a new figure for a legend, in inches.
    are_3d : sequence of bool, optional
        Whether each axes must be three-dimensional. By default, none is.
    """
    are_3d = [False] * n if are_3d is None else are_3d
    if n == 1 and not isinstance(ax, Iterable):
        return [one_axes(display_name, ax, (size[0] + legend_width, size[1]), is_3d=are_3d[0])]
    plt = pyplot(display_name)
    if isinstance(ax, Iterable):
        axes = list(np.ravel(np.asarray(ax, dtype=object)))
        if len(axes) != n:
            raise ValueError(f"{display_name} draws {n} panels, but ax holds {len(axes)} axes.")
        return [
            one_axes(display_name, each, size, is_3d=is_3d)
            for each, is_3d in zip(axes, are_3d, strict=True)
        ]
    if columns < 1:
        raise ValueError(f"n_columns={columns} must be at least 1.")
    n_columns = min(columns, n)
    n_rows = -(-n // n_columns)
    if ax is None:
        width = size[0] * n_columns + legend_width
        figure = plt.figure(figsize=(width, size[1] * n_rows), layout="constrained")
        cells = figure.add_gridspec(n_rows, n_columns)
    else:
        one_axes(display_name, ax, size, is_3d=getattr(ax, "name", "") == "3d")
        subplotspec, figure = ax.get_subplotspec(), ax.get_figure()
        if subplotspec is None:
            raise ValueError(
                f"{display_name} draws {n} panels. Give {n} axes, or one created by subplots()."
            )
        ax.set_axis_off()
        cells = subplotspec.subgridspec(n_rows, n_columns)
    subplot_kws: list[dict[str, str]] = [{"projection": "3d"} if each else {} for each in are_3d]
    return [
        figure.add_subplot(cells[i // n_columns, i % n_columns], **subplot_kws[i]) for i in range(n)
    ]


def shrink_3d_axes(ax: Any) -> None:
    """Shrink 3-D axes and their text, because matplotlib does not reserve room for the labels."""
    ax.set_box_aspect(None, zoom=0.85)
    ax.tick_params(labelsize=7)
    for axis in (ax.xaxis, ax.yaxis, ax.zaxis):
        axis.label.set_size(8)


def plain_text(text: object, max_length: int = 40) -> str:
    r"""Return a text as one short line that matplotlib displays literally, not as mathematics.

    Examples
    --------
    >>> plain_text("price in $ and $cents$"), plain_text("a very long name indeed", 10)
    ('price in \\$ and \\$cents\\$', 'a ver…deed')
    """
    line = " ".join(str(text).split())
    line = "".join(each if each.isprintable() else "?" for each in line)
    if len(line) > max_length:  # omit the middle: names often differ at the start or the end
        line = f"{line[: max_length // 2]}…{line[len(line) - (max_length - 1) // 2 :]}"
    return line.replace("$", r"\$")


def show_dates(axis: Any) -> None:
    """Write the numbers of an axis, which are days since 1970, as dates."""
    from matplotlib import dates

    locator = dates.AutoDateLocator(minticks=3, maxticks=8)  # type: ignore[no-untyped-call]
    axis.set_major_locator(locator)
    axis.set_major_formatter(dates.ConciseDateFormatter(locator))  # type: ignore[no-untyped-call]
