"""What the learners share: the fit template, the learned map x -> L (x - o), embeddings."""

import logging
import sys
from time import perf_counter
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from dimetric._checks import checked_array, checked_labelled, checked_pairs, checked_samples
from dimetric._compat import (
    CallbackSupportMixin,
    Progress,
    check_same_namespace,
    fit_method,
    framed,
)
from dimetric._xp import Array, eps, like, namespace
from dimetric.linalg.psd import metric_of

logger = logging.getLogger("dimetric")


def report(message: str, *values: object) -> None:
    """Log a line that the user asked to see (``verbose``), on stderr unless logging is set up."""
    if not logger.hasHandlers():
        logger.addHandler(logging.StreamHandler(sys.stderr))
    if logger.getEffectiveLevel() > logging.INFO:
        logger.setLevel(logging.INFO)
    logger.info(message, *values)


class Learner(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, CallbackSupportMixin, BaseEstimator
):
    """A learner of a map, linear or not: checks of the input, the fit template, metadata.

    A learner implements ``_fit``, which sets the fitted attributes and returns the metadata.
    """

    _learned: ClassVar[str]  # the attribute whose presence makes a learner fitted
    _needs_labels: ClassVar[bool] = True
    _min_samples: ClassVar[int] = 2
    _accepts_sparse: ClassVar[bool] = False

    def _fit(self, X: Array, codes: Any, progress: Progress) -> dict[str, Any]:
        """Set the fitted attributes from checked samples and label codes; return metadata."""
        raise TypeError(f"{type(self).__name__} does not say how it is fitted.")

    def _max_steps(self) -> int:
        """Return how many iterations a fit may take; 0 for one without iterations."""
        return getattr(self, "max_iter", 0)

    @fit_method
    def fit(self, X: Array, y: Array | None = None) -> Self:
        """Learn the map.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples: NumPy, pandas, polars, or an array of any array-API namespace.
        y : array-like of shape (n_samples,), optional
            Labels; learners that use none ignore them.

        Returns
        -------
        self : object
            The fitted learner.
        """
        started = perf_counter()
        if not getattr(self, "warm_start", False):
            self._forget()
        try:
            samples, codes = self._checked(X, y)
            progress = Progress(self, X, y, self._max_steps())
            metadata = self._fit(samples, codes, progress)
        except BaseException:
            # An interrupt too: what is there, from this fit and the last, does not go together.
            self._forget()
            raise
        self._metadata = metadata | {"time": perf_counter() - started}
        progress.end()
        return self

    def _forget(self) -> None:
        """Delete all fitted attributes."""
        for name in [name for name in vars(self) if name.endswith("_")]:
            delattr(self, name)

    def metadata(self) -> dict[str, Any]:
        """Return what is known about the fit: objective, iterations, reason, time, ..."""
        check_is_fitted(self)
        return dict(self._metadata)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, self._learned)

    def _checked(
        self, X: Array, y: Array | None, *, reset: bool = True, min_samples: int | None = None
    ) -> tuple[Array, np.ndarray | None]:
        """Return the samples as an array and, if the learner uses labels, their codes."""
        min_samples = min_samples or self._min_samples
        if not self._needs_labels:
            return checked_samples(self, X, reset=reset, min_samples=min_samples), None
        samples, labels = checked_labelled(self, X, y, reset=reset, min_samples=min_samples)
        self.classes_, codes = np.unique(labels, return_inverse=True)
        return samples, codes

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = self._needs_labels
        tags.input_tags.sparse = self._accepts_sparse
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        tags.array_api_support = True
        return tags


