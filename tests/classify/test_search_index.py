"""Models keep their search between calls: results do not depend on it, and files do not hold it."""

import pickle
from copy import deepcopy

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.base import clone

from dimetric import PCA, KNNClassifier, KNNRegressor
from dimetric.export import load, save
from dimetric.neighbors.ties import Neighborhoods


def samples(rng, n, d=4):
    """Return samples with copies and ties, classes, and new samples that are sometimes tied."""
    X = np.round(rng.normal(size=(n, d)), 1)
    return X, rng.integers(0, 3, size=n), np.round(rng.normal(size=(90, d)), 1)


def shared_votes(D, y, k, n_classes):
    """Return the votes of the k nearest. Samples tied at the k-th distance share the rest."""
    votes = np.zeros((len(D), n_classes))
    for i, d in enumerate(D):
        kth = np.sort(d)[k - 1]
        nearer, tied = d < kth - 1e-9, np.abs(d - kth) <= 1e-9
        np.add.at(votes[i], y[nearer], 1.0)
        np.add.at(votes[i], y[tied], (k - nearer.sum()) / tied.sum())
    return votes


@pytest.mark.parametrize("n_classes", [3, 20])
@pytest.mark.parametrize(("n", "d"), [(300, 4), (6000, 2), (6000, 30)])
def test_votes_match_loops(n, d, n_classes, rng):
    X, _, new = samples(rng, n, d)
    y = np.append(np.arange(n_classes), rng.integers(0, n_classes, size=n - n_classes))
    model = KNNClassifier(5).fit(X, y)
    expected = shared_votes(cdist(new, X), y, 5, n_classes) / 5
    assert_allclose(model.predict_proba(new), expected, atol=1e-12)
    rows = [model.predict_proba(new[i : i + 1]) for i in range(20)]
    assert_allclose(np.concatenate(rows), expected[:20], atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("learner", [None, PCA(2)])
def test_neighbors_equal_those_of_a_search_without_index(learner, dtype, rng):
    X, y, new = (each.astype(dtype) for each in samples(rng, 400))
    for model in (KNNClassifier(4, learner=learner), KNNRegressor(4, learner=learner)):
        model.fit(X, y)
        Z, Q = (X, new) if learner is None else map(model.learner_.transform, (X, new))
        near = Neighborhoods(Q, 4, Z, is_mapped=learner is not None)
        distances, indices = model.kneighbors(new)
        assert_allclose(distances, near.listed(4)[0], rtol=2e-6 if dtype == np.float32 else 1e-12)
        assert_array_equal(indices, near.listed(4)[1])
        assert distances.dtype == dtype


def test_sparse_samples(rng):
    X, y, new = samples(rng, 200)
    model = KNNClassifier().fit(X, y)
    expected = model.predict_proba(new)
    assert_allclose(model.predict_proba(sparse.csr_array(new)), expected)
    of_sparse = KNNClassifier().fit(sparse.csr_array(X), y)
    assert_allclose(of_sparse.predict_proba(sparse.csr_array(new)), expected)
    assert_allclose(of_sparse.predict_proba(new), expected)


@pytest.mark.parametrize("model", [KNNClassifier(), KNNRegressor(weights="distance")])
def test_copies_predict_the_same_bits(model, tmp_path, rng):
    X, y, new = samples(rng, 300)
    model = clone(model).fit(X, y)
    expected, attributes = model.predict(new), dict(vars(model))
    assert vars(model) == attributes  # predictions add no attribute
    save(model, tmp_path / "model.dimetric")
    for copy in (
        pickle.loads(pickle.dumps(model)),
        deepcopy(model),
        load(tmp_path / "model.dimetric"),
    ):
        assert_array_equal(copy.predict(new), expected)
        assert_array_equal(copy.predict(new[:1]), expected[:1])
        assert_array_equal(copy.predict(), model.predict())


def test_a_pickle_does_not_hold_the_search(rng):
    X, y, new = samples(rng, 300)
    model = KNNClassifier().fit(X, y)
    before = len(pickle.dumps(model))
    model.predict(new)
    assert len(pickle.dumps(model)) == before
    assert before < X.nbytes + y.nbytes + 2000


def test_a_new_fit_replaces_the_search(rng):
    X, y, new = samples(rng, 300)
    model = KNNClassifier().fit(X, y)
    model.predict(new)
    for other_X, other_y in ((X, (y + 1) % 3), (X[:150] + 1, y[:150])):
        expected = KNNClassifier().fit(other_X, other_y).predict_proba(new)
        assert_array_equal(model.fit(other_X, other_y).predict_proba(new), expected)
    weights = rng.random(300)
    expected = KNNClassifier().fit(X, y, sample_weight=weights).predict_proba(new)
    model.fit(X, y).predict(new)
    assert_array_equal(model.fit(X, y, sample_weight=weights).predict_proba(new), expected)


def test_parameters_set_after_fit_take_effect(rng):
    X, y, new = samples(rng, 300)
    model = KNNClassifier().fit(X, y)
    model.predict(new)
    for params in ({"metric": "cityblock"}, {"metric": "minkowski", "metric_params": {"p": 3}}):
        expected = KNNClassifier(**params).fit(X, y).predict_proba(new)
        assert_array_equal(model.set_params(**params).predict_proba(new), expected)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_new_samples_are_validated(bad, rng):
    X, y, new = samples(rng, 100)
    model = KNNClassifier().fit(X, y)
    new[3, 1] = bad
    with pytest.raises(ValueError, match="Input X contains"):
        model.predict(new)
    with pytest.raises(ValueError, match="has 3 features, but KNNClassifier is expecting 4"):
        model.predict(X[:, :3])
    with pytest.raises(ValueError, match="Expected 2D array"):
        model.predict(X[0])
    with pytest.raises(ValueError, match="minimum of 1"):
        model.predict(X[:0])
    # The sum of finite values may overflow.
    assert_array_equal(model._mapped(np.full((2, 4), 1e308)), np.full((2, 4), 1e308))
