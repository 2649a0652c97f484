"""Pictures of what was learned, by matplotlib (the ``plot`` extra)."""

from dimetric.plot.comparison import ComparisonDisplay
from dimetric.plot.embedding import EmbeddingDisplay
from dimetric.plot.metric import MetricDisplay
from dimetric.plot.neighborhood import NeighborhoodDisplay
from dimetric.plot.regions import RegionsDisplay
from dimetric.plot.simplex import SimplexDisplay

__all__ = [
    "ComparisonDisplay",
    "EmbeddingDisplay",
    "MetricDisplay",
    "NeighborhoodDisplay",
    "RegionsDisplay",
    "SimplexDisplay",
]
