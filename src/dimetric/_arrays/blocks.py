"""Blocks of rows, so that a computation over many rows needs little memory."""

from collections.abc import Iterator


def row_blocks(n_rows: int, block: int) -> Iterator[slice]:
    """Yield the slices that divide `n_rows` rows into blocks.

    Examples
    --------
    >>> [(b.start, b.stop) for b in row_blocks(5, 2)]
    [(0, 2), (2, 4), (4, 5)]
    """
    for start in range(0, n_rows, block):
        yield slice(start, min(start + block, n_rows))


def scatter_block_rows(n_features: int) -> int:
    """Return the number of rows of a block for a statistic of size n_features^2.

    A block is large enough that computing the statistic takes longer than adding it to others.

    Examples
    --------
    >>> scatter_block_rows(50), scatter_block_rows(784), scatter_block_rows(10_000)
    (65536, 21399, 40000)
    """
    return max(4 * n_features, min(2**24 // n_features, 2**16))
