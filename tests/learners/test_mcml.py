"""Tests specific to MCML: its objective, its optimum and its gap."""

import numpy as np
import oracles
import pytest
from scipy.optimize import approx_fprime
from scipy.special import logsumexp
from sklearn.datasets import load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning

from dimetric import MCML
from dimetric.learners.mcml import MCMLRule
from dimetric.objectives.objective import on_maps
from dimetric.objectives.pairwise import PairwiseObjective
from dimetric.solvers import SGD, GradientDescent

X, y = load_iris(return_X_y=True)
FEW = slice(None, None, 4)


def naive(L, X, y):
    """Return the objective of MCML, with a loop over samples."""
    losses = []
    for i in range(len(X)):
        d2 = ((L @ (X - X[i]).T) ** 2).sum(axis=0)
        others = np.arange(len(X)) != i
        if np.any(others & (y == y[i])):
            losses.append(d2[others & (y == y[i])].mean() + logsumexp(-d2[others]))
    return np.mean(losses)


def overlapping(rng, n=45, d=3):
    """Return three classes that no metric separates."""
    labels = np.arange(n) % 3
    return rng.normal(size=(n, d)) + (labels[:, None] == np.arange(d)), labels


def test_objective_matches_a_loop(rng):
    A, L = rng.normal(size=(17, 3)), rng.normal(size=(2, 3))
    labels = np.array([0] * 6 + [1] * 5 + [2] + [3] * 5)  # class 2 has a single sample
    f = on_maps(PairwiseObjective(MCMLRule(), A - A.mean(0), labels))
    value, grad = f(L.ravel())
    np.testing.assert_allclose(value, naive(L, A, labels), rtol=1e-12)
    numeric = approx_fprime(L.ravel(), lambda x: naive(x.reshape(2, 3), A, labels))
    np.testing.assert_allclose(grad, numeric, atol=1e-6)


def test_float32_matches_float64_up_to_rounding(rng):
    A, L = rng.normal(size=(200, 5)), rng.normal(size=(5, 5))
    labels = np.sort(np.arange(200) % 3)
    double, single = (
        on_maps(PairwiseObjective(MCMLRule(), A.astype(dtype), labels))(L.ravel())
        for dtype in ("float64", "float32")
    )
    np.testing.assert_allclose(single[0], double[0], rtol=1e-3)
    np.testing.assert_allclose(single[1], double[1], rtol=0, atol=1e-3 * np.abs(double[1]).max())


DATA = {
    "iris": (X[FEW], y[FEW]),
    "noise": overlapping(np.random.default_rng(0)),
    "a feature twice": (X[FEW][:, [0, 1, 2, 0]], y[FEW]),
}


@pytest.fixture(
    scope="module", params=[(name, reg) for name in DATA for reg in (0.0, 0.1)], ids=str
)
def solved(request):
    """Return data, a ridge, and the optimum found by a convex solver."""
    name, reg = request.param
    return *DATA[name], reg, oracles.mcml_optimum(*DATA[name], reg=reg)[1]


@pytest.mark.parametrize("solver", ["lbfgs", "sdp"])
def test_optimum_and_gap_match_a_convex_solver(solved, solver):
    A, labels, reg, best = solved
    facts = MCML(solver=solver, reg=reg, tol=1e-8, max_iter=3000).fit(A, labels).metadata()
    true_gap = facts["final_objective"] - best
    assert true_gap <= 1e-3 * max(1, abs(best))
    assert true_gap - 1e-6 <= facts["gap"] <= 1e-2 * max(1, abs(best))
    assert facts["gap_proven"]
    assert facts["gap_radius"] > 0


@pytest.mark.parametrize("max_iter", [1, 2, 5, 10])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_gap_bounds_the_distance_to_the_optimum(solved, max_iter):
    A, labels, reg, best = solved
    for dtype in ("float64", "float32"):
        facts = MCML(reg=reg, max_iter=max_iter).fit(A.astype(dtype), labels).metadata()
        assert facts["gap"] >= facts["final_objective"] - best - 1e-5


def test_gap_radius_scales_with_the_unit_of_samples():
    one, other = (MCML(init=np.eye(4) / unit).fit(X * unit, y).metadata() for unit in (1.0, 64.0))
    np.testing.assert_allclose(other["gap"], one["gap"], rtol=1e-6)
    np.testing.assert_allclose(other["gap_radius"] * 64**2, one["gap_radius"], rtol=1e-6)
    assert one["gap_proven"]
    assert one["gap_radius"] >= np.trace(MCML(init="identity").fit(X, y).metric())


