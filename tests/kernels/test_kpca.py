"""Tests of KPCA: PCA and scikit-learn as references, landmarks, inverse map, degenerate kernels."""

import re
import tracemalloc

import numpy as np
import pytest
from estimators import host
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist, pdist
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.decomposition import KernelPCA
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel
from sklearn.preprocessing import scale

from dimetric import KPCA, PCA
from dimetric.kernels import Kernel, _coordinates, _eigenpairs, _function
from dimetric.kernels._coordinates import cholesky_coordinates, landmark_coordinates
from dimetric.kernels._eigenpairs import centred_eigenpairs
from dimetric.kernels._factor import factor
from dimetric.linalg import centred_products
from dimetric.linalg.spectral import fixed_signs


def wine():
    return scale(load_wine().data)


def digits(n=700):
    return load_digits().data[:n] / 16


def assert_same_distances(Z, expected, tol=1e-8):
    D = pdist(expected)
    assert_allclose(pdist(Z), D, rtol=0, atol=tol * D.max())


@pytest.mark.parametrize("k", [None, 3, 0.9])
def test_linear_kernel_matches_pca(k):
    X = wine()
    pca, kpca = PCA(k).fit(X), KPCA(k, kernel="linear").fit(X)
    new = X[:20] + 0.1
    assert_allclose(np.abs(kpca.transform(new)), np.abs(pca.transform(new)), atol=1e-9)
    assert_allclose(kpca.eigenvalues_, pca.singular_values_**2, rtol=1e-9)
    fraction = pca.metadata()["accumulated_eigenvalues"]
    assert kpca.metadata()["accumulated_eigenvalues"] == pytest.approx(fraction)


@pytest.mark.parametrize("X", [wine(), digits()], ids=["wine", "digits"])
@pytest.mark.parametrize(
    ("kernel", "params"),
    [
        ("poly", {"gamma": 0.01, "degree": 2}),
        ("rbf", {"gamma": 0.01}),
        ("cosine", {}),
        ("sigmoid", {"gamma": 0.01}),
    ],
)
@pytest.mark.parametrize("k", [2, 12])
@pytest.mark.filterwarnings("ignore:The kernel is indefinite:UserWarning")
def test_matches_scikit_learn(X, kernel, params, k):
    ours = KPCA(k, kernel=Kernel(kernel, **params)).fit(X)
    theirs = KernelPCA(k, kernel=kernel, **params, eigen_solver="dense").fit(X)
    assert_allclose(ours.eigenvalues_, theirs.eigenvalues_, rtol=1e-8)
    Z = theirs.transform(X[::7] + 0.01)
    difference = np.abs(ours.transform(X[::7] + 0.01)) - np.abs(Z)
    assert np.abs(difference).max() <= 1e-6 * np.abs(Z).max()


@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf", "laplacian"])
@pytest.mark.parametrize("k", [3, None])
def test_iterative_solution_matches_the_decomposition(kernel, k, monkeypatch, namespace):
    X = digits(120)
    expected = KPCA(k, kernel=kernel).fit(X)
    monkeypatch.setattr(_eigenpairs, "DENSE_SAMPLES", 50)
    monkeypatch.setattr(_coordinates, "BLOCK_ENTRIES", 1000)
    monkeypatch.setattr(centred_products, "BLOCK_ENTRIES", 1000)
    result = KPCA(k, kernel=kernel).fit(namespace.asarray(X))
    assert_allclose(host(result.eigenvalues_), expected.eigenvalues_, rtol=1e-6)
    new = X[:9] * 0.9
    Z = expected.transform(new)
    assert_same_distances(host(result.transform(namespace.asarray(new))), Z, 1e-6)


def test_polynomial_kernel_matches_pca_of_monomials():
    """(g x.y + c)^2 is the inner product of weighted monomials up to degree 2."""
    X = wine()[:, :4]
    gamma, coef0 = 0.3, 0.7
    i, j = np.triu_indices(4)
    weight = np.where(i == j, 1.0, np.sqrt(2)) * gamma
    explicit = np.hstack([X[:, i] * X[:, j] * weight, np.sqrt(2 * gamma * coef0) * X])
    kpca = KPCA(kernel=Kernel("poly", degree=2, gamma=gamma, coef0=coef0)).fit(X)
    pca = PCA().fit(explicit)
    assert kpca.metadata()["rank"] == 14
    assert_allclose(kpca.eigenvalues_, pca.singular_values_**2, rtol=1e-8)
    assert_same_distances(kpca.transform(X), pca.transform(explicit))


