"""Tests of learners in feature space: Kernelized, KDA, KANMM, KDMLMJ and KLMNN.

With the linear kernel, each equals its linear learner. With a polynomial kernel, it equals the
linear learner on explicit features.
"""

import numpy as np
import pytest
from estimators import host
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist, pdist
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine, make_circles
from sklearn.metrics.pairwise import laplacian_kernel, linear_kernel, polynomial_kernel, rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import scale

from dimetric import (
    ANMM,
    DMLMJ,
    KANMM,
    KDA,
    KDMLMJ,
    KLMNN,
    KPCA,
    LDA,
    LMNN,
    LSI,
    MCML,
    NCA,
    NCMML,
    Covariance,
    Kernelized,
    Pairs,
    Triplets,
)
from dimetric.kernels import Kernel

y = load_wine().target
X = scale(load_wine().data)

ALL = Kernel(n_components=None)
LINEAR = Kernel("linear", n_components=None)
TIGHT_NCA = NCA(2, reg=1.0, tol=1e-9, max_iter=1000)
PAIRS = [
    (LDA(reg=0.0), KDA(reg=0.0, kernel=LINEAR)),
    (LDA(1, reg=0.3), KDA(1, reg=0.3, kernel=LINEAR)),
    (ANMM(3), KANMM(3, kernel=LINEAR)),
    (ANMM(n_friends=5, n_enemies=2), KANMM(n_friends=5, n_enemies=2, kernel=LINEAR)),
    (DMLMJ(alpha=0.0), KDMLMJ(alpha=0.0, kernel=LINEAR)),
    (DMLMJ(4, n_neighbors=5, alpha=0.2), KDMLMJ(4, n_neighbors=5, alpha=0.2, kernel=LINEAR)),
    (Covariance(), Kernelized(Covariance(), kernel=LINEAR)),
    (NCA(2, reg=0.1, tol=1e-9, max_iter=1000), None),
    (MCML(reg=0.1, tol=1e-9, max_iter=1000), None),
    (NCMML(reg=0.1, tol=1e-9, max_iter=1000), None),
]
PAIRS = [(linear, kernel or Kernelized(linear, kernel=LINEAR)) for linear, kernel in PAIRS]


def assert_same_distances(Z, expected, tol=1e-6):
    D = pdist(expected)
    assert_allclose(pdist(Z), D, rtol=0, atol=tol * D.max())


@pytest.mark.parametrize(("linear", "kernel"), PAIRS, ids=str)
def test_linear_kernel_matches_the_linear_learner(linear, kernel):
    expected = linear.fit(X[::2], y[::2]).transform(X)
    # Iterative solvers stop at slightly different points.
    tol = 1e-6 if kernel._max_steps() == 0 else 1e-4
    assert_same_distances(kernel.fit(X[::2], y[::2]).transform(X), expected, tol)


@pytest.mark.parametrize("n_components", [None, 3])
def test_linear_klmnn_reaches_the_objective_of_lmnn(n_components):
    linear = LMNN(n_components, reg=0.0, tol=1e-6).fit(X, y).metadata()
    kernel = KLMNN(n_components, max_iter=300, kernel=LINEAR).fit(X, y).metadata()
    assert kernel["final_objective"] == pytest.approx(linear["final_objective"], rel=1e-3)


@pytest.mark.parametrize(
    ("linear", "kernel"),
    [
        (LDA(reg=0.01), KDA(reg=0.01, kernel=ALL)),
        (ANMM(3), KANMM(3, kernel=ALL)),
        (DMLMJ(3, alpha=0.1), KDMLMJ(3, kernel=ALL)),
        (TIGHT_NCA, Kernelized(TIGHT_NCA, kernel=ALL)),
    ],
    ids=str,
)
def test_polynomial_kernel_matches_the_linear_learner_on_monomials(linear, kernel):
    """(g x.y + c)^2 is the inner product of monomials with binomial weights.

    reg and alpha are relative to a mean over coordinates. Both learners have the same number.
    """
    gamma, coef0 = 0.3, 0.7
    A = X[:, :4]
    i, j = np.triu_indices(4)
    weight = np.where(i == j, 1.0, np.sqrt(2)) * gamma
    explicit = np.hstack([A[:, i] * A[:, j] * weight, np.sqrt(2 * gamma * coef0) * A])
    products = explicit @ explicit.T + coef0**2  # the constant feature has no variance
    assert_allclose(products, polynomial_kernel(A, None, 2, gamma, coef0), atol=1e-12)
    poly = {"name": "poly", "degree": 2, "gamma": gamma, "coef0": coef0}
    kernel = clone(kernel).set_params(**{f"kernel__{name}": value for name, value in poly.items()})
    result = kernel.fit(A, y)
    assert result.metadata()["kernel_rank"] == 14
    tol = 1e-6 if kernel._max_steps() == 0 else 1e-3
    assert_same_distances(result.transform(A), linear.fit(explicit, y).transform(explicit), tol)


