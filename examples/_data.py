"""Where examples find data that scikit-learn does not bring along."""

import os
import sys
from pathlib import Path

import numpy as np


def load(name: str, what: str) -> dict[str, np.ndarray]:
    """Return the arrays of a file, which the first argument or DIMETRIC_DATA leads to.

    Parameters
    ----------
    name : str
        Name of the file; the folder may have it in ``large/``.
    what : str
        What the file holds, for those who have not got it.
    """
    with np.load(find(name, what), allow_pickle=False) as arrays:
        return dict(arrays)


def find(name: str, what: str) -> Path:
    """Return where a file is; parameters as of :func:`load`."""
    given = sys.argv[1] if len(sys.argv) > 1 else os.environ.get("DIMETRIC_DATA", "")
    places = [Path(given), Path(given) / name, Path(given) / "large" / name]
    for place in places if given else []:
        if place.is_file():
            return place
    where = f"there is none at {given!r}" if given else "none was named"
    sys.exit(
        f"This example needs the file {name}: {what}.\nGive its path as the argument, or set "
        f"DIMETRIC_DATA to the folder that holds it; {where}."
    )
