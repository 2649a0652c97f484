"""Ranks of features, compared with scipy."""

import numpy as np
import pytest
from estimators import each_check, host, samples
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.stats import rankdata

from dimetric.classify._rank_scaler import RankScaler

X, _ = samples(n=60)
NEW, _ = samples(n=30, seed=1)


def test_ranks_of_the_training_samples():
    rounded = np.round(X)  # with ties
    for samples_ in (X, rounded):
        ranks = rankdata(samples_, axis=0)
        expected = (ranks - ranks.mean(axis=0)) / ranks.std(axis=0)
        Z = RankScaler().fit_transform(samples_)
        assert_allclose(Z - Z.mean(axis=0), expected, atol=1e-12)


def test_new_samples_are_interpolated():
    scaler = RankScaler().fit(np.array([[0.0], [1.0], [3.0]]))
    Z = scaler.transform(np.array([[-9.0], [0.0], [0.5], [1.0], [2.0], [9.0]]))[:, 0]
    assert_allclose(Z / Z[3], [0, 0, 0.5, 1, 1.5, 2])


def test_increasing_functions_of_features_have_the_same_ranks():
    Z, W = (RankScaler().fit_transform(each) for each in (X, np.exp(X)))
    assert_allclose(Z - Z[0], W - W[0], atol=1e-12)


def test_many_values():
    many = np.random.default_rng(0).lognormal(size=(1000, 1))
    Z = RankScaler().fit(many)
    assert Z.values_.shape == (100, 1)
    ranks = rankdata(many)
    approximate = Z.transform(many)[:, 0]
    expected = (ranks - ranks.mean()) / ranks.std()
    assert np.abs(approximate - approximate.mean() - expected).max() < 0.05
    assert np.all(np.diff(approximate[np.argsort(many[:, 0])]) >= 0)


def test_constant_features_are_zero():
    assert_array_equal(RankScaler().fit_transform(np.full((5, 1), 7.0)), np.zeros((5, 1)))


@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csc_array])
def test_sparse_samples(kind):
    data = np.where(X > 1, X, 0)
    dense = RankScaler().fit(data)
    thin = RankScaler().fit(kind(data))
    new = np.where(NEW > 1, NEW, 0)
    assert_allclose(thin.transform(kind(new)).toarray(), dense.transform(new), atol=1e-12)
    assert thin.transform(kind(new)).nnz == np.count_nonzero(new)


def test_arrays_of_other_namespaces(namespace):
    Z = RankScaler().fit(namespace.asarray(X)).transform(namespace.asarray(NEW))
    assert isinstance(Z, type(namespace.asarray(X)))
    assert_allclose(host(Z), RankScaler().fit(X).transform(NEW))


@each_check([RankScaler()])
def test_scikit_learn_checks(estimator, check):
    check(estimator)
