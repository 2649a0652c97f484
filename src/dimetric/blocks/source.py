"""The interface of sources, which hold samples in blocks of rows."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from copy import copy
from dataclasses import replace
from itertools import chain
from typing import Any, ClassVar, Self, TypeVar

import numpy as np

from dimetric._arrays.blocks import row_blocks, scatter_block_rows
from dimetric.blocks.block import Block, checked_block
from dimetric.linalg.reductions import Addable, tree_reduce

T = TypeVar("T", bound=Addable)


class Source(ABC):
    """Samples in blocks of rows. Each pass reads all blocks once.

    Attributes
    ----------
    example : array or data frame with few or no rows
        Has the columns of the samples.
    n_features : int
        Number of features.
    dtype : numpy dtype
        The dtype of the samples: float32 if all samples have it, else float64.
    has_labels : bool
        Whether the blocks contain labels or targets.
    uses_threads : bool
        Whether a statistic may use several threads, because blocks are processed one by one.
    """

    example: Any
    n_features: int
    dtype: np.dtype
    has_labels: bool
    uses_threads: ClassVar[bool]

    @abstractmethod
    def reduce(self, stat: Callable[..., T], *shared: Any) -> T:
        r"""Return :math:`\sum_b \mathrm{stat}(b, *shared)` over all blocks b that are not empty.

        Parameters
        ----------
        stat : callable
            Called as ``stat(block, *shared)`` with a :class:`Block`. Its results are small, and are
            added by ``+``. It may run in another process, so it must be picklable: a function of a
            module, or a ``functools.partial`` of one.
        *shared
            Further arguments, which are the same for all blocks, such as a map, or results of
            :meth:`share`.
        """

    @abstractmethod
    def with_extra(self, of_block: Callable[..., Any], *shared: Any) -> Self:
        """Return a source whose blocks have the attribute ``extra = of_block(block, *shared)``.

        It is computed once, and kept where the block is processed. It should be smaller than the
        block.
        """

    def share(self, value: Any) -> Any:
        """Return an argument for :meth:`reduce` that stands for a value used by many passes."""
        return value


class LocalSource(Source):
    """A source whose blocks are read one after the other in this process."""

    uses_threads = True
    _extras: list[Any] | None = None

    @abstractmethod
    def blocks(self) -> Iterator[Block]:
        """Yield the blocks."""

    def reduce(self, stat: Callable[..., T], *shared: Any) -> T:
        """Return the sum of a statistic. See :meth:`Source.reduce`."""
        return tree_reduce(lambda block, _: stat(block, *shared), self._filled_blocks())

    def with_extra(self, of_block: Callable[..., Any], *shared: Any) -> Self:
        """Return a source with more attributes. See :meth:`Source.with_extra`."""
        other = copy(self)
        other._extras = [of_block(block, *shared) for block in self._filled_blocks()]
        return other

    def _filled_blocks(self) -> Iterator[Block]:
        """Yield the blocks that are not empty, with their extras."""
        filled = (block for block in self.blocks() if len(block.X))
        if self._extras is None:
            return filled
        pairs = zip(filled, self._extras, strict=True)
        return (replace(block, extra=extra) for block, extra in pairs)


class ArraySource(LocalSource):
    """A NumPy array or memory map. A block is a view of some rows, so a pass needs little memory.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Samples.
    y, sample_weight : ndarray of shape (n,), optional
        Labels or targets, and weights of the samples.
    block_rows : int, optional
        Number of rows in a block.
    """

    def __init__(
        self, X: np.ndarray, y: Any = None, sample_weight: Any = None, block_rows: int | None = None
    ) -> None:
        if X.ndim != 2:
            raise ValueError(f"X has the shape {X.shape}, but it must have two dimensions.")
        self._X, self._y, self._weights = X, y, sample_weight
        for name, values in (("y", y), ("sample_weight", sample_weight)):
            if values is not None and len(values) != len(X):
                raise ValueError(f"X has {len(X)} samples, but {name} has {len(values)} values.")
        self.example, self.n_features, self.has_labels = X[:1], X.shape[1], y is not None
        self.dtype = float_dtype(X.dtype)
        self._block_rows = block_rows or scatter_block_rows(self.n_features)

    def blocks(self) -> Iterator[Block]:
        """Yield the blocks."""
        for rows in row_blocks(len(self._X), self._block_rows):
            y, weights = (None if v is None else v[rows] for v in (self._y, self._weights))
            yield checked_block(
                self._X[rows],
                y,
                weights,
                first=rows.start,
                n_features=self.n_features,
                dtype=self.dtype,
            )


class IterableSource(LocalSource):
    """Blocks that an iterator yields: ``X``, ``(X, y)`` or ``(X, y, sample_weight)``.

    Parameters
    ----------
    factory : callable or iterator
        Called without arguments for each pass, to get a new iterator of blocks. An iterator can
        be read only once, so it suits estimators that need one pass.
    """

    def __init__(self, factory: Callable[[], Iterable[Any]] | Iterator[Any]) -> None:
        self._factory = factory
        # The first block shows the number of features. Only an iterator need not be read again.
        self._opened: Iterator[Any] | None = iter(factory()) if callable(factory) else factory
        first = next(self._opened, None)
        if first is None:
            raise ValueError("X is empty: the iterator yields no block.")
        self._opened = None if callable(factory) else chain([first], self._opened)
        X, y, _ = _parts_of(first)
        if np.ndim(X) != 2:
            raise ValueError(f"A block has {np.ndim(X)} dimension(s), but it must have two.")
        self.example, self.n_features, self.has_labels = X[:1], X.shape[1], y is not None
        self.dtype = np.dtype(np.float64)  # later blocks may have a wider dtype than the first

    def blocks(self) -> Iterator[Block]:
        """Yield the blocks."""
        first = 0
        for part in self._all_parts():
            block = self._checked(part, first)
            yield block
            first += len(block.X)

    def _all_parts(self) -> Iterable[Any]:
        """Return all blocks for another pass."""
        if callable(self._factory):
            return self._factory()
        if self._opened is None:
            raise ValueError(
                "An iterator can be read only once, but this fit reads the samples several times. "
                "Pass a function that returns a new iterator instead."
            )
        opened, self._opened = self._opened, None
        return opened

    def _checked(self, part: Any, first: int) -> Block:
        X, y, weights = _parts_of(part)
        if (y is not None) != self.has_labels:
            raise ValueError("Some blocks have labels and others do not.")
        return checked_block(
            X, y, weights, first=first, n_features=self.n_features, dtype=self.dtype
        )


def _parts_of(part: Any) -> tuple[Any, Any, Any]:
    """Return the samples, labels and weights of an item of an iterator."""
    if not isinstance(part, tuple):
        return part, None, None
    if not 1 <= len(part) <= 3:
        raise ValueError(
            f"A block is a tuple of {len(part)} items, but it must be X, (X, y) or (X, y, "
            "sample_weight)."
        )
    X, y, weights = (*part, None, None)[:3]
    return X, y, weights


def float_dtype(dtype: Any) -> np.dtype:
    """Return float32 for float32, and float64 for all other dtypes."""
    is_single = str(dtype).lower() == "float32"
    return np.dtype(np.float32 if is_single else np.float64)
