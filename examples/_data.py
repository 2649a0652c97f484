"""Load data files that the examples need and scikit-learn does not provide."""

import os
import sys
from pathlib import Path

import numpy as np


def load(name: str, content: str) -> dict[str, np.ndarray]:
    """Return the arrays of a data file.

    The file, or its folder, is the first command-line argument or the environment variable
    DIMETRIC_DATA.

    Parameters
    ----------
    name : str
        Name of the file. It may be in the subfolder ``large`` of the folder.
    content : str
        Content of the file, for the error message.
    """
    with np.load(find(name, content), allow_pickle=False) as arrays:
        return dict(arrays)


def find(name: str, content: str) -> Path:
    """Return the path of a data file. The parameters are those of :func:`load`."""
    source = sys.argv[1] if len(sys.argv) > 1 else os.environ.get("DIMETRIC_DATA", "")
    candidates = [Path(source), Path(source) / name, Path(source) / "large" / name]
    for path in candidates if source else []:
        if path.is_file():
            return path
    problem = f"It was not found at {source!r}" if source else "No path was given"
    sys.exit(
        f"This example needs the file {name}: {content}.\n{problem}. "
        "Give its path as the argument, or set DIMETRIC_DATA to the folder that contains it."
    )
