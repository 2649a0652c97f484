"""The samples of a source, mapped where they are processed."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

from dimetric.blocks.block import Block
from dimetric.blocks.source import Source
from dimetric.linalg.reductions import Addable

T = TypeVar("T", bound=Addable)


class MappedSource(Source):
    """A source whose blocks are mapped where they are processed.

    Parameters
    ----------
    source : Source
        The samples.
    of_block : callable
        Maps a block to a block with as many samples. It may run in another process, so it must be
        picklable.
    n_features : int
        Number of features of the mapped samples.
    dtype : numpy dtype
        The dtype of the mapped samples.
    """

    def __init__(
        self, source: Source, of_block: Callable[[Block], Block], n_features: int, dtype: Any
    ) -> None:
        self._source, self._of_block = source, of_block
        self.n_features, self.dtype = n_features, dtype
        self.has_labels, self.has_weights = source.has_labels, source.has_weights
        self.can_repeat, self.example = source.can_repeat, None

    def reduce(self, stat: Callable[..., T | None], *shared: Any, numbered: bool = False) -> T:
        """Return the sum of a statistic. See :meth:`Source.reduce`."""
        return self._source.reduce(_of_mapped, self._of_block, stat, *shared, numbered=numbered)

    def with_extra(self, of_block: Callable[..., Any], *shared: Any) -> "MappedSource":
        """Return a source with more attributes. See :meth:`Source.with_extra`."""
        source = self._source.with_extra(_of_mapped, self._of_block, of_block, *shared)
        return MappedSource(source, self._of_block, self.n_features, self.dtype)

    def share(self, value: Any) -> Any:
        """Return an argument for :meth:`reduce`. See :meth:`Source.share`."""
        return self._source.share(value)


def _of_mapped(
    block: Block, of_block: Callable[[Block], Block], stat: Callable[..., Any], *shared: Any
) -> Any:
    return stat(of_block(block), *shared)


def transformed_by(learner: Any, block: Block) -> Block:
    """Return a block whose samples are mapped by a fitted learner without names of features."""
    return replace(block, X=learner.transform(block.X))
