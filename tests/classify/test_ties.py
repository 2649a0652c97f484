"""Predictions of nearest neighbours do not depend on the order of the rows."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from dimetric import (
    LDA,
    NCA,
    PCA,
    KNNClassifier,
    KNNRegressor,
    MultiMetricKNNClassifier,
)
from dimetric.selection import knn_scores

pytestmark = pytest.mark.filterwarnings("ignore:.*did not converge")


def passengers():
    """Return 300 rows, of which 16 are different, as in a table of few categories."""
    rng = np.random.default_rng(0)
    rows = np.array([(c, a, s) for c in range(4) for a in (0, 1) for s in (0, 1)], dtype=float)
    kinds = rng.choice(16, 300, p=rng.dirichlet(np.ones(16)))
    return rows[kinds], (rng.random(300) < rng.random(16)[kinds]).astype(int)


def grid(unit=1.0, offset=0.0):
    """Return the points of a grid, in two noisy classes."""
    rng = np.random.default_rng(1)
    X = np.stack(np.meshgrid(np.arange(12.0), np.arange(9.0)), axis=-1).reshape(-1, 2)
    return unit * X + offset, (X.sum(axis=1) + rng.integers(0, 4, len(X)) > 10).astype(int)


def binary():
    """Return 150 rows of 12 binary features."""
    rng = np.random.default_rng(2)
    X = rng.integers(0, 2, size=(150, 12)).astype(float)
    return X, (X[:, :3].sum(axis=1) + rng.integers(0, 2, 150) > 2).astype(int)


DATA = {
    "passengers": passengers(),
    "grid": grid(),
    "decimal grid": grid(0.1, 7.0),
    "binary": binary(),
}
LEARNERS = {"None": None, "PCA": PCA(), "LDA": LDA(), "NCA": NCA(max_iter=8)}


def orders(n, n_orders):
    """Return the original order of the rows, its reverse, and random orders."""
    rng = np.random.default_rng(3)
    return [np.arange(n), np.arange(n)[::-1], *(rng.permutation(n) for _ in range(n_orders - 2))]


@pytest.mark.parametrize(
    ("dtype", "n_orders"),
    [
        (np.float64, 3),
        pytest.param(np.float64, 20, marks=pytest.mark.slow),
        pytest.param(np.float32, 20, marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("data", DATA)
def test_classes_do_not_depend_on_the_order_of_rows(data, learner, dtype, n_orders):
    X, y = DATA[data]
    X = X.astype(dtype)
    new = X[::7] + np.asarray(0.5 * (X[1] - X[0]), dtype)
    found = set()
    for order in orders(len(X), n_orders):
        scores = knn_scores(
            {"": LEARNERS[learner]}, X[order], y[order], new, y[::7], n_neighbors=[1, 4, 5]
        )
        model = KNNClassifier(4, learner=LEARNERS[learner], weights="distance")
        predicted = model.fit(X[order], y[order]).predict()[np.argsort(order)]
        found.add((*((each.train, each.test) for each in scores), *predicted, *model.predict(new)))
    assert len(found) == 1


@pytest.mark.parametrize("scaler", [StandardScaler(), MinMaxScaler()], ids=str)
@pytest.mark.parametrize("data", DATA)
def test_scalers_keep_ties(data, scaler):
    X, y = DATA[data]
    found = set()
    for order in orders(len(X), 5):
        model = make_pipeline(scaler, KNNClassifier(4)).fit(X[order], y[order])
        found.add((*model.predict(X), *model[-1].predict()[np.argsort(order)]))
    assert len(found) == 1


def test_regression_does_not_depend_on_the_order_of_rows():
    X, _ = passengers()
    rng = np.random.default_rng(4)
    targets = rng.normal(size=(len(X), 2))
    expected = KNNRegressor(5, learner=PCA(2)).fit(X, targets)
    for order in orders(len(X), 3):
        model = KNNRegressor(5, learner=PCA(2)).fit(X[order], targets[order])
        assert_allclose(model.predict(X), expected.predict(X), atol=1e-12)
        assert_allclose(model.predict()[np.argsort(order)], expected.predict(), atol=1e-12)


def test_sparse_rows_do_not_depend_on_their_order():
    X, y = binary()
    expected = KNNClassifier(4).fit(X, y)
    for order in orders(len(X), 3):
        model = KNNClassifier(4).fit(sparse.csr_array(X[order]), y[order])
        assert_array_equal(model.predict(sparse.csr_array(X)), expected.predict(X))
        assert_array_equal(model.predict()[np.argsort(order)], expected.predict())


@pytest.mark.parametrize("weights", ["uniform", "distance"])
def test_metrics_of_classes_do_not_depend_on_the_order_of_rows(weights):
    X, y = passengers()
    model = MultiMetricKNNClassifier(3, weights=weights, max_iter=3).fit(X, y)
    maps, expected = model.components_, (model.predict(X), model.predict())
    for order in orders(len(X), 3):
        model.fit(X[order], y[order])
        model.components_ = maps
        assert_array_equal(model.predict(X), expected[0])
        assert_array_equal(model.predict()[np.argsort(order)], expected[1])


@pytest.mark.parametrize("weights", ["uniform", "distance"])
@pytest.mark.parametrize("k", [1, 4])
def test_equal_metrics_of_classes_match_one_metric(k, weights):
    X, y = passengers()
    ours = MultiMetricKNNClassifier(k, weights=weights, max_iter=1).fit(X, y)
    ours.components_ = np.stack([np.eye(3)] * 2)
    expected = KNNClassifier(k, weights=weights).fit(X, y)
    new = X[:40] + np.array([0.5, 0.0, 0.0])
    for samples in (new, None):
        assert_allclose(ours.predict_proba(samples), expected.predict_proba(samples), atol=1e-12)
        assert_array_equal(ours.kneighbors(samples)[1], expected.kneighbors(samples)[1])


def test_equal_votes_go_to_the_first_class_in_any_order():
    # Ten thirds and a tenth: sums of shares have rounding errors.
    X = np.array([[1.0]] * 7 + [[-1.0]] * 7)
    for y in (np.repeat([0, 1], 7), np.repeat([1, 0], 7), np.tile([0, 1], 7)):
        for k in (3, 5):
            assert KNNClassifier(k).fit(X, y).predict([[0.0]]) == [0]


def test_a_distance_of_rounding_errors_has_the_weight_of_0():
    X = np.array([[0.1 + 0.2, 1.0], [0.3, 1.0], [0.3, 1.0], [5.0, 1.0]])
    model = KNNClassifier(3, weights="distance").fit(X, [1, 0, 0, 1])
    for new in X[:3]:
        assert_allclose(model.predict_proba([new]), [[2 / 3, 1 / 3]])
