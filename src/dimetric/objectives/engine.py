r"""The reference implementation of pairwise objectives, for any array-API namespace.

A :class:`Rule` defines an objective. From a block of squared distances, and the labels, targets and
weights of its rows and columns, it computes the loss and the weights
:math:`W = \partial loss / \partial d^2`. The engine turns W into gradients by a Laplacian product,
which is the same for all rules.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import array_api_compat as compat
import numpy as np

from dimetric._arrays.blocks import row_blocks
from dimetric._arrays.namespaces import Array, is_host, namespace
from dimetric._arrays.squared_distances import squared_distances
from dimetric.objectives.side import Side
from dimetric.objectives.triton.support import runs_kernels

HOST_BLOCK_ROWS = 256  # chosen so that a block fits into the cache
MIN_DEVICE_BLOCK_ROWS = 256
DEVICE_BLOCK_ENTRIES = 2**26  # distances in a block that keeps an accelerator busy


class Rule(ABC):
    """A pairwise loss: a sum over the rows of a matrix of squared distances.

    Rows and columns are the same set of points, or two different sets.

    A rule may define ``fast(Z, V, side, theta)``, a faster implementation for NumPy arrays and one
    set of points sorted by class. It must return the same as :func:`laplacian_product`. Likewise,
    ``fused`` is an implementation for CUDA tensors of torch, see
    :mod:`dimetric.objectives.triton`. ``tile(D, tile, theta)`` is a faster implementation of
    :meth:`block` for rows and references sorted by class, see
    :mod:`dimetric.objectives.references.sums`. It overwrites D with the weights W, and returns the
    loss, a factor for each row of W or None, and dtheta.
    """

    fast: ClassVar[Callable[..., tuple[float, np.ndarray, Any]] | None] = None
    tile: ClassVar[Callable[..., tuple[float, np.ndarray | None, Any]] | None] = None
    # Whether `fast` has the option `half`, see `all_pairs.weighted_product`.
    halves: ClassVar[bool] = False
    # Whether the loss is convex in the metric. Then, rounding errors in early iterations of a
    # solver have no effect on the minimum that it reaches.
    is_convex: ClassVar[bool] = False
    fused: Callable[..., tuple[float, Array, Any]] | None = None

    @abstractmethod
    def block(
        self, xp: Any, D: Array, rows: Side, columns: Side, theta: Any
    ) -> tuple[Array, Array, Any]:
        """Return the loss of a block of rows, and its derivatives with respect to D and theta.

        Parameters
        ----------
        xp : namespace
            Array namespace of D.
        D : array of shape (b, m)
            Squared distances between the b points of the block and all m column points.
        rows : Side of b points
            Labels, targets and weights of the points of the block.
        columns : Side of m points
            Labels, targets and weights of the column points.
        theta : ndarray of shape (p,)
            Extra parameters of the objective, on the host. Most objectives have none.

        Returns
        -------
        loss : array of shape () or float
            Sum over the block.
        W : array of shape (b, m)
            Derivative of the loss with respect to D.
        dtheta : float or ndarray of shape (p,)
            Derivative of the loss with respect to theta, or 0 if there are no extra parameters.
        """

    def n_terms(self, rows: Side, columns: Side) -> float:
        """Return the number of terms of the sum. Solvers minimise the mean of the terms."""
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
    r"""Return a rule's loss between two sets of points, its Laplacian times V, and dtheta.

    The Laplacian of the weights W between rows and columns, times V, has two parts,

    .. math:: D_{row} V_{row} - W V_{col}, \qquad D_{col} V_{col} - W^T V_{row}

    where the diagonal matrices :math:`D_{row}` and :math:`D_{col}` hold the row sums and column
    sums of W. Memory is O(block m). Losses of blocks are summed in float64.

    Parameters
    ----------
    rule : Rule
        The rule.
    Z : pair of arrays of shape (n, k) and (m, k)
        Row points and column points, centred.
    V : pair of arrays of shape (n, q) and (m, q)
        Matrices that are multiplied by the Laplacian.
    rows, columns : Side of n and of m points
        Labels, targets and weights of the points.
    theta : ndarray of shape (p,), optional
        Extra parameters of the rule.
    block : int, optional
        Number of rows in a block. The default is chosen by :func:`default_block_rows`.

    Returns
    -------
    loss : float
        Sum over all pairs.
    by_row : array of shape (n, q)
        First part of the product.
    by_column : array of shape (m, q)
        Second part of the product.
    dtheta : float or ndarray of shape (p,)
        Derivative of the loss with respect to theta.
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


