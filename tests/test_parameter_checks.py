"""Parameters are validated at each fit as by scikit-learn, although valid ones are remembered."""

import copy
from concurrent.futures import ThreadPoolExecutor
from numbers import Integral
from unittest.mock import patch

import numpy as np
import pytest
from estimators import ONE_OF_EACH
from sklearn import config_context
from sklearn.base import BaseEstimator, clone

from dimetric import LDML, LMNN, NCA, PCA
from dimetric._compat import Interval, StrOptions, check_params
from dimetric.solvers import SGD

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

X = np.random.default_rng(0).normal(size=(20, 3))
Y = np.arange(20) % 2
VALUES = (
    *(None, True, False, 0, 1, -1, 2, 0.0, -0.0, 0.5, 1.0, -1.0, np.nan, np.inf, "auto", "pca"),
    *("no such name", "", np.float64(0.5), np.int64(2), np.bool_(True), np.str_("auto"), 10**30),
    *([], {}, {"a": 1}, np.eye(3), print, object(), 1j, b"auto", SGD()),
)


def message(check, estimator):
    """Return the error of a validation, or None if it succeeds."""
    try:
        check(estimator)
    except Exception as error:
        return type(error), str(error)
    return None


@pytest.mark.parametrize("estimator", ONE_OF_EACH, ids=lambda each: type(each).__name__)
def test_each_parameter_is_validated_as_by_sklearn(estimator):
    estimator = clone(estimator)
    for name in estimator.get_params(deep=False):
        before = getattr(estimator, name)
        for value in (*VALUES, *reversed(VALUES)):
            setattr(estimator, name, value)
            expected = message(BaseEstimator._validate_params, estimator)
            assert message(check_params, estimator) == expected, (name, value)
        setattr(estimator, name, before)


@pytest.mark.parametrize("estimator", ONE_OF_EACH, ids=lambda each: type(each).__name__)
def test_names_of_parameters_are_those_of_sklearn(estimator):
    cls = type(estimator)
    assert cls._get_param_names() == BaseEstimator._get_param_names.__func__(cls)
    cls._get_param_names().append("not a parameter")  # the list belongs to the caller
    assert "not a parameter" not in cls._get_param_names()


def test_a_change_between_fits_is_noticed():
    lmnn = LMNN(max_iter=3).fit(X, Y)
    for change in (lambda: lmnn.set_params(max_iter=-1), lambda: setattr(lmnn, "max_iter", "3")):
        change()
        for _ in range(2):
            with pytest.raises(ValueError, match="'max_iter' parameter of LMNN must be an int"):
                lmnn.fit(X, Y)
        lmnn.set_params(max_iter=3).fit(X, Y)


def test_a_change_of_a_nested_solver_is_noticed():
    nca = NCA(solver=SGD(batch_size=5), max_iter=2).fit(X, Y)
    nca.solver.batch_size = -5
    with pytest.raises(ValueError, match="'batch_size' parameter of SGD"):
        nca.fit(X, Y)
    nca.set_params(solver__batch_size=5).fit(X, Y)
    nca.set_params(solver__batch_size=0.5)
    with pytest.raises(ValueError, match="'batch_size' parameter of SGD"):
        nca.fit(X, Y)


def test_validation_can_be_skipped():
    pca = PCA(n_components=2).set_params(whiten="yes")
    with config_context(skip_parameter_validation=True):
        pca.fit(X)
    with pytest.raises(ValueError, match="'whiten' parameter of PCA"):
        pca.fit(X)


def test_subclasses_have_their_own_constraints():
    class Short(LDML):
        _parameter_constraints = LDML._parameter_constraints | {"max_iter": [StrOptions({"few"})]}

    check_params(LDML(max_iter=3))
    with pytest.raises(ValueError, match="'max_iter' parameter of Short must be a str"):
        check_params(Short(max_iter=3))
    check_params(Short(max_iter="few"))
    with pytest.raises(ValueError, match="'max_iter' parameter of LDML must be an int"):
        check_params(LDML(max_iter="few"))


def test_subclasses_have_their_own_parameters():
    class Longer(PCA):
        def __init__(self, n_components=None, *, extra=1):
            super().__init__(n_components)
            self.extra = extra

    assert Longer._get_param_names() == ["extra", "n_components"]
    assert clone(Longer(extra=5)).extra == 5
    assert "extra" not in PCA._get_param_names()


def test_constraints_of_an_instance_and_changes_in_place_are_noticed():
    ldml = LDML(max_iter=3)
    check_params(ldml)
    ldml._parameter_constraints = {"max_iter": [StrOptions({"few"})]}
    with pytest.raises(ValueError, match="'max_iter'"):
        check_params(ldml)
    constraints = copy.deepcopy(LDML._parameter_constraints)
    with patch.object(LDML, "_parameter_constraints", constraints):
        check_params(LDML(max_iter=3))
        constraints["max_iter"][:] = [Interval(Integral, 5, None, closed="left")]
        with pytest.raises(ValueError, match="'max_iter'"):
            check_params(LDML(max_iter=3))
    check_params(LDML(max_iter=3))


def test_a_new_constructor_is_noticed():
    class Changed(PCA):
        pass

    assert "whiten" in Changed._get_param_names()

    def __init__(self, few=1):
        self.few = few

    Changed.__init__ = __init__
    assert Changed._get_param_names() == ["few"]


def test_threads_validate_independently():
    learners = [LMNN(max_iter=i if i % 3 else -i - 1) for i in range(1, 3000)]
    with ThreadPoolExecutor(8) as pool:
        failed = list(pool.map(lambda each: message(check_params, each) is not None, learners))
    assert failed == [each.max_iter < 0 for each in learners]
