"""MDS: classical scaling, landmarks, the additive constant, and SMACOF."""

import numpy as np
import pytest
from array_api_compat import array_namespace
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial import procrustes
from scipy.spatial.distance import cdist, pdist, squareform
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.isotonic import IsotonicRegression
from sklearn.manifold import MDS as Reference
from sklearn.manifold import smacof as reference_smacof

from dimetric import MDS, PCA
from dimetric.manifold import _stress as module
from dimetric.manifold._smacof import smacof, starting_coordinates
from dimetric.manifold._stress import NonmetricStress, Stress, pull_of

IRIS, DIGITS = load_iris().data, load_digits().data
STAR = np.array([[0.0, 1, 1, 1], [1, 0, 2, 2], [1, 2, 0, 2], [1, 2, 2, 0]])


def assert_equal_up_to_signs(A, B, tol):
    signs = np.sign(np.sum(A * B, axis=0))
    assert_allclose(A * signs, B, rtol=0, atol=tol * np.abs(B).max())


# Classical


@pytest.mark.parametrize("X", [IRIS, DIGITS[:700], DIGITS[:40]], ids=["iris", "digits", "few"])
def test_classical_scaling_of_euclidean_distances_matches_pca(X):
    scores = PCA(3, svd_solver="full").fit_transform(X)
    euclidean = MDS(3).fit(X)
    precomputed = MDS(3, metric="precomputed").fit(cdist(X, X))
    for mds in (euclidean, precomputed, MDS(3, metric="minkowski", metric_params={"p": 2}).fit(X)):
        assert_equal_up_to_signs(mds.embedding_, scores, 1e-8)
        assert_allclose(mds.embedding_, euclidean.embedding_, atol=1e-8 * np.abs(scores).max())
        assert_allclose(mds.eigenvalues_, np.sum(scores**2, axis=0), rtol=1e-8)
        fraction = np.sum(scores**2) / np.sum((X - X.mean(axis=0)) ** 2)
        assert_allclose(mds.metadata()["accumulated_eigenvalues"], fraction, rtol=1e-8)


def test_distances_are_exact_in_enough_dimensions(rng):
    X = rng.normal(size=(80, 3))
    Z = MDS(3, metric="precomputed").fit_transform(cdist(X, X))
    assert_allclose(cdist(Z, Z), cdist(X, X), atol=1e-8)


@pytest.mark.parametrize("metric", ["euclidean", "cityblock"])
def test_transform_matches_gowers_formula(metric):
    """z = 1/2 Lambda^-1 Z^T (b - d^2), where b is the diagonal of the Gram matrix of the fit."""
    old, new = IRIS[::2], IRIS[1::2]
    mds = MDS(metric=metric).fit(old)
    D2 = cdist(old, old, metric) ** 2
    b = D2.mean(axis=1) - D2.mean() / 2
    Z = mds.embedding_
    expected = 0.5 * (b - cdist(new, old, metric) ** 2) @ Z / np.sum(Z**2, axis=0)
    assert_allclose(mds.transform(new), expected, atol=1e-9)
    assert_allclose(mds.transform(old), Z, atol=1e-9)
    precomputed = MDS(metric="precomputed").fit(cdist(old, old, metric))
    assert_allclose(precomputed.transform(cdist(new, old, metric)), expected, atol=1e-9)


@pytest.mark.parametrize("metric", ["euclidean", "precomputed"])
def test_landmarks_give_exact_distances_in_enough_dimensions(metric, rng):
    X, new = rng.normal(size=(500, 3)), rng.normal(size=(20, 3))
    mds = MDS(3, metric=metric, n_landmarks=10, random_state=0)
    Z = mds.fit_transform(cdist(X, X) if metric == "precomputed" else X)
    assert len(set(mds.landmarks_)) == 10
    assert_allclose(pdist(Z), pdist(X), atol=1e-8)
    placed = mds.transform(cdist(new, X) if metric == "precomputed" else new)
    assert_allclose(cdist(placed, Z), cdist(new, X), atol=1e-8)


def test_all_samples_as_landmarks_match_no_landmarks():
    assert_array_equal(
        MDS(metric="cityblock", n_landmarks=150).fit(IRIS).embedding_,
        MDS(metric="cityblock").fit(IRIS).embedding_,
    )


def test_landmarks_approximate_the_full_embedding():
    exact = MDS(metric="cityblock").fit_transform(DIGITS)
    approximate = MDS(metric="cityblock", n_landmarks=300, random_state=0).fit_transform(DIGITS)
    assert procrustes(exact, approximate)[2] < 0.02


