"""Write plots as PNG, SVG or PDF files."""

import warnings
from io import BytesIO
from pathlib import Path
from typing import Any

PICTURE_EXTENSIONS = (".png", ".svg", ".pdf")
DOTS_PER_INCH = 150
# Metadata without the date, so that repeating a command writes an identical file.
METADATA = {".png": {}, ".svg": {"Date": None}, ".pdf": {"CreationDate": None}}


def is_picture(path: Path) -> bool:
    """Return whether the extension of a file is that of a plot.

    Examples
    --------
    >>> is_picture(Path("roll.PNG")), is_picture(Path("roll.csv"))
    (True, False)
    """
    return path.suffix.lower() in PICTURE_EXTENSIONS


def use_headless_backend(*, dark: bool = False) -> None:
    """Let matplotlib draw without a window, with the installed fonts for non-Latin text.

    Parameters
    ----------
    dark : bool, default=False
        Whether the background is dark.
    """
    try:
        import matplotlib.style
    except ImportError as error:
        raise ImportError(
            "Plots require matplotlib. Install it with pip install 'dimetric[plot]'."
        ) from error
    matplotlib.use("agg")
    from dimetric.plot._fonts import font_families
    from dimetric.plot._palette import DARK, LIGHT, theme_settings

    matplotlib.style.use(theme_settings(DARK if dark else LIGHT))
    matplotlib.rcParams["font.family"] = font_families()


def write_picture(figure: Any, path: Path) -> list[str]:
    """Write a figure to a file and return notes about it. A failed write leaves no file.

    Parameters
    ----------
    figure : matplotlib Figure
        The figure.
    path : path
        File to write. Its extension selects the format.
    """
    import matplotlib.pyplot as plt

    from dimetric._files import atomic_write

    kind = path.suffix.lower()
    try:
        with (
            atomic_write(path) as temporary,
            plt.rc_context({"svg.hashsalt": "dimetric"}),
            warnings.catch_warnings(record=True) as caught,
        ):
            warnings.simplefilter("always")
            # On a full disk, matplotlib does not close a PDF file that it opened itself.
            picture = BytesIO()
            figure.savefig(picture, format=kind[1:], dpi=DOTS_PER_INCH, metadata=METADATA[kind])
            temporary.write_bytes(picture.getvalue())
    finally:
        plt.close(figure)
    notes = list(dict.fromkeys(str(each.message) for each in caught))
    if any("missing from font" in each for each in notes):
        notes = [each for each in notes if "missing from font" not in each]
        notes.append(
            f"{path} shows boxes for characters that no installed font contains. Install a font "
            "that contains them."
        )
    return notes
