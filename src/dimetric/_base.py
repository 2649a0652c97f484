"""What the learners share: input checks, the fit template, and the learned map x -> L (x - o)."""

import logging
import sys
from time import perf_counter
from typing import Any, ClassVar, Self

import array_api_compat as compat
import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags, assert_all_finite, check_consistent_length
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array, check_is_fitted, column_or_1d, validate_data

from dimetric._compat import (
    CallbackSupportMixin,
    Progress,
    check_same_namespace,
    fit_method,
    framed,
)
from dimetric._xp import Array, eps, is_foreign, like, namespace, to_host
from dimetric.linalg.psd import metric_of

logger = logging.getLogger("dimetric")


def report(message: str, *values: object) -> None:
    """Log a line that the user asked to see (``verbose``), on stderr unless logging is set up."""
    if not logger.hasHandlers():
        logger.addHandler(logging.StreamHandler(sys.stderr))
    if logger.getEffectiveLevel() > logging.INFO:
        logger.setLevel(logging.INFO)
    logger.info(message, *values)


class LinearMetric(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, CallbackSupportMixin, BaseEstimator
):
    r"""A learner of a linear map, and so of a Mahalanobis distance.

    .. math:: z = L (x - o), \qquad d(x, x') = |L (x - x')| = \sqrt{(x - x')^T M (x - x')},
              \quad M = L^T L

    A learner implements ``_fit``, which sets ``components_`` (L) and ``offset_`` (o) and returns
    its metadata. Everything follows X: the container, dtype and device of the input decide where
    the work runs and what comes back; the learned map moves to where it is applied.
    """

    components_: Array
    offset_: Array
    _needs_labels: ClassVar[bool] = True
    _min_samples: ClassVar[int] = 2
    _accepts_sparse: ClassVar[bool] = False

    def _fit(self, X: Array, codes: Any, progress: Progress) -> dict[str, Any]:
        """Set the fitted attributes from checked samples and label codes; return metadata."""
        raise TypeError(f"{type(self).__name__} does not say how it is fitted.")

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
        samples, codes = self._checked(X, y)
        progress = Progress(self, X, y, getattr(self, "max_iter", 0))
        metadata = self._fit(samples, codes, progress)
        self._metadata = metadata | {"time": perf_counter() - started}
        progress.end()
        return self

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
        samples = self._checked_X(X, reset=False)
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
        """
        check_is_fitted(self)
        Z = self._checked_Z(Z)
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
        check_is_fitted(self)
        return self._metadata | {"rank": self._map_rank()}  # of M, which can take longer than a fit

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
        left, right = self._checked_pairs(pairs, X)
        difference = (left - right) @ like(self.components_, left).T
        xp = namespace(difference)
        # Squares of huge or tiny numbers leave the floating range; a common factor brings them in.
        largest = xp.max(xp.abs(difference), axis=1, keepdims=True)
        largest = xp.where(largest > 0, largest, xp.ones_like(largest))
        return largest[:, 0] * xp.sqrt(xp.sum((difference / largest) ** 2, axis=1))

    def pair_score(self, pairs: Array, X: Array | None = None) -> Array:
        """Return how alike the samples of each pair are: minus their :meth:`pair_distance`."""
        return -self.pair_distance(pairs, X)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "components_")

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

    def _checked(
        self, X: Array, y: Array | None, *, reset: bool = True, min_samples: int | None = None
    ) -> tuple[Array, np.ndarray | None]:
        """Return the samples as an array and, if the learner uses labels, their codes."""
        min_samples = min_samples or self._min_samples
        if not self._needs_labels:
            return self._checked_X(X, reset=reset, min_samples=min_samples), None
        y = to_host(y) if is_foreign(y) else y
        if y is None or not is_foreign(X):
            X, y = validate_data(self, X, y, reset=reset, **self._array_options(X, min_samples))
        else:
            X = self._checked_X(X, reset=reset, min_samples=min_samples)
            y = column_or_1d(y, warn=True)
            assert_all_finite(y, input_name="y")
            check_consistent_length(X, y)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        return X, codes

    def _checked_X(self, X: Array, *, reset: bool, min_samples: int = 1) -> Array:
        if is_foreign(X):
            X = _checked_foreign(X, min_samples)
            validate_data(self, X, reset=reset, skip_check_array=True)
            return X
        X = validate_data(self, X, reset=reset, **self._array_options(X, min_samples))
        return sparse.csr_array(X) if sparse.issparse(X) else X  # not the old matrix class

    def _array_options(self, X: Any, min_samples: int) -> dict[str, Any]:
        return {
            "accept_sparse": "csr" if self._accepts_sparse else False,
            "dtype": _dtype_for(X),
            "ensure_min_samples": min_samples,
        }

    def _checked_Z(self, Z: Array) -> Array:
        if is_foreign(Z):
            Z = _checked_foreign(Z, 1, name="Z")
        else:
            Z = check_array(Z, dtype=_dtype_for(Z), input_name="Z")
        if Z.shape[1] != self._n_features_out:
            raise ValueError(
                f"Z has {Z.shape[1]} columns, but {type(self).__name__} maps to "
                f"{self._n_features_out} components."
            )
        return Z

    def _checked_pairs(self, pairs: Array, X: Array | None) -> tuple[Array, Array]:
        """Return the left and the right samples of the pairs."""
        if X is None:
            if is_foreign(pairs):
                pairs = _checked_foreign(pairs, 1, ndim=3, name="pairs")
            else:
                pairs = check_array(
                    pairs, dtype=_dtype_for(pairs), allow_nd=True, input_name="pairs"
                )
            if pairs.ndim != 3 or tuple(pairs.shape[1:]) != (2, self.n_features_in_):
                raise ValueError(
                    f"pairs has shape {tuple(pairs.shape)}; without X it must hold vectors, of "
                    f"shape (n_pairs, 2, {self.n_features_in_})."
                )
            return pairs[:, 0, :], pairs[:, 1, :]
        X = self._checked_X(X, reset=False)
        index = check_array(to_host(pairs), dtype=None, input_name="pairs")
        if index.shape[1] != 2 or index.dtype.kind not in "iu":
            raise ValueError(
                f"pairs has shape {index.shape} and dtype {index.dtype}; with X it must hold row "
                "numbers: integers of shape (n_pairs, 2)."
            )
        outside = np.flatnonzero(((index < 0) | (index >= X.shape[0])).any(axis=1))
        if len(outside):
            raise ValueError(
                f"pairs[{outside[0]}] = {index[outside[0]].tolist()} names a row outside X, which "
                f"has {X.shape[0]} samples."
            )
        xp = namespace(X)
        if sparse.issparse(X):
            return X[index[:, 0]].toarray(), X[index[:, 1]].toarray()
        index = like(index, X, dtype=xp.int64)
        return xp.take(X, index[:, 0], axis=0), xp.take(X, index[:, 1], axis=0)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = self._needs_labels
        tags.input_tags.sparse = self._accepts_sparse
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        tags.array_api_support = True
        return tags


def _dtype_for(X: Any) -> Any:
    """Return the dtype to check samples with: float32 and float64 stay, others become float64.

    scikit-learn sees the dtypes of pandas' columns, but not of other data frames'.
    """
    frame = hasattr(X, "columns") and len(X.columns) > 0
    single = frame and all(str(dtype).lower() == "float32" for dtype in X.dtypes)
    return np.float32 if single else [np.float64, np.float32]


def _checked_foreign(X: Array, min_samples: int, *, ndim: int = 2, name: str = "X") -> Array:
    """Check an array of another namespace as scikit-learn checks NumPy's; it stays where it is."""
    if compat.is_torch_array(X) and X.requires_grad:
        X = X.detach()  # a fit is no part of anybody's graph
    xp = namespace(X)
    if X.ndim != ndim:
        raise ValueError(
            f"Expected {ndim}D array, got {X.ndim}D array of shape {tuple(X.shape)} instead."
        )
    n, d = X.shape[0], X.shape[-1]
    if n < min_samples or d < 1:
        raise ValueError(
            f"Found array with {n} sample(s) and {d} feature(s) (shape={(n, d)}) while a minimum "
            f"of {min_samples} sample(s) and 1 feature(s) is required."
        )
    if xp.isdtype(X.dtype, "complex floating"):
        raise ValueError(f"Complex data not supported: {name} must be real.")
    if X.dtype not in (xp.float32, xp.float64):
        X = xp.astype(X, xp.float64)
    if not bool(xp.all(xp.isfinite(X))):
        raise ValueError(f"Input {name} contains NaN or infinity.")
    return X


