"""Tests specific to PCA: its equivalent definitions, its solvers and ill-conditioned data."""

import numpy as np
import pytest
from estimators import host
from scipy import sparse
from scipy.special import gammaln
from scipy.stats import multivariate_normal
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris
from sklearn.decomposition import PCA as Reference

from dimetric import PCA
from dimetric.learners import _probabilistic_pca
from dimetric.learners._pca_solver import choose_solver
from dimetric.linalg.spectral import fixed_signs

X = load_iris().data


def by_deflation(X, k):
    """Find and remove the direction of largest variance k times, by power iteration."""
    remainder, rows = X - X.mean(0), []
    for _ in range(k):
        v = np.ones(X.shape[1])
        for _ in range(2000):
            v = remainder.T @ (remainder @ v)
            v /= np.linalg.norm(v)
        rows.append(v)
        remainder = remainder - np.outer(remainder @ v, v)
    return fixed_signs(np.array(rows))


def test_components_match_greedy_deflation():
    np.testing.assert_allclose(PCA(3).fit(X).components_, by_deflation(X, 3), atol=1e-8)


def test_reconstruction_error_is_minimal(rng):
    pca = PCA(2).fit(X)
    error = np.sum((X - pca.inverse_transform(pca.transform(X))) ** 2)
    total = np.sum((X - X.mean(0)) ** 2)
    np.testing.assert_allclose(error, total * (1 - pca.explained_variance_ratio_.sum()))
    centred = X - X.mean(0)
    for _ in range(200):
        Q = np.linalg.qr(rng.normal(size=(4, 2)))[0]
        assert np.sum((centred - centred @ Q @ Q.T) ** 2) >= error


@pytest.mark.parametrize(("t", "k"), [(0.5, 1), (0.95, 2), (0.99, 3), (0.999, 4)])
def test_threshold_keeps_the_smallest_k_that_reaches_it(t, k):
    pca = PCA(t).fit(X)
    explained = np.cumsum(PCA().fit(X).explained_variance_ratio_)
    assert pca.n_components_ == k == np.argmax(explained >= t) + 1
    assert pca.metadata()["accumulated_eigenvalues"] >= t
    assert PCA(t).partial_fit(X[:70]).partial_fit(X[70:]).n_components_ == k


@pytest.mark.parametrize("solver", ["auto", "full", "incremental"])
def test_accurate_at_condition_number_1e8(solver, rng):
    n, d = 400, 6
    U = np.linalg.qr(rng.normal(size=(n, d)) - 0)[0]
    U = np.linalg.qr(U - U.mean(0))[0]
    V = np.linalg.qr(rng.normal(size=(d, d)))[0]
    s = np.logspace(0, -8, d)
    pca = PCA(svd_solver=solver).fit(U * s @ V.T + 1)
    np.testing.assert_allclose(pca.singular_values_, s, rtol=1e-6)
    np.testing.assert_allclose(np.abs(pca.components_ @ V), np.eye(d), atol=1e-6)


def test_partial_fit_is_accurate_for_ill_conditioned_samples(rng):
    A = rng.normal(size=(300, 5)) * np.logspace(0, -8, 5)
    pca = PCA()
    for block in np.array_split(A, 7):
        pca.partial_fit(block)
    expected = np.linalg.svd(A - A.mean(0), compute_uv=False)
    np.testing.assert_allclose(pca.singular_values_, expected, rtol=1e-6)


@pytest.mark.parametrize("solver", ["auto", "full", "covariance_eigh", "randomized", "arpack"])
@pytest.mark.parametrize("shape", [(60, 200), (200, 60)])
def test_solvers_agree_with_scikit_learn(solver, shape, rng):
    A = rng.normal(size=shape) @ np.diag(1.1 ** -np.arange(shape[1]))
    ours = PCA(5, svd_solver=solver, random_state=0).fit(A)
    theirs = Reference(5, svd_solver="full").fit(A)
    np.testing.assert_allclose(ours.components_, theirs.components_, atol=1e-5)
    np.testing.assert_allclose(ours.explained_variance_, theirs.explained_variance_, rtol=1e-6)
    np.testing.assert_allclose(
        ours.explained_variance_ratio_, theirs.explained_variance_ratio_, rtol=1e-6
    )
    np.testing.assert_allclose(ours.transform(A), theirs.transform(A), atol=1e-4)


