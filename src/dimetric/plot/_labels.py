"""Names of classes in pictures: legends beside the axes, or names at the places of the classes."""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from dimetric._arrays.namespaces import is_foreign, to_host
from dimetric.data._missing import is_missing
from dimetric.plot._matplotlib import plain
from dimetric.plot._palette import INK, Style

MAX_INTEGER_CLASSES = 200  # with more different integers, y holds numbers
MAX_LEGEND_CLASSES = 24  # with more, the names stand at the places of the classes
MIN_SHARED = 4  # characters: if long names share as many at their ends, these are left out
LEGEND_ROWS = 24  # before a legend gets another column
BESIDE = {"loc": "upper left", "borderaxespad": 0.0, "frameon": False}  # of a legend


def labels_of(y: Any, n: int, name: str = "y") -> np.ndarray:
    """Return the classes or numbers of n samples as an array of NumPy."""
    given = to_host(y) if is_foreign(y) else np.asarray(y)
    if given.ndim == 2 and given.shape[1] == 1:
        given = given[:, 0]
    if given.ndim != 1 or len(given) != n:
        raise ValueError(
            f"{name} has shape {given.shape}, but there are {n} samples: give one class, or one "
            "number, for each."
        )
    if given.dtype.kind == "O":
        if is_missing(given).any():
            raise ValueError(f"{name} has missing values: leave these samples out, or name them.")
        kinds = {type(each) for each in given}
        given = given.astype(str) if len(kinds) != 1 else np.array(given.tolist())
    if given.dtype.kind == "f" and not np.all(np.isfinite(given)):
        raise ValueError(f"{name} holds NaN or infinity: leave these samples out.")
    return given


