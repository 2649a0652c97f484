"""NCMML and NCMC learn from blocks what they learn from an array."""

import numpy as np
import pytest
from block_sources import SOURCES, as_source, made_blocks

import dimetric.learners._block_clusters as block_clusters
from dimetric import NCMC, NCMML

X, y = made_blocks(n=1500, d=5)
WEIGHTS = np.random.default_rng(1).uniform(0, 2, len(X))
WEIGHTS[:50] = 0
LEARNERS = {
    "default": NCMML(),
    "to the optimum": NCMML(tol=1e-8, max_iter=200),
    "lda start": NCMML(2),
    "pca start": NCMML(4, max_iter=5),
    "random start": NCMML(3, init="random", random_state=0, max_iter=5),
    "given start": NCMML(init=np.eye(5), max_iter=5),
    "ridge": NCMML(reg=0.1),
    "diagonal": NCMML(diagonal=True),
    "balanced": NCMML(class_weight="balanced"),
    "class weights": NCMML(class_weight={0: 3.0, 1: 0.0}),
    "unlabelled": NCMML(unlabelled=0),
    "mixed": NCMML(identity_mix=0.3),
    "gradient descent": NCMML(solver="bgd", max_iter=5),
    "over metrics": NCMML(solver="sdp", max_iter=5),
    "NCMC": NCMC(random_state=0),
    "NCMC with one centroid": NCMC(n_centroids=[1, 2, 1], random_state=0),
}

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def assert_same_fit(learner, expected, tol=1e-10):
    """Check the objective, the map, the centroids and the metadata of a fit to blocks."""
    facts, known = learner.metadata(), expected.metadata()
    assert facts.keys() == known.keys()
    assert facts["n_iter"] == known["n_iter"]
    for name in ("initial_objective", "final_objective", "reg"):
        assert facts[name] == pytest.approx(known[name], rel=tol, abs=tol)
    # The map amplifies rounding errors of the objective.
    for name in ("components_", "centroids_"):
        a, b = getattr(learner, name), getattr(expected, name)
        assert a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=1e4 * tol, atol=1e4 * tol * np.abs(b).max())
    np.testing.assert_array_equal(learner.centroid_classes_, expected.centroid_classes_)


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["", "weighted"])
def test_blocks_give_the_fit_of_the_array(name, weights):
    learner = LEARNERS[name]
    expected = learner.fit(X, y, sample_weight=weights)
    for chunk in (97, 800):
        blocks = type(learner)(**learner.get_params(deep=False))
        blocks.fit(**as_source("factory", X, y, weights, chunk=chunk))
        assert_same_fit(blocks, expected)


@pytest.mark.parametrize("kind", SOURCES)
def test_all_kinds_of_blocks(kind, tmp_path):
    given = as_source(kind, X, y, chunk=400, tmp_path=tmp_path)
    assert_same_fit(NCMML().fit(**given), NCMML().fit(X, y))


CASES = {
    "more features than samples": (X[:12].repeat(3, axis=1), y[:12]),
    "few samples": (np.hstack([X[:60], X[60:120]]), y[:60]),
    "copies": (np.round(X / 40)[:, :3], y),
    "copies of few rows": (X[np.arange(len(X)) % 7], y[np.arange(len(X)) % 7]),
    "constant feature": (np.hstack([X, np.full((len(X), 1), 0.1)]), y),
    "repeated feature": (X[:, [0, 1, 1]], y),
    "large mean": (X + 1e6, y),
}


@pytest.mark.parametrize("case", CASES)
def test_unusual_samples(case):
    samples, labels = CASES[case]
    expected = NCMML().fit(samples, labels)
    blocks = NCMML().fit(**as_source("factory", samples, labels, chunk=31))
    # Rounding errors of the mean are larger if the mean is large.
    tol = 1e-8 if case in ("large mean", "repeated feature") else 1e-10
    facts, known = blocks.metadata(), expected.metadata()
    assert facts["final_objective"] == pytest.approx(known["final_objective"], rel=tol, abs=tol)
    assert facts["reg"] == pytest.approx(known["reg"], rel=1e-12)


def test_float32_stays_float32():
    single = X.astype(np.float32)
    blocks = NCMML().fit(**as_source("factory", single, y, chunk=100))
    assert_same_fit(blocks, NCMML().fit(single, y), tol=1e-5)


def test_k_means_starts_from_a_sample_and_does_not_depend_on_the_blocks(monkeypatch):
    rng = np.random.default_rng(5)
    part = rng.integers(0, 3, len(X))
    samples = rng.normal(size=(len(X), 2)) + 30 * rng.normal(size=(9, 2))[3 * y + part]
    fits = [NCMC(random_state=0).fit(samples, y)]
    monkeypatch.setattr(block_clusters, "SAMPLE_ROWS", 0)
    monkeypatch.setattr(block_clusters, "MIN_CLASS_ROWS", 60)
    for chunk in (97, 800):
        fits.append(NCMC(random_state=0).fit(**as_source("factory", samples, y, chunk=chunk)))
    for learner in fits:  # the clusters are far apart, so every start finds them
        order = np.lexsort(learner.centroids_.T)
        np.testing.assert_allclose(
            learner.centroids_[order], fits[0].centroids_[np.lexsort(fits[0].centroids_.T)]
        )
    assert_same_fit(fits[1], fits[2])


@pytest.mark.parametrize(
    ("learner", "message"),
    [
        (NCMML(solver="sgd"), "solver='sgd' of NCMML needs all samples at once.*partial_fit"),
        (NCMML(identity_mix="auto"), "identity_mix='auto' of NCMML needs all samples"),
        (NCMC(unlabelled_reg=0.1), "unlabelled_reg=0.1 of NCMC needs all samples.*to 0"),
    ],
)
def test_parameters_that_need_all_samples(learner, message, tmp_path):
    with pytest.raises(TypeError, match=message):
        learner.fit(**as_source("factory", X, y, chunk=500))
    with pytest.warns(UserWarning, match=f"is read as an array. {message}"):
        learner.fit(**as_source("memmap", X[:200], y[:200], chunk=500, tmp_path=tmp_path))
