"""The number of distinct rows of a source, up to a limit."""

from dataclasses import dataclass

import numpy as np

from dimetric._arrays.row_order import row_hashes

GROUP_FACTOR = np.uint64(0x9E3779B97F4A7C15)  # an odd number, so that products differ


@dataclass(frozen=True)
class DistinctRows:
    """Hashes of distinct rows, at most `limit` of them. Those of blocks can be added.

    Examples
    --------
    >>> X = np.array([[1.0, 2.0], [0.0, 0.0], [1.0, 2.0]])
    >>> len(DistinctRows.of(X, 10) + DistinctRows.of(X[1:], 10))
    2
    """

    limit: int
    hashes: np.ndarray

    @classmethod
    def of(
        cls, X: np.ndarray, limit: int, group_hashes: np.ndarray | None = None
    ) -> "DistinctRows":
        """Return the distinct rows of a block. Rows are read until the limit is reached.

        With `group_hashes`, an integer for each row, rows of different groups are distinct.
        """
        rows = 2 * limit
        while True:
            hashes = row_hashes(X[:rows])
            if group_hashes is not None:
                hashes = hashes + group_hashes[:rows].astype(np.uint64) * GROUP_FACTOR
            hashes = np.unique(hashes)
            if len(hashes) >= limit or rows >= len(X):
                return cls(limit, hashes[:limit])
            rows *= 2

    def __add__(self, other: "DistinctRows") -> "DistinctRows":
        """Return the distinct rows of both blocks."""
        return DistinctRows(self.limit, np.union1d(self.hashes, other.hashes)[: self.limit])

    def __len__(self) -> int:
        return len(self.hashes)
