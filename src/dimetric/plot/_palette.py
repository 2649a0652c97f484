"""Colours and markers of all pictures; the colours suit colour-blind readers."""

from typing import NamedTuple

# M. Okabe, K. Ito, "Color Universal Design", 2008; without the yellow, hard to see on white.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#4D4D4D")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "p", "*", "h")
SEQUENTIAL = "viridis"
DIVERGING = "RdBu_r"  # white in the middle
QUIET = "#BBBBBB"  # classes without a colour of their own
INK = "#222222"


class Style(NamedTuple):
    """How the samples of a class look."""

    color: str
    marker: str
    filled: bool


def styles(n_classes: int) -> list[Style]:
    """Return the style of each class: up to 168 classes, no two look alike.

    Colours change first, then markers, then whether these are filled.

    Examples
    --------
    >>> [style.marker for style in styles(9)]
    ['o', 'o', 'o', 'o', 'o', 'o', 'o', 's', 's']
    >>> len(set(styles(168)))
    168
    """
    c, m = len(COLORS), len(MARKERS)
    return [
        Style(COLORS[i % c], MARKERS[i // c % m], i // (c * m) % 2 == 0) for i in range(n_classes)
    ]


def light(color: str, share: float = 0.35) -> tuple[float, float, float]:
    """Return a colour mixed with white, for the background.

    Examples
    --------
    >>> light("#000000")
    (0.65, 0.65, 0.65)
    """
    parts = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (1 - share + share * part for part in parts)
    return red, green, blue
