r"""The reference evaluator of pairwise objectives, in the array-API standard.

An objective is a rule: from a block of squared distances it gives its loss and the weights
:math:`W = \partial loss / \partial d^2`. The gradient is the same Laplacian product for all of
them, so a rule is a few lines and runs wherever the points are.
"""

from collections.abc import Callable
from typing import Any, ClassVar

import array_api_compat as compat
import numpy as np

from dimetric._arrays.blocks import row_blocks
from dimetric._arrays.namespaces import Array, namespace


class Rule:
    """A pairwise objective: a sum over rows of squared distances, to be minimised.

    A rule may have a ``fast`` path for NumPy, ``fast(Z, V, starts, theta)``, that returns what
    :func:`laplacian_product` does for points sorted by class; class c is
    ``Z[starts[c]:starts[c + 1]]``.
    """

    fast: ClassVar[Callable[..., tuple[float, np.ndarray, Any]] | None] = None

    def block(
        self, xp: Any, D: Array, same: Array, rows: Array, theta: Any
    ) -> tuple[Array, Array, Any]:
        """Return (loss, W, dtheta) of a block of rows.

        Parameters
        ----------
        xp : namespace
            Of the arrays.
        D : array of shape (b, n)
            Squared distances between the block's points and all points.
        same : array of shape (b, n)
            Whether the labels agree.
        rows : array of shape (b,)
            Indices of the block's points, so that a rule can leave a point itself out.
        theta : ndarray of shape (p,)
            Extra parameters of the objective, on the host; often none.
        """
        raise TypeError(f"{type(self).__name__} does not say what it sums.")

    def n_terms(self, counts: np.ndarray) -> float:
        """Return how many terms the sum has, given class sizes: objectives are means."""
        return float(np.sum(counts))

    def infimum(self, counts: np.ndarray) -> float:
        """Return a lower bound of the mean that no finite map attains, given class sizes."""
        return -np.inf


def squared_distances(A: Array, B: Array) -> Array:
    """Return the squared Euclidean distances between the rows of A and of B, by one product.

    Rounding is relative to the rows' norms: centre them first.
    """
    xp = namespace(A)
    D = xp.sum(A * A, axis=1)[:, None] + xp.sum(B * B, axis=1)[None, :] - 2 * (A @ B.T)
    return xp.clip(D, 0)


def laplacian_product(
    rule: Rule, Z: Array, V: Array, codes: Array, theta: Any = None, *, block: int | None = None
) -> tuple[float, Array, Any]:
    r"""Return a rule's loss over the points Z, the Laplacian of its weights times V, and dtheta.

    .. math:: (D_{row} + D_{col} - W - W^T) V

    With :math:`z = L x`, this is all that gradients need: :math:`2\,[\cdot]^T X` for V = Z is the
    gradient in L, and :math:`X^T[\cdot]` for V = X is that in :math:`M = L^T L`. Memory is
    O(block n); losses of blocks are summed in float64.

    Parameters
    ----------
    rule : Rule
        The objective.
    Z : array of shape (n, k)
        Points, centred.
    V : array of shape (n, m)
        What the Laplacian is applied to.
    codes : array of shape (n,)
        Labels as integers.
    theta : ndarray of shape (p,), optional
        Extra parameters of the rule.
    block : int, optional
        Points whose distances are held at once; 256, or more on an accelerator.
    """
    xp = namespace(Z)
    n = Z.shape[0]
    if block is None:  # large kernels keep an accelerator busy, small blocks a cache
        block = 256 if "cpu" in str(compat.device(Z)).lower() else max(256, 2**26 // n)
    index = xp.arange(n, device=compat.device(Z))
    loss, dtheta = 0.0, 0.0
    rows_part, degree_part = [], []
    columns_part = xp.zeros_like(V)
    column_degree = xp.zeros_like(V[:, 0])
    for b in row_blocks(n, block):
        D = squared_distances(Z[b, :], Z)
        same = codes[b][:, None] == codes[None, :]
        block_loss, W, block_dtheta = rule.block(xp, D, same, index[b], theta)
        loss = loss + float(block_loss)
        dtheta = dtheta + block_dtheta
        rows_part.append(W @ V)
        degree_part.append(xp.sum(W, axis=1))
        columns_part = columns_part + W.T @ V[b, :]
        column_degree = column_degree + xp.sum(W, axis=0)
    degree = xp.concat(degree_part) + column_degree
    return loss, degree[:, None] * V - xp.concat(rows_part) - columns_part, dtheta


def pairwise_loss(
    rule: Rule, L: Array, X: Array, codes: Array, theta: Any = None, *, block: int | None = None
) -> tuple[float, Array, Any]:
    """Return a rule's loss, its gradient in L, and that in theta, summed over all samples.

    The samples X (n, d) are centred; other parameters are those of :func:`laplacian_product`.
    """
    Z = X @ L.T
    loss, product, dtheta = laplacian_product(rule, Z, Z, codes, theta, block=block)
    return loss, 2 * (product.T @ X), dtheta
