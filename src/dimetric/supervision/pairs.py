"""Pairs of samples that are similar, and of samples that are dissimilar."""

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from sklearn.utils import check_random_state

from dimetric._arrays.namespaces import Array, is_foreign, namespace
from dimetric.supervision._constraints import Constraints, checked_rows
from dimetric.supervision._sampling import (
    linked_pairs,
    mean_scores,
    near_and_far,
    neighbor_pairs,
    other_pairs,
    pairs_by_labels,
)


@dataclass(frozen=True, eq=False, repr=False)
class Pairs(Constraints):
    """Pairs of samples, similar and dissimilar, as row numbers of a set X.

    Pairs are unordered, and stored with the smaller number first. A repeated pair counts several
    times. No pair may be both similar and dissimilar.

    Parameters
    ----------
    similar, dissimilar : array-like of shape (m, 2)
        Row numbers of two samples each.
    n_samples : int, optional
        Number of samples in X. If it is given, an X of another size is refused.
    points : array of shape (n_samples, n_features), optional
        The samples themselves, if the pairs hold them, see :meth:`from_arrays`.

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
        given = (checked_rows(getattr(self, name), name, 2, self.n_samples) for name in names)
        similar, dissimilar = (np.sort(rows, axis=1) for rows in given)
        _refuse_contradictions(similar, dissimilar)
        return {"similar": similar, "dissimilar": dissimilar}

    @property
    def rows(self) -> np.ndarray:
        """Row numbers of all pairs, of shape (m, 2): the similar ones, then the others."""
        return np.concatenate([self.similar, self.dissimilar])

    @property
    def kinds(self) -> np.ndarray:
        """0 of similar pairs and 1 of dissimilar ones, of shape (m,)."""
        return np.repeat([0, 1], [len(self.similar), len(self.dissimilar)])

    @property
    def is_similar(self) -> np.ndarray:
        """Whether each pair is similar, of shape (m,)."""
        return self.kinds == 0

    def __repr__(self) -> str:
        return f"Pairs({len(self.similar)} similar, {len(self.dissimilar)} dissimilar)"

    @classmethod
    def from_arrays(cls, similar: Array, dissimilar: Array) -> Self:
        """Return pairs of vectors, if there is no X that holds the samples.

        The vectors become ``points``, and the pairs are row numbers of these. A learner uses them
        with ``learner.fit(None, pairs=pairs)``. In a pipeline, whose steps change the samples
        first, it is ``fit(pairs.points, pairs=pairs)``.

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

    @classmethod
    def from_labels(
        cls,
        y: Array,
        n: int | None = None,
        *,
        balanced: bool = True,
        random_state: Any = None,
        unlabelled: Any = None,
    ) -> Self:
        """Return pairs of samples with one label as similar, and all others as dissimilar.

        Parameters
        ----------
        y : array-like of shape (n_samples,)
            Labels.
        n : int, optional
            Number of pairs, drawn at random without replacement; None, or more than there are,
            means all of them.
        balanced : bool, default=True
            Draw as many similar pairs as dissimilar ones, as far as possible; otherwise all pairs
            have the same chance.
        random_state : int, RandomState or None
            Seed of the draw.
        unlabelled : float or str, optional
            Value of y that marks samples without a label, often -1: they are in no pair.

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
    def from_similar(
        cls, similar: Array, n_samples: int, n: int | None = None, *, random_state: Any = None
    ) -> Self:
        """Return similar pairs, and draw dissimilar ones at random from all other pairs.

        Parameters
        ----------
        similar : array-like of shape (m, 2)
            Row numbers of two samples each.
        n_samples : int
            Number of samples to draw from.
        n : int, optional
            Number of dissimilar pairs; None means as many as there are similar ones.
        random_state : int, RandomState or None
            Seed of the draw.

        Examples
        --------
        >>> Pairs.from_similar([[0, 1], [2, 1]], 4, n=10).dissimilar.tolist()
        [[0, 2], [0, 3], [1, 3], [2, 3]]
        """
        rows = cls(similar, n_samples=n_samples).similar
        n = len(rows) if n is None else n
        others = other_pairs(rows, n_samples, n, check_random_state(random_state))
        return cls(rows, others, n_samples)

    @classmethod
    def from_neighbors(
        cls, X: Array, y: Array | None = None, n_neighbors: int = 3, *, random_state: Any = None
    ) -> Self:
        """Return samples and their nearest neighbours as similar, and others as dissimilar.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Samples.
        y : array-like of shape (n_samples,), optional
            Labels. With labels, similar pairs are the nearest of one label, dissimilar pairs the
            nearest of different labels. Without, dissimilar pairs are drawn at random, as many as
            there are similar ones.
        n_neighbors : int, default=3
            Number of neighbours of each sample.
        random_state : int, RandomState or None
            Seed of the draw.

        Examples
        --------
        >>> X = np.array([[0.0], [1.0], [5.0], [7.0]])
        >>> Pairs.from_neighbors(X, n_neighbors=1).similar.tolist()
        [[0, 1], [2, 3]]
        >>> Pairs.from_neighbors(X, [0, 1, 0, 1], n_neighbors=1).rows.tolist()
        [[0, 2], [1, 3], [0, 1], [2, 3]]
        """
        rng = check_random_state(random_state)
        near, far = near_and_far(X, y, n_neighbors, rng)
        if y is None:
            return cls.from_similar(neighbor_pairs(near), len(near), random_state=rng)
        return cls(neighbor_pairs(near), neighbor_pairs(far), len(near))

    @classmethod
    def from_graph(cls, links: Any, n: int | None = None, *, random_state: Any = None) -> Self:
        """Return linked samples as similar, and samples with negative links as dissimilar.

        Parameters
        ----------
        links : sparse or dense array of shape (n_samples, n_samples)
            Weights of links, of which only the signs count; 0 is no link. A link may be given in
            one direction or both.
        n : int, optional
            If no link is negative, number of dissimilar pairs to draw from those without a link;
            None means as many as there are links.
        random_state : int, RandomState or None
            Seed of the draw.

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

        Several scores of one pair are averaged.

        Parameters
        ----------
        rows : array-like of shape (m, 2)
            Row numbers of two samples each.
        scores : array-like of shape (m,)
            Similarity of each pair.
        threshold : float
            Smallest score of a similar pair.
        below : float, optional
            Dissimilar pairs have scores below this number, by default below `threshold`; pairs in
            between are left out.
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
    alike, unlike = similar @ [n, 1], dissimilar @ [n, 1]
    both = np.isin(alike, unlike)
    if both.any():
        first = int(np.argmax(both))
        second = int(np.argmax(unlike == alike[first]))
        raise ValueError(
            f"similar[{first}] and dissimilar[{second}] are the same pair "
            f"{similar[first].tolist()}: leave one of them out, or take the mean of what judges "
            "say (Pairs.from_scores)."
        )


def _vectors(vectors: Array, name: str) -> Array:
    vectors = vectors if is_foreign(vectors) else np.asarray(vectors)
    if len(vectors.shape) == 3 and vectors.shape[1] == 2:
        return vectors
    if 0 in vectors.shape:
        return np.empty((0, 2, 0))
    raise ValueError(
        f"{name} has shape {tuple(vectors.shape)}; it must hold vectors: (m, 2, n_features)."
    )
