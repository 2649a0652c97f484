"""What the learners share: the fit template, and the learned map x -> L (x - o)."""

import logging
import sys
from time import perf_counter
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from dimetric._arrays.blocks import row_blocks
from dimetric._arrays.namespaces import Array, eps, like, namespace
from dimetric._arrays.validation import (
    checked_array,
    checked_samples,
    checked_samples_with_labels,
    encode_labels,
    take_rows,
)
from dimetric._compat import (
    CallbackSupportMixin,
    Progress,
    check_same_namespace,
    fit_method,
    framed,
)
from dimetric.learners._pair_scoring import PairTasks
from dimetric.linalg.psd import metric_of
from dimetric.supervision._validation import checked_constraints, checked_pair_rows, source_of
from dimetric.supervision.pairs import Pairs
from dimetric.supervision.triplets import Triplets

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
    _takes: ClassVar[tuple[str, ...]] = ("y",)  # "pairs", "triplets" too, in place of labels
    _min_samples: ClassVar[int] = 2
    _accepts_sparse: ClassVar[bool] = False

    def _fit(self, X: Array, codes: Any, progress: Progress) -> dict[str, Any]:
        """Set the fitted attributes from checked samples and supervision; return metadata.

        Supervision is an array of label codes, or, for learners that take them, the ``Pairs`` or
        ``Triplets`` that were given.
        """
        raise TypeError(f"{type(self).__name__} does not say how it is fitted.")

    def _max_steps(self) -> int:
        """Return how many iterations a fit may take; 0 for one without iterations."""
        return getattr(self, "max_iter", 0)

    @fit_method
    def fit(
        self,
        X: Array,
        y: Array | None = None,
        *,
        pairs: Pairs | None = None,
        triplets: Triplets | None = None,
    ) -> Self:
        """Learn the map, from exactly one of labels, pairs and triplets.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples: NumPy, pandas, polars, or an array of any array-API namespace. None if pairs
            or triplets hold vectors of their own.
        y : array-like of shape (n_samples,), optional
            Labels; learners that use none ignore them.
        pairs : Pairs, optional
            Which samples are alike and which are not, for learners that say so.
        triplets : Triplets, optional
            Which samples are more alike than others, for learners that say so.

        Returns
        -------
        self : object
            The fitted learner.
        """
        started = perf_counter()
        if not getattr(self, "warm_start", False):
            self._forget()
        try:
            samples, supervision = self._supervised(X, y=y, pairs=pairs, triplets=triplets)
            progress = Progress(self, samples if X is None else X, y, self._max_steps())
            metadata = self._fit(samples, supervision, progress)
        except BaseException:
            # An interrupt too: what is there, from this fit and the last, does not go together.
            self._forget()
            raise
        self._metadata = metadata | {"time": perf_counter() - started}
        progress.end()
        return self

    def fit_transform(self, X: Array, y: Array | None = None, **given: Any) -> Array:
        """Learn the map and return the samples under it.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples; None if pairs or triplets hold vectors of their own, which are then returned
            under the map.
        y, **given
            Labels, pairs or triplets, as those of :meth:`fit`.

        Returns
        -------
        Z : array of shape (n_samples, n_components)
            In X's namespace, dtype and device; a data frame where X is one.
        """
        if X is None:
            points = [getattr(constraints, "points", None) for constraints in given.values()]
            X = points[0] if len(points) == 1 else None
        return super().fit_transform(X, y, **given)

    def _forget(self) -> None:
        """Delete all fitted attributes."""
        for name in [name for name in vars(self) if name.endswith("_")]:
            delattr(self, name)

    def metadata(self) -> dict[str, Any]:
        """Return what is known about the fit: objective, iterations, reason, time, ..."""
        check_is_fitted(self)
        return dict(self._metadata)

    def _supervised(self, X: Array, **given: Any) -> tuple[Array, Any]:
        """Return the samples as an array, and their label codes, pairs or triplets."""
        source = source_of(self, self._takes if self._needs_labels else (), **given)
        for name in ("classes_", "targets_", "threshold_"):  # of another fit, from something else
            self.__dict__.pop(name, None)
        if source in (None, "y"):
            return self._checked(X, given["y"])
        return checked_constraints(self, X, given[source], source, min_samples=self._min_samples)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, self._learned)

    def _checked(
        self, X: Array, y: Array | None, *, reset: bool = True, min_samples: int | None = None
    ) -> tuple[Array, np.ndarray | None]:
        """Return the samples as an array and, if the learner uses labels, their codes.

        Samples without a label, where the learner has a parameter ``unlabelled``, have code -1.
        """
        min_samples = min_samples or self._min_samples
        if not self._needs_labels:
            return checked_samples(self, X, reset=reset, min_samples=min_samples), None
        samples, labels = checked_samples_with_labels(
            self, X, y, reset=reset, min_samples=min_samples
        )
        self.classes_, codes = encode_labels(labels, getattr(self, "unlabelled", None))
        return samples, codes

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = self._needs_labels
        tags.input_tags.sparse = self._accepts_sparse
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        tags.array_api_support = True
        return tags


class LinearMetric(PairTasks, Learner):
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

    def pair_distance(self, pairs: Pairs | Array, X: Array | None = None) -> Array:
        """Return the learned distance between the two samples of each pair.

        Parameters
        ----------
        pairs : array-like of shape (n_pairs, 2, n_features), or Pairs or (n_pairs, 2) with X
            Pairs of vectors, or pairs of row numbers of X.
        X : array-like of shape (n_samples, n_features), optional
            The samples that row numbers refer to.

        Returns
        -------
        distances : array of shape (n_pairs,)
        """
        check_is_fitted(self)
        points, rows = checked_pair_rows(self, pairs, X)
        L = like(self.components_, points)
        xp = namespace(points)
        blocks = row_blocks(max(1, len(rows)), max(1, 2**22 // points.shape[1]))
        distances = [
            _lengths((take_rows(points, rows[b, 0]) - take_rows(points, rows[b, 1])) @ L.T)
            for b in blocks
        ]
        return xp.concat(distances)

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


def _lengths(vectors: Array) -> Array:
    """Return the norms of rows.

    Squares of huge or tiny numbers leave the floating range; a common factor brings them in.
    """
    xp = namespace(vectors)
    largest = xp.max(xp.abs(vectors), axis=1, keepdims=True)
    largest = xp.where(largest > 0, largest, xp.ones_like(largest))
    return largest[:, 0] * xp.sqrt(xp.sum((vectors / largest) ** 2, axis=1))
