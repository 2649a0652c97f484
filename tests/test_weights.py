"""Sample weights, class weights and unlabelled samples of learners whose statistic adds up.

A weight of 2 equals the row given twice, a weight of 0 equals absence, and each learner equals its
formula, computed by a loop.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import linalg, sparse
from scipy.optimize import approx_fprime
from scipy.spatial.distance import cdist, pdist
from sklearn.base import clone
from sklearn.covariance import ledoit_wolf
from sklearn.metrics.pairwise import rbf_kernel

from dimetric import (
    ANMM,
    DMLMJ,
    KANMM,
    KDA,
    KDMLMJ,
    KPCA,
    LDA,
    NCMC,
    NCMML,
    PCA,
    Covariance,
    Kernelized,
)
from dimetric._arrays.namespaces import to_host
from dimetric.kernels import Kernel

pytestmark = pytest.mark.filterwarnings("ignore:The kernel is indefinite")

RNG = np.random.default_rng(0)
N, D = 40, 5
Y = np.arange(N) % 3
X = RNG.normal(size=(N, D)) @ RNG.normal(size=(D, D)) + 2 * np.eye(D)[Y] + 3
INTEGERS = RNG.integers(0, 4, size=N)
FRACTIONS = RNG.uniform(0.2, 3, size=N)
NEW = RNG.normal(size=(10, D))

ADDITIVE = [
    *(
        PCA(2, svd_solver=solver, random_state=0)
        for solver in ("full", "covariance_eigh", "incremental", "randomized", "arpack")
    ),
    PCA(),
    PCA(whiten=True),
    PCA(n_components=0.9),
    PCA(n_components="mle"),
    Covariance(),
    Covariance(reg=0.1),
    LDA(),
    LDA(1),
    LDA(shrinkage=0.3),
    LDA(shrinkage="auto"),
    LDA(reg=0.1, class_weight={0: 2.0, 1: 1.0}),
    LDA(class_weight="balanced"),
    KPCA(3),
    KPCA(0.9, kernel="laplacian"),
    KPCA(kernel="linear"),
    KPCA(2, kernel=Kernel("sigmoid", gamma=0.1, coef0=-1)),  # indefinite
    KPCA(2, kernel=Kernel(n_landmarks=10, random_state=0)),
    KPCA(2, kernel=Kernel(n_landmarks=10, landmarks="greedy")),
    KDA(),
    KDA(1, kernel=Kernel(n_components=0.9), class_weight="balanced"),
    KDA(kernel=Kernel("poly", n_components=5)),
    KDA(kernel=Kernel("sigmoid", gamma=0.1, coef0=-1)),
    Kernelized(LDA(reg=0.1), kernel=Kernel(n_landmarks=10, random_state=0)),
    Kernelized(PCA(2)),
    Kernelized(Covariance(reg=0.1)),
]
# A twin of a sample is its nearest neighbour, so repeated samples differ from weights.
PAIRWISE = [
    ANMM(2),
    DMLMJ(2),
    DMLMJ(2, alpha=0.0),
    KANMM(2),
    KANMM(2, orthonormal="coefficients"),
    KDMLMJ(2),
    Kernelized(ANMM(2)),
]
# A solver ends at the same optimum only up to its tolerance.
ITERATIVE = [
    NCMML(reg=0.1, tol=1e-12, max_iter=1000),
    NCMC(n_centroids=2, reg=0.1, tol=1e-12, max_iter=1000, random_state=0),
    Kernelized(NCMML(reg=0.1, tol=1e-12, max_iter=1000), kernel=Kernel(n_components=4)),
]
LEARNERS = ADDITIVE + PAIRWISE + ITERATIVE


def each(learners):
    return pytest.mark.parametrize("learner", learners, ids=str)


def fit(learner, X=X, y=Y, **params):
    return clone(learner).fit(X, y if learner._supervision_kinds else None, **params)


def assert_same_map(found, expected, tol):
    """Compare fitted attributes, unless they hold rows of X, and the images of new samples."""
    Z, found_Z = expected.transform(NEW), found.transform(NEW)
    if hasattr(found, "landmarks_"):  # rounding errors decide the signs of the components
        found_Z = found_Z * np.sign(np.sum(found_Z * Z, axis=0))
    assert_allclose(found_Z, Z, rtol=0, atol=tol * np.abs(Z).max())
    for name in ("explained_variance_", "noise_variance_", "means_", "eigenvalues_", "n_samples_"):
        if hasattr(expected, name):
            value = np.asarray(getattr(expected, name))
            error = tol * max(1.0, np.abs(value).max())
            assert_allclose(getattr(found, name), value, rtol=0, atol=error, err_msg=name)


@each(ADDITIVE)
def test_integer_weights_equal_repeated_samples(learner):
    rows = np.repeat(np.arange(N), INTEGERS)
    found = fit(learner, sample_weight=INTEGERS)
    assert_same_map(found, fit(learner, X[rows], Y[rows]), 1e-10)


@each(ITERATIVE)
def test_integer_weights_and_repeated_samples_have_the_same_optimum(learner):
    rows = np.repeat(np.arange(N), INTEGERS)
    found, expected = fit(learner, sample_weight=INTEGERS), fit(learner, X[rows], Y[rows])
    values = [each.metadata()["final_objective"] for each in (found, expected)]
    assert_allclose(*values, rtol=1e-8)
    D, expected_D = (pdist(each.transform(NEW)) for each in (found, expected))
    assert_allclose(D, expected_D, rtol=1e-4)


@pytest.mark.parametrize("init", ["pca", "lda"])
@pytest.mark.parametrize("k", [1, 2])
def test_named_starts_are_weighted(init, k):
    rows = np.repeat(np.arange(N), INTEGERS)
    learner = NCMML(k, init=init, max_iter=200)
    found, expected = fit(learner, sample_weight=INTEGERS), fit(learner, X[rows], Y[rows])
    assert_allclose(found.history_[0], expected.history_[0], rtol=1e-4)
    assert_allclose(found.history_[-1], expected.history_[-1], atol=1e-4)


@each(LEARNERS)
def test_weight_0_equals_absence(learner):
    weights = np.where(np.arange(N) % 4 == 0, 0.0, FRACTIONS)
    used = weights > 0
    found = fit(learner, sample_weight=weights)
    assert_same_map(found, fit(learner, X[used], Y[used], sample_weight=weights[used]), 1e-12)


@each(LEARNERS)
def test_weights_of_1_equal_no_weights(learner):
    assert_same_map(fit(learner, sample_weight=np.ones(N)), fit(learner), 1e-8)


def depends_on_sum_of_weights(learner):
    learner = getattr(learner, "learner", learner)
    return isinstance(learner, PCA | Covariance | KPCA) or (
        getattr(learner, "shrinkage", None) == "auto"
    )


@each([learner for learner in LEARNERS if not depends_on_sum_of_weights(learner)])
def test_a_common_factor_of_the_weights_does_not_matter(learner):
    expected = fit(learner, sample_weight=FRACTIONS)
    for factor in (3.0,) if learner in ITERATIVE else (1e-30, 1e30):
        assert_same_map(fit(learner, sample_weight=factor * FRACTIONS), expected, 1e-8)


# Formulas


def weighted_mean(A, w):
    return sum(v * row for v, row in zip(w, A, strict=True)) / sum(w)


def weighted_scatter(A, w, centre):
    return sum(v * np.outer(row - centre, row - centre) for v, row in zip(w, A, strict=True))


def class_scatters(A, codes, w):
    """Return S_w and S_b by their definition."""
    mean, n = weighted_mean(A, w), sum(w)
    within, between = 0.0, 0.0
    for c in np.unique(codes):
        part = codes == c
        centre = weighted_mean(A[part], w[part])
        within = within + weighted_scatter(A[part], w[part], centre) / n
        between = between + sum(w[part]) / n * np.outer(centre - mean, centre - mean)
    return within, between


def assert_same_rows_up_to_sign(found, expected, tol=1e-8):
    signs = np.sign(np.sum(found * expected, axis=1, keepdims=True))
    assert_allclose(found, signs * expected, rtol=0, atol=tol * np.abs(expected).max())


def top_ratio(A, B, k):
    """Return the rows v with A v = lambda B v for the k largest lambda and v^T B v = 1."""
    return linalg.eigh(A, B)[1][:, ::-1][:, :k].T


def test_pca_and_covariance_equal_their_formula():
    mean = weighted_mean(X, FRACTIONS)
    C = weighted_scatter(X, FRACTIONS, mean) / (sum(FRACTIONS) - 1)
    pca = PCA().fit(X, sample_weight=FRACTIONS)
    assert_allclose(pca.offset_, mean)
    assert_allclose(pca.explained_variance_, linalg.eigvalsh(C)[::-1])
    assert_allclose(pca.get_covariance(), C)
    assert_allclose(pca.n_samples_, sum(FRACTIONS))
    assert_allclose(Covariance().fit(X, sample_weight=FRACTIONS).metric(), linalg.inv(C))


def test_score_of_pca_is_a_weighted_mean():
    pca = PCA(2).fit(X)
    expected = np.average(pca.score_samples(X), weights=FRACTIONS)
    assert_allclose(pca.score(X, sample_weight=FRACTIONS), expected)


@pytest.mark.parametrize("solver", ["covariance_eigh", "arpack", "randomized"])
def test_weights_of_sparse_samples_equal_those_of_dense_ones(solver):
    learner = PCA(2, svd_solver=solver, random_state=0)
    found = learner.fit(sparse.csr_array(X), sample_weight=FRACTIONS)
    expected = PCA(2, svd_solver="full").fit(X, sample_weight=FRACTIONS)
    tol = 1e-3 if solver == "randomized" else 1e-8
    assert_same_map(found, expected, tol)


@pytest.mark.parametrize("d", [D, 60])
def test_lda_equals_its_formula(d):
    A = X if d == D else np.hstack([X, np.random.default_rng(1).normal(size=(N, d - D))])
    within, between = class_scatters(A, Y, FRACTIONS)
    within = within + 0.1 * np.trace(within) / d * np.eye(d)
    lda = LDA(reg=0.1).fit(A, Y, sample_weight=FRACTIONS)
    assert_same_rows_up_to_sign(lda.components_, top_ratio(between, within, 2))
    assert_allclose(lda.offset_, weighted_mean(A, FRACTIONS))
    assert_allclose(lda.means_[1], weighted_mean(A[Y == 1], FRACTIONS[Y == 1]))


def test_weighted_ledoit_wolf_equals_that_of_repeated_samples():
    from dimetric.learners._lda_scatter import _weighted_ledoit_wolf

    weights = INTEGERS + 1
    A = X - np.average(X, axis=0, weights=weights)
    expected = ledoit_wolf(np.repeat(A, weights, axis=0), assume_centered=True)[0]
    assert_allclose(_weighted_ledoit_wolf(A, weights), expected)


def naive_neighbor_scatter(A, codes, weights, k, same):
    """Return the scatter of differences between samples and friends or enemies, by a loop."""
    total, used = np.zeros((A.shape[1], A.shape[1])), 0.0
    for i in range(len(A)):
        others = [j for j in range(len(A)) if j != i and (codes[j] == codes[i]) == same]
        nearest = sorted(others, key=lambda j: np.sum((A[i] - A[j]) ** 2))[:k]
        for j in nearest:
            total += weights[i] / len(nearest) * np.outer(A[i] - A[j], A[i] - A[j])
        used += weights[i]
    return total, used


def test_anmm_equals_its_formula():
    S, _ = naive_neighbor_scatter(X, Y, FRACTIONS, 2, same=False)
    C, _ = naive_neighbor_scatter(X, Y, FRACTIONS, 3, same=True)
    values, V = linalg.eigh(S - C)
    found = ANMM(2, n_enemies=2, weighting=None).fit(X, Y, sample_weight=FRACTIONS)
    assert_same_rows_up_to_sign(found.components_, V[:, ::-1][:, :2].T)
    assert_allclose(found.metadata()["margin"], values[-1] + values[-2])


@pytest.mark.parametrize("alpha", [0.0, 0.2])
def test_dmlmj_equals_its_formula(alpha):
    covariances = []
    for same in (True, False):
        S, n = naive_neighbor_scatter(X, Y, FRACTIONS, 3, same)
        covariances.append((1 - alpha) * S / n + alpha * np.trace(S / n) / D * np.eye(D))
    values, V = linalg.eigh(covariances[1], covariances[0])
    best = np.argsort(-(values + 1 / values))[:2]
    found = DMLMJ(2, alpha=alpha, weighting=None).fit(X, Y, sample_weight=FRACTIONS)
    assert_same_rows_up_to_sign(found.components_, V[:, best].T)


@pytest.mark.parametrize("n_centroids", [1, 2])
def test_objective_and_gradient_of_centroids_equal_their_formula(n_centroids):
    learner = NCMC(n_centroids=n_centroids, reg=0.1, random_state=0, max_iter=2000, tol=1e-10)
    learner.fit(X, Y, sample_weight=FRACTIONS)
    C, owners = learner.centroids_, learner.centroid_classes_
    if n_centroids == 1:
        expected = [weighted_mean(X[c == Y], FRACTIONS[c == Y]) for c in range(3)]
        assert_allclose(C, expected)

    def objective(L):
        total = 0.0
        for x, y, w in zip(X, Y, FRACTIONS, strict=True):
            e = np.exp(-np.sum(((x - C) @ L.T) ** 2, axis=1) / 2)
            total += w * np.log(e[owners == y].sum() / e.sum())
        mean = weighted_mean(X, FRACTIONS)
        v = np.trace(weighted_scatter(X, FRACTIONS, mean)) / sum(FRACTIONS) / D
        return total / sum(FRACTIONS) - 0.1 * v / D * np.sum(L**2)

    L = learner.components_
    assert_allclose(learner.metadata()["final_objective"], objective(L), rtol=1e-8)
    gradient = approx_fprime(L.ravel(), lambda x: objective(x.reshape(L.shape)), 1e-6)
    assert_allclose(gradient, 0, atol=1e-4)


def test_centroids_of_clusters_are_weighted_means():
    learner = NCMC(n_centroids=2, random_state=0).fit(X, Y, sample_weight=FRACTIONS)
    nearest = np.argmin(cdist(X, learner.centroids_[:2]), axis=1)
    part = (nearest == 0) & (Y == 0)
    assert_allclose(learner.centroids_[0], weighted_mean(X[part], FRACTIONS[part]))


# Kernels


def test_kpca_equals_its_formula():
    K = rbf_kernel(X, gamma=0.1)
    p = FRACTIONS / sum(FRACTIONS)
    J = np.eye(N) - np.outer(np.ones(N), p)
    roots = np.sqrt(FRACTIONS)
    values, V = linalg.eigh(roots[:, None] * (J @ K @ J.T) * roots)
    kpca = KPCA(3, kernel=Kernel("rbf", gamma=0.1)).fit(X, sample_weight=FRACTIONS)
    assert_allclose(kpca.eigenvalues_, values[::-1][:3])
    coordinates = (V / roots[:, None] * np.sqrt(np.maximum(values, 0)))[:, ::-1][:, :3]
    assert_same_rows_up_to_sign(kpca.transform(X).T, coordinates.T)
    assert_allclose(p @ kpca.transform(X), 0, atol=1e-12)


def test_iterative_kpca_equals_dense_kpca():
    rng = np.random.default_rng(1)
    A, weights = rng.normal(size=(520, 3)), rng.uniform(0.2, 3, size=520)
    few = KPCA(2).fit(A, sample_weight=weights)  # by products with K
    many = KPCA(100).fit(A, sample_weight=weights)  # by a factorisation
    assert_allclose(few.eigenvalues_, many.eigenvalues_[:2], rtol=1e-7)
    Z = many.transform(A[:9])[:, :2]
    assert_allclose(np.abs(few.transform(A[:9])), np.abs(Z), rtol=1e-5, atol=1e-7)
    fractions = [
        np.sum(values) / kept
        for values, kept in (
            (few.eigenvalues_, few.metadata()["accumulated_eigenvalues"]),
            (many.eigenvalues_, many.metadata()["accumulated_eigenvalues"]),
        )
    ]
    assert_allclose(*fractions, rtol=1e-8)  # the sum of all eigenvalues


def test_kda_with_a_linear_kernel_is_lda():
    labels = half_labelled()
    params = {"reg": 0.1, "unlabelled": -1, "unlabelled_weight": 0.4}
    kda = KDA(kernel="linear", **params).fit(X, labels, sample_weight=FRACTIONS)
    lda = LDA(**params).fit(X, labels, sample_weight=FRACTIONS)
    assert_allclose(pdist(kda.transform(NEW)), pdist(lda.transform(NEW)), rtol=1e-8)
    assert_allclose(np.average(kda.transform(X), axis=0, weights=FRACTIONS), 0, atol=1e-10)


@pytest.mark.parametrize("n_landmarks", [None, 8])
@pytest.mark.parametrize("learner", [KPCA(2), KDA(), KANMM(2), KDMLMJ(2)], ids=str)
def test_precomputed_kernels_keep_the_columns_of_all_samples(learner, n_landmarks):
    gram = rbf_kernel(X, gamma=0.1)
    weights = np.where(np.arange(N) % 5 == 1, 0.0, FRACTIONS)
    used = np.flatnonzero(weights)
    params = {"n_landmarks": n_landmarks, "random_state": 0}
    learner = clone(learner).set_params(kernel=Kernel("precomputed", **params))
    found = fit(learner, gram, sample_weight=weights)
    expected = fit(learner, gram[np.ix_(used, used)], Y[used], sample_weight=weights[used])
    assert_allclose(found.transform(gram), expected.transform(gram[:, used]), atol=1e-12)
    assert found.n_features_in_ == N
    if n_landmarks:
        assert_array_equal(found.landmarks_, used[expected.landmarks_])
    else:
        assert found.components_.shape[1] == N
    Z = clone(learner).fit_transform(gram, Y, sample_weight=weights)
    assert_allclose(Z, found.transform(gram))


def test_landmarks_refer_to_rows_of_X():
    weights = np.where(np.arange(N) < 10, 0.0, 1.0)
    kpca = KPCA(2, kernel=Kernel(n_landmarks=6, random_state=0)).fit(X, sample_weight=weights)
    assert_array_equal(X[kpca.landmarks_], kpca.X_fit_)


def test_inverse_of_kpca_weighs_samples():
    rows = np.repeat(np.arange(N), INTEGERS)
    learner = KPCA(3, fit_inverse_transform=True, alpha=0.1)
    found, expected = clone(learner).fit(X, sample_weight=INTEGERS), clone(learner).fit(X[rows])
    Z = found.transform(NEW)
    assert_allclose(found.inverse_transform(Z), expected.inverse_transform(Z), rtol=1e-8)


# Class weights


CLASS_LEARNERS = [LDA(), ANMM(2), DMLMJ(2), KDA(), KANMM(2), KDMLMJ(2), NCMC(2, random_state=0)]


@each(CLASS_LEARNERS)
def test_balanced_classes_equal_sample_weights(learner):
    rows = np.flatnonzero((Y != 0) | (np.arange(N) % 2 == 0))
    A, y = X[rows], Y[rows]
    weights = len(y) / (3 * np.bincount(y)[y])
    found = fit(learner.set_params(class_weight="balanced"), A, y)
    learner = clone(learner).set_params(class_weight=None)
    assert_same_map(found, fit(learner, A, y, sample_weight=weights), 1e-12)


@each(CLASS_LEARNERS)
def test_a_class_of_weight_0_is_absent(learner):
    used = Y > 0
    found = fit(clone(learner).set_params(class_weight={0: 0.0}))
    assert_array_equal(found.classes_, [1, 2])
    learner = clone(learner).set_params(class_weight=None)
    assert_same_map(found, fit(learner, X[used], Y[used]), 1e-8)


def test_partial_fit_leaves_out_a_class_of_weight_0():
    learner = LDA(class_weight={0: 0.0})
    for rows in np.split(np.arange(N), [8, 21]):
        learner.partial_fit(X[rows], Y[rows])
    assert_same_map(learner, LDA().fit(X[Y > 0], Y[Y > 0]), 1e-10)
    assert_array_equal(learner.classes_, [1, 2])


# Unlabelled samples


def half_labelled():
    return np.where(np.arange(N) % 5 < 2, -1, Y)


@pytest.mark.parametrize(
    ("params", "d"),
    [
        ({"reg": 0}, D),
        ({"reg": 0.1}, D),
        ({"reg": 0.1}, 60),
        ({"shrinkage": 0.2, "unlabelled_weight": 0.7}, D),
        ({"shrinkage": 0.2, "unlabelled_weight": 0.7}, 60),
    ],
)
def test_lda_with_unlabelled_samples_equals_its_formula(params, d):
    A = X if d == D else np.hstack([X, np.random.default_rng(1).normal(size=(N, d - D))])
    labels, known = half_labelled(), half_labelled() >= 0
    lda = LDA(unlabelled=-1, **params).fit(A, labels, sample_weight=FRACTIONS)
    within, between = class_scatters(A[known], Y[known], FRACTIONS[known])
    mean = weighted_mean(A, FRACTIONS)
    total = weighted_scatter(A, FRACTIONS, mean) / sum(FRACTIONS)
    beta, s = lda.unlabelled_weight, lda.shrinkage or 0.0
    between = (1 - beta) * between + beta * total
    eye = np.eye(d) / d
    ridge = params.get("reg", 0) * np.trace(within) * eye
    within, between = ((1 - s) * S + s * np.trace(S) * eye for S in (within, between))
    assert_same_rows_up_to_sign(lda.components_, top_ratio(between, within + ridge, 2))
    assert_allclose(lda.offset_, mean)
    assert lda.metadata()["n_unlabelled"] == np.sum(~known)


def test_labels_of_all_samples_give_lda_for_each_weight_of_the_total_scatter():
    """S_t = S_w + S_b, so unlabelled samples change the result only by what they add to S_t."""
    doubled, labels = np.vstack([X, X]), np.append(Y, np.full(N, -1))
    expected = LDA(reg=0).fit(X, Y)
    for weight in (0.0, 0.3, 1.0):
        found = LDA(reg=0, unlabelled=-1, unlabelled_weight=weight).fit(doubled, labels)
        assert_allclose(found.components_, expected.components_, rtol=1e-7)


def leaves_out_unlabelled(learner):
    return not isinstance(learner, LDA | KDA)


@each([learner for learner in CLASS_LEARNERS if leaves_out_unlabelled(learner)])
def test_unlabelled_samples_are_left_out_and_counted(learner):
    labels, known = half_labelled(), half_labelled() >= 0
    found = fit(clone(learner).set_params(unlabelled=-1), y=labels, sample_weight=FRACTIONS)
    expected = fit(learner, X[known], Y[known], sample_weight=FRACTIONS[known])
    assert_same_map(found, expected, 1e-12)
    assert found.metadata()["n_unlabelled"] == np.sum(~known)


# partial_fit


@each([PCA(2), PCA(), PCA(n_components="mle"), Covariance(), Covariance(reg=0.1), LDA()])
@pytest.mark.parametrize("weights", [None, FRACTIONS, INTEGERS], ids=["none", "real", "integer"])
@pytest.mark.filterwarnings("ignore:The samples vary in only 1 direction")
def test_partial_fit_equals_one_fit(learner, weights):
    learner, blocks = clone(learner), np.split(np.arange(N), [3, 4, 17])
    for rows in blocks:
        w = None if weights is None else weights[rows]
        learner.partial_fit(X[rows], Y[rows], sample_weight=w)
    assert_same_map(learner, fit(learner, sample_weight=weights), 1e-10)


def test_partial_fit_of_lda_uses_class_weights_and_unlabelled_samples():
    labels = half_labelled().astype(float)
    labels[:2] = -1
    learner = LDA(unlabelled=-1, class_weight={0: 3.0, 2: 0.5}, reg=0.1)
    expected = fit(learner, y=labels, sample_weight=FRACTIONS)
    for rows in np.split(np.arange(N), [2, 11, 30]):  # the first block has no labels
        learner.partial_fit(X[rows], labels[rows], sample_weight=FRACTIONS[rows])
    assert_same_map(learner, expected, 1e-10)
    assert_array_equal(learner.classes_, [0, 1, 2])
    counts = [each.metadata()["n_unlabelled"] for each in (learner, expected)]
    assert counts == [np.sum(labels == -1)] * 2


def test_partial_fit_of_lda_cannot_balance_classes():
    with pytest.raises(AttributeError) as raised:
        LDA(class_weight="balanced").partial_fit(X, Y)
    assert "needs all labels at once" in str(raised.value.__cause__)


# Array libraries


@each([PCA(2), PCA(2, svd_solver="arpack"), Covariance(), LDA(), KPCA(2), KDA(), ANMM(2), NCMML()])
def test_weights_in_all_array_libraries(learner, namespace):
    expected = fit(learner, sample_weight=FRACTIONS)
    found = fit(learner, namespace.asarray(X), sample_weight=namespace.asarray(FRACTIONS))
    Z = found.transform(namespace.asarray(NEW))
    assert_allclose(to_host(Z), expected.transform(NEW), atol=1e-6)


# Bad weights


@each([PCA(2), Covariance()])
def test_weights_must_sum_to_more_than_1(learner):
    with pytest.raises(ValueError, match=r"sum of the sample weights is 0\.4, but"):
        fit(learner, sample_weight=np.full(N, 0.01))
