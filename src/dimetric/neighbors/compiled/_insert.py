"""Sorted lists of candidates, for the compiled searches."""

from numba import njit


@njit(nogil=True, cache=True, inline="always")
def insert(squares, indices, square, index):  # type: ignore # pragma: no cover - compiled
    """Insert a candidate into a sorted row of candidates, and drop the farthest."""
    p = len(squares) - 1
    while p > 0 and squares[p - 1] > square:
        squares[p], indices[p] = squares[p - 1], indices[p - 1]
        p -= 1
    squares[p], indices[p] = square, index
