"""Rules in which each row picks a reference at random, on tiles of rows and references.

See :mod:`dimetric.objectives.softmax` for the rules, and ``Rule.tile`` in
:mod:`dimetric.objectives.engine` for the arguments and results. All steps work in place, because
allocating temporary arrays of the size of a tile would take as long as the arithmetic.
"""

from typing import Any

import numpy as np

from dimetric.objectives.references.references import Tile
from dimetric.objectives.softmax import softmax_in_place


def nca_tile(P: np.ndarray, tile: Tile, theta: Any) -> tuple[float, np.ndarray, float]:
    """Return the loss, factors and 0 for ``learners.nca.NCARule``."""
    tiny = np.finfo(P.dtype).tiny
    scale = 1 / softmax_in_place(P, tile.itself, tile.columns.weights)[1]
    p = np.empty_like(scale)
    for rows, members in tile.runs:
        # W = P (same - p): a factor -p for the row, and (p - 1) / p in the same class.
        p[rows] = P[rows, members].sum(axis=1, keepdims=True) * scale[rows]
        at_least = np.maximum(p[rows], tiny)
        P[rows, members] *= (p[rows] - 1) / at_least
    factors = -np.maximum(p, tiny) * scale
    return -_total(p, tile), _times_weights(factors, tile), 0.0


def mcml_tile(P: np.ndarray, tile: Tile, theta: Any) -> tuple[float, np.ndarray, float]:
    """Return the loss, factors and 0 for ``learners.mcml.MCMLRule``."""
    weights = tile.columns.weights
    P[tile.itself] = 0
    pulls, n_friends = np.zeros_like(P, shape=(len(P), 1)), np.zeros_like(P, shape=(len(P), 1))
    for rows, members in tile.runs:
        if weights is None:
            pulls[rows] = P[rows, members].sum(axis=1, keepdims=True)
            n_friends[rows] = members.stop - members.start
        else:
            pulls[rows] = P[rows, members] @ weights[members, None]
            n_friends[rows] = weights[members].sum()
    itself, column = tile.itself
    n_friends[itself, 0] = tile.rows.friend_weights(tile.columns)[itself]
    is_anchor = tile.rows.n_friends(tile.columns)[:, None] > 0
    n_friends = np.where(is_anchor, n_friends, 1).astype(P.dtype)
    shift, total = softmax_in_place(P, tile.itself, weights)
    for rows, members in tile.runs:  # W = p0 - p is -1 / total times P - p0 total
        share = (total / n_friends)[rows]
        P[rows, members] -= share if weights is None else share * weights[members]
    P[itself, column] = 0
    losses = np.where(is_anchor, pulls / n_friends + np.log(total) - shift, 0)
    return _total(losses, tile), _times_weights(np.where(is_anchor, -1 / total, 0), tile), 0.0


def _times_weights(by_row: np.ndarray, tile: Tile) -> np.ndarray:
    """Return numbers of rows, multiplied by the weights of the rows, if any."""
    weights = tile.rows.weights
    return by_row if weights is None else by_row * weights[:, None]


def _total(losses: np.ndarray, tile: Tile) -> float:
    """Return the weighted sum of the losses of the rows."""
    return float(_times_weights(losses, tile).sum(dtype=np.float64))
