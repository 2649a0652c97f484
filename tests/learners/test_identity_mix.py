"""Tests of mixing a learned metric with the identity, by a weight that is given."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_iris

import dimetric
from dimetric import (
    ANMM,
    DMLMJ,
    ITML,
    KANMM,
    LDA,
    LDML,
    LMNN,
    LSI,
    MCML,
    MLKR,
    NCA,
    NCMC,
    NCMML,
    PCA,
    Covariance,
    DMLEig,
    Kernelized,
    Pairs,
)
from dimetric.kernels import Kernel
from dimetric.learners._identity_mix import mixed, unmixed

X, y = load_iris(return_X_y=True)
X = (X - X.mean(axis=0))[::3]
y = y[::3]
LEARNERS = [
    LDA(),
    LDA(1),
    ANMM(),
    ANMM(2),
    DMLMJ(),
    DMLMJ(2),
    NCA(),
    NCA(2),
    MCML(),
    LDML(),
    LDML(diagonal=True),
    LMNN(),
    LSI(),
    LSI(diagonal=True),
    DMLEig(),
    ITML(random_state=0),
    NCMML(),
    NCMC(random_state=0),
    MLKR(),
    Covariance(),
]


def mixed_metric(learner, a):
    """Return the metric that mixing should give, by the formula."""
    M, (k, d) = learner.metric(), learner.components_.shape
    if k == d:
        return (1 - a) * M + a * np.trace(M) / d * np.eye(d)
    P = np.linalg.pinv(learner.components_) @ learner.components_
    return (1 - a) * M + a * np.trace(M) / k * P


@pytest.mark.parametrize("learner", LEARNERS, ids=repr)
def test_all_learners_mix_by_the_formula(learner):
    a = 0.1
    plain = clone(learner).fit(X, y)
    other = clone(learner).set_params(identity_mix=a).fit(X, y)
    expected, M = mixed_metric(plain, a), other.metric()
    np.testing.assert_allclose(M, expected, rtol=0, atol=1e-10 * np.abs(expected).max())
    assert np.isclose(np.trace(M), np.trace(plain.metric()))
    assert other.components_.shape == plain.components_.shape
    facts, before = other.metadata(), plain.metadata()
    assert (facts["identity_mix"], before["identity_mix"]) == (a, 0.0)
    for name in {"final_objective", "gap", "gap_radius", "n_iter", "margin"} & facts.keys():
        assert facts[name] == before[name]  # the objective and the gap are those before mixing
    if "gap" in facts:
        assert facts["objective_of"] == "the metric before mixing"
    assert "objective_of" not in before
    if getattr(learner, "diagonal", False):
        assert np.count_nonzero(M - np.diag(np.diag(M))) == 0


def test_every_metric_learner_has_the_parameter():
    names = {type(learner).__name__ for learner in LEARNERS}
    for name in names | {"KDA", "KANMM", "KDMLMJ", "KLMNN"}:
        assert getattr(dimetric, name)().get_params()["identity_mix"] is None
    assert "identity_mix" not in PCA().get_params()


@pytest.mark.parametrize("a", [0, 0.0, None])
def test_no_mixing_returns_the_same_map(a):
    learner = MCML(identity_mix=a).fit(X, y)
    np.testing.assert_array_equal(learner.components_, MCML().fit(X, y).components_)
    assert learner.metadata()["identity_mix"] == 0.0


@pytest.mark.parametrize("shape", [(4, 4), (2, 4), (1, 5)])
def test_mixed_maps(shape):
    L = np.random.default_rng(0).normal(size=shape)
    M, (k, d) = L.T @ L, shape
    full = mixed(L, 0.3)
    np.testing.assert_allclose(full.T @ full, 0.7 * M + 0.3 * np.trace(M) / d * np.eye(d))
    assert full.shape == (d, d)
    inside = mixed(L, 0.3, all_directions=False)
    P = np.linalg.pinv(L) @ L
    np.testing.assert_allclose(inside.T @ inside, 0.7 * M + 0.3 * np.trace(M) / k * P, atol=1e-12)
    assert inside.shape == shape


def test_a_map_of_zeros_and_a_map_of_low_rank():
    assert not mixed(np.zeros((2, 3)), 0.5).any()
    u, v = np.array([[1.0], [2.0]]), np.array([[2.0, 0.0, 1.0]])
    L = u @ v  # rank 1
    inside = mixed(L, 0.5, all_directions=False)
    np.testing.assert_allclose(inside, L, atol=1e-12)  # a span of one direction cannot change
    square = np.vstack([L, L[:1]])
    M, full = square.T @ square, mixed(square, 0.5)
    expected = 0.5 * M + 0.5 * np.trace(M) / 3 * np.eye(3)
    np.testing.assert_allclose(full.T @ full, expected, atol=1e-12)


@pytest.mark.parametrize("scale", [1e-150, 1e150])
def test_extreme_units(scale):
    L = np.random.default_rng(0).normal(size=(3, 3))
    np.testing.assert_allclose(mixed(scale * L, 0.2) / scale, mixed(L, 0.2))


@pytest.mark.parametrize("options", [{}, {"diagonal": True}, {"all_directions": False}])
def test_unmixed_is_the_inverse(options):
    L = np.diag([3.0, 1.0, 0.0]) if options else np.random.default_rng(0).normal(size=(3, 3))
    np.testing.assert_allclose(unmixed(mixed(L, 0.4, **options), 0.4, **options), L, atol=1e-7)
    identity = mixed(L, 1.0, **options)
    np.testing.assert_array_equal(unmixed(identity, 1.0, **options), identity)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_namespaces_and_dtypes(namespace, dtype):
    L = np.random.default_rng(0).normal(size=(2, 3))
    for options in ({}, {"all_directions": False}, {"diagonal": True}):
        A = namespace.asarray(L.astype(dtype))
        result = mixed(A, 0.3, **options)
        assert result.dtype == A.dtype
        expected = mixed(L, 0.3, **options)
        np.testing.assert_allclose(np.abs(np.asarray(result)), np.abs(expected), atol=1e-6)
    learner = NCA(identity_mix=0.3).fit(namespace.asarray(X.astype(dtype)), namespace.asarray(y))
    assert learner.components_.dtype == A.dtype


def test_a_metric_of_low_rank_gets_all_directions():
    wide = np.hstack([X, X @ np.random.default_rng(0).normal(size=(4, 3))])
    for learner in (Covariance(), LSI(), MCML(solver="sdp", reg=0.5)):
        M = clone(learner).fit(wide, y).metric()
        other = clone(learner).set_params(identity_mix=0.1).fit(wide, y)
        expected = 0.9 * M + 0.1 * np.trace(M) / 7 * np.eye(7)
        np.testing.assert_allclose(other.metric(), expected, atol=1e-9 * np.abs(M).max())
        assert other.metadata()["n_components"] == other.metadata()["rank"] == 7


def test_warm_start_continues_from_the_map_before_mixing():
    plain = NCA(max_iter=500, reg=0.1, tol=1e-9).fit(X, y)
    learner = NCA(max_iter=500, reg=0.1, tol=1e-9, identity_mix=0.5, warm_start=True)
    first = learner.fit(X, y).metric()
    again = learner.fit(X, y)
    assert again.n_iter_ <= 2 < plain.n_iter_
    np.testing.assert_allclose(again.metric(), first, rtol=1e-4)
    unmixed_again = learner.set_params(identity_mix=None).fit(X, y)
    np.testing.assert_allclose(unmixed_again.metric(), plain.metric(), rtol=1e-4)


@pytest.mark.parametrize("learner", [LDA(2), Covariance()], ids=repr)
def test_mixing_does_not_accumulate_over_blocks(learner):
    whole = clone(learner).set_params(identity_mix=0.3).fit(X, y)
    blocks = clone(learner).set_params(identity_mix=0.3)
    for start in range(5):
        blocks.partial_fit(X[start::5], y[start::5])
    np.testing.assert_allclose(blocks.metric(), whole.metric(), rtol=1e-7)
    assert blocks.metadata()["identity_mix"] == 0.3


def test_blocks_of_stochastic_gradient_descent_start_before_mixing():
    plain, other = (
        NCMML(solver="sgd", identity_mix=a, random_state=0).partial_fit(X, y).partial_fit(X, y)
        for a in (None, 0.3)
    )
    np.testing.assert_allclose(other.metric(), mixed_metric(plain, 0.3), rtol=1e-6)


def test_sparse_samples_mix_inside_the_span_of_the_samples():
    rng = np.random.default_rng(0)
    S = sparse.random_array((30, 20_000), density=0.01, rng=rng, format="csr")
    labels = np.repeat([0, 1, 2], 10)
    plain, other = (NCMML(identity_mix=a, reg=0.1).fit(S, labels) for a in (None, 0.3))
    P, N = plain.components_, other.components_
    k = plain.metadata()["basis_rank"]
    V = np.linalg.svd(S.toarray(), full_matrices=False)[2]
    inside = V @ (0.7 * P.T @ (P @ V.T) + 0.3 * np.sum(P**2) / k * V.T)
    np.testing.assert_allclose(V @ (N.T @ (N @ V.T)), inside, atol=1e-10 * np.sum(P**2))
    np.testing.assert_allclose(N @ V.T @ V, N, atol=1e-9 * np.abs(N).max())


def test_kernel_learners_mix_in_feature_space():
    params = {"identity_mix": 0.2, "reg": 0.0, "tol": 1e-6}
    learner, kernel = LMNN(**params), Kernel("linear", n_components=None)
    pairs = np.stack([X[:20], X[20:40]], axis=1)
    expected = learner.fit(X, y).pair_distance(pairs)
    for other in (
        Kernelized(learner, kernel=kernel),
        dimetric.KLMNN(**params, kernel=kernel),
    ):
        np.testing.assert_allclose(other.fit(X, y).pair_distance(pairs), expected, rtol=1e-2)
        assert other.metadata()["identity_mix"] == 0.2
    with pytest.raises(ValueError, match=r"identity_mix=0\.2 needs a map in feature space"):
        KANMM(orthonormal="coefficients", identity_mix=0.2).fit(X, y)


@pytest.mark.parametrize("a", [-0.1, 1.1, "best", "auto "])
def test_wrong_weights_are_refused(a):
    with pytest.raises(ValueError, match="identity_mix"):
        MCML(identity_mix=a).fit(X, y)


def test_auto_is_refused_where_labels_or_all_samples_are_missing():
    with pytest.raises(ValueError, match="identity_mix"):
        Covariance(identity_mix="auto").fit(X)
    for learner in (LDA(identity_mix="auto"), NCMML(solver="sgd", identity_mix="auto")):
        assert not hasattr(learner, "partial_fit")
        with pytest.raises(AttributeError, match="partial_fit"):
            learner.partial_fit(X, y)


def test_pairs_and_model_files(tmp_path):
    pairs = Pairs.from_labels(y, 200, random_state=0)
    learner = ITML(identity_mix=0.25, random_state=0).fit(X, pairs=pairs)
    plain = ITML(random_state=0).fit(X, pairs=pairs)
    np.testing.assert_allclose(learner.metric(), mixed_metric(plain, 0.25), rtol=1e-8, atol=1e-10)
    dimetric.save(learner, tmp_path / "model.dimetric")
    loaded = dimetric.load(tmp_path / "model.dimetric")
    np.testing.assert_array_equal(loaded.components_, learner.components_)
    assert loaded.identity_mix == loaded.metadata()["identity_mix"] == 0.25
