"""The number of threads changes no result by more than rounding."""

import numpy as np
import pytest
from estimators import LEARNERS, MODELS, fit, iterates, learned_arrays, name_of, samples
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from threadpoolctl import threadpool_limits

from dimetric import KNNClassifier
from dimetric._arrays import threads
from dimetric.neighbors.euclidean.search import euclidean_neighbors
from dimetric.neighbors.roles import enemies, friends

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::UserWarning")]

X, Y = samples(n=100)
COUNTS = (1, 2, 4, 4)  # the same number of threads twice gives the same bits


@pytest.fixture(autouse=True)
def threads_for_few_rows(monkeypatch):
    """Use several threads although there are few samples."""
    monkeypatch.setattr(threads, "ROWS_PER_THREAD", 16)


def with_thread_counts(compute):
    """Return the arrays that a function returns with each number of threads."""
    results = []
    for count in COUNTS:
        with threadpool_limits(count):
            results.append(compute())
    return results


def assert_equal_up_to_rounding(results):
    """Check that arrays of several runs agree within 1e-8 of their largest value."""
    first, *others, last = results
    for name, expected in first.items():
        scale = np.max(np.abs(expected)) if expected.dtype.kind == "f" else 1
        for other in others:
            assert_allclose(other[name], expected, rtol=0, atol=1e-8 * scale, err_msg=name)
        assert_array_equal(last[name], others[-1][name], err_msg=name)


@pytest.mark.parametrize("learner", LEARNERS, ids=name_of)
def test_learners(learner):
    params = {"max_iter": 5} if iterates(learner) and "max_iter" in learner.get_params() else {}
    assert_equal_up_to_rounding(
        with_thread_counts(lambda: learned_arrays(fit(learner, X, Y, **params)))
    )


@pytest.mark.parametrize("model", MODELS, ids=name_of)
def test_models(model):
    def predictions():
        fitted = clone(model).fit(X, Y)
        probabilities = getattr(fitted, "predict_proba", fitted.predict)
        return {"predicted": fitted.predict(X[::-1]), "probabilities": probabilities(X)}

    assert_equal_up_to_rounding(with_thread_counts(predictions))


@pytest.mark.parametrize("metric", ["euclidean", "cityblock", "cosine", "chebyshev"])
@pytest.mark.parametrize("d", [2, 4], ids=lambda d: f"{d} features")
def test_neighbor_searches(metric, d):
    tied = np.round(X[:, :d])
    classifier = KNNClassifier(5, metric=metric).fit(tied, Y)

    def found():
        distances, indices = classifier.kneighbors()
        return {"distances": distances, "indices": indices}

    assert_equal_up_to_rounding(with_thread_counts(found))


def test_neighbors_of_the_same_class_and_of_others():
    order = np.argsort(Y, kind="stable")

    def found():
        near = euclidean_neighbors(X, 4)[1]
        roles = [role(X[order], Y[order], 3).indices for role in (friends, enemies)]
        return {"neighbors": near, "friends": roles[0], "enemies": roles[1]}

    assert_equal_up_to_rounding(with_thread_counts(found))
