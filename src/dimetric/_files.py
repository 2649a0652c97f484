"""Files that are written completely or not at all."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex

KEPT_CHARACTERS = 40  # of a file's name, from its end, in the name of its temporary file


@contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary path in the same folder, which replaces `path` when the block ends.

    If an error or an interrupt ends the block, the file at `path` is unchanged and the temporary
    file is removed. A device such as ``/dev/stdout`` is written to directly.

    Parameters
    ----------
    path : path
        Path of the file.

    Yields
    ------
    path : Path
        An empty file to write to, with the same ending.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "numbers.txt")
    ...     with atomic_write(file) as temporary:
    ...         _ = temporary.write_text("1 2 3")
    ...     file.read_text(), os.listdir(folder)
    ('1 2 3', ['numbers.txt'])
    """
    target = Path(os.path.realpath(path))  # a link stays a link
    if target.is_dir():
        raise IsADirectoryError(f"{path} is a folder: name a file in it.")
    if os.path.exists(path) and not os.path.isfile(path):  # realpath cannot name a pipe
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
    """Create an empty file beside the target now, so that an error does not come after the work."""
    temporary = target.with_name(f".{token_hex(6)}{target.name[-KEPT_CHARACTERS:]}")
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
    """Flush the file to the disk and set its mode, which a writer may have replaced."""
    with open(temporary, "rb+") as file:
        os.fsync(file.fileno())
    os.chmod(temporary, mode)
