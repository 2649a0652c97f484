"""Apply a model to a table, some rows at a time: predictions and coordinates."""

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from dimetric.data._features import FeatureBlock, FeatureReader
from dimetric.data._writers import ColumnWriter

__all__ = ["Coordinates", "Predictions", "write_results"]

PREDICTION = "prediction"

Columns = dict[str, np.ndarray]


class BlockResults(Protocol):
    """What is computed for each block of rows.

    Attributes
    ----------
    matrices : dict of str to list of str
        Columns that become one array in NPZ, by its name.
    like : dict of str to ndarray
        Values of the dtype that a column has, where its first rows may not show it.
    """

    matrices: dict[str, list[str]]
    like: Columns

    def __call__(self, block: FeatureBlock) -> Columns:
        """Return the results for a block of rows, by column."""


class Predictions:
    """The classes of rows, and perhaps the share of votes of each class.

    Parameters
    ----------
    model : classifier
        The last step of a model.
    shares : bool, default=False
        Whether to add a column with the share of votes for each class.

    Attributes
    ----------
    counts : dict of str to int
        How many rows of each class there were so far.
    """

    def __init__(self, model: Any, *, shares: bool = False) -> None:
        self._model = model
        classes = list(getattr(model, "classes_", []))
        self.counts = {str(each): 0 for each in classes}
        self._shares = [f"share of {each}" for each in classes] if shares else []
        self.matrices = {"shares": self._shares} if shares else {}
        self.like = {PREDICTION: np.asarray(classes)} if classes else {}

    def __call__(self, block: FeatureBlock) -> Columns:
        """Return the results for a block of rows, by column; None and NaN where there are none."""
        found = np.full(len(block.complete), None, dtype=object)
        P = np.full((len(found), len(self._shares)), np.nan)
        if len(block.features):
            found[block.complete] = self._model.predict(block.features)
            if self._shares:
                P[block.complete] = self._model.predict_proba(block.features)
        names, counts = np.unique(found[block.complete].astype(str), return_counts=True)
        for name, count in zip(names, counts, strict=True):
            self.counts[str(name)] = self.counts.get(str(name), 0) + int(count)
        return {PREDICTION: found} | dict(zip(self._shares, P.T, strict=True))


class Coordinates:
    """The coordinates of rows under the learned map.

    Parameters
    ----------
    model : estimator
        The last step of a model: a learner, or a classifier over one.
    feature_names : sequence of str
        Names of the features, which are the coordinates under the Euclidean distance.

    Attributes
    ----------
    names : list of str
        Names of the coordinates.
    """

    like: Columns

    def __init__(self, model: Any, feature_names: Any) -> None:
        learner = getattr(model, "learner_", model)
        if learner is not None and not hasattr(learner, "transform"):
            raise ValueError(f"{type(learner).__name__} has no map to transform by.")
        self._learner = learner
        names = feature_names if learner is None else learner.get_feature_names_out()
        self.names = [str(each) for each in names]
        self.matrices, self.like = {"X": self.names}, {}

    def __call__(self, block: FeatureBlock) -> Columns:
        """Return the results for a block of rows, by column; NaN where there are none."""
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
    callback: Callable[[int], None] | None = None,
) -> None:
    """Write the results for all rows of a table, in their order.

    Parameters
    ----------
    reader : FeatureReader
        Model and table.
    results : callable
        From a block of rows to columns.
    path : path or None
        The file; None writes CSV to standard output.
    option : str, default="keep"
        How the user names columns to pass through, for error messages.
    callback : callable, optional
        Called with the number of rows that are written.
    """
    with ColumnWriter(path, results.matrices, results.like) as writer, warnings.catch_warnings():
        # The columns were chosen by their names already.
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        for block in reader:
            found = results(block)
            twice = next((each for each in block.kept if each in found), None)
            if twice is not None:
                raise ValueError(
                    f"{option}: a result is called {twice!r}, too: give the column another name."
                )
            columns = block.kept | found
            if len(columns) == 1:  # many programs skip empty lines
                columns = {"row": block.rows} | columns
            writer.write(columns)
            if callback is not None:
                callback(reader.n_rows)
