"""Read ``.npz`` and ``.npy`` files as tables with the columns of X and, if present, y."""

import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np


def array_chunks(path: Path, cells_per_chunk: int | None) -> Iterator[dict[str, np.ndarray]]:
    """Yield chunks of rows of an ``.npz`` or ``.npy`` file, as dicts of columns x0, x1, ..., y.

    Parameters
    ----------
    path : Path
        Path of the file. An ``.npy`` file has no column y. An ``.npz`` file may have a column y.
    cells_per_chunk : int or None
        Number of values of X in each chunk. None reads the whole file as one chunk.
    """
    if path.suffix.lower() == ".npy":
        yield from _column_chunks(
            path, np.load(path, mmap_mode="r", allow_pickle=False), None, cells_per_chunk
        )
        return
    with np.load(path, allow_pickle=False) as file:
        if "X" not in file:
            raise ValueError(
                f"{path} has no array X. It holds {', '.join(file) or 'no arrays'}. Save the "
                "samples as X and, optionally, the targets as y."
            )
        y = file["y"] if "y" in file.files else None
    with _StreamedArray(path, "X.npy") as X:
        yield from _column_chunks(path, X, y, cells_per_chunk)


class _StreamedArray:
    """An array in an ``.npz`` file, read in consecutive slices of rows."""

    def __init__(self, path: Path, name: str) -> None:
        self._archive = zipfile.ZipFile(path)
        self._file = self._archive.open(name)
        version = np.lib.format.read_magic(self._file)
        read_array_header = (
            np.lib.format.read_array_header_1_0
            if version == (1, 0)
            else np.lib.format.read_array_header_2_0
        )
        self.shape, self._fortran, self.dtype = read_array_header(self._file)
        self.ndim = len(self.shape)
        self._whole: np.ndarray | None = None

    def __enter__(self) -> "_StreamedArray":
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()
        self._archive.close()

    def __getitem__(self, rows: slice) -> np.ndarray:
        """Return the next rows. Each slice must start where the last slice stopped."""
        if self.dtype.hasobject:
            raise ValueError("X has dtype object, which is not supported")
        if self._fortran:  # stored column by column, so rows cannot be read one after the other
            if self._whole is None:
                whole = np.frombuffer(self._file.read(), dtype=self.dtype)
                self._whole = whole.reshape(self.shape, order="F")
            return self._whole[rows]
        count = (rows.stop - rows.start) * self.shape[1]
        part = self._file.read(count * self.dtype.itemsize)
        return np.frombuffer(part, dtype=self.dtype).reshape(-1, self.shape[1])


def _column_chunks(
    path: Path, X: Any, y: np.ndarray | None, cells_per_chunk: int | None
) -> Iterator[dict[str, np.ndarray]]:
    if X.ndim != 2 or X.dtype.kind not in "iufb":
        raise ValueError(
            f"X in {path} must be a two-dimensional numeric array, but has shape {X.shape} and "
            f"dtype {X.dtype}."
        )
    n, d = X.shape
    if y is not None and y.shape != (n,):
        raise ValueError(f"X in {path} has {n} rows, but y has shape {y.shape}.")
    step = max(1, n if cells_per_chunk is None else cells_per_chunk // max(1, d))
    for start in range(0, max(1, n), step):
        rows = slice(start, min(n, start + step))
        part = np.asarray(X[rows])
        columns = {f"x{i}": part[:, i] for i in range(d)}
        yield columns if y is None else columns | {"y": y[rows]}
