"""Tests of the displays: data of the artists, texts, layout and error messages."""

import sys
import warnings
from itertools import pairwise

import matplotlib
import matplotlib.pyplot
import matplotlib.style
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex, to_rgb
from matplotlib.text import Text
from matplotlib.transforms import Bbox
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from dimetric import KPCA, LDA, LMNN, MDS, NCA, PCA, Isomap, KNNClassifier, benchmark
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
)
from dimetric.plot._labels import non_overlapping_offsets, sorted_classes
from dimetric.plot._palette import COLORS, DARK, LIGHT, luminance
from dimetric.plot._short_names import short_names
from dimetric.quality import embedding_quality, neighborhood
from dimetric.selection import LearningCurve

X, y = load_iris(return_X_y=True)
FRAME, _ = load_iris(return_X_y=True, as_frame=True)
NAMES = load_iris().target_names[y]


@pytest.fixture(autouse=True)
def no_window():
    matplotlib.use("agg")
    yield
    matplotlib.pyplot.close("all")


def legend_of(display):
    return [text.get_text() for text in display.legend_.get_texts()]


def is_inside(figure, artist):
    """Return whether an artist lies within the figure."""
    figure.draw_without_rendering()
    box, whole = artist.get_window_extent(), figure.bbox
    return box.x0 >= -1 and box.y0 >= -1 and box.x1 <= whole.x1 + 1 and box.y1 <= whole.y1 + 1


