"""Apply a model to the rows of a table, block by block, and write the results."""

import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from sklearn.base import is_regressor

from dimetric.data._features import FeatureBlock, FeatureReader
from dimetric.data._writers import ColumnWriter
from dimetric.learners._inner_learner import mapping_of

__all__ = ["Coordinates", "Predictions", "collect_results", "write_results"]

PREDICTION = "prediction"

Columns = dict[str, np.ndarray]


class BlockResults(Protocol):
    """Computes columns of results from a block of rows.

    Attributes
    ----------
    matrices : dict of str to list of str
        For NPZ files, the columns to stack into one array, by the name of the array.
    dtype_examples : dict of str to ndarray
        Example values of a column. They fix its dtype when the first block does not show it.
    """

    matrices: dict[str, list[str]]
    dtype_examples: Columns

    def __call__(self, block: FeatureBlock) -> Columns:
        """Return the columns of results for a block of rows."""


class Predictions:
    """Predicts the class or number of each row, and optionally the probability of each class.

    Parameters
    ----------
    model : classifier or regressor
        The last step of a model.
    probabilities : bool, default=False
        Whether to add a column for the probability of each class.

    Attributes
    ----------
    counts : dict of str to int
        Number of rows predicted so far, by class. Empty for numbers.
    """

    def __init__(self, model: Any, *, probabilities: bool = False) -> None:
        self._model, self._is_regression = model, is_regressor(model)
        classes = list(getattr(model, "classes_", []))
        self.counts = {str(each): 0 for each in classes}
        self._probability_names = (
            [f"probability of {each}" for each in classes] if probabilities else []
        )
        self.matrices = {"probabilities": self._probability_names} if probabilities else {}
        self.dtype_examples = {PREDICTION: np.asarray(classes)} if classes else {}
        if self._is_regression:
            self.dtype_examples = {PREDICTION: np.zeros(1)}

    def __call__(self, block: FeatureBlock) -> Columns:
        """Return the columns of results.

        Incomplete rows get None as class, and NaN as number or probability.
        """
        if self._is_regression:
            numbers = np.full(len(block.complete), np.nan)
            if len(block.features):
                numbers[block.complete] = self._model.predict(block.features)
            return {PREDICTION: numbers}
        labels = np.full(len(block.complete), None, dtype=object)
        P = np.full((len(labels), len(self._probability_names)), np.nan)
        if len(block.features):
            labels[block.complete] = self._model.predict(block.features)
            if self._probability_names:
                P[block.complete] = self._model.predict_proba(block.features)
        names, counts = np.unique(labels[block.complete].astype(str), return_counts=True)
        for name, count in zip(names, counts, strict=True):
            self.counts[str(name)] = self.counts.get(str(name), 0) + int(count)
        return {PREDICTION: labels} | dict(zip(self._probability_names, P.T, strict=True))


class Coordinates:
    """Maps rows into the space of the learned distance.

    Parameters
    ----------
    model : estimator
        The last step of a model: a learner, or a classifier with a learner.
    feature_names : sequence of str
        Names of the features. Without a learner, these are the names of the coordinates.

    Attributes
    ----------
    names : list of str
        Names of the coordinates.
    """

    dtype_examples: Columns

    def __init__(self, model: Any, feature_names: Any) -> None:
        learner = mapping_of(model)
        if learner is not None and not hasattr(learner, "transform"):
            raise ValueError(f"{type(learner).__name__} has no method transform.")
        self._learner = learner
        names = feature_names if learner is None else learner.get_feature_names_out()
        self.names = [str(each) for each in names]
        self.matrices, self.dtype_examples = {"X": self.names}, {}

    def __call__(self, block: FeatureBlock) -> Columns:
        """Return the columns of coordinates. Incomplete rows get NaN."""
        Z = np.full((len(block.complete), len(self.names)), np.nan)
        if len(block.features):
            X = block.features
            Z[block.complete] = X if self._learner is None else self._learner.transform(X)
        return dict(zip(self.names, Z.T, strict=True))


def write_results(
    reader: FeatureReader,
    results: BlockResults,
    path: Path | None,
    *,
    option: str = "keep",
    escape_formulas: bool = False,
    callback: Callable[[int], None] | None = None,
) -> int:
    """Write the results for all rows of a table, in the order of the rows.

    Parameters
    ----------
    reader : FeatureReader
        Reads the table and encodes its columns for the model.
    results : callable
        Computes columns of results from a block of rows.
    path : path or None
        File to write. None writes CSV to standard output.
    option : str, default="keep"
        Name of the option that lists the columns to copy, used in error messages.
    escape_formulas : bool, default=False
        As in :class:`~dimetric.data._writers.ColumnWriter`.
    callback : callable, optional
        Called after each block with the number of rows written so far.

    Returns
    -------
    n_formula_cells : int
        Number of names and texts in a CSV file that a spreadsheet program would run as formulas.
    """
    writer = ColumnWriter(
        path, results.matrices, results.dtype_examples, escape_formulas=escape_formulas
    )
    with writer:
        for rows, columns in _blocks_of_results(reader, results, option):
            # A single empty result would be an empty line, and many programs skip empty lines.
            if len(columns) == 1:
                columns = {"row": rows} | columns
            writer.write(columns)
            if callback is not None:
                callback(reader.n_rows)
    return writer.n_formula_cells


def collect_results(
    reader: FeatureReader,
    results: BlockResults,
    *,
    option: str = "keep",
    callback: Callable[[int], None] | None = None,
) -> dict[str, list[Any]]:
    """Return the results for all rows of a table, in the order of the rows.

    Parameters
    ----------
    reader, results, option, callback
        As in :func:`write_results`.

    Returns
    -------
    columns : dict of str to list
        The values of each column. Missing values are None or NaN.
    """
    collected: dict[str, list[Any]] = {}
    for _, columns in _blocks_of_results(reader, results, option):
        for name, values in columns.items():
            collected.setdefault(name, []).extend(values.tolist())
        if callback is not None:
            callback(reader.n_rows)
    return collected


def _blocks_of_results(
    reader: FeatureReader, results: BlockResults, option: str
) -> Iterator[tuple[np.ndarray, Columns]]:
    """Yield the row indices of each block, and its kept columns and results."""
    with warnings.catch_warnings():
        # The reader has already matched the columns by name.
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        for block in reader:
            computed = results(block)
            clash = next((each for each in block.kept if each in computed), None)
            if clash is not None:
                raise ValueError(
                    f"{option}: column {clash!r} has the same name as a column of results. "
                    "Rename it in the table."
                )
            yield block.rows, block.kept | computed
