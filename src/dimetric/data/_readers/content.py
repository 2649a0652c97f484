"""Detect the type of a file by its first bytes, or by its extension if they are ambiguous."""

import gzip
import re
import zipfile
import zlib
from pathlib import Path
from typing import NamedTuple

from dimetric.data._readers.errors import naming_file_in_errors
from dimetric.data._readers.source import InputFile

TEXT_EXTENSIONS = {".csv", ".tsv", ".txt", ".dat", ".data", ".tab"}
JSON_EXTENSIONS = {".json", ".jsonl", ".ndjson"}
KINDS_BY_EXTENSION = {
    **dict.fromkeys(TEXT_EXTENSIONS, "text"),
    **dict.fromkeys(JSON_EXTENSIONS, "json"),
    **dict.fromkeys([".parquet", ".pq"], "parquet"),
    **dict.fromkeys([".feather", ".arrow", ".ipc"], "feather"),
    **dict.fromkeys([".npz", ".npy"], "arrays"),
    **dict.fromkeys([".xlsx", ".xlsm"], "excel"),
    **dict.fromkeys([".sqlite", ".sqlite3", ".db"], "sqlite"),
    ".duckdb": "duckdb",
}
OTHER_COMPRESSIONS = {".bz2", ".xz", ".zip", ".zst", ".tar", ".tgz", ".7z"}
SUPPORTED_EXTENSIONS = (
    ".csv, .tsv, .txt or .jsonl (also with .gz), .json, .xlsx, .parquet, .feather, .npz, .npy, "
    ".sqlite or .duckdb"
)
SAVE_AS = "Save the table as .xlsx or .csv, and pass that file."
HEAD_BYTES = 4096
SQLITE_MAGIC = b"SQLite format 3\0"
ARROW_STREAM_MAGIC = b"\xff\xff\xff\xff"
KINDS_BY_MAGIC = {
    b"PAR1": "parquet",
    b"ARROW1": "feather",
    ARROW_STREAM_MAGIC: "feather",
    b"\x93NUMPY": "arrays",
    SQLITE_MAGIC: "sqlite",
}
GZIP_MAGIC = b"\x1f\x8b"
ZIP_MAGIC = b"PK\3\4"
COMPRESSED_MAGIC = (b"BZh", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd", b"7z\xbc\xaf\x27\x1c", b"Rar!")
# Files that are often taken for tables, and what to do with them.
REFUSED_MAGIC = {
    b"\xd0\xcf\x11\xe0": "is an old Excel file (.xls) or is protected by a password. " + SAVE_AS,
    b"FEA1": "is a Feather file of version 1. Write it again with a recent version of pyarrow.",
    b"\x89HDF": "is an HDF5 file, which is not supported. Save the table as Parquet or CSV.",
    b"%PDF": "is a PDF file, not a table. Save the table as CSV.",
}
MODEL_MAGIC = b'{"__metadata__"'  # of a model file, after the size of its header
REFUSED_EXTENSIONS = {
    **dict.fromkeys([".xls", ".xlsb"], "Old Excel files are not supported. " + SAVE_AS),
    ".ods": "OpenDocument files are not supported. " + SAVE_AS,
    **dict.fromkeys(
        [".pkl", ".pickle"],
        "Reading a pickle file can run any code. Save the table as Parquet or CSV.",
    ),
}
HTML = re.compile(rb"\s*(<!doctype html|<html|<table|<\?xml)", re.IGNORECASE)
JSON_START = re.compile(r'\s*(\{\s*["}]|\[\s*(\{|\]))')


class Content(NamedTuple):
    """The type of a file.

    Attributes
    ----------
    kind : str
        "text", "json", "parquet", "feather", "arrays", "excel", "sqlite" or "duckdb".
    is_gzip : bool
        Whether the file is compressed by gzip.
    """

    kind: str
    is_gzip: bool = False


def detect_content(file: InputFile) -> Content:
    """Return the type of a file. Raise if it cannot be a table.

    The content takes precedence over the extension: a workbook that is called ``.csv`` is read as
    a workbook.
    """
    with naming_file_in_errors(file.label), open(file.path, "rb") as opened:
        head = opened.read(HEAD_BYTES)
    extensions = [each.lower() for each in Path(file.label).suffixes]
    is_gzip = head.startswith(GZIP_MAGIC) or extensions[-1:] == [".gz"]
    if is_gzip:
        return Content(_kind_in_gzip(file, extensions), True)
    if kind := _kind_by_magic(file, head):
        return Content(kind)
    kind = _kind_by_extension(file, extensions)
    if kind == "text" and HTML.match(head):
        raise ValueError(
            f"{file.label} is a web page or an XML file, not a table. Download the table itself."
        )
    if kind not in ("text", "json") and _is_text(head):
        raise ValueError(
            f"{file.label} holds text, although it is called {extensions[-1]}. Rename it to .csv, "
            "or to .jsonl if it holds JSON."
        )
    is_json = kind == "text" and JSON_START.match(decoded_head(head))
    return Content("json" if is_json else kind)


def _is_text(head: bytes) -> bool:
    """Return whether bytes are several lines of printable text."""
    try:
        text = head.decode("utf-8-sig") if len(head) < HEAD_BYTES else ""
    except UnicodeDecodeError:
        return False
    lines = text.splitlines()
    return len(lines) > 1 and all(each.replace("\t", " ").isprintable() for each in lines)


def decoded_head(head: bytes) -> str:
    """Decode the first bytes of a text file, as far as needed to recognise JSON."""
    is_utf16 = head.startswith((b"\xff\xfe", b"\xfe\xff"))
    return head.decode("utf-16" if is_utf16 else "utf-8-sig", errors="ignore")


def _kind_by_magic(file: InputFile, head: bytes) -> str | None:
    """Return the type of a file if its first bytes tell. Raise if such a file is not supported."""
    for magic, kind in KINDS_BY_MAGIC.items():
        if head.startswith(magic):
            return kind
    if head[8:12] == b"DUCK":
        return "duckdb"
    if head.startswith(ZIP_MAGIC):
        return _kind_of_archive(file)
    if head[8:].startswith(MODEL_MAGIC):
        raise ValueError(
            f"{file.label} is a model, not a table. Run `dimetric info {file.label}` to see what "
            "it holds."
        )
    for magic, sentence in REFUSED_MAGIC.items():
        if head.startswith(magic):
            raise ValueError(f"{file.label} {sentence}")
    if head.startswith(COMPRESSED_MAGIC):
        raise _unsupported_compression(file)
    return None


def _kind_of_archive(file: InputFile) -> str | None:
    try:
        with zipfile.ZipFile(file.path) as archive:
            names = archive.namelist()
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError, OverflowError):
        return None  # damaged; the reader for its extension says so
    if "xl/workbook.xml" in names or any(each.startswith("xl/worksheets/") for each in names):
        return "excel"
    if any(each.endswith(".npy") for each in names):
        return "arrays"
    if "content.xml" in names:
        raise ValueError(f"{file.label}: {REFUSED_EXTENSIONS['.ods']}")
    return None


