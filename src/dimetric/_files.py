"""Atomic writing of files: a file is written completely or not at all."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex

KEPT_NAME_CHARACTERS = 40  # length of the end of the file name that the temporary name repeats


@contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary file in the same directory, and move it to `path` when the block ends.

    If the block ends with an error or an interrupt, the file at `path` stays unchanged and the
    temporary file is removed. Devices such as ``/dev/stdout`` are written to directly.

    Parameters
    ----------
    path : path
        Path of the file to write.

    Yields
    ------
    path : Path
        Path of the temporary file, with the same extension as `path`.

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
    target = Path(os.path.realpath(path))  # write to the target of a symbolic link
    if target.is_dir():
        raise IsADirectoryError(f"{path} is a directory, not a file. Give the path of a file.")
    # A device. Test `path`, because the real path of a pipe (from /dev/stdout) does not exist.
    if os.path.exists(path) and not os.path.isfile(path):
        yield Path(path)
        return
    temporary = _create_temporary(target, path)
    try:
        mode = (target if target.exists() else temporary).stat().st_mode & 0o7777
        yield temporary
        _flush_and_restore_mode(temporary, mode)
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)


def _create_temporary(target: Path, path: object) -> Path:
    """Create an empty file next to the target, so that missing permissions are reported early."""
    temporary = target.with_name(f".{token_hex(6)}{target.name[-KEPT_NAME_CHARACTERS:]}")
    try:
        os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
    except (FileNotFoundError, NotADirectoryError):
        raise FileNotFoundError(
            f"Cannot write {path}: the directory {target.parent} does not exist. Create it first."
        ) from None
    except OSError as error:
        raise type(error)(
            f"Cannot write {path}: {error.strerror or error} (directory {target.parent})."
        ) from None
    return temporary


def _flush_and_restore_mode(temporary: Path, mode: int) -> None:
    """Flush the file to disk and restore its mode, which a writer may have changed."""
    with open(temporary, "rb+") as file:
        os.fsync(file.fileno())
    os.chmod(temporary, mode)
