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


@njit(nogil=True, cache=True)
def sift(values, places, by_rank, at_rank, n_before):  # type: ignore # pragma: no cover - compiled
    """Insert a value of each query, with its place, into the queries' sorted values.

    Row r of `by_rank` and `at_rank` holds the r-th smallest of the `n_before` values so far, and
    its place. Places increase from call to call, and equal values are sorted by them. All queries
    take the same steps, so that vector instructions do the work without branches. If all rows are
    used, the largest value is dropped. Changes `values` and `places`.
    """
    for r in range(min(n_before, len(by_rank))):
        row, row_places = by_rank[r], at_rank[r]
        for i in range(len(values)):
            kept, value, kept_place, place = row[i], values[i], row_places[i], places[i]
            is_first = (value < kept) | ((value == kept) & (place < kept_place))
            row[i] = value if is_first else kept
            values[i] = kept if is_first else value
            row_places[i] = place if is_first else kept_place
            places[i] = kept_place if is_first else place
    if n_before < len(by_rank):
        row, row_places = by_rank[n_before], at_rank[n_before]
        for i in range(len(values)):
            row[i], row_places[i] = values[i], places[i]
