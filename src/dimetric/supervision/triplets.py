"""Triplets of samples: the first is more similar to the second than to the third."""

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from sklearn.utils import check_random_state

from dimetric._arrays.namespaces import Array, is_foreign, namespace, to_host
from dimetric.supervision._constraints import Constraints, checked_rows
from dimetric.supervision._sampling import (
    LabelledCombinations,
    draw_numbers,
    mean_scores,
    near_and_far,
    ranked_triplets,
)


@dataclass(frozen=True, eq=False, repr=False)
class Triplets(Constraints):
    """Triplets of samples, as row numbers of a set X: the anchor is closer to one than to another.

    Triplets may contradict each other, as the judgments of people do; each of them counts. A
    repeated triplet counts several times.

    Parameters
    ----------
    anchor, closer, farther : array-like of shape (m,)
        Row numbers of the samples.
    n_samples : int, optional
        Number of samples in X. If it is given, an X of another size is refused.
    points : array of shape (n_samples, n_features), optional
        The samples themselves, if the triplets hold them, see :meth:`from_arrays`.

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

    def _checked_fields(self) -> dict[str, np.ndarray]:
        names = ("anchor", "closer", "farther")
        columns = [np.asarray(to_host(getattr(self, name))) for name in names]
        if len({column.shape for column in columns}) > 1 or columns[0].ndim != 1:
            shapes = ", ".join(str(column.shape) for column in columns)
            raise ValueError(f"anchor, closer and farther must be of one shape (m,), not {shapes}.")
        rows = checked_rows(np.stack(columns, axis=1), "triplets", 3, self.n_samples)
        return dict(zip(names, rows.T, strict=True))

    @property
    def rows(self) -> np.ndarray:
        """Row numbers of all triplets, of shape (m, 3)."""
        return np.stack([self.anchor, self.closer, self.farther], axis=1)

    def __repr__(self) -> str:
        return f"Triplets({len(self)})"

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
        """Return triplets of vectors, if there is no X that holds the samples.

        See :meth:`Pairs.from_arrays`; a learner uses them with
        ``learner.fit(None, triplets=triplets)``.

        Parameters
        ----------
        anchor, closer, farther : array-like of shape (m, n_features)
            Vectors.

        Examples
        --------
        >>> Triplets.from_arrays([[0.0, 1.0]], [[0.0, 2.0]], [[9.0, 9.0]]).rows
        array([[0, 1, 2]])
        """
        given = [a if is_foreign(a) else np.asarray(a) for a in (anchor, closer, farther)]
        if len({tuple(a.shape) for a in given}) > 1 or len(given[0].shape) != 2:
            shapes = ", ".join(str(tuple(a.shape)) for a in given)
            raise ValueError(
                f"anchor, closer and farther must be of one shape (m, n_features), not {shapes}."
            )
        rows = np.arange(3 * given[0].shape[0]).reshape(3, -1).T
        return cls.from_rows(rows, points=namespace(*given).concat(given))

    @classmethod
    def from_labels(
        cls,
        y: Array,
        n: int | None = None,
        *,
        random_state: Any = None,
        unlabelled: Any = None,
    ) -> Self:
        """Return triplets of a sample, another sample with its label, and one with another label.

        Parameters
        ----------
        y : array-like of shape (n_samples,)
            Labels.
        n : int, optional
            Number of triplets, drawn at random without replacement; None, or more than there are,
            means all of them.
        random_state : int, RandomState or None
            Seed of the draw.
        unlabelled : float or str, optional
            Value of y that marks samples without a label, often -1: they are in no triplet.

        Examples
        --------
        >>> Triplets.from_labels([0, 1, 0]).rows.tolist()
        [[0, 2, 1], [2, 0, 1]]
        """
        classes = LabelledCombinations(y, unlabelled)
        return cls.from_rows(classes.triplets(n, check_random_state(random_state)), classes.n)

    @classmethod
    def from_neighbors(
        cls,
        X: Array,
        y: Array | None = None,
        n_neighbors: int = 3,
        n: int | None = None,
        *,
        random_state: Any = None,
    ) -> Self:
        """Return triplets of a sample, one of its neighbours, and a sample that is none.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Samples.
        y : array-like of shape (n_samples,), optional
            Labels. With labels, neighbours are the nearest samples of one label, and the others the
            nearest of other labels. Without, the others are drawn at random.
        n_neighbors : int, default=3
            Number of neighbours of each sample, and of others.
        n : int, optional
            Number of triplets, drawn at random; None means all of them.
        random_state : int, RandomState or None
            Seed of both draws.

        Examples
        --------
        >>> X = np.array([[0.0], [1.0], [5.0], [7.0]])
        >>> Triplets.from_neighbors(X, [0, 1, 0, 1], n_neighbors=1).rows.tolist()
        [[0, 2, 1], [1, 3, 0], [2, 0, 3], [3, 1, 2]]
        """
        rng = check_random_state(random_state)
        near, far = near_and_far(X, y, n_neighbors, rng)
        near, far = np.repeat(near, far.shape[1], axis=1), np.tile(far, near.shape[1])
        anchor = np.repeat(np.arange(len(near)), near.shape[1])
        rows = np.stack([anchor, near.ravel(), far.ravel()], axis=1)
        rows = rows[np.all(rows >= 0, axis=1)]
        return cls.from_rows(rows[draw_numbers(len(rows), n, rng)], len(near))

    @classmethod
    def from_scores(
        cls,
        rows: Array,
        scores: Array,
        margin: float = 0.0,
        n: int | None = None,
        *,
        n_samples: int | None = None,
        random_state: Any = None,
    ) -> Self:
        """Return triplets from scored pairs: the anchor is closer where the score is higher.

        Several scores of one pair are averaged.

        Parameters
        ----------
        rows : array-like of shape (m, 2)
            Row numbers of two samples each.
        scores : array-like of shape (m,)
            Similarity of each pair.
        margin : float, default=0.0
            Two scores must differ by more than this to make a triplet.
        n : int, optional
            Number of triplets, drawn at random; None means all of them.
        n_samples : int, optional
            Number of samples in X.
        random_state : int, RandomState or None
            Seed of the draw.

        Examples
        --------
        >>> Triplets.from_scores([[0, 1], [0, 2], [1, 2]], [5, 3, 3]).rows.tolist()
        [[0, 1, 2], [1, 0, 2]]
        """
        found = mean_scores(checked_rows(rows, "rows", 2, n_samples), scores)
        triplets = ranked_triplets(*found, margin)
        chosen = draw_numbers(len(triplets), n, check_random_state(random_state))
        return cls.from_rows(triplets[chosen], n_samples)

    @classmethod
    def _of(
        cls, rows: np.ndarray, kinds: np.ndarray, n_samples: int | None, points: Array | None
    ) -> Self:
        return cls.from_rows(rows, n_samples, points=points)
