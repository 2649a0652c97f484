"""Tests specific to ITML: its optimum, dual problem, bounds, prior and pairs."""

import numpy as np
import oracles
import pytest
from scipy.optimize import approx_fprime
from scipy.spatial.distance import pdist
from sklearn.datasets import load_digits, load_iris

from dimetric import ITML
from dimetric.learners._fitting.divergence import DivergenceOverMaps, ITMLRule, dual_value
from dimetric.objectives.listed import ListedObjective
from dimetric.solvers import BregmanProjections
from dimetric.solvers.bregman_projections import BoundedDivergence
from dimetric.supervision.labels import Labels
from dimetric.supervision.pairs import Pairs

X, y = load_iris(return_X_y=True)


def some_pairs(n=40, seed=0):
    """Return n random pairs of iris samples."""
    rng = np.random.default_rng(seed)
    i, j = np.triu_indices(len(y), 1)
    chosen = np.sort(rng.permutation(len(i))[:n])
    rows, same = np.stack([i, j], axis=1)[chosen], (y[i] == y[j])[chosen]
    return Pairs(rows[same], rows[~same])


PAIRS = some_pairs()
SIMILAR = PAIRS.is_similar


def dependent(factor):
    """Return the scatter of features that are linearly dependent up to rounding."""
    A = X[:, :3] / 3
    A = np.column_stack([A, A @ [0.1, 0.7, -0.3]]) * [1, factor, 1, 1]
    return A.T @ A


def differences(A, pairs=PAIRS):
    return A[pairs.rows[:, 0]] - A[pairs.rows[:, 1]]


def test_objective_matches_the_formula(rng):
    B, bounds = np.eye(4) + 0.3 * rng.normal(size=(4, 4)), {"upper": 1.0, "lower": 4.0}
    objective = ListedObjective(ITMLRule(0.7, 1.0, 4.0), X, PAIRS.rows, 1 - SIMILAR.astype(int))

    def formula(flat):
        L = flat.reshape(4, 4)
        return oracles.itml_value(differences(X), SIMILAR, L.T @ L, gamma=0.7, **bounds)

    value, grad = DivergenceOverMaps(objective, np.eye(4))(B.ravel())
    np.testing.assert_allclose(value, formula(B.ravel()))
    np.testing.assert_allclose(grad, approx_fprime(B.ravel(), formula, 1e-7), rtol=1e-3, atol=1e-3)
    bound = np.where(SIMILAR, 1.0, 4.0)
    primal, _ = BoundedDivergence(differences(X), SIMILAR, bound, 0.7)((B.T @ B).ravel())
    np.testing.assert_allclose(primal, formula(B.ravel()))


PRIORS = {
    "identity": ("identity", np.eye(4)),
    "covariance": ("covariance", np.linalg.inv(np.cov(X.T))),
    "array": (np.diag([1.0, 2.0, 3.0, 4.0]) + 0.5, np.diag([1.0, 2.0, 3.0, 4.0]) + 0.5),
}


