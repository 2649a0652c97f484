"""matplotlib, where it is installed."""

from typing import Any


def pyplot(who: str) -> Any:
    """Return ``matplotlib.pyplot``, or say how to get it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            f"{who} draws by matplotlib: install it with pip install 'dimetric[plot]'."
        ) from error
    return plt
