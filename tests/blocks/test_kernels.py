"""Kernel learners over landmarks learn from blocks what they learn from an array."""

import numpy as np
import pytest
from block_sources import SOURCES, as_source, made_blocks

import dimetric.kernels._block_space as block_space
from dimetric import ITML, KDA, KPCA, LDA, NCA, NCMML, PCA, Kernelized
from dimetric.kernels import Kernel
from dimetric.kernels._coordinates import landmark_coordinates
from dimetric.kernels._function import KernelFunction

X, y = made_blocks()
WEIGHTS = np.random.default_rng(1).uniform(0, 2, len(X))
WEIGHTS[:50] = 0


def kernel(name="rbf", **params):
    return Kernel(name, **{"n_landmarks": 25, "random_state": 0} | params)


def dot(A, B):
    """Return a kernel that the library does not know to be definite."""
    return A @ B.T


LEARNERS = {
    "KPCA": KPCA(4, kernel=kernel()),
    "KPCA fraction": KPCA(0.8, kernel=kernel("laplacian")),
    "KPCA all": KPCA(kernel=kernel("linear")),
    "KPCA greedy": KPCA(3, kernel=kernel("poly", degree=2, landmarks="greedy")),
    "KPCA kmeans": KPCA(3, kernel=kernel(landmarks="kmeans")),
    "KPCA inverse": KPCA(3, kernel=kernel(gamma="auto"), fit_inverse_transform=True),
    "KPCA function": KPCA(2, kernel=kernel(dot)),
    "LDA": Kernelized(LDA(), kernel=kernel(n_components=10)),
    "LDA unlabelled": Kernelized(LDA(unlabelled=0), kernel=kernel(n_components=10)),
    "LDA balanced": Kernelized(LDA(class_weight="balanced"), kernel=kernel(n_components=10)),
    "KDA": KDA(class_weight={0: 3.0, 1: 0.0}, kernel=kernel(n_components=10)),
    "PCA": Kernelized(PCA(3), kernel=kernel(n_components=10)),
    "NCMML": Kernelized(NCMML(2), kernel=kernel(n_components=6)),
    "NCMML unlabelled": Kernelized(NCMML(2, unlabelled=1), kernel=kernel(n_components=6)),
}


def arguments(learner, kind, chunk, tmp_path, weights=None, samples=X):
    labels = y if learner._supervision_kinds else None
    return as_source(kind, samples, labels, weights, chunk=chunk, tmp_path=tmp_path)


def fitted(learner):
    """Return the fitted attributes and the metadata of a learner."""
    names = [name for name in vars(learner) if name.endswith("_") and not name.startswith("feat")]
    facts = {name: getattr(learner, name) for name in names} | learner.metadata()
    facts.pop("time")
    return facts


def assert_same(facts, expected, tol):
    assert facts.keys() == expected.keys()
    for key, value in facts.items():
        if np.asarray(value).dtype.kind == "f":
            assert np.asarray(value).dtype == np.asarray(expected[key]).dtype, key
            scale = np.abs(expected[key]).max()
            # The offset of the linear kernel is 0 up to rounding.
            scale = max(scale, 1.0) if key == "offset_" else scale
            np.testing.assert_allclose(value, expected[key], rtol=tol, atol=tol * scale)
        else:
            np.testing.assert_array_equal(value, expected[key])


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("kind", SOURCES)
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["", "weighted"])
def test_blocks_give_the_fit_of_the_array(name, kind, weights, tmp_path):
    learner = LEARNERS[name]
    expected = fitted(learner.fit(X, y, sample_weight=weights))
    for chunk in (97, 600):
        learner.fit(**arguments(learner, kind, chunk, tmp_path, weights))
        assert_same(fitted(learner), expected, 1e-8)


@pytest.mark.parametrize("name", ["KPCA", "LDA"])
def test_float32_stays_float32(name, tmp_path):
    learner, single = LEARNERS[name], X.astype(np.float32)
    expected = learner.fit(single, y).transform(single)
    for kind in ("dask", "memmap", "factory"):
        learner.fit(**arguments(learner, kind, 97, tmp_path, samples=single))
        assert learner.components_.dtype == learner.X_fit_.dtype == np.float32
        scale = np.abs(expected).max()
        np.testing.assert_allclose(learner.transform(single), expected, atol=1e-3 * scale)