@pytest.mark.parametrize("solver", ["auto", "covariance_eigh", "randomized", "arpack"])
def test_sparse_samples_are_centred_implicitly(solver):
    A = sparse.random_array((120, 30), density=0.2, rng=1, format="csr")
    options = {"svd_solver": solver, "random_state": 0, "iterated_power": 60}
    if solver == "auto":
        options = {}
    pca, dense = PCA(4, **options).fit(A), PCA(4, svd_solver="full").fit(A.toarray())
    np.testing.assert_allclose(pca.components_, dense.components_, atol=1e-7)
    np.testing.assert_allclose(pca.transform(A), dense.transform(A.toarray()), atol=1e-7)
    np.testing.assert_allclose(
        pca.explained_variance_ratio_, dense.explained_variance_ratio_, rtol=1e-8
    )


def test_wide_sparse_samples_never_become_dense():
    A = sparse.random_array((50, 200_000), density=1e-4, rng=0, format="csr")
    pca = PCA(2, random_state=0).fit(A)  # dense scatter: 320 GB
    assert pca.transform(A).shape == (50, 2)


def test_whitened_components_have_unit_variance_and_invert():
    pca, plain = PCA(3, whiten=True).fit(X), PCA(3).fit(X)
    np.testing.assert_allclose(np.cov(pca.transform(X).T), np.eye(3), atol=1e-10)
    np.testing.assert_allclose(
        pca.inverse_transform(pca.transform(X)), plain.inverse_transform(plain.transform(X))
    )
    full = PCA(whiten=True).fit(X)
    np.testing.assert_allclose(full.metric(), np.linalg.inv(np.cov(X.T)), rtol=1e-8)


@pytest.mark.parametrize("unit", [1e-10, 1.0, 1e10])
def test_whitening_without_variance_maps_to_zero_and_warns(unit):
    flat = unit * np.hstack([X, np.ones((150, 1))])
    with pytest.warns(UserWarning, match="1 of 5 components have no variance"):
        pca = PCA(whiten=True).fit(flat)
    np.testing.assert_allclose(pca.inverse_transform(pca.transform(flat)), flat)
    assert pca.metadata()["rank"] == 4


def test_fit_discards_earlier_blocks():
    pca = PCA().partial_fit(100 * X)
    np.testing.assert_array_equal(pca.fit(X).components_, PCA().fit(X).components_)
    np.testing.assert_allclose(pca.partial_fit(X).components_, PCA().fit(X).components_, atol=1e-10)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_components": 5}, r"n_components=5 must be at most min\(n_samples, n_features\)=4"),
        (
            {"n_components": 4, "svd_solver": "arpack"},
            r"n_components=4 must be strictly less than min\(n_samples, n_features\)=4",
        ),
        ({"n_components": 0.5, "svd_solver": "randomized"}, r"n_components=0\.5 .* Use an int"),
    ],
)
def test_invalid_n_components_raise(parameters, message):
    with pytest.raises(ValueError, match=message):
        PCA(**parameters).fit(X)


def test_arpack_of_one_feature_raises():
    with pytest.raises(ValueError, match="'arpack' needs at least 2 samples and 2 features"):
        PCA(svd_solver="arpack").fit(X[:, :1])
    assert PCA(svd_solver="arpack").fit(X[:, :2]).n_components_ == 1


def test_dense_solvers_reject_sparse_samples():
    with pytest.raises(TypeError, match="svd_solver='full' needs dense samples"):
        PCA(svd_solver="full").fit(sparse.csr_array(X))


def test_components_of_digits_match_scikit_learn():
    D = load_digits().data
    ours, theirs = PCA(10).fit(D), Reference(10, svd_solver="full").fit(D)
    np.testing.assert_allclose(ours.components_, theirs.components_, atol=1e-7)


