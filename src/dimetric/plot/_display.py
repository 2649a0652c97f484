"""What all displays share: their axes, their title, and ``plot``."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from dimetric.plot._labels import LEGEND_ROWS, legend_beside
from dimetric.plot._matplotlib import one_axes, plain
from dimetric.plot._palette import COLORS, MARKERS

STROKES = ("-", "--", "-.", ":")
MAX_MARKED_POINTS = 60  # a longer curve has no markers
MAX_TITLE = 80  # characters


class Display(ABC):
    """A picture that can be drawn into any axes, and keeps what it drew.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes of the picture; the first ones if it has several.
    figure_ : matplotlib Figure
        The figure of the axes.
    """

    ax_: Any
    figure_: Any
    title: str = ""

    def plot(self, *, ax: Any = None) -> Self:
        """Draw the picture, and return the display.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw into; by default those of a new figure. A display of several pictures
            takes an array of axes, or one axes whose place the pictures take.
        """
        self._draw(ax, {})
        return self

    @abstractmethod
    def _draw(self, ax: Any, artist: dict[str, Any]) -> None:
        """Draw into the axes, or into new ones, and keep the artists."""

    def _open_axes(self, ax: Any, size: tuple[float, float], *, solid: bool = False) -> Any:
        """Return the axes to draw into, and keep them; `size` is that of a new figure."""
        self.ax_ = one_axes(type(self).__name__, ax, size, solid=solid)
        self.figure_ = self.ax_.figure
        return self.ax_

    def _write_title(self) -> None:
        if self.title:
            self.ax_.set_title(plain(self.title, MAX_TITLE))


class StyledDisplay(Display):
    """A picture whose main artist takes keywords of matplotlib."""

    def plot(self, *, ax: Any = None, **artist: Any) -> Self:
        """Draw the picture, and return the display.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw into; by default those of a new figure.
        **artist
            Keywords of the matplotlib function that draws the main part: ``scatter`` of an
            embedding, ``plot`` of curves, ``imshow`` of a metric, ``bar`` of eigenvalues,
            ``hexbin`` of a posterior.
        """
        self._draw(ax, artist)
        return self


class CurvesDisplay(StyledDisplay):
    """Curves in one picture, each in a colour and a stroke of its own.

    Attributes
    ----------
    lines_ : list of matplotlib Line2D
        One for each curve.
    legend_ : matplotlib Legend or None
        Beside the axes.
    """

    lines_: list[Any]
    legend_: Any

    def _draw_curves(
        self,
        curves: Mapping[str, tuple[np.ndarray, np.ndarray]],
        ax: Any,
        artist: dict[str, Any],
        *,
        legend: bool,
    ) -> Any:
        """Draw curves, given as x and y by name, and return the axes."""
        if not curves:
            raise ValueError(f"{type(self).__name__} has nothing to draw.")
        longest = max(len(plain(name)) for name in curves)
        columns = -(-len(curves) // LEGEND_ROWS) * legend
        height = max(3.6, 0.5 + 0.2 * min(len(curves), LEGEND_ROWS) * legend)
        ax = self._open_axes(ax, (5.2 + (0.6 + 0.08 * longest) * columns, height))
        self.lines_ = []
        for i, (x, y) in enumerate(curves.values()):
            own = {
                "color": COLORS[i % len(COLORS)],
                "linestyle": STROKES[i // len(COLORS) % len(STROKES)],
                "marker": MARKERS[i % len(MARKERS)] if len(x) <= MAX_MARKED_POINTS else None,
                "markersize": 4,
                "linewidth": 1.5,
            }
            self.lines_ += ax.plot(x, y, **(own | artist))
        names = [plain(name) for name in curves]
        self.legend_ = legend_beside(ax, self.lines_, names, ncols=columns) if legend else None
        ax.spines[["top", "right"]].set_visible(False)
        self._write_title()
        return ax
