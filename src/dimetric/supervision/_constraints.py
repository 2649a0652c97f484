"""Base class of pairs and triplets, and checks of row indices."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from numbers import Integral
from typing import Any, Self

import numpy as np

from dimetric._arrays.namespaces import Array, namespace, to_host
from dimetric._arrays.row_order import distinct_rows
from dimetric.supervision._folds import folds
from dimetric.supervision._groups import checked_groups

MAX_SAMPLES = 2**31  # a unique integer for each pair of samples fits into an int64


class Constraints(ABC):
    """Base class of immutable sets of constraints on pairs or triplets of samples.

    A subclass defines ``rows``, the constructor ``_of(rows, kinds, n_samples, points)``, and
    ``_checked_fields``, which validates the fields that hold row indices. If its constraints are
    of several kinds, it also overrides ``kinds``.
    """

    n_samples: int | None
    points: Array | None

    def __post_init__(self) -> None:
        if self.points is not None:
            if getattr(self.points, "ndim", 0) != 2:
                raise ValueError("points must be an array of shape (n_samples, n_features).")
            object.__setattr__(self, "points", read_only(self.points))
            object.__setattr__(self, "n_samples", self.points.shape[0])
        elif self.n_samples is not None and not isinstance(self.n_samples, Integral):
            raise TypeError(f"n_samples={self.n_samples!r} must be an int or None.")
        for name, rows in self._checked_fields().items():
            object.__setattr__(self, name, read_only(rows))

    @abstractmethod
    def _checked_fields(self) -> dict[str, np.ndarray]:
        """Return the validated fields that hold row indices."""

    @property
    @abstractmethod
    def rows(self) -> np.ndarray:
        """Row indices of the samples of each constraint, of shape (m, 2) or (m, 3)."""

    @property
    def kinds(self) -> np.ndarray:
        """Kind of each constraint as an integer from 0, of shape (m,)."""
        return np.zeros(len(self.rows), dtype=np.int64)

    @classmethod
    @abstractmethod
    def _of(
        cls, rows: np.ndarray, kinds: np.ndarray, n_samples: int | None, points: Array | None
    ) -> Self:
        """Return constraints with the given rows and kinds."""

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def shape(self) -> tuple[int, ...]:
        """Raise an error. If constraints had a shape, scikit-learn would split them like X."""
        raise ValueError(
            f"{type(self).__name__} cannot be split like X. To cross-validate or tune a learner on "
            "them, use dimetric.selection.cross_validate_pairs or tune_pairs."
        )

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            object.__setattr__(self, name, read_only(value))

    def __getitem__(self, which: Any) -> Self:
        """Return a subset of the constraints, chosen by a slice, indices or a mask of ``rows``."""
        chosen = np.atleast_1d(np.arange(len(self))[which])
        return self._of(self.rows[chosen], self.kinds[chosen], self.n_samples, self.points)

    def __or__(self, other: Self) -> Self:
        """Return the union without duplicates.

        If both hold vectors, their points are concatenated, unless they are the same object.
        """
        if type(other) is not type(self):
            return NotImplemented
        name, n_samples, points, offset = type(self).__name__, self.n_samples, self.points, 0
        if (self.points is None) != (other.points is None):
            raise ValueError(f"Cannot combine {name} of vectors with {name} of row indices.")
        if points is not None and points is not other.points:
            offset, points = points.shape[0], namespace(points).concat([points, other.points])
        elif n_samples is None:
            n_samples = other.n_samples
        elif other.n_samples not in (None, n_samples):
            raise ValueError(
                f"Cannot combine {name} of {n_samples} samples with {name} of {other.n_samples}."
            )
        rows = np.concatenate([self.rows, other.rows + offset])
        kinds = np.concatenate([self.kinds, other.kinds])
        first = np.unique(distinct_rows(np.column_stack([kinds, rows]))[1], return_index=True)[1]
        first.sort()
        return self._of(rows[first], kinds[first], n_samples, points)

    def __eq__(self, other: object) -> bool:
        return (
            type(other) is type(self)
            and np.array_equal(self.rows, other.rows)
            and np.array_equal(self.kinds, other.kinds)
            and self.n_samples == other.n_samples
            and (self.points is other.points or _all_equal(self.points, other.points))
        )

    def __hash__(self) -> int:
        return hash((self.rows.tobytes(), self.kinds.tobytes(), self.n_samples))

    def split(
        self,
        n_splits: int = 5,
        *,
        groups: Any = None,
        share_samples: bool = False,
        random_state: Any = None,
    ) -> Iterator[tuple[Self, Self]]:
        """Yield training and test constraints for each fold.

        Constraints on the same samples are in the same fold. Equal vectors count as one sample.

        Parameters
        ----------
        n_splits : int, default=5
            Number of folds.
        groups : array-like of shape (n_samples,), optional
            Group of each sample. Samples of one group never occur in both training and test
            constraints. Requires ``share_samples=False``.
        share_samples : bool, default=False
            Whether a sample may occur in both training and test constraints. If False, samples
            are assigned to folds, and constraints across folds are left out. Samples linked by
            constraints are in the same fold, unless there are too many of them. If all samples
            are linked, about one in `n_splits` pairs, or one in ``n_splits ** 2`` triplets, is
            left for testing.
        random_state : int, RandomState or None
            Random seed of the assignment.

        Examples
        --------
        >>> from dimetric import Pairs
        >>> pairs = Pairs([[0, 1], [2, 3], [4, 5]], [[1, 2], [4, 6]])
        >>> for train, test in pairs.split(2, random_state=0):
        ...     train.rows.tolist(), test.rows.tolist()
        ([[4, 5], [4, 6]], [[0, 1], [2, 3], [1, 2]])
        ([[0, 1], [2, 3], [1, 2]], [[4, 5], [4, 6]])
        """
        rows = self.rows
        if groups is not None:
            if share_samples:
                raise ValueError(
                    "share_samples=True lets samples of one group occur in both training and test "
                    "constraints. Set share_samples=False, or groups=None."
                )
            n_samples = len(groups) if self.n_samples is None else self.n_samples
            check_n_samples(rows, self.n_samples, n_samples, type(self).__name__)
            rows = checked_groups(groups, n_samples)[rows]
        elif self.points is not None:
            rows = distinct_rows(to_host(self.points).astype(np.float64))[1][rows]
        parts = folds(
            rows, self.kinds, n_splits, share_samples=share_samples, random_state=random_state
        )
        for train, test in parts:
            yield self[train], self[test]

    def reordered(self, order: np.ndarray) -> Self:
        """Renumber the constraints for reordered samples, and sort them.

        Parameters
        ----------
        order : ndarray of shape (n_samples,)
            Current row indices of the samples, in the new order.

        Examples
        --------
        >>> from dimetric import Pairs
        >>> Pairs([[0, 2], [0, 1]]).reordered(np.array([1, 0, 2])).similar.tolist()
        [[0, 1], [1, 2]]
        """
        order = np.asarray(order)
        n = int(np.max(self.rows, initial=-1)) + 1 if self.n_samples is None else self.n_samples
        if order.ndim != 1 or len(order) < n or np.any(np.sort(order) != np.arange(len(order))):
            raise ValueError(f"order must contain each row index from 0 to {n - 1} once.")
        new_row = np.empty(len(order), dtype=np.int64)
        new_row[order] = np.arange(len(order))
        renumbered = self._of(new_row[self.rows], self.kinds, len(order), None)
        return renumbered[np.lexsort((*renumbered.rows.T[::-1], renumbered.kinds))]


def read_only(value: Any) -> Any:
    """Return a read-only view of a NumPy array, and anything else unchanged."""
    if isinstance(value, np.ndarray) and value.flags.writeable:
        value = value.view()
        value.flags.writeable = False
    return value


def _all_equal(a: Array | None, b: Array | None) -> bool:
    return a is not None and b is not None and np.array_equal(to_host(a), to_host(b))


def checked_rows(rows: Any, name: str, width: int, n_samples: int | None) -> np.ndarray:
    """Validate row indices, and return them as a read-only integer array of shape (m, width).

    Parameters
    ----------
    rows : array-like of shape (m, width)
        Row indices.
    name : str
        Name of the argument in error messages.
    width : int
        2 for pairs, 3 for triplets.
    n_samples : int or None
        Number of samples, if known.

    Examples
    --------
    >>> checked_rows([[0, 1], [2, 2]], "similar", 2, None)
    Traceback (most recent call last):
    ...
    ValueError: similar[1] = [2, 2] contains a sample twice.
    """
    indices = np.asarray(to_host(rows))
    if indices.size == 0:
        indices = np.empty((0, width), dtype=np.int64)
    if indices.ndim != 2 or indices.shape[1] != width or indices.dtype.kind not in "iu":
        raise ValueError(
            f"{name} has shape {indices.shape} and dtype {indices.dtype}, but must be an integer "
            f"array of row indices, with shape (m, {width})."
        )
    bound = MAX_SAMPLES if n_samples is None else n_samples
    outside = np.any((indices < 0) | (indices >= bound), axis=1)
    _raise_for_first(indices, outside, name, f"contains a row index outside 0 to {bound - 1}")
    indices = indices.astype(np.int64)
    ordered = np.sort(indices, axis=1)
    twice = np.any(ordered[:, 1:] == ordered[:, :-1], axis=1)
    _raise_for_first(indices, twice, name, "contains a sample twice")
    return read_only(indices)


def _raise_for_first(rows: np.ndarray, wrong: np.ndarray, name: str, problem: str) -> None:
    if wrong.any():
        first = int(np.argmax(wrong))
        raise ValueError(f"{name}[{first}] = {rows[first].tolist()} {problem}.")


def check_n_samples(rows: np.ndarray, n_samples: int | None, n_rows: int, name: str) -> None:
    """Raise unless the constraints fit an X with `n_rows` rows."""
    if n_samples is not None and n_samples != n_rows:
        raise ValueError(
            f"{name} refer to {n_samples} samples, but X has {n_rows}. To cross-validate, split "
            f"{name} and not X, for example with dimetric.selection.cross_validate_pairs."
        )
    outside = np.flatnonzero((rows >= n_rows).any(axis=1))
    if len(outside):
        raise ValueError(
            f"{name}[{outside[0]}] = {rows[outside[0]].tolist()} contains a row index outside X, "
            f"which has {n_rows} samples."
        )