@pytest.mark.parametrize("solver", ["auto", "randomized", "arpack", "full"])
def test_a_large_mean_does_not_hide_the_variance(solver, rng):
    A = (300 + 0.5 * rng.normal(size=(80, 700))).astype(np.float32)
    exact = np.linalg.svd(A.astype(float) - A.astype(float).mean(0), compute_uv=False)[:5]
    pca = PCA(5, svd_solver=solver, random_state=0, iterated_power=40).fit(A)
    np.testing.assert_allclose(pca.singular_values_, exact, rtol=1e-3)


def test_mean_of_many_float32_samples_is_accurate(rng):
    A = (100 + 0.1 * rng.normal(size=(300_000, 4))).astype(np.float32)
    pca = PCA().fit(A)
    np.testing.assert_allclose(pca.offset_, A.mean(0, dtype=np.float64), rtol=1e-7)
    np.testing.assert_allclose(pca.explained_variance_.sum(), 0.04, rtol=0.01)


def test_float32_samples_do_not_change_the_chosen_solver(rng):
    A = (rng.normal(size=(2000, 50)) * 0.9 ** np.arange(50)).astype(np.float32)
    assert PCA(45).fit(A)._fit_svd_solver == "covariance_eigh"


@pytest.mark.parametrize(
    ("shape", "n_components", "solver"),
    [
        ((40, 4), None, "covariance_eigh"),
        ((39, 4), None, "full"),
        ((10_000, 1000), 2, "covariance_eigh"),
        ((10_010, 1001), 2, "randomized"),
        ((501, 60), 47, "randomized"),
        ((501, 60), 48, "full"),
        ((500, 60), 47, "full"),
    ],
)
def test_auto_solver_depends_on_the_shape(shape, n_components, solver):
    X = np.broadcast_to(0.0, shape)  # takes no memory
    assert choose_solver("auto", X, n_components) == solver


@pytest.mark.parametrize(
    ("shape", "n_components", "solver"),
    [
        ((10, 500), 2, "covariance_eigh"),
        ((10, 501), 2, "arpack"),
        ((10, 5000), 9, "covariance_eigh"),
        ((10, 5001), 9, "full"),
        ((2**13, 2**13), None, "full"),
    ],
)
def test_auto_solver_of_sparse_samples_depends_on_the_shape(shape, n_components, solver):
    assert choose_solver("auto", sparse.csr_array(shape), n_components) == solver


@pytest.mark.parametrize("n_components", [None, 45, 0.9])
def test_all_components_of_wide_sparse_samples(n_components):
    A = sparse.random_array((50, 20_000), density=1e-3, rng=0, format="csr")
    pca, dense = PCA(n_components).fit(A), PCA(n_components, svd_solver="full").fit(A.toarray())
    np.testing.assert_allclose(pca.singular_values_, dense.singular_values_, atol=1e-9)


def test_too_many_components_of_large_sparse_samples_raise():
    A = sparse.csr_array((20_000, 20_000))
    with pytest.raises(ValueError, match=r"n_components=None .* must be an int below 16000"):
        PCA().fit(A)


@pytest.mark.parametrize("size", [1e160, 1e-170])
def test_partial_fit_rejects_values_whose_squares_overflow_or_underflow(size):
    with pytest.raises(ValueError, match="float64 can represent squares only if"):
        PCA().partial_fit(X * size)


@pytest.mark.parametrize(("n_components", "enough"), [(None, 2), (0.9, 2), (1, 2), (3, 3)])
def test_partial_fit_learns_as_soon_as_there_are_enough_samples(n_components, enough):
    pca = PCA(n_components).partial_fit(X[: enough - 1])
    assert not pca.__sklearn_is_fitted__()
    pca.partial_fit(X[enough - 1 : enough])
    assert pca.n_components_ == PCA(n_components).fit(X[:enough]).n_components_