def test_named_function_and_precomputed_kernels_agree():
    X, new = wine(), wine()[:10] + 0.1
    named = KPCA(5, kernel=Kernel("poly", gamma=0.1, degree=2)).fit(X)
    params = {"gamma": 0.1, "degree": 2}
    called = KPCA(5, kernel=Kernel(polynomial_kernel, params=params)).fit(X)
    precomputed = KPCA(5, kernel="precomputed").fit(polynomial_kernel(X, **params))
    Z = named.transform(new)
    assert_allclose(called.transform(new), Z, atol=1e-9)
    assert_allclose(precomputed.transform(polynomial_kernel(new, X, **params)), Z, atol=1e-9)


@pytest.mark.parametrize("kernel", ["linear", "rbf", "laplacian"])
def test_transform_of_training_samples_returns_their_coordinates(kernel):
    X = digits()
    for k in (4, None):
        kpca = KPCA(k, kernel=kernel)
        expected = kpca.fit(X)._fit_coordinates(X, k, principal=True).compute()
        assert_allclose(kpca.transform(X), expected, atol=1e-7 * np.abs(expected).max())


def test_coefficients_satisfy_the_formula():
    X = wine()
    kpca = KPCA(3, kernel=Kernel(gamma=0.05)).fit(X)
    K = rbf_kernel(X, gamma=0.05)
    centred = K - K.mean(0) - K.mean(1)[:, None] + K.mean()
    A = kpca.transformer()
    assert_allclose(A @ centred @ A.T, np.eye(3), atol=1e-9)  # unit vectors in feature space
    Z = kpca.transform(X)
    assert_allclose(centred @ Z, Z * kpca.eigenvalues_, atol=1e-8)  # eigenvectors
    assert_allclose(Z, (K - kpca.offset_) @ A.T, atol=1e-12)
    with pytest.raises(AttributeError, match=r"has no matrix M\. Use transformer\(\)"):
        kpca.metric()


# Landmarks


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_all_samples_as_landmarks_are_exact(kernel):
    X, new = wine(), wine()[:10] + 0.1
    exact = KPCA(4, kernel=kernel).fit(X)
    landmarks = landmark_coordinates(exact._kernel, X, X, 4)
    A = landmarks.lift(np.eye(4))
    Z = (exact._kernel(new, X) - landmarks.mean) @ A.T
    assert_allclose(landmarks.eigenvalues, exact.eigenvalues_, rtol=1e-9)
    assert_same_distances(Z, exact.transform(new), 1e-7)
    assert_array_equal(
        KPCA(4, kernel=Kernel(kernel, n_landmarks=178)).fit(X).transform(X), exact.transform(X)
    )


@pytest.mark.parametrize("landmarks", ["uniform", "greedy", "kmeans"])
def test_landmarks_that_span_the_samples_are_exact(landmarks, namespace):
    X = wine()[:, :5]
    exact = KPCA(3, kernel="linear").fit(X)
    converted = namespace.asarray(X)
    kernel = Kernel("linear", n_landmarks=30, landmarks=landmarks, random_state=0)
    few = KPCA(3, kernel=kernel).fit(converted)
    assert_same_distances(host(few.transform(converted)), exact.transform(X), 1e-7)
    if landmarks != "kmeans":
        assert_array_equal(host(few.X_fit_), X[host(few.landmarks_)])


@pytest.mark.parametrize("landmarks", ["uniform", "greedy", "kmeans"])
def test_more_landmarks_are_more_accurate(landmarks):
    X = digits(300)
    exact = KPCA(5).fit(X).eigenvalues_.sum()
    kernels = [Kernel(n_landmarks=m, landmarks=landmarks, random_state=0) for m in (10, 60, 299)]
    result = [KPCA(5, kernel=kernel).fit(X).eigenvalues_.sum() for kernel in kernels]
    assert result[0] < result[1] < result[2] <= exact * (1 + 1e-9)
    assert result[2] > 0.99 * exact