@pytest.mark.parametrize("learner", [KDA(), KANMM(2), KDMLMJ(2), KLMNN(2, reg=30.0)])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_named_function_and_precomputed_kernels_agree(learner):
    train, new = X[::2], X[1::10]
    rank = None if isinstance(learner, KLMNN) else "auto"
    named, called, precomputed = (
        clone(learner).set_params(kernel=Kernel(name, n_components=rank, **params))
        for name, params in (
            ("rbf", {"gamma": 0.05}),
            (rbf_kernel, {"params": {"gamma": 0.05}}),
            ("precomputed", {}),
        )
    )
    named.fit(train, y[::2])
    called.fit(train, y[::2])
    precomputed.fit(rbf_kernel(train, gamma=0.05), y[::2])
    if learner._max_steps():  # solvers stop at slightly different points
        values = [fitted.metadata()["final_objective"] for fitted in (named, called, precomputed)]
        assert_allclose(values, values[0], rtol=1e-3)
        return
    Z = named.transform(new)
    assert_same_distances(called.transform(new), Z)
    assert_same_distances(precomputed.transform(rbf_kernel(new, train, 0.05)), Z)


@pytest.mark.parametrize("rank", [20, 0.9])
@pytest.mark.parametrize("name", ["rbf", "laplacian", "linear", "poly"])
def test_reduced_rank_does_not_depend_on_how_the_kernel_is_given(rank, name):
    """It does not depend on the order of the samples either, even if the kernel is precomputed."""
    A, params = X[:, :6], {"gamma": 0.05} if name != "linear" else {}
    called = {"poly": polynomial_kernel, "rbf": rbf_kernel}.get(
        name, laplacian_kernel if name == "laplacian" else linear_kernel
    )
    K = called(A, **params)
    Z = KDA(kernel=Kernel(name, n_components=rank, **params)).fit(A, y).transform(A)
    by_function = KDA(kernel=Kernel(called, n_components=rank, params=params))
    assert_same_distances(by_function.fit(A, y).transform(A), Z)
    precomputed = KDA(kernel=Kernel("precomputed", n_components=rank))
    assert_same_distances(precomputed.fit(K, y).transform(K), Z)
    reversed_K = K[::-1, ::-1]
    assert_same_distances(precomputed.fit(reversed_K, y[::-1]).transform(reversed_K)[::-1], Z)