def _checked_block(rule: Rule, result: Any, D: Array) -> tuple[Any, Array, Any]:
    """Return the result of ``Rule.block``, or raise an error if it has the wrong form."""
    method = f"{type(rule).__name__}.block"
    if not isinstance(result, tuple) or len(result) != 3:
        raise TypeError(f"{method} must return three values, (loss, W, dtheta).")
    shapes = [tuple(getattr(a, "shape", ())) for a in result[:2]]
    if shapes[0]:
        raise TypeError(
            f"{method} must return its loss as one number, summed over the block. It returned an "
            f"array of shape {shapes[0]}."
        )
    if shapes[1] != tuple(D.shape):
        raise TypeError(
            f"{method} must return weights W with the shape of D, {tuple(D.shape)}. They have "
            f"shape {shapes[1]}."
        )
    return result


def fast_implementation(
    rule: Rule, Z: Array, *, single: bool = False
) -> Callable[..., tuple[float, Array, Any]] | None:
    """Return the implementation of a rule that is faster than the engine, or None.

    It is chosen by the type and dtype of the mapped points. See
    :func:`dimetric.objectives.triton.support.runs_kernels` for `single`.
    """
    if compat.is_numpy_array(Z):
        return rule.fast
    return rule.fused if rule.fused is not None and runs_kernels(Z, single=single) else None


def laplacian_product(
    rule: Rule, Z: Array, V: Array, side: Side, theta: Any = None, *, block: int | None = None
) -> tuple[float, Array, Any]:
    r"""Return a rule's loss over all pairs of one set of points, its Laplacian times V, and dtheta.

    The points are both the rows and the columns of :func:`bipartite_product`, so the product is

    .. math:: P = (D_{row} + D_{col} - W - W^T) V.

    Gradients follow from P, with :math:`z = L x`. For V = Z, the gradient with respect to L is
    :math:`2 P^T X`. For V = X, the gradient with respect to :math:`M = L^T L` is :math:`X^T P`.
    """
    loss, by_row, by_column, dtheta = bipartite_product(
        rule, (Z, Z), (V, V), side, side, theta, block=block
    )
    return loss, by_row + by_column, dtheta


def pairwise_loss(
    rule: Rule, L: Array, X: Array, side: Side, theta: Any = None, *, block: int | None = None
) -> tuple[float, Array, Any]:
    """Return a rule's loss over all pairs, and its gradients with respect to L and theta.

    The samples X, of shape (n, d), are centred. See :func:`laplacian_product` for the other
    parameters.
    """
    Z = X @ L.T
    loss, product, dtheta = laplacian_product(rule, Z, Z, side, theta, block=block)
    return loss, 2 * (product.T @ X), dtheta


def distance_blocks(A: Array, B: Array, block: int | None = None) -> Iterator[tuple[slice, Array]]:
    """Yield blocks of rows of A, and their squared distances to all rows of B."""
    block = block or default_block_rows(A, B.shape[0], host_rows=HOST_BLOCK_ROWS)
    for b in row_blocks(A.shape[0], block):
        yield b, squared_distances(A[b, :], B)


def default_block_rows(A: Array, n_columns: int, *, host_rows: int) -> int:
    """Return the default number of rows in a block.

    On an accelerator, blocks are large enough to keep it busy. On the host, the number is
    `host_rows`, which callers choose such that a block fits into the cache.
    """
    if is_host(A):
        return host_rows
    return max(MIN_DEVICE_BLOCK_ROWS, DEVICE_BLOCK_ENTRIES // n_columns)
