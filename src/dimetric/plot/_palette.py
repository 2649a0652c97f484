"""Colours and markers of all plots. The colours are safe for colour-blind readers."""

from typing import Any, NamedTuple

# M. Okabe, K. Ito, "Color Universal Design", 2008, with dark grey instead of black and without
# yellow, which is hard to see on white.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#4D4D4D")
# The same hues on a dark background, with a lighter blue, and light grey instead of dark grey.
DARK_COLORS = ("#2F8FD8", "#E8702A", "#1FB58A", "#D98BB8", "#EDB52E", "#8CCFF5", "#D0D3DA")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "p", "*", "h")
MAX_DARK_LUMINANCE = 0.18  # white text on a darker background has more contrast than black text


class Style(NamedTuple):
    """Colour and marker of the samples of a class."""

    color: str
    marker: str
    filled: bool


class Theme(NamedTuple):
    """Colours that suit the background of a plot.

    Attributes
    ----------
    ink, paper : str
        Colours of text and lines, and of the background.
    muted : str
        Colour of samples that are not highlighted.
    colors : tuple of str
        Colours of classes, curves and bars.
    sequential : str and range
        Name of the colour map of numbers, and the part of it that is visible on the background.
    diverging : tuple of str
        Colours of negative numbers, zero and positive numbers.
    """

    ink: str
    paper: str
    muted: str
    colors: tuple[str, ...]
    sequential: tuple[str, float, float]
    diverging: tuple[str, ...]

    def class_styles(self, n_classes: int) -> list[Style]:
        """Return a style for each class. Up to 168 classes have different styles.

        The colour changes first, then the marker, then whether the marker is filled.

        Examples
        --------
        >>> [style.marker for style in LIGHT.class_styles(9)]
        ['o', 'o', 'o', 'o', 'o', 'o', 'o', 's', 's']
        >>> len(set(LIGHT.class_styles(168)))
        168
        """
        c, m = len(self.colors), len(MARKERS)
        return [
            Style(self.colors[i % c], MARKERS[i // c % m], i // (c * m) % 2 == 0)
            for i in range(n_classes)
        ]

    def sequential_cmap(self) -> Any:
        """Return the colour map of numbers."""
        import matplotlib
        from matplotlib.colors import ListedColormap

        name, low, high = self.sequential
        shades = [low + (high - low) * i / 255 for i in range(256)]
        return ListedColormap(matplotlib.colormaps[name](shades), name=f"{name}, visible part")

    def diverging_cmap(self) -> Any:
        """Return the colour map of numbers of both signs. Zero has the colour of the background."""
        from matplotlib.colors import LinearSegmentedColormap

        return LinearSegmentedColormap.from_list("diverging", self.diverging)

    def tint(self, color: str, weight: float = 0.35) -> tuple[float, float, float]:
        """Return a mixture of a colour and the background, in which the colour has a weight.

        Examples
        --------
        >>> LIGHT.tint("#000000")
        (0.65, 0.65, 0.65)
        """
        red, green, blue = (
            paper + weight * (part - paper)
            for part, paper in zip(_rgb(color), _rgb(self.paper), strict=True)
        )
        return red, green, blue


LIGHT = Theme(
    ink="#222222",
    paper="#ffffff",
    muted="#BBBBBB",
    colors=COLORS,
    sequential=("viridis", 0.0, 0.86),  # the last part, yellow, is hard to see on white
    diverging=("#053061", "#2166ac", "#92c5de", "#ffffff", "#f4a582", "#b2182b", "#67001f"),
)
DARK = Theme(
    ink="#e6e9f0",
    paper="#14171d",
    muted="#6b7280",
    colors=DARK_COLORS,
    sequential=("viridis", 0.32, 1.0),  # the first part, violet, is hard to see on black
    diverging=("#a8d8ff", "#4aa3e8", "#1f5d94", "#14171d", "#9c4a2a", "#f08a5d", "#ffd0b0"),
)


def theme_of(ax: Any) -> Theme:
    """Return the theme that suits the background of axes, as set by a style of matplotlib."""
    from matplotlib.colors import to_rgba

    background = to_rgba(ax.get_facecolor())
    if background[3] == 0:  # the axes are transparent
        background = to_rgba(ax.figure.get_facecolor())
    theme = DARK if _is_dark(background) else LIGHT
    return theme._replace(
        paper="#" + "".join(f"{round(255 * each):02x}" for each in background[:3])
    )


def readable_ink(color: Any) -> str:
    """Return the colour of text that is readable on a background of the given colour.

    Examples
    --------
    >>> readable_ink((0.0, 0.0, 0.4)) == DARK.ink, readable_ink((1.0, 1.0, 0.8)) == LIGHT.ink
    (True, True)
    """
    return DARK.ink if _is_dark(color) else LIGHT.ink


def theme_settings(theme: Theme) -> dict[str, Any]:
    """Return settings of matplotlib (rcParams) that draw all text and lines in a theme."""
    inked = ("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color")
    papers = ("figure.facecolor", "axes.facecolor", "savefig.facecolor")
    return dict.fromkeys(inked, theme.ink) | dict.fromkeys(papers, theme.paper)


def _rgb(color: str) -> list[float]:
    return [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]


def _is_dark(color: Any) -> bool:
    return luminance(color) < MAX_DARK_LUMINANCE


def luminance(color: Any) -> float:
    """Return the relative luminance of a colour (red, green, blue, ...), as WCAG defines it.

    Examples
    --------
    >>> luminance((1.0, 1.0, 1.0)), luminance((0.0, 0.0, 0.0))
    (1.0, 0.0)
    """
    red, green, blue = (
        c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in color[:3]
    )
    return float(0.2126 * red + 0.7152 * green + 0.0722 * blue)
