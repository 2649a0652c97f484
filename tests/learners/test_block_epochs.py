"""partial_fit of learners that are fitted by stochastic gradient descent."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone

from dimetric import LDML, LMNN, MCML, NCA, NCMC, NCMML
from dimetric.solvers import SGD

RNG = np.random.default_rng(0)
Y = np.arange(300) % 3
X = RNG.normal(size=(300, 4)) * [1, 1, 3, 3] + 2 * np.eye(3, 4)[Y]
PARAMS = {"solver": SGD(batch_size=64), "random_state": 0}
LEARNERS = [cls(2, **PARAMS) for cls in (NCA, MCML, LDML, LMNN, NCMML)]
LEARNERS += [NCMC(2, n_centroids=2, **PARAMS), NCA(2, reg=0.01, **PARAMS)]


@pytest.mark.parametrize("learner", LEARNERS, ids=str)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_call_is_two_epochs_from_the_current_map(learner):
    found = clone(learner).partial_fit(X, Y).partial_fit(X, Y)
    expected = clone(learner).set_params(max_iter=2, warm_start=True).fit(X, Y).fit(X, Y)
    assert_array_equal(found.components_, expected.components_)
    assert found.n_iter_ == found.metadata()["n_iter"] == len(found.history_) - 1
    assert found.n_iter_ >= 2


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_blocks_improve_the_objective_of_all_samples():
    learner = NCA(2, init="identity", **PARAMS)
    for _ in range(5):
        for rows in np.array_split(RNG.permutation(300), 3):
            learner.partial_fit(X[rows], Y[rows])

    def objective(L):
        fitted = NCA(2, init=L, max_iter=1, tol=10.0).fit(X, Y)
        return fitted.metadata()["initial_objective"]

    assert objective(learner.components_) > objective(np.eye(2, 4)) + 0.03


def test_blocks_may_contain_different_classes():
    learner = NCA(2, **PARAMS)
    learner.partial_fit(X[Y < 2], Y[Y < 2]).partial_fit(X[Y > 0], Y[Y > 0])
    assert_array_equal(learner.classes_, [0, 1, 2])


def test_other_solvers_need_all_samples():
    assert not hasattr(NCA(), "partial_fit")
    with pytest.raises(AttributeError) as raised:
        NCA().partial_fit(X, Y)
    assert "set solver='sgd'" in str(raised.value.__cause__)


def test_blocks_must_have_the_same_features():
    with pytest.raises(ValueError, match="features"):
        NCA(2, **PARAMS).partial_fit(X, Y).partial_fit(X[:, :3], Y)