def are_numbers(y: np.ndarray) -> bool:
    """Tell whether labels are numbers that measure something, and not names of classes.

    Examples
    --------
    >>> (
    ...     are_numbers(np.array([1, 2, 1, 2])),
    ...     are_numbers(np.arange(100)),
    ...     are_numbers(np.ones(3) / 2),
    ... )
    (False, True, True)
    """
    if y.dtype.kind not in "iuf":
        return False
    different = len(np.unique(y))
    few = min(MAX_INTEGER_CLASSES, max(20, len(y) // 3))
    return bool(np.any(y != np.round(y))) or different > few


def in_order(y: np.ndarray, most: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Return the classes in natural order, and the class of each sample as a position in it.

    Natural order compares numbers in names as numbers. More than `most` classes are an error.

    Examples
    --------
    >>> in_order(np.array(["class 10", "class 2"]))
    (array(['class 2', 'class 10'], dtype='<U8'), array([1, 0]))
    """
    classes, codes = np.unique(y, return_inverse=True)
    if most is not None and len(classes) > most:
        raise ValueError(
            f"y holds {len(classes)} classes, and a picture can show at most {most}: leave y out, "
            "or join some."
        )
    if classes.dtype.kind not in "US":
        return classes, codes
    parts = [re.split(r"(\d+)", str(each)) for each in classes]
    keys = [[int(part) if i % 2 else part for i, part in enumerate(each)] for each in parts]
    order = sorted(range(len(keys)), key=keys.__getitem__)
    return classes[order], np.argsort(order)[codes]


def codes_in(classes: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return the positions of labels among the classes, which may be in any order.

    Examples
    --------
    >>> codes_in(np.array(["b", "a"]), np.array(["a", "b", "a"]))
    array([1, 0, 1])
    """
    order = np.argsort(classes)
    return order[np.searchsorted(classes[order], labels)]


def in_rows(codes: np.ndarray, width: float = 0.5) -> np.ndarray:
    """Return heights for samples on a line: scattered around the row of their class."""
    # Multiples of the golden ratio look random, and are the same every time.
    return codes + width * ((np.arange(len(codes)) * 0.6180339887) % 1 - 0.5)


def short_names(names: Sequence[object], most: int) -> list[str]:
    """Return names as short lines, which still differ if that is possible.

    If some names are too long, the characters that all share at their ends are left out.

    Examples
    --------
    >>> short_names(["the long name of class 1 here", "the long name of class 2 here"], 12)
    ['…1…', '…2…']
    """
    short = [plain(name, most) for name in names]
    lines = [" ".join(str(name).split()) for name in names]
    if max(len(line) for line in lines) <= most or len(set(lines)) < 2:
        return short
    head = _shared(lines)
    tail = _shared([line[head:][::-1] for line in lines])
    if head + tail < MIN_SHARED and len(set(short)) == len(set(lines)):
        return short
    cores = [line[head : len(line) - tail] for line in lines]
    return ["…" * (head > 0) + plain(core, max(3, most - 2)) + "…" * (tail > 0) for core in cores]


def _shared(lines: Sequence[str]) -> int:
    """Return how many characters all lines share at their beginning."""
    first, last = min(lines), max(lines)
    differ = (i for i, (a, b) in enumerate(zip(first, last, strict=False)) if a != b)
    return next(differ, min(len(first), len(last)))


def legend_beside(
    ax: Any, handles: Sequence[Any], names: Sequence[str], *, x: float = 1.02, **options: Any
) -> Any:
    """Return a legend to the right of the axes, where it covers nothing.

    Parameters
    ----------
    ax : matplotlib Axes
        The axes.
    handles : sequence of matplotlib artist
        What is explained.
    names : sequence of str
        The explanations, ready to be shown.
    x : float, default=1.02
        Where it begins, in widths of the axes.
    **options
        Passed on to ``Axes.legend``.
    """
    blanks = [" "] * len(names)
    legend = ax.legend(handles, blanks, bbox_to_anchor=(x, 1.0), **(BESIDE | options))
    # Written afterwards: matplotlib leaves out names that begin with "_".
    for text, name in zip(legend.get_texts(), names, strict=True):
        text.set_text(name)
    return legend


def legend_of_classes(
    ax: Any, names: Sequence[object], looks: Sequence[Style], title: str = ""
) -> Any:
    """Return a legend of classes beside the axes."""
    from matplotlib.lines import Line2D

    many = len(names) > LEGEND_ROWS
    if ax.name == "3d":
        ax.set_anchor("W")  # the cube leaves room on both sides; the legend needs all of it
    handles = [
        Line2D(
            [],
            [],
            linestyle="none",
            marker=look.marker,
            markersize=4 if many else 5,
            color=look.color,
            markerfacecolor=look.color if look.filled else "none",
        )
        for look in looks
    ]
    return legend_beside(
        ax,
        handles,
        short_names(names, _longest_name(names)),
        x=1.15 if ax.name == "3d" else 1.02,
        title=plain(title) or None,
        alignment="left",
        ncols=-(-len(names) // LEGEND_ROWS),
        fontsize=7 if many else 9,
        handletextpad=0.2,
        columnspacing=0.8,
    )


def legend_width(names: Sequence[object]) -> float:
    """Return about how wide a legend of classes is, in inches."""
    longest = max(len(name) for name in short_names(names, _longest_name(names)))
    columns = -(-len(names) // LEGEND_ROWS)
    return columns * (0.4 + longest * (0.062 if columns > 1 else 0.08))


def _longest_name(names: Sequence[object]) -> int:
    """Return how many characters a name in a legend may have."""
    return 20 if len(names) > LEGEND_ROWS else 32


def names_at_places(
    ax: Any, places: np.ndarray, codes: np.ndarray, names: Sequence[object], looks: Sequence[Style]
) -> list[Any]:
    """Write the names of classes at the median of their samples, so that none overlap.

    Large classes are placed first. A name that does not fit at its place stands beside it, with a
    line to it.

    Parameters
    ----------
    ax : matplotlib Axes
        Axes that show the samples.
    places : ndarray of shape (n_samples, 2)
        Where the samples are.
    codes : ndarray of shape (n_samples,)
        The class of each sample, as a position in `names`.
    names : sequence
        Names of the classes.
    looks : sequence of Style
        How the classes look.

    Returns
    -------
    labels : list of matplotlib Annotation or None
        One for each class; None if the class has no samples, or the axes no room for its name.
    """
    here, counts = np.unique(codes, return_counts=True)
    order = here[np.argsort(-counts, kind="stable")]
    centres = np.array([np.median(places[codes == i], axis=0) for i in order])
    written = _names_apart(ax, centres, [names[i] for i in order], [looks[i] for i in order])
    labels: list[Any] = [None] * len(names)
    for i, label in zip(order, written, strict=True):
        labels[i] = label
    return labels


def _names_apart(
    ax: Any, centres: np.ndarray, names: Sequence[object], looks: Sequence[Style]
) -> list[Any]:
    """Write names near their places, in the order given."""
    from matplotlib import patheffects

    many = len(names) > 40
    size, most = (6, 16) if many else (8, 24)
    whole = ax.figure.figure  # the figure of a subfigure
    whole.draw_without_rendering()  # the layout places the axes only now
    to_points = 72 / whole.dpi
    places = ax.transData.transform(centres) * to_points
    texts = short_names(names, most)
    boxes = np.array([(0.62 * size * len(text) + 2, 1.25 * size) for text in texts])
    frame = ax.get_window_extent()
    offsets = apart(places, boxes, np.array(frame.bounds) * to_points)
    written: list[Any] = []
    for text, centre, offset, look in zip(texts, centres, offsets, looks, strict=True):
        if np.isnan(offset[0]):
            written.append(None)
            continue
        away = bool(np.hypot(*offset) > 1.5 * size)
        line = {"arrowstyle": "-", "color": look.color, "linewidth": 0.5, "shrinkA": 0}
        label = ax.annotate(
            text,
            centre,
            xytext=offset,
            textcoords="offset points",
            fontsize=size,
            color=INK,
            ha="center",
            va="center",
            zorder=5,
            arrowprops=line if away else None,
            annotation_clip=False,
        )
        label.set_in_layout(False)  # the layout that found its place must not change
        label.set_path_effects([patheffects.withStroke(linewidth=2, foreground="white")])
        written.append(label)
    return written


def apart(places: np.ndarray, boxes: np.ndarray, frame: np.ndarray) -> np.ndarray:
    """Return how far to move boxes from their places so that no two overlap.

    One after the other, each box takes the nearest free place in the frame; NaN if there is none.

    Parameters
    ----------
    places : ndarray of shape (n, 2)
        Centres of the boxes.
    boxes : ndarray of shape (n, 2)
        Widths and heights.
    frame : ndarray of shape (4,)
        Left, bottom, width and height of the area for the boxes.

    Examples
    --------
    >>> apart(np.zeros((2, 2)), np.ones((2, 2)), np.array([-9, -9, 18, 18])).round(1)
    array([[0., 0.],
           [0., 1.]])
    """
    turns, rings = 2 * np.pi * np.arange(24) / 24 + np.pi / 2, np.arange(1, 60)
    taken, moves = np.empty((0, 4)), np.zeros_like(places)
    for i, (place, box) in enumerate(zip(places, boxes, strict=True)):
        reach = rings[:, None, None] * box[1] / 2
        round_it = np.stack([np.cos(turns), np.sin(turns)], axis=1)
        tries = np.concatenate([np.zeros((1, 2)), (reach * round_it).reshape(-1, 2)])
        centres = place + tries
        gaps = np.abs(centres[:, None] - taken[:, :2]) - (box + taken[:, 2:]) / 2
        free = np.all(np.any(gaps >= -1e-9, axis=2), axis=1)
        low, high = frame[:2] + box / 2, frame[:2] + frame[2:] - box / 2
        inside = np.all((centres >= low) & (centres <= high), axis=1)
        good = np.flatnonzero(free & inside)
        moves[i] = tries[good[0]] if len(good) else np.nan
        if not len(good):
            continue
        taken = np.concatenate([taken, np.concatenate([place + moves[i], box])[None]])
    return moves
