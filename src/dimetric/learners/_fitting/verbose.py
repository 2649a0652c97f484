"""Progress in words, for learners with ``verbose=1``."""

import logging
import sys

logger = logging.getLogger("dimetric")


def report(message: str, *values: object) -> None:
    """Log a line at level INFO; write it to stderr if no handler would show it.

    The logging configuration is the user's and is not changed.
    """
    logger.info(message, *values)
    if not _is_shown():
        print(message % values, file=sys.stderr)


def _is_shown() -> bool:
    """Tell whether any handler receives records of level INFO."""
    if not logger.isEnabledFor(logging.INFO):
        return False
    place: logging.Logger | None = logger
    while place is not None:
        for handler in place.handlers:
            if handler.level <= logging.INFO and not isinstance(handler, logging.NullHandler):
                return True
        place = place.parent if place.propagate else None
    return False
