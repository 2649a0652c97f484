"""Read ``.npz`` and ``.npy`` files, as arrays or as tables with the columns of X and y.

Sizes that a file declares are compared with its bytes before memory is allocated. Headers are
parsed here, because damaged headers make NumPy's parser raise many types of errors and warnings.
"""

import errno
import re
import struct
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import IO, Any, ClassVar, NamedTuple

import numpy as np

from dimetric._names import listed_arrays
from dimetric.data._limits import check_n_columns
from dimetric.data._readers.compressed import check_expansion
from dimetric.data._readers.content import ZIP_MAGIC
from dimetric.data._readers.reader import Reader
from dimetric.data._readers.source import InputFile

MAGIC = b"\x93NUMPY"
MAX_HEADER_BYTES = 10_000  # of an array. NumPy has the same limit.
DESCR = re.compile(r"""['"]descr['"]\s*:\s*['"]([<>|=]?[biufcSUOmM]\d{0,9}(?:\[\w+\])?)['"]""")
FORTRAN_ORDER = re.compile(r"""['"]fortran_order['"]\s*:\s*(True|False)""")
SHAPE = re.compile(r"""['"]shape['"]\s*:\s*\(([\d\sL,]*)\)""")
DIMENSION = re.compile(r"\d{1,19}L?")  # Python 2 wrote long integers with an L
MAX_DIMENSIONS = 32  # of an array. Older versions of NumPy have the same limit.
MAX_LISTED_DIMENSIONS = 4  # in an error message
MAX_LISTED_BYTES = 10**30  # declared size of an array in an error message
SUPPORTED_COMPRESSIONS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
# Errors of the module zipfile on damaged archives. Wrong names of members raise a UnicodeError.
ARCHIVE_ERRORS = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    NotImplementedError,
    OverflowError,
    UnicodeError,
)
NOT_AN_ARCHIVE = "it is not an .npz file, or it is damaged"
ENCRYPTED = 1  # bit of the flags of an archive member


def array_chunks(path: Path, cells_per_chunk: int | None) -> Iterator[dict[str, np.ndarray]]:
    """Yield chunks of rows of an ``.npz`` or ``.npy`` file, as dicts of columns x0, x1, ..., y.

    Parameters
    ----------
    path : Path
        Path of the file. An ``.npy`` file has no column y. An ``.npz`` file may have a column y.
    cells_per_chunk : int or None
        Number of values of X in each chunk. None reads the whole file as one chunk.
    """
    if _is_single_array(path):
        yield from _column_chunks(path, _mapped_array(path), None, cells_per_chunk)
        return
    with _open_archive(path) as archive:
        members = _array_names(archive)
        if "X" not in members:
            raise ValueError(
                f"{path} has no array X. It holds {listed_arrays(members)}. Save the samples as X "
                "and, optionally, the targets as y."
            )
        _check_sizes(archive, {"X", "y"} & set(members), path)
        y = None
        if "y" in members:
            with _StreamedArray(archive, "y") as streamed:
                y = streamed.read()
        with _StreamedArray(archive, "X") as X:
            yield from _column_chunks(path, X, y, cells_per_chunk)


def _is_single_array(path: Path) -> bool:
    """Return whether a file is an ``.npy`` file: by its content, or by its name if damaged."""
    with open(path, "rb") as file:
        head = file.read(len(MAGIC))
    return head == MAGIC or (path.suffix.lower() == ".npy" and not head.startswith(ZIP_MAGIC))


def read_arrays(path: Path) -> dict[str, np.ndarray]:
    """Read all arrays of an ``.npz`` file, by name.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     path = Path(directory, "arrays.npz")
    ...     np.savez(path, X=[[1, 2]], y=["a"])
    ...     read_arrays(path)
    {'X': array([[1, 2]]), 'y': array(['a'], dtype='<U1')}
    """
    arrays = {}
    with _open_archive(path) as archive:
        names = _array_names(archive)
        _check_sizes(archive, names, path)
        for name in names:
            with _StreamedArray(archive, name) as streamed:
                arrays[name] = streamed.read().copy()  # read() returns read-only arrays
    return arrays


