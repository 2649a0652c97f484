"""Quote names, strings and numbers for SQL, to prevent SQL injection."""

import numpy as np


def on_one_line(name: str) -> str:
    """Return a name on a single line, for use in a comment."""
    return " ".join(name.split())


def dollar_quote(text: str) -> str:
    """Return a dollar-quote delimiter that does not occur in the text."""
    tag = "nearest"
    while f"${tag}$" in text:
        tag += "_"
    return f"${tag}$"


def quote_name(name: str) -> str:
    """Return the name of a table or column as a quoted SQL identifier.

    Examples
    --------
    >>> quote_name('a "b"; DROP TABLE c')
    '"a ""b""; DROP TABLE c"'
    """
    if not name or "\0" in name:
        raise ValueError(f"{name!r} cannot be the name of a table or column.")
    doubled = name.replace('"', '""')
    return f'"{doubled}"'


def quote_string(value: str) -> str:
    """Return a string as a SQL literal."""
    if "\0" in value:
        raise ValueError(f"{value!r} contains a null character, which SQL strings cannot hold.")
    doubled = value.replace("'", "''")
    return f"'{doubled}'"


def vector_literal(values: np.ndarray) -> str:
    """Return numbers as a string that SQL can cast to a list or vector.

    Examples
    --------
    >>> vector_literal(np.array([1.0, 0.25]))
    '[1.0,0.25]'
    """
    return f"[{','.join(map(repr, values.tolist()))}]"


def float_literal(value: float) -> str:
    """Return a SQL literal of type float8, in full precision and valid in all dialects.

    Examples
    --------
    >>> float_literal(0.1), float_literal(-1e-30)
    ('0.1e0::float8', '(-1e-30)::float8')
    """
    digits = repr(float(value))
    digits = digits if "e" in digits else f"{digits}e0"
    return f"({digits})::float8" if digits.startswith("-") else f"{digits}::float8"