class TestEmbedding:
    def test_positions_and_colours_of_samples(self):
        display = EmbeddingDisplay.from_embedding(X[:, :2], NAMES)
        for i, name in enumerate(("setosa", "versicolor", "virginica")):
            assert display.classes_[i] == name
            drawn = NAMES[display.order_] == name
            offsets, colors = display.points_[0].get_offsets(), display.points_[0].get_facecolor()
            assert_array_equal(offsets[drawn], X[display.order_][drawn, :2])
            assert {to_hex(each) for each in colors[drawn]} == {COLORS[i].lower()}
        assert legend_of(display) == ["setosa", "versicolor", "virginica"]
        assert display.ax_.get_aspect() == 1  # distances are comparable in all directions

    @pytest.mark.parametrize("n_classes", [2, 12, 40, 150])
    @pytest.mark.parametrize("d", [2, 3])
    def test_all_class_names_are_readable_and_inside_the_figure(self, n_classes, d, rng):
        codes = np.repeat(np.arange(n_classes), 5)
        names = np.array([f"a rather long name, number {i}" for i in range(n_classes)])
        Z = rng.normal(size=(len(codes), d)) + 3 * rng.normal(size=(n_classes, d))[codes]
        display = EmbeddingDisplay.from_embedding(Z, names[codes])
        if n_classes <= 24 or d == 3:
            assert len(set(legend_of(display))) == n_classes
            assert is_inside(display.figure_, display.legend_)
        else:
            assert display.legend_ is None
            assert len({label.get_text() for label in display.labels_}) == n_classes
            display.figure_.draw_without_rendering()
            # Text.get_window_extent excludes the line of an annotation.
            boxes = [Text.get_window_extent(label) for label in display.labels_]
            for i, one in enumerate(boxes):  # labels hardly overlap
                shared = [Bbox.intersection(one, other) for other in boxes[i + 1 :]]
                assert all(b is None or b.height < 0.4 * one.height for b in shared)

    def test_168_classes_have_different_styles(self):
        Z = np.arange(168.0)[:, None].repeat(2, axis=1)
        display = EmbeddingDisplay.from_embedding(Z, np.arange(168), by="classes", legend="none")
        styles = set()
        for points in display.points_:
            shape = points.get_paths()[0].vertices.tobytes()
            faces, edges = points.get_facecolor(), points.get_edgecolor()
            filled = len(faces) > 0
            styles |= {(filled, str(each), shape) for each in (faces if filled else edges)}
        assert len(styles) == 168

    def test_numbers_have_a_colour_bar_and_classes_a_legend(self):
        numbers = EmbeddingDisplay.from_embedding(X[:, :2], X[:, 2], target_name="petal")
        assert numbers.legend_ is None
        assert numbers.colorbar_.ax.get_ylabel() == "petal"
        assert_array_equal(numbers.points_[0].get_array(), X[numbers.order_, 2])
        assert numbers.colorbar_.solids.get_alpha() == 1
        assert EmbeddingDisplay.from_embedding(X[:, :2], y).colorbar_ is None
        many = EmbeddingDisplay.from_embedding(np.zeros((300, 2)), np.arange(300))
        assert many.colorbar_ is not None
        forced = EmbeddingDisplay.from_embedding(X[:, :2], y, by="numbers")
        assert forced.colorbar_ is not None

    def test_outliers_do_not_hide_the_differences_of_other_numbers(self, rng):
        y = np.append(rng.normal(size=149), 1e6)
        display = EmbeddingDisplay.from_embedding(X[:, :2], y)
        assert display.points_[0].get_clim()[1] < 10
        assert display.colorbar_.extend == "max"
        skewed = EmbeddingDisplay.from_embedding(X[:, :2], X[:, 2])
        assert skewed.points_[0].get_clim() == (X[:, 2].min(), X[:, 2].max())

    def test_1d_embedding_has_a_row_for_each_class(self):
        display = EmbeddingDisplay.from_embedding(X[:, :1], NAMES)
        assert [tick.get_text() for tick in display.ax_.get_yticklabels()] == list(np.unique(NAMES))
        heights = display.points_[0].get_offsets()[:, 1]
        assert_allclose(heights, y[display.order_], atol=0.26)
        numbers = EmbeddingDisplay.from_embedding(X[:, :1], X[:, 2])
        assert_array_equal(numbers.points_[0].get_offsets()[:, 1], X[numbers.order_, 2])
        without_y = EmbeddingDisplay.from_embedding(X[:, :1])
        assert len(without_y.ax_.get_yticks()) == 0

    def test_samples_are_drawn_in_random_order(self):
        first, second = (EmbeddingDisplay.from_embedding(X[:, :2], y) for _ in range(2))
        assert_array_equal(first.order_, second.order_)
        assert_array_equal(np.sort(first.order_), np.arange(len(X)))
        for half in np.array_split(y[first.order_], 2):  # all classes are in front in some places
            assert np.all(np.bincount(half) > 15)

    def test_samples_of_classes_with_different_markers_are_mixed(self, rng):
        codes = np.repeat(np.arange(9), 20)
        display = EmbeddingDisplay.from_embedding(rng.normal(size=(180, 2)), codes)
        shapes = [points.get_paths()[0].vertices.tobytes() for points in display.points_]
        assert sum(a != b for a, b in pairwise(shapes)) > 10
        assert sum(len(points.get_offsets()) for points in display.points_) == 180

    def test_many_samples_are_small_and_transparent(self, rng):
        alphas, sizes = [], []
        for n in (100, 2000, 20_000):
            display = EmbeddingDisplay.from_embedding(rng.normal(size=(n, 2)), np.arange(n) % 3)
            alphas.append(display.points_[0].get_alpha())
            sizes.append(display.points_[0].get_sizes()[0])
        assert 0.9 > alphas[0] > alphas[1] > alphas[2] > 0.2
        assert sizes[0] > sizes[1] >= sizes[2]

    def test_colours_suit_a_dark_background(self):
        def contrast(a, b):
            low, high = sorted((luminance(to_rgb(a)), luminance(to_rgb(b))))
            return (high + 0.05) / (low + 0.05)

        with matplotlib.style.context("dark_background"):
            display = EmbeddingDisplay.from_embedding(X[:, :2], NAMES, legend="centres")
            found = {to_hex(each) for each in display.points_[0].get_facecolor()}
            assert found == {each.lower() for each in DARK.colors[:3]}
            assert all(label.get_color() == DARK.ink for label in display.labels_)
        for theme, lowest in ((LIGHT, 2.2), (DARK, 4.5)):
            assert contrast(theme.ink, theme.paper) > 7
            assert min(contrast(each, theme.paper) for each in theme.colors) > lowest
            numbers = theme.sequential_cmap()([0.0, 1.0])
            assert min(contrast(each[:3], theme.paper) for each in numbers) > 1.5

    def test_special_characters_in_names_are_displayed_literally(self):
        names = np.array(["_hidden", "$x^2$", "日本\nx", "été"])
        display = EmbeddingDisplay.from_embedding(np.eye(4)[:, :2], names)
        with warnings.catch_warnings():  # the default font lacks some characters
            warnings.filterwarnings("ignore", "Glyph")
            display.figure_.draw_without_rendering()
        assert set(legend_of(display)) == {"_hidden", r"\$x^2\$", "日本 x", "été"}

    def test_one_sample(self):
        display = EmbeddingDisplay.from_embedding([[1.0, 2.0]], ["a"])
        display.figure_.draw_without_rendering()
        assert_array_equal(display.points_[0].get_offsets(), [[1, 2]])

    def test_from_estimator(self):
        lda = LDA().fit(FRAME, y)
        display = EmbeddingDisplay.from_estimator(lda, FRAME, y, title="LDA")
        assert_allclose(
            display.points_[0].get_offsets(), np.asarray(lda.transform(FRAME))[display.order_]
        )
        assert EmbeddingDisplay.from_estimator(PCA().fit(X), X).points_[0].get_offsets().shape == (
            150,
            2,
        )
        with pytest.raises(NotFittedError):
            EmbeddingDisplay.from_estimator(LDA(), X, y)
        with pytest.raises(TypeError, match="DecisionTreeClassifier has no transform method"):
            EmbeddingDisplay.from_estimator(DecisionTreeClassifier().fit(X, y), X)

    @pytest.mark.parametrize(
        ("given", "error"),
        [
            ((X, y), "The embedding has 4 components, but"),
            ((X[:, :2], y[:-1]), "y has shape .149,., but there are 150 samples"),
            (([[np.nan, 1]], [1]), "NaN"),
            ((X[:2, :2], [1.0, np.nan]), "y contains NaN or infinity"),
            ((X[:2, :2], ["a", None]), "y has missing values"),
            (
                (np.zeros((500, 2)), [f"id {i}" for i in range(500)]),
                "y contains 500 classes, but",
            ),
        ],
    )
    def test_bad_input(self, given, error):
        with pytest.raises(ValueError, match=error):
            EmbeddingDisplay.from_embedding(*given)

    @pytest.mark.parametrize(
        ("options", "error"),
        [
            ({"by": "kind"}, "by='kind' must be one of"),
            ({"legend": "inside"}, "legend='inside' must be one of"),
            ({"by": "numbers"}, "y is not numeric"),
        ],
    )
    def test_bad_options(self, options, error):
        with pytest.raises(ValueError, match=error):
            EmbeddingDisplay.from_embedding(X[:, :2], NAMES, **options)

    def test_unsuitable_axes(self):
        _, ax = matplotlib.pyplot.subplots()
        with pytest.raises(ValueError, match="create ax with projection='3d'"):
            EmbeddingDisplay.from_embedding(X[:, :3], ax=ax)
        with pytest.raises(ValueError, match="legend='centres' requires two components"):
            EmbeddingDisplay.from_embedding(X[:, :3], y, legend="centres")
        with pytest.raises(TypeError, match="ax must be matplotlib axes, not str"):
            EmbeddingDisplay.from_embedding(X[:, :2], ax="here")
        assert EmbeddingDisplay.from_embedding(X[:, :2], ax=ax).ax_ is ax


