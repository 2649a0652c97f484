"""Atomic writing of files."""

import errno
import fcntl
import os
import socket
import stat
import threading
import time

import pytest

from dimetric._files import (
    _copy_owner_and_mode,
    atomic_write,
    check_folder,
    check_writable,
    create_folder,
)
from dimetric._scratch import LOCK_NAME, _this_machine


def test_new_file_appears_when_the_block_ends(tmp_path):
    with atomic_write(tmp_path / "table.csv.gz") as temporary:
        assert temporary.parent.parent == tmp_path  # on the same file system
        assert temporary.name == "table.csv.gz"  # writers choose the format by extension
        temporary.write_text("new")
        assert not (tmp_path / "table.csv.gz").exists()
    assert os.listdir(tmp_path) == ["table.csv.gz"]
    assert (tmp_path / "table.csv.gz").read_text() == "new"
    plain = tmp_path / "plain"
    plain.write_text("")
    assert (tmp_path / "table.csv.gz").stat().st_mode == plain.stat().st_mode


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_interrupted_write_keeps_the_old_file(tmp_path, error):
    file = tmp_path / "model"
    file.write_text("old")

    def write():
        with atomic_write(file) as temporary:
            temporary.write_text("half")
            raise error

    with pytest.raises(error):
        write()
    assert file.read_text() == "old"
    file.unlink()
    with pytest.raises(error):
        write()
    assert os.listdir(tmp_path) == []


def test_permissions_and_links_are_kept(tmp_path):
    file, link = tmp_path / "file", tmp_path / "link"
    file.write_text("old")
    file.chmod(0o640)
    link.symlink_to(file)
    with atomic_write(link) as temporary:
        temporary.write_text("new")
    assert link.is_symlink()
    assert file.read_text() == "new"
    assert stat.S_IMODE(file.stat().st_mode) == 0o640


def test_writer_may_replace_the_temporary_file(tmp_path):
    with atomic_write(tmp_path / "file") as temporary:
        temporary.unlink()
        temporary.write_text("new")
        temporary.chmod(0o600)
    assert (tmp_path / "file").read_text() == "new"
    plain = tmp_path / "plain"
    plain.write_text("")
    assert (tmp_path / "file").stat().st_mode == plain.stat().st_mode


def test_long_name(tmp_path):
    name = 250 * "x" + ".csv"
    with atomic_write(tmp_path / name) as temporary:
        temporary.write_text("1")
    assert os.listdir(tmp_path) == [name]


def replace_file(temporary, text):
    """Write as safetensors does: put another file in the place of the temporary one."""
    other = temporary.with_name("other")
    other.write_text(text)
    other.chmod(0o600)
    other.replace(temporary)


def write(temporary, text):
    temporary.write_text(text)


def write_text(path, text):
    with atomic_write(path) as temporary:
        temporary.write_text(text)


@pytest.mark.parametrize("writer", [write, replace_file])
def test_device_stays_a_device(tmp_path, writer):
    link = tmp_path / "link"
    link.symlink_to("/dev/null")
    for path in ("/dev/null", link):
        with atomic_write(path) as temporary:
            writer(temporary, "nothing")
        assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    assert os.listdir(tmp_path) == ["link"]
    assert link.is_symlink()


@pytest.mark.parametrize("writer", [write, replace_file])
@pytest.mark.parametrize("name", ["/dev/fd/{}", "/proc/self/fd/{}", "link"])
def test_open_pipe_is_written(tmp_path, writer, name):
    """/dev/stdout is a pipe if another command reads the output."""
    read_end, write_end = os.pipe()
    path = name.format(write_end)
    if name == "link":
        path = tmp_path / "link"
        path.symlink_to(f"/dev/fd/{write_end}")
    with atomic_write(path) as temporary:
        writer(temporary, "some")
    os.close(write_end)
    with os.fdopen(read_end) as file:
        assert file.read() == "some"


