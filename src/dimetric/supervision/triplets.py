"""Triplets of samples: the first is more like the second than like the third."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from dimetric._xp import Array, namespace, to_host
from dimetric.supervision.rows import checked_rows, first_of_each, folds, same_samples


@dataclass(frozen=True, eq=False, repr=False)
class Triplets:
    """Triplets of samples, as row numbers of a set X: the anchor is nearer to one than to another.

    Judges disagree, so triplets may contradict each other; each counts, and one that is met
    several times counts as often.

    Parameters
    ----------
    anchor, closer, farther : array-like of shape (m,)
        Row numbers of the samples.
    n_samples : int, optional
        Number of samples in X, where it is known: then no other X is accepted.
    points : array of shape (n_samples, n_features), optional
        The samples themselves, if the triplets bring them along, see :meth:`from_arrays`.

    Examples
    --------
    >>> triplets = Triplets([0, 3], [1, 4], [2, 0])
    >>> triplets
    Triplets(2)
    >>> triplets.rows.tolist()
    [[0, 1, 2], [3, 4, 0]]
    >>> triplets[:1] | triplets
    Triplets(2)
    """

    anchor: np.ndarray
    closer: np.ndarray
    farther: np.ndarray
    n_samples: int | None = None
    points: Array | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if self.points is not None:
            object.__setattr__(self, "n_samples", self.points.shape[0])
        names = ("anchor", "closer", "farther")
        sizes = {name: np.shape(getattr(self, name)) for name in names}
        if len(set(sizes.values())) > 1 or len(sizes["anchor"]) != 1:
            told = ", ".join(f"{name} {size}" for name, size in sizes.items())
            raise ValueError(f"anchor, closer and farther must be as long, of shape (m,): {told}.")
        columns = [to_host(getattr(self, name)) for name in names]
        rows = checked_rows(np.stack(columns, axis=1), "triplets", 3, self.n_samples)
        for name, column in zip(names, rows.T, strict=True):
            object.__setattr__(self, name, column)

    @classmethod
    def from_rows(
        cls, rows: Array, n_samples: int | None = None, *, points: Array | None = None
    ) -> Self:
        """Return triplets from an array of shape (m, 3): anchor, closer, farther.

        Examples
        --------
        >>> Triplets.from_rows([[0, 1, 2]]).closer
        array([1])
        """
        rows = checked_rows(rows, "triplets", 3, n_samples)
        return cls(rows[:, 0], rows[:, 1], rows[:, 2], n_samples, points=points)

    @classmethod
    def from_arrays(cls, anchor: Array, closer: Array, farther: Array) -> Self:
        """Return triplets of given vectors, for users who have no set X that they are rows of.

        See :meth:`Pairs.from_arrays`: ``learner.fit(None, triplets=triplets)``.

        Parameters
        ----------
        anchor, closer, farther : array-like of shape (m, n_features)
            Vectors.

        Examples
        --------
        >>> Triplets.from_arrays([[0.0, 1.0]], [[0.0, 2.0]], [[9.0, 9.0]]).rows
        array([[0, 1, 2]])
        """
        given = [a if hasattr(a, "shape") else np.asarray(a) for a in (anchor, closer, farther)]
        shapes = {tuple(vectors.shape) for vectors in given}
        if len(shapes) > 1 or len(given[0].shape) != 2:
            told = ", ".join(str(tuple(vectors.shape)) for vectors in given)
            raise ValueError(
                f"anchor, closer and farther must be of one shape (m, n_features): {told}."
            )
        rows = np.arange(3 * given[0].shape[0]).reshape(3, -1).T
        return cls.from_rows(rows, points=namespace(*given).concat(given))

    @property
    def rows(self) -> np.ndarray:
        """Row numbers of all triplets, of shape (m, 3)."""
        return np.stack([self.anchor, self.closer, self.farther], axis=1)

    def __len__(self) -> int:
        return len(self.anchor)

    def __getitem__(self, which: Any) -> "Triplets":
        """Return some triplets, chosen by a slice, numbers or a mask."""
        chosen = np.atleast_1d(np.arange(len(self))[which])
        return Triplets.from_rows(self.rows[chosen], self.n_samples, points=self.points)

    def __or__(self, other: "Triplets") -> "Triplets":
        """Return the triplets of both, each once."""
        if not isinstance(other, Triplets):
            return NotImplemented
        n_samples, points, moved = same_samples(self, other)
        rows = np.concatenate([self.rows, other.rows + moved])
        return Triplets.from_rows(rows[first_of_each(rows)], n_samples, points=points)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Triplets)
            and np.array_equal(self.rows, other.rows)
            and self.n_samples == other.n_samples
            and self.points is other.points
        )

    def __hash__(self) -> int:
        return hash((self.rows.tobytes(), self.n_samples))

    def __repr__(self) -> str:
        return f"Triplets({len(self)})"

    def split(
        self, n_splits: int = 5, *, shared: bool = False, random_state: Any = None
    ) -> Iterator[tuple["Triplets", "Triplets"]]:
        """Yield triplets to learn from and triplets to judge by, see :meth:`Pairs.split`.

        Examples
        --------
        >>> train, test = next(Triplets([0, 3], [1, 4], [2, 5]).split(2, random_state=0))
        >>> train.rows.tolist(), test.rows.tolist()
        ([[0, 1, 2]], [[3, 4, 5]])
        """
        kinds = np.zeros(len(self), dtype=np.int64)
        parts = folds(self.rows, kinds, n_splits, shared=shared, random_state=random_state)
        for train, test in parts:
            yield self[train], self[test]

    def reordered(self, order: np.ndarray) -> "Triplets":
        """Return the triplets for samples in another order, see :meth:`Pairs.reordered`."""
        place = np.empty(len(order), dtype=np.int64)
        place[order] = np.arange(len(order))
        rows = place[self.rows]
        return Triplets.from_rows(rows[np.lexsort(rows.T[::-1])], len(order))
