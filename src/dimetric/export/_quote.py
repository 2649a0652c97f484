"""Quote names, texts and numbers for SQL, so that none of them can be read as code."""

import numpy as np


def in_line(name: str) -> str:
    """Return a name for a comment, which ends with its line."""
    return " ".join(name.split())


def dollar_quote(text: str) -> str:
    """Return a quote that nothing in the text can end."""
    tag = "nearest"
    while f"${tag}$" in text:
        tag += "_"
    return f"${tag}$"


def quoted(name: str) -> str:
    """Return a name as SQL quotes it, so that it is nothing but a name.

    Examples
    --------
    >>> quoted('a "b"; DROP TABLE c')
    '"a ""b""; DROP TABLE c"'
    """
    if not name or "\0" in name:
        raise ValueError(f"{name!r} cannot be the name of a table or column.")
    doubled = name.replace('"', '""')
    return f'"{doubled}"'


def quoted_text(value: str) -> str:
    """Return a text as SQL quotes it."""
    if "\0" in value:
        raise ValueError(f"{value!r} cannot be a text of SQL.")
    doubled = value.replace("'", "''")
    return f"'{doubled}'"


def listed(values: np.ndarray) -> str:
    """Return numbers as a text that is cast to a list or a vector.

    Examples
    --------
    >>> listed(np.array([1.0, 0.25]))
    '[1.0,0.25]'
    """
    return f"[{','.join(map(repr, values.tolist()))}]"


def number(value: float) -> str:
    """Return a number to its last digit, as one that is a float in any dialect.

    Examples
    --------
    >>> number(0.1), number(-1e-30)
    ('0.1e0::float8', '(-1e-30)::float8')
    """
    digits = repr(float(value))
    digits = digits if "e" in digits else f"{digits}e0"
    return f"({digits})::float8" if digits.startswith("-") else f"{digits}::float8"
