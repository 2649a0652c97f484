"""Draw the plots of a report."""

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from dimetric.quality._neighborhood import ExplainedNeighbor
from dimetric.report._picture import Picture, draw_picture
from dimetric.report._records import (
    BASELINE,
    Choice,
    ExplainedChange,
    PredictedNumbers,
    ReportRecord,
)
from dimetric.report._text import cut_middle, distinct_names
from dimetric.selection._curve_result import LearningCurve

MAX_TICKS = 5  # on an axis whose tick labels are long
MAX_HEAT_MAP_FEATURES = 20  # rows and columns whose names stay readable
MAX_LEGEND_CLASSES = 12  # lines of a legend as high as the plot
MAX_LABEL_LENGTH = 14  # characters
MAX_AXIS_NAME_LENGTH = 32  # characters
MAX_TICK_LENGTH = 18  # characters of a feature beside the heat map
MAX_MARK_NAME_LENGTH = 22  # characters of a class in the legend of the page
POINT_AREA = 16  # of a row in a plot of predictions, in square points
MAX_POINT_COUNT = 20  # rows with equal numbers that enlarge a point
AXIS_MARGIN = 0.04  # between the points and the edge of a plot, relative to the range of the points
MAX_EXPLAINED_FEATURES = 5  # bars of a distance, without the bar of all other features
# The filled and the open characters that look like each marker.
GLYPHS = {
    "o": "●○", "s": "■□", "^": "▲△", "D": "◆◇", "v": "▼▽", "P": "✚✛", "X": "✖✕", "<": "◀◁",
    ">": "▶▷", "p": "⬟⬠", "*": "★☆", "h": "⬢⬡",
}  # fmt: skip


def draw_all(record: ReportRecord) -> dict[str, Picture]:
    """Return the plots of a report by name: "scores", "before", "after", "metric" and others.

    For numbers, "predicted_before" and "predicted_after" show predictions against true values.

    Parameters
    ----------
    record : ReportRecord
        The contents of the report. Without a matrix M, the plot "metric" is left out.
    """
    choice, insight = record.choice, record.insight
    names = (BASELINE, choice.best)
    before, after = _scatter_plots(record, names)
    pictures = {"scores": _scores(choice), "before": before, "after": after}
    if insight.predictions is not None:
        before, after = _prediction_plots(insight.predictions, record.target, names)
        pictures |= {"predicted_before": before, "predicted_after": after}
    if insight.metric is not None:
        pictures["metric"] = _heat_map(insight.metric, record.feature_names)
    if record.curve is not None:
        pictures["curve"] = draw_picture(3.2, _learning_curve(record.curve))
    return pictures


def _learning_curve(curve: LearningCurve) -> Any:
    from dimetric.plot import SampleSizeDisplay

    return SampleSizeDisplay({"": curve})


def draw_explanation(
    change: ExplainedChange, titles: tuple[str, str], feature_names: list[str]
) -> Picture:
    """Plot the parts of the distances to a removed and an added neighbour, on the same axis.

    Parameters
    ----------
    change : ExplainedChange
        A sample and its changed neighbours.
    titles : tuple of str
        Titles of both distances.
    feature_names : list of str
        Names of the features.
    """
    n_bars = min(MAX_EXPLAINED_FEATURES + 1, len(feature_names))
    display = _PartsOfDistances((change.removed, change.added), titles, feature_names)
    return draw_picture(1.2 + 0.5 * n_bars, display)


class _PartsOfDistances:
    """Bars of the parts of two squared distances, one above the other.

    Parameters
    ----------
    neighbors : tuple of ExplainedNeighbor
        The parts of both distances.
    titles : tuple of str
        Titles of both panels.
    names : list of str
        Names of the features.
    """

    def __init__(
        self,
        neighbors: tuple[ExplainedNeighbor, ExplainedNeighbor],
        titles: tuple[str, str],
        names: list[str],
    ) -> None:
        self.neighbors, self.titles, self.names = neighbors, titles, names

    def plot(self, ax: Any) -> None:
        """Replace the axes by two panels, and draw the bars."""
        from dimetric.plot import PairExplanationDisplay

        figure = ax.figure
        ax.remove()
        panels = figure.subplots(2, sharex=True)
        for panel, each, title in zip(panels, self.neighbors, self.titles, strict=True):
            PairExplanationDisplay(
                each.parts, feature_names=self.names, top=MAX_EXPLAINED_FEATURES, title=title
            ).plot(ax=panel)
            panel.set_title(panel.get_title(), fontsize=10)
        panels[0].set_xlabel("")
        panels[0].locator_params(axis="x", nbins=MAX_TICKS)


def _scores(choice: Choice) -> Picture:
    """Plot the scores of all learners, and of reference models below them."""
    from dimetric.benchmark._summary import LearnerScores
    from dimetric.plot import ComparisonDisplay

    rows = [
        LearnerScores(row.learner + mark, scores, row.score, row.std, 0, len(scores), 0.0)
        for table, by_name, mark in (
            (choice.table, choice.scores, ""),
            (choice.reference_table, choice.references, " (reference)"),
        )
        for row in table
        for scores in [by_name[row.learner]]
    ]
    display = ComparisonDisplay(rows, score_name=f"test {choice.task.score_name}")
    return draw_picture(0.9 + 0.3 * len(rows), display, n_ticks=MAX_TICKS)


