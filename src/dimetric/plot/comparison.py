"""The scores of many learners, side by side."""

from typing import Any, Self

import numpy as np

from dimetric.benchmark._result import BenchmarkResult
from dimetric.benchmark._summary import LearnerScores, summary
from dimetric.plot._labels import in_rows
from dimetric.plot._matplotlib import one_axes, plain
from dimetric.plot._palette import COLORS, INK

__all__ = ["ComparisonDisplay"]


class ComparisonDisplay:
    """Each learner's scores, their mean and their spread, the best on top.

    Small dots are scores on folds, or means on data sets if there are several; the diamond is
    their mean, the bar reaches one standard deviation to each side, and the numbers say both. The
    dashed line is the mean of the baseline.

    Parameters
    ----------
    scores : list of LearnerScores
        Of :func:`~dimetric.benchmark._summary.summary`.
    baseline : str or None, default="Euclidean"
        The learner that others are compared with; None, or a name that is not there: no line.
    title : str, default=""
        Title of the picture.
    score_name : str, default="test score"
        What the scores are called.

    Attributes
    ----------
    ax_ : matplotlib Axes
        With the plot.
    figure_ : matplotlib Figure
        With the axes.
    points_ : list of matplotlib PathCollection
        The scores of each learner.
    means_ : list of matplotlib ErrorbarContainer
        Mean and spread of each learner without failures.
    baseline_ : matplotlib Line2D or None
        The mean of the baseline.
    text_ : list of matplotlib Text
        The numbers.

    Examples
    --------
    >>> from dimetric import benchmark
    >>> display = ComparisonDisplay.from_benchmark(benchmark.run([None, "LDA"], ["wine"], cv=5))
    >>> [text.get_text() for text in display.text_]
    ['0.989 ± 0.015', '0.966 ± 0.024']
    """

    def __init__(
        self,
        scores: list[LearnerScores],
        *,
        baseline: str | None = "Euclidean",
        title: str = "",
        score_name: str = "test score",
    ) -> None:
        self.scores = scores
        self.baseline = baseline
        self.title = title
        self.score_name = score_name

    @classmethod
    def from_benchmark(
        cls,
        result: BenchmarkResult,
        *,
        what: str = "test",
        n_neighbors: int | None = None,
        data: str | None = None,
        baseline: str | None = "Euclidean",
        title: str = "",
        ax: Any = None,
    ) -> Self:
        """Draw the scores of a benchmark.

        Parameters
        ----------
        result : BenchmarkResult
            A result of :func:`dimetric.benchmark.run`.
        what, n_neighbors, data
            Which of its numbers, as in :func:`~dimetric.benchmark._summary.summary`.
        baseline, title
            As in the class.
        ax : matplotlib Axes, optional
            Axes to draw into; by default new ones.

        Returns
        -------
        display : ComparisonDisplay
        """
        rows = summary(result, what=what, n_neighbors=n_neighbors, data=data)
        units = {"time": "seconds of a fit", "memory": "megabytes of a fit"}
        name = units.get(what, f"{what} score")
        return cls(rows, baseline=baseline, title=title, score_name=name).plot(ax=ax)

    def plot(self, *, ax: Any = None) -> Self:
        """Draw the scores.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw into; by default new ones.

        Returns
        -------
        display : ComparisonDisplay
        """
        rows = self.scores
        if not rows:
            raise ValueError("There are no scores to draw.")
        ax = one_axes(type(self).__name__, ax, (6.6, 1.1 + 0.34 * len(rows)))
        self.ax_, self.figure_, self.baseline_ = ax, ax.figure, None
        self.points_: list[Any] = []
        self.means_: list[Any] = []
        self.text_: list[Any] = []
        for place, row in enumerate(rows):
            self._draw(place, row)
        base = next((row for row in rows if row.learner == self.baseline), None)
        if base is not None and np.isfinite(base.mean):
            self.baseline_ = ax.axvline(
                base.mean, color=COLORS[1], linestyle="--", linewidth=1, zorder=1
            )
        ax.set_yticks(range(len(rows)), [plain(row.learner, 28) for row in rows])
        ax.tick_params(axis="y", length=0)
        ax.set_ylim(len(rows) - 0.4, -0.6)
        ax.set_xlabel(plain(self.score_name))
        ax.spines[["top", "right", "left"]].set_visible(False)
        if self.title:
            ax.set_title(plain(self.title, 80))
        return self

    def _draw(self, place: int, row: LearnerScores) -> None:
        """Draw the scores of a learner in its row."""
        values = row.values[np.isfinite(row.values)]
        heights = in_rows(np.full(len(values), place), 0.3)
        color = COLORS[1] if row.learner == self.baseline else COLORS[0]
        self.points_.append(
            self.ax_.scatter(values, heights, s=14, color=color, alpha=0.35, linewidths=0)
        )
        text = f"failed in {row.n_failed} of {row.n_cells}"
        if np.isfinite(row.mean):
            text = f"{row.mean:.3f} ± {row.spread:.3f}"
            bar = self.ax_.errorbar(
                row.mean, place, xerr=row.spread, fmt="D", color=INK, markerfacecolor=color,
                markersize=6, linewidth=1.2, zorder=3,
            )  # fmt: skip
            self.means_.append(bar)
        self.text_.append(
            self.ax_.text(
                1.02, place, text, transform=self.ax_.get_yaxis_transform(), va="center",
                fontsize=9, family="monospace", color=INK,
            )
        )  # fmt: skip
