"""Tests of the defaults of `reg` and `tol`, which follow from the data."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris

from dimetric import LDML, LMNN, MCML, MLKR, NCA, NCMC, NCMML, KNNClassifier
from dimetric.data import make_parallel_bands

X, y = load_iris(return_X_y=True)
REG_FACTORS = {MCML: 2.0, LDML: 0.1, LMNN: 5.0, NCMML: 0.1, NCMC: 0.1}
EARLY = "stopped early, because the last iteration gained little"


@pytest.mark.parametrize("cls", REG_FACTORS)
def test_reg_follows_the_number_of_features_per_distinct_sample(cls):
    A, labels = X[::5], y[::5]
    distinct = len(np.unique(A, axis=0))
    reg = cls().fit(A, labels).metadata()["reg"]
    assert_allclose(reg, REG_FACTORS[cls] * (4 / distinct - 0.1))
    twice = cls().fit(np.vstack([A, A]), np.append(labels, labels)).metadata()["reg"]
    weighted = cls().fit(A, labels, sample_weight=np.arange(1.0, 31)).metadata()["reg"]
    assert twice == weighted == reg
    assert cls().fit(X, y).metadata()["reg"] == cls(reg=0.0).fit(A, labels).metadata()["reg"] == 0


@pytest.mark.parametrize("cls", [*REG_FACTORS, NCA])
def test_bands_that_vary_most_along_the_classes_are_separated(cls):
    A, labels, _ = make_parallel_bands(60, n_classes=3, length=100, noise=0.08, random_state=1)
    learner = cls().fit(A, labels)
    assert KNNClassifier(1, learner=cls()).fit(A, labels).score() > 0.95, learner.metadata()


@pytest.mark.parametrize(("learner", "reg"), [(NCA(), 0), (NCA(cost="squared"), 0.1)])
def test_reg_of_nca_is_constant(learner, reg):
    assert learner.fit(X, y).metadata()["reg"] == reg


def test_reg_of_mlkr_is_constant():
    assert MLKR().fit(X, y).metadata()["reg"] == 0.1


@pytest.mark.parametrize("cls", [*REG_FACTORS, NCA])
def test_fit_stops_early_unless_tol_is_given(cls):
    A, labels = load_breast_cancer(return_X_y=True)
    A = (A - A.mean(axis=0)) / A.std(axis=0)
    early = cls().fit(A, labels).metadata()
    assert (early["converged"], early["reason"]) == (True, EARLY)
    late = cls(tol=1e-5, max_iter=2000).fit(A, labels).metadata()
    assert late["n_iter"] > early["n_iter"]
    sign = 1 if cls in (LMNN, MCML) else -1
    assert sign * late["final_objective"] < sign * early["final_objective"]


@pytest.mark.parametrize("cls", [MCML, LDML, NCMML, LMNN])
def test_gap_of_an_early_fit_bounds_the_distance_to_the_optimum(cls):
    early = cls().fit(X, y).metadata()
    best = cls(tol=1e-9, max_iter=5000).fit(X, y).metadata()["final_objective"]
    assert early["gap_proven"]
    assert 0 < abs(early["final_objective"] - best) <= early["gap"] + 1e-6


@pytest.mark.parametrize("shape", [(60, 4), (15, 30)], ids=["few features", "many features"])
@pytest.mark.parametrize("learner", [MCML(), NCMML(), NCA(), LDML(b=2.0)], ids=str)
def test_default_penalty_weights_features_by_their_variances(learner, shape, rng):
    """At the start and at the end, the objective is that without a ridge, minus the penalty."""
    labels = np.arange(shape[0]) % 3
    A = rng.normal(size=shape) * rng.uniform(0.1, 3, size=shape[1]) + labels[:, None]
    L0 = rng.normal(size=(2, shape[1])) / shape[1]
    learner = clone(learner).set_params(init=L0).fit(A, labels)
    facts = learner.metadata()
    sign = -1 if learner._maximises else 1
    ends = (L0, "initial_objective"), (learner.components_, "final_objective")
    for L, name in ends:
        plain = clone(learner).set_params(init=L, reg=0.0).fit(A, labels).metadata()
        penalty = facts["reg"] / shape[1] * np.sum(L**2 * np.var(A, axis=0))
        assert_allclose(facts[name], plain["initial_objective"] + sign * penalty, rtol=1e-6)


@pytest.mark.parametrize("cls", [NCA, MCML, LDML, LMNN, NCMML])
def test_an_outlier_does_not_make_the_default_penalty_large(cls):
    A, labels = np.vstack([X, [[1e6, 5, 3, 1]]]), np.append(y, 0)
    learner, expected = cls().fit(A, labels), cls().fit(X, y)
    same = y[:, None] == y
    for each in (learner, expected):
        Z = each.transform(X)
        D = ((Z[:, None] - Z) ** 2).sum(axis=2)
        assert np.mean(D[~same]) > 5 * np.mean(D[same])


@pytest.mark.parametrize("cls", [MCML, LDML, NCMML, LMNN])
def test_optimum_without_a_ridge_is_certified(cls, rng):
    labels = np.arange(60) % 2
    A = rng.normal(size=(60, 3)) + 0.5 * labels[:, None]
    facts = cls(reg=0.0, tol=1e-8, max_iter=5000).fit(A, labels).metadata()
    assert facts["reg"] == 0
    assert facts["gap"] <= 0.01
