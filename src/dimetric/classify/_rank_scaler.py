"""A scaler that replaces features by their ranks."""

from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from dimetric._arrays.namespaces import Array, asarray_like, is_foreign, to_host
from dimetric._arrays.validation import checked_samples

MAX_KNOTS = 100  # between the knots, ranks are interpolated


class RankScaler(TransformerMixin, BaseEstimator):
    r"""Scaler of each feature by its rank among the training samples.

    .. math:: z_k = \frac{F_k(x_k) - F_k(0)}{\sigma_k}

    :math:`F_k` is the fraction of the training samples whose feature k is smaller, plus half of
    the fraction where it is equal. It is interpolated linearly between at most 100 values.
    :math:`\sigma_k` is the standard deviation of the ranks. So skewed features and outliers do not
    dominate distances. Zeros stay zeros, which keeps sparse arrays sparse.

    Attributes
    ----------
    values_, ranks_ : ndarray of shape (n_knots, n_features)
        Values of each feature, in ascending order, and what they are replaced by. The last one is
        repeated for features that have fewer values.
    n_features_in_ : int
        Number of features.

    Examples
    --------
    >>> RankScaler().fit_transform(np.array([[0.0], [1.0], [1000.0]])).round(2)
    array([[0.  ],
           [1.22],
           [2.45]])
    """

    _accepts_sparse = True
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {}

    def fit(self, X: Array, y: Any = None) -> Self:
        """Compute the ranks.

        Parameters
        ----------
        X : array-like or sparse array of shape (n_samples, n_features)
            Samples.
        y : None
            Ignored.

        Returns
        -------
        self : object
            The fitted scaler.
        """
        X = checked_samples(self, X, reset=True)
        X = sparse.csc_array(X) if sparse.issparse(X) else to_host(X)
        knots = [_knots(_column(X, k)) for k in range(X.shape[1])]
        width = max(len(values) for values, _ in knots)
        self.values_, self.ranks_ = (
            np.stack([np.pad(each, (0, width - len(each)), mode="edge") for each in part], axis=1)
            for part in zip(*knots, strict=True)
        )
        return self

    def transform(self, X: Array) -> Array:
        """Return the scaled ranks.

        Parameters
        ----------
        X : array-like or sparse array of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        Z : array or sparse array of shape (n_samples, n_features)
            Scaled ranks, in the array namespace of X.
        """
        check_is_fitted(self)
        X = checked_samples(self, X, reset=False)
        if sparse.issparse(X):
            Z = sparse.csc_array(X, copy=True)
            for k in range(Z.shape[1]):
                part = slice(Z.indptr[k], Z.indptr[k + 1])
                Z.data[part] = np.interp(Z.data[part], self.values_[:, k], self.ranks_[:, k])
            return sparse.csr_array(Z)
        host = to_host(X)
        columns = zip(host.T, self.values_.T, self.ranks_.T, strict=True)
        Z = np.stack([np.interp(*each) for each in columns], axis=1).astype(host.dtype, copy=False)
        return asarray_like(Z, X) if is_foreign(X) else Z

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _column(X: Any, k: int) -> np.ndarray:
    return X[:, [k]].toarray()[:, 0] if sparse.issparse(X) else X[:, k]


def _knots(column: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return at most `MAX_KNOTS` values of a feature, and their ranks, scaled and shifted."""
    values, index, counts = np.unique(
        column.astype(np.float64), return_inverse=True, return_counts=True
    )
    ranks = (np.cumsum(counts) - counts / 2) / len(column)
    scale = float(np.std(ranks[index])) or 1.0
    ranks = (ranks - np.interp(0.0, values, ranks)) / scale
    if len(values) > MAX_KNOTS:
        chosen = np.searchsorted(ranks, np.linspace(ranks[0], ranks[-1], MAX_KNOTS))
        chosen = np.unique(np.minimum(chosen, len(values) - 1))
        values, ranks = values[chosen], ranks[chosen]
        ranks = ranks - np.interp(0.0, values, ranks)
    return values, ranks
