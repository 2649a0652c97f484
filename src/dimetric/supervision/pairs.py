"""Pairs of similar and of dissimilar samples."""

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from dimetric._arguments import check_types
from dimetric._arrays.namespaces import Array, is_foreign, namespace
from dimetric._arrays.random_state import random_generator
from dimetric.supervision._constraints import Constraints, checked_rows
from dimetric.supervision._sampling import (
    linked_pairs,
    mean_scores,
    neighbor_pairs,
    neighbors_and_others,
    other_pairs,
    pairs_by_labels,
)


@dataclass(frozen=True, eq=False, repr=False)
class Pairs(Constraints):
    """Similar and dissimilar pairs of samples, as row indices of an array X.

    Pairs are unordered, and stored with the smaller row index first. A repeated pair counts
    several times. A pair cannot be both similar and dissimilar.

    Parameters
    ----------
    similar, dissimilar : array-like of shape (m, 2)
        Row indices of the two samples of each pair.
    n_samples : int, optional
        Number of samples in X. If given, learners raise an error for an X of another size.
    points : array of shape (n_samples, n_features), optional
        The samples, if there is no separate X. See :meth:`from_arrays`.

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

    def _checked_fields(self) -> dict[str, np.ndarray]:
        names = ("similar", "dissimilar")
        checked = (checked_rows(getattr(self, name), name, 2, self.n_samples) for name in names)
        similar, dissimilar = (np.sort(rows, axis=1) for rows in checked)
        _refuse_contradictions(similar, dissimilar)
        return {"similar": similar, "dissimilar": dissimilar}

    @property
    def rows(self) -> np.ndarray:
        """Row indices of all pairs, first the similar and then the dissimilar, of shape (m, 2)."""
        return np.concatenate([self.similar, self.dissimilar])

    @property
    def kinds(self) -> np.ndarray:
        """Kind of each pair, of shape (m,): 0 for similar, 1 for dissimilar."""
        return np.repeat([0, 1], [len(self.similar), len(self.dissimilar)])

    @property
    def is_similar(self) -> np.ndarray:
        """Whether each pair is similar, of shape (m,)."""
        return self.kinds == 0

    def __repr__(self) -> str:
        return f"Pairs({len(self.similar)} similar, {len(self.dissimilar)} dissimilar)"

    @classmethod
    @check_types
    def from_arrays(cls, similar: Array, dissimilar: Array) -> Self:
        """Return pairs of vectors, for use without a separate X.

        The vectors are stored as ``points``, and the pairs are row indices of these points. Fit a
        learner with ``learner.fit(None, pairs=pairs)``. Fit a pipeline with
        ``fit(pairs.points, pairs=pairs)``, because its steps transform the samples first.

        Parameters
        ----------
        similar, dissimilar : array-like of shape (m, 2, n_features)
            The two vectors of each pair.

        Examples
        --------
        >>> Pairs.from_arrays([[[0.0, 1.0], [0.0, 2.0]]], [[[0.0, 1.0], [9.0, 9.0]]]).rows
        array([[0, 1],
               [2, 3]])
        """
        by_kind = _vectors(similar, "similar"), _vectors(dissimilar, "dissimilar")
        nonempty = [vectors for vectors in by_kind if vectors.shape[0]]
        if not nonempty or len({vectors.shape[2] for vectors in nonempty}) > 1:
            shapes = " and ".join(str(tuple(vectors.shape)) for vectors in by_kind)
            raise ValueError(
                f"similar and dissimilar have shapes {shapes}, but must contain at least one "
                "pair and have the same number of features."
            )
        xp = namespace(*nonempty)
        points = xp.concat([xp.reshape(vectors, (-1, vectors.shape[2])) for vectors in nonempty])
        rows = np.arange(points.shape[0]).reshape(-1, 2)
        n_similar = by_kind[0].shape[0]
        return cls(rows[:n_similar], rows[n_similar:], points=points)

    @classmethod
    @check_types
    def from_labels(
        cls,
        y: Array,
        n: int | None = None,
        *,
        balanced: bool = True,
        random_state: Any = None,
        unlabelled: Any = None,
    ) -> Self:
        """Return pairs with equal labels as similar, and pairs with different labels as dissimilar.

        Parameters
        ----------
        y : array-like of shape (n_samples,)
            Labels.
        n : int, optional
            Number of pairs to draw at random without replacement. All pairs are returned
            by default, or if there are fewer than n.
        balanced : bool, default=True
            Draw equal numbers of similar and dissimilar pairs, if possible. Otherwise, draw all
            pairs with equal probability.
        random_state : int, RandomState or None
            Random seed.
        unlabelled : float or str, optional
            Value of y that marks samples without a label, often -1. These samples are left out.

        Examples
        --------
        >>> Pairs.from_labels([0, 1, 0, 1, 1])
        Pairs(4 similar, 6 dissimilar)
        >>> Pairs.from_labels([0, 1, 0, 1, 1], 4, random_state=0)
        Pairs(2 similar, 2 dissimilar)
        >>> Pairs.from_labels([0, 1, 0, 1, -1], unlabelled=-1).similar.tolist()
        [[0, 2], [1, 3]]
        """
        return cls(
            *pairs_by_labels(
                y, n, balanced=balanced, random_state=random_state, unlabelled=unlabelled
            )
        )

    @classmethod
    @check_types
    def from_similar(
        cls, similar: Array, n_samples: int, n: int | None = None, *, random_state: Any = None
    ) -> Self:
        """Return the similar pairs, with dissimilar pairs drawn at random from all other pairs.

        Parameters
        ----------
        similar : array-like of shape (m, 2)
            Row indices of the two samples of each pair.
        n_samples : int
            Number of samples to draw from.
        n : int, optional
            Number of dissimilar pairs. The default is the number of similar pairs.
        random_state : int, RandomState or None
            Random seed.

        Examples
        --------
        >>> Pairs.from_similar([[0, 1], [2, 1]], 4, n=10).dissimilar.tolist()
        [[0, 2], [0, 3], [1, 3], [2, 3]]
        """
        rows = cls(similar, n_samples=n_samples).similar
        n = len(rows) if n is None else n
        others = other_pairs(rows, n_samples, n, random_generator(random_state))
        return cls(rows, others, n_samples)

    @classmethod
    @check_types
    def from_neighbors(
        cls, X: Array, y: Array | None = None, n_neighbors: int = 3, *, random_state: Any = None
    ) -> Self:
        """Return pairs of nearest neighbours as similar, and other pairs as dissimilar.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Samples.
        y : array-like of shape (n_samples,), optional
            Labels. If given, each sample forms similar pairs with its nearest neighbours of the
            same class, and dissimilar pairs with its nearest neighbours of other classes. If not,
            dissimilar pairs are drawn at random, as many as there are similar pairs.
        n_neighbors : int, default=3
            Number of neighbours of each sample. Among samples at equal distance, the first rows are
            chosen.
        random_state : int, RandomState or None
            Random seed.

        Examples
        --------
        >>> X = np.array([[0.0], [1.0], [5.0], [7.0]])
        >>> Pairs.from_neighbors(X, n_neighbors=1).similar.tolist()
        [[0, 1], [2, 3]]
        >>> Pairs.from_neighbors(X, [0, 1, 0, 1], n_neighbors=1).rows.tolist()
        [[0, 2], [1, 3], [0, 1], [2, 3]]
        """
        rng = random_generator(random_state)
        near, others = neighbors_and_others(X, y, n_neighbors, rng)
        if y is None:
            return cls.from_similar(neighbor_pairs(near), len(near), random_state=rng)
        return cls(neighbor_pairs(near), neighbor_pairs(others), len(near))

    @classmethod
    @check_types
    def from_graph(cls, links: Any, n: int | None = None, *, random_state: Any = None) -> Self:
        """Return pairs with positive links as similar, and pairs with negative links as dissimilar.

        Parameters
        ----------
        links : sparse or dense array of shape (n_samples, n_samples)
            Weights of the links, of which only the signs are used. 0 means no link. A link may be
            stored in one direction or in both.
        n : int, optional
            Number of dissimilar pairs to draw from the pairs without a link, if no link is
            negative. The default is the number of links.
        random_state : int, RandomState or None
            Random seed.

        Examples
        --------
        >>> Pairs.from_graph([[0, 1, 0], [1, 0, -1], [0, 0, 0]]).rows.tolist()
        [[0, 1], [1, 2]]
        >>> Pairs.from_graph([[0, 1, 0], [1, 0, 0], [0, 0, 0]], n=2).dissimilar.tolist()
        [[0, 2], [1, 2]]
        """
        rows, signs, n_samples = linked_pairs(links)
        if np.any(signs < 0):
            return cls(rows[signs > 0], rows[signs < 0], n_samples)
        return cls.from_similar(rows, n_samples, n, random_state=random_state)

    @classmethod
    @check_types
    def from_scores(
        cls,
        rows: Array,
        scores: Array,
        threshold: float,
        below: float | None = None,
        *,
        n_samples: int | None = None,
    ) -> Self:
        """Return pairs with a high score as similar, and pairs with a low score as dissimilar.

        If a pair has several scores, their mean is used.

        Parameters
        ----------
        rows : array-like of shape (m, 2)
            Row indices of the two samples of each pair.
        scores : array-like of shape (m,)
            Similarity of each pair.
        threshold : float
            Smallest score of a similar pair.
        below : float, optional
            Pairs with a score below this value are dissimilar. The default is `threshold`. Pairs
            with scores in between are left out.
        n_samples : int, optional
            Number of samples in X.

        Examples
        --------
        >>> Pairs.from_scores([[0, 1], [1, 0], [1, 2], [0, 2]], [5, 3, 3, 1], 4, 2).rows.tolist()
        [[0, 1], [0, 2]]
        """
        rows, means = mean_scores(checked_rows(rows, "rows", 2, n_samples), scores)
        below = threshold if below is None else below
        if below > threshold:
            raise ValueError(f"below={below} must not be above threshold={threshold}.")
        return cls(rows[means >= threshold], rows[means < below], n_samples)

    @classmethod
    def _of(
        cls, rows: np.ndarray, kinds: np.ndarray, n_samples: int | None, points: Array | None
    ) -> Self:
        return cls(rows[kinds == 0], rows[kinds == 1], n_samples, points=points)


def _refuse_contradictions(similar: np.ndarray, dissimilar: np.ndarray) -> None:
    """Raise if a pair is both similar and dissimilar."""
    if not len(similar) or not len(dissimilar):
        return
    n = 1 + max(similar.max(), dissimilar.max())
    similar_keys, dissimilar_keys = similar @ [n, 1], dissimilar @ [n, 1]  # a number for each pair
    is_contradictory = np.isin(similar_keys, dissimilar_keys)
    if is_contradictory.any():
        first = int(np.argmax(is_contradictory))
        second = int(np.argmax(dissimilar_keys == similar_keys[first]))
        raise ValueError(
            f"similar[{first}] and dissimilar[{second}] are the same pair "
            f"{similar[first].tolist()}. Remove one of them, or average contradictory judgements "
            "with Pairs.from_scores."
        )


def _vectors(vectors: Array, name: str) -> Array:
    vectors = vectors if is_foreign(vectors) else np.asarray(vectors)
    if len(vectors.shape) == 3 and vectors.shape[1] == 2:
        return vectors
    if 0 in vectors.shape:
        return np.empty((0, 2, 0))
    raise ValueError(
        f"{name} has shape {tuple(vectors.shape)}, but pairs of vectors must have shape "
        "(m, 2, n_features)."
    )
