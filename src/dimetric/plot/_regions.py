"""The decision regions of a classifier, with and without a learned distance."""

from collections.abc import Iterable, Mapping
from itertools import combinations
from numbers import Integral
from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.utils.validation import check_is_fitted

from dimetric._arrays.namespaces import Array, to_host
from dimetric._arrays.validation import checked_array
from dimetric.classify._decision_regions import (
    DecisionRegions,
    decision_regions,
    feature_names_of,
)
from dimetric.classify.knn import KNNClassifier
from dimetric.plot._display import Display
from dimetric.plot._labels import (
    MAX_LEGEND_CLASSES,
    codes_in,
    in_order,
    labels_of,
    legend_of_classes,
    legend_width,
    names_at_places,
)
from dimetric.plot._matplotlib import grid_of_axes, plain
from dimetric.plot._palette import styles
from dimetric.plot._surfaces import Picture, draw_regions
from dimetric.quality import before_and_after
from dimetric.selection._knn_scores import named_learners

__all__ = ["RegionsDisplay"]

MAX_PAIRS = 45  # of features, each in a picture


class RegionsDisplay(Display):
    """The class that a classifier predicts at each point of a line, a plane or a space.

    The background shows the predictions, and markers show the samples, in the colours of the
    classes. If there are more than three features, some vary and the others are held at a section;
    the title names it. In space, only points beside a boundary are drawn. There is a picture for
    each classifier and each choice of features.

    Parameters
    ----------
    pictures : list of Picture
        What is drawn.
    y : array-like of shape (n_samples,)
        Classes of the samples.
    n_columns : int, default=3
        Largest number of pictures in a row.

    Attributes
    ----------
    axes_ : list of matplotlib Axes
        One for each picture.
    surfaces_ : list of matplotlib artist
        The regions of each picture: a mesh, or points beside boundaries.
    points_ : list of list of matplotlib PathCollection
        The samples of each picture, by class.
    legend_ : matplotlib Legend or None
        Beside the first row: for up to 24 classes, and always in space.
    labels_ : list of matplotlib Annotation or None
        Names of more classes, at their places in each plane.
    ax_, figure_ : matplotlib Axes and Figure
        The first axes, and their figure.

    Examples
    --------
    >>> from dimetric import NCA
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> display = RegionsDisplay.from_learner(NCA(), X[:, :2], y)
    >>> [ax.get_title() for ax in display.axes_]
    ['3-NN', '3-NN + NCA']
    """

    def __init__(self, pictures: list[Picture], y: Any, *, n_columns: int = 3) -> None:
        self.pictures = pictures
        self.y = y
        self.n_columns = n_columns

    @classmethod
    def from_estimator(cls, estimator: Any, X: Array, y: Any, **options: Any) -> Self:
        """Draw the regions of one classifier.

        Parameters
        ----------
        estimator : classifier
            Any with ``predict``. If it is not fitted, a copy is fitted to X and y.
        X, y, **options
            As in :meth:`from_estimators`.
        """
        return cls.from_estimators({"": estimator}, X, y, **options)

    @classmethod
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
        """Draw the regions of several classifiers.

        Parameters
        ----------
        estimators : mapping of titles to classifiers, or iterable of classifiers
            Those that are not fitted are copied and fitted to X and y.
        X : array-like of shape (n_samples, n_features)
            Samples.
        y : array-like of shape (n_samples,)
            Classes of the samples.
        features : sequence of int or str, list of such, or "pairs", optional
            The one, two or three features that vary. A list of such choices, or "pairs" for all
            pairs, gives several pictures. By default all features, if there are at most three.
        section : {"mean", "median"}, int or array-like of shape (n_features,), default="mean"
            Where the other features are held: see :func:`~dimetric.classify.decision_regions`.
        resolution : int, optional
            Number of points along each feature.
        n_columns : int, default=3
            Largest number of pictures in a row.
        ax : matplotlib Axes or array of them, optional
            As in :meth:`plot`.
        """
        models = {name: _fitted(each, X, y) for name, each in named_learners(estimators).items()}
        where = {"features": features, "section": section, "resolution": resolution}
        return cls(_pictures(models, X, **where), y, n_columns=n_columns).plot(ax=ax)

    @classmethod
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
        """Draw the regions of a classifier without and with a learned distance.

        Parameters
        ----------
        learner : learner
            Learner of the distance; a copy is fitted to X and y.
        X : array-like of shape (n_samples, n_features)
            Samples.
        y : array-like of shape (n_samples,)
            Classes of the samples.
        classifier : classifier, optional
            Any classifier; by default :class:`~dimetric.KNNClassifier`.
        n_neighbors : int, default=3
            Number of neighbours of the default classifier.
        mapped : bool, default=False
            Whether to add a third picture, of the mapped samples. The learner must map to at most
            three dimensions.
        ax, **options
            As in :meth:`from_estimators`.
        """
        alone = KNNClassifier(n_neighbors) if classifier is None else clone(classifier)
        name = f"{n_neighbors}-NN" if classifier is None else type(classifier).__name__
        both = f"{name} + {type(learner).__name__}"
        models = {name: _fitted(alone, X, y), both: _fitted(_over(learner, alone), X, y)}
        n_columns = options.pop("n_columns", 3)
        pictures = _pictures(models, X, **options)
        if mapped:
            pictures.append(_mapped(alone, models[both], X, y, f"{both}, mapped"))
        return cls(pictures, y, n_columns=n_columns).plot(ax=ax)

    def _draw(self, ax: Any, artist: dict[str, Any]) -> None:
        labels = labels_of(self.y, len(self.pictures[0].samples))
        seen = [each.regions.classes for each in self.pictures]
        classes, _ = in_order(np.unique(np.concatenate([labels, *seen])))
        codes = codes_in(classes, labels)
        looks = styles(len(classes))
        solid = [len(each.regions.features) == 3 for each in self.pictures]
        flat = len(self.pictures) == 1 and len(self.pictures[0].regions.features) == 1
        at_places = len(classes) > MAX_LEGEND_CLASSES and not any(solid)
        legend = not flat and not at_places
        columns = self.n_columns
        beside = legend_width(list(classes)) + any(solid) if legend else 0.0
        self.axes_ = grid_of_axes(
            type(self).__name__,
            ax,
            len(self.pictures),
            (3.9, self._height(len(classes), legend)),
            columns=columns,
            beside=beside,
            solid=solid,
        )
        self.ax_, self.figure_ = self.axes_[0], self.axes_[0].figure
        self.surfaces_, self.points_, self.labels_ = [], [], list[Any]()
        for each, picture in zip(self.axes_, self.pictures, strict=True):
            surface, points = draw_regions(each, picture, codes, classes, looks)
            self.surfaces_.append(surface)
            self.points_.append(points)
            if at_places and len(picture.regions.features) == 2:
                shown = picture.samples[:, list(picture.regions.features)]
                self.labels_ += names_at_places(each, shown, codes, list(classes), looks)
        last = self.axes_[min(columns, len(self.axes_)) - 1]
        self.legend_ = legend_of_classes(last, list(classes), looks) if legend else None

    def _height(self, n_classes: int, legend: bool) -> float:
        """Return the height of a picture, in inches: each class has a row or a legend entry."""
        if any(len(each.regions.features) == 1 for each in self.pictures):
            return float(np.clip(0.9 + 0.16 * n_classes, 3.5, 30))
        return (
            max(3.5, 0.5 + 0.2 * n_classes) if legend and n_classes <= MAX_LEGEND_CLASSES else 3.5
        )