def test_negative_eigenvalues_warn():
    says = r"1 of 4 eigenvalues are negative.*try additive_constant=True or algorithm='smacof'"
    with pytest.warns(UserWarning, match=says):
        mds = MDS(4, metric="precomputed").fit(STAR)
    assert mds.metadata()["smallest_eigenvalue"] == mds.eigenvalues_[3] < 0
    assert_array_equal(mds.embedding_[:, 3], 0)


def test_additive_constant_makes_dissimilarities_euclidean():
    mds = MDS(3, metric="precomputed", additive_constant=True).fit(STAR)
    c = mds.metadata()["additive_constant"]
    assert_allclose(c, (2 - 3**0.5) / (3**0.5 - 1))
    assert_allclose(pdist(mds.embedding_), squareform(STAR) + c)
    assert_allclose(mds.metadata()["smallest_eigenvalue"], 0, atol=1e-9)
    assert_allclose(mds.transform(STAR), mds.embedding_, atol=1e-9)


def test_too_many_samples_without_landmarks_raise():
    with pytest.raises(MemoryError, match=r"90000000 samples would need .* GiB.*Set n_landmarks"):
        MDS(metric="cityblock").fit(np.broadcast_to(np.zeros((1, 1)), (90_000_000, 1)))


# SMACOF

HALF = IRIS[::2]
D = cdist(HALF, HALF)


def weights_with_zeros(D, rng):
    """Return weights of 0 for about 30 % of the dissimilarities and 1 for the others."""
    W = np.triu(rng.random(D.shape) > 0.3, 1).astype(float)
    return W + W.T


def stress_by_definition(D, Z, W=1.0):
    return np.sum(W * (D - cdist(Z, Z)) ** 2) / 2


def test_one_iteration_matches_borg_and_groenen():
    # Borg and Groenen, "Modern multidimensional scaling", p. 154.
    D = np.array([[0.0, 5, 3, 4], [5, 0, 2, 2], [3, 2, 0, 1], [4, 2, 1, 0]])
    Z = np.array([[-0.266, -0.539], [0.451, 0.252], [0.016, -0.238], [-0.200, 0.524]])
    expected = [[-1.415, -2.471], [1.633, 1.107], [0.249, -0.067], [-0.468, 1.431]]
    assert_allclose(smacof(Stress(D), Z, max_iter=1).x, expected, atol=1e-3)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("tile", [100, 2**17])
def test_pull_and_stress_match_their_definitions(weighted, tile, namespace, rng, monkeypatch):
    monkeypatch.setattr(module, "BLOCK_ENTRIES", tile)
    Z, W = rng.normal(size=(75, 3)), weights_with_zeros(D, rng) if weighted else np.ones_like(D)
    ratio = np.divide(W * D, cdist(Z, Z), out=np.zeros_like(D), where=D > 0)
    B = np.diag(ratio.sum(axis=1)) - ratio
    objective = Stress(namespace.asarray(D), W if weighted else None)
    result = objective.evaluate(Z)
    assert_allclose(result.pull, B @ Z, atol=1e-9)
    assert_allclose(result.stress, stress_by_definition(D, Z, W), rtol=1e-9)
    assert_allclose(objective.value(Z), stress_by_definition(D, Z, W), rtol=1e-12)
    assert_allclose(result.sum_of_squares, np.sum(W * cdist(Z, Z) ** 2) / 2)
    off_diagonal = W - np.diag(np.diag(W))
    V = np.diag(off_diagonal.sum(axis=1)) - off_diagonal
    assert_allclose(objective.minimum(result.pull), np.linalg.pinv(V) @ B @ Z, atol=1e-9)


def test_samples_at_the_same_point_do_not_pull_each_other(namespace):
    Z = np.array([[1.0, 2.0], [1.0, 2.0], [0.0, 0.0]])
    D = np.array([[0.0, 5, 1], [5, 0, 1], [1, 1, 0]])
    pull = pull_of(namespace.asarray(D), Z)
    assert_allclose(pull[0], pull[1], atol=1e-6)
    assert_allclose(pull[0], (Z[0] - Z[2]) / 5**0.5, atol=1e-6)


