"""Pictures of what was learned, by matplotlib (the ``plot`` extra).

Each Display has, as scikit-learn's have, a ``from_...`` that computes and draws, a ``plot(ax=...)``
that draws into given axes, and keeps what it drew as attributes. None opens a window. Legends are
beside the axes: in figures of your own, ``layout="constrained"`` leaves room for them.

The functions of pyDML's tutorial are one call each: ``classifier_plot``, ``classifier_pairplots``
are :meth:`RegionsDisplay.from_estimator`; ``dml_plot``, ``knn_plot``, ``dml_pairplots`` and
``knn_pairplots`` are :meth:`RegionsDisplay.from_learner`, with ``features="pairs"`` for pairs of
attributes; ``dml_multiplot`` is :meth:`RegionsDisplay.from_estimators`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
