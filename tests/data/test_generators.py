"""Generated data sets: their true coordinates, distributions and parameters."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.sparse.csgraph import shortest_path
from scipy.spatial.distance import cdist
from scipy.stats import chisquare, kstest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.neighbors import radius_neighbors_graph

from dimetric.data import make_parallel_bands, make_rings, make_s_curve, make_swiss_roll


def curve_s(t):
    return np.array([np.sin(t), np.sign(t) * (np.cos(t) - 1)])


def curve_roll(t):
    return np.array([t * np.cos(t), t * np.sin(t)])


def uniform_roll(n_samples, **options):
    return make_swiss_roll(n_samples, uniform=True, **options)


MAKERS = [make_s_curve, make_swiss_roll, uniform_roll, make_parallel_bands, make_rings]
CLASS_MAKERS = [make_parallel_bands, make_rings]
SHEETS = [(make_s_curve, curve_s), (make_swiss_roll, curve_roll), (uniform_roll, curve_roll)]
ROLL_ENDS = (1.5 * np.pi, 4.5 * np.pi)


def roll_length_ends():
    return [quad(lambda t: np.hypot(1, t), 0, end)[0] for end in ROLL_ENDS]


def one_nn_accuracy(X, y):
    D = cdist(X, X)
    np.fill_diagonal(D, np.inf)
    return np.mean(y[D.argmin(axis=1)] == y)


@pytest.mark.parametrize(("make", "curve"), SHEETS)
def test_points_lie_on_the_sheet_at_their_parameter_and_height(make, curve):
    X, t, truth = make(500, random_state=0)
    np.testing.assert_allclose(X[:, [0, 2]].T, curve(t), atol=1e-12)
    np.testing.assert_array_equal(X[:, 1], truth[:, 1])


@pytest.mark.parametrize(("make", "curve"), SHEETS)
def test_first_coordinate_is_the_integral_of_the_speed(make, curve):
    _, t, truth = make(40, random_state=0)

    def speed(tau, h=1e-6):
        return np.linalg.norm(curve(tau + h) - curve(tau - h)) / (2 * h)

    length = [quad(speed, 0, end)[0] for end in t]
    np.testing.assert_allclose(truth[:, 0], length, rtol=1e-7)


@pytest.mark.parametrize(("make", "radius"), [(make_s_curve, 0.4), (uniform_roll, 3.5)])
def test_graph_geodesics_equal_distances_of_the_coordinates(make, radius):
    X, _, truth = make(3000, random_state=0)
    ends = np.arange(100)
    graph = radius_neighbors_graph(X, radius, mode="distance")
    geodesic = shortest_path(graph, directed=False, indices=ends)[:, ends]
    straight = cdist(truth[ends], truth[ends])
    far = straight > 4 * radius  # short paths in the graph zigzag too much
    ratio = geodesic[far] / straight[far]
    # Chords shorten the paths slightly, and zigzags lengthen them slightly more.
    assert ratio.min() > 0.98
    assert ratio.max() < 1.04


def uniform_p_value(values, low, high):
    return kstest((values - low) / (high - low), "uniform").pvalue


def test_s_curve_is_uniform_on_its_sheet():
    truth = make_s_curve(2000, random_state=0).coordinates
    assert uniform_p_value(truth[:, 0], -1.5 * np.pi, 1.5 * np.pi) > 0.01
    assert uniform_p_value(truth[:, 1], 0, 2) > 0.01


def test_uniform_roll_is_uniform_in_arc_length_and_the_default_roll_in_t():
    usual, even = make_swiss_roll(2000, random_state=0), uniform_roll(2000, random_state=0)
    assert uniform_p_value(usual.y, *ROLL_ENDS) > 0.01
    assert uniform_p_value(even.coordinates[:, 0], *roll_length_ends()) > 0.01
    assert uniform_p_value(usual.coordinates[:, 0], *roll_length_ends()) < 1e-6


@pytest.mark.parametrize("uniform", [False, True])
@pytest.mark.parametrize("hole", [False, True])
def test_hole_empties_only_the_middle_ninth(hole, uniform):
    _, t, truth = make_swiss_roll(4000, hole=hole, uniform=uniform, random_state=0)
    along, ends = (truth[:, 0], roll_length_ends()) if uniform else (t, ROLL_ENDS)
    counts, *_ = np.histogram2d(along, truth[:, 1], bins=3, range=[ends, [0, 21]])
    cells = counts.ravel()
    assert cells.sum() == 4000
    if hole:
        assert cells[4] == 0
        cells = np.delete(cells, 4)
    assert chisquare(cells).pvalue > 0.01


@pytest.mark.parametrize("make", MAKERS)
def test_noise_has_the_given_scale_and_keeps_the_coordinates(make):
    clean, noisy = (make(4000, noise=noise, random_state=0) for noise in (0.0, 0.3))
    np.testing.assert_array_equal(clean.coordinates, noisy.coordinates)
    np.testing.assert_array_equal(clean.y, noisy.y)
    np.testing.assert_allclose((noisy.X - clean.X).std(axis=0), 0.3, rtol=0.05)


@given(n_classes=st.integers(1, 8), extra=st.integers(0, 40), seed=st.integers(0, 99))
def test_classes_are_balanced_to_within_one(n_classes, extra, seed):
    for make in CLASS_MAKERS:
        _, y, _ = make(n_classes + extra, n_classes=n_classes, random_state=seed)
        counts = np.bincount(y, minlength=n_classes)
        assert len(counts) == n_classes
        assert counts.min() >= 1
        assert np.ptp(counts) <= 1


@pytest.mark.parametrize("make", CLASS_MAKERS)
def test_rows_are_shuffled(make):
    _, y, _ = make(2000, n_classes=4, random_state=0)
    # sorted labels would nearly always repeat, and cyclic labels never
    assert np.mean(y[1:] == y[:-1]) == pytest.approx(1 / 4, abs=0.05)


@pytest.mark.parametrize("n_samples", [100, 301, 1000])
def test_euclidean_neighbours_mix_parallel_bands_and_a_shrunk_axis_separates_them(n_samples):
    X, y, _ = make_parallel_bands(n_samples, random_state=0)
    assert one_nn_accuracy(X, y) < 0.75
    assert one_nn_accuracy(X * [1e-6, 1], y) > 0.99


def test_bands_are_thin_beyond_the_first_axis_and_noise_features_are_irrelevant():
    n, n_features, noise_features = 4000, 4, 3
    X, y, truth = make_parallel_bands(
        n, n_classes=3, n_features=n_features, noise_features=noise_features, random_state=0
    )
    assert X.shape == (n, n_features + noise_features)
    np.testing.assert_allclose((X[:, 1:4] - np.outer(y, [1, 0, 0])).std(axis=0), 0.1, rtol=0.05)
    np.testing.assert_allclose(X[:, :2], truth, atol=0.6)
    for values in X[:, n_features:].T:
        for label in range(3):
            assert kstest(values[y == label], "norm").pvalue > 0.01


def test_coordinates_of_rings_are_polar_and_the_radius_is_the_class():
    X, y, truth = make_rings(600, n_classes=4, noise=0.0, random_state=0)
    radius, angle = truth.T
    np.testing.assert_allclose(X[:, 0] + 1j * X[:, 1], radius * np.exp(1j * angle))
    np.testing.assert_array_equal(radius, y + 1)
    assert kstest(angle / (2 * np.pi), "uniform").pvalue > 0.01


def test_noisy_rings_are_separable_by_radius_and_not_by_lines():
    X, y, _ = make_rings(600, random_state=0)
    np.testing.assert_array_equal(np.rint(np.linalg.norm(X, axis=1)) - 1, y)
    assert LinearDiscriminantAnalysis().fit(X, y).score(X, y) < 0.5


@pytest.mark.parametrize("make", MAKERS)
def test_random_state_makes_data_reproducible(make):
    def X(random_state):
        return make(50, random_state=random_state).X

    def same(a, b):
        return np.array_equal(a, b)

    assert same(X(7), X(7))
    assert same(X(7), X(np.random.default_rng(7)))
    assert same(X(np.random.RandomState(7)), X(np.random.RandomState(7)))
    assert not same(X(7), X(8))
    assert not same(X(None), X(None))
    for shared in (np.random.default_rng(7), np.random.RandomState(7)):
        assert not same(X(shared), X(shared))


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize(
    ("n_samples", "options", "message"),
    [
        (0, {}, r"n_samples=0 is not an integer >= 1"),
        (2.5, {}, r"n_samples=2\.5 must be an int"),
        (10, {"noise": -0.1}, r"noise=-0\.1 is not a finite number >= 0"),
        (10, {"noise": np.nan}, r"noise=nan is not a finite number >= 0"),
    ],
)
def test_invalid_n_samples_and_noise_raise(make, n_samples, options, message):
    with pytest.raises(ValueError, match=message):
        make(n_samples, **options)


@pytest.mark.parametrize("make", CLASS_MAKERS)
@pytest.mark.parametrize(
    ("n_classes", "message"),
    [(0, r"n_classes=0 is not an integer >= 1"), (11, r"n_classes=11 is larger than n_samples=10")],
)
def test_invalid_n_classes_raises(make, n_classes, message):
    with pytest.raises(ValueError, match=message):
        make(10, n_classes=n_classes)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_features": 1}, r"n_features=1 is not an integer >= 2"),
        ({"noise_features": -1}, r"noise_features=-1 is not an integer >= 0"),
        ({"length": 0}, r"length=0 is not a finite number > 0"),
    ],
)
def test_invalid_parameters_of_parallel_bands_raise(options, message):
    with pytest.raises(ValueError, match=message):
        make_parallel_bands(10, **options)
