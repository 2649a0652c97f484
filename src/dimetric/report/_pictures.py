"""Draw the plots of a report as ``data:`` URLs, which are part of the page itself."""

import warnings
from base64 import b64encode
from functools import partial
from io import BytesIO
from typing import Any

import numpy as np

from dimetric.report._records import BASELINE, Choice, Insight, ReportRecord
from dimetric.report._text import cut_middle

WIDTH_INCHES = 5.2  # narrow, so that text stays readable on a phone
DOTS_PER_INCH = 150
MAX_TICKS = 5  # on an axis whose tick labels are long
MAX_HEAT_MAP_FEATURES = 20  # rows and columns whose names stay readable
MAX_LEGEND_CLASSES = 12  # lines of a legend as high as the plot
MAX_LABEL_LENGTH = 14  # characters
MAX_CENTRE_LABEL_LENGTH = 3  # characters; longer names at the centres of classes would overlap


def draw_all(record: ReportRecord) -> dict[str, str]:
    """Return the plots of a report by name: "scores", "before", "after" and "metric".

    Parameters
    ----------
    record : ReportRecord
        The contents of the report. Without a matrix M, the plot "metric" is left out.
    """
    choice, insight = record.choice, record.insight
    before, after = _scatter_plots(insight, record.y, (BASELINE, choice.best))
    pictures = {"scores": _scores(choice), "before": before, "after": after}
    if insight.metric is not None:
        pictures["metric"] = _heat_map(insight.metric, record.feature_names)
    return pictures


def _scores(choice: Choice) -> str:
    """Plot the scores of all learners."""
    from dimetric.benchmark._summary import LearnerScores
    from dimetric.plot import ComparisonDisplay

    rows = [
        LearnerScores(row.learner, scores, row.score, row.std, 0, len(scores), 0.0)
        for row in choice.table
        for scores in [choice.scores[row.learner]]
    ]
    return _picture(0.9 + 0.3 * len(rows), ComparisonDisplay(rows), few_ticks=True)


def _scatter_plots(insight: Insight, y: np.ndarray, names: tuple[str, str]) -> tuple[str, str]:
    """Plot the samples under the Euclidean and the learned distance."""
    from dimetric.plot import EmbeddingDisplay

    labels, legend = _labels(y[insight.rows])
    display = partial(EmbeddingDisplay, y=labels, legend=legend)
    before, after = (
        _picture(3.6, display(Z, title=name))
        for Z, name in zip((insight.before, insight.after), names, strict=True)
    )
    return before, after


def _labels(y: np.ndarray) -> tuple[np.ndarray, str]:
    """Return a short class name for each sample, and the position of the legend."""
    classes, codes = np.unique(y.astype(str), return_inverse=True)
    short_names = np.array([cut_middle(each, MAX_LABEL_LENGTH) for each in classes])
    if len(set(short_names)) < len(classes):  # the names differ only in the part that was removed
        short_names = np.array([f"class {i + 1}" for i in range(len(classes))])
    if len(classes) <= MAX_LEGEND_CLASSES:
        return short_names[codes], "beside"
    fits = max(map(len, short_names)) <= MAX_CENTRE_LABEL_LENGTH
    return short_names[codes], "centres" if fits else "none"


def _heat_map(metric: np.ndarray, names: list[str]) -> str:
    """Plot the matrix M of the most important features."""
    from dimetric.plot import MetricDisplay

    largest = np.argsort(-np.diag(metric), kind="stable")[:MAX_HEAT_MAP_FEATURES]
    shown = np.sort(largest)
    labels = [cut_middle(names[i], MAX_LABEL_LENGTH) for i in shown]
    return _picture(4.6, MetricDisplay(metric[np.ix_(shown, shown)], feature_names=labels))


def _picture(height: float, display: Any, *, few_ticks: bool = False) -> str:
    """Draw a display and return the image as a ``data:`` URL.

    The figure uses matplotlib's default style. The user's own settings are neither used nor
    changed.
    """
    from matplotlib import style
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    from dimetric.plot._fonts import font_families

    content = BytesIO()
    with (
        style.context(["default", {"font.family": font_families()}]),
        warnings.catch_warnings(),
    ):
        warnings.filterwarnings("ignore", "Glyph")  # class names are also in the page's text
        figure = Figure(figsize=(WIDTH_INCHES, height), layout="constrained")
        FigureCanvasAgg(figure)
        ax = figure.add_subplot()
        display.plot(ax=ax)
        if few_ticks:
            ax.locator_params(axis="x", nbins=MAX_TICKS)
        figure.savefig(content, format="png", dpi=DOTS_PER_INCH, metadata={"Software": None})
    return f"data:image/png;base64,{b64encode(content.getvalue()).decode()}"
