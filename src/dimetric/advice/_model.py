"""Build and fit models of tables: encoder, scaler, then a predictor or a learner."""

import warnings
from time import perf_counter
from typing import Any, NamedTuple

from sklearn.pipeline import Pipeline

from dimetric.advice import _scaled_neighbors
from dimetric.advice._samples import table_encoder
from dimetric.advice._scaled_neighbors import predictor
from dimetric.advice._table import TableSamples

__all__ = ["FittedTable", "fit_table", "table_pipeline"]

SCALERS = {**_scaled_neighbors.SCALERS, "none": None}


def table_pipeline(
    learner: Any,
    *,
    n_neighbors: int | None,
    scale: str = "minmax",
    missing: str = "drop",
    is_regression: bool = False,
) -> Pipeline:
    """Return an unfitted pipeline that encodes columns, scales features, and learns a distance.

    Parameters
    ----------
    learner : learner or None
        The learner. None stands for the Euclidean distance.
    n_neighbors : int or None
        Number of nearest neighbours used for predictions. None makes a pipeline that ends with
        the learner and does not predict.
    scale : {"minmax", "standard", "robust", "none"}, default="minmax"
        How features are scaled: to [0, 1], to zero mean and unit variance, to zero median and unit
        interquartile range, or not at all.
    missing : {"drop", "impute", "raise"}, default="drop"
        How missing values in the table were treated. With "impute", the model also imputes them in
        new rows. Otherwise, it raises an error for them.
    is_regression : bool, default=False
        Whether the target contains numbers to predict rather than classes.

    Examples
    --------
    >>> from dimetric import LDA
    >>> table_pipeline(LDA(), n_neighbors=3)[-1]
    KNNClassifier(learner=LDA())
    """
    if scale not in SCALERS:
        raise ValueError(f"scale={scale!r} must be 'minmax', 'standard', 'robust' or 'none'.")
    scaler = SCALERS[scale]
    last = (
        ("learner", learner)
        if n_neighbors is None
        else ("model", predictor(n_neighbors, learner, is_regression))
    )
    steps = [] if scaler is None else [("scale", scaler())]
    return Pipeline([("columns", table_encoder(missing)), *steps, last])


class FittedTable(NamedTuple):
    """A model fitted to a table.

    Attributes
    ----------
    model : Pipeline
        The fitted model.
    seconds : float
        Time of the fit.
    leave_one_out_score : float or None
        Accuracy, or R2 of numbers, on the training rows. Each row is predicted by its nearest
        neighbours among the other rows, but the distance was learned from all rows, so this is
        optimistic. None without a target.
    notes : list of str
        Sentences about the data, with the warnings of the fit.
    """

    model: Pipeline
    seconds: float
    leave_one_out_score: float | None
    notes: list[str]


def fit_table(
    table: TableSamples,
    learner: Any,
    *,
    n_neighbors: int,
    scale: str,
    missing: str,
    is_regression: bool = False,
) -> FittedTable:
    """Fit a classifier or regressor to a table with a target, or a learner to one without.

    Parameters
    ----------
    table : TableSamples
        The table to learn from.
    learner, n_neighbors, scale, missing, is_regression
        As in :func:`table_pipeline`.
    """
    k = None if table.y is None else n_neighbors
    model = table_pipeline(
        learner, n_neighbors=k, scale=scale, missing=missing, is_regression=is_regression
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        started = perf_counter()
        model.fit(table.columns, table.y)
        seconds = perf_counter() - started
    messages = dict.fromkeys(str(each.message) for each in caught)
    score = None if table.y is None else float(model[-1].score())
    return FittedTable(model, seconds, score, [*table.notes, *model[0].notes_, *messages])