def test_partial_fit_after_fit_starts_from_scratch():
    pca = PCA(3).fit(X)
    wider = np.column_stack([X, X[:, 0] ** 2])
    pca.partial_fit(wider[:2])
    assert not pca.__sklearn_is_fitted__()
    pca.partial_fit(wider[2:])
    np.testing.assert_allclose(pca.components_, PCA(3).fit(wider).components_, atol=1e-9)


@pytest.mark.parametrize("unit", [1e-3, 1e3])
def test_fraction_of_variance_does_not_depend_on_the_unit(unit):
    for fraction in (0.5, 0.95, 0.99):
        for n_samples in (150, 3):
            expected = PCA(fraction).fit(X[:n_samples]).n_components_
            assert PCA(fraction).fit(unit * X[:n_samples]).n_components_ == expected


# The probabilistic model


def log_density(pca, samples):
    """Return the mean log-density of the model's Gaussian, by SciPy."""
    density = multivariate_normal(np.asarray(pca.offset_), pca.get_covariance())
    return density.logpdf(samples)


@pytest.mark.parametrize("solver", ["full", "covariance_eigh", "incremental", "randomized"])
@pytest.mark.parametrize("whiten", [False, True])
@pytest.mark.parametrize("k", [1, 3, 0.9, None])
def test_model_matches_scikit_learn(solver, whiten, k):
    if solver == "randomized" and (k is None or k < 1):
        k = 4
    ours = PCA(k, svd_solver=solver, whiten=whiten, random_state=0).fit(X)
    theirs = Reference(ours.n_components_, svd_solver="full").fit(X)
    assert ours.noise_variance_ == pytest.approx(theirs.noise_variance_, rel=1e-6)
    assert isinstance(ours.noise_variance_, float)
    np.testing.assert_allclose(ours.get_covariance(), theirs.get_covariance(), rtol=1e-6)
    np.testing.assert_allclose(ours.get_precision(), theirs.get_precision(), rtol=1e-6)
    new = X[::7] + 0.3
    np.testing.assert_allclose(ours.score_samples(new), theirs.score_samples(new), rtol=1e-6)
    assert ours.score(new) == pytest.approx(theirs.score(new), rel=1e-6)
    np.testing.assert_allclose(ours.score_samples(new), log_density(ours, new), rtol=1e-6)


@pytest.mark.filterwarnings("ignore:.*no variance")
@pytest.mark.parametrize(("rank", "k"), [(3, 8), (3, 5), (7, 8), (8, 8)])
def test_whitening_does_not_change_a_singular_model(rng, rank, k):
    A = rng.normal(size=(30, rank)) @ rng.normal(size=(rank, 8))
    new = rng.normal(size=(20, 8))  # outside the span of A if the rank is below 8
    plain, whitened = PCA(k).fit(A), PCA(k, whiten=True).fit(A)
    np.testing.assert_allclose(whitened.score_samples(new), plain.score_samples(new), rtol=1e-6)
    assert (plain.score(new) < -1e20) == (rank < 8)


@pytest.mark.parametrize("shape", [(100, 6), (20, 60)])
def test_noise_variance_maximises_the_likelihood(shape, rng):
    """The maximum-likelihood estimate counts all directions, also with fewer samples."""
    A = rng.normal(size=shape) * np.linspace(1, 2, shape[1])
    pca = PCA(2, svd_solver="full").fit(A)
    eigenvalues = np.linalg.eigvalsh(np.cov(A.T))[::-1]
    assert pca.noise_variance_ == pytest.approx(eigenvalues[2:].mean())
    assert np.trace(pca.get_covariance()) == pytest.approx(np.trace(np.cov(A.T)))
    model = clone(pca).fit(A)
    # The variances are unbiased, and the likelihood is largest for biased ones.
    biased = (shape[0] - 1) / shape[0]
    model.explained_variance_ = biased * model.explained_variance_

    def score(noise):
        model.noise_variance_ = noise
        return model.score(A)

    best = biased * pca.noise_variance_
    assert score(best) > max(score(0.99 * best), score(1.01 * best))


