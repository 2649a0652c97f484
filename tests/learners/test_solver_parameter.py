"""Tests of the parameter `solver`: names, objects, nested parameters and invalid values."""

import numpy as np
import pytest
from estimators import ONE_OF_EACH, each, fit, samples
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

from dimetric import ITML, KLMNN, LMNN, LSI, NCA, DMLEig, solvers
from dimetric.solvers import (
    LBFGS,
    SGD,
    BregmanProjections,
    FrankWolfe,
    GradientDescent,
    ProjectedGradient,
)

X, y = samples()
SOLVER_PARAMETERS = {"learning_rate", "eta0", "learn_inc", "learn_dec", "batch_size", "schedule"}
ALL_SOLVERS = [LBFGS, GradientDescent, SGD, ProjectedGradient, BregmanProjections, FrankWolfe]


def has_solver(learner):
    return "solver" in learner.get_params()


def solvers_by_name(learner):
    return learner._named_objects["solver"]


pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@each(has_solver, learners=ONE_OF_EACH)
def test_names_stand_for_objects(learner):
    for name, solver in solvers_by_name(learner).items():
        params = {"max_iter": 5} | ({"random_state": 0} if "random_state" in vars(learner) else {})
        by_name = fit(learner, X, y, solver=name, **params)
        by_object = fit(learner, X, y, solver=solver(), **params)
        np.testing.assert_array_equal(by_name.transform(X), by_object.transform(X))
        assert by_name.metadata()["reason"] == by_object.metadata()["reason"]


@each(has_solver, learners=ONE_OF_EACH)
def test_learners_have_no_parameters_of_solvers(learner):
    assert not SOLVER_PARAMETERS & set(learner.get_params(deep=False))


@each(has_solver, learners=ONE_OF_EACH)
def test_unsupported_solvers_raise(learner):
    for solver in (
        "adam",
        *(cls() for cls in ALL_SOLVERS if cls not in solvers_by_name(learner).values()),
    ):
        with pytest.raises(ValueError, match=r"cannot use solver=") as error:
            fit(learner, X, y, solver=solver)
        for name, usable in solvers_by_name(learner).items():
            assert repr(name) in str(error.value)
            assert f"{usable.__name__}()" in str(error.value)


def test_message_for_an_unsupported_solver():
    with pytest.raises(
        ValueError,
        match=r"^DMLEig cannot use solver='sgd'\. Use one of the names 'lbfgs', 'frank_wolfe', "
        r"or one of the objects LBFGS\(\), FrankWolfe\(\)\.$",
    ):
        DMLEig(solver="sgd").fit(X, y)


@pytest.mark.parametrize("learner", [NCA(), LMNN(), KLMNN()], ids=str)
def test_solver_parameters_are_validated(learner):
    learner = clone(learner).set_params(solver=SGD(batch_size=1))
    with pytest.raises(ValueError, match="'batch_size' parameter of SGD must be an int"):
        learner.fit(X, y)


def test_nested_parameters():
    learner = NCA(solver=SGD(batch_size=64))
    assert learner.get_params()["solver__batch_size"] == 64
    again = clone(learner).set_params(solver__batch_size=32, solver__eta0=0.1)
    assert repr(again) == "NCA(solver=SGD(batch_size=32, eta0=0.1))"
    assert learner.solver.batch_size == 64
    assert clone(again).solver is not again.solver
    # A solver and one of its parameters in one call:
    assert NCA().set_params(solver=SGD(), solver__batch_size=9).solver.batch_size == 9


@pytest.mark.parametrize(
    ("learner", "params", "says"),
    [
        (
            NCA(solver="sgd"),
            {"solver__batch_size": 64},
            "solver__batch_size cannot be set while solver='sgd'. Pass an object from "
            "dimetric.solvers instead: NCA(solver=SGD(batch_size=64)).",
        ),
        (
            LSI(),
            {"solver": "projected", "solver__accelerated": False},
            "solver__accelerated cannot be set while solver='projected'. Pass an object from "
            "dimetric.solvers instead: LSI(solver=ProjectedGradient(accelerated=False)).",
        ),
        (
            DMLEig(solver="frank_wolfe"),
            {"solver__schedule": "averaging"},
            "solver__schedule cannot be set while solver='frank_wolfe'. Pass an object from "
            "dimetric.solvers instead: DMLEig(solver=FrankWolfe(schedule='averaging')).",
        ),
        (
            NCA(),
            {"solver__batch_size": 64},
            "solver='lbfgs' has no parameter 'batch_size'. Use SGD from dimetric.solvers instead: "
            "NCA(solver=SGD(batch_size=64)).",
        ),
        (
            NCA(),
            {"solver__speed": 2},
            "solver__speed cannot be set: no solver of NCA has that parameter.",
        ),
        (
            KLMNN(solver="sgd"),
            {"solver__batch_size": 64},
            "solver__batch_size cannot be set while solver='sgd'. Pass an object from "
            "dimetric.solvers instead: KLMNN(solver=SGD(batch_size=64)).",
        ),
    ],
    ids=str,
)
def test_nested_parameters_of_a_name_raise_and_suggest_an_object(learner, params, says):
    with pytest.raises(ValueError, match=r"cannot be set|has no parameter") as error:
        clone(learner).set_params(**params)
    assert str(error.value) == says


def test_nested_parameters_of_other_strings_raise():
    says = r"^init__n_components cannot be set: init='pca' has no parameters\.$"
    with pytest.raises(ValueError, match=says):
        NCA(init="pca").set_params(init__n_components=2)


def test_unknown_parameters_raise_as_in_scikit_learn():
    with pytest.raises(ValueError, match="Invalid parameter 'solve' for estimator NCA"):
        NCA().set_params(solve__batch_size=3)
    with pytest.raises(ValueError, match="Invalid parameter 'size' for estimator SGD"):
        NCA(solver=SGD()).set_params(solver__size=3)


def test_grid_search_over_a_solver_parameter():
    def search(solver):
        learner = NCA(2, solver=solver, max_iter=3, random_state=0)
        pipe = make_pipeline(learner, KNeighborsClassifier())
        return GridSearchCV(pipe, {"nca__solver__batch_size": [20, 30]}, cv=2).fit(X, y)

    result = search(SGD())
    assert result.best_estimator_[0].solver.batch_size in (20, 30)
    assert len(set(result.cv_results_["mean_fit_time"])) == 2
    with pytest.raises(ValueError, match=r"instead: NCA\(solver=SGD\(batch_size=20\)\)"):
        search("sgd")


def test_solver_parameters_reach_the_solver(monkeypatch):
    seen = []
    epochs = solvers.SGD.minimise

    def minimise(self, function, x0, **limits):
        seen.append((self.batch_size, limits["max_iter"], limits["tol"]))
        return epochs(self, function, x0, **limits)

    monkeypatch.setattr(solvers.SGD, "minimise", minimise)
    NCA(solver=SGD(batch_size=17), max_iter=4, tol=1e-3, random_state=0).fit(X, y)
    assert seen == [(17, 4, 1e-3)]


def test_frank_wolfe_and_bregman_projections_fit():
    for learner in (DMLEig(solver=FrankWolfe(schedule="averaging")), ITML(solver="bregman")):
        assert np.isfinite(fit(learner, X, y).components_).all()
