"""From columns of any kind to samples, the same way again for new data."""

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_array, check_is_fitted

from dimetric._compat import StrOptions, check_params
from dimetric._names import suggest
from dimetric.data.columns import (
    UNKNOWN,
    as_numbers,
    codes_of,
    columns_of,
    is_missing,
    is_number,
    leave_out,
    median,
    one_hot,
    refuse_dates,
    text,
)

__all__ = ["TableEncoder"]

TEXTS = 50  # different ones up to which a column of texts is one of categories for sure
MANY = 10  # different numbers from which on a column should perhaps be one of numbers


class TableEncoder(TransformerMixin, BaseEstimator):
    """Columns of a table as features: numbers as they are, categories one-hot.

    A column of texts is one of categories, with a feature for each, called ``column=category``,
    that is 1 where the category is; of two categories a single feature tells. Dates, and texts
    that nearly all differ, are refused.

    Parameters
    ----------
    missing : {"raise", "impute", "keep"}, default="raise"
        What is done with missing values: they are an error; or the median, or the most frequent
        category, of the column in the fit; or NaN in all features of their column.
    categories : mapping of names to sequences of str, optional
        All categories of columns of texts; by default those that are there, sorted.

    Attributes
    ----------
    feature_names_in_ : ndarray of shape (n_columns,)
        Names of the columns, if they have any. New data may have them in any order, and others.
    n_features_in_ : int
        Number of columns.
    categories_ : list of (list of str or None)
        The categories of each column; None of one of numbers.
    fills_ : list of (float or str)
        The median or the most frequent category of each column.
    notes_ : list of str
        What was done, in sentences.

    Notes
    -----
    A category that was not there in the fit is as far from each of the others as these are from
    nothing: all features of its column are 0, or the one feature is 1/2. A warning counts them.
    Arrays of numbers pass through, apart from missing values.

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
        """Take note of the columns, of their categories and usual values.

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
            self._check_gaps(X)
            return self
        known = dict(self.categories or {})
        columns = columns_of(X, texts=known)
        if not columns or not len(next(iter(columns.values()))):
            raise ValueError("The table is empty: it has no rows, or no columns.")
        learned = [self._learned(name, columns[name], known.get(name)) for name in columns]
        self.categories_, self.fills_ = (list(part) for part in zip(*learned, strict=True))
        self.feature_names_in_ = np.array(list(columns), dtype=object)
        self.n_features_in_ = len(columns)
        self._check_gaps(self._encoded(columns)[0])
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Return a table as features.

        Parameters
        ----------
        X : data frame of pandas or polars, mapping of names to arrays, or array-like of numbers
            The table. Columns are found by their names if they had names in the fit, too, else
            by their places.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
            Numbers.
        """
        features, unknown = self.encode(X)
        for name, count in unknown.items():
            warnings.warn(
                f"Column {name!r} holds {count} values that are none of the categories of the fit.",
                stacklevel=2,
            )
        self._check_gaps(features)
        return features

    def encode(self, X: Any) -> tuple[np.ndarray, dict[str, int]]:
        """Return a table as features, whatever is missing, and how many categories are unknown.

        Parameters
        ----------
        X : data frame of pandas or polars, mapping of names to arrays, or array-like of numbers
            As in :meth:`transform`.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
            Numbers; NaN where a value is missing, unless these are imputed.
        unknown : dict of str to int
            How many values of a column are none of its categories, where there are any.
        """
        check_is_fitted(self)
        unknown: dict[str, int] = {}
        if _has_names(X):
            features, unknown = self._encoded(self._chosen(columns_of(X, self._texts())))
        else:
            features = self._numbers(X)
            if features.shape[1] != self.n_features_in_ or any(self.categories_):
                raise ValueError(
                    f"The table has {features.shape[1]} columns of numbers without names, but "
                    f"{self._expected()}."
                )
        if self.missing == "impute":
            fill = self._filled().astype(features.dtype)
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
        for name, categories in zip(self._names(), self.categories_, strict=True):
            if categories is None:
                names.append(name)
            else:  # of two, the last one tells
                told = categories if len(categories) > 2 else categories[-1:]
                names += [f"{name}={each}" for each in told]
        return np.array(names, dtype=object)

    def _learned(
        self, name: str, values: np.ndarray, known: Sequence[str] | None
    ) -> tuple[list[str] | None, float | str]:
        """Return the categories of a column, None of numbers, and its usual value."""
        refuse_dates(name, values)
        there = values[~is_missing(values)]
        if not len(there):
            raise ValueError(f"Column {name!r} holds no value at all: {leave_out(name)}.")
        if values.dtype.kind in "iufb":
            if there.min() == there.max() and len(there) > 1:
                self.notes_.append(f"Column {name!r} holds a single value, {there[0]:g}.")
            return None, median(name, there)
        texts, counts = np.unique([text(each) for each in there], return_counts=True)
        odd = _odd_among_numbers(texts, counts)
        if len(texts) > max(TEXTS, len(values) // 2):
            what = odd or f"as {str(texts[0])[:40]!r}: they are no categories"
            raise ValueError(
                f"Column {name!r} holds {len(texts)} different texts in {len(values)} rows, {what}."
                f" Turn it into numbers, or {leave_out(name)}."
            )
        categories = [str(each) for each in (texts if known is None else known)]
        if len(categories) == 1:
            self.notes_.append(f"Column {name!r} holds a single value, {categories[0]!r}.")
        elif len(categories) == 2:
            self.notes_.append(f"Column {name!r} is 1 where it is {categories[-1]!r}, else 0.")
        else:
            told = f", {odd}" if odd else ""
            self.notes_.append(f"Column {name!r} is one-hot: {len(categories)} categories{told}.")
        return categories, str(texts[np.argmax(counts)])

    def _chosen(self, columns: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Return those of new data's columns that the fit has seen, in its order."""
        if not hasattr(self, "feature_names_in_"):
            if len(columns) != self.n_features_in_:
                raise ValueError(
                    f"The table has {len(columns)} columns, but {self._expected()}, without names: "
                    "give those alone, in their order."
                )
            return dict(zip(self._names(), columns.values(), strict=True))
        lost = [each for each in self._names() if each not in columns]
        if lost:
            hint = suggest(lost[0], columns, "It has")
            others = f" and {len(lost) - 1} others" if len(lost) > 1 else ""
            raise ValueError(f"The table has no column {lost[0]!r}{others}. {hint}")
        return {each: columns[each] for each in self._names()}

    def _encoded(self, columns: dict[str, np.ndarray]) -> tuple[np.ndarray, dict[str, int]]:
        """Return columns as features, NaN where a value is missing, and count what is unknown."""
        parts, unknown = [], {}
        for (name, values), categories in zip(columns.items(), self.categories_, strict=True):
            if categories is None:
                parts.append(as_numbers(name, values)[:, None])
                continue
            numbers = codes_of(values, categories)
            parts.append(one_hot(numbers, len(categories)))
            if np.any(numbers == UNKNOWN):
                unknown[name] = int(np.sum(numbers == UNKNOWN))
        return np.concatenate(parts, axis=1), unknown

    def _numbers(self, X: Any) -> np.ndarray:
        return check_array(
            X, dtype=[np.float64, np.float32], ensure_all_finite="allow-nan", estimator=self
        )

    def _check_gaps(self, features: np.ndarray) -> None:
        if self.missing != "raise":
            return
        gaps = np.isnan(features)
        if gaps.any():
            name = self.get_feature_names_out()[int(np.argmax(gaps.any(axis=0)))]
            raise ValueError(
                f"{int(gaps.any(axis=1).sum())} of {len(gaps)} rows have missing values, the first "
                f"in {str(name).partition('=')[0]!r}: leave them out, or set missing='impute'."
            )

    def _filled(self) -> np.ndarray:
        """Return the features of a row in which all values are missing."""
        parts: list[float] = []
        for fill, own in zip(self.fills_, self.categories_, strict=True):
            if own is None:
                parts.append(float(fill))
            else:
                parts += one_hot(codes_of(np.array([fill], dtype=object), own), len(own))[
                    0
                ].tolist()
        return np.array(parts)

    def _names(self) -> list[str]:
        if hasattr(self, "feature_names_in_"):
            return [str(each) for each in self.feature_names_in_]
        return [f"x{i}" for i in range(self.n_features_in_)]

    def _texts(self) -> list[str]:
        """Return the names of the columns of categories."""
        return [
            name
            for name, own in zip(self._names(), self.categories_, strict=True)
            if own is not None
        ]

    def _expected(self) -> str:
        named = " with names" if hasattr(self, "feature_names_in_") else ""
        return f"there were {self.n_features_in_}{named} in the fit"

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags


def _odd_among_numbers(texts: np.ndarray, counts: np.ndarray) -> str:
    """Return a few words on texts most of which are numbers, which should perhaps all be."""
    odd = np.array([not is_number(each) for each in texts.tolist()])
    if np.sum(~odd) <= MANY or np.sum(counts[odd]) > np.sum(counts) / 2:
        return ""
    examples = ", ".join(repr(str(each)[:40]) for each in texts[odd][:3])
    return f"numbers but for {int(np.sum(counts[odd]))}, as {examples}"


def _has_names(X: Any) -> bool:
    return isinstance(X, Mapping) or (hasattr(X, "columns") and hasattr(X, "dtypes"))
