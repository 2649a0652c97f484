"""Tests of LMNN's objective: a triple loop, finite differences and the engine as references."""

import tracemalloc
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_allclose
from scipy.optimize import approx_fprime

from dimetric.linalg.psd import metric_of
from dimetric.objectives.engine import laplacian_product
from dimetric.objectives.margins import impostors, kept_pairs, tiles
from dimetric.objectives.margins.objective import MarginObjective
from dimetric.objectives.margins.targets import nearest_targets
from dimetric.objectives.objective import on_maps, on_metrics


def hinge(t, width):
    """Return the hinge loss, with a parabola between -width / 2 and width / 2."""
    if 2 * abs(t) < width:
        return (t + width / 2) ** 2 / (2 * width)
    return max(t, 0.0)


def naive(L, X, codes, targets, weights=None, *, mu, width=0.0):
    """Return the mean of pulls and pushes, computed sample by sample."""
    n, total = len(targets), 0.0
    weights = np.ones(targets.shape) if weights is None else weights
    for i in range(n):
        for j, weight in zip(targets[i], weights[i], strict=True):
            if j < 0:
                continue
            near = np.sum((L @ (X[i] - X[j])) ** 2)
            total += weight * (1 - mu) * near
            for other in range(n):
                if codes[other] != codes[i]:
                    far = np.sum((L @ (X[i] - X[other])) ** 2)
                    total += weight * mu * hinge(1 + near - far, width)
    return total / n


def problem(rng, n=24, d=3, n_classes=3, k=2):
    X = rng.normal(size=(n, d))
    codes = np.sort(np.arange(n) % n_classes)
    targets, _ = nearest_targets(X, codes, k)
    targets[:3, -1] = -1  # some samples have one target fewer
    return X - X.mean(axis=0), codes, targets


def without_fast_path(objective):
    """Return the same objective without its fast path."""
    object.__setattr__(objective.rule, "fast", None)  # the rule is frozen
    return objective


