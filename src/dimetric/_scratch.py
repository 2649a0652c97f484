"""Scratch folders: hidden folders for temporary files, next to the files that will be written.

The process that creates a scratch folder holds a lock on a file in it. The system releases the lock
when the process ends, even if it is killed. Therefore other processes can tell which scratch
folders are left over, and remove them.
"""

import os
import platform
import shutil
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex

try:
    import fcntl
except ImportError:  # pragma: no cover - Windows has no such locks, so nothing is cleaned up there
    fcntl = None  # type: ignore[assignment]

PREFIX, SUFFIX = ".dimetric-", ".tmp"
LOCK_NAME = ".dimetric-lock"
MAX_ATTEMPTS = 100
# Locks may not reach other machines that share a folder. Their scratch folders are removed later.
SECONDS_UNTIL_STALE_ELSEWHERE = 7 * 24 * 3600


@contextmanager
def scratch_folder(directory: Path) -> Iterator[Path]:
    """Create a hidden folder that only this process uses, and remove it at the end."""
    if fcntl is not None:
        _remove_stale_folders(directory)
    scratch, lock = _create_scratch_folder(directory)
    try:
        yield scratch
    finally:
        os.close(lock)
        with suppress(OSError):
            _remove_folder(scratch)


def _create_scratch_folder(directory: Path) -> tuple[Path, int]:
    """Create a scratch folder. Return its path and the descriptor of its lock."""
    machine = "\n".join(_this_machine()).encode()
    for _ in range(MAX_ATTEMPTS):
        scratch = directory / f"{PREFIX}{token_hex(8)}{SUFFIX}"
        os.mkdir(scratch, 0o700)
        try:
            lock = os.open(scratch / LOCK_NAME, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)
        except FileNotFoundError:
            continue  # another process removed the empty folder
        except OSError:
            os.rmdir(scratch)
            raise
        try:
            _lock(lock)
            os.write(lock, machine)
            os.stat(scratch / LOCK_NAME)
        except OSError as error:
            os.close(lock)
            with suppress(OSError):
                _remove_folder(scratch)
            # Another process may look at the folder, or may have removed it before it was locked.
            if not isinstance(error, BlockingIOError | FileNotFoundError):
                raise
        else:
            return scratch, lock
    raise OSError("a temporary folder cannot be locked")


def _lock(descriptor: int) -> None:
    """Lock a file, or raise BlockingIOError. Some file systems have no locks."""
    if fcntl is None:  # pragma: no cover - Windows
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise
    except OSError:
        pass


def _this_machine() -> list[str]:
    """Return the name of the host, and the identifier of the running system."""
    boot_id = Path("/proc/sys/kernel/random/boot_id")
    return [platform.node(), boot_id.read_text().strip() if boot_id.exists() else ""]


def _remove_stale_folders(directory: Path) -> None:
    """Remove the scratch folders that processes left in a directory when they were killed."""
    with suppress(OSError), os.scandir(directory) as entries:
        for entry in entries:
            is_scratch = entry.name.startswith(PREFIX) and entry.name.endswith(SUFFIX)
            if is_scratch and entry.is_dir(follow_symlinks=False):
                with suppress(OSError):  # includes the lock of a running process
                    _remove_if_stale(Path(entry.path))


def _remove_if_stale(scratch: Path) -> None:
    """Remove a scratch folder of this user, unless its process may be running."""
    folder = _open_folder(scratch)
    try:
        if os.fstat(folder).st_uid != os.geteuid():
            return
        if os.listdir(folder):  # a process that is killed at once leaves an empty folder
            lock = os.open(LOCK_NAME, os.O_RDWR | os.O_NOFOLLOW, dir_fd=folder)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                # A process that is killed early leaves an empty lock and no other file.
                is_unused = os.listdir(folder) == [LOCK_NAME] and not os.fstat(lock).st_size
                if not (is_unused or _free_lock_proves_end(lock)):
                    return
                _remove_content(folder)
            finally:
                os.close(lock)
    finally:
        os.close(folder)
    os.rmdir(scratch)


def _free_lock_proves_end(lock: int) -> bool:
    """Return whether the process that created the folder has ended, because its lock is free.

    A free lock proves this only on the machine of the process. Elsewhere, the folder must be old.
    """
    machine = os.read(lock, 1000).decode(errors="replace").split("\n")
    if any(theirs == ours != "" for theirs, ours in zip(machine, _this_machine(), strict=False)):
        return True
    return time.time() - os.fstat(lock).st_mtime > SECONDS_UNTIL_STALE_ELSEWHERE


def _remove_folder(scratch: Path) -> None:
    """Remove a scratch folder of this process."""
    if fcntl is None:  # pragma: no cover - Windows
        shutil.rmtree(scratch, ignore_errors=True)
        return
    folder = _open_folder(scratch)
    try:
        _remove_content(folder)
    finally:
        os.close(folder)
    os.rmdir(scratch)


def _open_folder(scratch: Path) -> int:
    # All files are removed through a descriptor. Nobody can redirect it to another folder.
    return os.open(scratch, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)


def _remove_content(folder: int) -> None:
    """Remove all files in an open folder. The lock comes last, because it marks the folder."""
    for name in sorted(os.listdir(folder), key=lambda each: each == LOCK_NAME):
        is_folder = stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
        if is_folder:  # a block that writes a file may itself write the temporary file atomically
            shutil.rmtree(name, dir_fd=folder)
        else:
            os.unlink(name, dir_fd=folder)
