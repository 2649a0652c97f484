"""Base classes of the displays: axes, title and ``plot``."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from dimetric.plot._labels import LEGEND_ROWS, legend_beside
from dimetric.plot._matplotlib import one_axes, plain_text
from dimetric.plot._palette import MARKERS, theme_of

LINE_STYLES = ("-", "--", "-.", ":")
MAX_MARKED_POINTS = 60  # curves with more points have no markers
MAX_TITLE_LENGTH = 80  # characters


class Display(ABC):
    """A plot that can be drawn into any axes and stores its artists.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes of the plot. If there are several, the first.
    figure_ : matplotlib Figure
        The figure that contains the axes.
    """

    ax_: Any
    figure_: Any
    title: str = ""

    def plot(self, *, ax: Any = None) -> Self:
        """Draw the plot and return the display.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw into. By default, a new figure is created. A display with several panels
            takes an array of axes, or a single axes that is divided among the panels.
        """
        self._draw(ax, {})
        return self

    @abstractmethod
    def _draw(self, ax: Any, artist_kwargs: dict[str, Any]) -> None:
        """Draw into the given axes, or into a new figure if None, and store the artists."""

    def _open_axes(self, ax: Any, size: tuple[float, float], *, is_3d: bool = False) -> Any:
        """Store and return the axes to draw into. A new figure has the given size."""
        self.ax_ = one_axes(type(self).__name__, ax, size, is_3d=is_3d)
        self.figure_ = self.ax_.figure
        return self.ax_

    def _write_title(self) -> None:
        if self.title:
            self.ax_.set_title(plain_text(self.title, MAX_TITLE_LENGTH))


class StyledDisplay(Display):
    """A plot whose main artist accepts matplotlib keyword arguments."""

    def plot(self, *, ax: Any = None, **artist_kwargs: Any) -> Self:
        """Draw the plot and return the display.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw into. By default, a new figure is created.
        **artist_kwargs
            Keyword arguments of the matplotlib function that draws the main artist: ``scatter``
            for an embedding, ``plot`` for curves, ``imshow`` for a metric, ``bar`` for
            eigenvalues, ``hexbin`` for a posterior.
        """
        self._draw(ax, artist_kwargs)
        return self


class CurvesDisplay(StyledDisplay):
    """Several curves in one plot, each with its own colour and line style.

    Attributes
    ----------
    lines_ : list of matplotlib Line2D
        One line for each curve.
    legend_ : matplotlib Legend or None
        The legend, beside the axes.
    """

    lines_: list[Any]
    legend_: Any

    def _draw_curves(
        self,
        curves: Mapping[str, tuple[np.ndarray, np.ndarray]],
        ax: Any,
        artist_kwargs: dict[str, Any],
        *,
        legend: bool,
    ) -> Any:
        """Draw curves, a mapping of names to (x, y), and return the axes."""
        if not curves:
            raise ValueError(f"{type(self).__name__} has no curves to draw. Give at least one.")
        longest = max(len(plain_text(name)) for name in curves)
        columns = -(-len(curves) // LEGEND_ROWS) * legend
        height = max(3.6, 0.5 + 0.2 * min(len(curves), LEGEND_ROWS) * legend)
        ax = self._open_axes(ax, (5.2 + (0.6 + 0.08 * longest) * columns, height))
        colors = theme_of(ax).colors
        self.lines_ = []
        for i, (x, y) in enumerate(curves.values()):
            defaults = {
                "color": colors[i % len(colors)],
                "linestyle": LINE_STYLES[i // len(colors) % len(LINE_STYLES)],
                "marker": MARKERS[i % len(MARKERS)] if len(x) <= MAX_MARKED_POINTS else None,
                "markersize": 4,
                "linewidth": 1.5,
            }
            self.lines_ += ax.plot(x, y, **(defaults | artist_kwargs))
        names = [plain_text(name) for name in curves]
        self.legend_ = legend_beside(ax, self.lines_, names, ncols=columns) if legend else None
        ax.spines[["top", "right"]].set_visible(False)
        self._write_title()
        return ax
