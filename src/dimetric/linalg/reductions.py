"""Sums of a statistic over blocks of rows.

A statistic is a function ``stat(X_block, y_block)`` whose results are small and can be added. The
same function serves arrays of any namespace and iterables of blocks.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from dimetric._arrays.blocks import row_blocks
from dimetric._arrays.namespaces import Array


class Addable(Protocol):
    """Type of the results of a statistic."""

    def __add__(self, other: Any, /) -> Any: ...


@dataclass(frozen=True)
class JointSum:
    """Several results of a statistic, which are added one by one.

    Examples
    --------
    >>> (JointSum((1, 2.0)) + JointSum((3, 4.0))).parts
    (4, 6.0)
    """

    parts: tuple[Any, ...]

    def __add__(self, other: "JointSum") -> "JointSum":
        """Return the sums of the results."""
        return JointSum(tuple(a + b for a, b in zip(self.parts, other.parts, strict=True)))


class EmptyIterableError(ValueError):
    """Raised if there is nothing to add."""


T = TypeVar("T", bound=Addable)


def tree_reduce(
    stat: Callable[[Any, Any], T],
    X: Array | Iterable[Any],
    y: Array | None = None,
    *,
    block: int = 8192,
) -> T:
    r"""Return :math:`\sum_b \mathrm{stat}(X_b, y_b)` over blocks of rows.

    Partial sums are added in pairs, as in a binary tree. The rounding error and the number of
    partial sums in memory then grow with the logarithm of the number of blocks.

    Parameters
    ----------
    stat : callable
        Called as ``stat(X_block, y_block)``. Its results are added.
    X : array of shape (n, d), or iterable of blocks
        Samples, or blocks of samples. Items of an iterable may be pairs ``(X_block, y_block)``.
    y : array of shape (n,), optional
        Labels or targets, if X is an array.
    block : int, default=8192
        Number of rows in a block, if X is an array.

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
    for X_block, y_block in _blocks_with_targets(X, y, block):
        size, total = 1, stat(X_block, y_block)
        while branches and branches[-1][0] == size:
            size, total = 2 * size, branches.pop()[1] + total
        branches.append((size, total))
    if not branches:
        raise EmptyIterableError("X is empty: it must have at least one block.")
    total = branches.pop()[1]
    while branches:
        total = branches.pop()[1] + total
    return total


def _blocks_with_targets(X: Any, y: Any, block: int) -> Iterator[tuple[Any, Any]]:
    if hasattr(X, "shape"):
        for rows in row_blocks(X.shape[0], block):
            yield X[rows, :], None if y is None else y[rows]
        return
    if y is not None:
        raise TypeError("y requires an array X. Pass (X, y) pairs as the items of an iterable.")
    for item in X:
        yield item if isinstance(item, tuple) else (item, None)
