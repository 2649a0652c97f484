"""Fit the model of a Parquet table that is larger than memory, in blocks of rows."""

import warnings
from collections import Counter
from collections.abc import Iterator
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline

from dimetric.advice._model import SCALERS, FittedTable
from dimetric.advice._scaled_neighbors import neighbors_model, predicts
from dimetric.advice._table_samples import TableSamples
from dimetric.data._parquet.blocks import ParquetBlocks
from dimetric.learners._base import Learner
from dimetric.learners._block_fit import obstacle_of

__all__ = ["BlockFit", "fit_in_blocks", "learns_from_blocks"]


class BlockFit(NamedTuple):
    """A model fitted to blocks of rows.

    Attributes
    ----------
    fitted : FittedTable
        The fitted model. The score is that of the sampled rows.
    n_rows : int
        Number of rows that the distance was learned from.
    classes : dict of str to int
        Number of rows of each class, the largest first. Empty without classes.
    """

    fitted: FittedTable
    n_rows: int
    classes: dict[str, int]


def learns_from_blocks(learner: Any) -> bool:
    """Return whether a learner can be fitted to blocks of rows, and measures a distance."""
    return isinstance(learner, Learner) and not predicts(learner) and not obstacle_of(learner)


def fit_in_blocks(
    blocks: ParquetBlocks,
    table: TableSamples,
    learner: Any,
    *,
    n_neighbors: int,
    scale: str,
    is_regression: bool = False,
) -> BlockFit:
    """Fit a learner to all rows of a table in blocks, with a scaler and a vote of sampled rows.

    The model is that of :func:`~dimetric.advice._model.fit_table`, but only the sampled rows are
    the neighbours of new rows. The scaling 'robust' is that of the sampled rows, because quartiles
    are not sums over blocks.

    Parameters
    ----------
    blocks : ParquetBlocks
        All rows.
    table : TableSamples
        The sampled rows.
    learner : learner
        The learner. A copy of it is fitted.
    n_neighbors, scale, is_regression
        As in :func:`~dimetric.advice._model.table_pipeline`.
    """
    started = perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        sample = blocks.encoder.transform(table.columns)
        scaler, n_rows, counts = _fitted_scaler(blocks, scale, sample)
        scaled = _ScaledBlocks(blocks, scaler)
        learner = clone(learner).fit(scaled)
        last: tuple[str, Any] = ("learner", learner)
        score = None
        if table.y is not None:
            Z = sample if scaler is None else scaler.transform(sample)
            model = neighbors_model(n_neighbors, FrozenEstimator(learner), is_regression)
            model.fit(Z, table.y)
            # As after a fit to all rows: the parameter is unfitted, the attribute is fitted.
            model.learner, model.learner_ = clone(learner), learner
            last, score = ("model", model), float(model.score())
    steps = [] if scaler is None else [("scale", scaler)]
    pipeline = Pipeline([("columns", blocks.encoder), *steps, last])
    notes = [*table.notes, *blocks.encoder.notes_, *_notes(blocks, scale)]
    notes += dict.fromkeys(str(each.message) for each in caught)
    if n_references := learner.metadata().get("n_references"):
        notes.append(
            f"All {n_rows:,} rows met {n_references:,} reference rows, and each iteration read the "
            "table once. With --option n_references=500, a fit takes less time."
        )
    fitted = FittedTable(pipeline, perf_counter() - started, score, notes)
    has_classes = table.y is not None and not is_regression
    classes = {str(name): count for name, count in counts.most_common()} if has_classes else {}
    return BlockFit(fitted, n_rows, classes)


class _ScaledBlocks:
    """Blocks of rows with scaled features."""

    def __init__(self, blocks: ParquetBlocks, scaler: Any) -> None:
        self._blocks, self._scaler = blocks, scaler

    def __call__(self) -> Iterator[Any]:
        """Yield X, or (X, y)."""
        for X, y in labelled_blocks(self._blocks):
            Z = X if self._scaler is None else self._scaler.transform(X)
            yield Z if y is None else (Z, y)


def labelled_blocks(blocks: ParquetBlocks) -> Iterator[tuple[np.ndarray, np.ndarray | None]]:
    """Yield the samples and the labels of blocks. The labels are None without a target."""
    for block in blocks():
        yield block if isinstance(block, tuple) else (block, None)


def _fitted_scaler(
    blocks: ParquetBlocks, scale: str, sample: np.ndarray
) -> tuple[Any, int, Counter[Any]]:
    """Return the fitted scaler or None, the number of rows, and that of each class, in one pass."""
    kind: Any = SCALERS[scale]
    scaler: Any = None if kind is None else kind()
    adds_up = hasattr(scaler, "partial_fit")
    if scaler is not None and not adds_up:
        scaler.fit(sample)
    n_rows, counts = 0, Counter[Any]()
    for X, y in labelled_blocks(blocks):
        n_rows += len(X)
        if adds_up:
            scaler.partial_fit(X)
        if y is not None:
            values, numbers = np.unique(y, return_counts=True)
            counts.update(dict(zip(values.tolist(), numbers.tolist(), strict=True)))
    return scaler, n_rows, counts


def _notes(blocks: ParquetBlocks, scale: str) -> list[str]:
    """Return notes on rows that are left out, and on the scaling."""
    notes = []
    if blocks.n_dropped:
        notes.append(
            f"Left out {blocks.n_dropped:,} of {blocks.n_rows:,} rows because of missing values."
        )
    if scale == "robust":
        notes.append("The medians and quartiles for scaling are those of the sampled rows.")
    return notes