@pytest.mark.parametrize("k", [1, 2, 5])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_compiled_pull_matches_numpy(k, dtype, rng, monkeypatch):
    compiled = pytest.importorskip("dimetric.manifold._compiled_stress", reason="needs numba")
    monkeypatch.setattr(compiled, "TASK_ROWS", 100)
    X = rng.normal(size=(module.MIN_COMPILED_SAMPLES + 7, 4))
    D, Z = cdist(X, X).astype(dtype), rng.normal(size=(len(X), k)) + 10
    Z[5] = Z[3]  # samples at the same point
    pull = pull_of(D, Z)
    assert_array_equal(pull, pull_of(D, Z))
    monkeypatch.setattr(compiled, "pull_from_upper_triangle", None)  # must not be called below
    assert_allclose(pull, pull_of(np.asfortranarray(D), Z), atol=1e-9 * np.abs(pull).max())
    monkeypatch.setattr(module, "import_compiled", lambda name: None)
    assert_allclose(pull, pull_of(D, Z), atol=1e-9 * np.abs(pull).max())


@pytest.mark.parametrize("metric_mds", [True, False])
@pytest.mark.parametrize("weighted", [False, True])
def test_stress_never_increases(metric_mds, weighted, rng):
    W = weights_with_zeros(D, rng) if weighted else None
    objective = (Stress if metric_mds else NonmetricStress)(D, W)
    history = smacof(objective, rng.normal(size=(75, 2)), max_iter=200, eps=0).history
    assert np.diff(history).max() <= 1e-12 * history[0]
    assert history[-1] < 0.2 * history[0]


def test_iterates_match_scikit_learn(rng):
    Z = rng.normal(size=(75, 2))
    expected, stress = reference_smacof(D, init=Z, n_init=1, max_iter=20, eps=0)
    result = smacof(Stress(D), Z, max_iter=20, eps=0)
    assert_allclose(result.x, expected, atol=1e-10)
    assert_allclose(result.value, stress)


def test_final_stress_is_at_most_that_of_scikit_learn(rng):
    X = HALF + 0.01 * rng.normal(size=HALF.shape)  # no ties, which rounding breaks in scikit-learn
    for metric_mds in (True, False):
        theirs = Reference(
            n_init=1, init="classical_mds", metric_mds=metric_mds, normalized_stress=True
        ).fit(X)
        ours = MDS(algorithm="smacof", metric_mds=metric_mds, normalized_stress=True).fit(X)
        # scikit-learn's disparities have a fixed mean square, so its non-metric value is larger.
        expected = theirs.stress_
        if not metric_mds:
            expected = kruskal_stress(cdist(X, X), theirs.embedding_)
        assert ours.stress_ <= expected * 1.001
        assert_allclose(ours.metadata()["normalized_stress"], ours.stress_)


def kruskal_stress(D, Z, W=None):
    """Return Kruskal's stress-1 by its definition, with isotonic regression by scikit-learn."""
    delta, d = squareform(D, checks=False), pdist(Z)
    w = np.ones_like(d) if W is None else squareform(W, checks=False)
    fitted = IsotonicRegression().fit(delta[w > 0], d[w > 0], w[w > 0]).predict(delta)
    return (np.sum(w * (d - fitted) ** 2) / np.sum(w * d**2)) ** 0.5


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("max_iter", [1, 7, 300])
@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_nonmetric_stress_is_kruskals_stress_1(weighted, max_iter, ties, rng):
    W = weights_with_zeros(D, rng) if weighted else None
    # Without rounding, distances that are equal except for rounding errors would not be ties.
    A = np.round(D, 1 if ties else 9)
    params = {"metric_mds": False, "init": "random", "random_state": 0, "weights": W}
    mds = MDS(metric="precomputed", algorithm="smacof", max_iter=max_iter, **params).fit(A)
    assert mds.stress_ == mds.metadata()["normalized_stress"]
    assert mds.stress_ == pytest.approx(kruskal_stress(A, mds.embedding_, W), rel=1e-9)
    assert 0 < mds.stress_ < 1


def test_nonmetric_stress_has_no_unit():
    params = {"metric": "precomputed", "algorithm": "smacof", "metric_mds": False}
    expected = MDS(**params).fit(D).stress_
    for factor in (1e-8, 1e8):
        assert MDS(**params).fit(factor * D).stress_ == pytest.approx(expected, rel=1e-6)


def test_metric_stress_is_the_sum_of_squares_or_its_root():
    for normalized in (True, False, "auto"):
        mds = MDS(algorithm="smacof", normalized_stress=normalized).fit(HALF)
        raw = stress_by_definition(D, mds.embedding_)
        ratio = (raw / np.sum(pdist(mds.embedding_) ** 2)) ** 0.5
        assert mds.stress_ == pytest.approx(ratio if normalized is True else raw)
        assert mds.metadata()["final_objective"] == pytest.approx(raw)


