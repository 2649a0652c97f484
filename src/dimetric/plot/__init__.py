"""Plots of embeddings, metrics and scores, made with matplotlib (the ``plot`` extra).

The displays follow scikit-learn's conventions: ``from_...`` computes the values and plots them,
and ``plot(ax=...)`` plots into given axes. A display stores the matplotlib artists as attributes.
All displays have ``ax_`` and ``figure_``; the other attributes are listed in each class. No display
opens a window. Legends are placed beside the axes. If you create the figure yourself, pass
``layout="constrained"`` to make room for them.

Each plotting function of pyDML's tutorial corresponds to one call:

- ``classifier_plot`` and ``classifier_pairplots``: :meth:`RegionsDisplay.from_estimator`;
- ``dml_plot``, ``knn_plot``, ``dml_pairplots`` and ``knn_pairplots``:
  :meth:`RegionsDisplay.from_learner`, with ``features="pairs"`` for the pair plots;
- ``dml_multiplot``: :meth:`RegionsDisplay.from_estimators`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