def test_natural_order():
    classes, codes = sorted_classes(np.array(["b10", "b9", "a", "b10"]))
    assert_array_equal(classes, ["a", "b9", "b10"])
    assert_array_equal(codes, [2, 1, 0, 2])


def test_natural_order_of_very_long_numbers():
    names = ["c" + "1" * 9000, "c" + "0" * 9000 + "7", "c10", "c9", "c\u0663", "c0"]
    assert list(sorted_classes(np.array(names))[0]) == [names[i] for i in (5, 1, 3, 2, 0, 4)]


def test_short_names_are_distinct():
    names = [f"the_long_name_of_intent_{i}_in_a_bank" for i in range(30)]
    for max_length in (12, 20):
        short = short_names(names, max_length)
        assert len(set(short)) == 30
        assert max(map(len, short)) <= max_length
    assert short_names(["a", "b" * 50], 10)[0] == "a"
    assert len(set(short_names(["x" * 40, "x" * 41, "x" * 42], 12))) == 3


def test_class_names_without_room_are_omitted():
    figure = matplotlib.pyplot.figure(figsize=(1, 1))
    ax = figure.add_axes((0.1, 0.1, 0.8, 0.8))
    Z = np.column_stack([np.arange(60), np.arange(60) % 7])
    display = EmbeddingDisplay.from_embedding(Z, np.arange(60), by="classes", ax=ax)
    written = [label for label in display.labels_ if label is not None]
    assert 0 < len(written) < 60
    figure.draw_without_rendering()
    for label in written:
        box = Text.get_window_extent(label)
        assert box.x0 > -10
        assert box.x1 < figure.bbox.x1 + 10


@pytest.mark.parametrize("n_classes", [3, 17, 24])
@pytest.mark.parametrize("dimensions", [2, 3])
def test_legend_fits_into_the_figure(n_classes, dimensions, rng):
    Z, labels = rng.normal(size=(4 * n_classes, dimensions)), np.arange(4 * n_classes) % n_classes
    model = KNNClassifier(1)
    for display in (
        EmbeddingDisplay.from_embedding(Z, labels, by="classes", target_name="kind"),
        RegionsDisplay.from_estimator(model, Z, labels, resolution=8),
    ):
        display.figure_.draw_without_rendering()
        box = display.legend_.get_window_extent()
        assert box.y0 >= 0
        assert box.x1 <= display.figure_.bbox.x1
        assert display.ax_.get_window_extent().height > 0.4 * display.figure_.bbox.height