def _scatter_plots(record: ReportRecord, names: tuple[str, str]) -> tuple[Picture, Picture]:
    """Plot the samples under the Euclidean and the learned distance."""
    from dimetric.plot import EmbeddingDisplay

    insight = record.insight
    y = record.y[insight.rows]
    if record.choice.task.is_regression:
        target = cut_middle(record.target, MAX_AXIS_NAME_LENGTH)
        display = partial(EmbeddingDisplay, y=y, by="numbers", target_name=target)
    else:
        labels, legend = _labels(y)
        display = partial(EmbeddingDisplay, y=labels, by="classes", legend=legend)
    before, after = (
        draw_picture(3.6, display(Z, title=name))
        for Z, name in zip((insight.before, insight.after), names, strict=True)
    )
    return before, after


def _prediction_plots(
    predictions: PredictedNumbers, target: str, names: tuple[str, str]
) -> tuple[Picture, Picture]:
    """Plot predicted against true numbers under both distances, with the same axes."""
    values = np.concatenate([predictions.true, predictions.before, predictions.after])
    before, after = (
        draw_picture(3.9, _PredictedAgainstTrue(predictions.true, each, values, target, name))
        for each, name in zip((predictions.before, predictions.after), names, strict=True)
    )
    return before, after


class _PredictedAgainstTrue:
    """A scatter plot of predicted against true numbers, with the diagonal of perfect predictions.

    Parameters
    ----------
    true, predicted : ndarray of shape (n_rows,)
        The numbers.
    values : ndarray
        All numbers that both axes must contain.
    target, title : str
        Name of the target, and title of the plot.
    """

    def __init__(
        self, true: np.ndarray, predicted: np.ndarray, values: np.ndarray, target: str, title: str
    ) -> None:
        self.true, self.predicted, self.target, self.title = true, predicted, target, title
        low, high = float(np.min(values)), float(np.max(values))
        margin = AXIS_MARGIN * (high - low)
        self.limits = low - margin, high + margin

    def plot(self, ax: Any) -> None:
        """Draw the points and the diagonal."""
        from dimetric.plot._matplotlib import plain_text
        from dimetric.plot._palette import theme_of

        theme = theme_of(ax)
        ax.plot(self.limits, self.limits, color=theme.ink, linewidth=1, linestyle="--", zorder=1)
        points, counts = np.unique(
            np.column_stack([self.true, self.predicted]), axis=0, return_counts=True
        )
        areas = POINT_AREA * np.minimum(counts, MAX_POINT_COUNT)  # ordinal numbers coincide
        ax.scatter(*points.T, s=areas, color=theme.colors[0], alpha=0.5, linewidths=0, zorder=2)
        ax.set(xlim=self.limits, ylim=self.limits, aspect="equal")
        ax.locator_params(nbins=MAX_TICKS)
        name = plain_text(cut_middle(self.target, MAX_AXIS_NAME_LENGTH))
        ax.set_xlabel(f"true {name}")
        ax.set_ylabel(f"predicted {name}")
        ax.set_title(plain_text(cut_middle(self.title, MAX_AXIS_NAME_LENGTH)))


def _labels(y: np.ndarray) -> tuple[np.ndarray, str]:
    """Return the class name of each sample, and the position of the legend.

    With many classes, the page has a legend (see `class_legend`), and the plot has none.
    """
    classes, codes = np.unique(y.astype(str), return_inverse=True)
    if len(classes) > MAX_LEGEND_CLASSES:
        return y.astype(str), "none"
    names = np.array(distinct_names(list(classes), MAX_LABEL_LENGTH))
    return names[codes], "beside"


class ClassMark(NamedTuple):
    """A class in the legend of a page: its marker, and its colours on light and dark pages."""

    name: str
    glyph: str
    light: str
    dark: str


def class_legend(y: np.ndarray) -> list[ClassMark]:
    """Return the marks of the plotted classes, or nothing if the plots have a legend.

    Parameters
    ----------
    y : ndarray of shape (n_rows,)
        Classes of the plotted samples.
    """
    from dimetric.plot._labels import sorted_classes
    from dimetric.plot._palette import DARK, LIGHT

    classes, _ = sorted_classes(np.unique(y.astype(str)))
    if len(classes) <= MAX_LEGEND_CLASSES:
        return []
    names = distinct_names(list(classes), MAX_MARK_NAME_LENGTH)
    pairs = zip(LIGHT.class_styles(len(names)), DARK.class_styles(len(names)), strict=True)
    return [
        ClassMark(name, GLYPHS[light.marker][not light.filled], light.color, dark.color)
        for name, (light, dark) in zip(names, pairs, strict=True)
    ]


def _heat_map(metric: np.ndarray, names: list[str]) -> Picture:
    """Plot the matrix M of the most important features."""
    from dimetric.plot import MetricDisplay

    largest = np.argsort(-np.diag(metric), kind="stable")[:MAX_HEAT_MAP_FEATURES]
    shown = np.sort(largest)
    labels = distinct_names([names[i] for i in shown], MAX_TICK_LENGTH)
    return draw_picture(4.6, MetricDisplay(metric[np.ix_(shown, shown)], feature_names=labels))
