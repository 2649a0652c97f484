"""Compare pictures with those in the folder ``baseline``.

The pictures contain no text, because its pixels depend on the version of the font library. Texts
are tested in test_displays.py. ``DIMETRIC_BASELINE=1 pytest tests/plot/test_pictures.py`` redraws
the baselines. Look at them before you commit them.
"""

import os
from pathlib import Path

import matplotlib
import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.testing.compare import calculate_rms
from matplotlib.text import Text

from dimetric import LDA, KNNClassifier
from dimetric.benchmark import BenchmarkResult, Cell
from dimetric.plot import (
    ComparisonDisplay,
    EmbeddingDisplay,
    HistoryDisplay,
    MetricDisplay,
    NeighborhoodDisplay,
    PairExplanationDisplay,
    QualityDisplay,
    RegionsDisplay,
    ResidualVarianceDisplay,
    SampleSizeDisplay,
    ScreeDisplay,
    SimplexDisplay,
)
from dimetric.quality import embedding_quality, neighborhood
from dimetric.selection import LearningCurve
from dimetric.stats import sign_test

BASELINE = Path(__file__).parent / "baseline"
TOLERANCE = 6.0  # root mean squared difference of pixel values from 0 to 255


def spiral(n=60):
    """Return points on a spiral in three classes, without random numbers."""
    t = np.arange(n) * 0.35
    Z = np.column_stack([t * np.cos(t), t * np.sin(t)]) / 5
    return Z, np.arange(n) * 3 // n


def benchmark_result():
    scores = {"Euclidean": [0.7, 0.8, 0.75], "NCA": [0.9, 0.95, 0.91], "LDA": [0.8, 0.85, np.nan]}
    return BenchmarkResult(
        [
            Cell("wine", name, 3, 0, fold, test, test, 1.0, 1.0, "ok" if test == test else "failed")
            for name, tests in scores.items()
            for fold, test in enumerate(tests)
        ]
    )


def learning_curves():
    sizes, folds = np.array([20, 60, 180]), np.array([-0.02, 0.0, 0.02])
    means = {"a": [0.7, 0.8, 0.84], "b": [0.6, 0.78, 0.88]}
    return {
        name: LearningCurve(sizes, np.array(each)[:, None] + folds, np.ones((3, 3)), 225, 0.2)
        for name, each in means.items()
    }


Z, Y = spiral()
SHIFTED = Z @ np.array([[0.2, 0.1], [0.0, 1.5]])
NEIGHBORHOOD = neighborhood(Z, SHIFTED, 20, n_neighbors=6)
PICTURES = {
    "embedding": lambda ax: EmbeddingDisplay.from_embedding(Z, Y, ax=ax),
    "embedding-line": lambda ax: EmbeddingDisplay.from_embedding(Z[:, :1], Y, ax=ax),
    "embedding-numbers": lambda ax: EmbeddingDisplay.from_embedding(Z, Z[:, 0], ax=ax),
    "embedding-many": lambda ax: EmbeddingDisplay.from_embedding(
        Z, np.arange(60) // 2, ax=ax, legend="beside", by="classes"
    ),
    "metric": lambda ax: MetricDisplay(np.array([[2.0, -1, 0], [-1, 1, 0.5], [0, 0.5, 3]])).plot(
        ax=ax
    ),
    "neighborhood": lambda ax: NeighborhoodDisplay(NEIGHBORHOOD, Y).plot(ax=ax),
    "pair-explanation": lambda ax: PairExplanationDisplay([1.0, -0.8, 3.0, 0.3, 0.1], top=4).plot(
        ax=ax
    ),
    "comparison": lambda ax: ComparisonDisplay.from_benchmark(benchmark_result(), ax=ax),
    "regions": lambda ax: RegionsDisplay.from_learner(LDA(n_components=1), Z, Y, ax=ax),
    "regions-line": lambda ax: RegionsDisplay.from_estimator(KNNClassifier(), Z[:, :1], Y, ax=ax),
    "sample-size": lambda ax: SampleSizeDisplay(learning_curves()).plot(ax=ax),
    "history": lambda ax: HistoryDisplay({"a": [3, 1, 0.5], "b": [2.0, 1.5, 1.4, 1.3]}).plot(ax=ax),
    "residual": lambda ax: ResidualVarianceDisplay(
        {"Isomap": {1: 0.3, 2: 0.01, 3: 0.01}, "MDS": {1: 0.6, 2: 0.3, 3: 0.0}}
    ).plot(ax=ax),
    "scree": lambda ax: ScreeDisplay([0.6, 0.25, 0.1, 0.05], threshold=0.8).plot(ax=ax),
    "quality": lambda ax: QualityDisplay({"squeezed": embedding_quality(Z, SHIFTED)}).plot(ax=ax),
    "simplex": lambda ax: SimplexDisplay(
        sign_test([0.1, 0.2, 0.3, 0.9], [0.2, 0.3, 0.5, 0.9], random_state=0, n_samples=2000)
    ).plot(ax=ax, gridsize=15),
}


def drawn(draw, file):
    """Draw a picture without text and without a layout that depends on the size of text."""
    with matplotlib.rc_context(matplotlib.rcParamsDefault | {"backend": "agg"}):
        figure = Figure(figsize=(3.2, 2.4), dpi=50)
        FigureCanvasAgg(figure)
        figure.subplots_adjust(0.02, 0.02, 0.98, 0.98)
        draw(figure.subplots())
        for text in (*figure.findobj(Text), *figure.findobj(Legend)):
            text.set_visible(False)
        figure.savefig(file, dpi=50, metadata={"Software": None})
    return pixels(file)


def pixels(file):
    from PIL import Image

    with Image.open(file) as image:
        return np.asarray(image.convert("RGB"))


@pytest.mark.parametrize("name", PICTURES)
def test_picture_matches_baseline(name, tmp_path):
    expected = BASELINE / f"{name}.png"
    if os.environ.get("DIMETRIC_BASELINE"):
        drawn(PICTURES[name], expected)
    found = drawn(PICTURES[name], tmp_path / f"{name}.png")
    assert calculate_rms(pixels(expected), found) < TOLERANCE, f"see {tmp_path}"


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("embedding", lambda ax: EmbeddingDisplay.from_embedding(Z, Y[::-1], ax=ax)),
        ("embedding", lambda ax: EmbeddingDisplay.from_embedding(Z[:, ::-1], Y, ax=ax)),
        ("embedding", lambda ax: EmbeddingDisplay.from_embedding(Z[:-6], Y[:-6], ax=ax)),
        ("metric", lambda ax: MetricDisplay(np.diag([2.0, 1, 3])).plot(ax=ax)),
        ("neighborhood", lambda ax: NeighborhoodDisplay(NEIGHBORHOOD, Y[::-1]).plot(ax=ax)),
        ("regions", lambda ax: RegionsDisplay.from_learner(LDA(n_components=2), Z, Y, ax=ax)),
        ("pair-explanation", lambda ax: PairExplanationDisplay([1.0, 0.8, 3.0, 0.4]).plot(ax=ax)),
        ("scree", lambda ax: ScreeDisplay([0.5, 0.3, 0.1, 0.1], threshold=0.8).plot(ax=ax)),
        ("history", lambda ax: HistoryDisplay({"a": [3, 1, 0.5]}).plot(ax=ax)),
    ],
)
def test_wrong_picture_differs_from_baseline(name, wrong, tmp_path):
    found = drawn(wrong, tmp_path / "wrong.png")
    assert calculate_rms(pixels(BASELINE / f"{name}.png"), found) > 1.2 * TOLERANCE
