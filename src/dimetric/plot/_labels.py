"""Names of classes in plots: in a legend beside the axes, or written at the class medians."""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from dimetric._arrays.namespaces import is_foreign, to_host
from dimetric.data._missing import is_missing
from dimetric.plot._matplotlib import plain_text
from dimetric.plot._palette import Style, theme_of
from dimetric.plot._short_names import short_names

MAX_INTEGER_CLASSES = 200  # with more distinct integers, y is treated as numbers, not classes
MIN_INTEGER_CLASSES = 20  # up to this many distinct integers are always treated as classes
MAX_LEGEND_CLASSES = 24  # with more, names are written at the class medians
MAX_LARGE_NAMES = 40  # with more names at the class medians, their font is smaller
LEGEND_ROWS = 24  # a longer legend has several columns
LEGEND_BESIDE = {"loc": "upper left", "borderaxespad": 0.0, "frameon": False}


def checked_labels(y: Any, n: int, name: str = "y") -> np.ndarray:
    """Return the classes or numbers of n samples as a NumPy array."""
    labels = to_host(y) if is_foreign(y) else np.asarray(y)
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.ndim != 1 or len(labels) != n:
        raise ValueError(
            f"{name} has shape {labels.shape}, but there are {n} samples. Give one class or one "
            "number for each sample."
        )
    if labels.dtype.kind == "O":
        if is_missing(labels).any():
            raise ValueError(f"{name} has missing values. Remove these samples or label them.")
        kinds = {type(each) for each in labels}
        labels = labels.astype(str) if len(kinds) != 1 else np.array(labels.tolist())
    if labels.dtype.kind == "f" and not np.all(np.isfinite(labels)):
        raise ValueError(f"{name} contains NaN or infinity. Remove these samples.")
    return labels