@pytest.mark.parametrize("writer", [write, replace_file])
def test_named_pipe_stays_a_pipe(tmp_path, writer):
    pipe, received = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: received.append(pipe.read_text()))
    reader.start()
    with atomic_write(pipe) as temporary:
        writer(temporary, "some")
    reader.join(10)
    assert received == ["some"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert os.listdir(tmp_path) == ["pipe"]


def test_failed_block_writes_nothing_to_a_pipe():
    read_end, write_end = os.pipe()

    def fail():
        with atomic_write(f"/dev/fd/{write_end}") as temporary:
            temporary.write_text("half")
            raise ValueError("stop")

    with pytest.raises(ValueError, match="stop"):
        fail()
    os.close(write_end)
    with os.fdopen(read_end) as file:
        assert file.read() == ""


@pytest.mark.parametrize("flags", [0, os.O_APPEND])
def test_open_file_is_continued(tmp_path, flags):
    """Standard output may be redirected to a file, with text before and after."""
    file = tmp_path / "log"
    descriptor = os.open(file, os.O_CREAT | os.O_WRONLY | flags)
    os.write(descriptor, b"before ")
    inode = file.stat().st_ino
    write_text(f"/dev/fd/{descriptor}", "some ")
    os.write(descriptor, b"after")
    os.close(descriptor)
    assert file.read_text() == "before some after"
    assert file.stat().st_ino == inode


def test_closed_descriptor_raises():
    descriptor = os.open(os.devnull, os.O_WRONLY)
    os.close(descriptor)
    with pytest.raises(OSError, match=r"Cannot write /dev/fd/\d+: Bad file descriptor\."):
        enter(f"/dev/fd/{descriptor}")


def test_socket_and_disk_are_rejected(tmp_path, monkeypatch):
    path = tmp_path / "socket"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        with pytest.raises(OSError, match=r"socket: it is a socket, not a file\. Give the path"):
            enter(path)
    assert stat.S_ISSOCK(path.stat().st_mode)
    monkeypatch.setattr(stat, "S_ISBLK", lambda mode: True)
    with pytest.raises(OSError, match="it is a disk, not a file"):
        enter(path)


def test_link_to_a_missing_file_creates_it(tmp_path):
    (tmp_path / "below").mkdir()
    link = tmp_path / "link"
    link.symlink_to("below/file")
    write_text(link, "new")
    assert link.is_symlink()
    assert (tmp_path / "below/file").read_text() == "new"
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    with pytest.raises(OSError, match=r"Cannot write .*loop: Too many levels of symbolic links"):
        enter(loop)


def test_hard_link_keeps_the_old_content(tmp_path):
    """Backups made of hard links must not change with the file."""
    file, backup = tmp_path / "file", tmp_path / "backup"
    file.write_text("old")
    backup.hardlink_to(file)
    write_text(file, "new")
    assert (file.read_text(), backup.read_text()) == ("new", "old")


def test_read_only_file_is_not_replaced(tmp_path, monkeypatch):
    file = tmp_path / "file"
    file.write_text("old")
    file.chmod(0o444)
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # root may write everywhere
    with pytest.raises(PermissionError, match=r"file: it is read-only\. Change its permissions"):
        enter(file)
    assert file.read_text() == "old"
    assert os.listdir(tmp_path) == ["file"]


@pytest.mark.parametrize("umask", [0o022, 0o077, 0o000])
def test_new_file_follows_the_umask(tmp_path, umask):
    before = os.umask(umask)
    try:
        with atomic_write(tmp_path / "file") as temporary:
            private = stat.S_IMODE(temporary.parent.stat().st_mode)
            replace_file(temporary, "new")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o666 & ~umask
    assert private & 0o077 == 0  # nobody else reads a file while it is written


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
def test_owner_and_group_are_kept(tmp_path):
    file = tmp_path / "file"
    file.write_text("old")
    os.chown(file, 1234, 5678)
    file.chmod(0o640)
    write_text(file, "new")
    status = file.stat()
    assert (status.st_uid, status.st_gid, stat.S_IMODE(status.st_mode)) == (1234, 5678, 0o640)


def test_group_that_cannot_be_kept_gets_no_rights(tmp_path, monkeypatch):
    file = tmp_path / "file"
    file.write_text("old")
    file.chmod(0o664)
    status = file.stat()
    monkeypatch.setattr(os, "chown", raiser(PermissionError(1, "Operation not permitted")))
    fields = list(status)
    fields[4], fields[5] = status.st_uid + 1, status.st_gid + 1
    _copy_owner_and_mode(os.stat_result(fields), file)
    assert stat.S_IMODE(file.stat().st_mode) == 0o644


def raiser(error):
    def raise_error(*args, **options):
        raise error

    return raise_error


@pytest.mark.parametrize("number", [errno.EBUSY, errno.EXDEV, errno.EPERM])
def test_mount_point_is_written_in_place(tmp_path, monkeypatch, number):
    """A container may mount a single file, which cannot be replaced."""
    file = tmp_path / "file"
    file.write_text("a longer old text")
    inode = file.stat().st_ino
    monkeypatch.setattr(os, "replace", raiser(OSError(number, "refused")))
    write_text(file, "new")
    assert file.read_text() == "new"
    assert file.stat().st_ino == inode
    assert os.listdir(tmp_path) == ["file"]


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.ENOSPC, "No space left on device"),
        OSError(errno.EFBIG, "File too large"),
        RuntimeError('IoError(Os { code: 28, message: "No space left on device" })'),
    ],
)
def test_full_disk_keeps_the_old_file(tmp_path, error):
    file = tmp_path / "file"
    text = "File too large" if "large" in str(error) else "No space left on device"
    with pytest.raises(OSError, match=f"^Cannot write {file}: {text}\\.$"), atomic_write(file):
        raise error
    assert os.listdir(tmp_path) == []
    file.write_text("old")
    message = f"^Cannot write {file}: {text}, so the old file is unchanged\\.$"
    # The message names the file of the outer block.
    with pytest.raises(OSError, match=message), atomic_write(file) as outer, atomic_write(outer):
        raise error
    assert file.read_text() == "old"
    assert os.listdir(tmp_path) == ["file"]


