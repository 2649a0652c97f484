"""Write pictures: PNG, SVG or PDF, by the ending of the file."""

import warnings
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
    """Draw in memory, in all scripts that there are fonts for, and open no window."""
    try:
        import matplotlib
    except ImportError as error:
        raise ImportError(
            "A picture is drawn by matplotlib: install it with pip install 'dimetric[plot]'."
        ) from error
    matplotlib.use("agg")
    from dimetric.plot._fonts import font_families

    matplotlib.rcParams["font.family"] = font_families()


def write_picture(figure: Any, path: Path) -> list[str]:
    """Write a figure to a file, which exists only once it is complete; return notes about it.

    Parameters
    ----------
    figure : matplotlib Figure
        The figure.
    path : path
        The file; its ending says which kind.
    """
    import matplotlib.pyplot as plt

    from dimetric._files import atomic_write

    kind = path.suffix.lower()
    try:
        with (
            atomic_write(path) as begun,
            plt.rc_context({"svg.hashsalt": "dimetric"}),
            warnings.catch_warnings(record=True) as told,
        ):
            warnings.simplefilter("always")
            figure.savefig(begun, format=kind[1:], dpi=150, metadata=UNDATED[kind])
    finally:
        plt.close(figure)
    texts = list(dict.fromkeys(str(each.message) for each in told))
    if any("missing from font" in each for each in texts):
        texts = [each for each in texts if "missing from font" not in each]
        texts.append(
            f"{path} has boxes for signs that no font here has: install one that has them."
        )
    return texts
