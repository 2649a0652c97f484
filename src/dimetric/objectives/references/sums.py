"""Sums of a rule over all pairs of a row of a block and a reference."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from dimetric._arrays.squared_distances import left_factor, right_factor
from dimetric._arrays.threads import run_on_threads
from dimetric.blocks.block import Block
from dimetric.objectives.engine import Rule
from dimetric.objectives.pairwise import needs_float64
from dimetric.objectives.references.references import BlockRows, References, Tile

TILE_ENTRIES = 2**18  # squared distances in a tile, which fit into the cache
MIN_TILE_ROWS, MAX_TILE_ROWS = 32, 1024

# Turns squared distances, which it may overwrite, into weights. Returns the loss, the weights as a
# dense or sparse array, a factor for each row of the weights or None, and the derivative with
# respect to theta.
Weigh = Callable[[np.ndarray, Tile], tuple[float, Any, np.ndarray | None, Any]]


@dataclass(frozen=True)
class Sums:
    """A loss, its gradient with respect to a map or a metric, and that with respect to theta."""

    loss: float
    gradient: np.ndarray
    dtheta: Any

    def __add__(self, other: "Sums") -> "Sums":
        """Return the sums over both blocks."""
        gradient = self.gradient + other.gradient
        return Sums(self.loss + other.loss, gradient, self.dtheta + other.dtheta)


def count_terms(block: Block, references: References, rule: Rule) -> np.ndarray:
    """Return the numbers of a block's rows and of their terms, and the sum of their infima."""
    rows, columns = references.meet(block).side, references.side
    n_terms = rule.n_terms(rows, columns)
    infimum = rule.infimum(rows, columns) if n_terms else 0.0
    return np.array([len(rows), n_terms, n_terms * infimum])


def pair_sums(
    block: Block,
    references: References,
    L: np.ndarray,
    theta: np.ndarray,
    rule: Rule,
    of: str,
    dtype: Any = None,
) -> Sums:
    """Return the sums of a rule over all pairs of a row and a reference.

    Parameters
    ----------
    block : Block
        The rows.
    references : References
        The references.
    L : ndarray of shape (k, d)
        The map of the samples.
    theta : ndarray of shape (p,)
        Extra parameters of the rule.
    rule : Rule
        The rule.
    of : {"map", "metric", "value"}
        Whether to return the gradient with respect to L or to M = L^T L, or only the loss.
    dtype : numpy dtype, optional
        Type of the numbers in tiles. The default is that of the samples, or float64 if squared
        distances between references have large rounding errors.
    """
    pairs = MetPairs(references.meet(block), L, of, dtype)

    def weigh(D: np.ndarray, tile: Tile) -> tuple[float, np.ndarray, np.ndarray | None, Any]:
        if rule.tile is not None:
            loss, factors, dtheta = rule.tile(D, tile, theta)
            return loss, D, factors, dtheta
        np.maximum(D, 0, out=D)
        loss, W, dtheta = rule.block(np, D, tile.rows, tile.columns, theta)
        return float(loss), W, None, dtheta

    return pairs.sums(weigh)


class MetPairs:
    """Squared distances between rows and references, and products with their weights.

    Parameters
    ----------
    rows : BlockRows
        The rows and references.
    L, of, dtype
        See :func:`pair_sums`.
    """

    def __init__(self, rows: BlockRows, L: np.ndarray, of: str, dtype: Any = None) -> None:
        self.rows, self._of = rows, of
        L = L.astype(rows.X.dtype)
        Z, R = rows.X @ L.T, rows.references.X @ L.T
        if dtype is None:  # the references decide, so that the division into blocks does not matter
            dtype = np.float64 if needs_float64(R) else R.dtype
        self.Z, self.R = Z.astype(dtype, copy=False), R.astype(dtype, copy=False)
        self._right = np.ascontiguousarray(right_factor(self.R).T)
        self._shape = {"map": L.shape, "metric": L.shape[1:] * 2, "value": (0, 0)}[of]
        points = rows.references.X.astype(dtype, copy=False)
        self._V = {"map": self.R, "metric": points, "value": self.R[:, :0]}[of]
        self._V1 = np.hstack([self._V, np.ones_like(self._V[:, :1])])

    def sums(self, weigh: Weigh) -> Sums:
        """Return the sums, given a function that turns squared distances into weights."""
        n, m = len(self.Z), len(self.R)
        size = max(MIN_TILE_ROWS, min(TILE_ENTRIES // m, MAX_TILE_ROWS))

        def work(firsts: Iterator[int]) -> tuple[float, np.ndarray, np.ndarray, Any]:
            loss, dtheta = 0.0, 0.0
            total = np.zeros((self._V1.shape[1], m))
            gradient = np.zeros(self._shape)
            buffer = np.empty(min(size, n) * m, self.Z.dtype)
            for first in firsts:
                last = min(first + size, n)
                D = buffer[: (last - first) * m].reshape(-1, m)
                np.matmul(left_factor(self.Z[first:last]), self._right, out=D)
                part, W, factors, part_dtheta = weigh(D, self.rows.tile(first, last))
                loss, dtheta = loss + part, dtheta + part_dtheta
                if self._of != "value":
                    self._add_products(gradient, total, slice(first, last), W, factors)
            return loss, gradient, total, dtheta

        firsts = range(0, n, size)
        parts = run_on_threads(work, firsts, n_rows=n)
        loss, gradient, total, dtheta = (
            sum(each[1:], each[0]) for each in zip(*parts, strict=True)
        )
        by_column = total[-1:] * self._V.T - total[:-1]
        if self._of != "value":
            gradient = gradient + by_column @ self.rows.references.X
        return Sums(loss, gradient, dtheta)

    def _add_products(
        self,
        gradient: np.ndarray,
        total: np.ndarray,
        rows: slice,
        W: Any,
        factors: np.ndarray | None,
    ) -> None:
        """Add the products of weights with the references, and of their transpose with rows."""
        X = self.rows.X[rows]
        V = self.Z[rows] if self._of == "map" else X.astype(W.dtype, copy=False)
        V1 = np.hstack([V, np.ones_like(V[:, :1])])
        by_row = W @ self._V1
        if factors is not None:
            by_row, V1 = factors * by_row, factors * V1
        gradient += (by_row[:, -1:] * V - by_row[:, :-1]).T @ X
        total += V1.T @ W
