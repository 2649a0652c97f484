"""Rows at given positions of the sorted rows of a source, without sorting all of them."""

from collections.abc import Callable
from typing import Any

import numpy as np

from dimetric._arrays.blocks import row_blocks
from dimetric._arrays.row_order import byte_strings, sortable_integers
from dimetric.blocks.block import Block
from dimetric.blocks.sample import RowSample, random_numbers
from dimetric.blocks.source import Source

KEY_BLOCK_ROWS = 8192  # rows that are compared at once, to save memory
SECOND_BITS = 40  # bits of the second feature in the prefix of a row
SAMPLE_BYTES = 2**22  # size of the rows that divide the others into cells
COLLECTED_BYTES = 2**25  # size of the rows of the wanted cells, at which they are read
ROWS_PER_CELL = 8  # rows of a cell that divide it again

# Called as content(block, *shared). Returns the rows to sort, or None if the block has none.
Content = Callable[..., np.ndarray | None]


def rows_at(source: Source, positions: np.ndarray, content: Content, *shared: Any) -> np.ndarray:
    """Return the rows at some positions of the lexicographic order of all rows.

    The rows are exactly those that sorting all rows would give. A random sample of rows divides the
    others into cells. A pass counts the rows in each cell, and the cells that contain the positions
    are divided again, until few rows remain in them. For 10 million rows and 1,000 positions, this
    takes five passes.

    Parameters
    ----------
    source : Source
        The samples.
    positions : ndarray
        Positions in the order, from 0.
    content : callable
        Returns the rows of a block, ``content(block, *shared)``, as a floating array.
    *shared
        Further arguments of `content`.
    """
    rows_of = (content, *shared)
    width = source.n_features * source.dtype.itemsize
    size, few = max(2, SAMPLE_BYTES // width), max(2, COLLECTED_BYTES // width)
    sample = source.reduce(_sample, None, None, size, rows_of, numbered=True)
    dividers = _Dividers(sample.X)
    while True:
        counts = source.reduce(_counts, dividers, rows_of)
        ends = np.cumsum(counts)
        cells = np.searchsorted(ends, positions, side="right")
        wanted = np.unique(cells[cells % 2 == 0])
        if np.sum(counts[wanted]) <= few:
            break
        sample = source.reduce(_sample, dividers, wanted, ROWS_PER_CELL, rows_of, numbered=True)
        # Only dividers at the ends of wanted cells, and those at a position, are used again.
        used = np.concatenate([wanted // 2 - 1, wanted // 2, cells[cells % 2 == 1] // 2])
        used = np.unique(used[(used >= 0) & (used < len(dividers))])
        dividers = _Dividers(np.concatenate([dividers.rows[used], sample.X]))
    found = dividers.rows[np.minimum(cells // 2, len(dividers) - 1)]
    if len(wanted):
        inside = source.reduce(_sample, dividers, wanted, few, rows_of, numbered=True).X
        inside = inside[np.argsort(byte_strings(inside), kind="stable")]
        starts = np.cumsum(counts[wanted]) - counts[wanted]  # of the cells, among these rows
        is_inside = cells % 2 == 0
        places = starts[np.searchsorted(wanted, cells[is_inside])]
        places = places + positions[is_inside] - (ends - counts)[cells[is_inside]]
        found[is_inside] = inside[places]
    return found


class _Dividers:
    """Distinct rows in lexicographic order, which divide all rows into cells."""

    def __init__(self, rows: np.ndarray) -> None:
        strings = byte_strings(rows)
        order = np.argsort(strings, kind="stable")
        rows, strings = rows[order], strings[order]
        is_new = np.append(True, np.any(rows[1:] != rows[:-1], axis=1))
        self.rows, self._strings = rows[is_new], strings[is_new]
        self._first = np.unique(self.rows[:, 0])
        self._prefixes = self._prefix(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __getstate__(self) -> dict[str, np.ndarray]:
        """Return the state to send to another process, without what can be computed there."""
        return {"rows": self.rows}

    def __setstate__(self, state: dict[str, np.ndarray]) -> None:
        """Restore the state."""
        self.__init__(state["rows"])  # type: ignore[misc]

    def cells(self, rows: np.ndarray) -> np.ndarray:
        """Return the cell of each row.

        Rows between divider i - 1 and divider i are in cell 2 i. Rows equal to divider i are in
        cell 2 i + 1, so that copies of a row do not fill the other cells.
        """
        if not len(rows):
            return np.empty(0, dtype=np.int64)
        prefixes = self._prefix(rows)
        order = np.argsort(prefixes)  # the search is faster for sorted numbers
        prefixes = prefixes[order]
        left, right = np.empty((2, len(rows)), dtype=np.int64)
        left[order] = np.searchsorted(self._prefixes, prefixes, side="left")
        right[order] = np.searchsorted(self._prefixes, prefixes, side="right")
        undecided = np.flatnonzero(left != right)
        for part in row_blocks(len(undecided), KEY_BLOCK_ROWS):
            some = undecided[part]
            keys = byte_strings(rows[some])
            left[some] = np.searchsorted(self._strings, keys, side="left")
            right[some] = np.searchsorted(self._strings, keys, side="right")
        return left + right

    def _prefix(self, rows: np.ndarray) -> np.ndarray:
        """Return an integer for each row. Rows with different integers sort like these.

        The first bits are the place of the first feature among those of the dividers, and the
        others are the second feature. Comparing these is much faster than comparing rows.
        """
        left, right = (np.searchsorted(self._first, rows[:, 0], side) for side in ("left", "right"))
        places = (left + right).astype(np.uint64) << np.uint64(SECOND_BITS)
        if rows.shape[1] == 1:
            return places
        second = sortable_integers(rows[:, 1])
        excess = max(0, 8 * rows.itemsize - SECOND_BITS)
        second = second.astype(np.uint64) >> np.uint64(excess)
        # Rows between two dividers' first features are not compared by the second one.
        return places | np.where(left != right, second, np.uint64(0))


def _sample(
    block: Block,
    dividers: _Dividers | None,
    wanted: np.ndarray | None,
    size: int,
    rows_of: tuple[Any, ...],
) -> RowSample | None:
    """Return `size` random rows of each wanted cell, or of all rows."""
    rows = _rows(block, rows_of)
    numbers, cells = (block.first or 0) + np.arange(len(rows)), None
    if dividers is not None and wanted is not None:
        cells = dividers.cells(rows)
        kept = np.flatnonzero(np.isin(cells, wanted))
        rows, numbers, cells = rows[kept], numbers[kept], cells[kept]
    if not len(rows):
        return None
    keys = random_numbers(numbers, seed=0)
    return RowSample(size, cells is not None, rows, cells, None, numbers, keys).smallest()


def _counts(block: Block, dividers: _Dividers, rows_of: tuple[Any, ...]) -> np.ndarray:
    """Return the number of rows in each cell."""
    return np.bincount(dividers.cells(_rows(block, rows_of)), minlength=2 * len(dividers) + 1)


def _rows(block: Block, rows_of: tuple[Any, ...]) -> np.ndarray:
    content, *shared = rows_of
    rows = content(block, *shared)
    return block.X[:0] if rows is None else rows
