"""Division of rows into blocks, to bound the memory of a computation."""

from collections.abc import Iterator

BLOCK_ENTRIES = 2**24  # entries in a block, 128 MiB in float64
MAX_BLOCK_ROWS = 2**16  # rows in a block of few features; chosen by experiment
MIN_ROWS_PER_FEATURE = 4  # makes adding a scatter matrix cheaper than computing it


def row_blocks(n_rows: int, block_rows: int) -> Iterator[slice]:
    """Yield slices that divide `n_rows` rows into blocks of at most `block_rows` rows.

    Examples
    --------
    >>> [(b.start, b.stop) for b in row_blocks(5, 2)]
    [(0, 2), (2, 4), (4, 5)]
    """
    for start in range(0, n_rows, block_rows):
        yield slice(start, min(start + block_rows, n_rows))


def scatter_block_rows(n_features: int) -> int:
    """Return the number of rows in a block whose scatter matrix is computed.

    Blocks are large enough that computing the scatter matrix of a block takes longer than adding it
    to another one.

    Examples
    --------
    >>> scatter_block_rows(50), scatter_block_rows(784), scatter_block_rows(10_000)
    (65536, 21399, 40000)
    """
    return max(MIN_ROWS_PER_FEATURE * n_features, min(BLOCK_ENTRIES // n_features, MAX_BLOCK_ROWS))