def test_score_of_blocks_sparse_samples_and_float32(monkeypatch, namespace):
    expected = PCA(2).fit(X).score_samples(X)
    monkeypatch.setattr(_probabilistic_pca, "BLOCK_ENTRIES", 17)
    as_sparse = PCA(2).fit(sparse.csr_array(X)).score_samples(sparse.csr_array(X))
    np.testing.assert_allclose(as_sparse, expected, rtol=1e-6)
    small = namespace.asarray(X.astype("float32"))
    pca = PCA(2).fit(small)
    result = pca.score_samples(small)
    assert result.dtype == small.dtype
    assert pca.get_covariance().dtype == pca.get_precision().dtype == small.dtype
    np.testing.assert_allclose(host(result), expected, rtol=1e-3)
    mixed = PCA(2).fit(namespace.asarray(X)).score_samples(X)
    np.testing.assert_allclose(mixed, expected, rtol=1e-6)


def test_model_of_partial_fits_is_that_of_all_samples():
    pca = PCA(2, svd_solver="incremental")
    for block in np.array_split(X, 7):
        pca.partial_fit(block)
    expected = PCA(2, svd_solver="full").fit(X)
    assert pca.noise_variance_ == pytest.approx(expected.noise_variance_)
    assert pca.score(X) == pytest.approx(expected.score(X))


@pytest.mark.parametrize("factor", [1e-8, 1e-3, 1e3, 1e8])
def test_model_in_other_units(factor):
    """The density of c x is that of x divided by c^d, for each dimension d."""
    expected, result = PCA(2).fit(X), PCA(2).fit(factor * X)
    assert result.noise_variance_ == pytest.approx(factor**2 * expected.noise_variance_)
    shifted = result.score_samples(factor * X) + 4 * np.log(factor)
    np.testing.assert_allclose(shifted, expected.score_samples(X), rtol=1e-6)
    assert PCA("mle").fit(factor * X).n_components_ == PCA("mle").fit(X).n_components_


SINGULAR = {
    "fewer samples than features": (X[:3], None),
    "as many components as differences": (X[:3], 2),
    "as many components as the rank": (X @ np.ones((4, 7)) + X @ np.eye(4, 7), 4),
    "a component without variance": (np.column_stack([X, X[:, 0]]), None),
    "constant feature": (np.column_stack([X, np.ones(150)]), 4),
}


@pytest.mark.parametrize("solver", ["auto", "full", "randomized"])
@pytest.mark.parametrize("case", SINGULAR)
def test_singular_model_has_no_precision(case, solver):
    A, k = SINGULAR[case]
    pca = PCA(k, svd_solver=solver, random_state=0).fit(A)
    assert pca.noise_variance_ == 0
    np.testing.assert_allclose(pca.get_covariance(), np.cov(A.T), atol=1e-9)
    with pytest.raises(ValueError, match="The covariance is singular"):
        pca.get_precision()
    null = np.linalg.svd(A - A.mean(axis=0))[2][-1]  # a direction without variance
    inside, outside = pca.score_samples(A), pca.score_samples(A + null)
    assert np.isfinite(inside).all()
    assert np.isfinite(outside).all()
    assert inside.min() > 0 > -1e6 > outside.max()


def test_identical_samples_have_no_density():
    pca = PCA(2).fit(np.ones((9, 3)))
    np.testing.assert_array_equal(pca.get_covariance(), np.zeros((3, 3)))
    for call in (pca.get_precision, lambda: pca.score(np.ones((9, 3)))):
        with pytest.raises(ValueError, match="All samples are identical"):
            call()


# The number of components by the evidence


