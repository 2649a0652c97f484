"""The colours and markers of all pictures, which any colour vision tells apart."""

from typing import NamedTuple

# M. Okabe, K. Ito, "Color Universal Design", 2008; without the yellow, which is lost on white.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#4D4D4D")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "p", "*", "h")
SEQUENTIAL = "viridis"
DIVERGING = "RdBu_r"  # white in the middle
QUIET = "#BBBBBB"  # what is there for comparison
INK = "#222222"


class Style(NamedTuple):
    """How the samples of a class look."""

    color: str
    marker: str
    filled: bool


def styles(n_classes: int) -> list[Style]:
    """Return how the classes look: no two alike, up to 168 of them.

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
    """Return a colour mixed with white, for what is in the back.

    Examples
    --------
    >>> light("#000000")
    (0.65, 0.65, 0.65)
    """
    parts = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (1 - share + share * part for part in parts)
    return red, green, blue
