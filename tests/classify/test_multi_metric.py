"""The search with a metric for each class, compared with a sort of all distances."""

import numpy as np
import pytest
from estimators import samples
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import cross_val_score

from dimetric import LDA, KNNClassifier, MultiMetricKNNClassifier

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
X, y = samples(n=30)


@pytest.mark.parametrize("learner", [None, LDA()])
def test_neighbours_match_a_sort_of_all_distances(learner):
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


def test_accuracy_exceeds_euclidean():
    X, y = load_wine(return_X_y=True)
    X = (X - X.min(axis=0)) / np.ptp(X, axis=0)
    learned = cross_val_score(MultiMetricKNNClassifier(max_iter=30), X, y, cv=3).mean()
    assert learned > cross_val_score(KNNClassifier(), X, y, cv=3).mean()


def test_scale_of_X_does_not_change_predictions():
    a = MultiMetricKNNClassifier(max_iter=5).fit(X, y)
    b = MultiMetricKNNClassifier(max_iter=5).fit(1024 * X, y)
    assert_allclose(a.components_, 1024 * b.components_, rtol=1e-6)
    assert_array_equal(a.predict(), b.predict())


def test_ridge_shrinks_the_maps():
    free, penalized = (MultiMetricKNNClassifier(max_iter=20, reg=r).fit(X, y) for r in (0.0, 10.0))
    assert np.sum(penalized.components_**2) < np.sum(free.components_**2)


def test_warns_if_not_converged():
    with pytest.warns(ConvergenceWarning, match="MultiMetricKNNClassifier did not converge"):
        MultiMetricKNNClassifier(max_iter=1).fit(X, y)