@pytest.mark.parametrize("n", [2, 20, 40])
def test_legend_of_curves_fits_into_the_figure(n):
    display = HistoryDisplay({f"a long name of learner {i}": [3.0, 2, 1] for i in range(n)}).plot()
    display.figure_.draw_without_rendering()
    box = display.legend_.get_window_extent()
    assert box.y0 >= 0
    assert box.x1 <= display.figure_.bbox.x1


def test_class_names_in_a_subfigure(rng):
    subfigure, _ = matplotlib.pyplot.figure(figsize=(9, 5)).subfigures(1, 2)
    Z = rng.normal(size=(60, 2))
    display = EmbeddingDisplay.from_embedding(
        Z, np.arange(60) % 30, by="classes", ax=subfigure.subplots()
    )
    assert any(label is not None for label in display.labels_)


def test_classes_without_samples_have_no_label(rng):
    Z, labels = rng.normal(size=(120, 2)), np.arange(120) % 30
    model = KNNClassifier(1).fit(Z, labels)
    kept = labels > 2
    display = RegionsDisplay.from_estimator(model, Z[kept], labels[kept])
    assert len(display.labels_) == 30
    assert display.labels_[:3] == [None] * 3


def test_row_labels_of_many_classes_do_not_overlap(rng):
    Z, labels = rng.normal(size=(160, 1)), np.arange(160) % 40
    display = RegionsDisplay.from_estimator(KNNClassifier(1), Z, labels)
    display.figure_.draw_without_rendering()
    boxes = [label.get_window_extent() for label in display.ax_.get_yticklabels()]
    assert all(upper.y0 >= lower.y1 - 2 for upper, lower in pairwise(boxes))


def test_missing_labels_of_pandas():
    labels = pd.array(["a", None] * 75, dtype="string")
    with pytest.raises(ValueError, match="y has missing values"):
        EmbeddingDisplay.from_embedding(X[:, :2], labels)


def test_n_columns_must_be_positive():
    with pytest.raises(ValueError, match="n_columns=0 must be at least 1"):
        RegionsDisplay.from_learner(LDA(), X[:, :2], y, n_columns=0)


def test_boxes_do_not_overlap(rng):
    places, boxes = rng.uniform(0, 100, (60, 2)), rng.uniform(5, 12, (60, 2))
    centres = places + non_overlapping_offsets(places, boxes, np.array([0, 0, 200, 200]))
    for i in range(60):
        gaps = np.abs(centres - centres[i]) - (boxes + boxes[i]) / 2
        assert np.all(np.delete(gaps.max(axis=1), i) >= -1e-9)


class TestMetric:
    def test_values_colours_and_feature_names(self):
        model = make_pipeline(StandardScaler(), KNNClassifier(learner=NCA())).fit(FRAME, y)
        display = MetricDisplay.from_estimator(model, title="NCA")
        M = model[-1].learner_.metric()
        assert_array_equal(display.image_.get_array(), M)
        low, high = display.image_.get_clim()
        assert -low == high == np.abs(M).max()
        middle = display.image_.cmap(0.5)
        assert min(middle) > 0.95  # 0 is white
        names = [label.get_text() for label in display.ax_.get_yticklabels()]
        assert names == list(FRAME.columns)
        assert len(display.text_) == 16
        assert float(display.text_[0].get_text()) == pytest.approx(M[0, 0], rel=0.05)

    def test_many_features(self):
        display = MetricDisplay.from_estimator(PCA(3).fit(np.eye(100)))
        assert len(display.ax_.get_xticklabels()) <= 40
        assert not display.text_

    def test_errors(self):
        with pytest.raises(ValueError, match="The Euclidean distance has no matrix"):
            MetricDisplay.from_estimator(KNNClassifier().fit(X, y))
        with pytest.raises(ValueError, match="Isomap has no matrix"):
            MetricDisplay.from_estimator(Isomap().fit(X[:30]))
        with pytest.raises(ValueError, match=r"metric has shape \(1, 2\)"):
            MetricDisplay([[1.0, 2.0]]).plot()
        with pytest.raises(ValueError, match="feature_names has 1 names, but there are 2 features"):
            MetricDisplay(np.eye(2), feature_names=["a"]).plot()
        with pytest.raises(NotFittedError):
            MetricDisplay.from_estimator(NCA())
        with pytest.raises((AttributeError, ValueError, TypeError), match=r"transformer\(\)"):
            MetricDisplay.from_estimator(KPCA(2).fit(X))


