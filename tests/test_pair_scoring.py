"""Distances, thresholds and scores of pairs and triplets, against brute force and scikit-learn."""

import numpy as np
import pytest
from estimators import ONE_OF_EACH, each, fit, samples
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import NotFittedError
from sklearn.metrics import fbeta_score, roc_auc_score

from dimetric import PCA, Covariance, Pairs, Triplets
from dimetric.learners._pair_scoring import calibrated_threshold

X, y = samples()
PAIRS = Pairs.from_labels(y, 400, random_state=0)
TRIPLETS = Triplets.from_labels(y, 400, random_state=0)
FITTED = Covariance().fit(X)


def has_pair_methods(learner):
    return hasattr(learner, "calibrate_threshold")


@each(has_pair_methods, learners=ONE_OF_EACH)
def test_pair_methods_of_every_linear_learner_agree(learner):
    fitted = fit(learner, X, y)
    distances = fitted.pair_distance(PAIRS, X)
    assert_array_equal(distances, fitted.pair_distance(PAIRS.rows, X))
    assert_allclose(distances, fitted.pair_distance(X[PAIRS.rows]))
    assert_array_equal(fitted.pair_score(PAIRS, X), -distances)
    with pytest.raises(NotFittedError, match="Call calibrate_threshold"):
        fitted.predict_pairs(PAIRS, X)
    assert fitted.calibrate_threshold(PAIRS, X) is fitted
    assert_array_equal(fitted.predict_pairs(PAIRS, X), distances <= fitted.threshold_)
    assert not hasattr(fitted.fit(X, y), "threshold_")  # a refit removes the threshold


def test_many_pairs_match_transformed_distances():
    rows = np.random.default_rng(0).integers(0, 2000, size=(60_000, 2))
    wide = np.random.default_rng(1).normal(size=(2000, 100))
    fitted = PCA(3).fit(wide)
    Z = fitted.transform(wide)
    expected = np.linalg.norm(Z[rows[:, 0]] - Z[rows[:, 1]], axis=1)
    assert_allclose(fitted.pair_distance(rows, wide), expected, atol=1e-10)


def test_empty_pairs_have_no_distances():
    assert FITTED.pair_distance(Pairs(), X).shape == (0,)


def test_pairs_of_vectors_match_pairs_of_row_indices():
    vectors = Pairs.from_arrays(X[PAIRS.similar], X[PAIRS.dissimilar])
    assert_allclose(FITTED.pair_distance(vectors), FITTED.pair_distance(PAIRS, X))
    assert_allclose(FITTED.score_pairs(vectors), FITTED.score_pairs(PAIRS, X))
    triplets = Triplets.from_arrays(*(X[column] for column in TRIPLETS.rows.T))
    assert_allclose(FITTED.score_triplets(triplets), FITTED.score_triplets(TRIPLETS, X))


def test_namespaces_match_numpy(namespace):
    A = namespace.asarray(X)
    fitted = Covariance().fit(A).calibrate_threshold(PAIRS, A)
    assert type(fitted.predict_pairs(PAIRS, A)) is type(A)
    assert_allclose(fitted.threshold_, FITTED.calibrate_threshold(PAIRS, X).threshold_)
    assert_allclose(fitted.score_pairs(PAIRS, A), FITTED.score_pairs(PAIRS, X))
    assert_allclose(fitted.score_triplets(TRIPLETS, A), FITTED.score_triplets(TRIPLETS, X))


distances_and_similarity = st.lists(
    st.tuples(st.integers(0, 8), st.booleans()), min_size=2, max_size=30
).filter(lambda pairs: len({similar for _, similar in pairs}) == 2)
MEASURES = {
    "accuracy": lambda truth, found: np.mean(truth == found),
    "f_beta": lambda truth, found: fbeta_score(truth, found, beta=2.0, zero_division=0.0),
}


