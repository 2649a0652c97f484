"""Triplets of samples: the first is more similar to the second than to the third."""

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from dimetric._arguments import check_types
from dimetric._arrays.namespaces import Array, is_foreign, namespace, to_host
from dimetric._arrays.random_state import random_generator
from dimetric.supervision._constraints import Constraints, checked_rows
from dimetric.supervision._sampling import (
    LabelledCombinations,
    draw_numbers,
    mean_scores,
    neighbors_and_others,
    ranked_triplets,
)


@dataclass(frozen=True, eq=False, repr=False)
class Triplets(Constraints):
    """Triplets of samples as row indices of an array X.

    In each triplet, the sample `anchor` is more similar to `closer` than to `farther`. Triplets may
    contradict each other, as human judgements do. A repeated triplet counts several times.

    Parameters
    ----------
    anchor, closer, farther : array-like of shape (m,)
        Row indices of the samples.
    n_samples : int, optional
        Number of samples in X. If given, learners raise an error for an X of another size.
    points : array of shape (n_samples, n_features), optional
        The samples, if there is no separate X. See :meth:`from_arrays`.

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
            raise ValueError(f"anchor, closer and farther must all have shape (m,), not {shapes}.")
        rows = checked_rows(np.stack(columns, axis=1), "triplets", 3, self.n_samples)
        return dict(zip(names, rows.T, strict=True))

    @property
    def rows(self) -> np.ndarray:
        """Row indices of all triplets, of shape (m, 3)."""
        return np.stack([self.anchor, self.closer, self.farther], axis=1)

    def __repr__(self) -> str:
        return f"Triplets({len(self)})"

    @classmethod
    @check_types
    def from_rows(
        cls, rows: Array, n_samples: int | None = None, *, points: Array | None = None
    ) -> Self:
        """Return triplets from an array of shape (m, 3) with the columns anchor, closer, farther.

        Examples
        --------
        >>> Triplets.from_rows([[0, 1, 2]]).closer
        array([1])
        """
        rows = checked_rows(rows, "triplets", 3, n_samples)
        return cls(rows[:, 0], rows[:, 1], rows[:, 2], n_samples, points=points)

    @classmethod
    @check_types
    def from_arrays(cls, anchor: Array, closer: Array, farther: Array) -> Self:
        """Return triplets of vectors, for use without a separate X.

        Fit a learner with ``learner.fit(None, triplets=triplets)``. See
        :meth:`Pairs.from_arrays`.

        Parameters
        ----------
        anchor, closer, farther : array-like of shape (m, n_features)
            The vectors of each triplet.

        Examples
        --------
        >>> Triplets.from_arrays([[0.0, 1.0]], [[0.0, 2.0]], [[9.0, 9.0]]).rows
        array([[0, 1, 2]])
        """
        vectors = [a if is_foreign(a) else np.asarray(a) for a in (anchor, closer, farther)]
        if len({tuple(a.shape) for a in vectors}) > 1 or len(vectors[0].shape) != 2:
            shapes = ", ".join(str(tuple(a.shape)) for a in vectors)
            raise ValueError(
                f"anchor, closer and farther must all have shape (m, n_features), not {shapes}."
            )
        rows = np.arange(3 * vectors[0].shape[0]).reshape(3, -1).T
        return cls.from_rows(rows, points=namespace(*vectors).concat(vectors))

    @classmethod
    @check_types
    def from_labels(
        cls,
        y: Array,
        n: int | None = None,
        *,
        random_state: Any = None,
        unlabelled: Any = None,
    ) -> Self:
        """Return triplets of a sample, another sample of the same class, and one of another class.

        Parameters
        ----------
        y : array-like of shape (n_samples,)
            Labels.
        n : int, optional
            Number of triplets to draw at random without replacement. All triplets are
            returned by default, or if there are fewer than n.
        random_state : int, RandomState or None
            Random seed.
        unlabelled : float or str, optional
            Value of y that marks samples without a label, often -1. These samples are left out.

        Examples
        --------
        >>> Triplets.from_labels([0, 1, 0]).rows.tolist()
        [[0, 2, 1], [2, 0, 1]]
        """
        combinations = LabelledCombinations(y, unlabelled)
        rows = combinations.triplets(n, random_generator(random_state))
        return cls.from_rows(rows, combinations.n)

    @classmethod
    @check_types
    def from_neighbors(
        cls,
        X: Array,
        y: Array | None = None,
        n_neighbors: int = 3,
        n: int | None = None,
        *,
        random_state: Any = None,
    ) -> Self:
        """Return triplets of a sample, one of its nearest neighbours, and another sample.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Samples.
        y : array-like of shape (n_samples,), optional
            Labels. If given, the neighbours are the nearest samples of the same class, and the
            other samples are the nearest ones of other classes. If not, the other samples are drawn
            at random.
        n_neighbors : int, default=3
            Number of neighbours, and of other samples, for each sample. Among samples at equal
            distance, the first rows are chosen.
        n : int, optional
            Number of triplets to draw at random. By default, all triplets are returned.
        random_state : int, RandomState or None
            Random seed.

        Examples
        --------
        >>> X = np.array([[0.0], [1.0], [5.0], [7.0]])
        >>> Triplets.from_neighbors(X, [0, 1, 0, 1], n_neighbors=1).rows.tolist()
        [[0, 2, 1], [1, 3, 0], [2, 0, 3], [3, 1, 2]]
        """
        rng = random_generator(random_state)
        near, others = neighbors_and_others(X, y, n_neighbors, rng)
        near, others = np.repeat(near, others.shape[1], axis=1), np.tile(others, near.shape[1])
        anchor = np.repeat(np.arange(len(near)), near.shape[1])
        rows = np.stack([anchor, near.ravel(), others.ravel()], axis=1)
        rows = rows[np.all(rows >= 0, axis=1)]
        return cls.from_rows(rows[draw_numbers(len(rows), n, rng)], len(near))

    @classmethod
    @check_types
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
        """Return triplets from scored pairs: the pair with the higher score is the closer one.

        If a pair has several scores, their mean is used.

        Parameters
        ----------
        rows : array-like of shape (m, 2)
            Row indices of the two samples of each pair.
        scores : array-like of shape (m,)
            Similarity of each pair.
        margin : float, default=0.0
            Two pairs with a common anchor form a triplet if their scores differ by more than this.
        n : int, optional
            Number of triplets to draw at random. By default, all triplets are returned.
        n_samples : int, optional
            Number of samples in X.
        random_state : int, RandomState or None
            Random seed.

        Examples
        --------
        >>> Triplets.from_scores([[0, 1], [0, 2], [1, 2]], [5, 3, 3]).rows.tolist()
        [[0, 1, 2], [1, 0, 2]]
        """
        pairs, means = mean_scores(checked_rows(rows, "rows", 2, n_samples), scores)
        triplets = ranked_triplets(pairs, means, margin)
        chosen = draw_numbers(len(triplets), n, random_generator(random_state))
        return cls.from_rows(triplets[chosen], n_samples)

    @classmethod
    def _of(
        cls, rows: np.ndarray, kinds: np.ndarray, n_samples: int | None, points: Array | None
    ) -> Self:
        return cls.from_rows(rows, n_samples, points=points)
