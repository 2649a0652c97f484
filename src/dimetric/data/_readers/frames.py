"""The installed library of data frames, pandas or polars."""

from typing import Any


def data_frame_library() -> tuple[Any, bool]:
    """Return pandas if installed, else polars, and whether it is pandas."""
    try:
        import pandas

        return pandas, True
    except ImportError:
        pass
    try:
        import polars

        return polars, False
    except ImportError:
        raise ImportError(
            "Reading a table file requires pandas or polars: pip install pandas pyarrow. "
            "Alternatively, pass the samples as arrays."
        ) from None
