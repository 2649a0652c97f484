"""An embedding as points."""

from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from dimetric._arrays.namespaces import Array, to_host
from dimetric._arrays.validation import checked_array
from dimetric.plot._display import StyledDisplay
from dimetric.plot._labels import (
    MAX_LEGEND_CLASSES,
    are_numbers,
    in_order,
    in_rows,
    labels_of,
    legend_of_classes,
    legend_width,
    names_at_places,
)
from dimetric.plot._matplotlib import leave_room, plain
from dimetric.plot._palette import SEQUENTIAL, Style, styles

__all__ = ["EmbeddingDisplay"]

MAX_CLASSES = 400
MIN_RIM_AREA = 15  # of a marker with a white rim
MAX_VECTOR_POINTS = 5_000  # more are drawn as pixels in an SVG or PDF file


class EmbeddingDisplay(StyledDisplay):
    """Samples in one, two or three dimensions, coloured by class or by a number.

    Up to 24 classes are named in a legend beside the axes; the names of more classes stand at
    their places. In the plane, both axes have the same scale. On a line, each class has a row.

    Parameters
    ----------
    embedding : array-like of shape (n_samples, 1), (n_samples, 2) or (n_samples, 3)
        Coordinates.
    y : array-like of shape (n_samples,), optional
        Classes, or numbers, of the samples.
    by : {"auto", "classes", "numbers"}, default="auto"
        What y is. "auto": numbers if some are not integers, if more than 20 and more than a third
        of the samples have different ones, or if there are more than 200 different ones.
    legend : {"auto", "beside", "centres", "none"}, default="auto"
        Where the names of the classes stand.
    title : str, default=""
        Title of the picture.
    target_name : str, default=""
        Name of y.
    axis_name : str, default="component"
        What a coordinate is called.

    Attributes
    ----------
    points_ : list of matplotlib PathCollection
        The samples: one collection for each class, in the order of `classes_`, or one for all.
    classes_ : ndarray or None
        The classes in natural order: "class 2" comes before "class 10".
    legend_ : matplotlib Legend or None
        Beside the axes.
    labels_ : list of matplotlib Annotation or None
        The names at the places of the classes; None if there was no room for a name.
    colorbar_ : matplotlib Colorbar or None
        If y holds numbers.

    Examples
    --------
    >>> from dimetric import LDA
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> display = EmbeddingDisplay.from_estimator(LDA().fit(X, y), X, y)
    >>> [len(points.get_offsets()) for points in display.points_]
    [50, 50, 50]
    """

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
    def from_embedding(
        cls, embedding: Array, y: Any = None, *, ax: Any = None, artist: Any = None, **options: Any
    ) -> Self:
        """Draw coordinates.

        Parameters
        ----------
        embedding : array-like of shape (n_samples, n_components)
            One to three coordinates of each sample.
        y : array-like of shape (n_samples,), optional
            Classes, or numbers, of the samples.
        ax : matplotlib Axes, optional
            Axes to draw into; three dimensions need axes with ``projection="3d"``.
        artist : dict, optional
            Passed on to ``Axes.scatter``.
        **options
            Parameters of the class.
        """
        return cls(embedding, y, **options).plot(ax=ax, **(artist or {}))

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Array,
        y: Any = None,
        *,
        ax: Any = None,
        artist: Any = None,
        **options: Any,
    ) -> Self:
        """Draw samples as a fitted estimator maps them.

        Parameters
        ----------
        estimator : estimator
            Fitted, with ``transform``. If it maps to more than three dimensions, the first two are
            drawn.
        X : array-like of shape (n_samples, n_features)
            Samples.
        y, ax, artist, **options
            As in :meth:`from_embedding`.
        """
        check_is_fitted(estimator)
        if not hasattr(estimator, "transform"):
            raise TypeError(
                f"{type(estimator).__name__} has no transform: give its fit_transform(X) to "
                "EmbeddingDisplay.from_embedding."
            )
        Z = estimator.transform(X)
        Z = np.asarray(Z) if hasattr(Z, "columns") else to_host(Z)
        return cls.from_embedding(
            Z if Z.shape[1] <= 3 else Z[:, :2], y, ax=ax, artist=artist, **options
        )

    def _draw(self, ax: Any, artist: dict[str, Any]) -> None:
        Z, y = _checked(self.embedding, self.y)
        kind = self._kind(y)
        self.classes_, codes = None, np.zeros(len(Z), dtype=np.int64)
        if y is not None and kind == "classes":
            self.classes_, codes = in_order(y, MAX_CLASSES)
        classes = [] if self.classes_ is None else list(self.classes_)
        beside = self._is_beside(len(classes), Z.shape[1])
        size = _size(classes, beside, Z.shape[1])
        ax = self._open_axes(ax, size, solid=Z.shape[1] == 3)
        self.legend_, self.colorbar_, self.labels_ = None, None, []
        looks = styles(max(1, len(classes)))
        options = _options(len(Z)) | artist
        places = Z if Z.shape[1] > 1 else np.column_stack([Z, _heights(codes, y, kind)])
        if kind == "numbers":
            self._draw_numbers(places, y, options, on_a_line=Z.shape[1] == 1)
        else:
            self._draw_classes(places, codes, looks, options)
        self._name_axes(Z.shape[1], kind)
        if classes and Z.shape[1] > 1 and self.legend != "none":
            if beside:
                self.legend_ = legend_of_classes(ax, classes, looks, self.target_name)
            else:
                self.labels_ = names_at_places(ax, places, codes, classes, looks)

    def _kind(self, y: np.ndarray | None) -> str:
        """Return what y is: "none", "classes" or "numbers"."""
        for name, allowed in (
            ("by", ("auto", "classes", "numbers")),
            ("legend", ("auto", "beside", "centres", "none")),
        ):
            if getattr(self, name) not in allowed:
                raise ValueError(f"{name}={getattr(self, name)!r} must be one of {allowed}.")
        if y is None:
            return "none"
        if self.by == "numbers" and y.dtype.kind not in "iufb":
            raise ValueError("by='numbers', but y holds no numbers: set by='classes'.")
        if self.by != "auto":
            return self.by
        return "numbers" if are_numbers(y) else "classes"

    def _is_beside(self, n_classes: int, n_components: int) -> bool:
        """Tell whether a legend beside the axes names the classes."""
        if self.legend == "centres" and n_components == 3:
            raise ValueError(
                "legend='centres' is for the plane: in space names would hide each other."
            )
        if n_components == 1 or not n_classes:
            return False
        few = self.legend == "auto" and (n_classes <= MAX_LEGEND_CLASSES or n_components == 3)
        return few or self.legend == "beside"

    def _draw_classes(
        self, places: np.ndarray, codes: np.ndarray, looks: list[Style], options: dict[str, Any]
    ) -> None:
        """Draw each class in its style; small classes last, so that none is covered."""
        counts = np.bincount(codes, minlength=len(looks))
        points: list[Any] = [None] * len(looks)
        for rank, code in enumerate(np.argsort(-counts, kind="stable")):
            look = looks[code]
            # A white rim would cover a small marker.
            rim = "white" if options["s"] >= MIN_RIM_AREA else look.color
            colors = {"facecolors": look.color, "edgecolors": rim, "linewidths": 0.3}
            if not look.filled:
                colors = {"facecolors": "none", "edgecolors": look.color, "linewidths": 0.7}
            order = {} if places.shape[1] == 3 else {"zorder": 2 + rank / len(looks)}
            points[code] = self.ax_.scatter(
                *places[codes == code].T, **({"marker": look.marker} | colors | order | options)
            )
        self.points_ = points

    def _draw_numbers(
        self, places: np.ndarray, y: Any, options: dict[str, Any], *, on_a_line: bool
    ) -> None:
        """Draw each sample in the colour of its number."""
        own = {"cmap": SEQUENTIAL, "linewidths": 0}
        self.points_ = [self.ax_.scatter(*places.T, c=y, **(own | options))]
        if not on_a_line:
            pad = {"pad": 0.1, "shrink": 0.7} if places.shape[1] == 3 else {"pad": 0.02}
            bar = self.figure_.colorbar(self.points_[0], ax=self.ax_, **pad)
            bar.set_label(plain(self.target_name))
            self.colorbar_ = bar

    def _name_axes(self, n_components: int, kind: str) -> None:
        """Write the title and the names of the axes."""
        ax = self.ax_
        self._write_title()
        if n_components > 1:
            names = [plain(f"{self.axis_name} {i + 1}") for i in range(n_components)]
            ax.set(**dict(zip(("xlabel", "ylabel", "zlabel"), names, strict=False)))
            if n_components == 2:
                ax.set_aspect("equal", adjustable="datalim")
            else:
                leave_room(ax)
            return
        ax.set(xlabel=plain(self.axis_name), ylabel=plain(self.target_name))
        if kind == "none":
            ax.set_yticks([])
        elif self.classes_ is not None:
            n = len(self.classes_)
            ax.set_yticks(range(n), [plain(each, 24) for each in self.classes_])
            ax.tick_params(axis="y", length=0, labelsize=9 if n <= MAX_LEGEND_CLASSES else 7)
            ax.set_ylim(n - 0.4, -0.6)


def _checked(Z: Any, y: Any) -> tuple[np.ndarray, np.ndarray | None]:
    """Return coordinates, and as many classes or numbers, as arrays of NumPy."""
    Z = to_host(checked_array(Z, "embedding"))
    if not 1 <= Z.shape[1] <= 3:
        raise ValueError(
            f"An embedding of {Z.shape[1]} dimensions has no picture: take one to three of its "
            "columns, such as Z[:, :2]."
        )
    return Z, None if y is None else labels_of(y, len(Z))


def _options(n: int) -> dict[str, Any]:
    """Return how n points are drawn: the more there are, the smaller they are."""
    return {"s": float(np.clip(12_000 / max(1, n), 5, 26)), "rasterized": n > MAX_VECTOR_POINTS}


def _size(classes: list[Any], beside: bool, n_components: int) -> tuple[float, float]:
    """Return the size of a new figure, with room for the names."""
    n = len(classes)
    if n_components == 1:
        return 6.4, float(np.clip(0.9 + n * 0.16, 2.4, 30))
    if beside:
        height = max(4.8, 0.8 + 0.2 * n) if n <= MAX_LEGEND_CLASSES else 4.8
        return 5.2 + legend_width(classes) + (n_components == 3), height
    return (9.0, 7.5) if n > 40 else (6.8, 5.6)


def _heights(codes: np.ndarray, y: np.ndarray | None, kind: str) -> np.ndarray:
    """Return the heights of samples on a line: their numbers, or the rows of their classes."""
    return y if y is not None and kind == "numbers" else in_rows(codes)
