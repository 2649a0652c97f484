"""Symmetric matrices stored as their upper triangle, and products with them."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from dimetric._arrays.blocks import row_blocks
from dimetric._arrays.threads import run_on_threads, stop_if_interrupted

TILE_SIZE = 256  # rows and columns of a tile, which fits into a core's cache
N_PARTIAL_SUMS = 8  # fixed, so that results do not depend on the number of threads
MAX_VECTORS = 64  # vectors multiplied at once; each needs N_PARTIAL_SUMS * n numbers

Tile = Callable[[slice, slice, np.ndarray], np.ndarray]


def upper_tiles(n: int) -> list[tuple[slice, slice]]:
    """Return the rows and columns of each tile on or above the diagonal.

    Examples
    --------
    >>> len(upper_tiles(3 * TILE_SIZE))
    6
    """
    blocks = list(row_blocks(n, TILE_SIZE))
    return [(a, b) for i, a in enumerate(blocks) for b in blocks[i:]]


@dataclass(frozen=True, eq=False)
class PackedSymmetric:
    """A symmetric matrix on the host, stored as its tiles on and above the diagonal.

    Attributes
    ----------
    n : int
        Number of rows and columns.
    tiles : ndarray of shape (n_tiles, TILE_SIZE, TILE_SIZE)
        Tiles in the order of :func:`upper_tiles`. Tiles at the edge are filled only partly.
    largest : float
        The largest absolute value. NaN or infinite if any value is.
    """

    n: int
    tiles: np.ndarray
    largest: float

    @classmethod
    def from_function(
        cls, n: int, dtype: np.dtype, values: Callable[[slice, slice], np.ndarray]
    ) -> "PackedSymmetric":
        """Return the matrix with tiles ``values(rows, columns)``, computed on several threads.

        Examples
        --------
        >>> x = np.arange(300.0)
        >>> K = PackedSymmetric.from_function(
        ...     300, x.dtype, lambda a, b: np.minimum(x[a, None], x[None, b])
        ... )
        >>> K.largest, K.trace
        (299.0, 44850.0)
        """
        positions = upper_tiles(n)
        tiles = np.empty((len(positions), TILE_SIZE, TILE_SIZE), dtype)
        largest = np.zeros(len(positions))

        def work(tasks: Iterator[int]) -> None:
            for j in tasks:
                a, b = positions[j]
                tile = values(a, b)
                largest[j] = max(np.max(tile), -np.min(tile))
                tiles[j, : a.stop - a.start, : b.stop - b.start] = tile

        run_on_threads(work, range(len(positions)), shared_queue=True)
        return cls(n, tiles, float(np.max(largest)))

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and columns."""
        return self.n, self.n

    @property
    def trace(self) -> float:
        """Sum of the diagonal."""
        return sum(
            float(np.trace(tile[: a.stop - a.start, : a.stop - a.start], dtype=np.float64))
            for tile, (a, b) in zip(self.tiles, upper_tiles(self.n), strict=True)
            if a == b
        )

    def tile(self, a: slice, b: slice, buffer: np.ndarray) -> np.ndarray:
        """Return a tile in float64. This is the `tile` argument of :class:`SymmetricProduct`."""
        i, j, n_blocks = a.start // TILE_SIZE, b.start // TILE_SIZE, -(-self.n // TILE_SIZE)
        stored = self.tiles[i * n_blocks - i * (i - 1) // 2 + j - i]
        stored = stored[: buffer.shape[0], : buffer.shape[1]]
        if stored.dtype == buffer.dtype:
            return stored
        buffer[...] = stored
        return buffer


class SymmetricProduct:
    """Product K @ V with a symmetric K, of which only the tiles on and above the diagonal are read.

    Parameters
    ----------
    n : int
        Number of rows and columns of K.
    tile : callable
        ``tile(a, b, buffer)`` returns ``K[a, b]`` in float64. It may use `buffer`, an array of the
        same shape, for the result. Several threads call it.

    Examples
    --------
    >>> K = np.array([[2.0, 1.0], [1.0, 3.0]])
    >>> SymmetricProduct(2, lambda a, b, buffer: K[a, b])(np.eye(2))
    array([[2., 1.],
           [1., 3.]])
    """

    def __init__(self, n: int, tile: Tile) -> None:
        self._tile = tile
        self._positions = upper_tiles(n)
        self._n_sums = min(N_PARTIAL_SUMS, len(self._positions))
        self._workspace = np.empty(0)  # reused: allocating memory takes as long as a product

    def __call__(self, V: np.ndarray) -> np.ndarray:
        """Return K @ V in float64, for V of shape (n, p)."""
        n, p = V.shape
        if p > MAX_VECTORS:
            return np.hstack([self(V[:, j : j + MAX_VECTORS]) for j in range(0, p, MAX_VECTORS)])
        V = np.ascontiguousarray(V)
        if self._workspace.size < self._n_sums * n * p:
            self._workspace = np.empty(self._n_sums * n * p)
        sums = self._workspace[: self._n_sums * n * p].reshape(self._n_sums, n, p)

        def work(sum_indices: Iterator[int]) -> None:
            buffer = np.empty((TILE_SIZE, TILE_SIZE))
            for index in sum_indices:
                total = sums[index]
                total[...] = 0.0
                for a, b in self._positions[index::N_PARTIAL_SUMS]:
                    stop_if_interrupted()
                    values = self._tile(a, b, buffer[: a.stop - a.start, : b.stop - b.start])
                    total[a] += values @ V[b]
                    if a != b:
                        total[b] += values.T @ V[a]

        run_on_threads(work, range(self._n_sums), shared_queue=True)
        return np.sum(sums, axis=0)
