"""The interface of sources, which hold samples in blocks of rows."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from copy import copy
from dataclasses import replace
from itertools import chain
from typing import Any, Self, TypeVar

import numpy as np

from dimetric._arrays.blocks import row_blocks, scatter_block_rows
from dimetric._arrays.labels import dense_y
from dimetric.blocks.block import Block, checked_block, float_dtype
from dimetric.linalg.reductions import Addable, EmptyIterableError, tree_reduce

T = TypeVar("T", bound=Addable)

NO_SAMPLES = "X has no samples, or no sample of positive weight."


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
    columns : list or None
        Names of the features, if the blocks are data frames.
    has_labels, has_weights : bool
        Whether the blocks contain labels or targets, and sample weights.
    can_repeat : bool
        Whether the samples can be read more than once.
    """

    example: Any
    n_features: int
    dtype: np.dtype
    has_labels: bool
    has_weights: bool
    can_repeat: bool = True
    columns: list[Any] | None = None

    def _options(self) -> dict[str, Any]:
        """Return the arguments of :func:`checked_block` that are the same for all blocks."""
        return {"n_features": self.n_features, "dtype": self.dtype, "columns": self.columns}

    @abstractmethod
    def reduce(self, stat: Callable[..., T | None], *shared: Any, numbered: bool = False) -> T:
        r"""Return :math:`\sum_b \mathrm{stat}(b, *shared)` over all blocks b that are not empty.

        Parameters
        ----------
        stat : callable
            Called as ``stat(block, *shared)`` with a :class:`Block`. Its results are small, and are
            added by ``+``. None stands for 0. It may run in another process, so it must be
            picklable: a function of a module, or a ``functools.partial`` of one.
        *shared
            Further arguments, which are the same for all blocks, such as a map, or results of
            :meth:`share`.
        numbered : bool, default=False
            Whether `stat` uses ``block.first``. If the lengths of the blocks are unknown, they are
            counted first, which may take as long as a pass.
        """

    @abstractmethod
    def with_extra(self, of_block: Callable[..., Any], *shared: Any) -> Self:
        """Return a source whose blocks have the attribute ``extra = of_block(block, *shared)``.

        It is computed once, and kept where the block is processed. It should be smaller than the
        block. Blocks are numbered.
        """

    def share(self, value: Any) -> Any:
        """Return an argument for :meth:`reduce` that stands for a value used by many passes."""
        return value


class LocalSource(Source):
    """A source whose blocks are read one after the other in this process."""

    _extras: list[Any] | None = None

    @abstractmethod
    def blocks(self) -> Iterator[Block]:
        """Yield the blocks."""

    def reduce(self, stat: Callable[..., T | None], *shared: Any, numbered: bool = False) -> T:
        """Return the sum of a statistic. See :meth:`Source.reduce`."""
        results = (stat(block, *shared) for block in self._filled_blocks())
        parts = ((part, None) for part in results if part is not None)
        try:
            return tree_reduce(lambda part, _: part, parts)
        except EmptyIterableError:
            raise ValueError(NO_SAMPLES) from None

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
        # A view without the class np.memmap, whose blocks would also be memory maps.
        self._X = np.asarray(X)
        self._y, self._weights = (
            None if values is None else np.asarray(dense_y(values)) for values in (y, sample_weight)
        )
        for name, values in (("y", self._y), ("sample_weight", self._weights)):
            if values is not None and values.shape != (len(X),):
                raise ValueError(
                    f"X has {len(X)} samples, but {name} has the shape {values.shape}. Pass one "
                    "value for each sample."
                )
        self.example, self.n_features, self.dtype = self._X[:1], X.shape[1], float_dtype(X.dtype)
        self.has_labels, self.has_weights = y is not None, sample_weight is not None
        self._block_rows = block_rows or scatter_block_rows(self.n_features)

    def blocks(self) -> Iterator[Block]:
        """Yield the blocks."""
        options = self._options()
        for number, rows in enumerate(row_blocks(len(self._X), self._block_rows)):
            y, weights = (None if v is None else v[rows] for v in (self._y, self._weights))
            parts = (self._X[rows], y, weights)
            yield checked_block(parts, number=number, first=rows.start, **options)


