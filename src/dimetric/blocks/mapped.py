"""The samples of a source, mapped by a fitted learner."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

from dimetric.blocks.block import Block
from dimetric.blocks.source import Source
from dimetric.linalg.reductions import Addable

T = TypeVar("T", bound=Addable)


class MappedSource(Source):
    """A source whose samples are mapped by a learner where they are processed.

    Parameters
    ----------
    source : Source
        The samples.
    learner : learner
        A fitted learner without names of features. Its method ``transform`` maps arrays.
    """

    def __init__(self, source: Source, learner: Any) -> None:
        self._source, self._learner = source, learner
        self.n_features, self.dtype = learner._n_features_out, source.dtype
        self.has_labels, self.has_weights = source.has_labels, source.has_weights
        self.can_repeat, self.example = source.can_repeat, None

    def reduce(self, stat: Callable[..., T | None], *shared: Any, numbered: bool = False) -> T:
        """Return the sum of a statistic. See :meth:`Source.reduce`."""
        return self._source.reduce(_of_mapped, self._learner, stat, *shared, numbered=numbered)

    def with_extra(self, of_block: Callable[..., Any], *shared: Any) -> "MappedSource":
        """Return a source with more attributes. See :meth:`Source.with_extra`."""
        source = self._source.with_extra(_of_mapped, self._learner, of_block, *shared)
        return MappedSource(source, self._learner)


def _of_mapped(block: Block, learner: Any, stat: Callable[..., Any], *shared: Any) -> Any:
    return stat(replace(block, X=learner.transform(block.X)), *shared)
