"""Plot of the benchmark scores of several learners."""

from typing import Any, Self

import numpy as np

from dimetric._arguments import check_types
from dimetric._names import number_text
from dimetric.benchmark import BenchmarkResult, LearnerScores, summary
from dimetric.plot._display import Display
from dimetric.plot._labels import jittered_rows
from dimetric.plot._matplotlib import plain_text
from dimetric.plot._palette import theme_of

__all__ = ["ComparisonDisplay"]


class ComparisonDisplay(Display):
    """Benchmark scores of each learner with mean and standard deviation, best learner on top.

    With one data set, the small dots are the scores of the folds. With several, each dot is the
    mean over the folds of one data set. The diamond is the mean of the dots, and the error bar is
    one standard deviation to each side. The dashed line is the mean of the baseline.

    Parameters
    ----------
    scores : list of LearnerScores
        A result of :func:`~dimetric.benchmark.summary`.
    baseline : str or None, default="Euclidean"
        Name of the learner to compare with. No line is drawn if it is None or not in `scores`.
    title : str, default=""
        Title of the plot.
    score_name : str, default="test score"
        Label of the horizontal axis.

    Attributes
    ----------
    points_ : list of matplotlib PathCollection
        The scores of each learner.
    means_ : list of matplotlib ErrorbarContainer
        Mean and standard deviation of each learner without failed fits.
    baseline_ : matplotlib Line2D or None
        The mean of the baseline.
    text_ : list of matplotlib Text
        Mean and standard deviation of each learner as text, or its number of failed fits.

    Examples
    --------
    >>> from dimetric import benchmark
    >>> display = ComparisonDisplay.from_benchmark(benchmark.run([None, "LDA"], ["wine"], cv=5))
    >>> [text.get_text() for text in display.text_]
    ['0.989 ± 0.015', '0.966 ± 0.024']
    """

    @check_types
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
    @check_types
    def from_benchmark(
        cls,
        result: BenchmarkResult,
        *,
        field: str = "test",
        n_neighbors: int | None = None,
        data: str | None = None,
        baseline: str | None = "Euclidean",
        title: str = "",
        ax: Any = None,
    ) -> Self:
        """Plot the scores of a benchmark.

        Parameters
        ----------
        result : BenchmarkResult
            A result of :func:`dimetric.benchmark.run`.
        field, n_neighbors, data
            Select the scores, as in :func:`~dimetric.benchmark.summary`.
        baseline, title, ax
            As in the class and :meth:`plot`.
        """
        rows = summary(result, field=field, n_neighbors=n_neighbors, data=data)
        labels = {"time": "fit time (seconds)", "memory": "fit memory (megabytes)"}
        name = labels.get(field, f"{field} score")
        return cls(rows, baseline=baseline, title=title, score_name=name).plot(ax=ax)

    def _draw(self, ax: Any, artist_kwargs: dict[str, Any]) -> None:
        rows = self.scores
        if not rows:
            raise ValueError("scores is empty. Give the scores of at least one learner.")
        ax = self._open_axes(ax, (6.6, 1.1 + 0.34 * len(rows)))
        self.baseline_ = None
        self.points_: list[Any] = []
        self.means_: list[Any] = []
        self.text_: list[Any] = []
        for place, row in enumerate(rows):
            self._draw_row(place, row)
        base = next((row for row in rows if row.learner == self.baseline), None)
        if base is not None and np.isfinite(base.mean):
            self.baseline_ = ax.axvline(
                base.mean, color=theme_of(ax).colors[1], linestyle="--", linewidth=1, zorder=1
            )
        ax.set_yticks(range(len(rows)), [plain_text(row.learner, 34) for row in rows])
        ax.tick_params(axis="y", length=0)
        ax.set_ylim(len(rows) - 0.4, -0.6)
        ax.set_xlabel(plain_text(self.score_name))
        ax.spines[["top", "right", "left"]].set_visible(False)
        self._write_title()

    def _draw_row(self, place: int, row: LearnerScores) -> None:
        """Draw the scores of one learner in row `place`."""
        values = row.values[np.isfinite(row.values)]
        heights = jittered_rows(np.full(len(values), place), 0.3)
        theme = theme_of(self.ax_)
        color = theme.colors[1 if row.learner == self.baseline else 0]
        self.points_.append(
            self.ax_.scatter(values, heights, s=14, color=color, alpha=0.35, linewidths=0)
        )
        text = f"{row.n_failed} of {row.n_cells} fits failed"
        if np.isfinite(row.mean):
            text = self._score_text(row)
            bar = self.ax_.errorbar(
                row.mean,
                place,
                xerr=row.std,
                fmt="D",
                color=theme.ink,
                markerfacecolor=color,
                markersize=6,
                linewidth=1.2,
                zorder=3,
            )
            self.means_.append(bar)
        self.text_.append(
            self.ax_.text(
                1.02,
                place,
                text,
                transform=self.ax_.get_yaxis_transform(),
                va="center",
                fontsize=9,
                family="monospace",
                color=theme.ink,
            )
        )

    def _score_text(self, row: LearnerScores) -> str:
        """Return mean and deviation: errors in units of the target with four significant digits."""
        largest = max(abs(each.mean) for each in self.scores if np.isfinite(each.mean))
        if 0.1 <= largest <= 1:
            return f"{row.mean:.3f} ± {row.std:.3f}"
        return f"{number_text(row.mean)} ± {number_text(row.std)}"
