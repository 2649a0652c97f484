"""Scatter plot of an embedding."""

from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from dimetric._arguments import check_types
from dimetric._arrays.namespaces import Array, to_host
from dimetric._arrays.validation import checked_array
from dimetric.plot._display import StyledDisplay
from dimetric.plot._labels import (
    MAX_LARGE_NAMES,
    MAX_LEGEND_CLASSES,
    are_numbers,
    checked_labels,
    class_legend,
    jittered_rows,
    legend_width,
    sorted_classes,
    write_class_names,
)
from dimetric.plot._matplotlib import plain_text, show_dates, shrink_3d_axes
from dimetric.plot._palette import Theme, theme_of
from dimetric.plot._points import color_range, draw_classes, random_order, scatter_defaults

__all__ = ["EmbeddingDisplay"]

MAX_CLASSES = 400  # with more classes, an error is raised


class EmbeddingDisplay(StyledDisplay):
    """Scatter plot of samples in one, two or three dimensions, coloured by class or numeric value.

    A legend beside the axes names up to 24 classes. If there are more, each name is written at the
    median of its class. Numbers have a colour bar, which ends at the 1st and 99th percentile if
    there are outliers. Samples are drawn in random order, and are more
    transparent if there are many. The colours suit the background, which may be dark: call
    ``plt.style.use("dark_background")``. In two dimensions, both axes have the same scale. In one
    dimension, each class has its own row.

    Parameters
    ----------
    embedding : array-like of shape (n_samples, 1), (n_samples, 2) or (n_samples, 3)
        Coordinates of the samples.
    y : array-like of shape (n_samples,), optional
        Classes, numbers or dates (datetime64) of the samples.
    by : {"auto", "classes", "numbers"}, default="auto"
        How to interpret y. "auto" means "numbers" if y contains dates or a fraction, such as 0.5,
        or too many distinct integers to be classes: more than 200, or more than 20 and more than a
        third of the samples. Otherwise "auto" means "classes".
    legend : {"auto", "beside", "centres", "none"}, default="auto"
        Where to write the names of the classes. "auto" chooses "beside" for up to 24 classes or
        three dimensions, otherwise "centres".
    title : str, default=""
        Title of the plot.
    target_name : str, default=""
        Name of y.
    axis_name : str, default="component"
        Label of the axes. If there are several, their numbers are appended.

    Attributes
    ----------
    points_ : list of matplotlib PathCollection
        The samples in random order. With up to seven classes, or with numbers, there is one
        collection, otherwise one or more for each marker.
    order_ : ndarray of shape (n_samples,)
        The order in which the samples are drawn: row indices of the embedding.
    classes_ : ndarray or None
        The classes in natural order: "class 2" comes before "class 10".
    legend_ : matplotlib Legend or None
        The legend beside the axes.
    labels_ : list of matplotlib Annotation or None
        The names at the class medians. A label is None if there is no room for it.
    colorbar_ : matplotlib Colorbar or None
        The colour bar, if y contains numbers.

    Examples
    --------
    >>> from dimetric import LDA
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> display = EmbeddingDisplay.from_estimator(LDA().fit(X, y), X, y)
    >>> display.classes_, [len(points.get_offsets()) for points in display.points_]
    (array([0, 1, 2]), [150])
    """

    @check_types
    def __init__(
        self,
        embedding: Array,
        y: Any = None,
        *,
        by: str = "auto",
        legend: str = "auto",
        title: str = "",
        target_name: str = "",
        axis_name: str = "component",
    ) -> None:
        self.embedding = embedding
        self.y = y
        self.by = by
        self.legend = legend
        self.title = title
        self.target_name = target_name
        self.axis_name = axis_name

    @classmethod
    @check_types
    def from_embedding(
        cls,
        embedding: Array,
        y: Any = None,
        *,
        ax: Any = None,
        artist_kwargs: Any = None,
        **options: Any,
    ) -> Self:
        """Plot an embedding that is already computed.

        Parameters
        ----------
        embedding : array-like of shape (n_samples, n_components)
            One to three coordinates of each sample.
        y : array-like of shape (n_samples,), optional
            Classes or numbers of the samples.
        ax : matplotlib Axes, optional
            Axes to draw into. For three components, create them with ``projection="3d"``.
        artist_kwargs : dict, optional
            Keyword arguments passed to ``Axes.scatter``.
        **options
            Parameters of the class.
        """
        return cls(embedding, y, **options).plot(ax=ax, **(artist_kwargs or {}))

    @classmethod
    @check_types
    def from_estimator(
        cls,
        estimator: Any,
        X: Array,
        y: Any = None,
        *,
        ax: Any = None,
        artist_kwargs: Any = None,
        **options: Any,
    ) -> Self:
        """Transform samples with a fitted estimator and plot them.

        Parameters
        ----------
        estimator : estimator
            Fitted estimator with ``transform``. If it returns more than three components, the
            first two are plotted.
        X : array-like of shape (n_samples, n_features)
            Samples.
        y, ax, artist_kwargs, **options
            As in :meth:`from_embedding`.
        """
        check_is_fitted(estimator)
        if not hasattr(estimator, "transform"):
            raise TypeError(
                f"{type(estimator).__name__} has no transform method. Pass the result of its "
                "fit_transform(X) to EmbeddingDisplay.from_embedding."
            )
        Z = estimator.transform(X)
        Z = np.asarray(Z) if hasattr(Z, "columns") else to_host(Z)
        return cls.from_embedding(
            Z if Z.shape[1] <= 3 else Z[:, :2], y, ax=ax, artist_kwargs=artist_kwargs, **options
        )

    def _draw(self, ax: Any, artist_kwargs: dict[str, Any]) -> None:
        Z, y = _checked(self.embedding, self.y)
        kind = self._kind(y)
        self._has_dates = y is not None and y.dtype.kind == "M" and kind == "numbers"
        if self._has_dates and y is not None:
            y = y.astype("datetime64[s]").astype(np.float64) / 86_400  # days, as in matplotlib
        self.classes_, codes = None, np.zeros(len(Z), dtype=np.int64)
        if y is not None and kind == "classes":
            self.classes_, codes = sorted_classes(y, MAX_CLASSES)
        classes = [] if self.classes_ is None else list(self.classes_)
        beside = self._has_legend_beside(len(classes), Z.shape[1])
        size = _figure_size(classes, beside, Z.shape[1])
        ax = self._open_axes(ax, size, is_3d=Z.shape[1] == 3)
        self.legend_, self.colorbar_, self.labels_ = None, None, []
        theme = theme_of(ax)
        styles = theme.class_styles(max(1, len(classes)))
        options = scatter_defaults(len(Z)) | artist_kwargs
        self.order_ = random_order(len(Z))
        points = Z if Z.shape[1] > 1 else np.column_stack([Z, _line_heights(codes, y, kind)])
        if kind == "numbers":
            self._draw_numbers(points, y, theme, options, on_a_line=Z.shape[1] == 1)
        else:
            self.points_ = draw_classes(ax, points, codes, styles, theme, options)
        self._name_axes(Z.shape[1], kind)
        if classes and Z.shape[1] > 1 and self.legend != "none":
            if beside:
                self.legend_ = class_legend(ax, classes, styles, self.target_name)
            else:
                self.labels_ = write_class_names(ax, points, codes, classes, styles)

    def _kind(self, y: np.ndarray | None) -> str:
        """Return how to interpret y: "none", "classes" or "numbers"."""
        for name, choices in (
            ("by", ("auto", "classes", "numbers")),
            ("legend", ("auto", "beside", "centres", "none")),
        ):
            if getattr(self, name) not in choices:
                raise ValueError(f"{name}={getattr(self, name)!r} must be one of {choices}.")
        if y is None:
            return "none"
        if self.by == "numbers" and y.dtype.kind not in "iufbM":
            raise ValueError("by='numbers', but y is not numeric. Set by='classes'.")
        if self.by != "auto":
            return self.by
        return "numbers" if are_numbers(y) or y.dtype.kind == "M" else "classes"

    def _has_legend_beside(self, n_classes: int, n_components: int) -> bool:
        """Return whether a legend beside the axes names the classes."""
        if self.legend == "centres" and n_components == 3:
            raise ValueError(
                "legend='centres' requires two components, because names in three dimensions "
                "would overlap. Set legend='beside'."
            )
        if n_components == 1 or not n_classes:
            return False
        fits_beside = n_classes <= MAX_LEGEND_CLASSES or n_components == 3
        return self.legend == "beside" or (self.legend == "auto" and fits_beside)

    def _draw_numbers(
        self,
        points: np.ndarray,
        y: Any,
        theme: Theme,
        options: dict[str, Any],
        *,
        on_a_line: bool,
    ) -> None:
        """Colour each sample by its number."""
        low, high, extend = color_range(y)
        defaults = {"cmap": theme.sequential_cmap(), "linewidths": 0, "vmin": low, "vmax": high}
        places, colors = points[self.order_].T, y[self.order_]
        self.points_ = [self.ax_.scatter(*places, c=colors, **(defaults | options))]
        if not on_a_line:
            pad = {"pad": 0.1, "shrink": 0.7} if points.shape[1] == 3 else {"pad": 0.02}
            bar = self.figure_.colorbar(self.points_[0], ax=self.ax_, extend=extend, **pad)
            bar.solids.set_alpha(1)  # the points are transparent, but their colours are explained
            bar.set_label(plain_text(self.target_name))
            self.colorbar_ = bar
        if self._has_dates:
            show_dates(self.ax_.yaxis if on_a_line else bar.ax.yaxis)

    def _name_axes(self, n_components: int, kind: str) -> None:
        """Write the title and the axis labels."""
        ax = self.ax_
        self._write_title()
        if n_components > 1:
            names = [plain_text(f"{self.axis_name} {i + 1}") for i in range(n_components)]
            ax.set(**dict(zip(("xlabel", "ylabel", "zlabel"), names, strict=False)))
            if n_components == 2:
                ax.set_aspect("equal", adjustable="datalim")
            else:
                shrink_3d_axes(ax)
            return
        ax.set(xlabel=plain_text(self.axis_name), ylabel=plain_text(self.target_name))
        if kind == "none":
            ax.set_yticks([])
        elif self.classes_ is not None:
            n = len(self.classes_)
            ax.set_yticks(range(n), [plain_text(each, 24) for each in self.classes_])
            ax.tick_params(axis="y", length=0, labelsize=9 if n <= MAX_LEGEND_CLASSES else 7)
            ax.set_ylim(n - 0.4, -0.6)