@pytest.mark.parametrize("params", [{"n_components": 2}, {"solver": SGD(batch_size=50)}])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_no_gap_for_few_components_or_mini_batches(params):
    assert "gap" not in MCML(**params, random_state=0).fit(X, y).metadata()


def test_gradient_descent_never_increases_the_loss():
    codes = np.sort(y)
    f = on_maps(PairwiseObjective(MCMLRule(), X[np.argsort(y, kind="stable")], codes))
    history = GradientDescent().minimise(f, np.eye(4).ravel(), max_iter=200).history
    assert np.all(np.diff(history) <= 0)
    assert history[-1] < history[0] - 0.1


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_mini_batches_come_close_to_the_optimum():
    A, labels = overlapping(np.random.default_rng(1), n=300)
    best = MCML().fit(A, labels).metadata()["final_objective"]
    mcml = MCML(solver=SGD(batch_size=100), max_iter=100, random_state=0)
    mcml.fit(A, labels)
    assert naive(mcml.components_, A, labels) <= best + 0.02
    assert mcml.metadata()["reason"] != "within tol of the infimum"


def test_separable_data_converge_to_a_finite_map():
    A = np.column_stack([np.eye(3)[y], X])  # each class is a point in the first three features
    mcml = MCML(reg=0.0, tol=1e-5).fit(A, y)
    facts = mcml.metadata()
    assert facts["reason"] == "within tol of the infimum"
    assert facts["converged"]
    np.testing.assert_allclose(facts["final_objective"], np.log(49), atol=1e-5)
    assert np.isfinite(mcml.components_).all()
    assert facts["gap"] <= 1e-5
    assert facts["gap_proven"]


def test_a_sample_alone_in_its_class_has_no_loss_but_is_a_neighbour():
    labels = y[FEW].copy()
    labels[20] = 7
    with pytest.warns(UserWarning, match=r"1 of 4 classes have a single sample: \[7\]"):
        mcml = MCML(reg=0.0).fit(X[FEW], labels)
    expected = naive(mcml.components_, X[FEW], labels)
    np.testing.assert_allclose(mcml.metadata()["final_objective"], expected)


def test_one_class_collapses_to_a_point():
    with pytest.warns(UserWarning, match="only one class"):
        mcml = MCML(tol=1e-9).fit(X, np.zeros(150))
    assert np.abs(mcml.transform(X) - mcml.transform(X[:1])).max() < 0.1
    assert mcml.metadata()["reason"] != "within tol of the infimum"


def test_sdp_requires_all_components():
    with pytest.raises(ValueError, match=r"solver='sdp' .*make_pipeline\(PCA\(2\), MCML"):
        MCML(2, solver="sdp").fit(X, y)


@pytest.mark.parametrize("unit", [1e-6, 1e6, 10.0 ** np.arange(-4, 4, 2)], ids=str)
def test_units_of_features_do_not_matter(unit):
    expected = MCML(tol=1e-7, max_iter=500).fit(X, y).metadata()
    facts = MCML(tol=1e-7, max_iter=500).fit(X * unit, y).metadata()
    np.testing.assert_allclose(facts["final_objective"], expected["final_objective"], rtol=1e-4)
    assert facts["gap"] <= 1e-2


def test_gap_is_small_for_unscaled_features():
    """The features of wine have scales from 0.1 to 1000."""
    A, labels = load_wine(return_X_y=True)
    facts = MCML(tol=1e-5).fit(A, labels).metadata()
    assert facts["gap"] <= 1e-2 * facts["final_objective"]


def test_given_start_is_not_rescaled():
    A, labels = X[FEW], y[FEW]
    facts = MCML(init=np.eye(4) / 3, reg=0.0).fit(A, labels).metadata()
    np.testing.assert_allclose(facts["initial_objective"], naive(np.eye(4) / 3, A, labels))
    by_name = MCML(init="identity", reg=0.0).fit(A, labels).metadata()["initial_objective"]
    best = min(naive(s**0.5 * np.eye(4), A, labels) for s in np.linspace(0.1, 2, 39))
    np.testing.assert_allclose(by_name, best, atol=1e-3)


def test_warm_start_continues_from_the_previous_map():
    with pytest.warns(ConvergenceWarning, match="max_iter=3"):
        mcml = MCML(max_iter=3, warm_start=True).fit(X, y)
    first = mcml.metadata()["final_objective"]
    mcml.set_params(max_iter=100).fit(X, y)
    np.testing.assert_allclose(mcml.metadata()["initial_objective"], first)
