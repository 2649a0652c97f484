"""Messages of errors: those that other libraries raise, and those about files that are written."""

import errno
import os
import re
from pathlib import Path

MAX_ERROR_CHARACTERS = 400
NO_ROOM_ERRNOS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  # disk, quota, size of a file
# A scheme has two letters or more, because "C:/" is a drive. A Path turns "//" into "/".
URL = re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]+):/{1,3}(.*)", re.DOTALL)


def error_text(error: BaseException) -> str:
    r"""Return the message of an error on one line, without its full stop and not too long.

    Examples
    --------
    >>> error_text(ValueError("Wrong header.\nIt has 3 lines."))
    'Wrong header. It has 3 lines'
    """
    text = " ".join((str(error) or type(error).__name__).split()).rstrip(".")
    return text if len(text) <= MAX_ERROR_CHARACTERS else f"{text[:MAX_ERROR_CHARACTERS]}..."


def as_url(path: str | os.PathLike[str]) -> str | None:
    """Return the URL that a user gave as a path, or None.

    Examples
    --------
    >>> as_url(Path("https://example.org/a.csv")), as_url(Path("C:/a.csv"))
    ('https://example.org/a.csv', None)
    """
    found = URL.fullmatch(os.fspath(path))
    return None if found is None else f"{found[1]}://{found[2]}"


def refuse_url(path: str | os.PathLike[str]) -> None:
    """Raise if the path of a file to write is a URL."""
    url = as_url(path)
    if url is not None:
        raise ValueError(f"Cannot write {url}: it is a URL. Give the path of a local file.")


class WriteError(OSError):
    """A file could not be written. The attribute `path` is the path of the file."""

    def __init__(self, path: str | os.PathLike[str], number: int | None, text: str) -> None:
        super().__init__(f"Cannot write {path}: {text}.")
        self.path, self.errno = path, number


def creation_error(error: OSError, path: object, directory: Path) -> OSError:
    """Return an error that says why no file can be created in a directory."""
    # The system reports the same error for a directory without real files, such as /proc.
    if isinstance(error, FileNotFoundError | NotADirectoryError) and not directory.is_dir():
        file = next((each for each in (directory, *directory.parents) if each.is_file()), None)
        if file is not None:
            return NotADirectoryError(f"Cannot write {path}: {file} is a file, not a directory.")
        return FileNotFoundError(
            f"Cannot write {path}: the directory {directory} does not exist. Create it first."
        )
    if isinstance(error, PermissionError):
        text = f"you have no permission to write to the directory {directory}"
    elif isinstance(error, FileNotFoundError):
        text = f"no files can be created in the directory {directory}"
    else:
        text = f"{error.strerror or error} (directory {directory})"
    described = type(error)(f"Cannot write {path}: {text}.")
    described.errno = error.errno
    return described


def write_error(
    error: Exception, path: str | os.PathLike[str], scratch: Path, *, keeps_old: bool
) -> OSError | None:
    """Return an error that names the target, or None if the error is not about the target."""
    if isinstance(error, WriteError):
        if Path(error.path).parent != scratch:  # a file that was written within the block
            return None
        number = error.errno
    else:
        number = _no_room_errno(error)
        if number is None and isinstance(error, OSError):
            name = error.filename if isinstance(error.filename, str | os.PathLike) else ""
            number = error.errno if scratch in Path(name).parents else None
    if number is None:
        return None
    text = os.strerror(number)
    return WriteError(path, number, f"{text}, so the old file is unchanged" if keeps_old else text)


def _no_room_errno(error: BaseException | None) -> int | None:
    """Return the number of an error that reports a full disk, or None.

    Libraries written in C++ and Rust raise their own types of errors, which contain the text of
    the system. Libraries in Python may raise another error while they handle the first one.
    """
    while error is not None:
        for number in NO_ROOM_ERRNOS:
            if getattr(error, "errno", None) == number or os.strerror(number) in str(error):
                return number
        error = error.__cause__ or error.__context__
    return None
