"""Read a file in chunks of rows, encoded as the features that a fitted model expects."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from dimetric._names import suggest
from dimetric.data._columns import MAX_QUOTED_CHARACTERS, check_magnitude, columns_of
from dimetric.data._encoder import TableEncoder
from dimetric.data._files import TableFile
from dimetric.data._kinds._ids import find_ids
from dimetric.data._numeric_column import check_unread, numeric_column
from dimetric.data._roles import TARGET_NAMES
from dimetric.data._samples import dropped_rows_note

__all__ = ["CompleteRows", "FeatureBlock", "FeatureReader", "ModelParts", "model_parts"]


class ModelParts(NamedTuple):
    """The steps of a model: encoder, scalers and learner or classifier.

    Attributes
    ----------
    encoder : TableEncoder
        Encodes columns as features.
    scalers : list of transformers
        The steps between the encoder and the last step.
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
        A pipeline, or a learner or classifier. If the first step is not a TableEncoder, the
        returned encoder passes numeric columns through.

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
        raise ValueError(
            f"{type(first).__name__} has no n_features_in_: its number of features is unknown."
        )
    encoder = TableEncoder()
    n_features = int(first.n_features_in_)
    encoder.n_features_in_, encoder.notes_, encoder.encodings_ = n_features, [], {}
    encoder.categories_, encoder.fills_ = [None] * n_features, [0.0] * n_features
    if hasattr(first, "feature_names_in_"):
        encoder.feature_names_in_ = np.asarray(first.feature_names_in_, dtype=object)
    return ModelParts(encoder, steps[:-1], steps[-1])


class FeatureBlock(NamedTuple):
    """The features of a chunk of rows.

    Attributes
    ----------
    features : ndarray of shape (n_complete, n_features)
        Scaled features of the rows without missing values.
    complete : ndarray of bool, of shape (n_rows,)
        Whether each row has no missing values.
    kept : dict of str to ndarray of shape (n_rows,)
        Columns that are copied to the output.
    rows : ndarray of shape (n_rows,)
        Row indices in the table.
    """

    features: np.ndarray
    complete: np.ndarray
    kept: dict[str, np.ndarray]
    rows: np.ndarray


class CompleteRows(NamedTuple):
    """The features of all rows that have no missing values.

    Attributes
    ----------
    features : ndarray of shape (n_complete, n_features)
        Scaled features of the rows.
    rows : ndarray of shape (n_complete,)
        Row indices in the table.
    kept : dict of str to ndarray of shape (n_complete,)
        Columns that are copied to the output.
    notes : list of str
        Messages about dropped rows and columns and about unknown categories.
    """

    features: np.ndarray
    rows: np.ndarray
    kept: dict[str, np.ndarray]
    notes: list[str]


