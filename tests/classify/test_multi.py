"""The multi-metric objective against finite differences and a loop, its search against all."""

import numpy as np
import pytest
from estimators import host, samples
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import check_grad
from sklearn.datasets import load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import cross_val_score

from dimetric import LDA, KNNClassifier, MultiMetricKNNClassifier
from dimetric.classify import multi as module
from dimetric.classify.multi import JointMargins

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
X, y = samples(n=30)
ORDER = np.argsort(y, kind="stable")
MAPS = np.random.default_rng(0).normal(size=(3, 4, 4)) / 3


def by_loops(X, codes, targets, maps, mu):
    def d2(i, j):
        return float(np.sum((maps[codes[j]] @ (X[i] - X[j])) ** 2))  # fmt: skip

    total = 0.0
    for i in range(len(X)):
        for j in targets[i]:
            total += (1 - mu) * d2(i, j)
            for l in range(len(X)):
                if codes[l] != codes[i]:
                    total += mu * max(0.0, 1 + d2(i, j) - d2(i, l))
    return total / len(X)


@pytest.mark.parametrize("share", [0.0, 1.1])
def test_objective(namespace, share, monkeypatch):
    monkeypatch.setattr(module, "SPARSE", share)
    Z = X[ORDER] - X.mean(axis=0)
    objective = JointMargins(namespace.asarray(Z), y[ORDER], 2, 0.3)
    targets = host(objective._targets)
    assert_array_equal(y[ORDER][targets], y[ORDER][:, None].repeat(2, axis=1))
    value, grad = objective.evaluate(MAPS, 0.0)
    assert_allclose(value, by_loops(Z, y[ORDER], targets, MAPS, 0.3))
    assert grad.shape == MAPS.shape


@pytest.mark.parametrize("share", [0.0, 1.1])
@pytest.mark.parametrize("width", [0.0, 0.1, 1.0])
def test_gradient(width, share, monkeypatch):
    monkeypatch.setattr(module, "SPARSE", share)
    objective = JointMargins(X[ORDER] - X.mean(axis=0), y[ORDER], 3, 0.5)
    error = check_grad(
        lambda flat: objective.evaluate(flat.reshape(MAPS.shape), width)[0],
        lambda flat: objective.evaluate(flat.reshape(MAPS.shape), width)[1].ravel(),
        MAPS.ravel(),
    )
    assert error < 1e-4


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.filterwarnings("ignore:.*samples have fewer than")
def test_pairs_that_matter_are_all(dtype, monkeypatch):
    codes = np.sort(np.where(np.arange(30) < 1, 7, y), kind="stable")
    codes = np.unique(codes, return_inverse=True)[1]  # one class has a single sample
    found = []
    for share in (0.0, 1.1):
        monkeypatch.setattr(module, "SPARSE", share)
        objective = JointMargins(X[ORDER].astype(dtype), codes, 3, 0.4)
        found.append(objective.evaluate(MAPS[[0, 1, 2, 0]], 0.5))
    tolerance = 1e-10 if dtype == "float64" else 1e-4
    assert_allclose(found[0][0], found[1][0], rtol=tolerance)
    assert_allclose(found[0][1], found[1][1], atol=tolerance * np.abs(found[0][1]).max())


@pytest.mark.parametrize("learner", [None, LDA()])
def test_neighbours_are_those_in_the_metrics_of_their_classes(learner):
    new = samples(n=9, seed=2)[0]
    model = MultiMetricKNNClassifier(4, learner=learner, max_iter=10).fit(X, y)
    for queries in (new, None):
        Q = X if queries is None else new
        mapped = [a if learner is None else model.learner_.transform(a) for a in (Q, X)]
        difference = mapped[0][:, None] - mapped[1][None]
        L = model.components_[y]
        D = np.sqrt(np.sum(np.einsum("jkd,ijd->ijk", L, difference) ** 2, axis=2))
        if queries is None:
            np.fill_diagonal(D, np.inf)
        expected = np.argsort(D, axis=1, kind="stable")[:, :4]
        distances, indices = model.kneighbors(queries)
        assert_array_equal(indices, expected)
        assert_allclose(distances, np.take_along_axis(D, expected, axis=1))


def test_small_classes():
    labels = np.where(np.arange(30) < 1, 7, y)
    with pytest.warns(UserWarning, match="samples have fewer than 3 friends"):
        model = MultiMetricKNNClassifier(max_iter=5).fit(X, labels)
    assert model.predict().shape == (30,)
    assert np.isfinite(model.kneighbors()[0]).all()


def test_it_learns():
    X, y = load_wine(return_X_y=True)
    X = (X - X.min(axis=0)) / np.ptp(X, axis=0)
    learned = cross_val_score(MultiMetricKNNClassifier(max_iter=30), X, y, cv=3).mean()
    assert learned > cross_val_score(KNNClassifier(), X, y, cv=3).mean()


def test_unit_does_not_matter():
    a = MultiMetricKNNClassifier(max_iter=5).fit(X, y)
    b = MultiMetricKNNClassifier(max_iter=5).fit(1024 * X, y)
    assert_allclose(a.components_, 1024 * b.components_, rtol=1e-6)
    assert_array_equal(a.predict(), b.predict())


def test_ridge_shrinks():
    free, held = (MultiMetricKNNClassifier(max_iter=20, reg=r).fit(X, y) for r in (0.0, 10.0))
    assert np.sum(held.components_**2) < np.sum(free.components_**2)


def test_says_if_it_is_not_done():
    with pytest.warns(ConvergenceWarning, match="MultiMetricKNNClassifier did not converge"):
        MultiMetricKNNClassifier(max_iter=1).fit(X, y)
