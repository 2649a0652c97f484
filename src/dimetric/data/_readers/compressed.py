"""Check compressed files before they are read, because small files can hold very large tables."""

import gzip
import os
import zlib
from pathlib import Path

MAX_EXPANSION_VARIABLE = "DIMETRIC_MAX_EXPANSION"
DEFAULT_MAX_EXPANSION = 200.0  # size of the content divided by the size of the file
FREE_BYTES = 50_000_000  # content up to this size is read whatever its expansion
CHUNK_BYTES = 2**20


def check_expansion(content_bytes: int, file_bytes: int) -> None:
    """Raise if the content of a file is suspiciously large for the size of the file.

    Error messages here are clauses. The caller adds the name of the file.

    Parameters
    ----------
    content_bytes : int
        Size of the content in memory, or its declared size.
    file_bytes : int
        Size of the compressed file.
    """
    if content_bytes > _max_content_bytes(file_bytes):
        expansion = content_bytes / max(1, file_bytes)
        raise ValueError(
            f"its content of at least {content_bytes / 1e6:.0f} MB is more than "
            f"{min(expansion, _max_expansion()):g} times as large as the file and may not fit into "
            f"memory; to read it, set the environment variable {MAX_EXPANSION_VARIABLE} to a "
            "larger number, or to inf"
        )


def check_gzip(path: Path) -> None:
    """Decompress a gzip file once. Raise if it is damaged or its content is too large."""
    file_bytes, content_bytes = path.stat().st_size, 0
    max_bytes = _max_content_bytes(file_bytes)
    buffer = bytearray(CHUNK_BYTES)
    try:
        with gzip.open(path, "rb") as file:
            while n_read := file.readinto(buffer):
                content_bytes += n_read
                if content_bytes > max_bytes:
                    break
    except (zlib.error, EOFError, gzip.BadGzipFile) as error:
        raise ValueError("it is not a gzip file, or it is truncated or damaged") from error
    check_expansion(content_bytes, file_bytes)


def _max_content_bytes(file_bytes: int) -> float:
    return max(FREE_BYTES, _max_expansion() * file_bytes)


def _max_expansion() -> float:
    text = os.environ.get(MAX_EXPANSION_VARIABLE, "")
    try:
        limit = float(text) if text else DEFAULT_MAX_EXPANSION
    except ValueError:
        limit = 0.0
    if not limit > 0:
        raise ValueError(f"{MAX_EXPANSION_VARIABLE}={text!r} must be a positive number or inf")
    return limit
