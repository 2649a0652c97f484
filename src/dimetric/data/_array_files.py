"""Files of NumPy arrays as tables: X, and perhaps y, whole or some rows at a time."""

import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np


def array_chunks(path: Path, cells: int | None) -> Iterator[dict[str, np.ndarray]]:
    """Yield the rows of an ``.npz`` or ``.npy`` file, as columns x0, x1, ..., and y if it is there.

    Parameters
    ----------
    path : path
        The file.
    cells : int or None
        How many values of X to read at a time; None reads all.
    """
    if path.suffix.lower() == ".npy":
        yield from _chunks(path, np.load(path, mmap_mode="r", allow_pickle=False), None, cells)
        return
    with np.load(path, allow_pickle=False) as file:
        if "X" not in file:
            raise ValueError(
                f"{path} holds {', '.join(file) or 'nothing'}: a table is X, and perhaps y."
            )
        y = file["y"] if "y" in file.files else None
    with _StreamedArray(path, "X.npy") as X:
        yield from _chunks(path, X, y, cells)


class _StreamedArray:
    """An array in an ``.npz`` file that is read some rows at a time, from first to last."""

    def __init__(self, path: Path, name: str) -> None:
        self._archive = zipfile.ZipFile(path)
        self._file = self._archive.open(name)
        version = np.lib.format.read_magic(self._file)
        read = (
            np.lib.format.read_array_header_1_0
            if version == (1, 0)
            else np.lib.format.read_array_header_2_0
        )
        self.shape, self._fortran, self.dtype = read(self._file)
        self.ndim = len(self.shape)
        self._whole: np.ndarray | None = None

    def __enter__(self) -> "_StreamedArray":
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()
        self._archive.close()

    def __getitem__(self, rows: slice) -> np.ndarray:
        """Return the next rows: they are asked for one after the other."""
        if self.dtype.hasobject:
            raise ValueError("X holds objects, which are not read")
        if self._fortran:  # it is stored column by column: no part of the file holds whole rows
            if self._whole is None:
                whole = np.frombuffer(self._file.read(), dtype=self.dtype)
                self._whole = whole.reshape(self.shape, order="F")
            return self._whole[rows]
        count = (rows.stop - rows.start) * self.shape[1]
        part = self._file.read(count * self.dtype.itemsize)
        return np.frombuffer(part, dtype=self.dtype).reshape(-1, self.shape[1])


def _chunks(
    path: Path, X: Any, y: np.ndarray | None, cells: int | None
) -> Iterator[dict[str, np.ndarray]]:
    if X.ndim != 2 or X.dtype.kind not in "iufb":
        raise ValueError(f"{path} holds an X of shape {X.shape}, {X.dtype}: it must be a matrix.")
    n, d = X.shape
    if y is not None and y.shape != (n,):
        raise ValueError(f"{path} holds {n} rows of X, but a y of shape {y.shape}.")
    step = max(1, n if cells is None else cells // max(1, d))
    for start in range(0, max(1, n), step):
        rows = slice(start, min(n, start + step))
        part = np.asarray(X[rows])
        columns = {f"x{i}": part[:, i] for i in range(d)}
        yield columns if y is None else columns | {"y": y[rows]}
