"""The nearest references of rows, and the scatter of the differences from them."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from dimetric._arrays.blocks import row_blocks
from dimetric._arrays.namespaces import triangular_factor
from dimetric._arrays.threads import map_on_threads
from dimetric.blocks.block import Block
from dimetric.linalg.scatter import difference_scatter
from dimetric.neighbors.euclidean.search import HOST_BLOCK_QUERIES, EuclideanSearch
from dimetric.objectives.references.references import BlockRows, References


def nearest_references(
    block: Block,
    references: References,
    L: np.ndarray | None,
    *,
    k: int,
    role: str = "friends",
) -> np.ndarray:
    """Return the k nearest references of the class of each row, -1 where there are fewer.

    The search is exact, and of equally near references the first is chosen, so the result does not
    depend on the division into blocks. A row is not its own neighbour.

    Parameters
    ----------
    block, references
        The rows and the references.
    L : ndarray of shape (p, d) or None
        Map of the samples. None stands for the identity.
    k : int
        Number of neighbours.
    role : {"friends", "enemies"}, default="friends"
        Whether to search the references of the same class, or those of other classes.
    """
    rows = references.meet(block)
    X, R = rows.X, references.X
    if L is not None:
        X, R = X @ L.T.astype(X.dtype), R @ L.T.astype(X.dtype)
    found = np.full((len(block.X), k), -1, dtype=np.int32)
    if not len(X):
        return found
    search = EuclideanSearch(X, R)

    def hide(D: np.ndarray, queries: np.ndarray, columns: slice) -> np.ndarray:
        itself = rows.itself[queries]
        is_here = np.flatnonzero((itself >= columns.start) & (itself < columns.stop))
        D[is_here, itself[is_here] - columns.start] = np.inf
        return D

    def of_queries(queries: slice) -> None:
        for run, members in rows.tile(queries.start, queries.stop).runs:
            among: list[Any] = [(members, hide)]
            if role == "enemies":
                among = [(slice(0, members.start), None), (slice(members.stop, len(R)), None)]
            size = min(k, sum(part.stop - part.start for part, _ in among))
            here = slice(queries.start + run.start, queries.start + run.stop)
            if size:
                found[rows.kept[here], :size] = search.nearest(here, size, among)[1]

    blocks = list(row_blocks(len(X), HOST_BLOCK_QUERIES))
    for _ in map_on_threads(of_queries, blocks, n_rows=len(X)):
        pass
    return found


@dataclass(frozen=True)
class NeighborScatter:
    """Scatter of the differences between rows and their neighbours. Blocks can be added.

    Attributes
    ----------
    spread : ndarray of shape (d, d) or (r, d)
        The scatter S, or a root R with R^T R = S.
    is_root : bool
        Whether the spread is a root.
    weight : float
        Total weight of the rows that have neighbours.
    n_few, n_none : int
        Number of rows that have fewer than k neighbours, and that have none.
    """

    spread: np.ndarray
    is_root: bool
    weight: float
    n_few: int
    n_none: int

    def __add__(self, other: "NeighborScatter") -> "NeighborScatter":
        """Return the scatter of both blocks together."""
        spread = self.spread + other.spread if not self.is_root else self._root_with(other)
        return NeighborScatter(
            spread,
            self.is_root,
            self.weight + other.weight,
            self.n_few + other.n_few,
            self.n_none + other.n_none,
        )

    def _root_with(self, other: "NeighborScatter") -> np.ndarray:
        rows = np.concatenate([self.spread, other.spread])
        return rows if len(rows) <= rows.shape[1] else triangular_factor(rows)


def neighbor_scatter_of(
    block: Block,
    references: References,
    k: int,
    role: str,
    root: bool,
    factor: float,
) -> NeighborScatter:
    """Return the scatter of a block's rows, multiplied by `factor`, and their nearest references.

    Each row contributes the mean over its neighbours. See :func:`nearest_references` for the other
    parameters.
    """
    rows = references.meet(block)
    near = nearest_references(block, references, None, k=k, role=role)[rows.kept]
    counts = np.sum(near >= 0, axis=1)
    weights = rows.side.weights
    has_neighbors = counts > 0
    return NeighborScatter(
        scatter_to(rows, near, counts, root=root, factor=factor),
        root,
        float(np.sum(has_neighbors if weights is None else weights[has_neighbors])),
        int(np.sum(counts < k)),
        int(np.sum(counts == 0)),
    )


def scatter_to(
    rows: BlockRows,
    near: np.ndarray,
    counts: np.ndarray | None = None,
    *,
    root: bool = False,
    factor: float = 1.0,
) -> np.ndarray:
    """Return the scatter of the differences between rows and references.

    Parameters
    ----------
    rows : BlockRows
        The rows.
    near : ndarray of shape (n, k)
        References of each row, or -1.
    counts : ndarray of shape (n,), optional
        The number by which the sum of each row is divided. The default is 1.
    root : bool, default=False
        Whether to return a root of the scatter.
    factor : float, default=1.0
        Rows and references are multiplied by it.
    """
    (n, k), m = near.shape, len(rows.references.X)
    points = factor * np.concatenate([rows.X, rows.references.X])
    # References are further points, without a difference from themselves.
    indices = np.repeat(np.arange(n + m)[:, None], k, axis=1)
    indices[:n] = np.where(near < 0, indices[:n], n + near)
    numbers = np.ones(n + m)
    numbers[:n] = 1 if counts is None else counts
    weights = rows.side.weights
    if weights is not None:
        weights = np.concatenate([weights, np.zeros(m)])
    return np.asarray(difference_scatter(points, indices, numbers, None, weights, root=root))
