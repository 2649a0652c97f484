"""Tests of the parameter object Kernel: short forms, nested parameters, validation, randomness."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import scale

from dimetric import KANMM, KDA, KDMLMJ, KLMNN, KPCA, LDA, Kernelized, KNNClassifier
from dimetric.benchmark._cells import seeded
from dimetric.kernels import Kernel
from dimetric.kernels.kernelized import KernelizedMetric

y = load_wine().target
X = scale(load_wine().data)

LEARNERS = [KPCA(3), KDA(), KANMM(2), KDMLMJ(2), Kernelized(LDA(reg=0.1)), KLMNN(2, max_iter=5)]
each = pytest.mark.parametrize("learner", LEARNERS, ids=lambda learner: type(learner).__name__)
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def fitted(learner, kernel):
    return clone(learner).set_params(kernel=kernel).fit(X, y)


# Short forms


@each
@pytest.mark.parametrize("name", ["rbf", "poly", rbf_kernel])
def test_name_or_function_is_short_for_the_object(learner, name):
    short, full = (fitted(learner, kernel) for kernel in (name, Kernel(name)))
    assert_array_equal(short.transform(X), full.transform(X))


@each
def test_learners_do_not_repeat_parameters_of_the_kernel(learner):
    names = set(learner.get_params(deep=False))
    assert "kernel" in names
    assert not names & (set(Kernel().get_params()) - {"n_components", "random_state"})


def test_repr_and_clone_include_the_kernel():
    kernel = Kernel("poly", degree=2)
    assert repr(KDA(kernel=kernel)) == "KDA(kernel=Kernel(degree=2, name='poly'))"
    again = clone(KDA(kernel=kernel)).kernel
    assert again is not kernel
    assert again.get_params() == kernel.get_params()


@each
def test_fit_does_not_change_the_kernel(learner):
    kernel = Kernel(n_landmarks=30, random_state=0)
    before = kernel.get_params()
    fitted(learner, kernel)
    assert kernel.get_params() == before
    assert vars(kernel).keys() == before.keys()  # fit added no attribute


# Nested parameters


@each
def test_nested_parameters_of_a_kernel_object(learner):
    learner = clone(learner).set_params(kernel=Kernel())
    assert learner.get_params()["kernel__gamma"] == "scale"
    learner.set_params(kernel__name="laplacian", kernel__gamma=0.05)
    expected = fitted(learner, Kernel("laplacian", gamma=0.05))
    assert_array_equal(learner.fit(X, y).transform(X), expected.transform(X))


@each
def test_error_for_nested_parameters_of_a_name_suggests_the_object(learner):
    name = type(learner).__name__
    message = (
        r"kernel__gamma cannot be set while kernel='rbf'\. Pass an object from dimetric\.kernels "
        rf"instead: {name}\(kernel=Kernel\(gamma=0.1\)\)"
    )
    with pytest.raises(ValueError, match=message):
        clone(learner).set_params(kernel__gamma=0.1)
    with pytest.raises(ValueError, match=rf"{name}\(kernel=Kernel\(gamma=0.1, name='poly'\)\)"):
        clone(learner).set_params(kernel="poly", kernel__gamma=0.1)
    with pytest.raises(ValueError, match=r"cannot be set while kernel=<function rbf_kernel"):
        clone(learner).set_params(kernel=rbf_kernel, kernel__params={"gamma": 0.1})
    with pytest.raises(ValueError, match=message):
        GridSearchCV(KNNClassifier(learner=learner), {"learner__kernel__gamma": [0.1]}).fit(X, y)
    changed = clone(learner).set_params(kernel=Kernel("poly"), kernel__gamma=0.1)
    assert (changed.kernel.name, changed.kernel.gamma) == ("poly", 0.1)


def test_grid_search_over_kernels():
    model = KNNClassifier(3, learner=KDA())
    grid = {"learner__kernel": ["linear", Kernel(gamma=1e-8, n_components=2), "rbf"]}
    search = GridSearchCV(model, grid, cv=3).fit(X, y)
    assert search.best_params_["learner__kernel"] in ("linear", "rbf")


# Validation


@pytest.mark.parametrize(
    ("params", "message"),
    [
        (
            {"name": "rbff"},
            "'name' parameter of Kernel must be .*'rbf'.* or a callable",
        ),
        ({"gamma": -1.0}, "'gamma' parameter of Kernel must be"),
        ({"degree": 0}, "'degree' parameter of Kernel must be"),
        ({"coef0": None}, "'coef0' parameter of Kernel must be"),
        ({"params": [1]}, "'params' parameter of Kernel must be"),
        (
            {"params": {"gamma": 2.0}},
            r"a kernel that is a function, but the kernel is 'rbf'. Set gamma",
        ),
        ({"n_components": 0}, "'n_components' parameter of Kernel must be"),
        ({"n_components": "all"}, "'n_components' parameter of Kernel must be"),
        ({"n_landmarks": 1}, "'n_landmarks' parameter of Kernel must be"),
        ({"landmarks": "best"}, "'landmarks' parameter of Kernel must be"),
        ({"random_state": "a"}, "'random_state' parameter of Kernel must be"),
    ],
    ids=str,
)
@each
def test_error_for_an_invalid_parameter_names_the_kernel(learner, params, message):
    with pytest.raises(ValueError, match=message):
        fitted(learner, Kernel(**params))


@each
def test_error_for_an_invalid_kernel(learner):
    with pytest.raises(ValueError, match=r"'kernel' parameter of .* must be .*'rbf'.*Kernel"):
        fitted(learner, "rbff")
    with pytest.raises(ValueError, match="'kernel' parameter of"):
        fitted(learner, 3)
    learner = clone(learner)
    learner.kernel = Kernel
    with pytest.raises(TypeError, match=r"must be an object, .* Use kernel=Kernel\(\)"):
        learner.fit(X, y)


def test_kpca_rejects_n_components_of_the_kernel():
    with pytest.raises(
        ValueError, match=r"kernel of KPCA must have n_components='auto'.*KPCA\(n_components=5"
    ):
        KPCA(kernel=Kernel(n_components=5)).fit(X)


# Rank and randomness


@pytest.mark.parametrize(("learner", "rank"), [(KDA(), 100), (KLMNN(2, max_iter=1), 30)])
def test_auto_is_the_default_rank_of_the_learner(learner, rank):
    assert fitted(learner, Kernel(gamma=5.0)).metadata()["kernel_rank"] == rank
    assert fitted(learner, Kernel(gamma=5.0, n_components=7)).metadata()["kernel_rank"] == 7


@each
def test_landmarks_depend_on_the_random_state_of_the_kernel(learner):
    one, same, other = (fitted(learner, Kernel(n_landmarks=20, random_state=s)) for s in (0, 0, 1))
    assert_array_equal(one.landmarks_, same.landmarks_)
    assert not np.array_equal(one.landmarks_, other.landmarks_)


@each
def test_benchmarks_seed_the_landmarks(learner):
    learner = clone(learner).set_params(kernel=Kernel(n_landmarks=20))
    one, same, other = (seeded(learner, seed).fit(X, y) for seed in (0, 0, 1))
    assert_array_equal(one.landmarks_, same.landmarks_)
    assert not np.array_equal(one.landmarks_, other.landmarks_)
    assert learner.kernel.random_state is None


def test_subclasses_must_define_the_linear_learner():
    class Incomplete(KernelizedMetric):
        kernel = "rbf"

    with pytest.raises(TypeError, match=r"abstract method '?_linear"):
        Incomplete()