def _checked(Z: Any, y: Any) -> tuple[np.ndarray, np.ndarray | None]:
    """Return the coordinates and y as NumPy arrays of equal length."""
    Z = to_host(checked_array(Z, "embedding"))
    if not 1 <= Z.shape[1] <= 3:
        raise ValueError(
            f"The embedding has {Z.shape[1]} components, but only 1 to 3 can be plotted. Select "
            "some columns, such as Z[:, :2]."
        )
    return Z, None if y is None else checked_labels(y, len(Z))


def _figure_size(classes: list[Any], beside: bool, n_components: int) -> tuple[float, float]:
    """Return the size of a new figure in inches, with room for the names of the classes."""
    n = len(classes)
    if n_components == 1:
        return 6.4, float(np.clip(0.9 + n * 0.16, 2.4, 30))
    if beside:
        height = max(4.8, 0.8 + 0.2 * n) if n <= MAX_LEGEND_CLASSES else 4.8
        return 5.2 + legend_width(classes) + (n_components == 3), height
    return (9.0, 7.5) if n > MAX_LARGE_NAMES else (6.8, 5.6)


def _line_heights(codes: np.ndarray, y: np.ndarray | None, kind: str) -> np.ndarray:
    """Return the vertical positions of 1-D samples: their numbers, or the rows of their classes."""
    return y if y is not None and kind == "numbers" else jittered_rows(codes)
