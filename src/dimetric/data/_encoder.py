"""Turn the columns of a table into numeric features, in the same way for new data."""

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_array, check_is_fitted

from dimetric._compat import StrOptions, check_params
from dimetric._names import suggest
from dimetric.data._categories import (
    UNKNOWN_CODE,
    category_codes,
    learn_column,
    one_hot,
    one_hot_names,
)
from dimetric.data._columns import columns_of, median, numeric_column

__all__ = ["TableEncoder"]


class TableEncoder(TransformerMixin, BaseEstimator):
    """Encode the columns of a table as features: numbers stay as they are, categories are one-hot.

    A column of texts holds categories. Each category becomes a feature called ``column=category``,
    which is 1 where the column has this category and 0 elsewhere; a column of two categories
    becomes one feature, for the second. Dates are refused, and so are columns of texts that nearly
    all differ.

    Parameters
    ----------
    missing : {"raise", "impute", "keep"}, default="raise"
        What is done about missing values. "raise": they are an error. "impute": they are replaced
        by the median, or the most frequent category, of the column in the fit. "keep": all
        features of the column are NaN.
    categories : mapping of names to sequences of str, optional
        All categories of columns of texts; by default those that are there in the fit, sorted.

    Attributes
    ----------
    feature_names_in_ : ndarray of shape (n_columns,)
        Names of the columns, if they have names. New data may have them in any order, and may
        have further columns, which are ignored.
    n_features_in_ : int
        Number of columns.
    categories_ : list of (list of str or None)
        The categories of each column; None for a column of numbers.
    fills_ : list of (float or str)
        The median or the most frequent category of each column.
    notes_ : list of str
        What was done, in sentences.

    Notes
    -----
    A category that was not there in the fit gets 0 in all features of its column, or 1/2 if the
    column has one feature: its distance to all known categories is the same. ``transform`` warns
    and counts such values. Arrays of numbers pass through, apart from missing values.

    Examples
    --------
    >>> train = {"size": np.array([1.0, 2.0, 5.0]), "colour": np.array(["red", "blue", "green"])}
    >>> encoder = TableEncoder().fit(train)
    >>> encoder.get_feature_names_out()
    array(['size', 'colour=blue', 'colour=green', 'colour=red'], dtype=object)
    >>> encoder.transform({"colour": np.array(["green"]), "size": np.array([3])})
    array([[3., 0., 1., 0.]])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "missing": [StrOptions({"raise", "impute", "keep"})],
        "categories": [dict, None],
    }

    n_features_in_: int
    feature_names_in_: np.ndarray
    categories_: list[list[str] | None]
    fills_: list[float | str]
    notes_: list[str]

    def __init__(
        self, *, missing: str = "raise", categories: Mapping[str, Sequence[str]] | None = None
    ) -> None:
        self.missing = missing
        self.categories = categories

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the names of the columns, their categories and their usual values.

        Parameters
        ----------
        X : data frame of pandas or polars, mapping of names to arrays, or array-like of numbers
            The table, of shape (n_samples, n_columns).
        y : ignored
        """
        check_params(self)
        self.__dict__.pop("feature_names_in_", None)
        self.notes_ = []
        if not _has_names(X):
            X = self._numbers(X)
            self.n_features_in_ = X.shape[1]
            self.categories_ = [None] * X.shape[1]
            self.fills_ = [median(f"x{i}", column) for i, column in enumerate(X.T)]
            self._check_missing(X)
            return self
        known = dict(self.categories or {})
        columns = columns_of(X, texts=known)
        if not columns or not len(next(iter(columns.values()))):
            raise ValueError("The table is empty: it has no rows, or no columns.")
        learned = [learn_column(name, columns[name], known.get(name)) for name in columns]
        self.categories_ = [column.categories for column in learned]
        self.fills_ = [column.fill for column in learned]
        self.notes_ = [column.note for column in learned if column.note]
        self.feature_names_in_ = np.array(list(columns), dtype=object)
        self.n_features_in_ = len(columns)
        self._check_missing(self._encode_columns(columns)[0])
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Return a table as features.

        Parameters
        ----------
        X : data frame of pandas or polars, mapping of names to arrays, or array-like of numbers
            The table. Columns are found by name if those of the fit had names, else by position.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
            Numbers.
        """
        features, unknown = self.encode(X)
        for name, count in unknown.items():
            warnings.warn(
                f"Column {name!r} holds {count} values that were no categories in the fit.",
                stacklevel=2,
            )
        self._check_missing(features)
        return features

    def encode(self, X: Any) -> tuple[np.ndarray, dict[str, int]]:
        """Return a table as features, with missing values, and count unknown categories.

        Parameters
        ----------
        X : data frame of pandas or polars, mapping of names to arrays, or array-like of numbers
            As in :meth:`transform`.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
            Features; NaN where a value is missing and ``missing`` is not "impute".
        unknown : dict of str to int
            For each column with unknown categories: how many values have one.
        """
        check_is_fitted(self)
        unknown: dict[str, int] = {}
        if _has_names(X):
            features, unknown = self._encode_columns(
                self._select(columns_of(X, self.category_columns()))
            )
        else:
            features = self._numbers(X)
            if features.shape[1] != self.n_features_in_ or any(self.categories_):
                raise ValueError(
                    f"The table has {features.shape[1]} columns of numbers without names, but "
                    f"{self._expected()}."
                )
        if self.missing == "impute":
            fill = self._features_of_fills().astype(features.dtype)
            features = np.where(np.isnan(features), fill, features)
        return features, unknown

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the features.

        Parameters
        ----------
        input_features : ignored
        """
        check_is_fitted(self)
        names: list[str] = []
        for name, categories in zip(self.column_names(), self.categories_, strict=True):
            if categories is None:
                names.append(name)
            else:
                names += one_hot_names(name, categories)
        return np.array(names, dtype=object)

    def column_names(self) -> list[str]:
        """Return the names of the columns of the fit; x0, x1, ... if they had no names."""
        check_is_fitted(self)
        if hasattr(self, "feature_names_in_"):
            return [str(each) for each in self.feature_names_in_]
        return [f"x{i}" for i in range(self.n_features_in_)]

    def category_columns(self) -> list[str]:
        """Return the names of the columns that hold categories."""
        pairs = zip(self.column_names(), self.categories_, strict=True)
        return [name for name, categories in pairs if categories is not None]

    def _select(self, columns: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Return the columns of new data that the fit has seen, in the order of the fit."""
        if not hasattr(self, "feature_names_in_"):
            if len(columns) != self.n_features_in_:
                raise ValueError(
                    f"The table has {len(columns)} columns, but {self._expected()}, without names: "
                    "give those alone, in their order."
                )
            return dict(zip(self.column_names(), columns.values(), strict=True))
        lost = [each for each in self.column_names() if each not in columns]
        if lost:
            hint = suggest(lost[0], columns, "It has")
            others = f" and {len(lost) - 1} others" if len(lost) > 1 else ""
            raise ValueError(f"The table has no column {lost[0]!r}{others}. {hint}")
        return {each: columns[each] for each in self.column_names()}

    def _encode_columns(self, columns: dict[str, np.ndarray]) -> tuple[np.ndarray, dict[str, int]]:
        """Return columns as features, NaN where a value is missing; count unknown categories."""
        parts, unknown = [], {}
        for (name, values), categories in zip(columns.items(), self.categories_, strict=True):
            if categories is None:
                parts.append(numeric_column(name, values)[:, None])
                continue
            codes = category_codes(values, categories)
            parts.append(one_hot(codes, len(categories)))
            if np.any(codes == UNKNOWN_CODE):
                unknown[name] = int(np.sum(codes == UNKNOWN_CODE))
        return np.concatenate(parts, axis=1), unknown

    def _numbers(self, X: Any) -> np.ndarray:
        return check_array(
            X, dtype=[np.float64, np.float32], ensure_all_finite="allow-nan", estimator=self
        )

    def _check_missing(self, features: np.ndarray) -> None:
        if self.missing != "raise":
            return
        absent = np.isnan(features)
        if absent.any():
            name = self.get_feature_names_out()[int(np.argmax(absent.any(axis=0)))]
            n_rows = int(absent.any(axis=1).sum())
            raise ValueError(
                f"{n_rows} of {len(absent)} rows have missing values, the first in "
                f"{str(name).partition('=')[0]!r}: leave them out, or set missing='impute'."
            )

    def _features_of_fills(self) -> np.ndarray:
        """Return the features of a row in which all values are missing and imputed."""
        row = {
            name: np.array([fill], dtype=np.float64 if own is None else object)
            for name, fill, own in zip(
                self.column_names(), self.fills_, self.categories_, strict=True
            )
        }
        return self._encode_columns(row)[0][0]

    def _expected(self) -> str:
        named = " with names" if hasattr(self, "feature_names_in_") else ""
        return f"there were {self.n_features_in_}{named} in the fit"

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags


def _has_names(X: Any) -> bool:
    return isinstance(X, Mapping) or (hasattr(X, "columns") and hasattr(X, "dtypes"))