@pytest.mark.parametrize("landmarks", ["uniform", "greedy"])
def test_landmarks_of_a_precomputed_kernel(landmarks):
    X, params = digits(200), {"n_landmarks": 40, "landmarks": landmarks, "random_state": 0}
    K = rbf_kernel(X, gamma=0.05)
    precomputed = KPCA(3, kernel=Kernel("precomputed", **params)).fit(K)
    rows = precomputed.landmarks_
    expected = landmark_coordinates(precomputed._kernel, K[:, rows], K[np.ix_(rows, rows)], 3)
    assert_allclose(precomputed.eigenvalues_, expected.eigenvalues)
    assert precomputed.transform(K[:5]).shape == (5, 3)
    with pytest.raises(ValueError, match="'kmeans' does not support a precomputed kernel"):
        KPCA(3, kernel=Kernel("precomputed", n_landmarks=9, landmarks="kmeans")).fit(K)


@pytest.mark.filterwarnings("ignore:The kernel is indefinite:UserWarning")
@pytest.mark.parametrize(
    ("X", "coef0"), [(wine(), 1.0), (load_iris().data, 1.0), (load_iris().data, -9.0)]
)
def test_greedy_landmarks_of_an_indefinite_kernel(X, coef0):
    exact = KPCA(3, kernel=Kernel("sigmoid", coef0=coef0)).fit(X)
    params = {"n_landmarks": len(X) - 1, "landmarks": "greedy"}
    with pytest.warns(UserWarning, match="The kernel is indefinite"):
        learner = KPCA(3, kernel=Kernel("sigmoid", coef0=coef0, **params)).fit(X)
    assert_allclose(learner.eigenvalues_, exact.eigenvalues_, rtol=0.05)


def test_greedy_landmarks_of_a_kernel_without_an_origin():
    """The diagonal of minus squared distances is 0, so only differences of samples have lengths."""
    X = wine()[:, :5]
    K = -0.5 * ((X[:, None] - X[None]) ** 2).sum(2)
    learner = KPCA(5, kernel=Kernel("precomputed", n_landmarks=20, landmarks="greedy")).fit(K)
    assert len(learner.landmarks_) == 6  # 6 points span 5 dimensions
    assert_same_distances(learner.transform(K), X, 1e-7)


@pytest.mark.parametrize("seed", range(4))
def test_uniform_landmarks_are_distinct(seed):
    X = wine()[:20]
    many = np.vstack([np.repeat(X[:1], 300, axis=0), X])
    learner = KPCA(3, kernel=Kernel(n_landmarks=15, random_state=seed)).fit(many)
    assert len(np.unique(learner.X_fit_, axis=0)) == 15
    few = KPCA(3, kernel=Kernel(n_landmarks=50, random_state=seed)).fit(many)
    assert len(few.landmarks_) == 20
    assert_same_distances(few.transform(X), KPCA(3).fit(many).transform(X))


def test_errors_distinguish_identical_landmarks_from_identical_samples():
    X = np.vstack([np.zeros((50, 2)), np.eye(2)])
    with pytest.raises(ValueError, match=r"All landmarks are identical.*landmarks='greedy'"):
        KPCA(1, kernel=Kernel("precomputed", n_landmarks=2, random_state=0)).fit(X @ X.T)
    greedy = Kernel("precomputed", n_landmarks=3, landmarks="greedy")
    learner = KPCA(1, kernel=greedy).fit(X @ X.T)
    assert len(learner.landmarks_) == 3
    for landmarks in ("uniform", "greedy"):
        with pytest.raises(ValueError, match="All samples are identical under this kernel"):
            KPCA(1, kernel=Kernel(n_landmarks=9, landmarks=landmarks, random_state=0)).fit(X[:50])


# Inverse map


@pytest.mark.parametrize(
    ("kernel", "gamma"), [("rbf", {"gamma": 0.1}), ("linear", {}), ("poly", {"gamma": 0.1})]
)
def test_inverse_transform_matches_scikit_learn(kernel, gamma, namespace):
    X = wine()
    params = {"fit_inverse_transform": True, "alpha": 0.01}
    ours = KPCA(6, kernel=Kernel(kernel, **gamma), **params).fit(namespace.asarray(X))
    theirs = KernelPCA(6, kernel=kernel, **gamma, **params).fit(X)
    back = theirs.inverse_transform(theirs.transform(X))
    result = ours.inverse_transform(ours.transform(namespace.asarray(X)))
    assert_allclose(host(result), back, atol=1e-6 * np.abs(back).max())


