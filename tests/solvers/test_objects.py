"""Solvers are parameter objects in scikit-learn's sense, and say what they need."""

import numpy as np
import pytest
from sklearn.base import clone

from dimetric import solvers

SOLVERS = [
    solvers.LBFGS(),
    solvers.GradientDescent(eta0=0.1),
    solvers.SGD(batch_size=64, learning_rate="constant"),
    solvers.ProjectedGradient(accelerated=False),
    solvers.BregmanProjections(),
    solvers.FrankWolfe(schedule="averaging"),
]
each = pytest.mark.parametrize("solver", SOLVERS, ids=str)


def test_the_room_exports_all_of_them():
    assert {type(each).__name__ for each in SOLVERS} | {"Result", "Solver"} == set(solvers.__all__)


@each
def test_clone_repr_and_set_params(solver):
    again = clone(solver)
    assert again is not solver
    assert again.get_params() == solver.get_params()
    assert eval(repr(solver), vars(solvers)) is not None
    for name, value in solver.get_params().items():
        assert getattr(clone(solver).set_params(**{name: value}), name) == value


@each
def test_what_a_learner_must_prepare_is_declared(solver):
    assert solver.steps_over in ("maps", "metrics")
    assert solver.uses_batches == isinstance(solver, solvers.SGD)
    wants_smooth = (solvers.LBFGS, solvers.ProjectedGradient)
    assert solver.models_curvature == isinstance(solver, wants_smooth)


def test_defaults_are_those_that_are_documented():
    sgd = {"batch_size": 512, "learning_rate": "adaptive", "eta0": None}
    sgd |= {"increase": 1.01, "decrease": 0.5}
    assert solvers.SGD().get_params() == sgd
    del sgd["batch_size"]
    assert solvers.GradientDescent().get_params() == sgd
    assert solvers.ProjectedGradient().get_params() == {"accelerated": True}
    assert solvers.FrankWolfe().get_params() == {"schedule": "smoothed"}


def test_there_is_no_solver_without_a_method():
    class Nothing(solvers.Solver):
        pass

    with pytest.raises(TypeError, match="minimise"):
        Nothing()


def test_a_solver_of_ones_own():
    class Halving(solvers.Solver):
        def minimise(self, function, x0, *, max_iter=100, tol=1e-5, infimum=-np.inf, callback=None):
            x = x0 / 2**max_iter
            return solvers.Result(x, function(x)[0], max_iter, True, "halved", ())

    assert (
        Halving().minimise(lambda x: (float(x @ x), 2 * x), np.ones(2), max_iter=2).value == 0.125
    )