class IterableSource(LocalSource):
    """Blocks that an iterator yields: ``X``, ``(X, y)`` or ``(X, y, sample_weight)``.

    Parameters
    ----------
    factory : callable or iterator
        Called without arguments for each pass, to get a new iterator of blocks. It must yield the
        same blocks each time. An iterator can be read only once, so it suits estimators that need
        one pass.
    """

    def __init__(self, factory: Callable[[], Iterable[Any]] | Iterator[Any]) -> None:
        self._factory, self.can_repeat = factory, callable(factory)
        self._n_rows: int | None = None  # in each pass
        # The first block shows the number of features. Only an iterator need not be read again.
        self._first_iterator = self._opened() if callable(factory) else factory
        first = next(self._first_iterator, None)
        if first is None:
            raise ValueError("X is empty: the iterator yields no block.")
        self._unread = None if callable(factory) else chain([first], self._first_iterator)
        X, y, weights = _parts_of(first)
        if np.ndim(X) != 2:
            raise ValueError(f"A block has {np.ndim(X)} dimension(s), but it must have two.")
        self.example, self.n_features = X[:1], X.shape[1]
        self.columns = list(X.columns) if hasattr(X, "columns") else None
        self.has_labels, self.has_weights = y is not None, weights is not None
        self.dtype = common_dtype(X)

    def blocks(self) -> Iterator[Block]:
        """Yield the blocks."""
        first, options = 0, self._options()
        for number, item in enumerate(self._all_items()):
            parts = _parts_of(item)
            given = [part is not None for part in parts[1:]]
            if given != [self.has_labels, self.has_weights]:
                raise ValueError(
                    f"Block {number} has other parts than the first block. All blocks must be X, "
                    "or all must be (X, y), or all must be (X, y, sample_weight)."
                )
            block = checked_block(parts, number=number, first=first, **options)
            yield block
            first += len(block.X)
        if self._n_rows not in (None, first):
            raise ValueError(
                f"The function yielded {first} samples, but {self._n_rows} in an earlier pass. It "
                "must yield the same blocks each time."
            )
        self._n_rows = first

    def _all_items(self) -> Iterable[Any]:
        """Return all blocks for another pass."""
        if self.can_repeat:
            items = self._opened()
            if items is not self._first_iterator:
                return items
        if self._unread is None:
            raise ValueError(
                "An iterator can be read only once, but this fit reads the samples several times. "
                "Pass a function that returns a new iterator each time instead."
            )
        items, self._unread = self._unread, None
        return items

    def _opened(self) -> Iterator[Any]:
        """Call the function, and return an iterator."""
        assert callable(self._factory)
        items = self._factory()
        if not isinstance(items, Iterable):
            raise TypeError(
                f"The function returned {type(items).__name__}, but it must return an iterator "
                "over blocks X, (X, y) or (X, y, sample_weight)."
            )
        return iter(items)


def _parts_of(part: Any) -> tuple[Any, Any, Any]:
    """Return the samples, labels and weights of an item of an iterator."""
    if not isinstance(part, tuple):
        return _table(part), None, None
    if not 1 <= len(part) <= 3:
        raise ValueError(
            f"A block is a tuple of {len(part)} items, but it must be X, (X, y) or (X, y, "
            "sample_weight)."
        )
    X, y, weights = (*part, None, None)[:3]
    return _table(X), y, weights


def _table(X: Any) -> Any:
    """Return the samples of a block. Raise unless they are an array or a data frame."""
    if not hasattr(X, "shape") or not (hasattr(X, "dtype") or hasattr(X, "dtypes")):
        raise TypeError(
            f"A block is of type {type(X).__name__}, but it must be an array or a pandas data "
            "frame X, or a tuple (X, y) or (X, y, sample_weight)."
        )
    return X


def common_dtype(X: Any) -> np.dtype:
    """Return float32 if an array, or all columns of a data frame, have it, and else float64."""
    dtypes = {float_dtype(each) for each in (X.dtypes if hasattr(X, "columns") else [X.dtype])}
    return dtypes.pop() if len(dtypes) == 1 else np.dtype(np.float64)
