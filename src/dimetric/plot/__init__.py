"""Pictures of what was learned, drawn by matplotlib (the ``plot`` extra).

The displays follow scikit-learn's: ``from_...`` computes and draws, ``plot(ax=...)`` draws into
given axes, and the artists are kept as attributes: ``ax_`` and ``figure_`` in every display, and
others that its class names. None of them opens a window. Legends stand beside the axes: in figures
of your own, ``layout="constrained"`` leaves room for them.

Each plotting function of pyDML's tutorial is one call here: ``classifier_plot`` and
``classifier_pairplots`` are :meth:`RegionsDisplay.from_estimator`; ``dml_plot``, ``knn_plot``,
``dml_pairplots`` and ``knn_pairplots`` are :meth:`RegionsDisplay.from_learner`, with
``features="pairs"`` for pairs of attributes; ``dml_multiplot`` is
:meth:`RegionsDisplay.from_estimators`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
