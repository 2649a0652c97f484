"""Sums of a statistic over blocks of rows.

A statistic is a function ``stat(X_block, y_block)`` that returns something small that can be
added. The same function works on arrays of any namespace and on any iterator of blocks.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol, TypeVar

from dimetric._arrays.blocks import row_blocks
from dimetric._arrays.namespaces import Array


class Addable(Protocol):
    """What a statistic returns."""

    def __add__(self, other: Any, /) -> Any: ...


T = TypeVar("T", bound=Addable)


def tree_reduce(
    stat: Callable[[Any, Any], T],
    X: Array | Iterable[Any],
    y: Array | None = None,
    *,
    block: int = 8192,
) -> T:
    r"""Return :math:`\sum_b \mathrm{stat}(X_b, y_b)` over blocks of rows.

    Sums are paired like the branches of a tree. Rounding then grows with the logarithm of the
    number of blocks, and no more partial sums than that are in memory.

    Parameters
    ----------
    stat : callable
        ``stat(X_block, y_block)``; its results are added.
    X : array of shape (n, d), or iterable of blocks
        Rows, or blocks of rows; with ``y=None`` an item of an iterable may be a pair
        ``(X_block, y_block)``.
    y : array of shape (n,), optional
        Labels or targets of the rows of an array X.
    block : int, default=8192
        Rows in a block of an array.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.arange(6.0).reshape(3, 2)
    >>> tree_reduce(lambda X, y: X.sum(0), X, block=2)
    array([6., 9.])
    >>> tree_reduce(lambda X, y: X.sum(0), iter([X[:1], X[1:]]))
    array([6., 9.])
    """
    branches: list[tuple[int, T]] = []  # (number of blocks summed, their sum)
    for X_block, y_block in _pairs(X, y, block):
        size, total = 1, stat(X_block, y_block)
        while branches and branches[-1][0] == size:
            size, total = 2 * size, branches.pop()[1] + total
        branches.append((size, total))
    if not branches:
        raise ValueError("X holds no blocks: there is nothing to reduce.")
    total = branches.pop()[1]
    while branches:
        total = branches.pop()[1] + total
    return total


def _pairs(X: Any, y: Any, block: int) -> Iterator[tuple[Any, Any]]:
    if hasattr(X, "shape"):
        for rows in row_blocks(X.shape[0], block):
            yield X[rows, :], None if y is None else y[rows]
        return
    if y is not None:
        raise TypeError("y goes with an array X; an iterable of blocks holds (X, y) pairs.")
    for item in X:
        yield item if isinstance(item, tuple) else (item, None)