def test_message_names_the_file_that_failed(tmp_path):
    outer, inner = tmp_path / "outer", tmp_path / "inner"
    message = f"Cannot write {inner}: No space"
    with pytest.raises(OSError, match=message), atomic_write(outer), atomic_write(inner):
        raise OSError(errno.ENOSPC, "No space left on device")
    with pytest.raises(FileNotFoundError, match=r"No such file .*nothing"), atomic_write(inner):
        (tmp_path / "nothing").read_text()  # an error about another file stays as it is
    message = f"Cannot write {inner}: Not a directory"
    with pytest.raises(OSError, match=message), atomic_write(inner) as temporary:
        (temporary / "below").read_text()


def test_folder_of_a_killed_process_is_removed(tmp_path):
    """The lock of a killed process is released, but its folder is still there."""
    stale = tmp_path / ".dimetric-0123456789abcdef.tmp"
    nested = stale / ".dimetric-fedcba9876543210.tmp"
    nested.mkdir(parents=True)
    for folder in (stale, nested):
        (folder / LOCK_NAME).write_text("\n".join(_this_machine()))
        (folder / "model").write_text("half")
    (tmp_path / ".dimetric-0000000000000000.tmp").mkdir()  # killed before it had a lock
    write_text(tmp_path / "model", "new")
    assert os.listdir(tmp_path) == ["model"]


def test_folder_of_a_running_process_is_kept(tmp_path):
    with atomic_write(tmp_path / "a") as a, atomic_write(tmp_path / "b") as b:
        write_text(tmp_path / "c", "c")
        a.write_text("a")
        b.write_text("b")
    assert sorted(os.listdir(tmp_path)) == ["a", "b", "c"]


