"""The scatter of the differences between rows and references of the same class."""

import numpy as np

from dimetric.blocks.block import Block
from dimetric.blocks.source import Source
from dimetric.linalg.scatter import Moments
from dimetric.objectives.references.references import References


def similar_scatter_of(source: Source, references: References) -> tuple[np.ndarray, float]:
    r"""Return the scatter of all pairs of a row and a reference of its class, and their number.

    .. math:: \frac12 \sum_i \sum_{j: y_j = y_i} w_i w_j (x_i - x_j)(x_i - x_j)^T

    If all rows are references, each pair of rows counts once. Pairs of a row with itself count, but
    their difference is 0. The sum over the rows of a class is known from their mean and scatter, so
    no pair is formed.
    """
    rows = source.reduce(_row_moments, source.share(references), numbered=True)
    codes, n_classes = np.asarray(references.side.labels), len(references.encoding.classes)
    weights = _reference_weights(references)
    by_class = np.bincount(codes, weights, n_classes)
    of_rows = np.asarray(rows.counts) / by_class  # total weight of the rows of each class
    met = Moments.scatter_of(references.X, codes, n_classes, weights * of_rows[codes])
    delta = np.asarray(rows.means) - np.asarray(met.means)
    between = (np.asarray(rows.counts)[:, None] * delta).T @ delta
    return np.asarray(rows.spread + met.spread + between) / 2, float(np.sum(rows.counts)) / 2


def _row_moments(block: Block, references: References) -> Moments:
    """Return the moments of rows, weighted by the total weight of the references of their class."""
    rows = references.meet(block)
    codes, n_classes = np.asarray(rows.side.labels), len(references.encoding.classes)
    reference_codes = np.asarray(references.side.labels)
    weights = np.bincount(reference_codes, _reference_weights(references), n_classes)[codes]
    if rows.side.weights is not None:
        weights = weights * rows.side.weights
    return Moments.scatter_of(rows.X, codes, n_classes, weights)


def _reference_weights(references: References) -> np.ndarray:
    weights = references.side.weights
    return np.ones(len(references.X)) if weights is None else weights.astype(np.float64)
