"""Which colour is what: legends beside the axes, and names where the classes are."""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from dimetric._arrays.namespaces import is_foreign, to_host
from dimetric.plot._matplotlib import plain
from dimetric.plot._palette import INK, Style

CLASSES = 200  # different integers up to which they may be classes
LEGEND = 24  # classes up to which a legend tells them; the names of more are at their places
COMMON = 4  # signs at both ends of all names from which on these are left out of long ones
ROWS = 24  # of a legend, before there is another column


def labels_of(y: Any, n: int, name: str = "y") -> np.ndarray:
    """Return the classes or numbers of n samples, on the host."""
    given = to_host(y) if is_foreign(y) else np.asarray(y)
    if given.ndim == 2 and given.shape[1] == 1:
        given = given[:, 0]
    if given.ndim != 1 or len(given) != n:
        raise ValueError(
            f"{name} has shape {given.shape}, but there are {n} samples: give one class, or one "
            "number, for each."
        )
    if given.dtype.kind == "O":
        if any(each is None or type(each).__name__ == "NAType" or each != each for each in given):
            raise ValueError(f"{name} has missing values: leave these samples out, or name them.")
        kinds = {type(each) for each in given}
        given = given.astype(str) if len(kinds) != 1 else np.array(given.tolist())
    if given.dtype.kind == "f" and not np.all(np.isfinite(given)):
        raise ValueError(f"{name} holds NaN or infinity: leave these samples out.")
    return given


def are_numbers(y: np.ndarray) -> bool:
    """Tell whether labels are numbers that measure something, rather than names of classes.

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
    few = min(CLASSES, max(20, len(y) // 3))
    return bool(np.any(y != np.round(y))) or different > few


def in_order(y: np.ndarray, most: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Return the classes, and for each sample the number of its own; raise if they are too many.

    Numbers in names count as numbers.

    Examples
    --------
    >>> in_order(np.array(["class 10", "class 2"]))
    (array(['class 2', 'class 10'], dtype='<U8'), array([1, 0]))
    """
    classes, codes = np.unique(y, return_inverse=True)
    if most is not None and len(classes) > most:
        raise ValueError(
            f"y holds {len(classes)} classes, and no picture tells more than {most} apart: leave y "
            "out, or join some."
        )
    if classes.dtype.kind not in "US":
        return classes, codes
    parts = [re.split(r"(\d+)", str(each)) for each in classes]
    keys = [[int(part) if i % 2 else part for i, part in enumerate(each)] for each in parts]
    order = sorted(range(len(keys)), key=keys.__getitem__)
    return classes[order], np.argsort(order)[codes]


def codes_in(classes: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return the places of labels among the classes, in whatever order these are.

    Examples
    --------
    >>> codes_in(np.array(["b", "a"]), np.array(["a", "b", "a"]))
    array([1, 0, 1])
    """
    order = np.argsort(classes)
    return order[np.searchsorted(classes[order], labels)]


def in_rows(codes: np.ndarray, width: float = 0.5) -> np.ndarray:
    """Return heights of samples on a line: in the row of their class, beside one another."""
    # Equal steps that look like chance, and are the same every time.
    return codes + width * ((np.arange(len(codes)) * 0.6180339887) % 1 - 0.5)


def short_names(names: Sequence[object], most: int) -> list[str]:
    """Return names as short lines that still differ where that can be.

    Of names that are too long, what all of them begin and end with is left out.

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
    if head + tail < COMMON and len(set(short)) == len(set(lines)):
        return short
    cores = [line[head : len(line) - tail] for line in lines]
    return ["…" * (head > 0) + plain(core, max(3, most - 2)) + "…" * (tail > 0) for core in cores]


def _shared(lines: Sequence[str]) -> int:
    """Return how many signs all lines begin with."""
    first, last = min(lines), max(lines)
    differ = (i for i, (a, b) in enumerate(zip(first, last, strict=False)) if a != b)
    return next(differ, min(len(first), len(last)))


def legend_beside(ax: Any, names: Sequence[object], looks: Sequence[Style], title: str = "") -> Any:
    """Return a legend of classes, to the right of the axes, where it hides nothing."""
    from matplotlib.lines import Line2D

    many, texts = len(names) > ROWS, short_names(names, _most(names))
    side = 1.15 if ax.name == "3d" else 1.02
    if ax.name == "3d":
        ax.set_anchor("W")  # the cube leaves room to both sides, and the legend needs it all
    handles = [
        Line2D(
            [], [], linestyle="none", marker=look.marker, markersize=4 if many else 5,
            color=look.color, markerfacecolor=look.color if look.filled else "none",
        )
        for look in looks
    ]  # fmt: skip
    legend = ax.legend(
        handles, [" "] * len(names), loc="upper left", bbox_to_anchor=(side, 1.0),
        borderaxespad=0.0, frameon=False, title=plain(title) or None, alignment="left",
        ncols=-(-len(names) // ROWS), fontsize=7 if many else 9, handletextpad=0.2,
        columnspacing=0.8,
    )  # fmt: skip
    # Only afterwards: names that begin with "_" would be left out.
    for text, name in zip(legend.get_texts(), texts, strict=True):
        text.set_text(name)
    return legend


def legend_width(names: Sequence[object]) -> float:
    """Return about how wide a legend is, in inches."""
    longest = max(len(name) for name in short_names(names, _most(names)))
    columns = -(-len(names) // ROWS)
    return columns * (0.4 + longest * (0.062 if columns > 1 else 0.08))


def _most(names: Sequence[object]) -> int:
    """Return how long names in a legend may be."""
    return 20 if len(names) > ROWS else 32


def names_at_places(
    ax: Any, places: np.ndarray, codes: np.ndarray, names: Sequence[object], looks: Sequence[Style]
) -> list[Any]:
    """Write the names of classes in their middle, apart from each other; return them in order.

    A name that had to give way has a line to its place; those of large classes come first. Where
    the axes are too small for all, None stands for those that are not written, as for classes
    without samples.

    Parameters
    ----------
    ax : matplotlib Axes
        With the samples in it.
    places : ndarray of shape (n_samples, 2)
        Where the samples are.
    codes : ndarray of shape (n_samples,)
        Their classes.
    names : sequence
        Of the classes.
    looks : sequence of Style
        Theirs.
    """
    here, counts = np.unique(codes, return_counts=True)  # of some classes there may be no sample
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
    """Write names near their places, those first that are first."""
    from matplotlib import patheffects

    many = len(names) > 40
    size, most = (6, 16) if many else (8, 24)
    whole = ax.figure.figure  # which a part of a figure is in
    whole.draw_without_rendering()  # places of the axes are final only then
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
            text, centre, xytext=offset, textcoords="offset points", fontsize=size, color=INK,
            ha="center", va="center", zorder=5, arrowprops=line if away else None,
            annotation_clip=False,
        )  # fmt: skip
        label.set_in_layout(False)  # which is done, and has found the places
        label.set_path_effects([patheffects.withStroke(linewidth=2, foreground="white")])
        written.append(label)
    return written


def apart(places: np.ndarray, boxes: np.ndarray, frame: np.ndarray) -> np.ndarray:
    """Return how far to move boxes from their places so that no two overlap.

    Each, in turn, takes the free place in the frame nearest to its own; NaN if there is none.

    Parameters
    ----------
    places : ndarray of shape (n, 2)
        Centres of the boxes.
    boxes : ndarray of shape (n, 2)
        Widths and heights.
    frame : ndarray of shape (4,)
        Left, bottom, width and height of what the boxes should stay in.

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
