"""Tests of solvers as scikit-learn parameter objects."""

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


def test_all_solvers_are_exported():
    names = {type(solver).__name__ for solver in SOLVERS}
    assert names | {"Result", "Solver"} == set(solvers.__all__)


@each
def test_clone_repr_and_set_params_keep_parameters(solver):
    copy = clone(solver)
    assert copy is not solver
    assert copy.get_params() == solver.get_params()
    assert eval(repr(solver), vars(solvers)) is not None
    for name, value in solver.get_params().items():
        assert getattr(clone(solver).set_params(**{name: value}), name) == value


@each
def test_class_attributes_describe_the_solver(solver):
    assert solver.steps_over in ("maps", "metrics")
    assert solver.uses_batches == isinstance(solver, solvers.SGD)
    needs_smooth = (solvers.LBFGS, solvers.ProjectedGradient)
    assert solver.models_curvature == isinstance(solver, needs_smooth)


def test_defaults_match_the_documentation():
    sgd = {"batch_size": 512, "learning_rate": "adaptive", "eta0": None}
    sgd |= {"increase": 1.01, "decrease": 0.5}
    assert solvers.SGD().get_params() == sgd
    del sgd["batch_size"]
    assert solvers.GradientDescent().get_params() == sgd
    assert solvers.ProjectedGradient().get_params() == {"accelerated": True}
    assert solvers.FrankWolfe().get_params() == {"schedule": "smoothed"}


def test_subclasses_must_define_minimise():
    class Incomplete(solvers.Solver):
        pass

    with pytest.raises(TypeError, match="minimise"):
        Incomplete()


def test_user_defined_solver():
    class Halving(solvers.Solver):
        def minimise(self, function, x0, *, max_iter=100, tol=1e-5, infimum=-np.inf, callback=None):
            x = x0 / 2**max_iter
            return solvers.Result(x, function(x)[0], max_iter, True, "halved", ())

    assert (
        Halving().minimise(lambda x: (float(x @ x), 2 * x), np.ones(2), max_iter=2).value == 0.125
    )