class TestPairExplanation:
    def test_bars_add_up_to_the_squared_distance(self):
        model = make_pipeline(StandardScaler(), KNNClassifier(learner=NCA())).fit(FRAME, y)
        pair = FRAME.iloc[0], FRAME.iloc[100]
        display = PairExplanationDisplay.from_estimator(model, *pair, top=2)
        Z = model[:-1].transform(FRAME.iloc[[0, 100]])
        parts = model[-1].learner_.explain_pair(Z[0], Z[1])
        distance = model[-1].learner_.pair_distance(Z[None])[0]
        widths = [bar.get_width() for bar in display.bars_]
        assert_allclose(np.sum(widths), distance**2)
        assert_allclose(widths[:2], parts[display.features_])
        assert abs(widths[0]) >= abs(widths[1])
        names = [label.get_text() for label in display.ax_.get_yticklabels()]
        assert names == [*FRAME.columns[display.features_], "2 other features"]
        wanted = f"distance {distance:.3g} (squared {distance**2:.3g})"
        assert display.ax_.get_title() == wanted
        assert all(is_inside(display.figure_, each) for each in display.ax_.get_yticklabels())

    def test_negative_parts_have_another_colour(self):
        display = PairExplanationDisplay([1.0, -2.0, 0.5], title="two samples").plot()
        colors = [to_hex(bar.get_facecolor()) for bar in display.bars_]
        assert colors[0] != colors[1] == colors[2]
        assert display.ax_.get_title() == "two samples"
        names = [label.get_text() for label in display.ax_.get_yticklabels()]
        assert names == ["feature 1", "feature 0", "feature 2"]
        assert display.plot(color="red").bars_[0].get_facecolor() == (1, 0, 0, 1)

    def test_euclidean_distance(self):
        model = KNNClassifier().fit(FRAME, y)
        display = PairExplanationDisplay.from_estimator(model, FRAME.iloc[:1], FRAME.iloc[3:4])
        assert_allclose(
            display.parts[0, display.features_], [bar.get_width() for bar in display.bars_]
        )
        assert display.ax_.get_yticklabels()[0].get_text() in FRAME.columns

    def test_errors(self):
        with pytest.raises(ValueError, match=r"parts must be finite numbers .* shape \(2, 3\)"):
            PairExplanationDisplay(np.ones((2, 3))).plot()
        with pytest.raises(ValueError, match="top=0 must be an int of at least 1"):
            PairExplanationDisplay([1.0], top=0).plot()
        with pytest.raises(ValueError, match="feature_names has 1 names, but there are 2 features"):
            PairExplanationDisplay([1.0, 2.0], feature_names=["a"]).plot()
        with pytest.raises(ValueError, match="KPCA has no method explain_pair"):
            PairExplanationDisplay.from_estimator(KPCA(2).fit(X), X[0], X[1])
        with pytest.raises(NotFittedError):
            PairExplanationDisplay.from_estimator(NCA(), X[0], X[1])


class TestNeighborhood:
    def test_circle_contains_the_nearest_neighbours(self):
        display = NeighborhoodDisplay.from_estimator(
            LDA().fit(FRAME, y), FRAME, NAMES, row=77, n_neighbors=8
        )
        near = display.neighborhood
        for places, radius in (
            (near.places_before, near.distances_before[near.before[-1]]),
            (near.places_after, near.distances_after[near.after[-1]]),
        ):
            within = np.sum(np.linalg.norm(places, axis=1) <= radius * (1 + 1e-9))
            assert within == 8
        drawn = {kind: sum(len(each.get_offsets()) for each in points)
                 for kind, points in display.points_[0].items()}  # fmt: skip
        assert drawn["new"] == len(near.new)
        assert drawn["lost"] == len(near.lost)
        assert legend_of(display)[:2] == ["row 77", f"{len(near.kept)} kept"]
        assert is_inside(display.figure_, display.legend_)

    def test_radius_is_0_if_all_neighbours_are_copies(self):
        Z = np.repeat(np.eye(2), 5, axis=0)
        display = NeighborhoodDisplay(neighborhood(Z, Z, 0, n_neighbors=3)).plot()
        for ax in display.axes_:
            assert ax.get_xlabel() == "circle: 3 nearest, radius 0"
            assert ax.get_xlim() == (-1.9, 1.9)

    def test_axes_of_the_panels(self):
        figure, axes = matplotlib.pyplot.subplots(1, 2)
        lda = LDA(n_components=1).fit(X, y)
        display = NeighborhoodDisplay.from_estimator(lda, X, row=0, ax=axes)
        assert display.axes_ == list(axes)
        single = figure.add_axes((0, 0, 1, 1))
        with pytest.raises(ValueError, match=r"draws 2 panels\. Give 2 axes"):
            display.plot(ax=single)
        with pytest.raises(ValueError, match="draws 2 panels, but ax holds 1 axes"):
            display.plot(ax=[single])

    def test_many_classes(self, rng):
        codes = np.repeat(np.arange(40), 4)
        Z = rng.normal(size=(160, 2))
        found = neighborhood(Z, Z[:, ::-1] * [1, 3], 9, n_neighbors=20)
        display = NeighborhoodDisplay(found, codes).plot()
        colors = [to_hex(handle.get_color()) for handle in display.legend_.legend_handles[4:11]]
        assert len(set(colors)) == 7  # different classes have different colours
        assert legend_of(display)[4] == str(codes[9])
        assert "other classes" in legend_of(display)

    def test_errors(self):
        lda = LDA().fit(X, y)
        with pytest.raises(ValueError, match="row=150 must be the index of a row, from 0 to 149"):
            NeighborhoodDisplay.from_estimator(lda, X, row=150)
        with pytest.raises(ValueError, match="y has shape"):
            NeighborhoodDisplay.from_estimator(lda, X, y[:3], row=1)
        with pytest.raises(NotFittedError):
            NeighborhoodDisplay.from_estimator(LDA(), X, row=1)


