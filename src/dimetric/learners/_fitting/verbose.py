"""Progress messages of learners with ``verbose=1``."""

import logging
import sys

logger = logging.getLogger("dimetric")


def report(message: str, *values: object) -> None:
    """Log a line at level INFO. Write it to stderr if no handler would show it.

    The user's logging configuration is not changed.
    """
    logger.info(message, *values)
    if not _is_shown():
        print(message % values, file=sys.stderr)


def _is_shown() -> bool:
    """Return whether any handler shows records of level INFO."""
    if not logger.isEnabledFor(logging.INFO):
        return False
    current: logging.Logger | None = logger
    while current is not None:
        for handler in current.handlers:
            if handler.level <= logging.INFO and not isinstance(handler, logging.NullHandler):
                return True
        current = current.parent if current.propagate else None
    return False
