"""What pairs and triplets share: the interface of a set, and checks of row numbers."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, Self

import numpy as np

from dimetric._arrays.namespaces import Array, namespace, to_host
from dimetric._arrays.row_order import distinct_rows
from dimetric.supervision._folds import folds

MAX_SAMPLES = 2**31  # so that a number for each pair of samples fits an int64


class Constraints(ABC):
    """Constraints on tuples of samples: a frozen record with the interface of a set.

    A kind of constraint has ``rows`` and ``kinds``, and ``_of`` makes a record from these. Its
    fields with row numbers are checked by ``_checked_fields`` when a record is made.
    """

    n_samples: int | None
    points: Array | None

    def __post_init__(self) -> None:
        if self.points is not None:
            object.__setattr__(self, "points", read_only(self.points))
            object.__setattr__(self, "n_samples", self.points.shape[0])
        for name, rows in self._checked_fields().items():
            object.__setattr__(self, name, read_only(rows))

    @abstractmethod
    def _checked_fields(self) -> dict[str, np.ndarray]:
        """Return the fields that hold row numbers, checked."""

    @property
    @abstractmethod
    def rows(self) -> np.ndarray:
        """Row numbers of the samples of each constraint, of shape (m, 2) or (m, 3)."""

    @property
    def kinds(self) -> np.ndarray:
        """Kind of each constraint, as an integer from 0."""
        return np.zeros(len(self.rows), dtype=np.int64)

    @classmethod
    @abstractmethod
    def _of(
        cls, rows: np.ndarray, kinds: np.ndarray, n_samples: int | None, points: Array | None
    ) -> Self:
        """Return constraints from rows and kinds."""

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def shape(self) -> tuple[int, ...]:
        """Raise: scikit-learn asks for the shape of arguments that it would split like X."""
        raise ValueError(
            f"{type(self).__name__} are no array with a row for each sample. To cross-validate or "
            "search, divide them and leave X whole: dimetric.selection.cross_validate_pairs, "
            "tune_pairs."
        )

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            object.__setattr__(self, name, read_only(value))

    def __getitem__(self, which: Any) -> Self:
        """Return some constraints, chosen by a slice, numbers or a mask over ``rows``."""
        chosen = np.atleast_1d(np.arange(len(self))[which])
        return self._of(self.rows[chosen], self.kinds[chosen], self.n_samples, self.points)

    def __or__(self, other: Self) -> Self:
        """Return the union, without repetitions.

        If both hold vectors, these are concatenated, unless they are the same object.
        """
        if type(other) is not type(self):
            return NotImplemented
        n_samples, points, moved = self.n_samples, self.points, 0
        if (self.points is None) != (other.points is None):
            raise ValueError("One holds vectors, the other row numbers of an X: they do not mix.")
        if points is not None and points is not other.points:
            moved, points = points.shape[0], namespace(points).concat([points, other.points])
        elif n_samples is None:
            n_samples = other.n_samples
        elif other.n_samples not in (None, n_samples):
            raise ValueError(f"One is of {n_samples} samples, the other of {other.n_samples}.")
        rows = np.concatenate([self.rows, other.rows + moved])
        kinds = np.concatenate([self.kinds, other.kinds])
        first = np.unique(np.column_stack([kinds, rows]), axis=0, return_index=True)[1]
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
        self, n_splits: int = 5, *, shared: bool = False, random_state: Any = None
    ) -> Iterator[tuple[Self, Self]]:
        """Yield the constraints to train on and those to test on, fold by fold.

        Constraints on the same samples are in one fold. Equal vectors count as one sample.

        Parameters
        ----------
        n_splits : int, default=5
            Number of folds.
        shared : bool, default=False
            Whether a sample may be in training and test. If not, samples are assigned to folds:
            linked samples stay together unless they are too many, and constraints across folds
            are left out, so that test samples are never trained on. If pairs link all samples,
            about one in `n_splits` is left for testing; of triplets one in ``n_splits ** 2``.
        random_state : int, RandomState or None
            Seed of the assignment.

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
        if self.points is not None:  # equal vectors are one sample
            rows = distinct_rows(to_host(self.points).astype(np.float64))[1][rows]
        parts = folds(rows, self.kinds, n_splits, shared=shared, random_state=random_state)
        for train, test in parts:
            yield self[train], self[test]

    def reordered(self, order: np.ndarray) -> Self:
        """Return the constraints for samples in another order, sorted.

        Parameters
        ----------
        order : ndarray of shape (n_samples,)
            Present row number of each sample in the new order.

        Examples
        --------
        >>> from dimetric import Pairs
        >>> Pairs([[0, 2], [0, 1]]).reordered(np.array([1, 0, 2])).similar.tolist()
        [[0, 1], [1, 2]]
        """
        place = np.empty(len(order), dtype=np.int64)
        place[order] = np.arange(len(order))
        moved = self._of(place[self.rows], self.kinds, len(order), None)
        return moved[np.lexsort((*moved.rows.T[::-1], moved.kinds))]