@pytest.mark.parametrize("content", [None, "", "another host\nanother system"])
def test_folders_that_may_be_in_use_are_kept(tmp_path, content):
    """The lock of another machine may be invisible, and a folder without a lock is not ours."""
    folder = tmp_path / ".dimetric-0123456789abcdef.tmp"
    folder.mkdir()
    (folder / "model").write_text("half")
    if content is not None:
        (folder / LOCK_NAME).write_text(content)
    write_text(tmp_path / "model", "new")
    assert (folder / "model").exists()
    if content is not None:
        eight_days_ago = time.time() - 8 * 24 * 3600
        os.utime(folder / LOCK_NAME, (eight_days_ago, eight_days_ago))
        write_text(tmp_path / "model", "newer")
        assert os.listdir(tmp_path) == ["model"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
def test_folder_of_another_user_is_kept(tmp_path):
    folder = tmp_path / ".dimetric-0123456789abcdef.tmp"
    folder.mkdir()
    (folder / LOCK_NAME).write_text("\n".join(_this_machine()))
    os.chown(folder, 1234, -1)
    write_text(tmp_path / "model", "new")
    assert folder.exists()


def test_links_and_files_with_the_name_of_a_folder_are_kept(tmp_path):
    documents = tmp_path / "documents"
    documents.mkdir()
    (documents / LOCK_NAME).write_text("\n".join(_this_machine()))
    (tmp_path / ".dimetric-0.tmp").symlink_to(documents)
    (tmp_path / ".dimetric-1.tmp").write_text("a file")
    write_text(tmp_path / "model", "new")
    assert len(os.listdir(tmp_path)) == 4
    assert (documents / LOCK_NAME).exists()


def test_file_system_without_locks(tmp_path, monkeypatch):
    monkeypatch.setattr(fcntl, "flock", raiser(OSError(errno.ENOLCK, "No locks available")))
    folder = tmp_path / ".dimetric-0123456789abcdef.tmp"
    folder.mkdir()
    (folder / LOCK_NAME).write_text("\n".join(_this_machine()))
    write_text(tmp_path / "model", "new")
    assert sorted(os.listdir(tmp_path)) == [folder.name, "model"]


def enter(path):
    with atomic_write(path):
        raise AssertionError("the block was entered")


def test_unwritable_paths_raise(tmp_path, monkeypatch):
    with pytest.raises(OSError, match=r"directory .*nowhere does not exist\. Create it first\."):
        enter(tmp_path / "nowhere/file")
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match=r"below: .*file is a file, not a directory\."):
        enter(tmp_path / "file/below")
    with pytest.raises(IsADirectoryError, match="is a directory, not a file"):
        enter(tmp_path)
    with pytest.raises(IsADirectoryError, match="ends with '/', so it is a directory"):
        enter(f"{tmp_path}/new/")

    # root may write everywhere
    monkeypatch.setattr(os, "mkdir", raiser(PermissionError(13, "Permission denied")))
    with pytest.raises(
        PermissionError,
        match=r"Cannot write .*: you have no permission to write to the directory .*\.",
    ):
        enter(tmp_path / "new")


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="requires /proc")
def test_directory_in_which_no_files_can_be_created():
    for call in (enter, check_writable, check_folder):
        with pytest.raises(OSError, match=r"no files can be created in the directory /proc\.$"):
            call("/proc/x")


def test_checks_before_writing(tmp_path):
    file = tmp_path / "file"
    file.write_text("old")
    check_writable(file)
    check_writable(tmp_path / "new")
    check_writable(os.devnull)
    check_folder(tmp_path / "a/b/c")
    check_folder(tmp_path)
    assert [each.name for each in tmp_path.iterdir()] == ["file"]
    assert file.read_text() == "old"
    with pytest.raises(FileExistsError, match=r"file is not a directory. Give the path of a dir"):
        check_folder(file / "sub")
    for call in (check_writable, check_folder):
        with pytest.raises(ValueError, match="Cannot write s3://bucket/m: it is a URL"):
            call("s3://bucket/m")


def test_folder_is_created(tmp_path):
    for _ in range(2):
        create_folder(tmp_path / "a" / "b")
    assert (tmp_path / "a" / "b").is_dir()
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(FileExistsError, match=f"^{file} is not a directory. Give the path"):
        create_folder(file)
    with pytest.raises(OSError, match=f"^Cannot create the directory {file}/a: Not a directory"):
        create_folder(file / "a")
    with pytest.raises(OSError, match=r"^Cannot create the directory .*: File name too long"):
        create_folder(tmp_path / ("a" * 300))