class _ArrayHeader(NamedTuple):
    """The header of an array in a file, and its size in bytes."""

    shape: tuple[int, ...]
    fortran_order: bool
    dtype: np.dtype[Any]
    header_bytes: int


def _read_array_header(file: IO[bytes], n_bytes: int) -> _ArrayHeader:
    """Read the header of an array. Raise if it declares more data than follow in the file.

    `n_bytes` is the size of the header and the data in the file.
    """
    start = file.read(len(MAGIC) + 2)
    length_bytes = 2 if start[len(MAGIC) : len(MAGIC) + 1] == b"\1" else 4
    length = int.from_bytes(file.read(length_bytes), "little")
    if not start.startswith(MAGIC) or length > MAX_HEADER_BYTES:
        raise ValueError("it is not a NumPy array, or its header is damaged")
    text = file.read(length).decode("latin-1")
    descr, fortran_order, shape = (each.search(text) for each in (DESCR, FORTRAN_ORDER, SHAPE))
    if descr is None or fortran_order is None or shape is None:
        raise ValueError("an array has an unsupported dtype, or its header is damaged")
    sizes = [each.strip() for each in shape[1].split(",") if each.strip()]
    try:
        dtype = np.dtype(descr[1])
    except (TypeError, ValueError) as error:
        raise ValueError(f"an array has the invalid dtype {descr[1]!r}") from error
    if dtype.hasobject:
        raise ValueError("an array has dtype object, which is not supported")
    if not all(map(DIMENSION.fullmatch, sizes)):
        raise ValueError("the shape of an array is damaged")
    if len(sizes) > MAX_DIMENSIONS:
        raise ValueError(
            f"an array has {len(sizes)} dimensions, but at most {MAX_DIMENSIONS} are supported"
        )
    dimensions = tuple(int(each.rstrip("L")) for each in sizes)
    header_bytes = len(start) + length_bytes + length
    declared, present = prod(dimensions) * dtype.itemsize, max(0, n_bytes - header_bytes)
    if declared > present:
        takes = declared if declared < MAX_LISTED_BYTES else f"more than {MAX_LISTED_BYTES:.0e}"
        raise ValueError(
            f"an array of shape {shape_text(dimensions)} and dtype {dtype} takes {takes} bytes, "
            f"but the file holds {present} bytes for it; the file may be truncated"
        )
    return _ArrayHeader(dimensions, fortran_order[1] == "True", dtype, header_bytes)


def _mapped_array(path: Path) -> np.ndarray:
    """Return the array of an ``.npy`` file, mapped into memory."""
    with open(path, "rb") as file:
        header = _read_array_header(file, path.stat().st_size)
    order = "F" if header.fortran_order else "C"
    if not prod(header.shape):  # an empty file cannot be mapped
        return np.empty(header.shape, header.dtype)
    return np.memmap(path, header.dtype, "r", header.header_bytes, header.shape, order)  # type: ignore[call-overload]


@contextmanager
def _open_archive(path: Path) -> Iterator[zipfile.ZipFile]:
    """Open an ``.npz`` file. Reraise errors of damaged archives as a ValueError."""
    try:
        with zipfile.ZipFile(path) as archive:
            yield archive
    except ARCHIVE_ERRORS as error:
        raise ValueError(NOT_AN_ARCHIVE) from error
    except OSError as error:
        if error.errno != errno.EINVAL:  # the module zipfile moved to a negative offset
            raise
        raise ValueError(NOT_AN_ARCHIVE) from error


def _check_sizes(archive: zipfile.ZipFile, names: Iterable[str], path: Path) -> None:
    """Raise if some arrays of an archive are together too large for the size of the file."""
    n_bytes = sum(archive.getinfo(f"{each}.npy").file_size for each in names)
    check_expansion(n_bytes, path.stat().st_size)


def shape_text(shape: tuple[int, ...]) -> str:
    """Return a shape for a message, which lists at most a few dimensions.

    Examples
    --------
    >>> shape_text((3, 2)), shape_text((1,) * 9)
    ('(3, 2)', '(1, 1, 1, 1, ...)')
    """
    if len(shape) <= MAX_LISTED_DIMENSIONS:
        return str(shape)
    return f"({', '.join(map(str, shape[:MAX_LISTED_DIMENSIONS]))}, ...)"


