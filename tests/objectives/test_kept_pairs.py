"""LMNN's objective with pairs kept between maps, with the engine and fresh objectives as reference.

The pairs are kept while the map moves little, so these tests evaluate sequences of maps.
"""

from unittest.mock import patch

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import make_blobs

from dimetric import LMNN
from dimetric.objectives import listed
from dimetric.objectives.margins import kept_pairs
from dimetric.objectives.margins.objective import MarginObjective
from dimetric.objectives.margins.targets import nearest_targets
from dimetric.objectives.objective import metric_gradient, on_maps

D = 5


def problem(rng, n=150, spread=1.0, **options):
    """Return the arguments of an objective. The classes overlap more if the spread is smaller."""
    codes = np.sort(np.arange(n) % 3)
    X = rng.normal(size=(n, D))
    X[:, 0] += spread * codes
    targets, _ = nearest_targets(X, codes, 2)
    targets[:3, -1] = -1  # some samples have one target fewer
    targets[5] = -1  # and one has none
    return (X - X.mean(axis=0), codes, targets), {"mu": 0.4, "width": 0.1} | options


def walk(rng, steps):
    """Return maps that differ by random steps of given sizes."""
    maps = [2 * np.eye(D)]
    for step in steps:
        maps.append(maps[-1] + step * rng.normal(size=(D, D)))
    return maps


def engine(arguments, options):
    objective = MarginObjective(*arguments, **options)
    objective._fast = None
    return on_maps(objective)


def assert_same(found, expected, tol=1e-10):
    assert_allclose(found[0], expected[0], rtol=tol)
    assert_allclose(found[1], expected[1], rtol=0, atol=tol * np.abs(expected[1]).max())


WALKS = {
    "no moves": [0.0] * 4,
    "rounding errors": [1e-16] * 4,
    "small moves": [1e-4] * 12,
    "moves as long as the slack": [3e-3] * 12,
    "large moves": [0.5] * 6,
    "large and small moves": [1e-4, 1e-4, 1.0, 1e-4, 1e-3, 1e-2, 3.0, 1e-6, 1e-2, 0.1, 1e-5],
}


@pytest.mark.parametrize("n", [150, 400])  # graphs of few points are dense
@pytest.mark.parametrize("width", [0.0, 0.1, 2.0])
@pytest.mark.parametrize("moves", WALKS)
def test_objective_matches_the_engine_after_each_move(rng, moves, width, n):
    arguments, options = problem(rng, n, width=width)
    f, expected = on_maps(MarginObjective(*arguments, **options)), engine(arguments, options)
    for L in walk(rng, WALKS[moves]):
        assert_same(f(L.ravel()), expected(L.ravel()))


@pytest.mark.parametrize("factors", [(1, 1.001, 1e-3, 1e-3, 1, 1e3, 1, 1e-6, 1), (1e-3, 1, 1e-3)])
def test_objective_matches_the_engine_if_nearly_all_or_no_pairs_are_impostors(rng, factors):
    """A map of size 0.001 makes all pairs impostors, and one of size 1,000 hardly any."""
    arguments, options = problem(rng, n=300)
    f, expected = on_maps(MarginObjective(*arguments, **options)), engine(arguments, options)
    for factor in factors:
        for _ in range(2):
            L = factor * 3 * np.eye(D)
            assert_same(f(L.ravel()), expected(L.ravel()))


def test_one_sample_that_moves_far_ends_the_list(rng):
    """All other samples stay in place, so the mean move is small."""
    (X, codes, targets), options = problem(rng, n=120)
    X[0] = np.eye(D)[3] * 50  # far from all others if the feature counts
    f = on_maps(MarginObjective(X, codes, targets, **options))
    expected = engine((X, codes, targets), options)
    X[1:, 3] = 0
    for last in (2.0, 1.0, 0.5, 0.1, 0.0):
        L = np.diag([2, 2, 2, last, 2.0])
        assert_same(f(L.ravel()), expected(L.ravel()))


