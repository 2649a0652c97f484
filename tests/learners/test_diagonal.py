"""Tests of ``diagonal=True``: learners that minimise a mean loss learn feature weights."""

import numpy as np
import pytest
from estimators import host, samples
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import approx_fprime, minimize

from dimetric import LDML, LMNN, MCML, NCA, NCMC, NCMML, Kernelized, Pairs, Triplets
from dimetric.learners._fitting.functions import LossOverMaps
from dimetric.learners._fitting.problem import Problem
from dimetric.objectives.objective import on_maps
from dimetric.supervision.labels import Labels

X, y = samples()
CLASSES = [NCA, MCML, LDML, LMNN, NCMML, NCMC]
T = np.array([[2.0, 0, 0, 0], [1, 1, 0, 0], [0.5, 1, 3, 0], [0, 0, 1, 1]])


def learner_of(cls, **params):
    return cls(diagonal=True, random_state=0, **params)


def objective_of_samples(cls):
    order = np.argsort(y, kind="stable")
    labels = Labels(y[order], np.unique(y))
    A = X[order] - X.mean(axis=0)
    return learner_of(cls)._objective(A, labels, order)


@pytest.mark.parametrize("cls", CLASSES)
@pytest.mark.parametrize("preconditioner", [None, np.array([1.0, 2.0, 3.0, 0.5]), T])
def test_function_is_the_full_function_at_diagonal_maps(cls, preconditioner):
    objective = objective_of_samples(cls)
    start, theta = np.diag([0.3, 0.2, -0.4, 0.5]), objective.theta + 1
    problem = Problem(
        objective, start=start, restore=lambda L: L, ridge=0.1, theta=theta, diagonal=True
    )
    function = LossOverMaps(problem, preconditioner=preconditioner)
    assert len(function.start) == 4 + len(theta)
    assert_allclose(function.decode(function.start)[0], start)
    full = on_maps(objective, ridge=0.1)(np.concatenate([start.ravel(), theta]))[0]
    value, gradient = function(function.start)
    assert_allclose(value, full)
    numeric = approx_fprime(function.start, lambda x: function(x)[0])
    assert_allclose(gradient, numeric, atol=1e-5 * np.abs(numeric).max())


@pytest.mark.parametrize("cls", [NCA, MCML, NCMML])
def test_weights_minimise_the_objective_over_diagonal_maps(cls):
    learner = learner_of(cls, reg=0.1, tol=1e-9, max_iter=500).fit(X, y)
    objective, d = objective_of_samples(cls), 4
    ridge = 0.1 * X.var(axis=0).mean() / d

    def value(weights):
        return on_maps(objective, ridge=ridge)(np.diag(weights).ravel())[0]

    found = np.diag(learner.components_)
    best = minimize(value, found * 1.1, options={"gtol": 1e-9}).fun
    sign = -1 if learner._maximises else 1
    assert_allclose(sign * learner.metadata()["final_objective"], value(found), rtol=1e-9)
    assert value(found) <= best + 1e-7


@pytest.mark.parametrize("cls", CLASSES)
@pytest.mark.parametrize(
    "solver", ["lbfgs", *(pytest.param(name, marks=pytest.mark.slow) for name in ("bgd", "sgd"))]
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_map_is_a_diagonal_matrix(cls, solver):
    learner = learner_of(cls, solver=solver, max_iter=10).fit(X, y)
    L = learner.components_
    assert L.shape == (4, 4)
    assert_array_equal(L, np.diag(np.diag(L)))
    facts = learner.metadata()
    assert "gap" not in facts
    sign = 1 if learner._maximises else -1
    assert sign * (facts["final_objective"] - facts["initial_objective"]) > 0
    learner.set_params(warm_start=True).fit(X, y)
    wide = learner_of(cls, solver=solver, max_iter=5).fit(np.hstack([X] * 20), y)
    assert_array_equal(wide.components_, np.diag(np.diag(wide.components_)))


def test_a_useless_feature_gets_a_small_weight(rng):
    A, labels = samples(400)
    A = np.hstack([A, rng.normal(size=(400, 2))])
    weights = np.abs(np.diag(MCML(diagonal=True).fit(A, labels).components_))
    assert weights[4:].max() < 0.7 * weights[:3].min()


@pytest.mark.parametrize(
    ("params", "says"),
    [
        ({"n_components": 2}, r"each of the 4 features and cannot use n_components=2"),
        ({"init": "pca"}, r"cannot use init='pca'\. Use init='identity'"),
        ({"init": "lda"}, r"cannot use init='lda'"),
        ({"init": np.ones((4, 4))}, r"init is not a diagonal matrix, but diagonal=True"),
        ({"init": np.eye(2, 4)}, r"init has shape \(2, 4\), but must have n_components=4 rows"),
        ({"solver": "sdp"}, r"cannot use solver='sdp'\. Use solver='lbfgs'"),
    ],
)
def test_parameters_that_cannot_be_combined_with_a_diagonal_map(params, says):
    with pytest.raises(ValueError, match=says):
        MCML(diagonal=True, **params).fit(X, y)


def test_previous_map_that_is_not_diagonal():
    learner = NCA(warm_start=True).fit(X, y).set_params(diagonal=True)
    with pytest.raises(ValueError, match="the map of the previous fit is not a diagonal matrix"):
        learner.fit(X, y)


def test_coordinates_of_a_kernel_have_no_feature_weights():
    with pytest.raises(ValueError, match="coordinates that mix the features"):
        Kernelized(NCA(diagonal=True)).fit(X, y)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    ("cls", "given"),
    [
        (LDML, {"pairs": Pairs.from_labels(y, 200, random_state=0)}),
        (LMNN, {"triplets": Triplets.from_labels(y, 200, random_state=0)}),
    ],
)
def test_weights_from_pairs_and_triplets(cls, given):
    L = cls(diagonal=True).fit(X, **given).components_
    assert_array_equal(L, np.diag(np.diag(L)))
    assert np.abs(np.diag(L)).max() > 0


@pytest.mark.parametrize("cls", [NCA, MCML])
def test_diagonal_map_with_weights_in_any_namespace(cls, namespace):
    weights = np.linspace(0.5, 2, 60)
    A = namespace.asarray(X)
    learner = learner_of(cls, reg=0.1).fit(A, y, sample_weight=namespace.asarray(weights))
    expected = learner_of(cls, reg=0.1).fit(X, y, sample_weight=weights)
    assert_allclose(host(learner.components_), expected.components_, atol=1e-5)