def test_evidence_matches_a_loop(rng):
    """The logarithm of Minka's equation 30, with plain loops."""
    spectrum, n = np.sort(rng.gamma(1.0, size=6))[::-1], 40
    expected = []
    for k in range(1, 6):
        v = spectrum[k:].mean()
        hat = np.where(np.arange(6) < k, spectrum, v)
        value = -k * np.log(2)
        value += sum(gammaln((6 - i) / 2) - (6 - i) / 2 * np.log(np.pi) for i in range(k))
        value -= n / 2 * (np.log(spectrum[:k]).sum() + (6 - k) * np.log(v))
        value += (6 * k - k * (k + 1) / 2 + k) / 2 * np.log(2 * np.pi) - k / 2 * np.log(n)
        for i in range(k):
            for j in range(i + 1, 6):
                factor = (spectrum[i] - spectrum[j]) * (1 / hat[j] - 1 / hat[i]) * n
                value -= np.log(factor) / 2
        expected.append(value)
    np.testing.assert_allclose(_probabilistic_pca._log_evidence(spectrum, n), expected)


@pytest.mark.parametrize("solver", ["auto", "full", "covariance_eigh", "incremental"])
@pytest.mark.parametrize("r", [1, 4, 9])
def test_mle_finds_the_dimension(solver, r, rng):
    A = rng.normal(size=(300, r)) @ rng.normal(size=(r, 12)) + 0.05 * rng.normal(size=(300, 12))
    pca = PCA("mle", svd_solver=solver).fit(A)
    assert pca.n_components_ == r == Reference("mle", svd_solver="full").fit(A).n_components_
    assert pca.components_.shape == (r, 12)
    in_blocks = PCA("mle").partial_fit(A[:5])
    assert not hasattr(in_blocks, "components_")  # fewer samples than features
    assert in_blocks.partial_fit(A[5:]).n_components_ == r


def test_mle_of_difficult_data(rng):
    assert PCA("mle").fit(np.ones((9, 3))).n_components_ == 1
    assert PCA("mle").fit(rng.normal(size=(9, 1))).n_components_ == 1
    corners = np.array(np.meshgrid(*[[-1.0, 1]] * 4)).reshape(4, -1).T  # equal variances
    assert 1 <= PCA("mle").fit(corners).n_components_ <= 3
    assert PCA("mle").fit(sparse.csr_array(X)).n_components_ == PCA("mle").fit(X).n_components_


def test_mle_errors():
    with pytest.raises(ValueError, match="only supported if n_samples >= n_features, but X has 3"):
        PCA("mle").fit(X[:3])
    for solver in ("randomized", "arpack"):
        with pytest.raises(ValueError, match=f"which svd_solver='{solver}' does not support"):
            PCA("mle", svd_solver=solver).fit(X)
    with pytest.raises(ValueError, match="'n_components' parameter of PCA must be"):
        PCA("most").fit(X)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_samples_mapped_in_blocks_equal_centred_products(dtype, rng):
    """Samples are centred before the product, which keeps digits if the mean is large."""
    X = (1e3 + rng.normal(size=(30_001, 12))).astype(dtype)
    pca = PCA(3).fit(X)
    expected = (X - pca.offset_) @ pca.components_.T
    Z = pca.transform(X)
    assert Z.dtype == X.dtype
    np.testing.assert_allclose(Z, expected, rtol=0, atol=40 * np.finfo(dtype).eps)
    np.testing.assert_allclose(pca.transform(X[::-3]), expected[::-3], rtol=0, atol=1e-5)


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("used", [True, False])
def test_large_arrays_must_be_finite(value, used, rng):
    X = rng.normal(size=(30_000, 4)) + 3
    X[:, 2] *= used  # without variance, the feature has no weight in the map
    model = PCA(2).fit(X[:100])
    assert np.all(np.any(model.components_, axis=0)) == used
    X[29_000, 2] = value
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        model.transform(X)


def test_large_values_of_large_arrays(rng):
    X = rng.normal(size=(30_000, 4))
    model = PCA(2).fit(X)
    X[:, 0] *= 1e306  # the sum overflows, but no mapped value
    np.testing.assert_allclose(model.transform(X)[:50], model.transform(X[:50]), rtol=1e-12)
    X[5] = np.finfo(np.float64).max * np.sign(model.components_[0])
    with pytest.raises(ValueError, match="too large for float64"):
        model.transform(X)