def test_inverse_transform_requires_the_parameter():
    X = wine()
    with pytest.raises(AttributeError, match="no attribute 'inverse_transform'") as raised:
        KPCA(2).fit(X).inverse_transform(X[:, :2])
    assert "set fit_inverse_transform=True" in str(raised.value.__cause__)
    with pytest.raises(ValueError, match="does not support a precomputed kernel"):
        KPCA(2, kernel="precomputed", fit_inverse_transform=True).fit(X @ X.T)
    with pytest.raises(ValueError, match="Z has 3 columns, but KPCA maps to 2"):
        KPCA(2, fit_inverse_transform=True).fit(X).inverse_transform(X[:, :3])


def test_inverse_transform_without_a_ridge(namespace):
    """The result is the limit of small ridges, even if identical samples make K singular."""
    X = np.vstack([wine(), wine()[:20]])
    converted, params = namespace.asarray(X), {"kernel": "linear", "fit_inverse_transform": True}
    none, small = (KPCA(13, **params, alpha=alpha).fit(converted) for alpha in (0.0, 1e-7))
    Z = none.transform(converted)
    centred = X - X.mean(axis=0)
    assert_allclose(host(none.inverse_transform(Z)), centred, atol=1e-8)
    assert_allclose(host(small.inverse_transform(Z)), centred, atol=1e-6)


@pytest.mark.parametrize("alpha", [0.0, 1e-9])
def test_inverse_of_float32_samples_ignores_a_ridge_below_their_rounding(alpha, rng):
    X = rng.normal(size=(300, 5)).astype(np.float32)
    kpca = KPCA(10, kernel=Kernel(gamma=0.1), fit_inverse_transform=True, alpha=alpha).fit(X)
    error = kpca.inverse_transform(kpca.transform(X)) - X
    assert np.sqrt(np.mean(error**2)) < 0.15


def test_inverse_transform_with_a_ridge_lost_in_rounding(namespace):
    """A ridge far below the values of K is like no ridge: K stays singular for equal samples."""
    X = np.vstack([wine(), wine()[:20]])
    converted, params = namespace.asarray(1e20 * X), {"fit_inverse_transform": True}
    kpca = KPCA(13, kernel="linear", **params).fit(converted)
    back = host(kpca.inverse_transform(kpca.transform(converted)))
    assert_allclose(back / 1e20, X - X.mean(axis=0), atol=1e-8)


def test_inverse_transform_requires_the_parameter_before_fit():
    X = wine()
    late = KPCA(2).fit(X).set_params(fit_inverse_transform=True)
    refitted = KPCA(2, fit_inverse_transform=True).fit(X).set_params(fit_inverse_transform=False)
    refitted.fit(X[:100]).set_params(fit_inverse_transform=True)
    for kpca in (late, refitted):
        with pytest.raises(AttributeError, match="no attribute 'inverse_transform'") as raised:
            kpca.inverse_transform(X[:, :2])
        assert "before fit" in str(raised.value.__cause__)


# Indefinite and degenerate kernels


@pytest.mark.parametrize("n", [60, 700])
@pytest.mark.parametrize("k", [3, None])
def test_indefinite_kernel_warns_and_uses_the_positive_part(n, k, rng):
    K = rng.normal(size=(n, n))
    K = K + K.T
    with pytest.warns(UserWarning, match="The kernel is indefinite: .* eigenvalues range from -"):
        kpca = KPCA(k, kernel="precomputed").fit(K)
    J = np.eye(n) - 1 / n
    values, V = np.linalg.eigh(J @ K @ J)
    values, V = values[::-1], V[:, ::-1]
    kept = k or int(np.sum(values > 1e-9))
    expected = V[:, :kept] * np.sqrt(values[:kept])
    assert kpca.components_.shape == (kept, n)
    assert_same_distances(kpca.transform(K), expected, 1e-6)
    assert 0 < kpca.metadata()["accumulated_eigenvalues"] <= 1


@pytest.mark.parametrize("dense", [512, 50])
@pytest.mark.parametrize("k", [18, None])
@pytest.mark.filterwarnings("ignore:The kernel is indefinite:UserWarning")
def test_rounding_errors_of_a_nearly_constant_kernel_are_not_components(dense, k, monkeypatch):
    """Values near 1 are about 0.01 after centring, but their rounding errors are those of 1."""
    monkeypatch.setattr(_eigenpairs, "DENSE_SAMPLES", dense)
    X = load_iris().data
    kpca = KPCA(k, kernel="sigmoid").fit(X)
    Z = kpca.transform(X)
    assert_allclose(Z.T @ Z, np.diag(kpca.eigenvalues_), rtol=0, atol=1e-7 * kpca.eigenvalues_[0])
    assert np.abs(kpca.components_.sum(axis=1)).max() < 1e-6 * np.abs(kpca.components_).max()


