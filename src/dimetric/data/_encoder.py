"""Encode the columns of a table as numeric features, consistently for new data."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from dimetric._arguments import ArgumentErrorMixin
from dimetric._compat import StrOptions, check_params
from dimetric._names import suggest
from dimetric._warnings import warn
from dimetric.data._categories import unknown_categories_note
from dimetric.data._column_features import column_feature_names, column_features, fill_features
from dimetric.data._columns import columns_of, encodings_of, has_names, median, numeric_array
from dimetric.data._kinds._encoding import ColumnEncoding, unread_note
from dimetric.data._learn_column import column_notes, learn_column
from dimetric.data._numeric_column import MAX_UNREAD, check_unread

__all__ = ["TableEncoder"]


class TableEncoder(ArgumentErrorMixin, TransformerMixin, BaseEstimator):
    """Encode the columns of a table as features: keep numbers, one-hot encode categories.

    String columns are categorical. Each category becomes a feature named ``column=category``, which
    is 1 for rows of this category and 0 for others. A column with two categories becomes one
    feature, for the second category. Other columns become features as follows:

    - Percentages, amounts of money, numbers with a unit, and durations become numbers.
    - Dates become year, month, day, weekday, elapsed days and time of day, as far as these vary.
      Month, weekday and time become a sine and a cosine, so that December is near to January.
    - Texts with more than 50 distinct values become the logarithm of how often each occurs, and
      one-hot features of the most frequent ones. Free texts become 32 features, to which their
      words are hashed.

    Parameters
    ----------
    missing : {"raise", "impute", "keep", "auto"}, default="raise"
        How to treat missing values. "raise" raises an error. "impute" replaces them by the median
        or most frequent category that the column had during fit. "keep" sets all features of the
        column to NaN. "auto" imputes them if there were any during fit, and raises an error
        otherwise.
    categories : dict of str to sequence of str, optional
        All categories of a column, by column name. By default, the sorted categories seen during
        fit.

    Attributes
    ----------
    feature_names_in_ : ndarray of shape (n_columns,)
        Names of the columns. Defined only if the table has column names. New data may have these
        columns in any order. Additional columns are ignored.
    n_features_in_ : int
        Number of columns.
    categories_ : list of (list of str or None)
        The categories of each column. None for a numeric column.
    fills_ : list of (float or str)
        The median, the most frequent category or the code that replaces missing values.
    encodings_ : dict of str to ColumnEncoding
        The fitted encodings of the columns that are neither numeric nor categorical.
    imputes_ : bool
        Whether ``missing="auto"`` imputes missing values.
    notes_ : list of str
        Messages about how columns were encoded.

    Notes
    -----
    A category that was not seen during fit is encoded as 0 in all features of its column, or as
    1/2 if the column has one feature. So it has the same distance to all known categories.
    ``transform`` warns about such values. Numeric arrays are returned unchanged, except for missing
    values.

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
        "missing": [StrOptions({"raise", "impute", "keep", "auto"})],
        "categories": [dict, None],
    }

    n_features_in_: int
    feature_names_in_: np.ndarray
    categories_: list[list[str] | None]
    fills_: list[float | str]
    notes_: list[str]
    encodings_: dict[str, ColumnEncoding]
    imputes_: bool

    def __init__(
        self, *, missing: str = "raise", categories: Mapping[str, Sequence[str]] | None = None
    ) -> None:
        self.missing = missing
        self.categories = categories

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the names of the columns, their categories and their values for imputation.

        Parameters
        ----------
        X : pandas or polars data frame, mapping of names to arrays, or numeric array-like
            The table, of shape (n_samples, n_columns).
        y : None
            Ignored.
        """
        check_params(self)
        self.__dict__.pop("feature_names_in_", None)
        self.notes_, self.encodings_ = [], {}
        if not has_names(X):
            X = numeric_array(X, self)
            self.n_features_in_ = X.shape[1]
            self.categories_ = [None] * X.shape[1]
            self.fills_ = [median(f"x{i}", column) for i, column in enumerate(X.T)]
            self.imputes_ = self.missing == "auto" and bool(np.isnan(X).any())
            self._check_missing(X)
            return self
        known, given = dict(self.categories or {}), encodings_of(X)
        columns = columns_of(X, string_columns=[*known, *given])
        if not columns or not len(next(iter(columns.values()))):
            raise ValueError("The table is empty: it has no rows or no columns.")
        learned = [
            learn_column(name, columns[name], known.get(name), given.get(name)) for name in columns
        ]
        self.categories_ = [column.categories for column in learned]
        self.fills_ = [column.fill for column in learned]
        self.notes_ = column_notes(dict(zip(columns, learned, strict=True)))
        self.encodings_ = {
            name: column.encoding
            for name, column in zip(columns, learned, strict=True)
            if column.encoding is not None
        }
        self.feature_names_in_ = np.array(list(columns), dtype=object)
        self.n_features_in_ = len(columns)
        features = self._encode_columns(columns)[0]
        self.imputes_ = self.missing == "auto" and bool(np.isnan(features).any())
        self._check_missing(features)
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Encode a table as features.

        Parameters
        ----------
        X : pandas or polars data frame, mapping of names to arrays, or numeric array-like
            The table. Columns are matched by name if the encoder was fitted on named columns, else
            by position.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
            The features.
        """
        features, unknown = self.encode(X)
        limit = MAX_UNREAD if self.missing == "keep" or self.imputes() else 0.0
        for name, count in unknown.items():
            if name in self.numeric_columns():
                check_unread(name, count, len(features), limit=limit)
            warn(self.unknown_note(name, count))
        self._check_missing(features)
        return features

    def encode(self, X: Any) -> tuple[np.ndarray, dict[str, int]]:
        """Encode a table as features, and count unknown categories and unreadable values.

        Unlike :meth:`transform`, this method neither warns about unknown categories nor raises an
        error on missing values.

        Parameters
        ----------
        X : pandas or polars data frame, mapping of names to arrays, or numeric array-like
            As in :meth:`transform`.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
            The features. Missing values are NaN unless ``missing="impute"``.
        unknown : dict of str to int
            Number of values with an unknown category, or that are not numbers in a numeric column,
            for each column that has any.
        """
        check_is_fitted(self)
        unknown: dict[str, int] = {}
        if has_names(X):
            features, unknown = self._encode_columns(
                self._select(columns_of(X, self.string_columns()))
            )
        else:
            features = numeric_array(X, self)
            if features.shape[1] != self.n_features_in_ or self.string_columns():
                raise ValueError(
                    f"The table has {features.shape[1]} columns without names, but there were "
                    f"{self._fitted_columns()} during fit."
                )
        if self.imputes():
            fill = self._encoded_fills().astype(features.dtype)
            features = np.where(np.isnan(features), fill, features)
        return features, unknown

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the features.

        Parameters
        ----------
        input_features : None
            Ignored.
        """
        check_is_fitted(self)
        return np.array([each for names in self._feature_names() for each in names], dtype=object)

    def imputes(self) -> bool:
        """Return whether missing values in new data are imputed."""
        if self.missing == "auto":
            return self.imputes_
        return self.missing == "impute"

    def column_names(self) -> list[str]:
        """Return the column names seen during fit, or x0, x1, ... if the columns had no names."""
        check_is_fitted(self)
        if hasattr(self, "feature_names_in_"):
            return [str(each) for each in self.feature_names_in_]
        return [f"x{i}" for i in range(self.n_features_in_)]

    def string_columns(self) -> list[str]:
        """Return the names of the columns whose values are read as strings."""
        learned = zip(self.column_names(), self.categories_, self._encodings(), strict=True)
        return [name for name, *kinds in learned if any(each is not None for each in kinds)]

    def numeric_columns(self) -> set[str]:
        """Return the names of the columns that hold plain numbers."""
        return set(self.column_names()) - set(self.string_columns())

    def unknown_note(self, name: str, n_values: int) -> str:
        """Return a message that `n_values` of a column were not seen or cannot be read."""
        encoding = dict(zip(self.column_names(), self._encodings(), strict=True))[name]
        if name in self.numeric_columns():
            return unread_note(name, "numbers", n_values)
        if encoding is None:
            return unknown_categories_note(name, n_values)
        return encoding.unknown_note(name, n_values)

    def _encodings(self) -> list[ColumnEncoding | None]:
        """Return the encoding of each column, or None for numbers and categories."""
        encodings = getattr(self, "encodings_", {})  # absent from older model files
        return [encodings.get(name) for name in self.column_names()]

    def _feature_names(self) -> list[list[str]]:
        """Return the names of the features of each column."""
        learned = zip(self.column_names(), self.categories_, self._encodings(), strict=True)
        return [column_feature_names(*column) for column in learned]

    def _select(self, columns: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Return the columns of new data that were seen during fit, in the same order."""
        if not hasattr(self, "feature_names_in_"):
            if len(columns) != self.n_features_in_:
                raise ValueError(
                    f"The table has {len(columns)} columns, but there were "
                    f"{self._fitted_columns()} during fit. Pass exactly these columns, in the same "
                    "order."
                )
            return dict(zip(self.column_names(), columns.values(), strict=True))
        absent_names = [each for each in self.column_names() if each not in columns]
        if absent_names:
            hint = suggest(absent_names[0], columns, "It has")
            others = f" ({len(absent_names) - 1} more are missing)" if len(absent_names) > 1 else ""
            raise ValueError(f"The table has no column {absent_names[0]!r}{others}. {hint}")
        return {each: columns[each] for each in self.column_names()}

    def _encode_columns(self, columns: dict[str, np.ndarray]) -> tuple[np.ndarray, dict[str, int]]:
        """Encode columns as features, missing values as NaN, and count unknown categories."""
        parts, unknown = [], {}
        pairs = zip(columns.items(), self.categories_, self._encodings(), strict=True)
        for (name, values), categories, encoding in pairs:
            features, n_unknown = column_features(name, values, categories, encoding)
            parts.append(features)
            if n_unknown:
                unknown[name] = n_unknown
        return np.concatenate(parts, axis=1), unknown

    def _check_missing(self, features: np.ndarray) -> None:
        if self.missing == "keep" or self.imputes():
            return
        absent = np.isnan(features)
        if absent.any():
            owners = np.repeat(self.column_names(), [len(each) for each in self._feature_names()])
            name = owners[int(np.argmax(absent.any(axis=0)))]
            n_rows = int(absent.any(axis=1).sum())
            raise ValueError(
                f"Missing values in {n_rows} of {len(absent)} rows, for example in column "
                f"{str(name)!r}. Drop these rows, or set missing='impute'."
            )

    def _encoded_fills(self) -> np.ndarray:
        """Return the features that imputation gives to a row whose values are all missing."""
        learned = zip(self.fills_, self.categories_, self._encodings(), strict=True)
        return np.concatenate([fill_features(*column) for column in learned])

    def _fitted_columns(self) -> str:
        """Describe the columns seen during fit, for error messages."""
        named = "with" if hasattr(self, "feature_names_in_") else "without"
        return f"{self.n_features_in_} columns {named} names"

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags
