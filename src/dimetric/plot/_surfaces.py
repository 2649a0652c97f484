"""Draw decision regions on a line, in a plane or in space, and samples on top of them."""

from typing import Any, NamedTuple

import numpy as np

from dimetric.classify._decision_regions import DecisionRegions
from dimetric.plot._labels import codes_in, in_rows
from dimetric.plot._matplotlib import leave_room, plain
from dimetric.plot._palette import Style, light

MAX_OUTLINED_CLASSES = 24  # with more, no lines are drawn between regions


class Picture(NamedTuple):
    """What is drawn into one axes: regions, and samples on top of them.

    Attributes
    ----------
    regions : DecisionRegions
        The class that is predicted at each point of a grid.
    samples : ndarray of shape (n_samples, n_features)
        Samples.
    feature_names : list of str
        Names of the features.
    title : str
        Title.
    """

    regions: DecisionRegions
    samples: np.ndarray
    feature_names: list[str]
    title: str


def draw_regions(
    ax: Any, picture: Picture, codes: np.ndarray, classes: np.ndarray, looks: list[Style]
) -> tuple[Any, list[Any]]:
    """Draw a picture; return the artists of the regions, and of the samples of each class.

    Parameters
    ----------
    ax : matplotlib Axes
        Axes to draw into.
    picture : Picture
        What is drawn.
    codes : ndarray of shape (n_samples,)
        The class of each sample, as a position in `classes`.
    classes : ndarray
        All classes.
    looks : list of Style
        How the classes look.
    """
    found = picture.regions
    # The regions may lack some classes.
    predicted = codes_in(classes, found.classes)[found.codes]
    samples = picture.samples[:, list(found.features)]
    draw = {1: _on_a_line, 2: _in_a_plane, 3: _in_space}[len(found.features)]
    surface = draw(ax, found, predicted, looks, len(classes))
    if samples.shape[1] == 1:
        samples = np.column_stack([samples, in_rows(codes)])
        ax.set_yticks(range(len(classes)), [plain(each, 24) for each in classes])
        ax.tick_params(
            axis="y", length=0, labelsize=9 if len(classes) <= MAX_OUTLINED_CLASSES else 7
        )
    points = []
    for code, look in enumerate(looks):
        order = {} if samples.shape[1] == 3 else {"zorder": 3}
        points.append(
            ax.scatter(
                *samples[codes == code].T,
                s=18,
                marker=look.marker,
                linewidths=0.5,
                facecolors=look.color if look.filled else "none",
                edgecolors="white" if look.filled else look.color,
                **order,
            )
        )
    names = [plain(picture.feature_names[j], 28) for j in found.features]
    ax.set(**dict(zip(("xlabel", "ylabel", "zlabel"), names, strict=False)))
    if samples.shape[1] == 3:
        leave_room(ax)
    ax.set_title(picture.title, fontsize=8 if "\n" in picture.title else 10)
    return surface, points


def _colours(looks: list[Style]) -> Any:
    from matplotlib.colors import ListedColormap

    return ListedColormap([light(look.color) for look in looks])


def _on_a_line(
    ax: Any, found: DecisionRegions, predicted: np.ndarray, looks: list[Style], n_classes: int
) -> Any:
    """Draw regions as stripes."""
    (x,) = found.grid
    stripes = ax.pcolormesh(
        _edges(x),
        [-0.6, n_classes - 0.4],
        predicted[None],
        cmap=_colours(looks),
        vmin=-0.5,
        vmax=n_classes - 0.5,
        rasterized=True,
    )
    ax.set_ylim(n_classes - 0.4, -0.6)
    ax.set_xlim(x[0], x[-1])
    return stripes


def _in_a_plane(
    ax: Any, found: DecisionRegions, predicted: np.ndarray, looks: list[Style], n_classes: int
) -> Any:
    """Draw regions as areas, with lines between them."""
    x, y = found.grid
    areas = ax.pcolormesh(
        x,
        y,
        predicted.T,
        cmap=_colours(looks),
        vmin=-0.5,
        vmax=n_classes - 0.5,
        shading="nearest",
        rasterized=True,
    )
    here = np.unique(predicted)
    if 1 < len(here) <= MAX_OUTLINED_CLASSES:
        for code in here:
            inside = np.where(code == predicted.T, 1.0, 0.0)
            ax.contour(x, y, inside, levels=[0.5], colors="white", linewidths=0.6)
    ax.set(xlim=(x[0], x[-1]), ylim=(y[0], y[-1]))
    return areas


def _in_space(
    ax: Any, found: DecisionRegions, predicted: np.ndarray, looks: list[Style], n_classes: int
) -> Any:
    """Draw the points of the grid that have a neighbour of another class."""
    beside = np.zeros(predicted.shape, dtype=bool)
    for axis in range(3):
        differs = np.diff(predicted, axis=axis) != 0
        for shift in (0, 1):
            here = [slice(None)] * 3
            here[axis] = slice(shift, predicted.shape[axis] - 1 + shift)
            beside[tuple(here)] |= differs
    places = np.stack([a[beside] for a in np.meshgrid(*found.grid, indexing="ij")])
    colors = np.array([light(look.color, 0.6) for look in looks])[predicted[beside]]
    return ax.scatter(
        *places, c=colors, s=9, alpha=0.3, linewidths=0, depthshade=False, rasterized=True
    )


def _edges(x: np.ndarray) -> np.ndarray:
    middle = (x[1:] + x[:-1]) / 2
    return np.concatenate([x[:1], middle, x[-1:]])