def read_only(value: Any) -> Any:
    """Return a read-only view of a NumPy array, and anything else unchanged."""
    if isinstance(value, np.ndarray) and value.flags.writeable:
        value = value.view()
        value.flags.writeable = False
    return value


def _all_equal(a: Array | None, b: Array | None) -> bool:
    return a is not None and b is not None and np.array_equal(to_host(a), to_host(b))


def checked_rows(rows: Any, name: str, width: int, n_samples: int | None) -> np.ndarray:
    """Return row numbers of samples as integers of shape (m, width), read-only.

    Parameters
    ----------
    rows : array-like of shape (m, width)
        Row numbers.
    name : str
        Name of the rows in error messages.
    width : int
        2 for pairs, 3 for triplets.
    n_samples : int or None
        Number of samples, where it is known.

    Examples
    --------
    >>> checked_rows([[0, 1], [2, 2]], "similar", 2, None)
    Traceback (most recent call last):
    ...
    ValueError: similar[1] = [2, 2] names a sample twice.
    """
    given = np.asarray(to_host(rows))
    if given.size == 0:
        given = np.empty((0, width), dtype=np.int64)
    if given.ndim != 2 or given.shape[1] != width or given.dtype.kind not in "iu":
        raise ValueError(
            f"{name} has shape {given.shape} and dtype {given.dtype}; it must hold row numbers: "
            f"integers of shape (m, {width})."
        )
    bound = MAX_SAMPLES if n_samples is None else n_samples
    outside = np.any((given < 0) | (given >= bound), axis=1)
    where = "of no sample" if n_samples is None else f"outside of the {n_samples} samples"
    _refuse(given, outside, name, f"names a row {where}")
    given = given.astype(np.int64)
    ordered = np.sort(given, axis=1)
    twice = np.any(ordered[:, 1:] == ordered[:, :-1], axis=1)
    _refuse(given, twice, name, "names a sample twice")
    return read_only(given)


def _refuse(rows: np.ndarray, wrong: np.ndarray, name: str, why: str) -> None:
    if wrong.any():
        first = int(np.argmax(wrong))
        raise ValueError(f"{name}[{first}] = {rows[first].tolist()} {why}.")


def checked_n_samples(rows: np.ndarray, n_samples: int | None, n_rows: int, name: str) -> None:
    """Raise unless row numbers belong to a set of `n_rows` samples."""
    if n_samples is not None and n_samples != n_rows:
        raise ValueError(
            f"{name} are of {n_samples} samples, but X has {n_rows}: row numbers would name other "
            "samples than were meant. To cross-validate, split the pairs and leave X whole "
            "(cross_validate_pairs)."
        )
    outside = np.flatnonzero((rows >= n_rows).any(axis=1))
    if len(outside):
        raise ValueError(
            f"{name}[{outside[0]}] = {rows[outside[0]].tolist()} names a row outside X, which has "
            f"{n_rows} samples."
        )