class TestComparison:
    def test_scores_and_baseline(self):
        found = benchmark.run([None, "LDA"], {"iris": (X, y)}, cv=5)
        display = ComparisonDisplay.from_benchmark(found)
        means = dict(zip(found.scores().learners, found.scores().values[0], strict=True))
        best = max(means, key=means.get)
        assert display.ax_.get_yticklabels()[0].get_text() == best
        assert display.text_[0].get_text().startswith(f"{means[best]:.3f}")
        assert_allclose(display.baseline_.get_xdata(), means["Euclidean"])
        assert len(display.points_[0].get_offsets()) == 5
        assert is_inside(display.figure_, display.text_[0])
        assert ComparisonDisplay.from_benchmark(found, baseline=None).baseline_ is None

    @pytest.mark.parametrize(
        ("scores", "text"),
        [
            ([31000.0, 31468.0], "31,234 ± 330.9"),  # errors in units of the target
            ([0.00031, 0.00033], "0.00032 ± 1.414e-05"),
            ([0.91, 0.93], "0.920 ± 0.014"),
            ([-2.5, 0.5], "-1.000 ± 2.121"),
        ],
    )
    def test_numbers_have_four_digits(self, scores, text):
        cells = [Cell("a", "MLKR", 3, 0, i, each, each) for i, each in enumerate(scores)]
        display = ComparisonDisplay.from_benchmark(BenchmarkResult(cells))
        assert display.text_[0].get_text() == text

    def test_failed_fits_are_counted(self):
        cells = [Cell("a", "LDA", 3, 0, i, 0.5, 0.5, 1.0) for i in range(3)]
        cells[1] = cells[1]._replace(status="timeout", test=np.nan)
        display = ComparisonDisplay.from_benchmark(BenchmarkResult(cells))
        assert display.text_[0].get_text() == "1 of 3 fits failed"
        assert not display.means_
        assert len(display.points_[0].get_offsets()) == 2
        with pytest.raises(ValueError, match="empty"):
            ComparisonDisplay.from_benchmark(BenchmarkResult([]))
        with pytest.raises(ValueError, match="scores is empty"):
            ComparisonDisplay([]).plot()


