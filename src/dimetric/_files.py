"""Atomic writing of files: a file is written completely or not at all."""

import errno
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from dimetric._errors import WriteError, creation_error, refuse_url, write_error
from dimetric._names import TerminalOutput
from dimetric._scratch import scratch_folder

MAX_LINKS = 40  # symbolic links that are followed, as in Linux
# Mount points, and files of other users in a directory such as /tmp, cannot be replaced.
IRREPLACEABLE_ERRNOS = (errno.EBUSY, errno.EXDEV, errno.EPERM)


@contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary file, and move it to `path` when the block ends.

    If the block ends with an error or an interrupt, the file at `path` stays unchanged and the
    temporary file is removed. If the process is killed, the next call that writes to the same
    directory removes the temporary file.

    A symbolic link stays a link, and the file that it points to is replaced. The new file has the
    permissions of the old file and, where the system allows it, its owner and group. Other hard
    links to the old file keep the old content. A read-only file is not replaced. The directory of
    the file must be writable, because it also contains the temporary file.

    A pipe, a terminal, or a device such as ``/dev/null`` receives the content when the block ends.
    The same holds for open files, such as ``/dev/stdout`` and ``/dev/fd/3``. If the content goes to
    a terminal, control characters are escaped.

    Parameters
    ----------
    path : path
        Path of the file to write.

    Yields
    ------
    path : Path
        Path of the temporary file, an empty regular file with the same name as `path`.

    Raises
    ------
    OSError
        If the file cannot be written. The message names `path`, not the temporary file.

    Examples
    --------
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "numbers.txt")
    ...     with atomic_write(file) as temporary:
    ...         _ = temporary.write_text("1 2 3")
    ...     file.read_text(), os.listdir(folder)
    ('1 2 3', ['numbers.txt'])
    """
    status = _checked_status(path)
    in_place = _is_written_in_place(path, status)
    with ExitStack() as stack:
        temporary, mode = _create_temporary(path, in_place, stack)
        try:
            yield temporary
            os.chmod(temporary, mode)  # a writer may have replaced the file or changed its mode
            if in_place:
                _copy_into(temporary, path)
            else:
                _replace(temporary, Path(os.path.realpath(path)), path)
        except Exception as error:
            keeps_old = status is not None and not in_place
            translated = write_error(error, path, temporary.parent, keeps_old=keeps_old)
            if translated is None:
                raise
            raise translated from error


def check_writable(path: str | os.PathLike[str]) -> None:
    """Raise the error that writing a file would raise, before the content is computed.

    Parameters
    ----------
    path : path
        Path of the file. It is not created or changed.

    Examples
    --------
    >>> check_writable("nowhere/a.csv")
    Traceback (most recent call last):
    ...
    FileNotFoundError: Cannot write nowhere/a.csv: the directory ... does not exist. Create it...
    """
    status = _checked_status(path)
    with ExitStack() as stack:
        _create_temporary(path, _is_written_in_place(path, status), stack)


def check_folder(path: str | os.PathLike[str]) -> None:
    """Raise if files cannot be written to a folder, which need not exist yet.

    Parameters
    ----------
    path : path
        Path of the folder. It is not created.

    Examples
    --------
    >>> check_folder(os.devnull)
    Traceback (most recent call last):
    ...
    FileExistsError: /dev/null is not a directory. Give the path of a directory.
    """
    refuse_url(path)
    parent = Path(os.path.realpath(path))
    while not parent.exists():
        parent = parent.parent
    if not parent.is_dir():
        shown = path if parent == Path(os.path.realpath(path)) else parent
        raise FileExistsError(f"{shown} is not a directory. Give the path of a directory.")
    try:
        with scratch_folder(parent):
            pass
    except OSError as error:
        raise creation_error(error, path, parent) from None


def _is_written_in_place(path: str | os.PathLike[str], status: os.stat_result | None) -> bool:
    """Return whether a path is a pipe, a device or an open file, which cannot be replaced."""
    is_file = status is None or stat.S_ISREG(status.st_mode)
    return own_descriptor(path) is not None or not is_file


def _create_temporary(
    path: str | os.PathLike[str], in_place: bool, stack: ExitStack
) -> tuple[Path, int]:
    """Create a temporary file, which the stack removes. Return its path and mode."""
    target = Path(os.path.realpath(path))  # the target of a symbolic link
    directory = Path(tempfile.gettempdir()) if in_place else target.parent
    try:
        scratch = stack.enter_context(scratch_folder(directory))
        temporary = scratch / (target.name or "file")
        os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
        return temporary, stat.S_IMODE(temporary.stat().st_mode)
    except OSError as error:
        raise creation_error(error, path, directory) from None


def create_folder(path: str | os.PathLike[str]) -> None:
    """Create a folder and its parents, unless it exists.

    Parameters
    ----------
    path : path
        Path of the folder.

    Raises
    ------
    OSError
        If the folder cannot be created. The message names `path`.

    Examples
    --------
    >>> create_folder(os.devnull)
    Traceback (most recent call last):
    ...
    FileExistsError: /dev/null is not a directory. Give the path of a directory.
    """
    try:
        os.makedirs(path, exist_ok=True)
    except FileExistsError:
        raise FileExistsError(f"{path} is not a directory. Give the path of a directory.") from None
    except OSError as error:
        text = error.strerror or str(error)
        raise type(error)(f"Cannot create the directory {path}: {text}.") from None


def own_descriptor(path: str | os.PathLike[str]) -> int | None:
    """Return the number of the open file of this process that a path such as /dev/stdout names.

    Return None for other paths. An open file must be written through its descriptor: replacing
    the file that standard output is redirected to would separate the two.

    Examples
    --------
    >>> own_descriptor("/dev/fd/2"), own_descriptor("model.dimetric")
    (2, None)
    """
    name = os.path.abspath(path)
    for _ in range(MAX_LINKS):
        directory, last = os.path.split(name)
        directory = os.path.realpath(directory)
        of_process = directory.startswith(f"/proc/{os.getpid()}/") and directory.endswith("/fd")
        if last.isdecimal() and (of_process or directory == "/dev/fd"):
            return int(last)
        if not os.path.islink(name):
            return None
        name = os.path.join(directory, os.readlink(name))
    return None


def is_stream(path: str | os.PathLike[str]) -> bool:
    """Return whether a path names an open file of this process, a pipe, or a device.

    Examples
    --------
    >>> is_stream("/dev/stdout"), is_stream("/dev/null"), is_stream("model.dimetric")
    (True, True, False)
    """
    if own_descriptor(path) is not None:
        return True
    return os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path)


def _checked_status(path: str | os.PathLike[str]) -> os.stat_result | None:
    """Return the status of a file, or None if it does not exist. Raise if it cannot be written."""
    number = own_descriptor(path)
    try:
        status = os.stat(path) if number is None else os.fstat(number)
    except (FileNotFoundError, NotADirectoryError):
        refuse_url(path)
        if os.fspath(path).endswith(os.sep):
            raise IsADirectoryError(
                f"{path} ends with {os.sep!r}, so it is a directory. Give the path of a file."
            ) from None
        return None
    except OSError as error:
        raise type(error)(f"Cannot write {path}: {error.strerror or error}.") from None
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(f"{path} is a directory, not a file. Give the path of a file.")
    if number is not None:
        return status
    for is_kind, kind in ((stat.S_ISBLK, "a disk"), (stat.S_ISSOCK, "a socket")):
        if is_kind(status.st_mode):
            raise WriteError(path, None, f"it is {kind}, not a file. Give the path of a file")
    if not os.access(path, os.W_OK):
        raise PermissionError(
            f"Cannot write {path}: it is read-only. Change its permissions, or choose another file."
        )
    return status


def _replace(temporary: Path, target: Path, path: str | os.PathLike[str]) -> None:
    """Move a complete file to its target."""
    status = None
    with suppress(FileNotFoundError):
        status = target.stat()  # it may have changed since the block began
    if status is not None and not stat.S_ISREG(status.st_mode):
        _copy_into(temporary, path)
        return
    if status is not None:
        _copy_owner_and_mode(status, temporary)
    with open(temporary, "rb") as file:
        os.fsync(file.fileno())
    try:
        os.replace(temporary, target)
    except OSError as error:
        if status is None or error.errno not in IRREPLACEABLE_ERRNOS:
            raise
        _copy_into(temporary, path)


def _copy_owner_and_mode(status: os.stat_result, temporary: Path) -> None:
    """Give a file the owner, the group and the mode of the file that it will replace."""
    mode, ours = stat.S_IMODE(status.st_mode), temporary.stat()
    if (ours.st_uid, ours.st_gid) != (status.st_uid, status.st_gid):
        try:
            os.chown(temporary, status.st_uid, status.st_gid)
        except OSError:
            mode &= 0o777  # a program must not run with the rights of another user
            try:
                os.chown(temporary, -1, status.st_gid)
            except OSError:
                mode &= 0o707 | (mode & 0o007) << 3  # another group gets what everyone has
    os.chmod(temporary, mode)


def _copy_into(temporary: Path, path: str | os.PathLike[str]) -> None:
    """Copy a complete file into a pipe, a device, an open file, or an irreplaceable file."""
    number = own_descriptor(path)
    try:
        if number is not None:
            for stream in filter(None, (sys.stdout, sys.stderr)):
                stream.flush()  # the streams may hold text that comes first
            descriptor = os.dup(number)
        else:
            # The file was checked to exist, and is not created if someone has removed it.
            is_file = stat.S_ISREG(os.stat(path).st_mode)
            descriptor = os.open(path, os.O_WRONLY | (os.O_TRUNC if is_file else 0))
        with open(temporary, "rb") as source:
            if os.isatty(descriptor):
                with open(descriptor, "w", encoding="utf-8") as terminal:
                    shutil.copyfileobj(source, TerminalOutput(terminal))
            else:
                with open(descriptor, "wb") as sink:
                    shutil.copyfileobj(source, sink)
    except OSError as error:
        text = error.strerror or str(error)
        raise WriteError(path, error.errno, text) from error