def _array_names(archive: zipfile.ZipFile) -> list[str]:
    names = archive.namelist()
    return [each.removesuffix(".npy") for each in names if each.endswith(".npy")]


class _StreamedArray:
    """An array in an ``.npz`` file, read in consecutive slices of rows."""

    def __init__(self, archive: zipfile.ZipFile, name: str) -> None:
        member = archive.getinfo(f"{name}.npy")
        if member.compress_type not in SUPPORTED_COMPRESSIONS or member.flag_bits & ENCRYPTED:
            raise ValueError(f"the array {name} is encrypted or has an unsupported compression")
        self._file = archive.open(member)
        try:
            header = _read_array_header(self._file, member.file_size)
        except BaseException:
            self._file.close()
            raise
        self.shape, self._fortran, self.dtype, _ = header
        self.ndim = len(self.shape)
        self._whole: np.ndarray | None = None

    def __enter__(self) -> "_StreamedArray":
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()

    def __getitem__(self, rows: slice) -> np.ndarray:
        """Return the next rows. Each slice must start where the last slice stopped."""
        if self._fortran:  # stored column by column, so rows cannot be read one after the other
            if self._whole is None:
                self._whole = self.read()
            return self._whole[rows]
        return self._next_values((rows.stop - rows.start, *self.shape[1:]))

    def read(self) -> np.ndarray:
        """Return the whole array."""
        order = self.shape[::-1] if self._fortran else self.shape
        values = self._next_values(order)
        return values.transpose() if self._fortran else values

    def _next_values(self, shape: tuple[int, ...]) -> np.ndarray:
        part = self._file.read(prod(shape) * self.dtype.itemsize)
        if len(part) < prod(shape) * self.dtype.itemsize:
            raise EOFError("an array is truncated")
        return np.frombuffer(part, dtype=self.dtype).reshape(shape)


def _column_chunks(
    path: Path, X: Any, y: np.ndarray | None, cells_per_chunk: int | None
) -> Iterator[dict[str, np.ndarray]]:
    check_samples(path, X, y)
    n, d = X.shape
    check_n_columns(d)
    step = max(1, n if cells_per_chunk is None else cells_per_chunk // d)
    for start in range(0, n, step):
        rows = slice(start, min(n, start + step))
        part = np.asarray(X[rows])
        columns = {f"x{i}": part[:, i] for i in range(d)}
        yield columns if y is None else columns | {"y": y[rows]}


def check_samples(path: Path, X: Any, y: np.ndarray | None, suffix: str = "") -> None:
    """Raise unless X is a numeric matrix and y, which may be None, has an entry for each row.

    The names of X and y in the file end in `suffix`.
    """
    if X.ndim != 2 or X.dtype.kind not in "iufb":
        raise ValueError(
            f"X{suffix} in {path} must be a two-dimensional numeric array, but has shape "
            f"{shape_text(X.shape)} and dtype {X.dtype}."
        )
    n, d = X.shape
    if not n or not d:
        raise ValueError(f"{path} is empty: X{suffix} has shape {X.shape}.")
    if y is not None and y.shape != (n,):
        raise ValueError(
            f"X{suffix} in {path} has {n} rows, but y{suffix} has shape {shape_text(y.shape)}."
        )


@dataclass(frozen=True)
class ArrayReader(Reader):
    """Reads ``.npz`` and ``.npy`` files as dicts of columns x0, x1, ..., y."""

    file: InputFile
    kind: ClassVar[str] = "a NumPy file"

    def column_names(self) -> list[str]:
        """Return the names of the columns."""
        return list(next(self.chunks(set(), 1), ()))

    def read(self, target: str | None = None) -> dict[str, np.ndarray]:
        """Return all columns."""
        return next(array_chunks(self.file.path, None))

    def chunks(
        self, string_columns: set[str], cells_per_chunk: int
    ) -> Iterator[dict[str, np.ndarray]]:
        """Yield chunks of rows."""
        yield from array_chunks(self.file.path, cells_per_chunk)