class TestRegions:
    @pytest.mark.parametrize("d", [1, 2, 3])
    def test_background_colours_match_predictions(self, d):
        model = KNNClassifier().fit(X[:, :d], NAMES)
        display = RegionsDisplay.from_estimator(model, X[:, :d], NAMES, resolution=9)
        (found,) = display.panels
        grid = np.stack(np.meshgrid(*found.regions.grid, indexing="ij"), axis=-1).reshape(-1, d)
        classes = found.regions.classes[found.regions.codes.ravel()]
        assert_array_equal(classes, model.predict(grid))
        if d < 3:
            codes = np.unique(NAMES, return_inverse=True)[1]
            drawn = np.asarray(display.surfaces_[0].get_array())
            values = np.searchsorted(np.unique(NAMES), classes).reshape([9] * d)
            assert_array_equal(drawn.reshape(values.T.shape), values.T)
            colors = [to_hex(each) for each in display.points_[0][0].get_facecolor()]
            assert colors.count(COLORS[0].lower()) == np.sum(codes == 0)

    def test_panels_of_from_learner(self):
        display = RegionsDisplay.from_learner(
            LDA(n_components=1), FRAME, NAMES, features=(0, 2), mapped=True, resolution=20
        )
        assert [ax.get_title().partition("\n")[0] for ax in display.axes_] == [
            "3-NN", "3-NN + LDA", "3-NN + LDA, mapped",
        ]  # fmt: skip
        assert "sepal width (cm) = 3.06" in display.axes_[0].get_title()
        assert display.axes_[0].get_ylabel() == "petal length (cm)"
        assert display.panels[2].samples.shape == (150, 1)
        assert is_inside(display.figure_, display.legend_)

    def test_any_classifier(self):
        tree = DecisionTreeClassifier(random_state=0)
        display = RegionsDisplay.from_learner(
            LDA(n_components=2), X[:, :2], y, classifier=tree, mapped=True, resolution=10
        )
        assert display.axes_[1].get_title() == "DecisionTreeClassifier + LDA"
        assert not hasattr(tree, "tree_")  # a clone was fitted

    def test_pairs_of_features_and_several_estimators(self):
        display = RegionsDisplay.from_estimator(
            KNNClassifier(), FRAME, y, features="pairs", section="median", resolution=5
        )
        assert len(display.axes_) == 6
        assert "(the median)" in display.axes_[0].get_title()
        display = RegionsDisplay.from_estimators(
            {"a": KNNClassifier(1), "b": KNNClassifier(9)}, X, y, features=[(0, 1), (1, 3)],
            section=7, n_columns=2, resolution=5,
        )  # fmt: skip
        titles = [ax.get_title().split("\n")[0] for ax in display.axes_]
        assert titles == ["a", "a", "b", "b"]
        assert "(row 7)" in display.axes_[0].get_title()
        one = RegionsDisplay.from_estimator(KNNClassifier(), X, y, features=[0], resolution=5)
        assert one.axes_[0].get_title() == "3 other features at the mean"

    @pytest.mark.parametrize(
        ("call", "n_panels"),
        [
            (lambda: RegionsDisplay.from_estimator(DecisionTreeClassifier(), X[:, :2], y), 1),
            (lambda: RegionsDisplay.from_learner(
                LDA(), X[:, :2], y, classifier=DecisionTreeClassifier()), 2),
            (lambda: RegionsDisplay.from_learner(LDA(), X[:, :2], y, n_neighbors=5), 2),
            (lambda: RegionsDisplay.from_estimator(
                KNNClassifier(), X, y, features="pairs", section="mean", resolution=8), 6),
            (lambda: RegionsDisplay.from_learner(
                LDA(), X, y, n_neighbors=5, features="pairs", resolution=8), 12),
        ],
    )  # fmt: skip
    def test_calls_for_the_plots_of_the_tutorial(self, call, n_panels):
        assert len(call().axes_) == n_panels

    def test_many_class_names_are_written_at_medians(self, rng):
        Z = rng.uniform(size=(300, 2))
        labels = (6 * Z[:, 0]).astype(int) * 6 + (6 * Z[:, 1]).astype(int)
        display = RegionsDisplay.from_estimator(KNNClassifier(), Z, labels, resolution=20)
        assert display.legend_ is None
        for code, label in enumerate(display.labels_):
            assert label.get_text() == str(code)
            assert_allclose(label.xy, np.median(Z[labels == code], axis=0))

    def test_fitted_classifier_is_not_refitted(self):
        model = KNNClassifier().fit(X[:, :2], NAMES)
        display = RegionsDisplay.from_estimator(model, X[:, :2], np.full(150, "other"))
        assert "setosa" in legend_of(display)
        assert "other" in legend_of(display)

    def test_errors(self):
        with pytest.raises(ValueError, match=r"X has 4 features\. Select one to three"):
            RegionsDisplay.from_estimator(KNNClassifier(), X, y)
        with pytest.raises(ValueError, match="would draw 4950 panels"):
            RegionsDisplay.from_estimator(KNNClassifier(), np.eye(100), np.arange(100) % 2,
                                          features="pairs")  # fmt: skip
        with pytest.raises(ValueError, match="the learner has 4 components"):
            RegionsDisplay.from_learner(NCA(), X, y, features=(0, 1), mapped=True, resolution=5)
        with pytest.raises(ValueError, match="estimators is empty"):
            RegionsDisplay.from_estimators({}, X, y)


