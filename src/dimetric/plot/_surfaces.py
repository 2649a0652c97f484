"""Draw decision regions along one, two or three features, and the samples on top of them."""

from typing import Any

import numpy as np

from dimetric.classify._decision_regions import DecisionRegions
from dimetric.plot._labels import codes_of, jittered_rows
from dimetric.plot._matplotlib import plain_text, shrink_3d_axes
from dimetric.plot._palette import Style, Theme
from dimetric.plot._points import draw_classes, scatter_defaults
from dimetric.plot._region_panels import Panel

MARKER_AREA = 18  # square points
MAX_OUTLINED_CLASSES = 24  # with more classes, the regions have no outlines


def draw_regions(
    ax: Any, panel: Panel, codes: np.ndarray, classes: np.ndarray, theme: Theme
) -> tuple[Any, list[Any]]:
    """Draw a panel, and return the artist of the regions and the artists of the samples.

    Parameters
    ----------
    ax : matplotlib Axes
        Axes to draw into.
    panel : Panel
        Decision regions and samples to draw.
    codes : ndarray of shape (n_samples,)
        The class of each sample, as an index into `classes`.
    classes : ndarray
        All classes of the samples and the regions.
    theme : Theme
        Colours that suit the background.
    """
    styles = theme.class_styles(len(classes))
    regions = panel.regions
    # A class may be absent from the regions, so their codes are converted to indices of `classes`.
    predicted = codes_of(classes, regions.classes)[regions.codes]
    samples = panel.samples[:, list(regions.features)]
    draw = {1: _draw_1d, 2: _draw_2d, 3: _draw_3d}[len(regions.features)]
    surface = draw(ax, regions, predicted, styles, theme)
    if samples.shape[1] == 1:
        samples = np.column_stack([samples, jittered_rows(codes)])
        ax.set_yticks(range(len(classes)), [plain_text(each, 24) for each in classes])
        ax.tick_params(
            axis="y", length=0, labelsize=9 if len(classes) <= MAX_OUTLINED_CLASSES else 7
        )
    zorder = {} if samples.shape[1] == 3 else {"zorder": 3}
    options = {"s": MARKER_AREA, "alpha": scatter_defaults(len(samples))["alpha"]} | zorder
    points = draw_classes(ax, samples, codes, styles, theme, options)
    names = [plain_text(panel.feature_names[j], 28) for j in regions.features]
    ax.set(**dict(zip(("xlabel", "ylabel", "zlabel"), names, strict=False)))
    if samples.shape[1] == 3:
        shrink_3d_axes(ax)
    ax.set_title(panel.title, fontsize=8 if "\n" in panel.title else 10)
    return surface, points


def _background_cmap(styles: list[Style], theme: Theme) -> Any:
    from matplotlib.colors import ListedColormap

    return ListedColormap([theme.tint(style.color) for style in styles])


def _draw_1d(
    ax: Any, regions: DecisionRegions, predicted: np.ndarray, styles: list[Style], theme: Theme
) -> Any:
    """Draw regions as vertical stripes."""
    (x,) = regions.grid
    stripes = ax.pcolormesh(
        _cell_edges(x),
        [-0.6, len(styles) - 0.4],
        predicted[None],
        cmap=_background_cmap(styles, theme),
        vmin=-0.5,
        vmax=len(styles) - 0.5,
        rasterized=True,
    )
    ax.set_ylim(len(styles) - 0.4, -0.6)
    ax.set_xlim(x[0], x[-1])
    return stripes


def _draw_2d(
    ax: Any, regions: DecisionRegions, predicted: np.ndarray, styles: list[Style], theme: Theme
) -> Any:
    """Draw regions as areas with outlines."""
    x, y = regions.grid
    areas = ax.pcolormesh(
        x,
        y,
        predicted.T,
        cmap=_background_cmap(styles, theme),
        vmin=-0.5,
        vmax=len(styles) - 0.5,
        shading="nearest",
        rasterized=True,
    )
    present = np.unique(predicted)
    if 1 < len(present) <= MAX_OUTLINED_CLASSES:
        for code in present:
            inside = np.where(code == predicted.T, 1.0, 0.0)
            ax.contour(x, y, inside, levels=[0.5], colors=theme.paper, linewidths=0.6)
    ax.set(xlim=(x[0], x[-1]), ylim=(y[0], y[-1]))
    return areas


def _draw_3d(
    ax: Any, regions: DecisionRegions, predicted: np.ndarray, styles: list[Style], theme: Theme
) -> Any:
    """Draw the grid points next to a decision boundary."""
    at_boundary = np.zeros(predicted.shape, dtype=bool)
    for axis in range(3):
        differs = np.diff(predicted, axis=axis) != 0
        for shift in (0, 1):
            part = [slice(None)] * 3
            part[axis] = slice(shift, predicted.shape[axis] - 1 + shift)
            at_boundary[tuple(part)] |= differs
    points = np.stack([a[at_boundary] for a in np.meshgrid(*regions.grid, indexing="ij")])
    colors = np.array([theme.tint(style.color, 0.6) for style in styles])[predicted[at_boundary]]
    return ax.scatter(
        *points, c=colors, s=9, alpha=0.3, linewidths=0, depthshade=False, rasterized=True
    )


def _cell_edges(x: np.ndarray) -> np.ndarray:
    middle = (x[1:] + x[:-1]) / 2
    return np.concatenate([x[:1], middle, x[-1:]])
