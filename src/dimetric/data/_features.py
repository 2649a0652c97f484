"""Rows of a file as the features that a fitted model takes, some rows at a time."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from dimetric._names import suggest
from dimetric.data._columns import columns_of
from dimetric.data._encoder import TableEncoder
from dimetric.data._files import TableFile
from dimetric.data._tables import TARGET_NAMES, why_no_feature

__all__ = ["CompleteRows", "FeatureBlock", "FeatureReader", "ModelParts", "model_parts"]


class ModelParts(NamedTuple):
    """The parts of a model of a table.

    Attributes
    ----------
    encoder : TableEncoder
        Turns columns into numbers.
    scalers : list of transformer
        Steps between the encoder and the last step.
    last : estimator
        The learner or classifier.
    """

    encoder: TableEncoder
    scalers: list[Any]
    last: Any


def model_parts(model: Any) -> ModelParts:
    """Return the encoder, the scalers and the last step of a fitted model.

    Parameters
    ----------
    model : estimator
        A pipeline; or a learner or classifier alone, which takes numbers as they are.

    Examples
    --------
    >>> from dimetric import PCA
    >>> parts = model_parts(PCA(1).fit([[0.0, 1.0], [2.0, 3.0]]))
    >>> parts.encoder.n_features_in_, parts.scalers, parts.last
    (2, [], PCA(n_components=1))
    """
    steps = [each for _, each in getattr(model, "steps", [("", model)])]
    first = steps[0]
    if isinstance(first, TableEncoder):
        return ModelParts(first, steps[1:-1], steps[-1])
    if not hasattr(first, "n_features_in_"):
        raise ValueError(f"{type(first).__name__} does not say what features it takes.")
    encoder = TableEncoder()
    n_features = int(first.n_features_in_)
    encoder.n_features_in_, encoder.notes_ = n_features, []
    encoder.categories_, encoder.fills_ = [None] * n_features, [0.0] * n_features
    if hasattr(first, "feature_names_in_"):
        encoder.feature_names_in_ = np.asarray(first.feature_names_in_, dtype=object)
    return ModelParts(encoder, steps[:-1], steps[-1])


class FeatureBlock(NamedTuple):
    """Some rows of a table as features.

    Attributes
    ----------
    features : ndarray of shape (n_complete, n_features)
        Features of the rows without missing values, scaled.
    complete : ndarray of bool, of shape (n_rows,)
        Which rows those are.
    kept : dict of str to ndarray of shape (n_rows,)
        Columns that are passed through.
    rows : ndarray of shape (n_rows,)
        The numbers of the rows in the table.
    """

    features: np.ndarray
    complete: np.ndarray
    kept: dict[str, np.ndarray]
    rows: np.ndarray


class CompleteRows(NamedTuple):
    """All rows of a table that have no missing values.

    Attributes
    ----------
    features : ndarray of shape (n_complete, n_features)
        Features of the rows, scaled.
    rows : ndarray of shape (n_complete,)
        The numbers of the rows in the table.
    kept : dict of str to ndarray of shape (n_complete,)
        Columns that are passed through.
    notes : list of str
        What was left out, in sentences.
    """

    features: np.ndarray
    rows: np.ndarray
    kept: dict[str, np.ndarray]
    notes: list[str]


class FeatureReader:
    """Read a file some rows at a time, as the features that a fitted model takes.

    Parameters
    ----------
    model : estimator
        The fitted model.
    file : TableFile
        The table.
    keep : sequence of str
        Columns to pass through.
    option : str, default="keep"
        How the user names these columns, for error messages.

    Attributes
    ----------
    parts : ModelParts
        Encoder, scalers and last step of the model.
    n_rows, n_incomplete : int
        Number of rows that were read so far, and how many of them have missing values.
    """

    def __init__(
        self, model: Any, file: TableFile, keep: Sequence[str] = (), *, option: str = "keep"
    ) -> None:
        self.parts = model_parts(model)
        self.n_rows = self.n_incomplete = 0
        self._file, self._keep, self._option = file, list(dict.fromkeys(keep)), option
        self._n_unknown: dict[str, int] = {}
        self._others: list[str] | None = None

    def __iter__(self) -> Iterator[FeatureBlock]:
        encoder, scalers, _ = self.parts
        for chunk in self._file.chunks(texts=[*encoder.category_columns(), *self._keep]):
            self._check_kept([str(each) for each in chunk])
            features, n_unknown = encoder.encode(self._without_others(chunk))
            for name, count in n_unknown.items():
                self._n_unknown[name] = self._n_unknown.get(name, 0) + count
            complete = ~np.isnan(features).any(axis=1)
            features = features[complete]
            if len(features):
                for each in scalers:
                    features = each.transform(features)
            rows = np.arange(self.n_rows, self.n_rows + len(complete))
            self.n_rows += len(complete)
            self.n_incomplete += int(np.sum(~complete))
            kept = {each: _values(chunk[each]) for each in self._keep}
            yield FeatureBlock(features, complete, kept, rows)

    def complete_rows(
        self, function: Callable[[np.ndarray], np.ndarray] | None = None
    ) -> CompleteRows:
        """Read the whole table, without the rows that have missing values.

        Parameters
        ----------
        function : callable, optional
            Applied to the features of each block, so that they need not all be in memory.
        """
        blocks, features = [], []
        for block in self:
            if len(block.features):
                features.append(block.features if function is None else function(block.features))
            blocks.append(block._replace(features=np.empty((0, 0))))
        complete = np.concatenate([block.complete for block in blocks])
        kept = {
            name: np.concatenate([block.kept[name] for block in blocks])[complete]
            for name in self._keep
        }
        notes = self._notes()
        if self.n_incomplete:
            notes.append(
                f"{self.n_incomplete} of {self.n_rows} rows with missing values were left out."
            )
        found = np.concatenate(features) if features else np.empty((0, 0))
        return CompleteRows(found, np.flatnonzero(complete), kept, notes)

    def notes(self) -> list[str]:
        """Return what was odd about the rows that were read, in sentences."""
        notes = self._notes()
        if self.n_incomplete:
            notes.append(
                f"{self.n_incomplete} of {self.n_rows} rows have missing values: their results are "
                "empty."
            )
        return notes

    def _notes(self) -> list[str]:
        notes = []
        if self._others:
            n_features = self.parts.encoder.n_features_in_
            notes.append(
                f"The model knows no names of columns, and takes {n_features} by their places: "
                f"{', '.join(map(repr, self._others))} left out."
            )
        notes += [
            f"Column {name!r} holds {count} values that were no categories in the fit."
            for name, count in self._n_unknown.items()
        ]
        return notes

    def _check_kept(self, names: list[str]) -> None:
        lost = next((each for each in self._keep if each not in names), None)
        if lost is not None:
            hint = suggest(lost, names)
            raise ValueError(f"{self._option}: there is no column {lost!r}. {hint}")

    def _without_others(self, chunk: Any) -> Any:
        """Return some rows without columns that are no features, for a model without names.

        Such a model takes columns by their places. Columns of classes, ids and texts would shift
        the others.
        """
        encoder = self.parts.encoder
        if hasattr(encoder, "feature_names_in_"):
            return chunk
        if self._others is None:
            self._others = _no_features(chunk, self._keep, encoder.n_features_in_)
        return {str(each): chunk[each] for each in chunk if str(each) not in self._others}


def _no_features(chunk: Any, keep: list[str], n_features: int) -> list[str]:
    """Return the columns that are no features, if the others are as many as the model takes."""
    columns = columns_of(chunk)
    if len(columns) == n_features:
        return []
    others = [
        name
        for name, values in columns.items()
        if name in keep
        or name.lower() in TARGET_NAMES
        or values.dtype.kind not in "iufb"
        or why_no_feature(name, values)
    ]
    return others if len(columns) - len(others) == n_features else []


def _values(column: Any) -> np.ndarray:
    """Return the values of a column; whole numbers beside missing values stay whole."""
    if column.dtype.kind in "iu" and hasattr(column, "isna") and column.isna().any():
        return column.to_numpy(dtype=object, na_value=None)
    return np.asarray(column)