@pytest.mark.parametrize("width", [0.0, 0.3, 2.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_objective_and_gradient_match_a_triple_loop(rng, weighted, width, namespace):
    X, codes, targets = problem(rng)
    L = rng.normal(size=(2, 3))
    weights = rng.uniform(size=targets.shape) * (targets >= 0) if weighted else None
    objective = MarginObjective(namespace.asarray(X), codes, targets, weights, mu=0.3, width=width)
    value, grad = on_maps(objective)(L.ravel())
    assert_allclose(value, naive(L, X, codes, targets, weights, mu=0.3, width=width), rtol=1e-12)
    pull = naive(L, X, np.zeros(24), targets, weights, mu=0.3)  # in one class, nothing is pushed
    assert_allclose(np.vdot(objective.pull_matrix(), L.T @ L), pull)

    def at(flat):
        return naive(flat.reshape(2, 3), X, codes, targets, weights, mu=0.3, width=width)

    assert_allclose(grad, approx_fprime(L.ravel(), at), atol=1e-6)


@pytest.mark.parametrize("width", [0.0, 0.3])
def test_gradients_in_map_and_metric_agree(rng, width):
    X, codes, targets = problem(rng)
    objective = MarginObjective(X, codes, targets, mu=0.3, width=width)
    L = rng.normal(size=(3, 3))
    value, grad = on_maps(objective, ridge=0.2)(L.ravel())
    same_value, G = on_metrics(objective, ridge=0.2)(metric_of(L).ravel())
    assert_allclose(same_value, value)
    assert_allclose(2 * L @ G.reshape(3, 3), grad.reshape(3, 3), atol=1e-10)


def test_samples_without_any_target_have_no_loss(monkeypatch):
    monkeypatch.setattr(impostors, "SPARSE_FRACTION", -1.0)  # add whole tiles
    X, codes, targets = np.zeros((6, 2)), np.repeat([0, 1], 3), np.full((6, 1), -1)
    value, grad = on_maps(MarginObjective(X, codes, targets, mu=0.4, width=1.0))(np.eye(2).ravel())
    assert value == 0
    assert_allclose(grad, 0)


@st.composite
def problems(draw):
    """Draw samples with ties and duplicates, any number of classes, and any targets."""
    n, d, k = draw(st.integers(2, 30)), draw(st.integers(1, 4)), draw(st.integers(1, 3))
    halves = st.integers(-4, 4).map(lambda i: i / 2)
    X = draw(hnp.arrays(float, (n, d), elements=halves))
    L = draw(hnp.arrays(float, (draw(st.integers(1, 3)), d), elements=halves))
    labels = draw(hnp.arrays(int, n, elements=st.integers(0, draw(st.integers(0, n - 1)))))
    targets = draw(hnp.arrays(int, (n, k), elements=st.integers(-1, n - 1)))
    return X - X.mean(axis=0), np.unique(np.sort(labels), return_inverse=True)[1], L, targets


@settings(max_examples=200)
@given(
    problem=problems(),
    sizes=st.tuples(st.integers(1, 20), st.integers(1, 20), st.integers(0, 40)),
    sparse=st.sampled_from([-1.0, 1 / 32, 2.0]),
    threads=st.integers(1, 3),
    width=st.sampled_from([0.0, 0.1, 1.0]),
    dtype=st.sampled_from(["float64", "float32"]),
    weighted=st.booleans(),
)
def test_fast_path_matches_the_engine(problem, sizes, sparse, threads, width, dtype, weighted):
    X, codes, L, targets = problem
    X = X.astype(dtype)
    weights = None
    if weighted:
        targets = np.where(np.arange(targets.shape[1]) == 1, -1, targets)  # a rank without targets
        weights = np.random.default_rng(0).uniform(size=targets.shape) * (targets >= 0)
    objective = MarginObjective(X, codes, targets, weights, mu=0.4, width=width)
    engine = without_fast_path(MarginObjective(X, codes, targets, weights, mu=0.4, width=width))
    for function, at in ((on_maps, L.ravel()), (on_metrics, (L.T @ L).ravel())):
        with (
            patch.object(tiles, "TILE_ROWS", sizes[0]),
            patch.object(tiles, "TILE_COLUMNS", sizes[1]),
            patch.object(impostors, "BUFFERED_PAIRS", sizes[2]),
            patch.object(impostors, "SPARSE_FRACTION", sparse),
            patch("dimetric._arrays.threads.n_threads", lambda *_: threads),
        ):
            value, grad = function(objective)(at)
        expected, expected_grad = function(engine)(at)
        tol = 1e-3 if dtype == "float32" else 1e-10
        assert_allclose(value, expected, rtol=tol, atol=tol)
        if width > 0:  # at a kink, rounding decides which slope is taken
            scale = max(1, np.abs(expected_grad).max())
            assert_allclose(grad, expected_grad, rtol=tol, atol=tol * scale)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("step", [1e-3, 5e-3, 0.3])
def test_pairs_kept_between_maps_contain_all_impostors(rng, monkeypatch, step, weighted, dtype):
    searches = []
    search = kept_pairs._pairs_within
    monkeypatch.setattr(
        kept_pairs, "_pairs_within", lambda *args: searches.append(1) or search(*args)
    )
    X, codes, targets = problem(rng, n=150, d=5)
    weights = rng.uniform(size=targets.shape) * (targets >= 0) if weighted else None
    options = {"mu": 0.4, "width": 0.1, "sample_weights": rng.uniform(size=150)}
    options = options if weighted else {**options, "sample_weights": None}
    fast, engine = (
        MarginObjective(X.astype(dtype), codes, targets, weights, **options) for _ in "ab"
    )
    f, expected = on_maps(fast), on_maps(without_fast_path(engine))
    L, direction = 2 * np.eye(5), rng.normal(size=(5, 5))
    tol = 1e-3 if dtype == np.float32 else 1e-10
    for _ in range(15):
        L += step * direction
        direction += 0.3 * rng.normal(size=(5, 5))
        value, grad = f(L.ravel())
        same_value, same_grad = expected(L.ravel())
        assert_allclose(value, same_value, rtol=tol)
        assert_allclose(grad, same_grad, atol=tol * np.abs(same_grad).max())
    assert {1e-3: len(searches) <= 5, 5e-3: 2 <= len(searches) < 15, 0.3: searches}[step]


def test_smoothed_objectives_share_the_pairs(rng, monkeypatch):
    X, codes, targets = problem(rng, n=60)
    objective = MarginObjective(X, codes, targets, mu=0.4, width=0.1)
    L = 3 * np.eye(3).ravel()
    on_maps(objective)(L)
    monkeypatch.setattr(kept_pairs, "_pairs_within", None)  # no further search
    value, _ = on_maps(objective.smoothed(0.05))(L)
    assert_allclose(value, naive(np.eye(3) * 3, X, codes, targets, mu=0.4, width=0.05))


@pytest.mark.parametrize("width", [0.0, 0.2])
def test_derivative_in_the_margin_matches_finite_differences(rng, width):
    """With margin m, f(L, m) = m f(L / sqrt(m), 1)."""
    X, codes, targets = problem(rng)
    L = rng.normal(size=(3, 3))
    for objective in (
        MarginObjective(X, codes, targets, mu=0.3, width=width),
        without_fast_path(MarginObjective(X, codes, targets, mu=0.3, width=width)),
    ):
        slopes = objective.evaluate(X @ L.T, X, objective.theta)[2]

        def scaled(m):
            return m * naive(L / m**0.5, X, codes, targets, mu=0.3, width=width / m)

        numeric = (scaled(1 + 1e-6) - scaled(1 - 1e-6)) / 2e-6
        assert_allclose(slopes / 24, numeric, rtol=1e-5)


def test_float32_matches_float64(rng):
    X, codes, targets = problem(rng, n=700, d=10, n_classes=4)
    L = rng.normal(size=(10, 10)) / 4
    single, double = (
        on_maps(MarginObjective(X.astype(dtype), codes, targets, mu=0.5, width=0.1))(L.ravel())
        for dtype in (np.float32, np.float64)
    )
    assert_allclose(single[0], double[0], rtol=1e-3)
    assert_allclose(single[1], double[1], atol=1e-3 * np.abs(double[1]).max())


@pytest.mark.parametrize("far", [1e4, 1e8, 1e30])
def test_impostors_are_found_despite_an_outlier(rng, far):
    X, codes, targets = problem(rng)
    X[-1] = far
    objective = MarginObjective(X, codes, targets, mu=0.5)
    value, grad = on_maps(objective)(np.eye(3).ravel())
    assert_allclose(value, naive(np.eye(3), X, codes, targets, mu=0.5), rtol=1e-12)
    assert np.isfinite(grad).all()


def test_batch_of_all_samples_is_the_objective(rng):
    X, codes, targets = problem(rng)
    L = rng.normal(size=(2, 3))
    whole = MarginObjective(X, codes, targets, mu=0.3, width=0.1)
    assert_allclose(on_maps(whole.batch(np.arange(24)))(L.ravel())[1], on_maps(whole)(L.ravel())[1])


def test_batch_keeps_targets_and_reweights_impostors(rng, namespace):
    X, codes, targets = problem(rng)
    L, rows = rng.normal(size=(2, 3)), np.array([0, 1, 4, 9, 10, 17, 20])
    part = MarginObjective(namespace.asarray(X), codes, targets, mu=0.3).batch(rows)
    value, grad = on_maps(part)(L.ravel())
    total = 0.0
    for i in rows:
        for j in targets[i][targets[i] >= 0]:
            near = np.sum((L @ (X[i] - X[j])) ** 2)
            far = np.sum(((X[i] - X[rows[codes[rows] != codes[i]]]) @ L.T) ** 2, axis=1)
            total += 0.7 * near + 0.3 * 24 / 7 * np.maximum(1 + near - far, 0).sum()
    assert_allclose(value, total / 7)
    assert_allclose(grad, approx_fprime(L.ravel(), lambda x: on_maps(part)(x)[0]), atol=1e-5)
    no_targets = np.full_like(targets, -1)
    assert MarginObjective(X, codes, no_targets, mu=0.3).batch(rows) is None


def test_batches_are_unbiased(rng):
    X, codes, targets = problem(rng, n=60)
    objective = MarginObjective(X, codes, targets, mu=0.5)
    L = np.eye(3).ravel()
    estimates = []
    for _ in range(400):
        groups = [rng.permutation(20) + 20 * c for c in range(3)]  # stratified like mini-batches
        rows = np.sort(np.concatenate([group[:8] for group in groups]))
        estimates.append(on_maps(objective.batch(rows))(L)[0])
    error = np.std(estimates) / 20
    assert abs(np.mean(estimates) - on_maps(objective)(L)[0]) < 4 * error


def test_pull_matrix_gives_the_mean_pull(rng, namespace):
    X, codes, targets = problem(rng)
    P = MarginObjective(namespace.asarray(X), codes, targets, mu=0.3).pull_matrix()
    M = metric_of(rng.normal(size=(3, 3)))
    pulls = [(X[i] - X[j]) @ M @ (X[i] - X[j]) for i in range(24) for j in targets[i] if j >= 0]
    assert_allclose(np.vdot(P, M), 0.7 * np.sum(pulls) / 24)


def test_memory_does_not_grow_with_the_number_of_impostors(rng, monkeypatch):
    # Each thread has its own tiles.
    monkeypatch.setattr("dimetric._arrays.threads.n_threads", lambda *_: 2)
    X = rng.normal(size=(3000, 5))
    codes = np.repeat([0, 1], 1500)
    objective = MarginObjective(X, codes, *nearest_targets(X, codes, 3), mu=0.5, width=0.1)
    f = on_maps(objective)
    tracemalloc.start()
    f(0.01 * np.eye(5).ravel())  # all 4,500,000 pairs are impostors, for three targets
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 25e6


def test_block_size_does_not_change_the_result(rng):
    X, codes, targets = problem(rng)
    objective = MarginObjective(X, codes, targets, mu=0.3, width=0.2)
    rule, side = objective.rule, objective.side
    Z = X @ rng.normal(size=(3, 2))
    whole, parts = (laplacian_product(rule, Z, X, side, block=b) for b in (100, 5))
    assert_allclose(parts[0], whole[0])
    assert_allclose(parts[1], whole[1], atol=1e-12)
    assert_allclose(parts[2], whole[2])