@pytest.mark.parametrize("size", [0.04, 0.01])
@pytest.mark.parametrize("n", [100, 700])
def test_a_few_negative_eigenvalues_cause_a_warning(n, size, rng):
    Q = np.linalg.qr(rng.normal(size=(n, n))).Q
    values = np.r_[0.8 ** np.arange(n - 3), np.full(3, -size)]
    K = (Q * values) @ Q.T
    with pytest.warns(UserWarning, match="The kernel is indefinite"):
        KPCA(2, kernel="precomputed").fit((K + K.T) / 2)


@pytest.mark.parametrize("n", [20, 700])
def test_error_for_a_kernel_without_positive_eigenvalues(n):
    with pytest.raises(ValueError, match=r"no positive eigenvalue\. Its smallest one is -1\."):
        KPCA(2, kernel="precomputed").fit(-np.eye(n))


@pytest.mark.parametrize("n_landmarks", [None, 30])
def test_error_for_an_asymmetric_function_names_the_samples(n_landmarks):
    X = wine()
    M = np.triu(np.ones((13, 13)))

    def kernel(A, B):
        return A @ M @ B.T

    with pytest.raises(ValueError, match=r"must be symmetric, but k\(X\[") as raised:
        KPCA(2, kernel=Kernel(kernel, n_landmarks=n_landmarks, random_state=0)).fit(X)
    i, j, value, j2, i2, other = re.findall(r"-?\d+(?:\.\d+)?", str(raised.value))[:6]
    assert (i, j) == (i2, j2)
    K = kernel(X[[int(i)]], X[[int(j)]]), kernel(X[[int(j)]], X[[int(i)]])
    assert_allclose([float(value), float(other)], np.ravel(K), rtol=1e-4)


def test_conditionally_definite_kernel_is_treated_as_definite():
    """Minus squared distances have negative eigenvalues, but not after centring."""
    X = wine()
    K = -0.5 * ((X[:, None] - X[None]) ** 2).sum(2)
    Z = KPCA(kernel="precomputed").fit(K).transform(K)
    assert_same_distances(Z, X, 1e-7)


@pytest.mark.parametrize("n", [20, 600])
@pytest.mark.parametrize("k", [None, 2])
def test_error_for_a_constant_kernel(n, k):
    with pytest.raises(
        ValueError, match=r"All samples are identical under this kernel.*another kernel"
    ):
        KPCA(k, kernel="precomputed").fit(np.full((n, n), 3.0))
    with pytest.raises(ValueError, match="All samples are identical under this kernel"):
        KPCA(k, kernel=Kernel(gamma=1e-30)).fit(np.random.default_rng(0).normal(size=(n, 3)))


def test_components_without_variance_are_0():
    X = wine()[:, :3]
    with pytest.warns(UserWarning, match="2 of 5 components have no variance and are 0"):
        kpca = KPCA(5, kernel="linear").fit(X)
    assert_array_equal(kpca.eigenvalues_[3:], 0)
    assert_array_equal(kpca.transform(X)[:, 3:], 0)
    assert kpca.metadata()["rank"] == 3


def test_factor_reproduces_the_centred_kernel(rng):
    F = rng.normal(size=(50, 7)) + 3
    K = F @ F.T
    centred = (F - F.mean(axis=0)) @ (F - F.mean(axis=0)).T
    result = factor(K, definite=True)
    assert result.F.shape == (50, 7)
    assert_allclose(result.F @ result.F.T, centred, atol=1e-10)
    for r in (7, 3):  # maps of all coordinates, and of the first three
        L = rng.normal(size=(2, r))
        assert_allclose(result.lift(L) @ centred, L @ result.F[:, :r].T, atol=1e-8)


def test_factor_in_float32_is_accurate_up_to_rounding():
    K = rbf_kernel(wine(), gamma=0.01)
    centred = K - K.mean(0) - K.mean(1)[:, None] + K.mean()
    F = factor(K.astype("float32"), definite=True).F
    assert_allclose(F @ F.T, centred, atol=1e-4)


