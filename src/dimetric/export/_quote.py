"""Quote names, strings and numbers for SQL, to prevent SQL injection."""

import numpy as np

MAX_NAME_BYTES = {"postgres": 63}  # PostgreSQL truncates longer names. DuckDB has no limit.


def on_one_line(name: str) -> str:
    """Return a name on a single line, for use in a comment."""
    return " ".join(name.split())


def dollar_quote(text: str) -> str:
    """Return a dollar-quote delimiter that does not occur in the text."""
    tag = "nearest"
    while f"${tag}$" in text:
        tag += "_"
    return f"${tag}$"


def quote_name(name: str, dialect: str = "duckdb") -> str:
    """Return the name of a table or column as a quoted SQL identifier.

    Raise if the name is too long for the database, which would truncate it. Truncated names may be
    equal to other names.

    Examples
    --------
    >>> quote_name('a "b"; DROP TABLE c')
    '"a ""b""; DROP TABLE c"'
    """
    if not name or "\0" in name:
        raise ValueError(f"{name!r} cannot be the name of a table or column.")
    size, limit = len(_utf8(name)), MAX_NAME_BYTES.get(dialect)
    if limit is not None and size > limit:
        raise ValueError(
            f"The name {name!r} has {size} bytes in UTF-8, more than the limit of {limit} bytes "
            f"in {dialect}. Rename the table or column."
        )
    doubled = name.replace('"', '""')
    return f'"{doubled}"'


def quote_string(value: str) -> str:
    r"""Return a string as a SQL literal.

    PostgreSQL may be configured to treat backslashes in plain literals as escapes. The form E''
    has the same meaning in all configurations.

    Examples
    --------
    >>> print(quote_string("it's"), quote_string(r"a\b"))
    'it''s' E'a\\b'
    """
    if "\0" in value:
        raise ValueError(f"{value!r} contains a null character, which SQL strings cannot hold.")
    _utf8(value)
    doubled = value.replace("'", "''").replace("\\", "\\\\")
    return f"E'{doubled}'" if "\\" in value else f"'{doubled}'"


def _utf8(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise ValueError(f"{text!r} cannot be written as UTF-8. Rename it.") from None


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
