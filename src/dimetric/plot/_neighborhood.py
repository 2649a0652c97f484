"""Plot of the neighbours of a sample before and after learning a distance."""

from typing import Any, Self

import numpy as np

from dimetric._arguments import check_types
from dimetric._arrays.namespaces import Array
from dimetric.plot._display import Display
from dimetric.plot._labels import checked_labels, legend_beside, sorted_classes
from dimetric.plot._matplotlib import grid_of_axes, plain_text
from dimetric.plot._palette import Theme, theme_of
from dimetric.plot._points import random_order
from dimetric.plot._short_names import short_names
from dimetric.quality import Neighborhood, before_and_after, neighborhood

__all__ = ["NeighborhoodDisplay"]

KIND_MARKERS = {"kept": "o", "new": "^", "lost": "v"}
RELATIVE_REACH = 1.9  # limit of the axes, relative to the radius of the circle


class NeighborhoodDisplay(Display):
    """Neighbours of a sample under the Euclidean and the learned distance, side by side.

    The sample is in the centre of each panel, and the other samples are at their true distance
    from it. The circle passes through the k-th nearest neighbour. The second panel is rotated to
    match the first (Procrustes rotation) and has its own scale.

    Parameters
    ----------
    neighborhood : Neighborhood
        A result of :func:`~dimetric.quality.neighborhood`.
    y : array-like of shape (n_samples,), optional
        Classes of the samples.
    titles : tuple of str, default=("Euclidean", "learned")
        Titles of the two panels.

    Attributes
    ----------
    axes_ : list of matplotlib Axes
        The axes of the two panels.
    points_ : list of dict of str to list of matplotlib PathCollection
        The samples of each panel. The keys are "kept" (neighbours under both distances), "new"
        (only under the learned distance), "lost" (only under the Euclidean distance) and "other".
    legend_ : matplotlib Legend
        The legend, beside the second panel.
    ax_, figure_ : matplotlib Axes and Figure
        The first axes and its figure.

    Examples
    --------
    >>> from dimetric import LDA
    >>> from sklearn.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True)
    >>> display = NeighborhoodDisplay.from_estimator(LDA().fit(X, y), X, y, row=17)
    >>> len(display.neighborhood.new), len(display.neighborhood.lost)
    (8, 8)
    """

    @check_types
    def __init__(
        self,
        neighborhood: Neighborhood,
        y: Any = None,
        *,
        titles: tuple[str, str] = ("Euclidean", "learned"),
    ) -> None:
        self.neighborhood = neighborhood
        self.y = y
        self.titles = titles

    @classmethod
    @check_types
    def from_estimator(
        cls,
        estimator: Any,
        X: Array,
        y: Any = None,
        *,
        row: int,
        n_neighbors: int = 10,
        titles: tuple[str, str] = ("Euclidean", "learned"),
        ax: Any = None,
    ) -> Self:
        """Plot how a fitted learner changes the neighbourhood of a sample.

        Parameters
        ----------
        estimator : estimator
            Fitted learner, classifier that uses one, or pipeline that ends with either. The other
            steps of the pipeline, such as scaling, are applied in both panels.
        X : array-like of shape (n_samples, n_features)
            Samples.
        y : array-like of shape (n_samples,), optional
            Classes of the samples.
        row : int
            Row index in X of the sample in the centre.
        n_neighbors : int, default=10
            Number of neighbours k.
        titles, ax
            As in the class and :meth:`plot`.
        """
        before, after = before_and_after(estimator, X)
        changed = neighborhood(before, after, row, n_neighbors=n_neighbors)
        return cls(changed, y, titles=titles).plot(ax=ax)

    def _draw(self, ax: Any, artist_kwargs: dict[str, Any]) -> None:
        near = self.neighborhood
        n = len(near.distances_before)
        classes, codes = np.array([""]), np.zeros(n, dtype=np.int64)
        if self.y is not None:
            classes, codes = sorted_classes(checked_labels(self.y, n))
        axes = grid_of_axes(type(self).__name__, ax, 2, (3.9, 4.0), columns=2, legend_width=1.5)
        self.axes_, self.ax_, self.figure_ = axes, axes[0], axes[0].figure
        theme = theme_of(self.ax_)
        colors = self._colors(codes, len(classes), theme)
        coordinates = (near.places_before, near.places_after)
        radii = (near.distances_before[near.before[-1]], near.distances_after[near.after[-1]])
        self.points_ = []
        for each, places, radius, title in zip(axes, coordinates, radii, self.titles, strict=True):
            self.points_.append(self._draw_samples(each, places, codes, colors, theme))
            self._draw_circle(each, float(radius), title)
        self.legend_ = self._draw_legend(axes[1], classes, colors, theme)

    def _colors(self, codes: np.ndarray, n_classes: int, theme: Theme) -> dict[int, str]:
        """Return the colour of each class.

        If there are more classes than colours, only the most frequent classes among the neighbours
        have one.
        """
        if n_classes <= len(theme.colors):
            return dict(enumerate(theme.colors[:n_classes]))
        near = self.neighborhood
        present, counts = np.unique(codes[[*near.before, *near.after]], return_counts=True)
        order = present[np.argsort(-counts, kind="stable")]
        centre_code = int(codes[near.row])
        ranked = [centre_code, *(int(code) for code in order if code != centre_code)]
        return dict(zip(ranked, theme.colors, strict=False))

    def _draw_samples(
        self,
        ax: Any,
        places: np.ndarray,
        codes: np.ndarray,
        colors: dict[int, str],
        theme: Theme,
    ) -> dict[str, list[Any]]:
        """Draw the samples by kind of neighbour, each in the colour of its class."""
        near = self.neighborhood
        rows_by_kind = {"kept": near.kept, "new": near.new, "lost": near.lost}
        drawn: dict[str, list[Any]] = {name: [] for name in ("other", *rows_by_kind)}
        neighbors = np.concatenate(list(rows_by_kind.values()))
        rows_by_kind["other"] = near.shown[~np.isin(near.shown, neighbors)]
        order = random_order(len(near.shown))
        for kind, rows in rows_by_kind.items():
            chosen = order[np.isin(near.shown[order], rows)]
            if not len(chosen):
                continue
            face = [colors.get(int(code), theme.muted) for code in codes[near.shown[chosen]]]
            marker_kwargs = {"s": 14, "alpha": 0.4, "linewidths": 0, "zorder": 2, "marker": "o"}
            if kind != "other":
                marker_kwargs = {
                    "s": 55,
                    "edgecolors": theme.ink,
                    "linewidths": 0.7,
                    "zorder": 3,
                    "marker": KIND_MARKERS[kind],
                }
            drawn[kind].append(ax.scatter(*places[chosen].T, color=face, **marker_kwargs))
        ax.scatter(
            0,
            0,
            marker="*",
            s=170,
            color=colors[int(codes[near.row])],
            edgecolors=theme.ink,
            linewidths=1.0,
            zorder=4,
        )
        return drawn

    def _draw_circle(self, ax: Any, radius: float, title: str) -> None:
        """Draw the circle through the k-th neighbour and set the limits of the axes."""
        from matplotlib.patches import Circle

        ax.add_patch(
            Circle(
                (0, 0), radius, fill=False, linestyle="--", color=theme_of(ax).ink, linewidth=0.8
            )
        )
        reach = RELATIVE_REACH * (
            radius or 1.0
        )  # the radius is 0 if all neighbours equal the sample
        ax.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal", xticks=[], yticks=[])
        k = len(self.neighborhood.before)
        ax.set_title(plain_text(title, 60))
        ax.set_xlabel(f"circle: {k} nearest, radius {radius:.3g}")

    def _draw_legend(
        self, ax: Any, classes: np.ndarray, colors: dict[int, str], theme: Theme
    ) -> Any:
        """Draw a legend of markers and colours beside the axes."""
        from matplotlib.lines import Line2D

        def handle(marker: str, color: str, size: float, edge: str = theme.ink) -> Any:
            return Line2D(
                [],
                [],
                linestyle="none",
                marker=marker,
                markersize=size,
                color=color,
                markeredgecolor=edge,
                markeredgewidth=0.7,
            )

        near = self.neighborhood
        rows_by_kind = {"kept": near.kept, "new": near.new, "lost": near.lost}
        handles = [handle("*", theme.paper, 11)]
        names = [f"row {near.row}"]
        for kind, rows in rows_by_kind.items():
            handles.append(handle(KIND_MARKERS[kind], theme.paper, 7))
            names.append(f"{len(rows)} {kind}")
        if self.y is not None:
            handles += [handle("s", color, 7, color) for color in colors.values()]
            names += short_names([classes[code] for code in colors], 24)
            if len(colors) < len(classes):
                handles.append(handle("s", theme.muted, 7, theme.muted))
                names.append("other classes")
        handles.append(handle("o", theme.colors[0] if self.y is None else theme.paper, 3))
        names.append("others")
        return legend_beside(ax, handles, names, fontsize=9)
