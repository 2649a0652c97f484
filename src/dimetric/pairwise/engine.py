r"""The reference evaluator of pairwise objectives, in the array-API standard.

An objective is a rule: from a block of squared distances it gives its loss and the weights
:math:`W = \partial loss / \partial d^2`. The gradient is the same Laplacian product for all of
them, so a rule is a few lines and runs wherever X is.
"""

from typing import Any, Protocol

import array_api_compat as compat

from dimetric._xp import Array, namespace
from dimetric.reduce.tree import row_blocks


class Rule(Protocol):
    """A pairwise objective."""

    def block(
        self, xp: Any, D: Array, same: Array, rows: Array, theta: Any
    ) -> tuple[Array, Array, Any]:
        """Return (loss, W, dtheta) of a block of rows.

        Parameters
        ----------
        xp : namespace
            Of the arrays.
        D : array of shape (b, n)
            Squared distances between the block's samples and all samples.
        same : array of shape (b, n)
            Whether the labels agree.
        rows : array of shape (b,)
            Indices of the block's samples, so that a rule can leave a sample itself out.
        theta : any
            Extra parameters of the objective, None if it has none.
        """


def squared_distances(A: Array, B: Array) -> Array:
    """Return the squared Euclidean distances between the rows of A and of B, by one product.

    Rounding is relative to the rows' norms: centre them first.
    """
    xp = namespace(A)
    D = xp.sum(A * A, axis=1)[:, None] + xp.sum(B * B, axis=1)[None, :] - 2 * (A @ B.T)
    return xp.clip(D, 0)


def pairwise_loss(
    rule: Rule, L: Array, X: Array, codes: Array, theta: Any = None, *, block: int | None = None
) -> tuple[Array, Array, Any]:
    r"""Return a rule's loss, its gradient in L, and that in theta, summed over all samples.

    With :math:`z = L x`, the gradient is :math:`2 L\, S(W) = 2\,[(D_{row} + D_{col} - W - W^T)
    Z]^T X`. Memory is O(block n); losses of blocks are summed in float64.

    Parameters
    ----------
    rule : Rule
        The objective.
    L : array of shape (k, d)
        The map.
    X : array of shape (n, d)
        Samples, centred.
    codes : array of shape (n,)
        Labels as integers.
    theta : any, optional
        Extra parameters of the rule.
    block : int, optional
        Samples whose distances are held at once; 256, or more on an accelerator.
    """
    xp = namespace(X)
    n = X.shape[0]
    if block is None:  # large kernels keep an accelerator busy, small blocks a cache
        block = 256 if "cpu" in str(compat.device(X)).lower() else max(256, 2**26 // n)
    Z = X @ L.T
    index = xp.arange(n, device=compat.device(X))
    loss, dtheta = 0.0, None
    rows_part, degree_part = [], []
    columns_part = xp.zeros_like(Z)
    column_degree = xp.zeros_like(Z[:, 0])
    for b in row_blocks(n, block):
        D = squared_distances(Z[b, :], Z)
        same = codes[b][:, None] == codes[None, :]
        block_loss, W, block_dtheta = rule.block(xp, D, same, index[b], theta)
        loss = loss + float(block_loss)
        dtheta = block_dtheta if dtheta is None else dtheta + block_dtheta
        rows_part.append(W @ Z)
        degree_part.append(xp.sum(W, axis=1))
        columns_part = columns_part + W.T @ Z[b, :]
        column_degree = column_degree + xp.sum(W, axis=0)
    degree = xp.concat(degree_part) + column_degree
    laplacian = degree[:, None] * Z - xp.concat(rows_part) - columns_part
    return loss, 2 * (laplacian.T @ X), dtheta
