"""Plot of learning curves: held-out score against the number of training samples."""

from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from dimetric._arguments import check_types
from dimetric.plot._display import CurvesDisplay
from dimetric.selection._curve_result import LearningCurve

__all__ = ["SampleSizeDisplay"]

BAND_ALPHA = 0.15
MIN_LABEL_RATIO = 1.6  # of neighbouring sizes with a label


class SampleSizeDisplay(CurvesDisplay):
    """Held-out score against the number of training samples, with its uncertainty.

    A line connects the mean scores, and a band shows their intervals. The horizontal axis is
    logarithmic. An open marker shows the score that is expected for twice as many samples as the
    largest training set, with its interval.

    Parameters
    ----------
    curves : mapping of names to LearningCurve
        Results of :func:`~dimetric.selection.learning_curve`, all with the same score.
    extrapolate : bool, default=True
        Whether to show the score that is expected for twice as many samples.
    title : str, default=""
        Title of the plot.

    Attributes
    ----------
    lines_ : list of matplotlib Line2D
        The mean scores of each curve.
    bands_ : list of matplotlib PolyCollection
        The intervals of each curve.
    expected_ : list of matplotlib ErrorbarContainer
        The expected score of each curve for twice as many samples. Empty without `extrapolate`.
    legend_ : matplotlib Legend or None
        The legend. None if there is only one curve.

    Examples
    --------
    >>> from dimetric import LDA
    >>> from dimetric.selection import learning_curve
    >>> from sklearn.datasets import load_wine
    >>> curve = learning_curve(LDA(), *load_wine(return_X_y=True), random_state=0)
    >>> display = SampleSizeDisplay.from_curve(curve)
    >>> [int(n) for n in display.lines_[0].get_xdata()] == curve.sizes.tolist()
    True
    """

    @check_types
    def __init__(
        self, curves: Mapping[str, LearningCurve], *, extrapolate: bool = True, title: str = ""
    ) -> None:
        self.curves = curves
        self.extrapolate = extrapolate
        self.title = title

    @classmethod
    @check_types
    def from_curve(
        cls, curve: LearningCurve, *, extrapolate: bool = True, title: str = "", ax: Any = None
    ) -> Self:
        """Plot one learning curve.

        Parameters
        ----------
        curve : LearningCurve
            A result of :func:`~dimetric.selection.learning_curve`.
        extrapolate, title, ax
            As in the class and :meth:`plot`.
        """
        return cls({"": curve}, extrapolate=extrapolate, title=title).plot(ax=ax)

    def _draw(self, ax: Any, artist_kwargs: dict[str, Any]) -> None:
        names = {each.score_name for each in self.curves.values()}
        if len(names) > 1:
            raise ValueError(
                f"curves have different scores: {', '.join(sorted(names))}. Plot one score at a "
                "time."
            )
        points = {name: (each.sizes, each.mean) for name, each in self.curves.items()}
        ax = self._draw_curves(points, ax, artist_kwargs, legend=len(points) > 1)
        self.bands_: list[Any] = []
        self.expected_: list[Any] = []
        for line, curve in zip(self.lines_, self.curves.values(), strict=True):
            low, high = curve.interval.T
            color = line.get_color()
            self.bands_.append(
                ax.fill_between(curve.sizes, low, high, color=color, alpha=BAND_ALPHA, linewidth=0)
            )
            if self.extrapolate:
                self._draw_expected(curve, color)
        self._label_sizes()
        ax.set(xlabel="training rows", ylabel=next(iter(names)))

    def _draw_expected(self, curve: LearningCurve, color: Any) -> None:
        """Draw the score that is expected for twice as many samples."""
        n, now = int(curve.sizes[-1]), float(curve.mean[-1])
        to, low, high = curve.doubled
        self.ax_.plot([n, 2 * n], [now, to], color=color, linestyle=":", linewidth=1.2)
        self.expected_.append(
            self.ax_.errorbar(
                2 * n,
                to,
                yerr=[[max(0.0, to - low)], [max(0.0, high - to)]],
                fmt="o",
                color=color,
                markerfacecolor="white",
                markersize=5,
                linewidth=1.2,
                capsize=3,
            )
        )

    def _label_sizes(self) -> None:
        """Label the horizontal axis with the training sizes."""
        sizes = np.unique(np.concatenate([each.sizes for each in self.curves.values()]))
        if self.extrapolate:
            sizes = np.union1d(sizes, [2 * each.sizes[-1] for each in self.curves.values()])
        self.ax_.set_xscale("log")
        # Neighbouring labels would overlap on a logarithmic axis.
        shown = [sizes[-1]]
        for each in sizes[-2::-1]:
            if each <= shown[-1] / MIN_LABEL_RATIO:
                shown.append(each)
        self.ax_.set_xticks(shown, [f"{int(each):,}" for each in shown])
        self.ax_.minorticks_off()
