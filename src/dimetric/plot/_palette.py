"""Colours and markers of all plots. The colours are safe for colour-blind readers."""

from typing import NamedTuple

# M. Okabe, K. Ito, "Color Universal Design", 2008, with dark grey instead of black and without
# yellow, which is hard to see on white.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#4D4D4D")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "p", "*", "h")
SEQUENTIAL_CMAP = "viridis"
DIVERGING_CMAP = "RdBu_r"  # white in the middle
LIGHT_GREY = "#BBBBBB"  # samples of classes that are not highlighted
DARK_GREY = "#222222"


class Style(NamedTuple):
    """Colour and marker of the samples of a class."""

    color: str
    marker: str
    filled: bool


def class_styles(n_classes: int) -> list[Style]:
    """Return a style for each class. Up to 168 classes have different styles.

    The colour changes first, then the marker, then whether the marker is filled.

    Examples
    --------
    >>> [style.marker for style in class_styles(9)]
    ['o', 'o', 'o', 'o', 'o', 'o', 'o', 's', 's']
    >>> len(set(class_styles(168)))
    168
    """
    c, m = len(COLORS), len(MARKERS)
    return [
        Style(COLORS[i % c], MARKERS[i // c % m], i // (c * m) % 2 == 0) for i in range(n_classes)
    ]


def lighten(color: str, weight: float = 0.35) -> tuple[float, float, float]:
    """Return a mixture of a colour and white, in which the colour has the given weight.

    Examples
    --------
    >>> lighten("#000000")
    (0.65, 0.65, 0.65)
    """
    parts = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (1 - weight + weight * part for part in parts)
    return red, green, blue
