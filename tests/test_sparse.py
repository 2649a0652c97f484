"""Tests of sparse samples: equal to dense samples, and never made dense as a whole."""

import subprocess
import sys
import warnings
from functools import cache

import numpy as np
import pytest
from estimators import MODELS, ONE_OF_EACH, accepts_sparse, each, is_kernel, is_linear, name_of
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.spatial.distance import pdist
from sklearn.base import clone, is_classifier
from sklearn.feature_selection import SelectKBest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler

import dimetric
from dimetric import (
    ANMM,
    DMLMJ,
    ITML,
    KPCA,
    LDA,
    LMNN,
    LSI,
    MCML,
    NCA,
    NCMC,
    PCA,
    Covariance,
    DMLEig,
    EnergyClassifier,
    Kernelized,
    KNNClassifier,
    MultiMetricKNNClassifier,
    NCMClassifier,
)
from dimetric._arrays.row_order import canonical_order
from dimetric.export import load, save
from dimetric.kernels import Kernel
from dimetric.linalg import row_basis
from dimetric.linalg.row_basis import RowBasis
from dimetric.supervision import Pairs

FORMATS = [sparse.csr_array, sparse.csc_array, sparse.csr_matrix, sparse.csc_matrix]
RTOL = 1e-8
N_FEATURES = 240  # more than are made dense within the limits of these tests


@pytest.fixture(autouse=True)
def small_limits(monkeypatch):
    """Lower the limits above which samples are not made dense, so that the tests are fast."""
    for name in ("MAX_RANK", "MAX_DENSE_FEATURES", "MAX_FEATURES_OF_SMALL"):
        monkeypatch.setattr(row_basis, name, 100)


