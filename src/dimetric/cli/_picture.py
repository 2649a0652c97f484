"""Pictures that verbs write: PNG, SVG or PDF, by the ending of the file."""

from pathlib import Path
from typing import Any

PICTURES = (".png", ".svg", ".pdf")
# Without the date, the same command writes the same file.
UNDATED = {".png": {}, ".svg": {"Date": None}, ".pdf": {"CreationDate": None}}


def is_picture(path: Path) -> bool:
    """Tell whether a file is a picture, by its ending.

    Examples
    --------
    >>> is_picture(Path("roll.PNG")), is_picture(Path("roll.csv"))
    (True, False)
    """
    return path.suffix.lower() in PICTURES


def no_window() -> None:
    """Draw into memory, whatever the terminal has to show windows."""
    try:
        import matplotlib
    except ImportError as error:
        raise ImportError(
            "A picture is drawn by matplotlib: install it with pip install 'dimetric[plot]'."
        ) from error
    matplotlib.use("agg")


def write_picture(figure: Any, path: Path) -> None:
    """Write a figure, whole or not at all, and close it.

    Parameters
    ----------
    figure : matplotlib Figure
        The figure.
    path : path
        The file; its ending says which kind.
    """
    import matplotlib.pyplot as plt

    from dimetric._files import atomic

    kind = path.suffix.lower()
    try:
        with atomic(path) as begun, plt.rc_context({"svg.hashsalt": "dimetric"}):
            figure.savefig(begun, format=kind[1:], dpi=150, metadata=UNDATED[kind])
    finally:
        plt.close(figure)