class LinearMetric(Learner):
    r"""A learner of a linear map, and so of a Mahalanobis distance.

    .. math:: z = L (x - o), \qquad d(x, x') = |L (x - x')| = \sqrt{(x - x')^T M (x - x')},
              \quad M = L^T L

    A learner's ``_fit`` sets ``components_`` (L) and ``offset_`` (o). Everything follows X: the
    container, dtype and device of the input decide where the work runs and what comes back; the
    learned map moves to where it is applied.
    """

    components_: Array
    offset_: Array
    _learned: ClassVar[str] = "components_"

    def transform(self, X: Array) -> Array:
        """Return the samples under the learned map, ``(X - offset_) @ components_.T``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        Z : array of shape (n_samples, n_components)
            In X's namespace, dtype and device; a data frame where X is one.
        """
        check_is_fitted(self)
        # Raises only under scikit-learn's array_api_dispatch, which wants one namespace all along.
        check_same_namespace(X, self, attribute="components_", method="transform")
        samples = checked_samples(self, X, reset=False)
        L, offset = like(self.components_, samples), like(self.offset_, samples)
        if sparse.issparse(samples):
            return framed(samples @ L.T - offset @ L.T, X, self)
        moved = samples - offset if namespace(offset).any(offset != 0) else samples
        return framed(moved @ L.T, X, self)

    def inverse_transform(self, Z: Array) -> Array:
        r"""Return the smallest pre-images of mapped samples, :math:`o + L^+ z`.

        Where the map keeps all directions that samples vary in, these are the samples.

        Parameters
        ----------
        Z : array-like of shape (n_samples, n_components)
            Mapped samples.

        Returns
        -------
        X : array of shape (n_samples, n_features)
            In Z's namespace, dtype and device.
        """
        check_is_fitted(self)
        Z = checked_array(Z, "Z")
        if Z.shape[1] != self._n_features_out:
            raise ValueError(
                f"Z has {Z.shape[1]} columns, but {type(self).__name__} maps to "
                f"{self._n_features_out} components."
            )
        xp = namespace(Z)
        L = like(self.components_, Z)
        # Rows of very different length (whitening) are no reason to drop the short ones.
        length = xp.sqrt(xp.sum(L * L, axis=1))
        length = xp.where(length > 0, length, xp.ones_like(length))
        back = xp.linalg.pinv(L / length[:, None]) / length
        return Z @ back.T + like(self.offset_, Z)

    def transformer(self) -> Array:
        """Return the map L, of shape (n_components, n_features)."""
        check_is_fitted(self)
        return self.components_

    def metric(self) -> Array:
        """Return the matrix M = L^T L of the distance: symmetric, positive semidefinite."""
        check_is_fitted(self)
        return metric_of(self.components_)

    def metadata(self) -> dict[str, Any]:
        """Return what is known about the fit: objective, iterations, reason, rank, time, ..."""
        # The rank of M can take longer than a fit: only on demand.
        return super().metadata() | {"rank": self._map_rank()}

    def pair_distance(self, pairs: Array, X: Array | None = None) -> Array:
        """Return the learned distance between the two samples of each pair.

        Parameters
        ----------
        pairs : array-like of shape (n_pairs, 2, n_features), or (n_pairs, 2) with X
            Pairs of vectors, or pairs of row numbers of X.
        X : array-like of shape (n_samples, n_features), optional
            The samples that row numbers refer to.

        Returns
        -------
        distances : array of shape (n_pairs,)
        """
        check_is_fitted(self)
        left, right = checked_pairs(self, pairs, X)
        difference = (left - right) @ like(self.components_, left).T
        xp = namespace(difference)
        # Squares of huge or tiny numbers leave the floating range; a common factor brings them in.
        largest = xp.max(xp.abs(difference), axis=1, keepdims=True)
        largest = xp.where(largest > 0, largest, xp.ones_like(largest))
        return largest[:, 0] * xp.sqrt(xp.sum((difference / largest) ** 2, axis=1))

    def pair_score(self, pairs: Array, X: Array | None = None) -> Array:
        """Return how alike the samples of each pair are: minus their :meth:`pair_distance`."""
        return -self.pair_distance(pairs, X)

    @property
    def _n_features_out(self) -> int:
        return self.components_.shape[0]

    def _map_rank(self) -> int:
        """Return the numerical rank of M, at tolerance d * eps * its largest eigenvalue."""
        L = self.components_
        xp = namespace(L)
        largest = xp.max(xp.abs(L))
        values = xp.linalg.svdvals(L / xp.where(largest > 0, largest, xp.ones_like(largest))) ** 2
        tolerance = self.n_features_in_ * eps(values) * xp.max(values)
        return int(xp.sum(xp.astype(values > tolerance, xp.int64)))


class Embedding(Learner):
    """A learner of coordinates for its training samples, and of a way to place new ones.

    There is no map that is the same everywhere, hence no ``metric()``. A learner's ``_fit`` sets
    ``embedding_``, and its ``_place`` returns the coordinates of checked new samples, in any
    namespace. The embedding follows X as all else does.
    """

    embedding_: Array
    _learned: ClassVar[str] = "embedding_"
    _needs_labels: ClassVar[bool] = False

    def _place(self, X: Array) -> Array:
        """Return the coordinates of checked new samples."""
        raise TypeError(f"{type(self).__name__} does not say where it puts new samples.")

    def fit_transform(self, X: Array, y: Array | None = None) -> Array:
        """Learn the embedding and return it: ``embedding_``, not the training samples placed anew.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.
        y : ignored
            Not used.

        Returns
        -------
        Z : array of shape (n_samples, n_components)
            In X's namespace, dtype and device; a data frame where X is one.
        """
        return framed(self.fit(X, y).embedding_, X, self)

    def transform(self, X: Array) -> Array:
        """Place new samples among the embedded ones.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        Z : array of shape (n_samples, n_components)
            In X's namespace, dtype and device; a data frame where X is one.
        """
        check_is_fitted(self)
        check_same_namespace(X, self, attribute="embedding_", method="transform")
        samples = checked_samples(self, X, reset=False)
        return framed(like(self._place(samples), samples), X, self)

    @property
    def _n_features_out(self) -> int:
        return self.embedding_.shape[1]
