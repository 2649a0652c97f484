"""Plot of the decision regions of classifiers, with and without a learned distance."""

from collections.abc import Iterable, Mapping
from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.utils.validation import check_is_fitted

from dimetric._arguments import check_types
from dimetric._arrays.namespaces import Array
from dimetric.classify.knn import KNNClassifier
from dimetric.plot._display import Display
from dimetric.plot._labels import (
    MAX_LEGEND_CLASSES,
    checked_labels,
    class_legend,
    codes_of,
    legend_width,
    sorted_classes,
    write_class_names,
)
from dimetric.plot._matplotlib import grid_of_axes
from dimetric.plot._palette import theme_of
from dimetric.plot._region_panels import Panel, mapped_panel, region_panels
from dimetric.plot._surfaces import draw_regions
from dimetric.selection._knn_scores import named_learners

__all__ = ["RegionsDisplay"]


class RegionsDisplay(Display):
    """Decision regions of classifiers along one, two or three features.

    The background colour is the predicted class, and the markers are the samples in the colours
    of their classes. At most three features vary. The others are held fixed at the values named in
    the title. In three dimensions, only grid points next to a decision boundary are drawn. Each
    classifier and each choice of features has its own panel.

    Parameters
    ----------
    panels : list of Panel
        Decision regions and samples of each panel.
    y : array-like of shape (n_samples,)
        Classes of the samples.
    n_columns : int, default=3
        Largest number of panels in a row.

    Attributes
    ----------
    axes_ : list of matplotlib Axes
        The axes of each panel.
    surfaces_ : list of matplotlib artist
        The regions of each panel: a mesh, or points next to the boundaries in three dimensions.
    points_ : list of list of matplotlib PathCollection
        The samples of each panel, in random order.
    legend_ : matplotlib Legend or None
        The legend beside the first row, for up to 24 classes or three dimensions.
    labels_ : list of matplotlib Annotation or None
        The names of the classes at their medians in each two-dimensional panel, if there are more
        than 24 classes.
    ax_, figure_ : matplotlib Axes and Figure
        The first axes and its figure.

    Examples
    --------
    >>> from dimetric import NCA
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> display = RegionsDisplay.from_learner(NCA(), X[:, :2], y)
    >>> [ax.get_title() for ax in display.axes_]
    ['3-NN', '3-NN + NCA']
    """

    @check_types
    def __init__(self, panels: list[Panel], y: Any, *, n_columns: int = 3) -> None:
        self.panels = panels
        self.y = y
        self.n_columns = n_columns

    @classmethod
    @check_types
    def from_estimator(cls, estimator: Any, X: Array, y: Any, **options: Any) -> Self:
        """Plot the decision regions of one classifier.

        Parameters
        ----------
        estimator : classifier
            A classifier with ``predict``. If it is not fitted, a clone is fitted to X and y.
        X, y, **options
            As in :meth:`from_estimators`.
        """
        return cls.from_estimators({"": estimator}, X, y, **options)

    @classmethod
    @check_types
    def from_estimators(
        cls,
        estimators: Mapping[str, Any] | Iterable[Any],
        X: Array,
        y: Any,
        *,
        features: Any = None,
        section: Any = "mean",
        resolution: int | None = None,
        n_columns: int = 3,
        ax: Any = None,
    ) -> Self:
        """Plot the decision regions of several classifiers.

        Parameters
        ----------
        estimators : mapping of titles to classifiers, or iterable of classifiers
            The classifiers. If a classifier is not fitted, a clone is fitted to X and y.
        X : array-like of shape (n_samples, n_features)
            Samples.
        y : array-like of shape (n_samples,)
            Classes of the samples.
        features : sequence of int or str, list of such sequences, or "pairs", optional
            The one to three features that vary. A list of sequences gives one panel for each
            sequence. "pairs" gives one panel for each pair of features. By default, all features
            vary, which requires at most three.
        section : {"mean", "median"}, int or array-like of shape (n_features,), default="mean"
            Values of the features that do not vary: see
            :func:`~dimetric.classify.decision_regions`.
        resolution : int, optional
            Number of grid points along each feature.
        n_columns : int, default=3
            Largest number of panels in a row.
        ax : matplotlib Axes or array of them, optional
            As in :meth:`plot`.
        """
        models = {name: _fitted(each, X, y) for name, each in named_learners(estimators).items()}
        grid = {"features": features, "section": section, "resolution": resolution}
        return cls(region_panels(models, X, **grid), y, n_columns=n_columns).plot(ax=ax)

    @classmethod
    @check_types
    def from_learner(
        cls,
        learner: Any,
        X: Array,
        y: Any,
        *,
        classifier: Any = None,
        n_neighbors: int = 3,
        mapped: bool = False,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Plot the decision regions of a classifier without and with a learned distance.

        Parameters
        ----------
        learner : learner
            Distance metric learner. A clone is fitted to X and y.
        X : array-like of shape (n_samples, n_features)
            Samples.
        y : array-like of shape (n_samples,)
            Classes of the samples.
        classifier : classifier, optional
            The classifier. By default, :class:`~dimetric.KNNClassifier`.
        n_neighbors : int, default=3
            Number of neighbours of the default classifier.
        mapped : bool, default=False
            Whether to add a panel that shows the samples transformed by the learner, which must
            have at most three components.
        ax, **options
            As in :meth:`from_estimators`.
        """
        plain = KNNClassifier(n_neighbors) if classifier is None else clone(classifier)
        name = f"{n_neighbors}-NN" if classifier is None else type(classifier).__name__
        learned_name = f"{name} + {type(learner).__name__}"
        models = {
            name: _fitted(plain, X, y),
            learned_name: _fitted(_with_learner(learner, plain), X, y),
        }
        n_columns = options.pop("n_columns", 3)
        panels = region_panels(models, X, **options)
        if mapped:
            panels.append(
                mapped_panel(plain, models[learned_name], X, y, f"{learned_name}, mapped")
            )
        return cls(panels, y, n_columns=n_columns).plot(ax=ax)

    def _draw(self, ax: Any, artist_kwargs: dict[str, Any]) -> None:
        if not self.panels:
            raise ValueError("panels is empty. Pass at least one classifier.")
        labels = checked_labels(self.y, len(self.panels[0].samples))
        predicted = [each.regions.classes for each in self.panels]
        classes, _ = sorted_classes(np.unique(np.concatenate([labels, *predicted])))
        codes = codes_of(classes, labels)
        are_3d = [len(each.regions.features) == 3 for each in self.panels]
        is_one_dimensional = len(self.panels) == 1 and len(self.panels[0].regions.features) == 1
        at_medians = len(classes) > MAX_LEGEND_CLASSES and not any(are_3d)
        legend = not is_one_dimensional and not at_medians
        columns = self.n_columns
        width = legend_width(list(classes)) + any(are_3d) if legend else 0.0
        self.axes_ = grid_of_axes(
            type(self).__name__,
            ax,
            len(self.panels),
            (3.9, self._height(len(classes), legend)),
            columns=columns,
            legend_width=width,
            are_3d=are_3d,
        )
        self.ax_, self.figure_ = self.axes_[0], self.axes_[0].figure
        theme = theme_of(self.ax_)
        styles = theme.class_styles(len(classes))
        self.surfaces_, self.points_, self.labels_ = [], [], list[Any]()
        for each, panel in zip(self.axes_, self.panels, strict=True):
            surface, points = draw_regions(each, panel, codes, classes, theme)
            self.surfaces_.append(surface)
            self.points_.append(points)
            if at_medians and len(panel.regions.features) == 2:
                shown = panel.samples[:, list(panel.regions.features)]
                self.labels_ += write_class_names(each, shown, codes, list(classes), styles)
        last = self.axes_[min(columns, len(self.axes_)) - 1]
        self.legend_ = class_legend(last, list(classes), styles) if legend else None

    def _height(self, n_classes: int, legend: bool) -> float:
        """Return the height of a panel in inches, with room for the rows or legend entries."""
        if any(len(each.regions.features) == 1 for each in self.panels):
            return float(np.clip(0.9 + 0.16 * n_classes, 3.5, 30))
        has_rows = legend and n_classes <= MAX_LEGEND_CLASSES
        return max(3.5, 0.5 + 0.2 * n_classes) if has_rows else 3.5


def _fitted(estimator: Any, X: Any, y: Any) -> Any:
    """Return the estimator if it is fitted, otherwise a fitted clone."""
    try:
        check_is_fitted(estimator)
    except NotFittedError:
        return clone(estimator).fit(X, y)
    return estimator


def _with_learner(learner: Any, classifier: Any) -> Any:
    """Return a classifier that uses the distance learned by the learner."""
    if "learner" in classifier.get_params(deep=False):
        return clone(classifier).set_params(learner=learner)
    return make_pipeline(clone(learner), clone(classifier))
