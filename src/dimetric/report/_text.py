"""Shorten long texts, so that names from the data fit into pages and pictures."""

from typing import Any


def cut(value: Any, max_length: int = 80) -> str:
    """Return a text without its end, if it is long.

    Examples
    --------
    >>> cut("a very long name indeed", 10)
    'a very lo…'
    """
    text = str(value)
    return text if len(text) <= max_length else f"{text[: max_length - 1]}…"


def shorten(value: Any, max_length: int) -> str:
    """Return a text without its middle, if it is long: names often differ at their ends.

    Examples
    --------
    >>> shorten("a very long name indeed", 10)
    'a ver…deed'
    """
    text = str(value)
    if len(text) <= max_length:
        return text
    return f"{text[: max_length // 2]}…{text[1 - (max_length + 1) // 2 :]}"
