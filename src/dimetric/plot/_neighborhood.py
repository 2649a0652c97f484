"""The neighbours of a sample, before and after learning a distance."""

from typing import Any, Self

import numpy as np

from dimetric._arrays.namespaces import Array
from dimetric.plot._display import Display
from dimetric.plot._labels import in_order, labels_of, legend_beside, short_names
from dimetric.plot._matplotlib import grid_of_axes, plain
from dimetric.plot._palette import COLORS, INK, QUIET
from dimetric.quality import Neighborhood, before_and_after, neighborhood

__all__ = ["NeighborhoodDisplay"]

MARKERS = {"stayed": "o", "came in": "^", "left": "v"}


class NeighborhoodDisplay(Display):
    """The neighbours of a sample by Euclidean and by learned distances, side by side.

    The sample is in the middle. All others are drawn at their true distance from it. The circle
    goes through the k-th neighbour: it holds the k nearest samples. The second picture is rotated
    to match the first (Procrustes) and has its own scale.

    Parameters
    ----------
    neighborhood : Neighborhood
        A result of :func:`~dimetric.quality.neighborhood`.
    y : array-like of shape (n_samples,), optional
        Classes of all samples.
    titles : tuple of str, default=("Euclidean", "learned")
        Names of the two distances.

    Attributes
    ----------
    axes_ : list of matplotlib Axes
        Before and after.
    points_ : list of dict of str to list of matplotlib PathCollection
        Before and after: the samples that stayed, came in or left, and all others.
    legend_ : matplotlib Legend
        Beside the second axes.
    ax_, figure_ : matplotlib Axes and Figure
        The first axes, and their figure.

    Examples
    --------
    >>> from dimetric import LDA
    >>> from sklearn.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True)
    >>> display = NeighborhoodDisplay.from_estimator(LDA().fit(X, y), X, y, row=17)
    >>> len(display.neighborhood.came), len(display.neighborhood.left)
    (8, 8)
    """

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
        """Draw how a fitted learner changes the neighbourhood of a sample.

        Parameters
        ----------
        estimator : estimator
            Fitted: a learner, a classifier over one, or a pipeline that ends with either. The
            other steps of the pipeline, such as scaling, are applied in both pictures.
        X : array-like of shape (n_samples, n_features)
            Samples.
        y : array-like of shape (n_samples,), optional
            Classes of the samples.
        row : int
            The row of X that is the sample in the middle.
        n_neighbors : int, default=10
            The number k of neighbours.
        titles, ax
            As in the class and :meth:`plot`.
        """
        before, after = before_and_after(estimator, X)
        found = neighborhood(before, after, row, n_neighbors=n_neighbors)
        return cls(found, y, titles=titles).plot(ax=ax)

    def _draw(self, ax: Any, artist: dict[str, Any]) -> None:
        near = self.neighborhood
        n = len(near.distances_before)
        classes, codes = np.array([""]), np.zeros(n, dtype=np.int64)
        if self.y is not None:
            classes, codes = in_order(labels_of(self.y, n))
        colors = self._colors(codes, len(classes))
        axes = grid_of_axes(type(self).__name__, ax, 2, (3.9, 4.0), columns=2, beside=1.5)
        self.axes_, self.ax_, self.figure_ = axes, axes[0], axes[0].figure
        sides = (near.places_before, near.places_after)
        radii = (near.distances_before[near.before[-1]], near.distances_after[near.after[-1]])
        self.points_ = []
        for each, places, radius, title in zip(axes, sides, radii, self.titles, strict=True):
            self.points_.append(self._draw_samples(each, places, codes, colors))
            self._frame(each, float(radius), title)
        self.legend_ = self._explain(axes[1], classes, colors)

    def _colors(self, codes: np.ndarray, n_classes: int) -> dict[int, str]:
        """Return the colours of classes; if there are too many, of the most frequent neighbours."""
        if n_classes <= len(COLORS):
            return dict(enumerate(COLORS[:n_classes]))
        near = self.neighborhood
        here, counts = np.unique(codes[[*near.before, *near.after]], return_counts=True)
        order = here[np.argsort(-counts, kind="stable")]
        own = int(codes[near.row])
        ranked = [own, *(int(code) for code in order if code != own)]
        return dict(zip(ranked, COLORS, strict=False))

    def _draw_samples(
        self, ax: Any, places: np.ndarray, codes: np.ndarray, colors: dict[int, str]
    ) -> dict[str, list[Any]]:
        """Draw what stayed, came in or left, and all others, each in the colour of its class."""
        near = self.neighborhood
        sets = {"stayed": near.stayed, "came in": near.came, "left": near.left}
        drawn: dict[str, list[Any]] = {name: [] for name in ("other", *sets)}
        changed = np.concatenate(list(sets.values()))
        sets["other"] = near.shown[~np.isin(near.shown, changed)]
        for kind, rows in sets.items():
            at = np.isin(near.shown, rows)
            theirs = codes[near.shown[at]]
            for code in np.unique(theirs):
                color = colors.get(int(code), QUIET)
                how = {"s": 14, "alpha": 0.4, "linewidths": 0, "zorder": 2, "marker": "o"}
                if kind != "other":
                    how = {
                        "s": 55,
                        "edgecolors": INK,
                        "linewidths": 0.7,
                        "zorder": 3,
                        "marker": MARKERS[kind],
                    }
                drawn[kind].append(ax.scatter(*places[at][theirs == code].T, color=color, **how))
        ax.scatter(
            0,
            0,
            marker="*",
            s=170,
            color=colors[int(codes[near.row])],
            edgecolors=INK,
            linewidths=1.0,
            zorder=4,
        )
        return drawn

    def _frame(self, ax: Any, radius: float, title: str) -> None:
        """Draw the circle through the k-th neighbour, and show twice its radius."""
        from matplotlib.patches import Circle

        radius = radius or 1.0  # it is 0 if all neighbours equal the sample
        ax.add_patch(Circle((0, 0), radius, fill=False, linestyle="--", color=INK, linewidth=0.8))
        reach = 1.9 * radius
        ax.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal", xticks=[], yticks=[])
        k = len(self.neighborhood.before)
        ax.set_title(plain(title, 60))
        ax.set_xlabel(f"circle: the {k} nearest, within {radius:.3g}")

    def _explain(self, ax: Any, classes: np.ndarray, colors: dict[int, str]) -> Any:
        """Explain markers and colours, in a legend beside the axes."""
        from matplotlib.lines import Line2D

        def sign(marker: str, color: str, size: float, rim: str = INK) -> Any:
            return Line2D(
                [],
                [],
                linestyle="none",
                marker=marker,
                markersize=size,
                color=color,
                markeredgecolor=rim,
                markeredgewidth=0.7,
            )

        near = self.neighborhood
        counts = {"stayed": near.stayed, "came in": near.came, "left": near.left}
        handles = [sign("*", "white", 11)]
        names = [f"row {near.row}"]
        for kind, rows in counts.items():
            handles.append(sign(MARKERS[kind], "white", 7))
            names.append(f"{len(rows)} {kind}")
        if self.y is not None:
            handles += [sign("s", color, 7, color) for color in colors.values()]
            names += short_names([classes[code] for code in colors], 24)
            if len(colors) < len(classes):
                handles.append(sign("s", QUIET, 7, QUIET))
                names.append("other classes")
        handles.append(sign("o", COLORS[0] if self.y is None else "white", 3))
        names.append("others")
        return legend_beside(ax, handles, names, fontsize=9)