@given(distances_and_similarity)
@pytest.mark.parametrize("strategy", MEASURES)
def test_calibrated_threshold_is_optimal(strategy, pairs):
    distances, similar = (np.array(column) for column in zip(*pairs, strict=True))
    measure = MEASURES[strategy]
    threshold = calibrated_threshold(distances, similar, strategy=strategy, beta=2.0)
    best = max(measure(similar, distances <= t) for t in np.arange(-1, 9) + 0.5)
    assert_allclose(measure(similar, distances <= threshold), best)


@given(distances_and_similarity, st.floats(0.01, 1.0))
def test_threshold_is_the_smallest_that_reaches_the_rate(pairs, rate):
    distances, similar = (np.array(column) for column in zip(*pairs, strict=True))
    t = calibrated_threshold(distances, similar, strategy="tpr", rate=rate)
    assert np.mean(distances[similar] <= t) >= rate - 1e-9
    assert np.mean(distances[similar] < distances[distances <= t].max()) < rate


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_threshold_separates_adjacent_and_huge_distances(dtype):
    # The midpoint of adjacent floating-point numbers is rounded to one of them.
    adjacent = 1 + np.finfo(dtype).eps * np.arange(3)
    largest = np.finfo(dtype).max * np.array([0.9, 1.0])
    for distances in (adjacent[:2], adjacent[1:], largest):
        distances = distances.astype(dtype)
        threshold = calibrated_threshold(distances, np.array([True, False]))
        assert (distances <= threshold).tolist() == [True, False]


@given(distances_and_similarity)
def test_score_pairs_matches_sklearn_roc_auc(pairs):
    distances, similar = (np.array(column) for column in zip(*pairs, strict=True))
    points = np.stack([np.zeros(len(distances)), distances.astype(float)], axis=1)[:, :, None]
    line = PCA(1).fit(np.arange(5.0)[:, None])
    score = line.score_pairs(Pairs.from_arrays(points[similar], points[~similar]))
    assert_allclose(score, roc_auc_score(similar, -distances), atol=1e-12)


def test_triplets_with_equal_distances_count_half():
    line = PCA(1).fit(np.arange(5.0)[:, None])
    points = np.array([[0.0], [1.0], [2.0], [-1.0]])
    assert line.score_triplets(Triplets([0, 0, 0, 1], [1, 2, 1, 2], [2, 1, 3, 3]), points) == 0.625


INVALID_CALLS = {
    "pairs contains row indices, so X is required": lambda: FITTED.pair_distance(PAIRS),
    "triplets contains row indices, so X is required": lambda: FITTED.score_triplets(TRIPLETS),
    "triplets must be a non-empty Triplets object": lambda: FITTED.score_triplets(TRIPLETS.rows, X),
    "must be a non-empty Triplets object": lambda: FITTED.score_triplets(TRIPLETS[:0], X),
    "pairs must be a Pairs object with": lambda: FITTED.score_pairs(PAIRS.rows, X),
    "both similar and dissimilar pairs": lambda: FITTED.calibrate_threshold(PAIRS[:1], X),
    "pairs refer to 60 samples, but X has 59": lambda: FITTED.score_pairs(PAIRS, X[:59]),
    "triplets refer to 60 samples, but X has 59": lambda: FITTED.score_triplets(TRIPLETS, X[:59]),
    r"triplets\[0\] = \[0, 1, 60\] contains a row index outside X": lambda: FITTED.score_triplets(
        Triplets([0], [1], [60]), X.tolist()
    ),
    "strategy='best' must be one of": lambda: FITTED.calibrate_threshold(PAIRS, X, strategy="best"),
    "rate=0.0 must be in": lambda: FITTED.calibrate_threshold(PAIRS, X, rate=0.0),
    "beta=0 must be positive": lambda: FITTED.calibrate_threshold(PAIRS, X, beta=0),
}


@pytest.mark.parametrize("says", INVALID_CALLS)
def test_invalid_input_raises(says):
    with pytest.raises((TypeError, ValueError), match=says):
        INVALID_CALLS[says]()