@pytest.mark.parametrize("strategy", ["uniform", "greedy", "kmeans"])
def test_landmarks_of_a_sample_do_not_depend_on_the_blocks(strategy, monkeypatch):
    monkeypatch.setattr(block_space, "SAMPLE_ROWS", 100)
    learner = Kernelized(LDA(), kernel=kernel(landmarks=strategy, n_components=8))
    facts = []
    for chunk in (70, 211, 600):
        facts.append(fitted(learner.fit(**as_source("factory", X, y, chunk=chunk))))
        assert_same(facts[-1], facts[0], 1e-8)
    if strategy != "kmeans":
        np.testing.assert_array_equal(learner.X_fit_, X[learner.landmarks_])
    # All rows decide the scale and the centre, not only those of the sample.
    assert learner.gamma_ == pytest.approx(1 / (X.shape[1] * X.var()))
    np.testing.assert_allclose(learner.transform(X).mean(axis=0), 0, atol=1e-10)


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["", "weighted"])
def test_landmarks_of_a_sample_give_the_fit_of_an_array_with_these_landmarks(weights, monkeypatch):
    monkeypatch.setattr(block_space, "SAMPLE_ROWS", 100)
    learner = KPCA(4, kernel=kernel())
    chosen_by_array = learner.fit(X, sample_weight=weights).landmarks_
    learner.fit(**as_source("factory", X, None, weights, chunk=97))
    assert not np.array_equal(learner.landmarks_, chosen_by_array)
    used = np.full(len(X), True) if weights is None else weights > 0
    samples, w = X[used], None if weights is None else weights[used]
    function = KernelFunction.for_samples(samples, kernel(), w)
    S = X[learner.landmarks_]
    expected = landmark_coordinates(function, samples, S, 4, w)
    np.testing.assert_allclose(learner.eigenvalues_, expected.eigenvalues, rtol=1e-10)
    Z = learner.transform(samples)
    np.testing.assert_allclose(Z, expected.compute(), atol=1e-8 * np.abs(Z).max())


@pytest.mark.filterwarnings("ignore:NCA did not converge")
def test_kernelized_learner_with_references():
    learner = Kernelized(NCA(2, n_references=100, max_iter=5), kernel=kernel(n_components=6))
    expected = learner.fit(X, y).metadata()
    for chunk in (97, 600):
        facts = learner.fit(**as_source("factory", X, y, chunk=chunk)).metadata()
        assert facts["n_references"] == expected["n_references"]
        assert facts["final_objective"] == pytest.approx(expected["final_objective"], rel=1e-6)


def test_transform_is_lazy_and_keeps_names():
    pytest.importorskip("dask.dataframe")
    learner = LEARNERS["LDA"].fit(**as_source("frame", X, y, chunk=97))
    np.testing.assert_array_equal(learner.feature_names_in_, [f"x{i}" for i in range(5)])
    Z = learner.transform(as_source("frame", X, chunk=97)["X"])
    assert hasattr(Z, "compute")
    Z = Z.compute()  # before the next fit, which changes the learner
    expected = learner.fit(X, y).transform(X)
    np.testing.assert_allclose(Z, expected, atol=1e-8 * np.abs(expected).max())


@pytest.mark.parametrize(
    ("learner", "error", "message"),
    [
        (KPCA(2), TypeError, r"KPCA without landmarks.*set n_landmarks.*Kernel\(n_landmarks=500"),
        (Kernelized(LDA()), TypeError, "Kernelized without landmarks .*set n_landmarks"),
        (KPCA(kernel="precomputed"), TypeError, "precomputed kernel needs all samples"),
        (Kernelized(ITML(), kernel=kernel()), TypeError, "needs all samples at once"),
        (
            Kernelized(LDA(shrinkage="auto"), kernel=kernel()),
            TypeError,
            "shrinkage='auto' of LDA needs all samples at once",
        ),
        (KPCA(kernel=kernel(n_landmarks=600)), ValueError, "n_landmarks=600 must be less than"),
        (KPCA(26, kernel=kernel()), ValueError, "n_components=26 must be at most n_landmarks=25"),
        (
            Kernelized(LDA(9), kernel=kernel(n_components=8)),
            ValueError,
            "n_components=9 must be at most 8",
        ),
    ],
)
def test_errors(learner, error, message):
    with pytest.raises(error, match=message):
        learner.fit(**as_source("factory", X, y, chunk=97))
    assert not hasattr(learner, "components_")


def test_iterators_that_can_be_read_once():
    with pytest.raises(ValueError, match=r"can be read only once.*Pass a function"):
        LEARNERS["KPCA"].fit(**as_source("iterator", X, chunk=97))


def test_memory_map_without_landmarks_is_read_as_an_array(tmp_path):
    given = as_source("memmap", X, chunk=97, tmp_path=tmp_path)
    with pytest.warns(UserWarning, match="is read as an array. KPCA without landmarks"):
        Z = KPCA(2).fit(**given).transform(X)
    np.testing.assert_allclose(Z, KPCA(2).fit_transform(X))
