"""Files that are there whole or not at all."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex

LONGEST = 40  # characters of a name that its temporary one keeps; its ending is among them


@contextmanager
def atomic(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a temporary path in the same folder, which takes the place of `path` in the end.

    Whatever ends the block before, an interrupt too, leaves what was at `path` as it was, and no
    temporary file. A device such as ``/dev/stdout`` is written to directly.

    Parameters
    ----------
    path : path
        Where the file is to be.

    Yields
    ------
    path : Path
        An empty file to write to, with the same ending.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "numbers.txt")
    ...     with atomic(file) as temporary:
    ...         _ = temporary.write_text("1 2 3")
    ...     file.read_text(), os.listdir(folder)
    ('1 2 3', ['numbers.txt'])
    """
    target = Path(os.path.realpath(path))  # a link stays a link
    if target.is_dir():
        raise IsADirectoryError(f"{path} is a folder: name a file in it.")
    if os.path.exists(path) and not os.path.isfile(path):  # realpath finds no name for a pipe
        yield Path(path)
        return
    temporary = _reserved(target, path)
    try:
        mode = (target if target.exists() else temporary).stat().st_mode & 0o7777
        yield temporary
        _settle(temporary, mode)
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)


def _reserved(target: Path, path: object) -> Path:
    """Make an empty file beside the target, now: an error after hours of work comes too late."""
    temporary = target.with_name(f".{token_hex(6)}{target.name[-LONGEST:]}")
    try:
        os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
    except (FileNotFoundError, NotADirectoryError):
        raise FileNotFoundError(
            f"{path} cannot be written: there is no folder {target.parent}. Make it first."
        ) from None
    except OSError as error:
        raise type(error)(
            f"{path} cannot be written: {error.strerror or error} ({target.parent})."
        ) from None
    return temporary


def _settle(temporary: Path, mode: int) -> None:
    """Bring what was written to the disk; writers that replace the file have modes of their own."""
    with open(temporary, "rb+") as file:
        os.fsync(file.fileno())
    os.chmod(temporary, mode)
