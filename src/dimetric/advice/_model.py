"""Build models of tables: columns to numbers, scale, then a classifier or a learner."""

import warnings
from time import perf_counter
from typing import Any, NamedTuple

from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from dimetric.advice._samples import table_encoder
from dimetric.advice._table import TableSamples
from dimetric.classify.knn import KNNClassifier

__all__ = ["FittedTable", "fit_table", "table_pipeline"]

SCALERS = {"minmax": MinMaxScaler, "standard": StandardScaler, "none": None}


def table_pipeline(
    learner: Any, *, n_neighbors: int | None, scale: str = "minmax", missing: str = "drop"
) -> Pipeline:
    """Return a model of a table, not fitted: it encodes columns, scales, and learns.

    Parameters
    ----------
    learner : learner or None
        The learner; None is the Euclidean distance.
    n_neighbors : int or None
        Number of neighbours that vote; None for a model without classes.
    scale : {"minmax", "standard", "none"}, default="minmax"
        How features are scaled.
    missing : {"drop", "impute", "raise"}, default="drop"
        What was done about missing values. Only "impute" fills them in for new rows.

    Examples
    --------
    >>> from dimetric import LDA
    >>> table_pipeline(LDA(), n_neighbors=3)[-1]
    KNNClassifier(learner=LDA())
    """
    if scale not in SCALERS:
        raise ValueError(f"scale={scale!r} must be 'minmax', 'standard' or 'none'.")
    scaler = SCALERS[scale]
    last = (
        ("learner", learner)
        if n_neighbors is None
        else ("model", KNNClassifier(n_neighbors, learner=learner))
    )
    steps = [] if scaler is None else [("scale", scaler())]
    return Pipeline([("columns", table_encoder(missing)), *steps, last])


class FittedTable(NamedTuple):
    """A model that was fitted to a table.

    Attributes
    ----------
    model : Pipeline
        The fitted model.
    seconds : float
        Time of the fit.
    leave_one_out : float or None
        Share of rows that their nearest neighbours classify correctly, each row left out of the
        vote but not of the learning; None without classes.
    notes : list of str
        What was done to the table, and warnings of the fit, in sentences.
    """

    model: Pipeline
    seconds: float
    leave_one_out: float | None
    notes: list[str]


def fit_table(
    table: TableSamples, learner: Any, *, n_neighbors: int, scale: str, missing: str
) -> FittedTable:
    """Fit a model to a table: a classifier if it has a target, else the learner alone.

    Parameters
    ----------
    table : TableSamples
        The table.
    learner, n_neighbors, scale, missing
        As in :func:`table_pipeline`.
    """
    k = None if table.y is None else n_neighbors
    model = table_pipeline(learner, n_neighbors=k, scale=scale, missing=missing)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        started = perf_counter()
        model.fit(table.columns, table.y)
        seconds = perf_counter() - started
    messages = dict.fromkeys(str(each.message) for each in caught)
    score = None if table.y is None else float(model[-1].score())
    return FittedTable(model, seconds, score, [*table.notes, *model[0].notes_, *messages])