@pytest.mark.parametrize("solver", ["lbfgs", "bregman"])
@pytest.mark.parametrize("gamma", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("prior", PRIORS)
def test_optimum_and_gap_match_a_convex_solver(prior, gamma, solver):
    given, M0 = PRIORS[prior]
    T = np.linalg.cholesky(M0).T
    bounds = {"upper": 1.0, "lower": 9.0}
    N, best = oracles.itml_optimum(differences(X) @ T.T, SIMILAR, gamma=gamma, **bounds)
    itml = ITML(
        prior=given, gamma=gamma, bounds=(1.0, 9.0), solver=solver, tol=1e-9, max_iter=3000
    ).fit(X, pairs=PAIRS)
    facts = itml.metadata()
    assert abs(facts["final_objective"] - best) <= 1e-3 * max(1, abs(best))
    assert -1e-6 <= facts["gap"] <= 1e-4 * max(1, abs(best))
    M = itml.metric()
    assert facts["final_objective"] <= best + facts["gap"] + 1e-6
    D = np.einsum("ij,jk,ik->i", differences(X), M, differences(X))
    ratio = np.where(SIMILAR, np.maximum(D, 1.0), np.minimum(D / 9.0, 1.0))
    value = oracles.logdet_divergence(M, M0) + gamma * np.sum(ratio - np.log(ratio) - 1)
    np.testing.assert_allclose(facts["final_objective"], value, rtol=1e-6)
    np.testing.assert_allclose(M, T.T @ N @ T, rtol=1e-2, atol=1e-2 * np.abs(M).max())


@pytest.mark.parametrize("max_iter", [1, 3, 10])
@pytest.mark.parametrize("solver", ["lbfgs", "bregman"])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_gap_bounds_the_distance_to_the_optimum(solver, max_iter):
    best = ITML(bounds=(1, 9), tol=1e-12, max_iter=1000).fit(X, pairs=PAIRS).metadata()
    facts = ITML(bounds=(1, 9), max_iter=max_iter, solver=solver).fit(X, pairs=PAIRS).metadata()
    assert facts["gap"] >= facts["final_objective"] - best["final_objective"] - 1e-8


def test_dual_values_are_lower_bounds(rng):
    objective = ListedObjective(ITMLRule(1.0, 1.0, 4.0), X, PAIRS.rows, 1 - SIMILAR.astype(int))
    bounds = {"upper": 1.0, "lower": 4.0}
    best = oracles.itml_optimum(differences(X), SIMILAR, **bounds)[1]
    for scale in (0.0, 0.1, 1.0):
        B = np.eye(4) + scale * rng.normal(size=(4, 4))
        assert dual_value(objective, B) <= best + 1e-6


def test_metrics_stay_positive_definite_in_every_sweep():
    seen = []

    def callback(x, value, n_iter):
        seen.append(np.linalg.eigvalsh(x.reshape(4, 4))[0])
        return False

    bounds = np.where(SIMILAR, 1e-3, 1e3)
    function = BoundedDivergence(differences(X), SIMILAR, bounds, 10.0)
    result = BregmanProjections().minimise(
        function, np.eye(4).ravel(), max_iter=200, callback=callback
    )
    assert min(seen) > 0
    assert result.gap >= 0
    assert result.n_iter == len(seen)


@pytest.mark.parametrize("solver", ["lbfgs", "bregman"])
@pytest.mark.parametrize("prior", PRIORS)
def test_a_prior_that_meets_all_bounds_is_the_solution(prior, solver):
    given, M0 = PRIORS[prior]
    itml = ITML(prior=given, bounds=(1e6, 1e-6), solver=solver).fit(X, pairs=PAIRS)
    np.testing.assert_allclose(itml.metric(), M0, rtol=1e-9, atol=1e-9)
    facts = itml.metadata()
    assert facts["converged"]
    assert facts["n_iter"] == 0
    assert facts["gap"] == pytest.approx(0, abs=1e-9)


def test_order_and_repetition_of_pairs(rng):
    options = {"bounds": (1.0, 9.0), "tol": 1e-10, "max_iter": 500}
    M = ITML(**options).fit(X, pairs=PAIRS).metric()
    shuffled = Pairs(rng.permutation(PAIRS.similar)[:, ::-1], rng.permutation(PAIRS.dissimilar))
    for solver in ("lbfgs", "bregman"):
        one, other = (
            ITML(solver=solver, **options).fit(X, pairs=some).metric() for some in (PAIRS, shuffled)
        )
        np.testing.assert_allclose(one, other, atol=1e-8)
    twice = Pairs(np.tile(PAIRS.similar, (2, 1)), np.tile(PAIRS.dissimilar, (2, 1)))
    np.testing.assert_allclose(
        ITML(**options).fit(X, pairs=twice).metric(),
        ITML(gamma=2.0, **options).fit(X, pairs=PAIRS).metric(),
        rtol=1e-3,
        atol=1e-4 * np.abs(M).max(),
    )


def test_bounds_are_percentiles_of_squared_distances():
    few = X[::2]
    i, j = np.triu_indices(len(few), 1)
    squares = np.sum((few[i] - few[j]) ** 2, axis=1)
    itml = ITML(random_state=0).fit(few, y[::2])
    np.testing.assert_allclose(itml.bounds_, np.percentile(squares[squares > 0], [5, 95]))
    np.testing.assert_allclose(
        ITML(random_state=0).fit(10 * few, y[::2]).bounds_, 100 * np.array(itml.bounds_)
    )
    D, z = load_digits(return_X_y=True)
    sampled, exact = (
        ITML(random_state=0).fit(D, z).bounds_,
        np.sum((D[::9, None] - D[None, ::9]) ** 2, -1),
    )
    np.testing.assert_allclose(sampled, np.percentile(exact[exact > 0], [5, 95]), rtol=0.05)


def test_the_unit_of_samples_does_not_matter():
    M = ITML(random_state=0).fit(X, y).metric()
    np.testing.assert_allclose(ITML(random_state=0).fit(8 * X, y).metric(), M, rtol=1e-6, atol=1e-9)


def test_pairs_are_sampled_by_class_and_seed():
    itml = ITML(n_constraints=50)
    labels = Labels(y, np.unique(y))
    sampled_pairs = [itml._sampled_pairs(labels, np.random.RandomState(seed)) for seed in (0, 0, 1)]
    for pairs in sampled_pairs:
        assert len(pairs.similar) == len(pairs.dissimilar) == 50
        assert np.all(y[pairs.similar[:, 0]] == y[pairs.similar[:, 1]])
        assert np.all(y[pairs.dissimilar[:, 0]] != y[pairs.dissimilar[:, 1]])
        assert len(np.unique(pairs.rows, axis=0)) == 100
    assert sampled_pairs[0] == sampled_pairs[1]
    assert sampled_pairs[0] != sampled_pairs[2]
    few = ITML(n_constraints=10**6, random_state=0).fit(X[::10], y[::10])
    again = ITML(n_constraints=10**6, random_state=1).fit(X[::10], y[::10])
    np.testing.assert_array_equal(few.components_, again.components_)  # all pairs are used


def test_few_similar_pairs_do_not_add_dissimilar_pairs():
    labels = np.array([0, 0, *range(1, 149)])
    itml = ITML(n_constraints=10)
    pairs = itml._sampled_pairs(Labels(labels, np.unique(labels)), np.random.RandomState(0))
    assert (len(pairs.similar), len(pairs.dissimilar)) == (1, 10)


@pytest.mark.parametrize("solver", ["lbfgs", "bregman"])
def test_labels_without_usable_pairs_raise(solver):
    with pytest.raises(ValueError, match="ITML has no pairs to learn from"):
        ITML(solver=solver).fit(np.ones((2, 3)), [0, 1])
    with pytest.raises(ValueError, match="ITML requires at least 2 classes, but y has only 1"):
        ITML(solver=solver, unlabelled=-1).fit(X[:3], [0, -1, -1])


def test_covariance_prior_of_a_constant_feature_is_a_pseudo_inverse():
    A = np.column_stack([X, np.ones(150)])
    M = ITML(prior="covariance", random_state=0).fit(A, y).metric()
    np.testing.assert_array_equal(M[4], 0)
    expected = ITML(prior="covariance", random_state=0).fit(X, y).metric()
    np.testing.assert_allclose(M[:4, :4], expected, rtol=1e-5)


def test_dissimilar_pairs_of_identical_samples_are_ignored():
    A = np.concatenate([X, X[:2]])
    pairs = Pairs(PAIRS.similar, np.concatenate([PAIRS.dissimilar, [[0, 150], [1, 151]]]))
    for solver in ("lbfgs", "bregman"):
        options = {"bounds": (1.0, 9.0), "solver": solver}
        one, other = ITML(**options).fit(A, pairs=pairs), ITML(**options).fit(X, pairs=PAIRS)
        np.testing.assert_allclose(one.metric(), other.metric(), rtol=1e-9)


BAD = {
    "bounds": (dict(bounds=(1.0, -1.0)), r"bounds=\(1.0, -1.0\) must be two positive numbers"),
    "three bounds": (dict(bounds=(1, 2, 3)), "must be two positive numbers"),
    "shape": (dict(prior=np.eye(3)), r"prior has shape \(3, 3\), but must have shape \(4, 4\)"),
    "negative": (dict(prior=np.diag([1.0, 1, 1, -1])), "definite, but its diagonal entry 3 is -1"),
    "indefinite": (dict(prior=np.eye(4) - 0.5), "definite, .*smallest eigenvalue is -2"),
    "zero": (dict(prior=np.diag([1.0, 1, 1, 0])), "definite, but its diagonal entry 3 is 0"),
    "singular": (dict(prior=np.ones((4, 4))), "positive definite, but it is singular"),
    "nearly singular": (dict(prior=dependent(1.0)), "positive definite, but it is singular"),
    "singular in other units": (dict(prior=dependent(1e-9)), "definite, but it is singular"),
    "skew": (dict(prior=np.eye(4) + np.eye(4, k=1)), "must be symmetric. Pass"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_parameters(case):
    params, says = BAD[case]
    with pytest.raises(ValueError, match=says):
        ITML(**params).fit(X, y)


# The prior in other units, and the random prior


@pytest.mark.parametrize("factors", [[1e-9, 1e9, 1, 1], [1e-8] * 4, [1e8] * 4])
def test_units_do_not_decide_whether_a_prior_is_singular(factors):
    M0 = np.diag([1.0, 2, 3, 4]) + 0.5
    expected = ITML(prior=M0, random_state=0).fit(X, y).transform(X)
    moved = ITML(prior=M0 / np.outer(factors, factors), random_state=0).fit(X * factors, y)
    np.testing.assert_allclose(pdist(moved.transform(X * factors)), pdist(expected), rtol=1e-3)


@pytest.mark.parametrize("d", [1, 4, 64])
def test_random_prior_is_a_definite_matrix_of_unit_scale(d):
    A = np.random.default_rng(0).normal(size=(30, d))
    met = Pairs([[0, 1]], [[2, 3]])
    priors = [
        ITML(prior="random", bounds=(1e9, 1e-9), random_state=seed).fit(A, pairs=met).metric()
        for seed in (0, 0, 1)
    ]
    np.testing.assert_array_equal(priors[0], priors[1])
    assert d == 1 or not np.allclose(priors[0], priors[2])
    for M0 in priors:  # the bounds are met, so that the prior is the solution
        assert np.trace(M0) == pytest.approx(d)
        assert np.linalg.eigvalsh(M0)[0] > 0.05


def test_random_prior_is_a_prior_like_any_other():
    met = ITML(prior="random", bounds=(1e9, 1e-9), random_state=3).fit(X, pairs=PAIRS)
    bounds = {"bounds": (1.0, 9.0), "tol": 1e-9, "max_iter": 3000}
    learned = ITML(prior="random", random_state=3, **bounds).fit(X, pairs=PAIRS)
    given = ITML(prior=met.metric(), **bounds).fit(X, pairs=PAIRS)
    np.testing.assert_allclose(learned.metric(), given.metric(), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("scale", [1e-100, 1e100])
def test_default_prior_and_bounds_do_not_depend_on_the_unit(scale):
    expected = ITML(random_state=0).fit(X, y).transform(X)
    found = ITML(random_state=0).fit(X * scale, y).transform(X * scale)
    ratio = np.linalg.norm(found) / np.linalg.norm(expected)
    np.testing.assert_allclose(found / ratio, expected, rtol=1e-6)


@pytest.mark.parametrize(
    ("params", "names"),
    [
        ({"bounds": (0.1, 10.0)}, "bounds"),
        ({"prior": np.eye(4)}, "prior"),
        ({"prior": np.eye(4), "bounds": (0.1, 10.0)}, "prior and bounds"),
    ],
)
def test_values_in_the_unit_of_extreme_samples(params, names):
    with pytest.warns(UserWarning, match=f"rescaled to around 1, but {names} were not"):
        ITML(random_state=0, **params).fit(X * 1e100, y)
