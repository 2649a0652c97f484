"""Tests of the parameter object Kernel: short forms, nested parameters, validation, randomness."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import scale

from dimetric import KANMM, KDA, KDMLMJ, KLMNN, KPCA, LDA, LMNN, Kernelized, KNNClassifier
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


@each
@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("rbf", {"degree": 2}),
        ("rbf", {"coef0": 0}),
        ("laplacian", {"degree": 2.5}),
        ("sigmoid", {"degree": 2}),
        ("linear", {"gamma": 0.1}),
        ("linear", {"gamma": "auto"}),
        ("cosine", {"coef0": 2.0}),
        (rbf_kernel, {"gamma": 0.1}),
        (rbf_kernel, {"degree": 2}),
    ],
)
def test_parameter_that_the_kernel_does_not_use_raises(learner, name, params):
    (parameter,) = params
    shown = repr(name) if isinstance(name, str) else "a function"
    message = f"{parameter}={params[parameter]!r} has no effect, because the kernel is {shown}"
    with pytest.raises(ValueError, match=message):
        fitted(learner, Kernel(name, **params))


def test_parameter_that_a_precomputed_kernel_does_not_use_raises():
    with pytest.raises(ValueError, match=r"gamma=2 has no effect.*'precomputed'"):
        KPCA(2, kernel=Kernel("precomputed", gamma=2)).fit(X @ X.T)


@pytest.mark.parametrize(
    ("name", "params"),
    [("poly", {"gamma": 0.1, "degree": 2, "coef0": 2}), ("sigmoid", {"gamma": 0.01, "coef0": 0})],
)
@pytest.mark.filterwarnings("ignore:The kernel is indefinite")
def test_parameters_that_the_kernel_uses_are_accepted(name, params):
    assert KPCA(2, kernel=Kernel(name, **params)).fit(X).gamma_ == params["gamma"]


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


# Messages name the class that the user wrote


def test_warnings_of_kernel_learners_name_the_kernel_learner():
    with pytest.warns(ConvergenceWarning, match="^KLMNN did not converge"):
        KLMNN(max_iter=1).fit(X, y)
    with pytest.warns(UserWarning, match="so KLMNN has nothing to learn"):
        KLMNN().fit(X, np.zeros(len(X), dtype=int))
    with pytest.warns(UserWarning, match="so KDA returns"):
        KDA(2, reg=0, kernel="linear").fit([[0, 0], [0, 1], [3, 0], [3, 1], [9, 4]], [*"aabbc"])
    with pytest.warns(UserWarning, match="so KDMLMJ returns"):
        KDMLMJ(9, n_neighbors=1, alpha=0).fit(X[::18], y[::18])


def test_errors_of_kernel_learners_name_the_kernel_learner():
    with pytest.raises(ValueError, match=r"^KLMNN cannot use solver='newton'"):
        KLMNN(solver="newton").fit(X, y)
    remedy = r"Use another solver, or set kernel=Kernel\(n_components=2\)\."
    with pytest.raises(ValueError, match=remedy):
        KLMNN(2, solver="sdp").fit(X, y)
    with pytest.raises(ValueError, match="KDA is not defined"):
        KDA(reg=0).fit(X[[0, 0, 70, 70]], y[[0, 0, 70, 70]])


def test_messages_of_a_learner_in_feature_space_name_the_learner():
    with pytest.warns(ConvergenceWarning, match="^LMNN did not converge"):
        Kernelized(LMNN(max_iter=1)).fit(X, y)


def test_verbose_names_the_kernel_learner(capsys, caplog):
    KLMNN(max_iter=2, verbose=1).fit(X, y)
    shown = capsys.readouterr()
    assert "[KLMNN] iteration 1" in shown.out + shown.err + caplog.text


def test_subclasses_must_define_the_linear_learner():
    class Incomplete(KernelizedMetric):
        kernel = "rbf"

    with pytest.raises(TypeError, match=r"abstract method '?_linear"):
        Incomplete()