def _kind_in_gzip(file: InputFile, extensions: list[str]) -> str:
    """Return the type of a compressed file: text or JSON."""
    others = {each for each in extensions if each in KINDS_BY_EXTENSION}
    if (others - TEXT_EXTENSIONS - JSON_EXTENSIONS) or set(extensions) & OTHER_COMPRESSIONS:
        raise _unsupported_compression(file)
    if extensions[-1:] == [".gz"] and not others:
        raise _unsupported_compression(file)
    try:
        with gzip.open(file.path, "rb") as opened:
            head = opened.read(HEAD_BYTES)
    except (zlib.error, EOFError, OSError):
        return "text"  # damaged; the reader says so
    if head.startswith(ZIP_MAGIC) or any(head.startswith(each) for each in KINDS_BY_MAGIC):
        raise ValueError(
            f"{file.label} holds a compressed file that is not text. Unpack it, and pass the "
            "unpacked file."
        )
    is_json = others & JSON_EXTENSIONS or JSON_START.match(decoded_head(head))
    return "json" if is_json else "text"


def _kind_by_extension(file: InputFile, extensions: list[str]) -> str:
    name = Path(file.label).name
    if set(extensions) & OTHER_COMPRESSIONS:
        raise _unsupported_compression(file)
    for each in reversed(extensions):
        if each in KINDS_BY_EXTENSION:
            return KINDS_BY_EXTENSION[each]
    if extensions and extensions[-1] in REFUSED_EXTENSIONS:
        raise ValueError(f"Unsupported file type: {name}. {REFUSED_EXTENSIONS[extensions[-1]]}")
    if file.is_stream:
        return "text"
    raise ValueError(f"Unsupported file type: {name}. Use a {SUPPORTED_EXTENSIONS} file.")


def _unsupported_compression(file: InputFile) -> ValueError:
    name = Path(file.label).name
    return ValueError(f"Unsupported compression: {name}. Use a {SUPPORTED_EXTENSIONS} file.")
