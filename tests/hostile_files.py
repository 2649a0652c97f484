"""Files with any declared sizes, and checks of the errors that reading them raises."""

import io
import struct
import tracemalloc
import zipfile

import pytest


def write(path, content):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def npy(shape, descr="'<f8'", data=b"", version=b"\1\0", fortran="False", extra=""):
    """Return an .npy file with any header."""
    text = f"{{'descr': {descr}, 'fortran_order': {fortran}, 'shape': {shape}, {extra}}}"
    text = text.ljust(118) + "\n"
    length = struct.pack("<H" if version == b"\1\0" else "<I", len(text))
    return b"\x93NUMPY" + version + length + text.encode() + data


def npz(**members):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(f"{name}.npy", content)
    return buffer.getvalue()


def assert_one_sentence(path, read, match=None, free_bytes=50_000_000):
    """Reading raises a ValueError of one line that names the file, and takes little memory."""
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match=match) as raised:
            read(path)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    text = str(raised.value)
    assert str(path) in text
    assert "\n" not in text
    assert len(text) < 1000
    assert peak < 10 * path.stat().st_size + free_bytes