def _pictures(
    models: Mapping[str, Any],
    X: Any,
    *,
    features: Any = None,
    section: Any = "mean",
    resolution: int | None = None,
) -> list[Picture]:
    """Return a picture for each classifier and each choice of features."""
    samples = to_host(checked_array(X, "X"))
    names = feature_names_of(X, samples.shape[1])
    found = []
    for name, model in models.items():
        for choice in _choices(features, samples.shape[1]):
            each = decision_regions(
                model, X, features=choice, section=section, resolution=resolution
            )
            title = _title(name, each, names, section)
            found.append(Picture(each, samples, names, title))
    if not found:
        raise ValueError("There is no classifier to draw.")
    return found


def _mapped(alone: Any, model: Any, X: Any, y: Any, title: str) -> Picture:
    """Return the picture of a classifier over samples as a learner has mapped them."""
    Z = before_and_after(model[:1] if isinstance(model, Pipeline) else model, X)[1]
    if Z.shape[1] > 3:
        raise ValueError(
            f"mapped=True, but the learner maps to {Z.shape[1]} dimensions: set its n_components "
            "to 1, 2 or 3."
        )
    names = [f"component {j + 1}" for j in range(Z.shape[1])]
    return Picture(decision_regions(clone(alone).fit(Z, y), Z), Z, names, title)


def _choices(features: Any, d: int) -> list[Any]:
    """Return the features that vary, for each picture."""
    if isinstance(features, str) and features == "pairs":
        pairs = list(combinations(range(d), 2))
        if not 1 <= len(pairs) <= MAX_PAIRS:
            raise ValueError(
                f"features='pairs' of {d} features would be {len(pairs)} pictures: list those "
                "that you want, such as [(0, 1), (0, 2)]."
            )
        return pairs
    several = isinstance(features, list) and features and isinstance(features[0], tuple | list)
    return features if several else [features]


def _fitted(estimator: Any, X: Any, y: Any) -> Any:
    """Return the estimator if it is fitted, else a fitted copy."""
    try:
        check_is_fitted(estimator)
    except NotFittedError:
        return clone(estimator).fit(X, y)
    return estimator


def _over(learner: Any, classifier: Any) -> Any:
    """Return a classifier that uses the distance of the learner."""
    if "learner" in classifier.get_params(deep=False):
        return clone(classifier).set_params(learner=learner)
    return make_pipeline(clone(learner), clone(classifier))


def _title(name: str, found: DecisionRegions, names: list[str], section: Any) -> str:
    """Return the title: the name, and where the features that do not vary are held."""
    others = [j for j in range(len(names)) if j not in found.features]
    if not others:
        return plain(name, 60)
    where = {"mean": "the mean", "median": "the median"}.get(str(section), "given values")
    where = f"row {section}" if isinstance(section, Integral) else where
    held = f"{len(others)} other features at {where}"
    if len(others) <= 2:
        held = ",\n".join(f"{plain(names[j], 24)} = {found.section[j]:.3g}" for j in others)
        held += f" ({where})" if where != "given values" else ""
    return f"{plain(name, 60)}\n{held}".strip()