def test_missing_dissimilarities_are_recovered(rng):
    # About 70 % of the distances in a plane determine all of them.
    X = rng.normal(size=(40, 2))
    true, W = cdist(X, X), weights_with_zeros(np.zeros((40, 40)), rng)
    mds = MDS(metric="precomputed", algorithm="smacof", weights=W, eps=1e-14, max_iter=3000)
    Z = mds.fit_transform(np.where(W > 0, true, 7 * (1 - np.eye(40))))
    assert_allclose(pdist(Z), pdist(X), atol=1e-3)


def test_nonmetric_scaling_uses_only_the_order():
    mds = MDS(metric="precomputed", algorithm="smacof", metric_mds=False, init="random")
    mds = mds.set_params(random_state=0)
    Z, monotone = mds.fit_transform(D), clone(mds).fit_transform(np.log1p(D) ** 3)
    assert_allclose(Z, monotone, atol=0.02)
    assert_allclose(mds.stress_, mds.metadata()["normalized_stress"])


def test_more_starts_do_not_increase_the_stress():
    one = MDS(algorithm="smacof", init="random", random_state=0).fit(HALF)
    many = MDS(algorithm="smacof", init="random", n_init=4, random_state=0).fit(HALF)
    assert many.stress_ <= one.stress_
    assert many.metadata()["final_objective"] == many.stress_


def test_init_can_be_an_array():
    start = IRIS[::2, :2]
    result = smacof(Stress(D), start)
    mds = MDS(algorithm="smacof", init=start).fit(HALF)
    assert_allclose(mds.embedding_, result.x)
    assert mds.n_iter_ == result.n_iter
    with pytest.raises(
        ValueError, match=r"init has shape \(75, 3\), but must have shape \(75, 2\)"
    ):
        MDS(algorithm="smacof", init=IRIS[::2, :3]).fit(HALF)


def test_starts_vary_in_all_dimensions():
    # SMACOF would never change a coordinate that is 0 for all samples.
    line = squareform(pdist(np.arange(9.0)[:, None]))
    for start in starting_coordinates(line, None, 3, "classical_mds", 2, 0):
        assert np.linalg.matrix_rank(start) == 3


@pytest.mark.parametrize("metric_mds", [True, False])
def test_new_samples_are_placed_at_a_minimum_of_the_stress(metric_mds):
    old, new = HALF, IRIS[1:20:2] + 0.01
    mds = MDS(algorithm="smacof", metric_mds=metric_mds, eps=1e-12, max_iter=2000).fit(old)
    assert_array_equal(mds.transform(old), mds.embedding_)
    Z = mds.transform(new)
    wanted = cdist(new, old)
    if not metric_mds:
        wanted = np.interp(wanted, *mds._model.steps)

    def stress(Z):
        return np.sum((cdist(Z, mds.embedding_) - wanted) ** 2, axis=1)

    for step in 1e-4 * np.array([[1, 0], [-1, 0], [0, 1], [0, -1]]):
        assert (stress(Z) <= stress(Z + step)).all()


def test_samples_near_training_samples_are_placed_near_them():
    mds = MDS(algorithm="smacof", eps=1e-10, max_iter=3000).fit(HALF)
    nearly = mds.transform(HALF + 1e-7)  # equal samples would be looked up
    assert_allclose(nearly, mds.embedding_, atol=1e-3)


def test_warns_if_not_converged():
    with pytest.warns(ConvergenceWarning, match="MDS did not converge: max_iter=3 reached"):
        MDS(algorithm="smacof", init="random", max_iter=3, random_state=0).fit(HALF)


def test_verbose_logs_the_stress(caplog):
    with caplog.at_level("INFO", "dimetric"):
        MDS(algorithm="smacof", verbose=1).fit(HALF)
    assert "[MDS] iteration 1: stress" in caplog.text


# Invalid input


def with_entry(i, j, value):
    bad = D.copy()
    bad[i, j] = value
    return bad


BAD = {
    "asymmetric": (with_entry(3, 1, 9.0), r"symmetric, but X\[1, 3\] is"),
    "negative": (-D, "must not be negative"),
    "NaN": (with_entry(3, 1, np.nan), "contains NaN"),
    "infinite": (with_entry(3, 1, np.inf), "contains infinity"),
    "negative infinite": (with_entry(3, 1, -np.inf), "contains infinity"),
    "diagonal": (D + np.eye(75), "diagonal .* must be 0"),
    "not square": (D[:, :9], r"square matrix, but X has shape \(75, 9\)"),
}


@pytest.mark.parametrize("algorithm", ["classical", "smacof"])
@pytest.mark.parametrize("row", BAD)
def test_bad_dissimilarities(row, algorithm, namespace):
    bad, says = BAD[row]
    says = says.replace("contains infinity", "contains (NaN or )?infinity")
    with pytest.raises(ValueError, match=says):
        MDS(metric="precomputed", algorithm=algorithm).fit(namespace.asarray(bad))


