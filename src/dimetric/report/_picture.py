"""Draw a plot twice, on a light and on a dark background, as parts of a page."""

import warnings
from base64 import b64encode
from io import BytesIO
from typing import Any, NamedTuple

WIDTH_INCHES = 5.2  # narrow, so that text stays readable on a phone
DOTS_PER_INCH = 160
CSS_PIXELS_PER_INCH = 96
N_COLORS = 128  # of an image; a full-colour image is three times as large


class Picture(NamedTuple):
    """A plot for a page.

    Attributes
    ----------
    light, dark : str
        The image on a light and on a dark background, as ``data:`` URLs.
    width, height : int
        Size in pixels of CSS.
    """

    light: str
    dark: str
    width: int
    height: int


def draw_picture(height: float, display: Any, *, n_ticks: int | None = None) -> Picture:
    """Draw a display on a light and on a dark background.

    The figure uses matplotlib's default style. The user's own settings are neither used nor
    changed.

    Parameters
    ----------
    height : float
        Height of the figure in inches.
    display : object
        Object with a method ``plot(ax=...)``, such as a display of ``dimetric.plot``.
    n_ticks : int, optional
        Largest number of intervals of the horizontal axis.
    """
    from dimetric.plot._palette import DARK, LIGHT, theme_settings

    light, dark = (
        _image(height, display, n_ticks, theme_settings(theme)) for theme in (LIGHT, DARK)
    )
    width_pixels, height_pixels = (
        round(CSS_PIXELS_PER_INCH * each) for each in (WIDTH_INCHES, height)
    )
    return Picture(light, dark, width_pixels, height_pixels)


def _image(height: float, display: Any, n_ticks: int | None, settings: dict[str, Any]) -> str:
    """Draw a display with settings of matplotlib. Return a ``data:`` URL."""
    from matplotlib import style
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    from dimetric.plot._fonts import font_families

    content = BytesIO()
    with (
        style.context(["default", {"font.family": font_families()} | settings]),
        warnings.catch_warnings(),
    ):
        warnings.filterwarnings("ignore", "Glyph")  # class names are also in the page's text
        figure = Figure(figsize=(WIDTH_INCHES, height), layout="constrained")
        FigureCanvasAgg(figure)
        ax = figure.add_subplot()
        display.plot(ax=ax)
        if n_ticks is not None:
            ax.locator_params(axis="x", nbins=n_ticks)
        figure.savefig(content, format="png", dpi=DOTS_PER_INCH, metadata={"Software": None})
    return f"data:image/png;base64,{b64encode(_with_few_colors(content)).decode()}"


def _with_few_colors(content: BytesIO) -> bytes:
    """Return a PNG image with a palette, which makes it smaller."""
    from PIL import Image

    reduced = BytesIO()
    with Image.open(content) as image:
        image.convert("RGB").quantize(N_COLORS, dither=Image.Dither.NONE).save(
            reduced, format="png", optimize=True
        )
    return reduced.getvalue()