@pytest.mark.parametrize(
    "kernel",
    [
        KDA(),
        KANMM(2),
        KDMLMJ(3),
        KLMNN(kernel=Kernel(n_components=5), random_state=0),
        KDA(kernel=Kernel(n_landmarks=50, random_state=0)),
    ],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_transform_of_training_samples_maps_their_coordinates(kernel):
    recorded = {}
    kernel = clone(kernel)
    map_attributes = kernel._map_attributes

    def record(coordinates, L, X):
        recorded.update(coordinates=coordinates, L=L)
        return map_attributes(coordinates, L, X)

    kernel._map_attributes = record
    kernel.fit(X, y)
    expected = recorded["coordinates"].compute() @ host(recorded["L"]).T
    assert_allclose(kernel.transform(X), expected, atol=1e-7 * np.abs(expected).max())


def test_neighbours_are_searched_in_feature_space():
    """The cosine kernel projects samples onto a sphere, where they have other neighbours."""
    rng = np.random.default_rng(0)
    A = rng.normal(size=(80, 4)) * rng.uniform(0.1, 5, size=(80, 1))
    labels = np.arange(80) % 2
    unit = A / np.linalg.norm(A, axis=1, keepdims=True)
    learner = KDMLMJ(alpha=0.1, kernel=Kernel("cosine", n_components=None)).fit(A, labels)
    assert_same_distances(learner.transform(A), DMLMJ().fit(unit, labels).transform(unit))


def test_kda_separates_circles_but_lda_does_not():
    C, labels = make_circles(400, factor=0.5, noise=0.1, random_state=0)
    train, test = slice(0, 200), slice(200, None)
    knn = make_pipeline(KDA(), KNeighborsClassifier(3)).fit(C[train], labels[train])
    assert knn.score(C[test], labels[test]) > 0.95
    linear = make_pipeline(LDA(), KNeighborsClassifier(3)).fit(C[train], labels[train])
    assert linear.score(C[test], labels[test]) < 0.7


@pytest.mark.parametrize(
    "kernel", [KDA(), KANMM(), KANMM(orthonormal="coefficients"), KDMLMJ()], ids=str
)
def test_error_for_one_class_names_the_learner(kernel):
    name = type(kernel).__name__
    with pytest.raises(ValueError, match=f"^{name} requires at least 2 classes, but y has only 1"):
        kernel.fit(X, np.zeros(len(X), dtype=int))


# Landmarks and ranks


@pytest.mark.parametrize("kernel", [KDA(), KDMLMJ(2), KANMM(2)])
def test_landmarks_that_span_the_samples_are_exact(kernel, namespace):
    exact = clone(kernel).set_params(kernel=LINEAR).fit(X, y)
    few = clone(exact).set_params(kernel__n_landmarks=60, kernel__random_state=0)
    converted = namespace.asarray(X)
    few.fit(converted, y)
    assert few.components_.shape[1] == 60
    assert_same_distances(host(few.transform(converted)), exact.transform(X))


def test_metadata_contains_ranks_and_reg():
    kernel = Kernel(n_components=12)
    learners = [(KDA(reg=0.2, kernel=kernel), 0.2), (KDMLMJ(alpha=0.3, kernel=kernel), 0.3)]
    for learner, reg in learners:
        facts = learner.fit(X, y).metadata()
        assert facts["kernel_rank"] == 12
        assert facts["reg"] == reg
        assert facts["rank"] <= 12
    assert KDA(kernel="linear").fit(X, y).metadata()["kernel_rank"] == 13
    assert KANMM(3).fit(X, y).metadata()["rank"] == 3


def test_kernel_rank_is_the_rank_of_centred_samples():
    facts = KDA(kernel=Kernel(gamma=5.0, n_components=None)).fit(X, y).metadata()
    assert (
        facts["kernel_rank"]
        == KPCA(kernel=Kernel(gamma=5.0)).fit(X).metadata()["rank"]
        == len(X) - 1
    )


def test_kdmlmj_keeps_at_most_30_components_by_default():
    assert KDMLMJ().fit(X, y).metadata()["n_components"] == 30
    assert KDMLMJ(kernel="linear").fit(X, y).metadata()["n_components"] == 13
    assert KDMLMJ(40).fit(X, y).metadata()["n_components"] == 40


def test_reg_keeps_maps_finite_if_classes_have_no_spread():
    """A kernel that separates all samples can map each class to a single point."""
    kda = KDA(kernel=Kernel(gamma=50.0, n_components=None)).fit(X[::2], y[::2])
    Z = kda.transform(X)
    assert np.isfinite(Z).all()
    assert np.abs(Z).max() < 1e3


# KANMM with orthonormal coefficients


def test_orthonormal_coefficients_match_the_definition():
    """They are eigenvectors of the difference of scatters, computed from the rows of K."""
    A, labels = X[::3], y[::3]
    K = rbf_kernel(A, gamma=0.05)
    D = cdist(A, A)  # distances in feature space have the same order
    total = np.zeros((len(A), len(A)))
    for i in range(len(A)):
        others = np.delete(np.argsort(D[i], kind="stable"), 0)
        near, far = others[labels[others] == labels[i]][:3], others[labels[others] != labels[i]][:3]
        for sign, rows in ((1, far), (-1, near)):
            total += sign / len(rows) * sum(np.outer(K[i] - K[j], K[i] - K[j]) for j in rows)
    values, V = np.linalg.eigh(total)
    kernel = Kernel(gamma=0.05, n_components=None)
    learner = KANMM(2, orthonormal="coefficients", kernel=kernel).fit(A, labels)
    coefficients = learner.transformer()
    assert_allclose(coefficients @ coefficients.T, np.eye(2), atol=1e-12)
    assert_allclose(np.abs(coefficients), np.abs(V.T[::-1][:2]), atol=1e-8)
    assert learner.metadata()["margin"] == pytest.approx(values[::-1][:2].sum())
    other = KANMM(2, kernel=kernel).fit(A, labels)
    assert not np.allclose(pdist(other.transform(A)), pdist(learner.transform(A)), rtol=0.1)


# scikit-learn conventions


def test_nested_parameters_work_with_clone_and_grid_search():
    learner = Kernelized(NCA(2, max_iter=3), kernel=Kernel())
    assert learner.get_params()["learner__max_iter"] == 3
    again = clone(learner).set_params(learner__n_components=1, kernel__gamma=0.2)
    assert (again.learner.n_components, again.kernel.gamma) == (1, 0.2)
    assert (learner.learner.n_components, learner.kernel.gamma) == (2, "scale")
    search = GridSearchCV(
        make_pipeline(Kernelized(LDA(), kernel=Kernel()), KNeighborsClassifier(3)),
        {"kernelized__learner__reg": [0.01, 0.1], "kernelized__kernel__gamma": ["scale", 0.1]},
        cv=3,
    )
    assert search.fit(X, y).best_score_ > 0.9


def test_fit_does_not_change_the_given_learner():
    inner = LDA()
    Kernelized(inner).fit(X, y)
    assert not hasattr(inner, "components_")


def test_error_for_an_invalid_learner():
    with pytest.raises(ValueError, match="'learner' parameter of Kernelized must be an instance"):
        Kernelized(KPCA()).fit(X, y)
    with pytest.raises(ValueError, match="'reg' parameter of LDA must be a float"):
        Kernelized(LDA(reg=-1)).fit(X, y)


def test_learner_that_needs_no_labels():
    assert_same_distances(
        Kernelized(Covariance(reg=0.1), kernel=LINEAR).fit(X).transform(X),
        Covariance(reg=0.1).fit(X).transform(X),
    )


def test_callbacks_get_maps_of_samples():
    class Recorder:
        maps = ()

        def setup(self, estimator, context): ...

        def teardown(self, estimator, context): ...

        def on_fit_task_begin(self, estimator, context): ...

        def on_fit_task_end(self, estimator, context, *, X=None, fitted_estimator=None):
            if context.task_name == "iteration":
                self.maps += (fitted_estimator.transform(X),)

    recorder, (A, labels) = Recorder(), load_iris(return_X_y=True)
    learner = Kernelized(NCA(2, reg=1e-4, max_iter=500)).set_callbacks(recorder).fit(A, labels)
    assert len(recorder.maps) == learner.n_iter_ == learner.metadata()["n_iter"]
    assert_allclose(recorder.maps[-1], learner.transform(A), atol=1e-9)


def test_identical_samples_have_distance_0():
    twice = np.vstack([X, X])
    learner = KDMLMJ(n_neighbors=2).fit(twice, np.tile(y, 2))
    assert_array_equal(learner.pair_distance([[0, 178], [5, 183]], twice), 0)


def test_pairs_and_triplets_instead_of_labels():
    pairs = Pairs.from_labels(y, 200, random_state=0)
    lsi = LSI().fit(X, pairs=pairs)
    same = Kernelized(LSI(), kernel=LINEAR).fit(X, pairs=pairs)
    assert_same_distances(same.transform(X), lsi.transform(X), tol=1e-4)
    assert_allclose(same.pair_distance(pairs, X), lsi.pair_distance(pairs, X), rtol=1e-3)
    nonlinear = Kernelized(LSI()).fit(X, pairs=pairs)
    nonlinear.calibrate_threshold(pairs, X)
    assert np.mean(nonlinear.predict_pairs(pairs, X) == pairs.is_similar) > 0.9
    triplets = Triplets.from_labels(y, 200, random_state=0)
    lmnn = Kernelized(LMNN(reg=0.1)).fit(X, triplets=triplets)
    assert lmnn.score_triplets(triplets, X) > 0.95
    with pytest.raises(TypeError, match="Kernelized learns from labels y or pairs, not triplets"):
        Kernelized(LSI()).fit(X, triplets=triplets)


def test_unlabelled_samples_are_allowed():
    partial_labels = np.where(np.arange(len(y)) % 3 == 0, y, -1)
    learner = Kernelized(LMNN(unlabelled=-1, reg=0.1)).fit(X, partial_labels)
    assert_array_equal(learner.classes_, [0, 1, 2])
