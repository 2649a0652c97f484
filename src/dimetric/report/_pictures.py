"""The pictures of a report, as ``data:`` addresses: the page holds them itself."""

import warnings
from base64 import b64encode
from functools import partial
from io import BytesIO
from typing import Any

import numpy as np

from dimetric.report._records import BASELINE, Choice, Insight, ReportRecord
from dimetric.report._text import shorten

WIDTH_INCHES = 5.2  # letters stay large enough on the screen of a telephone
DOTS_PER_INCH = 150
MAX_HEAT_MAP_FEATURES = 20
MAX_LEGEND_CLASSES = 12
MAX_LABEL_LENGTH = 14


def draw_all(record: ReportRecord) -> dict[str, str]:
    """Return all pictures of a report by name: scores, before, after, metric.

    Parameters
    ----------
    record : ReportRecord
        What the report shows. There is no picture "metric" if the distance has no matrix.
    """
    choice, insight = record.choice, record.insight
    before, after = _scatter_plots(insight, record.y, (BASELINE, choice.best))
    pictures = {"scores": _scores(choice), "before": before, "after": after}
    if insight.metric is not None:
        pictures["metric"] = _heat_map(insight.metric, record.feature_names)
    return pictures


def _scores(choice: Choice) -> str:
    """Return a picture of the scores of all learners."""
    from dimetric.benchmark._summary import LearnerScores
    from dimetric.plot import ComparisonDisplay

    rows = [
        LearnerScores(row.learner, own, row.score, row.spread, 0, len(own), 0.0)
        for row in choice.table
        for own in [choice.scores[row.learner]]
    ]
    return _picture(0.9 + 0.3 * len(rows), ComparisonDisplay(rows), few_ticks=True)


def _scatter_plots(insight: Insight, y: np.ndarray, names: tuple[str, str]) -> tuple[str, str]:
    """Return pictures of the samples under both distances."""
    from dimetric.plot import EmbeddingDisplay

    labels, legend = _labels(y[insight.rows])
    display = partial(EmbeddingDisplay, y=labels, legend=legend, axis_name="direction")
    before, after = (
        _picture(3.6, display(Z, title=name))
        for Z, name in zip((insight.before, insight.after), names, strict=True)
    )
    return before, after


def _labels(y: np.ndarray) -> tuple[np.ndarray, str]:
    """Return short names of classes, and where they are shown: nowhere, if they are too many."""
    classes, codes = np.unique(y.astype(str), return_inverse=True)
    short = np.array([shorten(each, MAX_LABEL_LENGTH) for each in classes])
    if len(set(short)) < len(classes):  # long names that differ in the middle
        short = np.array([f"class {i + 1}" for i in range(len(classes))])
    if len(classes) <= MAX_LEGEND_CLASSES:
        return short[codes], "beside"
    return short[codes], "centres" if max(map(len, short)) <= 3 else "none"


def _heat_map(metric: np.ndarray, names: list[str]) -> str:
    """Return a picture of the matrix M, restricted to the features that count most."""
    from dimetric.plot import MetricDisplay

    largest = np.argsort(-np.diag(metric), kind="stable")[:MAX_HEAT_MAP_FEATURES]
    shown = np.sort(largest)
    labels = [shorten(names[i], MAX_LABEL_LENGTH) for i in shown]
    return _picture(4.6, MetricDisplay(metric[np.ix_(shown, shown)], feature_names=labels))


def _picture(height: float, display: Any, *, few_ticks: bool = False) -> str:
    """Return what a display draws as a ``data:`` address.

    The figure is drawn in memory, with matplotlib's default style whatever the user has set; the
    user's settings stay as they are.
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
        warnings.filterwarnings("ignore", "Glyph")  # the caption shows what the font lacks
        figure = Figure(figsize=(WIDTH_INCHES, height), layout="constrained")
        FigureCanvasAgg(figure)
        ax = figure.add_subplot()
        display.plot(ax=ax)
        if few_ticks:
            ax.locator_params(axis="x", nbins=5)
        figure.savefig(content, format="png", dpi=DOTS_PER_INCH, metadata={"Software": None})
    return f"data:image/png;base64,{b64encode(content.getvalue()).decode()}"