@cache
def small_samples(n=60, d=6, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    X = rng.poisson(0.7, size=(n, d)) * rng.uniform(0.5, 1.5, size=(n, d))
    return X + (y[:, None] == np.arange(d)), y


@cache
def wide_samples(n=60, d=N_FEATURES, seed=0):
    """Return sparse samples with more features than are made dense."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    X = sparse.random_array((n, d), density=0.05, rng=rng, format="csr")
    topics = sparse.csr_array((np.ones(n), (np.arange(n), y)), shape=(n, d))
    return sparse.csr_array(X + topics), y


def few_steps(estimator):
    """Return a copy that stops after a few iterations, because rounding errors grow with them."""
    estimator = clone(estimator)
    if "max_iter" in estimator.get_params():
        estimator.set_params(max_iter=3)
    return estimator


def fitted(estimator, X, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return clone(estimator).fit(X, y)


def assert_same_distances(Z, expected, rtol=RTOL):
    wanted = pdist(expected)
    assert_allclose(pdist(Z), wanted, rtol=0, atol=rtol * wanted.max())


def output(model, X):
    for method in ("transform", "energy", "predict_proba", "predict"):
        if hasattr(model, method):
            return getattr(model, method)(X)
    raise AssertionError


@each(lambda learner: is_linear(learner) or is_kernel(learner), accepts_sparse)
def test_learners_match_dense_samples(learner):
    X, y = small_samples()
    learner = few_steps(learner)
    expected = fitted(learner, X, y)
    got = fitted(learner, sparse.csr_array(X), y)
    assert_same_distances(got.transform(sparse.csr_array(X)), expected.transform(X))
    assert_same_distances(got.transform(X), expected.transform(X))
    assert_same_distances(expected.transform(sparse.csc_matrix(X)), expected.transform(X))


@pytest.mark.parametrize("model", MODELS, ids=name_of)
def test_classifiers_match_dense_samples(model):
    X, y = small_samples()
    expected, got = fitted(model, X, y), fitted(model, sparse.csr_array(X), y)
    assert_allclose(output(got, sparse.csr_array(X)), output(expected, X), rtol=RTOL, atol=RTOL)
    if is_classifier(model):
        assert_array_equal(got.predict(sparse.csr_array(X)), expected.predict(X))


@pytest.mark.parametrize("sparse_type", FORMATS, ids=lambda each: each.__name__)
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
@pytest.mark.parametrize("learner", [LDA(), NCA(2, max_iter=3), KPCA(2), NCMClassifier()])
def test_formats_and_dtypes(learner, sparse_type, dtype):
    X, y = small_samples()
    X = np.round(3 * X).astype(dtype)
    expected, got = fitted(learner, X, y), fitted(learner, sparse_type(X), y)
    wanted, Z = output(expected, X), output(got, sparse_type(X))
    assert type(Z) is np.ndarray
    assert Z.dtype == wanted.dtype
    assert_allclose(
        Z, wanted, rtol=0, atol=(1e-4 if dtype == np.float32 else RTOL) * abs(wanted).max()
    )


def unsorted(X):
    rows = [np.flatnonzero(x)[::-1] for x in X]
    values = np.concatenate([x[i] for x, i in zip(X, rows, strict=True)])
    starts = np.cumsum([0, *map(len, rows)])
    return sparse.csr_array((values, np.concatenate(rows), starts), shape=X.shape)


def with_duplicates(X):
    A = sparse.coo_array(X)
    parts = [np.concatenate([each, each]) for each in (A.data / 2, A.row, A.col)]
    starts = np.concatenate([[0], np.cumsum(np.bincount(parts[1], minlength=len(X)))])
    order = np.argsort(parts[1], kind="stable")
    return sparse.csr_array((parts[0][order], parts[2][order], starts), shape=X.shape)


def with_explicit_zeros(X):
    n, d = X.shape
    return sparse.csr_array((X.ravel(), np.tile(np.arange(d), n), np.arange(0, n * d + 1, d)))


def with_long_indices(X):
    A = sparse.csr_array(X)
    A.indices, A.indptr = A.indices.astype(np.int64), A.indptr.astype(np.int64)
    return A


@pytest.mark.parametrize(
    "store", [unsorted, with_duplicates, with_explicit_zeros, with_long_indices]
)
@pytest.mark.parametrize(
    "learner", [PCA(2), LDA(), KPCA(2), KPCA(2, kernel="laplacian")], ids=name_of
)
def test_unusual_storage(learner, store):
    X, y = small_samples()
    A = store(X)
    before = A.data.copy(), A.indices.copy()
    assert_same_distances(fitted(learner, A, y).transform(A), fitted(learner, X, y).transform(X))
    assert_array_equal(A.data, before[0])  # the array of the caller does not change
    assert_array_equal(A.indices, before[1])


# More features than are made dense


CLOSED_FORMS = [
    PCA(5),
    Covariance(),
    Covariance(reg=0.1),
    LDA(reg=0.1),
    LDA(shrinkage=0.3),
    ANMM(2),
    DMLMJ(),
    DMLMJ(2),
    LSI(max_iter=3),
    DMLEig(max_iter=3),
    ITML(prior="covariance", max_iter=3, random_state=0),
    KPCA(2),
    Kernelized(LDA(reg=0.1), kernel="linear"),
]


@pytest.mark.parametrize("learner", CLOSED_FORMS, ids=name_of)
def test_basis_of_few_samples_is_exact(learner):
    A, y = wide_samples()
    expected, got = fitted(learner, A.toarray(), y), fitted(learner, A, y)
    assert_same_distances(got.transform(A), expected.transform(A.toarray()))
    if is_linear(learner) and not isinstance(learner, PCA):
        facts = got.metadata()
        assert facts["basis"] == "truncated SVD"
        assert facts["basis_rank"] == 60
        assert_allclose(facts["basis_energy"], 1, rtol=1e-12)


@pytest.mark.parametrize("learner", [NCA(2), MCML(), LMNN(2), NCMC(2, random_state=0)], ids=name_of)
def test_gradient_learners_reduce_their_objective(learner):
    A, y = wide_samples()
    facts = fitted(learner, A, y).metadata()
    gain = facts["final_objective"] - facts["initial_objective"]
    assert gain * (1 if learner._maximises else -1) > 0


def test_truncated_basis_is_orthonormal_and_nearly_optimal(monkeypatch):
    monkeypatch.setattr(row_basis, "MAX_RANK", 20)
    A, _ = wide_samples()
    basis = RowBasis.of(A)
    assert_allclose(basis.rows @ basis.rows.T, np.eye(20), atol=1e-11)
    assert_allclose(basis.coordinates, A @ basis.rows.T)
    singular_values = np.linalg.svd(A.toarray(), compute_uv=False)
    best = np.sum(singular_values[:20] ** 2) / np.sum(singular_values**2)
    assert 0.9 * best < basis.energy <= best
    kept = np.linalg.norm(basis.coordinates) ** 2 / sparse.linalg.norm(A) ** 2
    assert_allclose(basis.energy, kept, rtol=0.01)


@pytest.mark.parametrize("size", [1e-50, 1e50, 1e100])
def test_basis_of_low_rank_is_exact_at_any_scale(monkeypatch, size):
    monkeypatch.setattr(row_basis, "MAX_RANK", 20)
    rng = np.random.default_rng(0)
    rows = sparse.random_array((5, N_FEATURES), density=0.01, rng=rng)
    A = sparse.csr_array(size * rng.normal(size=(200, 5)) @ rows)
    basis = RowBasis.of(A)
    assert basis.rank == 5
    assert_allclose(basis.energy, 1, rtol=1e-12)
    assert_allclose(basis.coordinates @ basis.rows, A.toarray(), atol=1e-11 * size)


def test_truncated_basis_is_weighted(monkeypatch):
    monkeypatch.setattr(row_basis, "MAX_RANK", 8)
    X, y = wide_samples()
    X = sparse.csr_array(X * 0.5 ** np.arange(X.shape[1]))  # the singular values decrease fast
    weights = np.random.default_rng(1).integers(1, 9, size=60)
    rows = np.repeat(np.arange(60), weights)
    found, expected = row_basis.RowBasis.of(X, weights), row_basis.RowBasis.of(X[rows])
    assert_allclose(found.rows.T @ found.rows, expected.rows.T @ expected.rows, atol=1e-3)
    assert_allclose(found.energy, expected.energy)
    assert_allclose(found.coordinates, X @ found.rows.T)
    learner = LDA(reg=0.1)
    metrics = [
        clone(learner).fit(X, y, sample_weight=weights).metric(),
        fitted(learner, X[rows], y[rows]).metric(),
    ]
    assert_allclose(*metrics, atol=1e-3 * np.abs(metrics[1]).max())
    constant = clone(learner).fit(X, y, sample_weight=np.full(60, 3.0))
    assert_allclose(constant.components_, fitted(learner, X, y).components_, rtol=1e-8)


def test_fits_are_deterministic():
    A, y = wide_samples()
    first, second = (fitted(NCA(2, max_iter=5), A, y) for _ in range(2))
    assert_array_equal(first.components_, second.components_)


def refuse(self, *args, **kwargs):
    raise AssertionError(f"A sparse array of shape {self.shape} was made dense.")


@pytest.mark.parametrize(
    "estimator",
    [learner for learner in ONE_OF_EACH if (is_linear(learner) or is_kernel(learner))]
    + [model for model in MODELS if not isinstance(model, MultiMetricKNNClassifier)],
    ids=name_of,
)
def test_samples_are_never_made_dense(monkeypatch, estimator):
    A, y = wide_samples(150)
    params = estimator.get_params()
    if params.get("diagonal") or params.get("shrinkage") == "auto" or not accepts_sparse(estimator):
        pytest.skip("needs dense samples")
    if isinstance(estimator, PCA) and not isinstance(estimator.n_components, int):
        pytest.skip("computes all components")
    for kind in (sparse.csr_array, sparse.csc_array, sparse.csr_matrix):
        for method in ("toarray", "todense"):
            original = getattr(kind, method)

            def checked(self, *args, original=original, **kwargs):
                if self.shape == A.shape:
                    refuse(self)
                return original(self, *args, **kwargs)

            monkeypatch.setattr(kind, method, checked)
    model = fitted(few_steps(estimator), A, y)
    assert len(output(model, A)) == 150


def test_given_start_and_warm_start():
    A, y = wide_samples()
    first = fitted(NCA(2, max_iter=3), A, y)
    again = fitted(NCA(2, init=first.components_, max_iter=1), A, y)
    assert_allclose(again.history_[0], first.metadata()["final_objective"], rtol=1e-6)
    warm = NCA(2, max_iter=3, warm_start=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warm.fit(A, y).fit(A, y)
    assert_allclose(warm.history_[0], first.metadata()["final_objective"], rtol=1e-6)
    assert isinstance(warm.init, str)


def test_prior_of_itml():
    A, _ = wide_samples()
    prior = np.diag(1 + np.arange(N_FEATURES) % 3)
    learner = ITML(prior=prior, max_iter=3, random_state=0)
    pairs = Pairs([[0, 3], [1, 4]], [[0, 1], [2, 4]])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected, got = (
            clone(learner).fit(A.toarray(), pairs=pairs),
            clone(learner).fit(A, pairs=pairs),
        )
    assert_same_distances(got.transform(A), expected.transform(A.toarray()))


def test_pairs_and_pair_distances():
    A, _ = wide_samples()
    pairs = Pairs([[0, 3], [1, 4], [2, 5]], [[0, 1], [2, 4], [3, 5]])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        learner = LSI(max_iter=3).fit(A, pairs=pairs)
    Z = learner.transform(A)
    rows = np.array([[0, 1], [7, 30]])
    expected = np.linalg.norm(Z[rows[:, 0]] - Z[rows[:, 1]], axis=1)
    assert_allclose(learner.pair_distance(rows, A), expected)


def test_pipelines():
    A, y = wide_samples()
    model = make_pipeline(MaxAbsScaler(), SelectKBest(k=120), KNNClassifier(learner=LDA(reg=0.1)))
    assert fitted(model, A, y).score(A, y) > 0.9


class ShapeRecorder:
    """A callback that records the shapes of mapped samples in each iteration."""

    def __init__(self):
        self.shapes = []

    def setup(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context, *, X=None, fitted_estimator=None):
        if context.task_name == "iteration":
            self.shapes.append(fitted_estimator.transform(X).shape)
        return False

    def teardown(self, estimator, context):
        pass


def test_callbacks_get_maps_of_the_features():
    A, y = wide_samples()
    recorder = ShapeRecorder()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        NCA(2, init="random", random_state=0, max_iter=3, tol=1e-5).set_callbacks(recorder).fit(
            A, y
        )
    assert recorder.shapes == 3 * [(60, 2)]


@pytest.mark.parametrize(
    "estimator",
    [LDA(reg=0.1), KPCA(2), KNNClassifier(), NCMClassifier(), KNNClassifier(learner=PCA(3))],
    ids=name_of,
)
def test_model_files(tmp_path, estimator):
    A, y = wide_samples()
    model = fitted(estimator, A, y)
    save(model, tmp_path / "model.dimetric")
    assert_allclose(output(load(tmp_path / "model.dimetric"), A), output(model, A), rtol=1e-12)


# Errors


@pytest.mark.parametrize(
    ("learner", "message"),
    [
        (LSI(diagonal=True), r"diagonal=True needs the original features.*SelectKBest"),
        (LDA(shrinkage="auto"), r"shrinkage='auto' needs the original features"),
        (NCA(61), r"n_components=61 must be at most 60, the number of coordinates"),
        (NCA(2, init=np.ones((2, 5))), r"init has shape \(2, 5\).*n_features=240 columns"),
        (ITML(prior=np.eye(5)), r"prior has shape \(5, 5\), but must have shape \(240, 240\)"),
        (EnergyClassifier(MaxAbsScaler()), r"EnergyClassifier needs dense mapped.*learner=PCA"),
        (MultiMetricKNNClassifier(), r"MultiMetricKNNClassifier needs dense mapped.*learner=PCA"),
        (
            KPCA(2, kernel=Kernel(n_landmarks=20), fit_inverse_transform=True),
            None,
        ),
    ],
    ids=name_of,
)
def test_parameters_that_need_the_features(learner, message):
    A, y = wide_samples()
    if message is None:
        assert fitted(learner, A, y).inverse_transform(np.zeros((1, 2))).shape == (1, N_FEATURES)
        return
    with pytest.raises(ValueError, match=message):
        learner.fit(A, y)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("model", [LDA(), KPCA(), NCMClassifier(), KNNClassifier()], ids=name_of)
def test_bad_values(model, bad):
    A, y = wide_samples()
    A = A.copy()
    A.data[7] = bad
    with pytest.raises(ValueError, match=r"contains (NaN|infinity)"):
        model.fit(A, y)


def test_bad_shapes():
    A, y = wide_samples()
    with pytest.raises(ValueError, match=r"0 feature\(s\)"):
        LDA().fit(sparse.csr_array((30, 0)), np.arange(30) % 3)
    with pytest.raises(ValueError, match="minimum of 2"):
        NCA(2).fit(A[:1], y[:1])
    with pytest.raises(ValueError, match="expecting 240 features"):
        fitted(LDA(reg=0.1), A, y).transform(A[:, :50])
    with pytest.raises(ValueError, match="All samples of each class are identical"):
        LDA().fit(sparse.csr_array(A.shape), y)
    with pytest.raises(TypeError, match="dense data is required"):
        KPCA(kernel="precomputed").fit(A @ A.T)


def test_metric_of_many_features_names_alternatives():
    A = sparse.random_array((30, 100_000), density=1e-4, rng=0, format="csr")
    learner = fitted(LDA(reg=0.1), A, np.arange(30) % 3)
    with pytest.raises(MemoryError, match=r"100000 x 100000.*75 GiB.*pair_distance\(pairs, X\)"):
        learner.metric()
    Z = learner.transform(A)
    distances = learner.pair_distance(np.array([[0, 1], [5, 2]]), A)  # as the message advises
    assert_allclose(distances, np.linalg.norm(Z[[0, 5]] - Z[[1, 2]], axis=1))
    assert learner.components_.shape == (2, 100_000)
    assert learner.metadata()["rank"] == 2


# Helpers


def test_order_of_sparse_rows_is_that_of_dense_rows():
    rng = np.random.default_rng(0)
    X = rng.integers(-1, 2, size=(300, 4)) * rng.integers(1, 3, size=(300, 4)).astype(float)
    codes = rng.integers(2, size=300)
    A = with_explicit_zeros(X)
    assert_array_equal(canonical_order(A, codes), canonical_order(X, codes))


FIT_LARGE = """
import resource
import warnings
import numpy as np
from scipy import sparse
from dimetric import LDA, NCA, KNNClassifier

warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
n, d, size = 12_000, 100_000, 1200  # words in a text
y = rng.integers(20, size=n)
words = (d * rng.random((n, size), dtype=np.float32) ** 2).astype(np.int32)
topic = rng.random((n, size), dtype=np.float32) < 0.2
np.copyto(words, y[:, None] * 5000 + words % 5000, where=topic, casting="unsafe")
del topic
X = sparse.csr_array(
    (np.ones(words.size), words.ravel(), np.arange(0, words.size + 1, size)), shape=(n, d)
)
del words
X.sum_duplicates()
np.log1p(X.data, out=X.data)
learner = {learner}.fit(X, y)
Z = learner.transform(X)
assert Z.shape[0] == n
assert KNNClassifier(5).fit(Z[1000:], y[1000:]).score(Z[:1000], y[:1000]) > 0.8
print(X.nnz / (n * d), learner.metadata()["basis_rank"])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20)
"""


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="measures memory as on Linux")
@pytest.mark.parametrize("learner", ["LDA()", "NCA(10, max_iter=5)"])
def test_text_of_100000_columns_needs_less_than_2_gib(learner):
    done = subprocess.run(
        [sys.executable, "-c", FIT_LARGE.format(learner=learner)],
        env={"PYTHONPATH": ":".join(filter(None, sys.path)), "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    first, peak = done.stdout.splitlines()
    assert 0.005 < float(first.split()[0]) < 0.02
    assert float(peak) < 2


# dimetric.compare


@pytest.mark.parametrize("d", [20, N_FEATURES])
def test_compare(d):
    A, y = wide_samples(120)
    A = sparse.csc_matrix(A[:, :d])
    comparison = dimetric.compare(A, y, learners=["LDA", "PCA"], budget=4, random_state=0)
    assert comparison.learner.score(A.tocsr(), y) > 0.5
    assert any("They were reduced to" in note for note in comparison.notes) == (d == N_FEATURES)
    assert comparison.insight is not None


def test_compare_of_bad_values():
    A, y = wide_samples()
    A = A.copy()
    A.data[3] = np.nan
    with pytest.raises(ValueError, match="contains NaN"):
        dimetric.compare(A, y, budget=4)


@pytest.mark.parametrize("learner", [PCA(2), LDA(1)], ids=name_of)
def test_partial_fit(learner):
    X, y = small_samples()
    expected = clone(learner).partial_fit(X, y)
    got = clone(learner).partial_fit(sparse.csr_array(X), y)
    assert_allclose(got.components_, expected.components_, rtol=RTOL)
    A, y = wide_samples()
    with pytest.raises(ValueError, match=r"partial_fit needs a 240 x 240 matrix.*Use fit"):
        clone(learner).partial_fit(A, y)
