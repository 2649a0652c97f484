"""Pictures of what was learned, by matplotlib (the ``plot`` extra).

Each Display has, as scikit-learn's have, a ``from_...`` that computes and draws, a ``plot(ax=...)``
that draws into given axes, and keeps what it drew as attributes. None opens a window. Legends are
beside the axes: in figures of your own, ``layout="constrained"`` leaves room for them.

The functions of pyDML's tutorial are one call each: ``classifier_plot``, ``classifier_pairplots``
are :meth:`RegionsDisplay.from_estimator`; ``dml_plot``, ``knn_plot``, ``dml_pairplots`` and
``knn_pairplots`` are :meth:`RegionsDisplay.from_learner`, with ``features="pairs"`` for pairs of
attributes; ``dml_multiplot`` is :meth:`RegionsDisplay.from_estimators`.
"""

from dimetric.plot.comparison import ComparisonDisplay
from dimetric.plot.embedding import EmbeddingDisplay
from dimetric.plot.history import HistoryDisplay
from dimetric.plot.metric import MetricDisplay
from dimetric.plot.neighborhood import NeighborhoodDisplay
from dimetric.plot.quality import QualityDisplay
from dimetric.plot.regions import RegionsDisplay
from dimetric.plot.residual import ResidualVarianceDisplay
from dimetric.plot.scree import ScreeDisplay
from dimetric.plot.simplex import SimplexDisplay

__all__ = [
    "ComparisonDisplay",
    "EmbeddingDisplay",
    "HistoryDisplay",
    "MetricDisplay",
    "NeighborhoodDisplay",
    "QualityDisplay",
    "RegionsDisplay",
    "ResidualVarianceDisplay",
    "ScreeDisplay",
    "SimplexDisplay",
]
