"""Predict the rows of a table in a file."""

from pathlib import Path
from typing import Any

import numpy as np

from dimetric._arguments import check_types
from dimetric.advice._apply import PREDICTION, Predictions
from dimetric.data._features import FeatureReader
from dimetric.data._files import TableFile

__all__ = ["predict_table"]


@check_types
def predict_table(model: Any, source: str | Path, *, header: bool | None = None) -> np.ndarray:
    r"""Predict the class or number of each row of a table, as ``dimetric predict`` does.

    The table is read in blocks. In contrast to ``model.predict``, the table may have missing
    values, and its separator, decimal sign and header are detected.

    Parameters
    ----------
    model : estimator
        A model fitted to a table with a target, such as ``learner`` of a
        :class:`~dimetric.advice.Comparison`, or a model loaded by :func:`dimetric.load`.
    source : path
        The table. It needs the columns of the model, in any order. Other columns are ignored.
    header : bool or None, default=None
        Whether the first line of a text file holds column names. None detects this.

    Returns
    -------
    ndarray of shape (n_rows,)
        The predictions. A row with missing values has the prediction None, or NaN for numbers,
        unless the model imputes them.

    Examples
    --------
    >>> import dimetric, tempfile
    >>> model = dimetric.KNNClassifier(1).fit([[1.0], [2.0], [8.0]], ["low", "low", "high"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "new.csv").write_text("x0\n1.5\n?\n9\n")
    ...     predict_table(model, Path(folder, "new.csv"))
    array(['low', None, 'high'], dtype=object)
    """
    reader = FeatureReader(model, TableFile.open(source, header))
    if not hasattr(reader.parts.last, "predict"):
        raise ValueError(
            f"{type(reader.parts.last).__name__} has no method predict. Fit a model with a target."
        )
    predictions = Predictions(reader.parts.last)
    blocks = [predictions(block)[PREDICTION] for block in reader]
    return np.concatenate(blocks) if blocks else np.empty(0)
