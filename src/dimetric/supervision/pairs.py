"""Pairs of samples that are alike, and of samples that are not."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from dimetric._xp import Array, namespace
from dimetric.supervision.rows import checked_rows, first_of_each, folds, same_samples


@dataclass(frozen=True, eq=False, repr=False)
class Pairs:
    """Pairs of samples, similar and dissimilar, as row numbers of a set X.

    Pairs are unordered, and kept with the smaller number first. One that is met several times
    counts as often.

    Parameters
    ----------
    similar, dissimilar : array-like of shape (m, 2)
        Row numbers of two samples each.
    n_samples : int, optional
        Number of samples in X, where it is known: then no other X is accepted.
    points : array of shape (n_samples, n_features), optional
        The samples themselves, if the pairs bring them along, see :meth:`from_arrays`.

    Examples
    --------
    >>> pairs = Pairs([[0, 1], [4, 2]], [[0, 4]])
    >>> pairs
    Pairs(2 similar, 1 dissimilar)
    >>> pairs.rows.tolist(), pairs.is_similar.tolist()
    ([[0, 1], [2, 4], [0, 4]], [True, True, False])
    >>> len(pairs), pairs[1:], pairs | Pairs([[1, 0]])
    (3, Pairs(1 similar, 1 dissimilar), Pairs(2 similar, 1 dissimilar))
    """

    similar: np.ndarray = field(default_factory=lambda: np.empty((0, 2), dtype=np.int64))
    dissimilar: np.ndarray = field(default_factory=lambda: np.empty((0, 2), dtype=np.int64))
    n_samples: int | None = None
    points: Array | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if self.points is not None:
            object.__setattr__(self, "n_samples", self.points.shape[0])
        for name in ("similar", "dissimilar"):
            rows = checked_rows(getattr(self, name), name, 2, self.n_samples)
            rows = np.sort(rows, axis=1)
            rows.flags.writeable = False
            object.__setattr__(self, name, rows)
        self._refuse_contradictions()

    @classmethod
    def from_arrays(cls, similar: Array, dissimilar: Array) -> Self:
        """Return pairs of given vectors, for users who have no set X that they are rows of.

        The vectors become ``points``, which pairs are then row numbers of; a learner takes them
        from there: ``learner.fit(None, pairs=pairs)``. Where samples are changed first, as in a
        pipeline, it is ``fit(pairs.points, pairs=pairs)``.

        Parameters
        ----------
        similar, dissimilar : array-like of shape (m, 2, n_features)
            Two vectors each.

        Examples
        --------
        >>> Pairs.from_arrays([[[0.0, 1.0], [0.0, 2.0]]], [[[0.0, 1.0], [9.0, 9.0]]]).rows
        array([[0, 1],
               [2, 3]])
        """
        kinds = _vectors(similar, "similar"), _vectors(dissimilar, "dissimilar")
        given = [vectors for vectors in kinds if vectors.shape[0]]
        if not given or len({vectors.shape[2] for vectors in given}) > 1:
            shapes = " and ".join(str(tuple(vectors.shape)) for vectors in kinds)
            raise ValueError(f"similar and dissimilar have shapes {shapes}; features must agree.")
        xp = namespace(*given)
        points = xp.concat([xp.reshape(vectors, (-1, vectors.shape[2])) for vectors in given])
        rows = np.arange(points.shape[0]).reshape(-1, 2)
        n_similar = kinds[0].shape[0]
        return cls(rows[:n_similar], rows[n_similar:], points=points)

    @property
    def rows(self) -> np.ndarray:
        """Row numbers of all pairs, of shape (m, 2): the similar ones, then the others."""
        return np.concatenate([self.similar, self.dissimilar])

    @property
    def is_similar(self) -> np.ndarray:
        """Whether each pair is similar, of shape (m,), in the order of :attr:`rows`."""
        return np.arange(len(self)) < len(self.similar)

    def __len__(self) -> int:
        return len(self.similar) + len(self.dissimilar)

    def __getitem__(self, which: Any) -> "Pairs":
        """Return some pairs, chosen in the order of :attr:`rows` by a slice, numbers or a mask."""
        chosen = np.atleast_1d(np.arange(len(self))[which])
        rows, is_similar = self.rows[chosen], self.is_similar[chosen]
        return Pairs(rows[is_similar], rows[~is_similar], self.n_samples, points=self.points)

    def __or__(self, other: "Pairs") -> "Pairs":
        """Return the pairs of both, each once."""
        if not isinstance(other, Pairs):
            return NotImplemented
        n_samples, points, moved = same_samples(self, other)
        similar = np.concatenate([self.similar, other.similar + moved])
        dissimilar = np.concatenate([self.dissimilar, other.dissimilar + moved])
        return Pairs(
            similar[first_of_each(similar)],
            dissimilar[first_of_each(dissimilar)],
            n_samples,
            points=points,
        )

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Pairs)
            and np.array_equal(self.similar, other.similar)
            and np.array_equal(self.dissimilar, other.dissimilar)
            and self.n_samples == other.n_samples
            and self.points is other.points
        )

    def __hash__(self) -> int:
        return hash((self.similar.tobytes(), self.dissimilar.tobytes(), self.n_samples))

    def __repr__(self) -> str:
        return f"Pairs({len(self.similar)} similar, {len(self.dissimilar)} dissimilar)"

    def split(
        self, n_splits: int = 5, *, shared: bool = False, random_state: Any = None
    ) -> Iterator[tuple["Pairs", "Pairs"]]:
        """Yield pairs to learn from and pairs to judge by, of one fold after the other.

        Parameters
        ----------
        n_splits : int, default=5
            Number of folds.
        shared : bool, default=False
            Whether a sample may be in pairs of both. Otherwise samples are dealt out: those that
            pairs link stay together while they are few enough, and pairs across folds are left
            out, so that a judgement is one of new samples.
        random_state : int, RandomState or None
            Of the dealing out.

        Examples
        --------
        >>> pairs = Pairs([[0, 1], [2, 3], [4, 5]], [[1, 2], [4, 6]])
        >>> for train, test in pairs.split(2, random_state=0):
        ...     train.rows.tolist(), test.rows.tolist()
        ([[4, 5], [4, 6]], [[0, 1], [2, 3], [1, 2]])
        ([[0, 1], [2, 3], [1, 2]], [[4, 5], [4, 6]])
        """
        kinds = self.is_similar.astype(np.int64)
        parts = folds(self.rows, kinds, n_splits, shared=shared, random_state=random_state)
        for train, test in parts:
            yield self[train], self[test]

    def reordered(self, order: np.ndarray) -> "Pairs":
        """Return the pairs for samples in another order, sorted: nothing depends on how they came.

        Parameters
        ----------
        order : ndarray of shape (n_samples,)
            Rows of the samples where the pairs know them.

        Examples
        --------
        >>> Pairs([[0, 2], [0, 1]]).reordered(np.array([1, 0, 2])).similar.tolist()
        [[0, 1], [1, 2]]
        """
        place = np.empty(len(order), dtype=np.int64)
        place[order] = np.arange(len(order))
        similar, dissimilar = (
            np.sort(place[rows], axis=1) for rows in (self.similar, self.dissimilar)
        )
        similar, dissimilar = (rows[np.lexsort(rows.T[::-1])] for rows in (similar, dissimilar))
        return Pairs(similar, dissimilar, len(order))

    def _refuse_contradictions(self) -> None:
        if not len(self.similar) or not len(self.dissimilar):
            return
        n = 1 + max(self.similar.max(), self.dissimilar.max())
        similar, dissimilar = (rows @ [n, 1] for rows in (self.similar, self.dissimilar))
        both = np.isin(similar, dissimilar)
        if both.any():
            first = int(np.argmax(both))
            second = int(np.argmax(dissimilar == similar[first]))
            raise ValueError(
                f"similar[{first}] and dissimilar[{second}] are the same pair "
                f"{self.similar[first].tolist()}: leave one of them out."
            )


def _vectors(vectors: Array, name: str) -> Array:
    vectors = vectors if hasattr(vectors, "shape") else np.asarray(vectors, dtype=np.float64)
    if len(vectors.shape) == 3 and vectors.shape[1] == 2:
        return vectors
    if 0 in vectors.shape:
        return np.empty((0, 2, 0))
    raise ValueError(
        f"{name} has shape {tuple(vectors.shape)}; it must hold vectors: (m, 2, n_features)."
    )