def test_maps_with_other_numbers_of_rows_alternate(rng):
    arguments, options = problem(rng)
    objective, expected = (
        MarginObjective(*arguments, **options),
        MarginObjective(*arguments, **options),
    )
    expected._fast = None
    for rows in (5, 3, 5, 2, 2, 5):
        L = 2 * np.eye(rows, D)
        for found, wanted in zip(
            metric_gradient(objective, L, np.ones(1)),
            metric_gradient(expected, L, np.ones(1)),
            strict=True,
        ):
            assert_allclose(found, wanted, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_sample_weights_of_any_size_match_the_engine(rng, scale):
    weights = scale * rng.uniform(size=150) * (np.arange(150) % 7 > 0)
    arguments, options = problem(rng, sample_weights=weights)
    f, expected = on_maps(MarginObjective(*arguments, **options)), engine(arguments, options)
    for L in walk(rng, [1e-4, 1e-3, 0.3, 1e-4]):
        assert_same(f(L.ravel()), expected(L.ravel()))


def test_batches_with_targets_outside_match_the_engine(rng):
    arguments, options = problem(rng)
    rows = np.arange(0, 150, 2)
    fast, slow = (MarginObjective(*arguments, **options).batch(rows) for _ in "ab")
    slow._fast = None
    for L in walk(rng, [1e-4, 1e-3, 0.3, 1e-4]):
        assert_same(on_maps(fast)(L.ravel()), on_maps(slow)(L.ravel()))


def test_a_batch_of_all_samples_is_the_objective_itself(rng):
    (X, codes, targets), options = problem(rng)
    objective = MarginObjective(X, codes, targets, **options)
    assert objective.batch(np.arange(150)) is objective
    without_targets = MarginObjective(X, codes, np.full_like(targets, -1), **options)
    assert without_targets.batch(np.arange(150)) is None


def test_history_changes_results_by_rounding_only(rng):
    arguments, options = problem(rng)
    used = on_maps(MarginObjective(*arguments, **options))
    for L in walk(rng, WALKS["large and small moves"]):
        assert_same(
            used(L.ravel()), on_maps(MarginObjective(*arguments, **options))(L.ravel()), tol=1e-12
        )


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("n", [150, 700])
def test_the_same_moves_give_the_same_bits(rng, n, threads):
    arguments, options = problem(rng, n)
    maps = walk(rng, WALKS["large and small moves"])
    with patch("dimetric._arrays.threads.n_threads", lambda *_: threads):
        first, second = (
            [f(L.ravel()) for L in maps]
            for f in (on_maps(MarginObjective(*arguments, **options)) for _ in "ab")
        )
    assert [value for value, _ in first] == [value for value, _ in second]
    assert_array_equal([grad for _, grad in first], [grad for _, grad in second])


def test_a_returned_gradient_does_not_change_later(rng):
    arguments, options = problem(rng, n=400)
    f = on_maps(MarginObjective(*arguments, **options))
    maps = walk(rng, [1e-4, 0.3])
    grads = [f(L.ravel())[1] for L in maps]
    copies = [grad.copy() for grad in grads]
    f(maps[0].ravel())
    assert_array_equal(grads, copies)


@pytest.mark.parametrize("n", [150, 400])
def test_fits_with_and_without_kept_pairs_agree(n):
    X, y = make_blobs(n, 4, centers=3, cluster_std=3.0, random_state=0)
    kept, again = LMNN(tol=1e-6).fit(X, y), LMNN(tol=1e-6).fit(X, y)
    assert_array_equal(kept.components_, again.components_)
    with patch.object(kept_pairs, "MAX_PAIRS", -1):  # no list is ever kept
        fresh = LMNN(tol=1e-6).fit(X, y)
    assert_allclose(
        kept.metadata()["final_objective"], fresh.metadata()["final_objective"], rtol=1e-4
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_pairs", [0, 1, 40])
def test_dense_and_sparse_graphs_give_the_laplacian(rng, n_pairs, dtype):
    n = 9
    rows = rng.integers(n, size=(n_pairs, 2))  # some pairs twice, in both orders, or of one point
    w, V = rng.normal(size=n_pairs).astype(dtype), rng.normal(size=(n, 3)).astype(dtype)
    expected = np.zeros((n, 3))
    for (i, j), weight in zip(rows, w, strict=True):
        expected[i] += weight * (V[i] - V[j])
        expected[j] += weight * (V[j] - V[i])
    for limit in (n, n - 1):
        with patch.object(listed, "MAX_DENSE_POINTS", limit):
            found = listed.Graph(rows, n).laplacian_product(w, V)
        assert found.dtype == dtype
        assert_allclose(found, expected, atol=1e-12 if dtype == np.float64 else 1e-5)


def test_lists_are_long_only_while_the_map_moves_little(rng):
    arguments, options = problem(rng, n=400, spread=4.0)
    objective = MarginObjective(*arguments, **options)
    f, slacks = on_maps(objective), []
    for L in walk(rng, [0.1, 0.1, 1e-4, 1e-4, 1e-4, 0.1, 0.1]):
        f(L.ravel())
        kept = objective.rule.kept_pairs._list
        slacks.append(kept.slack / np.mean(kept.bounds))
    is_long = np.array(slacks) > kept_pairs.LEAST_SLACK * 2
    assert_array_equal(is_long, [False, False, False, True, True, True, False, False])


def slack_after_moves(rng, step):
    """Return the slack of the second list, relative to the mean radius."""
    arguments, options = problem(rng, n=400, spread=4.0)
    objective = MarginObjective(*arguments, **options)
    for L in walk(rng, [step]):
        on_maps(objective)(L.ravel())
    return objective.rule.kept_pairs._last_slack


def test_slack_grows_like_the_square_root_of_the_moves_until_these_are_too_long():
    steps = (2.5e-4, 1e-3, 4e-3, 1e-2)
    *slacks, too_long = (slack_after_moves(np.random.default_rng(0), step) for step in steps)
    assert_allclose(np.divide(slacks[1:], slacks[:-1]), 2, rtol=0.1)
    assert too_long == pytest.approx(kept_pairs.LEAST_SLACK)


def test_a_list_near_its_limit_gets_less_slack():
    """A list that exceeds the limit would be discarded."""
    slack = slack_after_moves(np.random.default_rng(0), 1e-3)
    with patch.object(kept_pairs, "MAX_PAIRS", 150):  # about 90 pairs need no slack
        limited = slack_after_moves(np.random.default_rng(0), 1e-3)
    assert kept_pairs.LEAST_SLACK < limited < slack
