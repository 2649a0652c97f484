"""Closed-form learners learn from blocks what they learn from an array."""

import numpy as np
import pytest
from block_sources import SOURCES, as_source, made_blocks

from dimetric import LDA, PCA, Covariance

X, y = made_blocks()
WEIGHTS = np.random.default_rng(1).uniform(0, 2, len(X))
WEIGHTS[:50] = 0
LEARNERS = {
    "PCA": PCA(),
    "PCA whitened": PCA(0.9, whiten=True),
    "PCA mle": PCA("mle"),
    "PCA full": PCA(svd_solver="full"),
    "LDA": LDA(),
    "LDA balanced": LDA(class_weight="balanced"),
    "LDA class weights": LDA(class_weight={0: 3.0, 1: 0.0}),
    "LDA shrinkage": LDA(shrinkage=0.1),
    "LDA unlabelled": LDA(unlabelled=0),
    "Covariance": Covariance(),
    "Covariance mixed": Covariance(identity_mix=0.3, reg=0.1),
}


def fitted(learner):
    """Return the fitted attributes and the metadata of a learner."""
    names = [name for name in vars(learner) if name.endswith("_") and not name.startswith("feat")]
    facts = {name: getattr(learner, name) for name in names} | learner.metadata()
    facts.pop("time")
    return facts


def arguments(learner, kind, chunk, tmp_path, weights=None, samples=X):
    labels = y if isinstance(learner, LDA) else None
    return as_source(kind, samples, labels, weights, chunk=chunk, tmp_path=tmp_path)


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("kind", [*SOURCES, "iterator"])
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["", "weighted"])
def test_blocks_give_the_fit_of_the_array(name, kind, weights, tmp_path):
    learner = LEARNERS[name]
    if kind == "iterator" and name == "LDA balanced":
        pytest.skip("needs two passes")
    expected = fitted(learner.fit(X, y, sample_weight=weights))
    for chunk in (97, 600):
        learner.fit(**arguments(learner, kind, chunk, tmp_path, weights))
        for key, value in fitted(learner).items():
            if np.asarray(value).dtype.kind == "f":
                scale = np.abs(expected[key]).max()
                np.testing.assert_allclose(value, expected[key], rtol=1e-10, atol=1e-10 * scale)
            else:
                np.testing.assert_array_equal(value, expected[key])


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("kind", ["dask", "frame", "memmap", "factory"])
def test_float32_stays_float32(name, kind, tmp_path):
    learner, single = LEARNERS[name], X.astype(np.float32)
    expected = fitted(learner.fit(single, y))
    learner.fit(**arguments(learner, kind, 97, tmp_path, samples=single))
    assert learner.components_.dtype == np.float32
    for key, value in fitted(learner).items():
        if np.asarray(value).dtype.kind == "f":
            assert np.asarray(value).dtype == np.asarray(expected[key]).dtype, key
            scale = np.abs(expected[key]).max()
            np.testing.assert_allclose(value, expected[key], rtol=1e-5, atol=1e-5 * scale)


ILL_CONDITIONED = {
    "few samples": X[:4],
    "repeated feature": X[:, [0, 1, 2, 3, 1]],
    "constant feature": np.hstack([X[:, :4], np.full((len(X), 1), 0.1)]),
    "very different units": X * np.array([1e-9, 1, 1, 1, 1e6]),
    "large mean": X + 1e7,
}


@pytest.mark.parametrize("case", ILL_CONDITIONED)
@pytest.mark.parametrize("name", ["PCA", "LDA", "Covariance"])
@pytest.mark.parametrize("kind", ["factory", "iterator"])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_ill_conditioned_samples_are_as_accurate_as_in_an_array(case, name, kind):
    learner, samples = LEARNERS[name], ILL_CONDITIONED[case]
    labels = np.arange(len(samples)) % 2
    A = learner.fit(samples, labels).components_
    given = as_source(kind, samples, labels if name == "LDA" else None, chunk=90)
    B = learner.fit(**given).components_
    assert A.shape == B.shape
    unit = np.std(samples, axis=0) + 1e-3  # compare the maps of samples of ordinary size
    np.testing.assert_allclose(B * unit, A * unit, rtol=1e-5, atol=1e-6 * np.abs(A * unit).max())


def test_a_class_only_in_the_last_block_and_blocks_without_labels():
    samples, labels = X[np.argsort(y, kind="stable")], np.sort(y)
    expected = LDA(unlabelled=0).fit(samples, labels)
    found = LDA(unlabelled=0).fit(**as_source("factory", samples, labels, chunk=40))
    np.testing.assert_array_equal(found.classes_, [1, 2])
    np.testing.assert_allclose(found.components_, expected.components_, rtol=1e-10)


def test_names_of_classes_may_be_of_different_length():
    names = np.array(["a", "bb", "ccc"])[np.sort(y)]
    samples = X[np.argsort(y, kind="stable")]
    learner = LDA().fit(**as_source("factory", samples, names, chunk=100))
    np.testing.assert_array_equal(learner.classes_, ["a", "bb", "ccc"])


def test_partial_fit_continues_from_scratch_after_a_fit_to_blocks():
    learner = PCA().fit(**as_source("factory", X, chunk=100))
    learner.partial_fit(X[:50])
    np.testing.assert_allclose(learner.components_, PCA().fit(X[:50]).components_, rtol=1e-8)


def test_feature_names_come_from_the_data_frame():
    learner = PCA(2).fit(**as_source("frame", X, chunk=100))
    assert learner.feature_names_in_.tolist() == [f"x{i}" for i in range(5)]


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_copies_of_a_row_in_different_blocks_count_once():
    samples, labels = np.tile(X[:40], (10, 1)), np.tile(y[:40], 10)
    expected = LDA().fit(samples, labels)
    assert expected.metadata()["reg"] > 0  # because there are only 8 distinct samples per feature
    learner = LDA().fit(**as_source("factory", samples, labels, chunk=40))
    assert learner.metadata()["reg"] == expected.metadata()["reg"]
