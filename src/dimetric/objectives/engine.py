r"""The reference evaluator of pairwise objectives, in the array-API standard.

An objective is a rule: from a block of squared distances, and what is known about the points along
its two sides, it gives its loss and the weights :math:`W = \partial loss / \partial d^2`. The
gradient is the same Laplacian product for all rules, so a rule is a few lines and runs wherever the
points are.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import numpy as np

from dimetric._arrays.blocks import row_blocks
from dimetric._arrays.namespaces import Array, is_host, namespace
from dimetric._arrays.squared_distances import squared_distances
from dimetric.objectives.side import Side


class Rule(ABC):
    """A pairwise objective: a sum over rows of squared distances, to be minimised.

    The rows and the columns are one set of points, or two different sets.

    A rule may have a form of its own for NumPy and one set of points, sorted by class:
    ``fast(Z, V, side, theta)`` returns what :func:`laplacian_product` does, and is tested equal to
    it.
    """

    fast: ClassVar[Callable[..., tuple[float, np.ndarray, Any]] | None] = None

    @abstractmethod
    def block(
        self, xp: Any, D: Array, rows: Side, columns: Side, theta: Any
    ) -> tuple[Array, Array, Any]:
        """Return (loss, W, dtheta) of a block of rows.

        Parameters
        ----------
        xp : namespace
            Of the arrays.
        D : array of shape (b, m)
            Squared distances between the points of the block and all points along the columns.
        rows : Side of b points
            What is known about the points of the block.
        columns : Side of m points
            What is known about the points along the columns.
        theta : ndarray of shape (p,)
            Extra parameters of the objective, on the host; often none.

        Returns
        -------
        loss : array of shape () or float
            Sum over the block.
        W : array of shape (b, m)
            Its derivative in D.
        dtheta : float or ndarray of shape (p,)
            Its derivative in theta; 0 if there are no extra parameters.
        """

    def n_terms(self, rows: Side, columns: Side) -> float:
        """Return the number of terms of the sum: solvers minimise its mean."""
        return float(len(rows))

    def infimum(self, rows: Side, columns: Side) -> float:
        """Return the greatest lower bound of the mean if no finite map attains it, else -inf."""
        return -np.inf


def bipartite_product(
    rule: Rule,
    Z: tuple[Array, Array],
    V: tuple[Array, Array],
    rows: Side,
    columns: Side,
    theta: Any = None,
    *,
    block: int | None = None,
) -> tuple[float, Array, Array, Any]:
    r"""Return a rule's loss over two sets of points, its Laplacian times V, and dtheta.

    The Laplacian of the weights W between rows and columns has two parts,

    .. math:: D_{row} V_{row} - W V_{col}, \qquad D_{col} V_{col} - W^T V_{row}

    where the diagonal matrices hold the sums of W over its rows and over its columns. Memory is
    O(block m); losses of blocks are summed in float64.

    Parameters
    ----------
    rule : Rule
        The objective.
    Z : pair of arrays of shape (n, k) and (m, k)
        Points along the rows and along the columns, centred.
    V : pair of arrays of shape (n, p) and (m, p)
        What the Laplacian is applied to.
    rows, columns : Side of n and of m points
        What is known about the points.
    theta : ndarray of shape (p,), optional
        Extra parameters of the rule.
    block : int, optional
        Rows whose distances are held at once; see :func:`rows_at_once`.

    Returns
    -------
    loss : float
    by_row : array of shape (n, p)
    by_column : array of shape (m, p)
    dtheta : float or ndarray of shape (p,)
    """
    xp = namespace(Z[0])
    loss, dtheta = 0.0, 0.0
    by_row = []
    by_column, column_degree = xp.zeros_like(V[1]), xp.zeros_like(V[1][:, 0])
    for b, D in distance_blocks(*Z, block):
        block_loss, W, block_dtheta = _checked_block(
            rule, rule.block(xp, D, rows[b], columns, theta), D
        )
        loss = loss + float(block_loss)
        dtheta = dtheta + block_dtheta
        by_row.append(xp.sum(W, axis=1)[:, None] * V[0][b, :] - W @ V[1])
        by_column = by_column + W.T @ V[0][b, :]
        column_degree = column_degree + xp.sum(W, axis=0)
    return loss, xp.concat(by_row), column_degree[:, None] * V[1] - by_column, dtheta


def _checked_block(rule: Rule, found: Any, D: Array) -> tuple[Any, Array, Any]:
    """Return what a rule found for a block, or raise if that is not what the engine adds up."""
    method = f"{type(rule).__name__}.block"
    if not isinstance(found, tuple) or len(found) != 3:
        raise TypeError(f"{method} must return three values, (loss, W, dtheta).")
    shapes = [tuple(getattr(a, "shape", ())) for a in found[:2]]
    if shapes[0]:
        raise TypeError(
            f"{method} must return its loss summed over the block, one number; it returned an "
            f"array of shape {shapes[0]}."
        )
    if shapes[1] != tuple(D.shape):
        raise TypeError(
            f"{method} must return weights W of the shape of D, {tuple(D.shape)}; they have shape "
            f"{shapes[1]}."
        )
    return found


def laplacian_product(
    rule: Rule, Z: Array, V: Array, side: Side, theta: Any = None, *, block: int | None = None
) -> tuple[float, Array, Any]:
    r"""Return a rule's loss over one set of points, its Laplacian times V, and dtheta.

    The points are both the rows and the columns of :func:`bipartite_product`, so the product is

    .. math:: (D_{row} + D_{col} - W - W^T) V.

    With :math:`z = L x`, this is all that gradients need: :math:`2\,[\cdot]^T X` for V = Z is the
    gradient in L, and :math:`X^T[\cdot]` for V = X is that in :math:`M = L^T L`.
    """
    loss, by_row, by_column, dtheta = bipartite_product(
        rule, (Z, Z), (V, V), side, side, theta, block=block
    )
    return loss, by_row + by_column, dtheta


def pairwise_loss(
    rule: Rule, L: Array, X: Array, side: Side, theta: Any = None, *, block: int | None = None
) -> tuple[float, Array, Any]:
    """Return a rule's loss, its gradient in L, and that in theta, summed over all samples.

    The samples X (n, d) are centred; other parameters are those of :func:`laplacian_product`.
    """
    Z = X @ L.T
    loss, product, dtheta = laplacian_product(rule, Z, Z, side, theta, block=block)
    return loss, 2 * (product.T @ X), dtheta


def distance_blocks(A: Array, B: Array, block: int | None = None) -> Iterator[tuple[slice, Array]]:
    """Yield rows of A, and their squared distances to all rows of B."""
    for b in row_blocks(A.shape[0], block or rows_at_once(A, B.shape[0], on_host=256)):
        yield b, squared_distances(A[b, :], B)


def rows_at_once(A: Array, n_columns: int, *, on_host: int) -> int:
    """Return how many rows to work on at once: what keeps an accelerator busy, or fits a cache."""
    return on_host if is_host(A) else max(256, 2**26 // n_columns)