def are_numbers(y: np.ndarray) -> bool:
    """Return whether labels are measurements rather than classes.

    Examples
    --------
    >>> [are_numbers(y) for y in (np.array([1, 2, 1, 2]), np.arange(100), np.ones(3) / 2)]
    [False, True, True]
    """
    if y.dtype.kind not in "iuf":
        return False
    max_classes = min(MAX_INTEGER_CLASSES, max(MIN_INTEGER_CLASSES, len(y) // 3))
    return bool(np.any(y != np.round(y))) or len(np.unique(y)) > max_classes


def sorted_classes(y: np.ndarray, max_classes: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Return the classes in natural order, and the index of the class of each sample.

    Natural order compares the numbers in names by value, whatever their number of digits. An error
    is raised if there are more than `max_classes` classes.

    Examples
    --------
    >>> sorted_classes(np.array(["class 10", "class 2"]))
    (array(['class 2', 'class 10'], dtype='<U8'), array([1, 0]))
    """
    classes, codes = np.unique(y, return_inverse=True)
    if max_classes is not None and len(classes) > max_classes:
        raise ValueError(
            f"y contains {len(classes)} classes, but a plot can show at most {max_classes}. Omit "
            "y or merge some classes."
        )
    if classes.dtype.kind not in "US":
        return classes, codes
    parts = [re.split(r"0*([0-9]+)", str(each)) for each in classes]
    keys = [[(len(s), s) if i % 2 else s for i, s in enumerate(each)] for each in parts]
    order = sorted(range(len(keys)), key=keys.__getitem__)
    return classes[order], np.argsort(order)[codes]


def codes_of(classes: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return the index of each label in `classes`, which need not be sorted.

    Examples
    --------
    >>> codes_of(np.array(["b", "a"]), np.array(["a", "b", "a"]))
    array([1, 0, 1])
    """
    order = np.argsort(classes)
    return order[np.searchsorted(classes[order], labels)]


def jittered_rows(codes: np.ndarray, width: float = 0.5) -> np.ndarray:
    """Return vertical positions for 1-D samples: the row of their class plus jitter."""
    # Multiples of the golden ratio look random but are reproducible.
    return codes + width * ((np.arange(len(codes)) * 0.6180339887) % 1 - 0.5)


def legend_beside(
    ax: Any, handles: Sequence[Any], names: Sequence[str], *, x: float = 1.02, **options: Any
) -> Any:
    """Add a legend to the right of the axes, where it hides nothing, and return it.

    Parameters
    ----------
    ax : matplotlib Axes
        The axes.
    handles : sequence of matplotlib artist
        The artists to list.
    names : sequence of str
        Their labels, as displayed.
    x : float, default=1.02
        Left edge of the legend, in axes coordinates.
    **options
        Keyword arguments of ``Axes.legend``.
    """
    blanks = [" "] * len(names)
    legend = ax.legend(handles, blanks, bbox_to_anchor=(x, 1.0), **(LEGEND_BESIDE | options))
    # Set the texts afterwards, because matplotlib omits labels that begin with "_".
    for text, name in zip(legend.get_texts(), names, strict=True):
        text.set_text(name)
    return legend


def class_legend(ax: Any, names: Sequence[object], styles: Sequence[Style], title: str = "") -> Any:
    """Add a legend of classes beside the axes and return it."""
    from matplotlib.lines import Line2D

    is_long = len(names) > LEGEND_ROWS
    if ax.name == "3d":
        ax.set_anchor("W")  # move the cube to the left to make room for the legend
    handles = [
        Line2D(
            [],
            [],
            linestyle="none",
            marker=style.marker,
            markersize=4 if is_long else 5,
            color=style.color,
            markerfacecolor=style.color if style.filled else "none",
        )
        for style in styles
    ]
    return legend_beside(
        ax,
        handles,
        short_names(names, _max_name_length(names)),
        x=1.15 if ax.name == "3d" else 1.02,
        title=plain_text(title) or None,
        alignment="left",
        ncols=-(-len(names) // LEGEND_ROWS),
        fontsize=7 if is_long else 9,
        handletextpad=0.2,
        columnspacing=0.8,
    )


def legend_width(names: Sequence[object]) -> float:
    """Return the approximate width of a legend of classes, in inches."""
    longest = max(len(name) for name in short_names(names, _max_name_length(names)))
    columns = -(-len(names) // LEGEND_ROWS)
    return columns * (0.4 + longest * (0.062 if columns > 1 else 0.08))


def _max_name_length(names: Sequence[object]) -> int:
    """Return the largest number of characters of a name in a legend."""
    return 20 if len(names) > LEGEND_ROWS else 32


def write_class_names(
    ax: Any, points: np.ndarray, codes: np.ndarray, names: Sequence[object], styles: Sequence[Style]
) -> list[Any]:
    """Write the name of each class at the median of its samples, without overlaps.

    Names of large classes are placed first. A name that does not fit at the median is moved, and a
    line connects it to the median.

    Parameters
    ----------
    ax : matplotlib Axes
        Axes that show the samples.
    points : ndarray of shape (n_samples, 2)
        Coordinates of the samples.
    codes : ndarray of shape (n_samples,)
        The class of each sample, as an index into `names`.
    names : sequence
        Names of the classes.
    styles : sequence of Style
        Style of each class.

    Returns
    -------
    labels : list of matplotlib Annotation or None
        One label per class. It is None if the class has no samples or there is no room for it.
    """
    present, counts = np.unique(codes, return_counts=True)
    order = present[np.argsort(-counts, kind="stable")]
    centres = np.array([np.median(points[codes == i], axis=0) for i in order])
    written = _write_names(ax, centres, [names[i] for i in order], [styles[i] for i in order])
    labels: list[Any] = [None] * len(names)
    for i, label in zip(order, written, strict=True):
        labels[i] = label
    return labels


def _write_names(
    ax: Any, centres: np.ndarray, names: Sequence[object], styles: Sequence[Style]
) -> list[Any]:
    """Write names at or near their centres. Earlier names get the better places."""
    from matplotlib import patheffects

    theme, (size, max_length) = theme_of(ax), (6, 16) if len(names) > MAX_LARGE_NAMES else (8, 24)
    figure = ax.figure.figure  # ax.figure may be a subfigure
    figure.draw_without_rendering()  # runs the layout, which moves the axes
    to_points = 72 / figure.dpi
    in_points = ax.transData.transform(centres) * to_points
    texts = short_names(names, max_length)
    boxes = np.array([(0.62 * size * len(text) + 2, 1.25 * size) for text in texts])
    frame = ax.get_window_extent()
    offsets = non_overlapping_offsets(in_points, boxes, np.array(frame.bounds) * to_points)
    written: list[Any] = []
    for text, centre, offset, style in zip(texts, centres, offsets, styles, strict=True):
        if np.isnan(offset[0]):
            written.append(None)
            continue
        away = bool(np.hypot(*offset) > 1.5 * size)
        line = {"arrowstyle": "-", "color": style.color, "linewidth": 0.5, "shrinkA": 0}
        label = ax.annotate(
            text,
            centre,
            xytext=offset,
            textcoords="offset points",
            fontsize=size,
            color=theme.ink,
            ha="center",
            va="center",
            zorder=5,
            arrowprops=line if away else None,
            annotation_clip=False,
        )
        label.set_in_layout(False)  # a label must not change the layout it was placed in
        label.set_path_effects([patheffects.withStroke(linewidth=2, foreground=theme.paper)])
        written.append(label)
    return written


def non_overlapping_offsets(
    centres: np.ndarray, boxes: np.ndarray, frame: np.ndarray
) -> np.ndarray:
    """Return the offset of each box from its preferred centre so that no two boxes overlap.

    Boxes are placed one by one, each at the nearest free position in the frame. The offset is NaN
    if there is no free position.

    Parameters
    ----------
    centres : ndarray of shape (n, 2)
        Preferred centres of the boxes.
    boxes : ndarray of shape (n, 2)
        Widths and heights of the boxes.
    frame : ndarray of shape (4,)
        Left, bottom, width and height of the area available to the boxes.

    Examples
    --------
    >>> centres, boxes = np.zeros((2, 2)), np.ones((2, 2))
    >>> non_overlapping_offsets(centres, boxes, np.array([-9, -9, 18, 18])).round(1)
    array([[0., 0.],
           [0., 1.]])
    """
    # Try 24 directions at 59 distances, starting upwards. The numbers were chosen by experiment.
    angles, rings = 2 * np.pi * np.arange(24) / 24 + np.pi / 2, np.arange(1, 60)
    circle = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    placed, offsets = np.empty((0, 4)), np.zeros_like(centres)
    for i, (centre, box) in enumerate(zip(centres, boxes, strict=True)):
        radii = rings[:, None, None] * box[1] / 2
        tried = np.concatenate([np.zeros((1, 2)), (radii * circle).reshape(-1, 2)])
        positions = centre + tried
        gaps = np.abs(positions[:, None] - placed[:, :2]) - (box + placed[:, 2:]) / 2
        free = np.all(np.any(gaps >= -1e-9, axis=2), axis=1)
        low, high = frame[:2] + box / 2, frame[:2] + frame[2:] - box / 2
        inside = np.all((positions >= low) & (positions <= high), axis=1)
        possible = np.flatnonzero(free & inside)
        if not len(possible):
            offsets[i] = np.nan
            continue
        offsets[i] = tried[possible[0]]
        placed = np.concatenate([placed, np.concatenate([centre + offsets[i], box])[None]])
    return offsets
