"""Symmetric matrices stored as their upper triangle, and products with them."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from dimetric._arrays.blocks import row_blocks
from dimetric._arrays.compiled import import_compiled
from dimetric._arrays.thread_group import stop_if_interrupted
from dimetric._arrays.threads import run_on_threads

TILE_SIZE = 256  # rows and columns of a tile, which fits into a core's cache
N_PARTIAL_SUMS = 8  # fixed, so that results do not depend on the number of threads
MAX_VECTORS = 64  # vectors multiplied at once; each needs N_PARTIAL_SUMS * n numbers
MIN_ROWS_COMPILED = 2048  # for fewer rows, importing numba takes longer than the products
MAX_VECTORS_COMPILED = 32  # for more vectors, BLAS is as fast on processors without AVX-512


Tile = Callable[[slice, slice], np.ndarray]


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
    row_sums : ndarray of shape (n,)
        Sum of each row in float64.
    """

    n: int
    tiles: np.ndarray
    largest: float
    row_sums: np.ndarray

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
        >>> K.row_sums[:3]
        array([  0., 299., 597.])
        """
        positions = upper_tiles(n)
        tiles = np.empty((len(positions), TILE_SIZE, TILE_SIZE), dtype)
        largest = np.zeros(len(positions))
        sums = np.zeros((len(positions), 2, TILE_SIZE))  # of the rows and the columns of each tile

        def work(tasks: Iterator[int]) -> None:
            for j in tasks:
                a, b = positions[j]
                tile = tiles[j, : a.stop - a.start, : b.stop - b.start]
                tile[...] = values(a, b)
                largest[j] = max(np.max(tile), -np.min(tile))
                sums[j, 0, : len(tile)] = np.sum(tile, axis=1, dtype=np.float64)
                if a != b:
                    sums[j, 1, : tile.shape[1]] = np.sum(tile, axis=0, dtype=np.float64)

        row_sums = np.zeros(n)
        with np.errstate(over="ignore", invalid="ignore"):  # `largest` shows infinite values
            run_on_threads(work, range(len(positions)), shared_queue=True)
            for (a, b), (of_rows, of_columns) in zip(positions, sums, strict=True):
                row_sums[a] += of_rows[: a.stop - a.start]
                row_sums[b] += of_columns[: b.stop - b.start]
        return cls(n, tiles, float(np.max(largest)), row_sums)

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

    def tile(self, a: slice, b: slice) -> np.ndarray:
        """Return a tile. This is the `tile` argument of :class:`SymmetricProduct`."""
        i, j, n_blocks = a.start // TILE_SIZE, b.start // TILE_SIZE, -(-self.n // TILE_SIZE)
        stored = self.tiles[i * n_blocks - i * (i - 1) // 2 + j - i]
        return stored[: a.stop - a.start, : b.stop - b.start]


class SymmetricProduct:
    """Product K @ V with a symmetric K, of which only the tiles on and above the diagonal are read.

    Parameters
    ----------
    n : int
        Number of rows and columns of K.
    tile : callable
        ``tile(a, b)`` returns ``K[a, b]``, which is not changed. Several threads call it.
    squared : bool, default=False
        Multiply by the matrix of squared entries instead. Powers are computed in float64.

    Examples
    --------
    >>> K = np.array([[2.0, 1.0], [1.0, 3.0]])
    >>> SymmetricProduct(2, lambda a, b: K[a, b])(np.eye(2))
    array([[2., 1.],
           [1., 3.]])
    """

    def __init__(self, n: int, tile: Tile, *, squared: bool = False) -> None:
        self._tile, self._squared = tile, squared
        self._positions = upper_tiles(n)
        self._n_sums = min(N_PARTIAL_SUMS, len(self._positions))
        self._workspace = np.empty(0)  # reused: allocating memory takes as long as a product

    def __call__(self, V: np.ndarray) -> np.ndarray:
        """Return K @ V in float64, for V of shape (n, p)."""
        if V.shape[1] > MAX_VECTORS:
            columns = range(0, V.shape[1], MAX_VECTORS)
            return np.hstack([self(V[:, j : j + MAX_VECTORS]) for j in columns])
        return self._in_one_pass(V, with_norm=False)[0]

    def with_squared_norm(self, V: np.ndarray) -> tuple[np.ndarray, float]:
        """Return K @ V and the sum of the squared entries of K, in one pass over K.

        V has at most ``MAX_VECTORS`` columns.

        Examples
        --------
        >>> K = np.array([[2.0, 1.0], [1.0, 3.0]])
        >>> SymmetricProduct(2, lambda a, b: K[a, b]).with_squared_norm(np.ones((2, 1)))
        (array([[3.],
               [4.]]), 15.0)
        """
        return self._in_one_pass(V, with_norm=True)

    def _in_one_pass(self, V: np.ndarray, *, with_norm: bool) -> tuple[np.ndarray, float]:
        n, p = V.shape
        add_both = _compiled_products(n, p)
        V = np.asarray(V, order="C" if add_both is None else "F")
        size = self._n_sums * n * p
        if self._workspace.size < size:
            self._workspace = np.empty(size)
        if add_both is None:
            sums = self._workspace[:size].reshape(self._n_sums, n, p)
        else:
            sums = self._workspace[:size].reshape(self._n_sums, p, n).transpose(0, 2, 1)
        norms = np.zeros(self._n_sums)

        def work(sum_indices: Iterator[int]) -> None:
            for index in sum_indices:
                sums[index] = 0.0
                positions = self._positions[index::N_PARTIAL_SUMS]
                norms[index] = self._add_products(
                    V, sums[index], positions, add_both, with_norm=with_norm
                )

        run_on_threads(work, range(self._n_sums), shared_queue=True)
        return np.sum(sums, axis=0), float(np.sum(norms))

    def _add_products(
        self,
        V: np.ndarray,
        total: np.ndarray,
        positions: list[tuple[slice, slice]],
        add_both: Callable[..., None] | None,
        *,
        with_norm: bool,
    ) -> float:
        """Add the products of the tiles at the given positions to the total.

        Return the sum of the squared entries of these tiles and their mirror images, or 0 without
        `with_norm`.
        """
        buffer, norm = np.empty(TILE_SIZE**2), 0.0
        for a, b in positions:
            stop_if_interrupted()
            values = self._tile(a, b)
            is_usable = add_both is None or values.flags.c_contiguous
            if self._squared or values.dtype != np.float64 or not is_usable:
                block = buffer[: values.size].reshape(values.shape)
                block[...] = values
                values = np.multiply(block, block, out=block) if self._squared else block
            if add_both is not None and a != b:
                add_both(values, a.start, b.start, V.T, total.T)
            else:
                total[a] += values @ V[b]
                if a != b:
                    total[b] += values.T @ V[a]
            if with_norm:
                norm += (1 if a == b else 2) * float(np.vdot(values, values))
        return norm


def _compiled_products(n: int, p: int) -> Callable[..., None] | None:
    """Return the compiled function for products of n x n matrices with p vectors, or None.

    It takes vectors as rows.
    """
    if n < MIN_ROWS_COMPILED or p > MAX_VECTORS_COMPILED:
        return None
    compiled = import_compiled("linalg._compiled")
    return None if compiled is None else compiled.add_both_products
