"""Cross-validation over pairs and triplets, compared with plain loops."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris
from sklearn.model_selection import KFold
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from dimetric import LDML, LMNN, Pairs, Triplets
from dimetric.selection import cross_validate_pairs, tune_pairs

X, y = load_iris(return_X_y=True)
PAIRS = Pairs.from_labels(y, 800, random_state=0)
TRIPLETS = Triplets.from_labels(y, 800, random_state=0)


def test_scores_match_loop():
    folds = list(PAIRS.split(3, random_state=0))
    result = cross_validate_pairs(LDML(), X, PAIRS, cv=3, random_state=0)
    again = cross_validate_pairs(LDML(), X, PAIRS, cv=folds)
    expected = [LDML().fit(X, pairs=train).score_pairs(test, X) for train, test in folds]
    assert_array_equal(result.test_score, expected)
    assert_array_equal(again.test_score, expected)
    assert len(result.train_score) == 3
    assert np.all(result.fit_time > 0)


def test_accuracy_uses_the_threshold_of_the_training_pairs():
    folds = list(PAIRS.split(3, random_state=0))
    result = cross_validate_pairs(LDML(), X, PAIRS, cv=folds, scoring="accuracy")
    for score, (train, test) in zip(result.test_score, folds, strict=True):
        ldml = LDML().fit(X, pairs=train).calibrate_threshold(train, X)
        assert score == np.mean(ldml.predict_pairs(test, X) == test.is_similar)


def test_triplet_scores_match_loop():
    folds = list(TRIPLETS.split(3, random_state=0))
    result = cross_validate_pairs(LMNN(), X, TRIPLETS, cv=folds)
    expected = [LMNN().fit(X, triplets=train).score_triplets(test, X) for train, test in folds]
    assert_array_equal(result.test_score, expected)


def test_callable_scoring():
    def smallest_distance(learner, samples, pairs):
        assert samples is X  # X is not split
        return -learner.pair_distance(pairs, samples).min()

    result = cross_validate_pairs(LDML(), X, PAIRS, cv=2, scoring=smallest_distance, random_state=0)
    assert np.all(result.test_score <= 0)


def test_pairs_of_vectors():
    vectors = Pairs.from_arrays(X[PAIRS.similar], X[PAIRS.dissimilar])
    result = cross_validate_pairs(LDML(), None, vectors, cv=3, random_state=0)
    assert result.test_score.min() > 0.9


def test_pipeline_fits_other_steps_to_all_samples():
    folds = list(PAIRS.split(3, random_state=0))
    result = cross_validate_pairs(make_pipeline(StandardScaler(), LDML()), X, PAIRS, cv=folds)
    Z = StandardScaler().fit_transform(X)
    expected = cross_validate_pairs(LDML(), Z, PAIRS, cv=folds)
    assert_array_equal(result.test_score, expected.test_score)
    single_step = cross_validate_pairs(Pipeline([("ldml", LDML())]), Z, PAIRS, cv=folds)
    assert_array_equal(single_step.test_score, expected.test_score)


def test_tuning_matches_cross_validation():
    folds = list(PAIRS.split(3, random_state=0))
    grid = {"reg": [1000.0, 0.01], "n_components": [1, None]}
    result = tune_pairs(LDML(), X, PAIRS, grid, cv=folds)
    table = result.cv_results_
    assert len(table["params"]) == 4
    assert result.best_score_ == max(table["mean_test_score"])
    for i, params in enumerate(table["params"]):
        expected = cross_validate_pairs(LDML(**params), X, PAIRS, cv=folds)
        assert_allclose(table["mean_test_score"][i], expected.test_score.mean())
        assert_allclose(table["mean_train_score"][i], expected.train_score.mean())
        assert table["split1_test_score"][i] == expected.test_score[1]
        assert table["mean_fit_time"][i] > 0
    refitted = LDML(**result.best_params_).fit(X, pairs=PAIRS)
    assert_array_equal(result.best_estimator_.components_, refitted.components_)
    assert hasattr(result.best_estimator_, "threshold_")


def test_tuning_a_pipeline():
    pipeline = make_pipeline(StandardScaler(), LMNN())
    grid = {"lmnn__mu": [0.3, 0.7], "standardscaler__with_std": [False, True]}
    result = tune_pairs(pipeline, X, TRIPLETS, grid, cv=2, random_state=0)
    assert result.best_estimator_.transform(X).shape == (150, 4)
    assert result.best_estimator_["lmnn"].mu == result.best_params_["lmnn__mu"]
    assert not hasattr(pipeline["standardscaler"], "scale_")  # the given pipeline is not fitted


def test_invalid_scoring_or_learner_raises():
    with pytest.raises(ValueError, match="scoring='f1' must be one of roc_auc, accuracy"):
        cross_validate_pairs(LDML(), X, PAIRS, scoring="f1")
    with pytest.raises(ValueError, match="scoring='roc_auc' must be one of accuracy"):
        cross_validate_pairs(LMNN(), X, TRIPLETS, scoring="roc_auc")
    with pytest.raises(ValueError, match="refer to 150 samples, but X has 100"):
        cross_validate_pairs(LDML(), X[:100], PAIRS)
    with pytest.raises(TypeError, match="LMNN learns from labels y or triplets, not pairs"):
        cross_validate_pairs(LMNN(), X, PAIRS)


def test_invalid_folds_or_grid_raises():
    for cv in (KFold(3), 2.5):
        with pytest.raises(TypeError, match=r"cv=.* must be a number of folds, or an iterable"):
            cross_validate_pairs(LDML(), X, PAIRS, cv=cv)
    with pytest.raises(TypeError, match=r"pairs=\[.* must be a Pairs or a Triplets, not a list"):
        tune_pairs(LDML(), X, [[0, 1], [2, 3]], {"reg": [1.0]})
    with pytest.raises(ValueError, match="param_grid is empty"):
        tune_pairs(LDML(), X, PAIRS, [], cv=2)


def test_cv_can_be_a_numpy_integer():
    expected = cross_validate_pairs(LDML(), X, PAIRS, cv=2, random_state=0)
    result = cross_validate_pairs(LDML(), X, PAIRS, cv=np.int64(2), random_state=0)
    assert_array_equal(result.test_score, expected.test_score)


def test_fold_without_similar_or_dissimilar_pairs_raises():
    similar, others = PAIRS[:10], PAIRS[10:]
    folds = [(others[::2], others[1::2]), (others, similar)]
    message = (
        r"The test pairs of fold 2 must include both .* not Pairs\(10 similar, 0 dissimilar\)\. "
        r".*share_samples=True"
    )
    with pytest.raises(ValueError, match=message):
        cross_validate_pairs(LDML(), X, PAIRS, cv=folds)
    with pytest.raises(ValueError, match=r"The training pairs of fold 1 must include both"):
        cross_validate_pairs(LDML(), X, PAIRS, cv=[(similar, others)])
    result = cross_validate_pairs(LDML(), X, PAIRS, cv=folds[1:], scoring="accuracy")
    assert 0 <= result.test_score[0] <= 1  # accuracy does not need both kinds
    few = Triplets.from_labels(y[::10], 30, random_state=0)
    with pytest.raises(ValueError, match=r"Fold \d of 5 has no .* constraints.*share_samples=True"):
        cross_validate_pairs(LMNN(), X[::10], few, random_state=0)


def test_pairs_of_one_group_are_not_split():
    rng = np.random.default_rng(0)
    X, y, groups = rng.standard_normal((60, 3)), np.arange(60) % 2, np.arange(60) // 5
    pairs, used = Pairs.from_labels(y, 600, random_state=0), []

    def score(learner, X, tested):
        used.append(set(groups[tested.rows].ravel()))
        return 0.0

    options = {"cv": 3, "scoring": score, "groups": groups, "random_state": 0}
    cross_validate_pairs(LDML(), X, pairs, **options)
    tune_pairs(LDML(), X, pairs, {"reg": [0.1]}, **options)
    assert len(used) == 12
    assert not any(train & test for train, test in zip(used[::2], used[1::2], strict=True))
