"""Add the name of the file to reading errors."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dimetric._errors import error_text

WRONG_WIDTH = re.compile(r"Expected (\d+) fields in line (\d+), saw (\d+)")  # error of pandas


@contextmanager
def naming_file_in_errors(file: str | Path) -> Iterator[None]:
    """Reraise reading errors as a ValueError of one sentence that names the file."""
    try:
        yield
    except (UnicodeError, OSError, MemoryError) as error:
        raise ValueError(f"{file} cannot be read as a table: {_reason(error)}.") from error
    except ValueError as error:
        if type(error).__module__ == "builtins" and str(file) in str(error):
            raise
        raise ValueError(f"{file} cannot be read as a table: {_reason(error)}.") from error


def _reason(error: Exception) -> str:
    """Return why a file cannot be read, as a clause. Messages of libraries are rephrased."""
    if isinstance(error, UnicodeError):  # other encodings are decoded without errors
        return "it is not valid UTF-16 text; save it as UTF-8"
    if isinstance(error, OSError):
        return error.strerror or error_text(error)
    if isinstance(error, MemoryError):
        return "it does not fit into memory"
    text = error_text(error).removeprefix("Error tokenizing data. C error: ")
    if found := WRONG_WIDTH.match(text):
        expected, line, seen = found.groups()
        return (
            f"line {line} has {seen} values instead of {expected}; remove lines that are not rows "
            "of the table, and quote values that contain the separator"
        )
    if text.startswith("EOF inside string"):
        return f"a quoted value has no closing quote ({text.rpartition(' starting at ')[2]})"
    return "it has no columns" if text == "No columns to parse from file" else text
