"""Atomic writing of files."""

import os
import stat

import pytest

from dimetric._files import atomic_write


def test_new_file_appears_when_the_block_ends(tmp_path):
    with atomic_write(tmp_path / "table.csv.gz") as temporary:
        assert temporary.parent == tmp_path
        assert temporary.name.endswith("table.csv.gz")  # writers choose the format by extension
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


def test_device_is_written_directly():
    with atomic_write("/dev/null") as temporary:
        temporary.write_text("nothing")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


def test_pipe_is_written_directly():
    """/dev/stdout is a pipe if another command reads the output."""
    read_end, write_end = os.pipe()
    with atomic_write(f"/dev/fd/{write_end}") as temporary:
        temporary.write_text("some")
    os.close(write_end)
    with os.fdopen(read_end) as file:
        assert file.read() == "some"


def enter(path):
    with atomic_write(path):
        raise AssertionError("the block was entered")


def test_unwritable_paths_raise(tmp_path, monkeypatch):
    with pytest.raises(OSError, match=r"directory .*nowhere does not exist\. Create it first\."):
        enter(tmp_path / "nowhere/file")
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match=r"directory .*file does not exist\. Create it first\."):
        enter(tmp_path / "file/below")
    with pytest.raises(IsADirectoryError, match="is a directory, not a file"):
        enter(tmp_path)

    def refused(*args):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "open", refused)  # root may write everywhere
    with pytest.raises(
        PermissionError, match=r"Cannot write .*: Permission denied \(directory .*\)\."
    ):
        enter(tmp_path / "new")
