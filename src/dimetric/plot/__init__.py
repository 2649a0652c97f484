"""Pictures of what was learned, by matplotlib (the ``plot`` extra)."""

from dimetric.plot.simplex import SimplexDisplay

__all__ = ["SimplexDisplay"]
