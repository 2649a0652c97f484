"""Format numbers, and shorten long names from the data to fit into pages and plots."""

from typing import Any


def cut_end(value: Any, max_length: int = 80) -> str:
    """Cut off the end of a long string.

    Examples
    --------
    >>> cut_end("a very long name indeed", 10)
    'a very lo…'
    """
    text = str(value)
    return text if len(text) <= max_length else f"{text[: max_length - 1]}…"


def percent(fraction: float, digits: int = 1) -> str:
    """Return a fraction as a percentage.

    Examples
    --------
    >>> percent(0.9124), percent(0.79, 0)
    ('91.2 %', '79 %')
    """
    return f"{100 * fraction:.{digits}f} %"


def cut_middle(value: Any, max_length: int) -> str:
    """Remove the middle of a long string, because names often differ at their ends.

    Examples
    --------
    >>> cut_middle("a very long name indeed", 10)
    'a ver…deed'
    """
    text = str(value)
    if len(text) <= max_length:
        return text
    return f"{text[: max_length // 2]}…{text[1 - (max_length + 1) // 2 :]}"