def test_dissimilarities_may_be_asymmetric_by_rounding(rng):
    noisy = D * (1 + 1e-9 * rng.normal(size=D.shape))
    assert_allclose(
        MDS(metric="precomputed").fit(noisy).embedding_, MDS().fit(HALF).embedding_, atol=1e-6
    )


PARAMETERS = {
    "weights": ({"weights": np.ones((75, 75))}, "weights is not supported by .*'classical'"),
    "order": ({"metric_mds": False}, "metric_mds is not supported by .*'classical'"),
    "landmarks": ({"algorithm": "smacof", "n_landmarks": 5}, "n_landmarks is not supported"),
    "constant": ({"algorithm": "smacof", "additive_constant": True}, "additive_constant is not"),
    "shape": ({"algorithm": "smacof", "weights": np.ones((3, 3))}, r"weights has shape \(3, 3\)"),
    "signs": ({"algorithm": "smacof", "weights": -np.ones((75, 75))}, "non-negative"),
    "parts": ({"algorithm": "smacof", "weights": np.eye(75)}, "are 0 between 75 groups"),
    "metric": ({"metric": "beeline"}, "beeline"),
}


@pytest.mark.parametrize("row", PARAMETERS)
def test_bad_parameters(row):
    params, says = PARAMETERS[row]
    with pytest.raises(ValueError, match=says):
        MDS(**params).fit(HALF)


def test_bad_dissimilarities_of_new_samples():
    mds = MDS(metric="precomputed").fit(D)
    with pytest.raises(ValueError, match="must not be negative"):
        mds.transform(-D)
    with pytest.raises(ValueError, match="X has 9 features, but MDS is expecting 75"):
        mds.transform(D[:, :9])


@pytest.mark.parametrize("algorithm", ["classical", "smacof"])
@pytest.mark.parametrize("metric", ["euclidean", "precomputed"])
def test_all_samples_equal(algorithm, metric):
    mds = MDS(algorithm=algorithm, metric=metric).fit(np.zeros((9, 9)))
    assert_array_equal(mds.embedding_, np.zeros((9, 2)))
    assert np.isfinite(mds.transform(np.ones((1, 9)))).all()


@pytest.mark.parametrize("algorithm", ["classical", "smacof"])
def test_embedding_of_precomputed_X_is_in_its_namespace(algorithm, namespace):
    mds = MDS(metric="precomputed", algorithm=algorithm)
    expected = clone(mds).fit(D).embedding_
    data = namespace.asarray(D, dtype=namespace.float32)
    mds.fit(data)
    for Z in (mds.embedding_, mds.transform(data)):
        assert array_namespace(Z) is array_namespace(namespace.asarray(D))
        assert Z.dtype == namespace.float32
    assert_allclose(np.asarray(mds.embedding_), expected, atol=1e-3)


def test_additive_constant_with_dissimilarities_of_0(rng):
    D = np.triu(rng.uniform(1, 2, size=(12, 12)), 1)
    D[0, 1] = D[4, 7] = 0
    mds = MDS(11, metric="precomputed", additive_constant=True).fit(D + D.T)
    assert abs(mds.metadata()["smallest_eigenvalue"]) < 1e-9
    constant = mds.metadata()["additive_constant"]
    assert_allclose(pdist(mds.embedding_), squareform(D + D.T) + constant, atol=1e-7)


def test_more_components_than_landmarks_raise(rng):
    with pytest.raises(ValueError, match="n_components=5 must be at most n_landmarks=3"):
        MDS(5, n_landmarks=3).fit(rng.normal(size=(80, 6)))


@pytest.mark.parametrize("metric_mds", [True, False])
def test_values_of_missing_dissimilarities_are_ignored(metric_mds, rng):
    X = rng.normal(size=(40, 2))
    D, W = cdist(X, X), np.triu(rng.random((40, 40)) < 0.4, 1).astype(float)
    W += W.T
    scaling = MDS(algorithm="smacof", metric="precomputed", weights=W, metric_mds=metric_mds)
    expected = scaling.fit(D).embedding_
    for value in (0, 1000):
        result = scaling.fit(np.where(W > 0, D, value * (1 - np.eye(40)))).embedding_
        assert_allclose(result, expected, atol=1e-9)


def test_init_with_all_samples_at_the_same_point_raises():
    with pytest.raises(ValueError, match="all samples at the same point"):
        MDS(algorithm="smacof", init=np.zeros((150, 2))).fit(load_iris().data)
