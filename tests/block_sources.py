"""Samples in blocks for the tests: the same arrays as Dask collections, memory maps, iterators."""

import numpy as np
import pytest

SOURCES = ("dask", "frame", "unknown", "memmap", "factory")  # kinds that can be read repeatedly


def made_blocks(n=600, d=5, n_classes=3, seed=0):
    """Return samples of different units and means, with their labels."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n)
    X = rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) + rng.normal(size=(n_classes, d))[y]
    return X * np.logspace(0, 1, d) + 3, y


def as_source(kind, X, y=None, weights=None, *, chunk, tmp_path=None):
    """Return the arguments of ``fit`` that pass samples in blocks of `chunk` rows."""
    given = {"y": y, "sample_weight": weights}
    given = {name: values for name, values in given.items() if values is not None}
    if kind == "memmap":
        path = tmp_path / f"{chunk}.npy"
        np.save(path, X)
        return {"X": np.load(path, mmap_mode="r"), **given}
    if kind in ("factory", "iterator"):
        blocks = [slice(i, i + chunk) for i in range(0, len(X), chunk)]
        parts = (X, y) if weights is None else (X, y, weights)

        def factory():
            return iter([tuple(None if p is None else p[b] for p in parts) for b in blocks])

        return {"X": factory if kind == "factory" else factory()}
    return {"X": as_dask(kind, X, chunk)} | {
        name: as_dask(kind, values, chunk) for name, values in given.items()
    }


def as_dask(kind, values, chunk):
    """Return an array as a Dask array, a Dask data frame, or an array with unknown chunk sizes."""
    if kind == "frame":
        dd, pd = pytest.importorskip("dask.dataframe"), pytest.importorskip("pandas")
        if values.ndim == 1:
            return dd.from_pandas(pd.Series(values), chunksize=chunk, sort=False)
        if not hasattr(values, "columns"):
            columns = [f"x{i}" for i in range(values.shape[1])]
            values = pd.DataFrame(values, columns=columns)
        return dd.from_pandas(values, chunksize=chunk, sort=False)
    da = pytest.importorskip("dask.array")
    chunks = (chunk, 2) if values.ndim == 2 else chunk
    array = da.from_array(values, chunks=chunks)
    if kind == "unknown":
        row = np.arange(len(values))
        array = array.rechunk({0: chunk, 1: -1} if values.ndim == 2 else {0: chunk})
        return array[da.from_array(row >= 0, chunks=chunk)]
    return array
