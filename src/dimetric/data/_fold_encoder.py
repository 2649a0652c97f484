"""Encode the columns of a table from the training rows of a fold alone."""

from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin

from dimetric.data._categories import MISSING_CODE, UNKNOWN_CODE, category_codes, one_hot
from dimetric.data._columns import columns_of, numeric_column
from dimetric.data._encoder import TableEncoder

__all__ = ["CodedTable", "FoldEncoder", "coded_table"]


class CodedTable(NamedTuple):
    """A table as an array of numbers. The numbers of a row do not depend on other rows.

    Attributes
    ----------
    codes : ndarray of shape (n_rows, n_columns)
        Numbers, and the index of each category. Missing values are NaN.
    encoder : FoldEncoder or None
        Encodes `codes` as features. None if the columns are features already: numbers without
        missing values.
    """

    codes: np.ndarray
    encoder: "FoldEncoder | None"


def coded_table(encoder: TableEncoder, X: Any) -> CodedTable:
    """Return a table as an array of codes, with an encoder to fit to the training rows of a fold.

    Parameters
    ----------
    encoder : TableEncoder
        An encoder fitted to the table. It determines which columns are categorical.
    X : mapping of names to arrays, or ndarray
        The table.

    Examples
    --------
    >>> X = {"size": np.array([1.0, 2.0, 5.0]), "colour": np.array(["red", "blue", "red"])}
    >>> coded_table(TableEncoder().fit(X), X)
    CodedTable(codes=array([[1., 1.],
           [2., 0.],
           [5., 1.]]), encoder=FoldEncoder(n_categories=[0, 2]))
    """
    if isinstance(X, np.ndarray):
        codes, n_categories = X, [0] * X.shape[1]
    else:
        columns = columns_of(X, encoder.category_columns())
        codes = np.empty((len(next(iter(columns.values()))), encoder.n_features_in_))
        n_categories = []
        for j, (name, categories) in enumerate(
            zip(encoder.column_names(), encoder.categories_, strict=True)
        ):
            n_categories.append(0 if categories is None else len(categories))
            if categories is None:
                codes[:, j] = numeric_column(name, columns[name])
            else:
                column = category_codes(columns[name], categories)
                codes[:, j] = np.where(column == MISSING_CODE, np.nan, column)
    if not any(n_categories) and not np.isnan(codes).any():
        return CodedTable(codes, None)
    return CodedTable(codes, FoldEncoder(n_categories))


class FoldEncoder(TransformerMixin, BaseEstimator):
    """Encode codes as features, as :class:`~dimetric.data.TableEncoder` does for columns.

    Missing values are replaced by the median or the most frequent category of the rows seen during
    fit. Only categories that occurred in these rows have features. Other categories are unknown:
    all features of the column are 0, or 1/2 if the column has one feature. So the features do not
    depend on other rows of the table.

    Parameters
    ----------
    n_categories : sequence of int
        Number of categories of each column, or 0 for a numeric column.

    Attributes
    ----------
    fills_ : ndarray of shape (n_columns,)
        The value that replaces missing values of each column. 0 if all values are missing.
    seen_ : list of (ndarray of bool, or None)
        Whether each category occurred during fit. None for a numeric column.

    Examples
    --------
    >>> encoder = FoldEncoder([0, 3]).fit([[1.0, 0], [2.0, 2], [np.nan, 2]])
    >>> encoder.transform([[np.nan, 1], [4.0, np.nan]])
    array([[1.5, 0.5],
           [4. , 1. ]])
    """

    fills_: np.ndarray
    seen_: list[np.ndarray | None]

    def __init__(self, n_categories: Sequence[int]) -> None:
        self.n_categories = n_categories

    @property
    def n_features(self) -> int:
        """Number of features if the rows of a fit contain all categories."""
        return sum(1 if k <= 2 else k for k in self.n_categories)

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn which categories occur, and the values for imputation.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_columns)
            Codes.
        y : None
            Ignored.
        """
        X = _as_floats(X)
        self.fills_, self.seen_ = np.zeros(X.shape[1]), []
        for j, k in enumerate(self.n_categories):
            present = X[~np.isnan(X[:, j]), j]
            counts = np.bincount(present.astype(np.int64), minlength=k) if k else None
            self.seen_.append(None if counts is None else counts > 0)
            if len(present):
                self.fills_[j] = np.median(present) if counts is None else np.argmax(counts)
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Encode codes as features.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_columns)
            Codes.
        """
        X = _as_floats(X)
        X = np.where(np.isnan(X), self.fills_.astype(X.dtype), X)
        parts = []
        for column, seen in zip(X.T, self.seen_, strict=True):
            if seen is None:
                parts.append(column[:, None])
                continue
            index = np.where(seen, np.cumsum(seen) - 1, UNKNOWN_CODE)  # among the seen categories
            parts.append(one_hot(index[column.astype(np.int64)], int(np.sum(seen))))
        return np.concatenate(parts, axis=1)


def _as_floats(X: Any) -> np.ndarray:
    """Return X as an array of floats. float32 stays float32."""
    X = np.asarray(X)
    return X if X.dtype.kind == "f" else X.astype(np.float64)
