"""Draw samples in random order, so that no class hides another."""

from typing import Any

import numpy as np

from dimetric.plot._palette import Style, Theme, theme_of

MIN_EDGED_AREA = 15  # smallest area of a marker with an edge, in square points
TOTAL_MARKER_AREA = 16_000  # of all markers, in square points
MIN_MARKER_AREA, MAX_MARKER_AREA = 4, 26  # of one marker, in square points
MIN_ALPHA, MAX_ALPHA = 0.2, 0.85  # opacity of a marker
MAX_VECTOR_POINTS = 5_000  # with more points, they are rasterized in SVG and PDF files
OUTLIER_FACTOR = 3  # how much outliers enlarge the range of numbers, if they are left out
N_ROUNDS = 10  # parts of the samples, each drawn with all markers


def random_order(n: int) -> np.ndarray:
    """Return the order in which n samples are drawn. It is random, but always the same."""
    return np.random.default_rng(0).permutation(n)


def color_range(y: np.ndarray) -> tuple[float, float, str]:
    """Return the range of a colour bar, and at which ends it leaves out outliers.

    Outliers are left out if they make the range more than three times as large as that of the
    numbers between the 1st and the 99th percentile.

    Examples
    --------
    >>> color_range(np.arange(101.0)), color_range(np.append(np.arange(200.0), 5000.0))
    ((0.0, 100.0, 'neither'), (0.0, 198.0, 'max'))
    """
    low, high = float(np.min(y)), float(np.max(y))
    first, last = (float(each) for each in np.quantile(y, [0.01, 0.99]))
    width = last - first
    if not 0 < OUTLIER_FACTOR * width < high - low:
        return low, high, "neither"
    below, above = low < first - width / 2, high > last + width / 2
    ends = {(True, True): "both", (True, False): "min", (False, True): "max"}
    return first if below else low, last if above else high, ends.get((below, above), "neither")


def scatter_defaults(n: int) -> dict[str, Any]:
    """Return keyword arguments of ``scatter`` for n points: markers shrink and fade as n grows.

    Examples
    --------
    >>> [scatter_defaults(n)["alpha"] for n in (100, 2500, 40_000)]
    [0.85, 0.62, 0.31]
    """
    n = max(1, n)
    return {
        "s": float(np.clip(TOTAL_MARKER_AREA / n, MIN_MARKER_AREA, MAX_MARKER_AREA)),
        "alpha": round(float(np.clip(4.4 * n**-0.25, MIN_ALPHA, MAX_ALPHA)), 2),
        "rasterized": n > MAX_VECTOR_POINTS,
    }


def draw_grey(ax: Any, points: np.ndarray, n: int) -> None:
    """Draw samples without a class or number in grey, behind those that have one.

    Parameters
    ----------
    ax : matplotlib Axes
        Axes to draw into.
    points : ndarray of shape (n_points, n_components)
        Coordinates of these samples. In one dimension, they belong to no row and are not drawn.
    n : int
        Number of all samples.
    """
    if len(points) and points.shape[1] > 1:
        options = scatter_defaults(n) | {"linewidths": 0, "zorder": 0}
        ax.scatter(*points.T, color=theme_of(ax).muted, **options)


def draw_classes(
    ax: Any,
    points: np.ndarray,
    codes: np.ndarray,
    styles: list[Style],
    theme: Theme,
    options: dict[str, Any],
) -> list[Any]:
    """Draw samples in the styles of their classes, in random order. Return the collections.

    Parameters
    ----------
    ax : matplotlib Axes
        Axes to draw into.
    points : ndarray of shape (n_samples, 2) or (n_samples, 3)
        Coordinates of the samples.
    codes : ndarray of shape (n_samples,)
        The class of each sample, as an index into `styles`.
    styles : list of Style
        Style of each class.
    theme : Theme
        Colours that suit the background.
    options : dict
        Keyword arguments of ``scatter``.
    """
    order = random_order(len(points))
    shapes = list(dict.fromkeys((style.marker, style.filled) for style in styles))
    # Samples in three dimensions are sorted by their depth when they are drawn.
    n_rounds = 1 if len(shapes) == 1 or points.shape[1] == 3 else N_ROUNDS
    collections = []
    for part in np.array_split(order, n_rounds):
        for shape in shapes:
            of_shape = [(style.marker, style.filled) == shape for style in styles]
            rows = part[np.array(of_shape)[codes[part]]]
            if len(rows):
                colors = [styles[code].color for code in codes[rows]]
                keywords = _marker_keywords(shape, colors, theme, options.get("s", 0))
                collections.append(ax.scatter(*points[rows].T, **(keywords | options)))
    return collections


def _marker_keywords(
    shape: tuple[str, bool], colors: list[str], theme: Theme, area: float
) -> dict[str, Any]:
    marker, filled = shape
    if not filled:
        return {
            "marker": marker,
            "facecolors": "none",
            "edgecolors": colors,
            "linewidths": 0.7,
        }
    # On a small marker, an edge in the colour of the background would hide the colour.
    edge = {"edgecolors": theme.paper, "linewidths": 0.3} if area >= MIN_EDGED_AREA else {}
    return {"marker": marker, "facecolors": colors, "linewidths": 0} | edge
