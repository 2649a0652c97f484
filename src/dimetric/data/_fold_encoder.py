"""Encode the columns of a table from the training rows of a fold alone."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin

from dimetric.data._categories import MISSING_CODE, UNKNOWN_CODE, category_codes, one_hot
from dimetric.data._columns import columns_of
from dimetric.data._encoder import TableEncoder
from dimetric.data._kinds._encoding import ColumnEncoding
from dimetric.data._numeric_column import numeric_column

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
    encodings: dict[int, ColumnEncoding] = {}
    if isinstance(X, np.ndarray):
        codes, n_categories = X, [0] * X.shape[1]
    else:
        codes, n_categories, encodings = _codes_of_columns(encoder, X)
    if not any(n_categories) and not encodings and not np.isnan(codes).any():
        return CodedTable(codes, None)
    return CodedTable(codes, FoldEncoder(n_categories, encodings or None))


def _codes_of_columns(
    encoder: TableEncoder, X: Any
) -> tuple[np.ndarray, list[int], dict[int, ColumnEncoding]]:
    """Return the codes of a table, and the number of categories and encodings of each code."""
    columns = columns_of(X, encoder.string_columns())
    parts: list[np.ndarray] = []
    n_categories: list[int] = []
    encodings: dict[int, ColumnEncoding] = {}
    for name, categories in zip(encoder.column_names(), encoder.categories_, strict=True):
        encoding = encoder.encodings_.get(name)
        if encoding is not None:
            part = encoding.codes(columns[name])
            if part.shape[1] == 1:
                encodings[len(n_categories)] = encoding
        elif categories is None:
            part = numeric_column(name, columns[name])[0][:, None]
        else:
            code = category_codes(columns[name], categories)
            part = np.where(code == MISSING_CODE, np.nan, code)[:, None]
        n_categories += [0 if categories is None else len(categories)] * part.shape[1]
        parts.append(part)
    return np.concatenate(parts, axis=1), n_categories, encodings


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
    encodings : mapping of int to ColumnEncoding, optional
        The encodings of columns that are neither numeric nor categorical, such as dates, by the
        number of the column. They are fitted to the rows of a fit.

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
    encodings_: dict[int, ColumnEncoding]

    def __init__(
        self, n_categories: Sequence[int], encodings: Mapping[int, ColumnEncoding] | None = None
    ) -> None:
        self.n_categories = n_categories
        self.encodings = encodings

    @property
    def n_features(self) -> int:
        """Number of features if the rows of a fit contain all categories."""
        encodings = self.encodings or {}
        return sum(
            encodings[j].n_features if j in encodings else 1 if k <= 2 else k
            for j, k in enumerate(self.n_categories)
        )

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
        self.fills_, self.seen_, self.encodings_ = np.zeros(X.shape[1]), [], {}
        encodings = self.encodings or {}
        for j, k in enumerate(self.n_categories):
            if j in encodings:
                self.seen_.append(None)
                self.encodings_[j] = encodings[j].fitted(X[:, [j]])
                self.fills_[j] = encodings[j].fill(X[:, j])
                continue
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
        for j, (column, seen) in enumerate(zip(X.T, self.seen_, strict=True)):
            if j in self.encodings_:
                parts.append(self.encodings_[j].features(column[:, None]))
                continue
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