class FeatureReader:
    """Iterate over the rows of a file in chunks, as features for a fitted model.

    Parameters
    ----------
    model : estimator
        The fitted model.
    file : TableFile
        The table.
    keep : sequence of str
        Columns to copy to the output.
    option : str, default="keep"
        Name of the parameter or command-line option for `keep`, used in error messages.

    Attributes
    ----------
    parts : ModelParts
        Encoder, scalers and last step of the model.
    n_rows, n_incomplete : int
        Number of rows read so far, and number of these rows with missing values.
    """

    def __init__(
        self, model: Any, file: TableFile, keep: Sequence[str] = (), *, option: str = "keep"
    ) -> None:
        self.parts = model_parts(model)
        self.n_rows = self.n_incomplete = 0
        self._file, self._keep, self._option = file, list(dict.fromkeys(keep)), option
        self._n_unknown: dict[str, int] = {}
        self._examples: dict[str, str] = {}
        self._ignored_columns: list[str] | None = None

    def __iter__(self) -> Iterator[FeatureBlock]:
        encoder, scalers, _ = self.parts
        for chunk in self._file.chunks(string_columns=[*encoder.string_columns(), *self._keep]):
            self._check_kept([str(each) for each in chunk])
            columns = self._drop_ignored_columns(chunk)
            features, n_unknown = encoder.encode(columns)
            self._count_unknown(columns, n_unknown)
            complete = ~np.isnan(features).any(axis=1)
            features = features[complete]
            if len(features):
                for name, values in zip(encoder.get_feature_names_out(), features.T, strict=True):
                    check_magnitude(str(name), values)
                for each in scalers:
                    features = each.transform(features)
            rows = np.arange(self.n_rows, self.n_rows + len(complete))
            self.n_rows += len(complete)
            self.n_incomplete += int(np.sum(~complete))
            kept = {each: _column_values(chunk[each]) for each in self._keep}
            yield FeatureBlock(features, complete, kept, rows)
        # Only the whole table shows this: the rows of one chunk must not decide.
        for name, example in self._examples.items():
            check_unread(name, self._n_unknown[name], self.n_rows, example)

    def _count_unknown(self, columns: Any, n_unknown: dict[str, int]) -> None:
        """Add the numbers of unknown values in a chunk, and keep the first of numeric columns."""
        for name, count in n_unknown.items():
            is_first = name not in self._n_unknown and name in columns
            self._n_unknown[name] = self._n_unknown.get(name, 0) + count
            if is_first and name in self.parts.encoder.numeric_columns():
                values = columns_of({name: columns[name]})[name]
                i = int(np.argmax(numeric_column(name, values)[1]))
                text = repr(str(values[i])[:MAX_QUOTED_CHARACTERS])
                self._examples[name] = f", such as {text} in data row {self.n_rows + i + 1}"

    def complete_rows(
        self, function: Callable[[np.ndarray], np.ndarray] | None = None
    ) -> CompleteRows:
        """Read the whole table and drop the rows with missing values.

        Parameters
        ----------
        function : callable, optional
            Function applied to the features of each chunk. Only its results are kept in memory.
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
        notes = self._notes_on_columns()
        if self.n_incomplete:
            notes.append(dropped_rows_note(self.n_incomplete, self.n_rows))
        joined = np.concatenate(features) if features else np.empty((0, 0))
        return CompleteRows(joined, np.flatnonzero(complete), kept, notes)

    def notes(self) -> list[str]:
        """Return messages about unusual rows and columns in the part that was read so far."""
        notes = self._notes_on_columns()
        if self.n_incomplete:
            notes.append(
                f"Results are empty for {self.n_incomplete} of {self.n_rows} rows because of "
                "missing values."
            )
        return notes

    def _notes_on_columns(self) -> list[str]:
        notes = []
        if self._ignored_columns:
            n_features = self.parts.encoder.n_features_in_
            ignored = ", ".join(map(repr, self._ignored_columns))
            notes.append(
                f"The model was fitted without column names, so its {n_features} features are "
                f"matched by position. Ignored columns: {ignored}."
            )
        encoder = self.parts.encoder
        notes += [encoder.unknown_note(name, count) for name, count in self._n_unknown.items()]
        return notes

    def _check_kept(self, names: list[str]) -> None:
        absent_name = next((each for each in self._keep if each not in names), None)
        if absent_name is not None:
            if nested := self._file.nested_columns().get(absent_name):
                raise ValueError(f"{self._option}: column {absent_name!r} holds {nested}.")
            hint = suggest(absent_name, names)
            raise ValueError(f"{self._option}: there is no column {absent_name!r}. {hint}")

    def _drop_ignored_columns(self, chunk: Any) -> Any:
        """Drop the columns that are not features, if the model was fitted without column names.

        Such a model matches columns by position. Target, id and string columns would shift the
        positions of the features.
        """
        encoder = self.parts.encoder
        if hasattr(encoder, "feature_names_in_"):
            return chunk
        if self._ignored_columns is None:
            self._ignored_columns = _non_feature_columns(chunk, self._keep, encoder.n_features_in_)
        return {str(each): chunk[each] for each in chunk if str(each) not in self._ignored_columns}


def _non_feature_columns(chunk: Any, keep: list[str], n_features: int) -> list[str]:
    """Return the columns to ignore so that `n_features` remain, or [] if this is not possible."""
    columns = columns_of(chunk)
    if len(columns) == n_features:
        return []
    others = [
        name
        for name, values in columns.items()
        if name in keep
        or name.lower() in TARGET_NAMES
        or values.dtype.kind not in "iufb"
        or find_ids(name, values) is not None
    ]
    return others if len(columns) - len(others) == n_features else []


def _column_values(column: Any) -> np.ndarray:
    """Return the values of a column. Integers stay integers even if values are missing."""
    if column.dtype.kind in "iu" and hasattr(column, "isna") and column.isna().any():
        return column.to_numpy(dtype=object, na_value=None)
    return np.asarray(column)
