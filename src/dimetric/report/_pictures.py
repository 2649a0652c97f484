"""The pictures of a report, as texts that a page holds: nothing is loaded from elsewhere."""

import warnings
from base64 import b64encode
from functools import partial
from io import BytesIO
from typing import TYPE_CHECKING, Any

from dimetric.cli._picture import no_window
from dimetric.report._html import shortened

if TYPE_CHECKING:
    import numpy as np

    from dimetric.advice._compare import Choice
    from dimetric.advice._insight import Insight

WIDTH = 5.2  # inches: letters are large enough where a telephone shows it
SHARP = 150  # dots an inch
FEATURES = 20  # of the heat map, at most
CLASSES, LETTERS = 12, 14  # that a legend has room for


def scores(found: "Choice") -> str:
    """Return a picture of all learners' scores.

    Parameters
    ----------
    found : Choice
        The comparison.
    """
    import numpy as np

    from dimetric.benchmark._summary import LearnerScores
    from dimetric.plot import ComparisonDisplay

    rows = [
        LearnerScores(name, own, mean, float(np.std(own, ddof=1)), 0, len(own), 0.0)
        for name, mean in found.means.items()
        for own in [found.scores[name]]
    ]
    height = 0.9 + 0.3 * len(rows)
    return _picture(height, ComparisonDisplay(rows), few_ticks=True)


def scatters(seen: "Insight", y: "np.ndarray", names: tuple[str, str]) -> tuple[str, str]:
    """Return pictures of samples before and after.

    Parameters
    ----------
    seen : Insight
        With the samples.
    y : ndarray
        Classes of all samples.
    names : tuple of str
        What the distances are called.
    """
    from dimetric.plot import EmbeddingDisplay

    labels, legend = _labels(y[seen.rows])
    display = partial(EmbeddingDisplay, y=labels, legend=legend, axis_name="direction")
    first, second = (
        _picture(3.6, display(Z, title=name))
        for Z, name in zip((seen.before, seen.after), names, strict=True)
    )
    return first, second


def _labels(y: "np.ndarray") -> "tuple[np.ndarray, str]":
    """Return short names of classes, and where they are shown: nowhere, if they are too many."""
    import numpy as np

    classes, codes = np.unique(y.astype(str), return_inverse=True)
    short = np.array([shortened(each, LETTERS) for each in classes])
    if len(set(short)) < len(classes):  # long names that differ in the middle
        short = np.array([f"class {i + 1}" for i in range(len(classes))])
    if len(classes) <= CLASSES:
        return short[codes], "beside"
    return short[codes], "centres" if max(map(len, short)) <= 3 else "none"


def heat_map(seen: "Insight", names: "list[str]") -> str:
    """Return a picture of the matrix M, of those features that count most.

    Parameters
    ----------
    seen : Insight
        With the matrix.
    names : list of str
        Names of the features, as the matrix has them.
    """
    import numpy as np

    from dimetric.plot import MetricDisplay

    assert seen.metric is not None
    largest = np.argsort(-np.diag(seen.metric), kind="stable")[:FEATURES]
    shown = np.sort(largest)
    M = seen.metric[np.ix_(shown, shown)]
    display = MetricDisplay(M, feature_names=[shortened(names[i], LETTERS) for i in shown])
    return _picture(4.6, display)


def _picture(height: float, display: Any, *, few_ticks: bool = False) -> str:
    """Return what a display draws as the address of a picture."""
    no_window()  # and letters of all scripts, where there are any
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    FigureCanvasAgg(figure)
    content = BytesIO()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph")  # the page itself shows what the font has not
        ax = figure.add_subplot()
        display.plot(ax=ax)
        if few_ticks:
            ax.locator_params(axis="x", nbins=5)
        figure.savefig(content, format="png", dpi=SHARP, metadata={"Software": None})
    return f"data:image/png;base64,{b64encode(content.getvalue()).decode()}"