class TestCurves:
    def test_history(self):
        X_, y_ = X[:100], y[:100]
        lmnn, nca = LMNN().fit(X_, y_), NCA().fit(X_, y_)
        display = HistoryDisplay.from_estimator(KNNClassifier(learner=lmnn).fit(X_, y_))
        assert display.ax_.get_title().startswith("LMNN: ")
        assert_array_equal(display.lines_[0].get_ydata(), lmnn.history_)
        assert display.legend_ is None
        two_curves = HistoryDisplay.from_estimators({"one": lmnn, "other": nca})
        assert legend_of(two_curves) == ["one", "other"]
        assert HistoryDisplay({"a": [1000.0, 1.0]}).plot().ax_.get_yscale() == "log"
        for wrong, error in (
            (LDA().fit(X, y), "LDA has no history"),
            (KNNClassifier().fit(X, y), "The Euclidean distance has no history"),
        ):
            with pytest.raises(ValueError, match=error):
                HistoryDisplay.from_estimator(wrong)
        with pytest.raises(
            ValueError, match="The history of 'a' must be one or more finite numbers"
        ):
            HistoryDisplay({"a": [np.nan]}).plot()
        with pytest.raises(ValueError, match="HistoryDisplay has no curves to draw"):
            HistoryDisplay.from_estimators({})

    def test_scree(self):
        display = ScreeDisplay.from_estimator(PCA().fit(X), threshold=0.95, title="iris")
        ratios = PCA().fit(X).explained_variance_ratio_
        assert_allclose([bar.get_height() for bar in display.bars_], ratios)
        assert_allclose(display.line_.get_ydata(), np.cumsum(ratios))
        assert display.n_components_ == PCA(0.95).fit(X).n_components_
        few = ScreeDisplay.from_estimator(PCA(1).fit(X), threshold=0.99)
        assert few.n_components_ is None
        assert few.threshold_.get_label() == "0.99 not reached"
        assert ScreeDisplay([1.0]).plot().threshold_ is None
        for wrong, error in (({"threshold": 2}, "threshold=2 must"), ({}, "ratios must be")):
            with pytest.raises(ValueError, match=error):
                ScreeDisplay([-1.0] if not wrong else [1.0], **wrong).plot()

    def test_residual_variance(self):
        display = ResidualVarianceDisplay.from_estimator(MDS(), X[::3], dimensions=[1, 2, 4])
        assert_array_equal(display.lines_[0].get_xdata(), [1, 2, 4])
        assert_allclose(display.lines_[0].get_ydata()[-1], 0, atol=1e-9)

    def test_quality(self):
        Z = X[:, :2]
        display = QualityDisplay.from_embeddings(X, {"two": Z, "all": X})
        quality = embedding_quality(X, Z)
        assert_allclose(display.lines_[0].get_ydata(), quality.r_nx)
        assert legend_of(display) == [f"two, {quality.r_nx_auc:.2f}", "all, 1.00"]
        assert display.ax_.get_xscale() == "log"


def test_polars_frame():
    pl = pytest.importorskip("polars")
    frame = pl.from_pandas(pd.DataFrame(X[:, :3], columns=["a", "b", "c"]))
    display = RegionsDisplay.from_estimator(
        KNNClassifier(), frame, y, features=("a", "c"), resolution=5
    )
    assert display.axes_[0].get_xlabel() == "a"


def test_artist_keywords():
    display = ComparisonDisplay.from_benchmark(
        BenchmarkResult([Cell("a", "LDA", 3, 0, i, 0.5, 0.5, 1.0) for i in range(3)])
    )
    with pytest.raises(TypeError, match="unexpected keyword argument 'color'"):
        display.plot(color="red")
    assert HistoryDisplay({"a": [2.0, 1.0]}).plot(color="red").lines_[0].get_color() == "red"


def test_metric_of_a_learner_that_is_a_pipeline():
    model = KNNClassifier(learner=make_pipeline(StandardScaler(), LDA())).fit(FRAME, y)
    names = [each.get_text() for each in MetricDisplay.from_estimator(model).ax_.get_yticklabels()]
    assert names == list(FRAME.columns)
    model.set_params(learner=make_pipeline(PCA(2), LDA())).fit(FRAME, y)
    assert MetricDisplay.from_estimator(model).image_.get_array().shape == (2, 2)


def test_without_matplotlib(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(
        ImportError, match=r"EmbeddingDisplay requires matplotlib.*dimetric\[plot\]"
    ):
        EmbeddingDisplay.from_embedding(X[:, :2])


def test_learning_curves():
    sizes, scores = np.array([10, 20, 40]), np.array([[0.5, 0.6], [0.7, 0.8], [0.8, 0.9]])
    curve = LearningCurve(sizes, scores, np.ones((3, 2)), 50, 0.2)
    display = SampleSizeDisplay.from_curve(curve, title="LDA")
    assert display.ax_.get_title() == "LDA"
    assert display.legend_ is None
    assert_array_equal(display.lines_[0].get_xdata(), sizes)
    assert_allclose(display.lines_[0].get_ydata(), [0.55, 0.75, 0.85])
    assert [each.get_text() for each in display.ax_.get_xticklabels()] == ["80", "40", "20", "10"]
    assert display.expected_[0].lines[0].get_xdata() == [80]
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("training rows", "accuracy")
    two = SampleSizeDisplay({"a": curve, "b": curve}, extrapolate=False).plot()
    assert legend_of(two) == ["a", "b"]
    assert (len(two.bands_), two.expected_) == (2, [])
    errors = LearningCurve(sizes, scores, np.ones((3, 2)), 50, 0.2, "mae")
    with pytest.raises(ValueError, match="different scores: accuracy, mean absolute error"):
        SampleSizeDisplay({"a": curve, "b": errors}).plot()
    with pytest.raises(ValueError, match="SampleSizeDisplay has no curves to draw"):
        SampleSizeDisplay({}).plot()