def test_fewest_coordinates_with_a_fraction_of_the_variance():
    K = rbf_kernel(digits(200), gamma=0.05)
    total = cholesky_coordinates(K, None, definite=True).eigenvalue_sum
    for fraction in (0.5, 0.9, 0.99):
        Z = cholesky_coordinates(K, fraction, definite=True).compute()
        assert np.sum(Z**2) >= fraction * total
        assert np.sum(Z[:, :-1] ** 2) < fraction * total
    assert cholesky_coordinates(K, 17, definite=True).rank == 17


def test_the_kernel_is_not_copied_for_few_components(monkeypatch):
    """K is read-only here, and no second matrix of its size fits into the memory limit."""
    X = digits()
    K = rbf_kernel(X, gamma=0.05)
    K.flags.writeable = False
    monkeypatch.setattr(_coordinates, "factor", None)
    for module in (_function, _coordinates, centred_products):
        monkeypatch.setattr(module, "BLOCK_ENTRIES", 20 * len(X))
    tracemalloc.start()
    KPCA(3, kernel="precomputed").fit(K)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.7 * K.nbytes


@pytest.mark.parametrize("n", [300, 600, 1100])
@pytest.mark.parametrize("k", [2, 30])
def test_few_components_match_the_eigenvectors_of_the_centred_kernel(n, k, rng):
    X = rng.normal(size=(n, 3))
    kpca = KPCA(k, kernel=Kernel(gamma=0.3)).fit(X)
    J = np.eye(n) - 1 / n
    values, V = np.linalg.eigh(J @ np.exp(-0.3 * cdist(X, X, "sqeuclidean")) @ J)
    values, V = values[::-1][:k], V[:, ::-1][:, :k]
    assert_allclose(kpca.eigenvalues_, values, rtol=0, atol=1e-9 * values[0])
    Z = kpca.transform(X)
    assert_allclose(np.abs(np.sum(Z * V, axis=0)), np.sqrt(values), atol=1e-6 * values[0] ** 0.5)


def test_equal_eigenvalues_are_all_found():
    """The kernel of 40 far clusters of equal size has one eigenvalue 39 times after centring."""
    X = np.repeat(100.0 * np.eye(40), 30, axis=0)
    with pytest.warns(UserWarning, match="components have no variance"):
        kpca = KPCA(45, kernel=Kernel(gamma=1.0)).fit(X)
    assert_allclose(kpca.eigenvalues_, np.r_[np.full(39, 30.0), np.zeros(6)], atol=1e-8)


@pytest.mark.parametrize("weighted", [False, True])
def test_coordinates_of_few_samples_are_principal_coordinates(rng, weighted):
    X = rng.normal(size=(30, 4))
    K = np.exp(-cdist(X, X, "sqeuclidean") / 4)
    weights = rng.integers(1, 4, size=30).astype(float) if weighted else None
    w = np.ones(30) if weights is None else weights
    J = np.eye(30) - w / w.sum()
    values, V = np.linalg.eigh(np.sqrt(w)[:, None] * (J @ K @ J.T) * np.sqrt(w))
    for k in (15, 16, 3):  # 3 coordinates come from the span of 6 pivots instead
        coordinates = cholesky_coordinates(K, k, definite=True, weights=weights)
        Z = coordinates.compute()
        A = coordinates.lift(np.eye(k))
        assert_allclose(A @ (K - coordinates.mean[:, None]), Z.T, atol=1e-9)
        if k > 3:
            expected = (V[:, -k:] * values[-k:]) @ V[:, -k:].T / np.sqrt(np.outer(w, w))
            assert_allclose(Z @ Z.T, expected, atol=1e-9)


@pytest.mark.parametrize("k", [3, 20])
def test_few_and_many_eigenpairs_of_a_small_kernel_agree(rng, k):
    X = rng.normal(size=(60, 4))
    K = np.exp(-cdist(X, X, "sqeuclidean") / 4)
    few = centred_eigenpairs(K, k, None, 1e-9, 0.0)  # LAPACK computes 3 of them, but all for 20
    J = np.eye(60) - 1 / 60
    values, V = np.linalg.eigh(J @ K @ J)
    assert_allclose(few.values, values[::-1][:k], rtol=1e-9)
    assert_allclose(few.V, fixed_signs(V[:, ::-1][:, :k].T), atol=1e-9)