def in_range(X: Array) -> tuple[Array, float]:
    """Return X times a power of two that keeps sums of squares at ease, and that factor.

    The factor is 1 for all ordinary data, and a power of two never costs a digit. Values whose
    squares the dtype cannot hold are refused: neither could it hold a variance, or M.
    """
    xp = namespace(X)
    values = X.data if sparse.issparse(X) else X
    limit = 2.0**40 if X.dtype == xp.float32 else 2.0**200
    if compat.is_numpy_array(values):
        # One fast pass settles nearly all cases: no value is above the root of the sum of
        # squares, and the largest is not below the root of their mean.
        flat = values.ravel(order="K")
        with np.errstate(over="ignore"):
            total = float(flat @ flat)
        if total <= limit**2 and total >= flat.size / limit**2:
            return X, 1.0
    largest = max(float(xp.max(values)), -float(xp.min(values))) if values.shape[0] else 0.0
    info = xp.finfo(X.dtype)
    low, high = 4 * float(info.smallest_normal) ** 0.5, float(info.max) ** 0.5 / 4
    if largest > 0 and not low <= largest <= high:
        raise ValueError(
            f"X holds values up to {largest:.1e}, whose squares {X.dtype} cannot hold: the "
            f"largest must be between {low:.0e} and {high:.0e}. Scale X, or use float64."
        )
    if largest == 0 or 1 / limit <= largest <= limit:
        return X, 1.0
    factor = float(2.0 ** -np.floor(np.log2(largest)))
    return X * factor, factor
