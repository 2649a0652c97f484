"""Base classes of embeddings, which have coordinates for training samples and place new ones."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from dimetric._arrays.namespaces import Array, asarray_like, namespace
from dimetric._arrays.validation import checked_mapped, checked_samples, ignoring_overflow
from dimetric._compat import check_same_namespace, wrap_like_input
from dimetric.learners._base import Learner
from dimetric.neighbors.landmarks import draw_landmarks
from dimetric.neighbors.metric_search import Metric


class Embedding(Learner, ABC):
    """Base class of learners that embed their training samples and can place new samples.

    An embedding has no linear map and therefore no ``metric()``. ``_fit`` sets ``embedding_`` in
    the array namespace, dtype and device of X. ``_place`` returns the coordinates of new samples.
    """

    embedding_: Array
    _fitted_attributes: ClassVar[tuple[str, ...]] = ("embedding_",)
    _supervision_kinds: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def _place(self, X: Array) -> Array:
        """Return the coordinates of validated new samples, in any namespace."""

    def fit(self, X: Array, y: Any = None, *, pairs: Any = None, triplets: Any = None) -> Self:
        """Embed the samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples, as a NumPy array, a pandas or polars data frame, or an array of any array API
            library.
        y : object
            Ignored.
        pairs, triplets : object
            Raise an error if given, because embeddings are unsupervised.

        Returns
        -------
        self : object
            The fitted embedding.
        """
        return super().fit(X, y, pairs=pairs, triplets=triplets)

    def fit_transform(self, X: Array, y: Array | None = None, **constraints: Any) -> Array:
        """Fit the embedding and return the coordinates of the training samples, ``embedding_``.

        ``fit(X).transform(X)`` may differ, because it places X like new samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.
        y : object
            Ignored.
        **constraints : object
            Pairs and triplets raise an error, because embeddings are unsupervised.

        Returns
        -------
        Z : array of shape (n_samples, n_components)
            Coordinates, in the array namespace, dtype and device of X. A data frame if X is one.
        """
        return wrap_like_input(self.fit(X, y, **constraints).embedding_, X, self)

    def transform(self, X: Array) -> Array:
        """Return the coordinates of new samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        Z : array of shape (n_samples, n_components)
            Coordinates, in the array namespace, dtype and device of X. A data frame if X is one.
        """
        check_is_fitted(self)
        check_same_namespace(X, self, attribute="embedding_", method="transform")
        samples = checked_samples(self, X, reset=False)
        with ignoring_overflow():
            Z = asarray_like(self._place(samples), samples)
        return wrap_like_input(checked_mapped(Z), X, self)

    @property
    def _n_features_out(self) -> int:
        return self.embedding_.shape[1]


class LandmarkEmbedding(Embedding):
    """Base class of embeddings that use dissimilarities between all samples or to landmarks."""

    n_components: int
    metric: Metric
    n_landmarks: int | None
    random_state: Any
    landmarks_: Array

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.metric == "precomputed"
        return tags

    def _checked_n_references(self, n: int) -> int:
        """Return the number of reference samples: all n samples, or the landmarks."""
        m = min(n, self.n_landmarks or n)
        if self.n_components > m:
            name = "n_samples" if m == n else "n_landmarks"
            raise ValueError(f"n_components={self.n_components} must be at most {name}={m}.")
        return m

    def _landmark_rows(self, X: Array, host_X: Any) -> np.ndarray | None:
        """Choose landmarks, set ``landmarks_`` and return the row indices of the landmarks.

        Return None if all samples are used. `host_X` is X in host memory.
        """
        n = X.shape[0]
        if self.n_landmarks is None or self.n_landmarks >= n:
            return None
        features = None if self.metric == "precomputed" else host_X
        rows = draw_landmarks(n, self.n_landmarks, self.random_state, features)
        self.landmarks_ = asarray_like(rows, X, dtype=namespace(X).int64)
        return rows
