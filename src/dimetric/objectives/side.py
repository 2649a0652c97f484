"""Labels, targets and weights of the points along one side of a block of squared distances."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import array_api_compat as compat
import numpy as np

from dimetric._arrays.namespaces import Array, asarray_like, namespace, take_rows, to_host


@dataclass(frozen=True, eq=False)
class Side:
    """Labels, targets and weights of the points along the rows or the columns of a block.

    Rows and columns may be the same set of samples or two different sets, such as queries and
    documents, or samples and centroids.

    Parameters
    ----------
    positions : array of shape (n,)
        Identification number of each point. Points with the same number are the same sample, so
        two different sets of points have no number in common.
    labels : array of shape (n,), optional
        Classes, as integers from 0.
    targets : array of shape (n,) or (n, q), optional
        Targets that are not classes, in float64.
    weights : array of shape (n,), optional
        Weights of the points.

    Examples
    --------
    >>> side = Side.of(np.zeros((3, 2)), labels=np.array([0, 0, 1]))
    >>> side.same_label(side)
    array([[ True,  True, False],
           [ True,  True, False],
           [False, False,  True]])
    >>> side[:1].different_sample(side)
    array([[False,  True,  True]])
    """

    positions: Array
    labels: Array | None = None
    targets: Array | None = None
    weights: Array | None = None

    @classmethod
    def of(
        cls,
        X: Array,
        *,
        labels: Any = None,
        targets: Array | None = None,
        weights: Array | None = None,
        first: int = 0,
    ) -> Self:
        """Return the side of the points X, in the namespace and on the device of X.

        The positions are ``first, first + 1, ...``.
        """
        xp, n = namespace(X), X.shape[0]
        return cls(
            xp.arange(first, first + n, dtype=xp.int64, device=compat.device(X)),
            None if labels is None else asarray_like(labels, X, dtype=xp.int64),
            None if targets is None else asarray_like(targets, X, dtype=xp.float64),
            None if weights is None else asarray_like(weights, X),
        )

    def __len__(self) -> int:
        return int(self.positions.shape[0])

    def __getitem__(self, block: slice) -> "Side":
        """Return the side of a block of the points."""
        return self._apply(lambda a: a[block, ...])

    def take(self, rows: np.ndarray) -> "Side":
        """Return the side of some of the points, given their row indices on the host."""
        return self._apply(lambda a: take_rows(a, rows))

    def _apply(self, select: Callable[[Array], Array]) -> "Side":
        arrays = (self.positions, self.labels, self.targets, self.weights)
        return Side(*(None if a is None else select(a) for a in arrays))

    def same_label(self, columns: "Side") -> Array:
        """Return a boolean matrix, True where row and column have the same label."""
        return self._required_labels()[:, None] == columns._required_labels()[None, :]

    def different_sample(self, columns: "Side") -> Array:
        """Return a boolean matrix, True where row and column are different samples."""
        return self.positions[:, None] != columns.positions[None, :]

    def n_different_pairs(self, columns: "Side") -> int:
        """Return the number of (row, column) pairs that are two different samples."""
        return len(self) * len(columns) - int(np.sum(self._is_among(columns)))

    def n_friends(self, columns: "Side") -> np.ndarray:
        """Return, for each row, the number of other samples with its label, on the host."""
        row_labels, column_labels = (to_host(side._required_labels()) for side in (self, columns))
        counts = np.bincount(column_labels, minlength=int(np.max(row_labels, initial=0)) + 1)
        return np.asarray(counts[row_labels] - self._is_among(columns))

    def friend_weights(self, columns: "Side") -> np.ndarray:
        """Return, for each row, the total weight of other samples with its label, on the host."""
        if columns.weights is None:
            return self.n_friends(columns).astype(np.float64)
        row_labels, column_labels = (to_host(side._required_labels()) for side in (self, columns))
        totals = np.bincount(
            column_labels,
            to_host(columns.weights).astype(np.float64),
            minlength=int(np.max(row_labels, initial=0)) + 1,
        )
        own = 1.0 if self.weights is None else to_host(self.weights).astype(np.float64)
        return np.asarray(np.maximum(totals[row_labels] - own * self._is_among(columns), 0.0))

    def total_weight(self, is_counted: np.ndarray | None = None) -> float:
        """Return the sum of the weights, or the number of points if they have no weights.

        If the boolean vector `is_counted` is given, only some of the points are counted.
        """
        if self.weights is None:
            return float(len(self) if is_counted is None else np.sum(is_counted))
        return float(
            np.sum(to_host(self.weights), where=True if is_counted is None else is_counted)
        )

    def target_columns(self, dtype: Any) -> Array:
        """Return the targets as an array of shape (n, q) of a dtype."""
        if self.targets is None:
            raise ValueError("The rule uses targets, but the points have no targets.")
        xp = namespace(self.targets)
        return xp.astype(xp.reshape(self.targets, (len(self), -1)), dtype, copy=False)

    def _required_labels(self) -> Array:
        if self.labels is None:
            raise ValueError("The rule compares labels, but the points have no labels.")
        return self.labels

    def _is_among(self, columns: "Side") -> np.ndarray:
        """Return 1 for each point that is also a column, else 0, on the host."""
        if self is columns:
            return np.ones(len(self), dtype=np.int64)
        return np.isin(to_host(self.positions), to_host(columns.positions)).astype(np.int64)

    @cached_property
    def class_starts(self) -> np.ndarray:
        """The first row of each class, followed by the number of points, on the host.

        The points must be sorted by class. Class c is ``class_starts[c]:class_starts[c + 1]``.
        """
        return np.concatenate([[0], np.cumsum(np.bincount(to_host(self._required_labels())))])

    def class_runs(self, first: int, last: int) -> list[tuple[slice, slice]]:
        """Split the rows first:last into runs of one class.

        The points must be sorted by class.

        Returns
        -------
        list of (slice, slice)
            For each run, its rows, and the rows of all points of that class.

        Examples
        --------
        >>> side = Side.of(np.zeros((5, 2)), labels=np.array([0, 0, 0, 1, 1]))
        >>> side.class_runs(2, 4)
        [(slice(2, 3, None), slice(0, 3, None)), (slice(3, 4, None), slice(3, 5, None))]
        """
        runs, starts = [], self.class_starts
        c = int(np.searchsorted(starts, first, side="right")) - 1
        while first < last:
            stop = min(last, int(starts[c + 1]))
            if stop > first:
                runs.append((slice(first, stop), slice(int(starts[c]), int(starts[c + 1]))))
            first, c = stop, c + 1
        return runs
