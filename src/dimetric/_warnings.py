"""Warnings that point to the user's line."""

import sys
import warnings
from types import FrameType

# Frames of these packages are never the user's line: dimetric, libraries that call an estimator
# (such as a pipeline or a table) or that dimetric calls with a function of its own (such as a
# solver), and the standard library's threads and launchers.
SKIPPED_PACKAGES = frozenset(
    {
        "dimetric",
        "sklearn",
        "joblib",
        "scipy",
        "numpy",
        "pandas",
        "click",
        "typer",
        "concurrent",
        "contextlib",
        "multiprocessing",
        "runpy",
        "threading",
    }
)


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Issue a warning that points to the user's line.

    This is the line of the innermost call outside `SKIPPED_PACKAGES`. A thread or process that runs
    a function of dimetric has no such line. Then the warning points to the line that calls
    dimetric, which is in the standard library or in joblib.

    Parameters
    ----------
    message : str
        Text of the warning.
    category : type, default=UserWarning
        Class of the warning.

    Examples
    --------
    >>> import warnings
    >>> with warnings.catch_warnings(record=True, action="always") as caught:
    ...     warn("y has only one class.")
    >>> caught[0].category.__name__
    'UserWarning'
    """
    here = sys._getframe(1)
    frame = _first_user_frame(here) or _caller_of_dimetric(here)
    # A computed stacklevel would be wrong if there are frames of importlib, which warnings.warn
    # does not count.
    warnings.warn_explicit(
        message,
        category,
        filename=frame.f_code.co_filename,
        lineno=frame.f_lineno,
        module=frame.f_globals.get("__name__", "<unknown>"),
        registry=frame.f_globals.setdefault("__warningregistry__", {}),
    )


def _first_user_frame(frame: FrameType | None) -> FrameType | None:
    while frame is not None and _package(frame) in SKIPPED_PACKAGES:
        frame = frame.f_back
    return frame


def _caller_of_dimetric(frame: FrameType) -> FrameType:
    """Return the frame that calls the outermost frame of dimetric, or the outermost frame."""
    caller: FrameType | None = frame
    while caller is not None:
        if _package(caller) == "dimetric":
            frame = caller.f_back or caller
        caller = caller.f_back
    return frame


def _package(frame: FrameType) -> str:
    """Return the name of the top-level package to which the code of a frame belongs."""
    name = frame.f_globals.get("__name__") or ""
    if name == "__main__":  # ``python -m package.module`` sets the package
        name = frame.f_globals.get("__package__") or name
    return str(name).partition(".")[0]
