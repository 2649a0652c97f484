"""Tuning and cross-validation compared with plain loops over folds and parameters."""

import numpy as np
import pandas as pd
import pytest
from estimators import samples
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import uniform
from sklearn import model_selection
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine
from sklearn.exceptions import FitFailedWarning
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

from dimetric import (
    DMLMJ,
    LDA,
    LDML,
    LMNN,
    LSI,
    MLKR,
    NCA,
    NCMC,
    PCA,
    Covariance,
    DMLEig,
    Kernelized,
    KNNClassifier,
    KNNRegressor,
    NCMCClassifier,
    NCMClassifier,
)
from dimetric.selection import (
    choose_dimension,
    cross_validate,
    metadata_cross_validate,
    tune,
    tune_knn,
)
from dimetric.selection._splits import splits

X, y = samples(n=60)
WINE = load_wine(return_X_y=True)


def folds_of(*args, **kwargs):
    return splits(*args, **kwargs)[0]


def fold_scores(result):
    """Return the scores of all candidates, one column per fold."""
    splits = [name for name in result.cv_results_ if name.startswith("split")]
    scores = np.stack([result.cv_results_[name] for name in splits], axis=1)
    assert_allclose(result.cv_results_["mean_test_score"], scores.mean(axis=1))
    assert_allclose(result.cv_results_["std_test_score"], scores.std(axis=1))
    return scores


# Folds


def test_folds_are_stratified_and_cover_all_samples():
    folds = folds_of(X, y, 4, 3, random_state=0)
    assert len(folds) == 12
    for repeat in range(3):
        tests = [test for _, test in folds[4 * repeat : 4 * repeat + 4]]
        assert_array_equal(np.sort(np.concatenate(tests)), np.arange(60))
        for test in tests:
            assert_array_equal(np.bincount(y[test]), [5, 5, 5])
    for (a, _), (b, _) in zip(folds, folds_of(X, y, 4, 3, random_state=0), strict=True):
        assert_array_equal(a, b)
    assert not np.array_equal(folds[0][1], folds_of(X, y, 4, 3, random_state=1)[0][1])


def test_cv_can_be_a_splitter_or_splits():
    splitter = StratifiedKFold(3, shuffle=True, random_state=1)
    expected = [(train.tolist(), test.tolist()) for train, test in splitter.split(X, y)]
    masks = [(np.isin(np.arange(60), train), test) for train, test in expected]
    for cv in (splitter, expected, iter(expected), masks):
        result = folds_of(X, y, cv, random_state=5)
        assert [(train.tolist(), test.tolist()) for train, test in result] == expected
    model = KNNClassifier(3)
    scores = cross_validate(model, X, y, cv=splitter).test_score
    assert_array_equal(scores, model_selection.cross_val_score(model, X, y, cv=splitter))
    tuned = tune(PCA(), X, y, {"n_components": [1, 2]}, cv=splitter)
    again = tune(PCA(), X, y, {"n_components": [1, 2]}, cv=expected)
    assert_array_equal(fold_scores(tuned), fold_scores(again))
    for wrong in ("5", None):
        with pytest.raises(ValueError, match="must be an int of at least 2, a splitter, or"):
            folds_of(X, y, wrong)
    with pytest.raises(ValueError, match="n_repeats=2 requires an int as cv"):
        folds_of(X, y, splitter, 2)


def test_folds_without_classes():
    assert len(folds_of(X, X[:, 0], 5)) == 5
    assert len(folds_of(X, None, 5)) == 5


def test_too_many_folds_are_reduced():
    labels = np.repeat([0, 1], [57, 3])
    with pytest.warns(UserWarning, match="cv=5 is larger than the size of the smallest class, 3"):
        assert len(folds_of(X, labels, 5)) == 3
    with pytest.warns(UserWarning, match="smallest class, 1. Using 2 folds"):
        assert len(folds_of(X, np.repeat([0, 1], [59, 1]), 5)) == 2
    with pytest.warns(UserWarning, match="cv=10 is larger than .* class, 2. Using 2"):
        assert len(cross_validate(KNNClassifier(1), X[:4], [0, 1, 0, 1], cv=10).test_score) == 2
    with pytest.warns(UserWarning, match="cv=5 is larger than the number of samples, 4. Using"):
        assert len(folds_of(X[:4], None, 5)) == 4
    with pytest.raises(ValueError, match="n_samples=1, but cross-validation requires at least 2"):
        folds_of(X[:1], None, 2)


def test_regressor_folds_are_not_stratified():
    sizes = np.round(10 * X[:, 0])
    result = cross_validate(KNNRegressor(), X, sizes, random_state=0)
    folds = folds_of(X, None, 5, random_state=0)
    for score, (train, test) in zip(result.test_score, folds, strict=True):
        assert score == KNNRegressor().fit(X[train], sizes[train]).score(X[test], sizes[test])
    tuned = tune(KNNRegressor(), X, sizes, {"n_neighbors": [3, 5]}, random_state=0)
    assert isinstance(tuned.best_estimator_, KNNRegressor)
    assert_array_equal(fold_scores(tuned)[0], result.test_score)
    with pytest.raises(ValueError, match=r"KNNRegressor is a regressor\. Use criterion='score'"):
        tune(KNNRegressor(), X, sizes, {"n_neighbors": [3]}, criterion=3)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"cv": 1}, "cv=1 must be an int of at least 2"),
        ({"cv": 2.5}, "cv=2.5 must be"),
        ({"n_repeats": 0}, "n_repeats=0 must be an int of at least 1"),
    ],
)
def test_bad_folds(options, sentence):
    with pytest.raises(ValueError, match=sentence):
        cross_validate(KNNClassifier(), X, y, **options)


# Cross-validation


@pytest.mark.parametrize("model", [KNNClassifier(learner=LDA()), NCMClassifier()])
def test_cross_validation_matches_loop(model):
    result = cross_validate(model, X, y, cv=3, n_repeats=2, random_state=4)
    for i, (train, test) in enumerate(folds_of(X, y, 3, 2, random_state=4)):
        fitted = clone(model).fit(X[train], y[train])
        assert result.test_score[i] == fitted.score(X[test], y[test])
        on_train = fitted.score(X[train], y[train])
        assert result.train_score[i] == (
            fitted.score() if hasattr(fitted, "kneighbors") else on_train
        )
        assert result.fit_time[i] > 0


def test_cross_validation_of_pipelines_and_regressors():
    pipeline = make_pipeline(MinMaxScaler(), KNNClassifier())
    result = cross_validate(pipeline, X, y, cv=3, random_state=0)
    train, test = folds_of(X, y, 3, random_state=0)[0]
    fitted = clone(pipeline).fit(X[train], y[train])
    assert result.test_score[0] == fitted.score(X[test], y[test])
    assert result.train_score[0] == fitted[-1].score()
    assert cross_validate(KNNRegressor(), X, X[:, 0], random_state=0).test_score.mean() > 0.5


@pytest.mark.slow
def test_cross_validation_with_data_frames_and_jobs():
    frame = pd.DataFrame(X, columns=list("abcd"))
    plain = cross_validate(KNNClassifier(), X, y, random_state=0)
    assert_array_equal(
        cross_validate(KNNClassifier(), frame, y, random_state=0).test_score, plain.test_score
    )
    parallel = cross_validate(KNNClassifier(), X, y, random_state=0, n_jobs=2)
    assert_array_equal(parallel.test_score, plain.test_score)


def test_cross_validation_with_torch():
    torch = pytest.importorskip("torch")
    tensors = torch.asarray(X), torch.asarray(y)
    assert_allclose(
        cross_validate(KNNClassifier(), *tensors, random_state=0).test_score,
        cross_validate(KNNClassifier(), X, y, random_state=0).test_score,
    )


def test_estimator_without_score_raises():
    with pytest.raises(ValueError, match=r"estimator=LDA\(\) has no method score.*KNNClassifier"):
        cross_validate(LDA(), X, y)


def test_metadata_matches_loop():
    result = metadata_cross_validate(DMLMJ(2), X, y, cv=3, random_state=1)
    for i, (train, _) in enumerate(folds_of(X, y, 3, random_state=1)):
        expected = DMLMJ(2).fit(X[train], y[train]).metadata()
        assert result.keys() == expected.keys()
        for key in set(expected) - {"time"}:
            assert result[key][i] == expected[key]
    assert result["time"].dtype == np.float64


def test_metadata_dtypes_and_pipelines():
    result = metadata_cross_validate(NCA(), X, y, cv=3, random_state=0)
    assert result["reason"].dtype == object
    assert result["converged"].dtype == bool
    assert "n_components" in metadata_cross_validate(make_pipeline(MinMaxScaler(), PCA(2)), X)
    with pytest.raises(ValueError, match=r"learner=MinMaxScaler\(\) has no method metadata"):
        metadata_cross_validate(MinMaxScaler(), X)


# Tuning


def test_tuning_by_knn_accuracy_matches_loop():
    grid = {"n_components": [1, 2, 3], "whiten": [True, False]}
    result = tune(PCA(), *WINE, grid, criterion=5, cv=3, random_state=0)
    X, y = WINE
    for params, scores in zip(result.cv_results_["params"], fold_scores(result), strict=True):
        for score, (train, test) in zip(scores, folds_of(X, y, 3, random_state=0), strict=True):
            model = KNNClassifier(5, learner=PCA(**params)).fit(X[train], y[train])
            assert score == model.score(X[test], y[test])
    assert len(result.cv_results_["params"]) == 6
    best = np.argmax(result.cv_results_["mean_test_score"])
    assert result.best_params_ == result.cv_results_["params"][best]
    assert result.best_score_ == fold_scores(result)[best].mean()
    assert isinstance(result.best_estimator_, KNNClassifier)
    assert result.best_estimator_.learner_.get_params() == PCA(**result.best_params_).get_params()
    assert result.best_estimator_.n_samples_fit_ == len(X)


def test_tuning_by_metadata():
    result = tune(
        LMNN(), X, y, {"mu": [0.2, 0.8]}, criterion="final_objective", cv=2, random_state=0
    )
    values = [
        metadata_cross_validate(LMNN(mu=mu), X, y, cv=2, random_state=0)["final_objective"]
        for mu in (0.2, 0.8)
    ]
    assert_allclose(fold_scores(result), values)
    assert result.best_score_ == np.min(result.cv_results_["mean_test_score"])  # LMNN minimises
    assert isinstance(result.best_estimator_, LMNN)
    result = tune(NCA(), X, y, {"reg": [0.0, 1.0]}, criterion="final_objective", random_state=0)
    assert result.best_params_ == {"reg": 0.0}  # NCA maximises


@pytest.mark.parametrize("learner", [NCA(cost="absolute"), MLKR(), Kernelized(NCA(cost="squared"))])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_learners_of_numbers_minimise_their_objective(learner):
    name = "learner__reg" if isinstance(learner, Kernelized) else "reg"
    target = X[:, 0] + X[:, 1] ** 2
    # The penalty is so large that the map vanishes. Its objective is ten times that of any local
    # minimum without a penalty.
    result = tune(
        learner, X, target, {name: [0.0, 1e4]}, criterion="final_objective", cv=2, random_state=0
    )
    assert result.best_params_ == {name: 0.0}
    scores = result.cv_results_["mean_test_score"]
    assert result.best_score_ == np.min(scores) < np.max(scores)


@pytest.mark.parametrize(
    ("learner", "grid"),
    [
        (LSI(), {"reg": [0.0, 3.0]}),
        (DMLEig(), {"reg": [0.0, 3.0]}),
        (DMLMJ(), {"n_components": [1, 4]}),
        (Kernelized(NCA(1)), {"learner__reg": [0.0, 1.0]}),
    ],
)
def test_larger_objective_is_best_if_the_learner_maximises_it(learner, grid):
    result = tune(learner, X, y, grid, criterion="final_objective", cv=2, random_state=0)
    scores = result.cv_results_["mean_test_score"]
    assert result.best_score_ == np.max(scores) > np.min(scores)


def test_tuning_by_time(monkeypatch):
    seconds = {1: 1.0, 2: 3.0, 3: 0.5}  # by n_components
    from sklearn.model_selection import _validation

    clock = [0.0]
    fit = PCA.fit

    def slow(self, X, y=None):
        clock[0] += seconds[self.n_components]
        return fit(self, X, y)

    monkeypatch.setattr(PCA, "fit", slow)
    monkeypatch.setattr(_validation.time, "time", lambda: clock[0])
    result = tune(PCA(), X, None, {"n_components": [1, 2, 3]}, criterion="time")
    assert result.best_params_ == {"n_components": 3}
    assert result.best_score_ == 0.5


def test_greater_is_better():
    grid = {"n_components": [1, 3]}
    small = tune(PCA(), X, None, grid, criterion="accumulated_eigenvalues", greater_is_better=False)
    large = tune(PCA(), X, None, grid, criterion="accumulated_eigenvalues", greater_is_better=True)
    assert (small.best_params_["n_components"], large.best_params_["n_components"]) == (1, 3)


def test_tuning_of_parameters_that_depend_on_each_other():
    grid = [{"n_centroids": [k], "learner__n_centroids": [k]} for k in (1, 3)]
    model = NCMCClassifier(learner=NCMC(random_state=0), random_state=0)
    result = tune(model, *load_iris(return_X_y=True), grid, cv=3, random_state=0)
    assert len(result.cv_results_["params"]) == 2
    assert result.best_params_["n_centroids"] == result.best_params_["learner__n_centroids"]
    assert isinstance(result.best_estimator_, NCMCClassifier)


def test_tuning_of_the_ldml_threshold_b():
    grid = {"b": [0.1, 1.0, None]}
    result = tune(LDML(), X, y, grid, cv=3, random_state=0)
    assert result.best_params_["b"] in grid["b"]


def test_random_search_is_reproducible():
    options = {"criterion": 3, "n_iter": 4, "cv": 2, "random_state": 0}
    result = tune(Covariance(), X, y, {"reg": uniform(0, 1)}, **options)
    assert len(result.cv_results_["params"]) == 4
    again = tune(Covariance(), X, y, {"reg": uniform(0, 1)}, **options)
    assert result.cv_results_["params"] == again.cv_results_["params"]


@pytest.mark.slow
def test_tuning_of_pipelines_with_jobs():
    learner = make_pipeline(MinMaxScaler(), PCA())
    options = {"cv": 3, "random_state": 0}
    result = tune(learner, *WINE, {"pca__n_components": [1, 4]}, **options)
    again = tune(learner, *WINE, {"pca__n_components": [1, 4]}, n_jobs=2, **options)
    assert_array_equal(fold_scores(result), fold_scores(again))
    assert result.best_params_ == {"pca__n_components": 4}
    assert repr(result).startswith(
        "TuningResult(best_params_={'pca__n_components': 4}, best_score_=0.9"
    )


def test_failed_candidate_is_not_best():
    with pytest.warns(FitFailedWarning):
        result = tune(PCA(), X, y, {"n_components": [99, 2]}, random_state=0)
    assert np.isnan(fold_scores(result)[0]).all()
    assert result.best_params_ == {"n_components": 2}


@pytest.mark.parametrize(
    ("model", "grid", "options", "sentence"),
    [
        (NCA(), {"reg": [0]}, {"criterion": "n_itr"}, "not a key of the metadata. Did you mean n"),
        (NCA(), {"reg": [0]}, {"criterion": "zzz"}, "not a key of the metadata. Choose from n_c"),
        (NCA(), {"reg": [0]}, {"criterion": "reason"}, "criterion='reason' is not a number"),
        (NCA(), {"reg": [0]}, {"criterion": 2.5}, "criterion=2.5 must be an int, a str or None"),
        (
            NCA(),
            {"reg": [0]},
            {"criterion": 0},
            "criterion=0, a number of neighbours, must be at least 1",
        ),
        (NCA(), {"reg": [0]}, {"criterion": True}, "criterion=True must be a number"),
        (NCA(), {"reg": [0]}, {"criterion": "score"}, "has no method score. Pass a number of neig"),
        (MinMaxScaler(), {"clip": [True]}, {"criterion": "gap"}, "has no method metadata"),
        (KNNClassifier(), {"n_neighbors": [1]}, {"criterion": 3}, "is a classifier. Use criterion"),
        (
            PCA(),
            {"n_components": [1]},
            {"criterion": "accumulated_eigenvalues"},
            "Set greater_is_better",
        ),
    ],
)
def test_bad_criteria(model, grid, options, sentence):
    if options["criterion"] in ("n_itr", "zzz", "reason"):
        options = options | {"greater_is_better": True}
    with pytest.raises(ValueError, match=sentence):
        tune(model, X, y, grid, **options)


def test_missing_estimator_or_labels_raises():
    with pytest.raises(
        ValueError, match=r"estimator=None has no method fit. Without a learner, use tun"
    ):
        tune(None, X, y, {"reg": [0]})
    with pytest.raises(ValueError, match="criterion=3 requires the class labels y"):
        choose_dimension(PCA(), X)


def test_unknown_parameter_raises():
    with pytest.raises(ValueError, match="Invalid parameter 'n_compo' for estimator PCA"):
        tune(PCA(), X, y, {"n_compo": [1]})


# Nearest neighbours


def test_tune_knn_matches_loop():
    grid = {"n_components": [1, 2]}
    result = tune_knn(
        PCA(), *WINE, grid, n_neighbors=[7, 1], weights="distance", cv=3, random_state=0
    )
    X, y = WINE
    assert len(result.cv_results_["params"]) == 4
    for params, scores in zip(result.cv_results_["params"], fold_scores(result), strict=True):
        for score, (train, test) in zip(scores, folds_of(X, y, 3, random_state=0), strict=True):
            learner = PCA(params["n_components"])
            model = KNNClassifier(params["n_neighbors"], learner=learner, weights="distance")
            assert score == model.fit(X[train], y[train]).score(X[test], y[test])
    best = np.argmax(result.cv_results_["mean_test_score"])
    assert result.best_params_ == result.cv_results_["params"][best]
    assert result.best_estimator_.n_neighbors == result.best_params_["n_neighbors"]
    assert result.best_estimator_.learner_.n_components == result.best_params_["n_components"]


def test_tune_knn_keeps_n_neighbors_of_the_learner_apart():
    result = tune_knn(DMLMJ(), X, y, {"n_neighbors": [7]}, n_neighbors=[1, 3], random_state=0)
    assert result.cv_results_["params"] == [
        {"n_neighbors": k, "learner__n_neighbors": 7} for k in (1, 3)
    ]
    assert result.best_estimator_.n_neighbors == result.best_params_["n_neighbors"]
    assert result.best_estimator_.learner_.n_neighbors == 7
    dependent = [{"n_neighbors": [5], "n_components": [2]}, {"n_neighbors": [7]}]
    result = tune_knn(DMLMJ(), X, y, dependent, n_neighbors=[3], random_state=0)
    assert result.cv_results_["params"] == [
        {"n_neighbors": 3, "learner__n_neighbors": 5, "n_components": 2},
        {"n_neighbors": 3, "learner__n_neighbors": 7},
    ]


def test_tune_knn_without_a_learner_and_with_invalid_input():
    result = tune_knn(None, X, y, random_state=0)
    assert [each["n_neighbors"] for each in result.cv_results_["params"]] == [1, 3, 5, 7, 9]
    with pytest.raises(ValueError, match="parameters of a learner, but learner=None"):
        tune_knn(None, X, y, {"reg": [1]})
    for k in (0, 2.5):
        with pytest.raises(ValueError, match=f"n_neighbors={k} must be an int of at least 1"):
            tune_knn(None, X, y, n_neighbors=iter([k, 1]))
    with pytest.raises(ValueError, match="n_neighbors is empty"):
        tune_knn(None, X, y, n_neighbors=[])
    with pytest.raises(ValueError, match=r"param_grid=\['reg'\] must be a mapping of names"):
        tune_knn(PCA(), X, y, ["reg"])
    with pytest.raises(ValueError, match="All the 5 fits failed"):
        tune_knn(PCA(), X, y, {"n_components": [99]})


# Number of components


@pytest.mark.parametrize("threshold", [0.3, 0.8, 0.95, 1.0])
def test_dimension_by_threshold(threshold):
    X, _ = WINE
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    fractions = [PCA(k).fit(X).metadata()["accumulated_eigenvalues"] for k in range(1, 14)]
    expected = 1 + next(i for i, value in enumerate(fractions) if value >= threshold - 1e-12)
    assert choose_dimension(PCA(), X, threshold=threshold) == expected
    if threshold < 1:
        assert PCA(threshold).fit(X).components_.shape[0] == expected


def test_dimension_by_knn_accuracy():
    result = choose_dimension(PCA(), *WINE, dimensions=[8, 1], cv=3, random_state=0)
    tuned = tune(PCA(), *WINE, {"n_components": [1, 8]}, cv=3, random_state=0)
    assert result == tuned.best_params_["n_components"]
    assert choose_dimension(LDA(), *load_iris(return_X_y=True), dimensions=[1, 2]) in (1, 2)


@pytest.mark.parametrize(
    ("learner", "options", "sentence"),
    [
        (Covariance(), {}, "Covariance has no parameter n_components"),
        (NCA(), {"threshold": 0.9}, "NCA has no eigenvalues. Pass dimensions"),
        (PCA(), {"threshold": 1.5}, "threshold=1.5 must be above 0 and at most 1"),
        (PCA(), {"threshold": 0.5, "dimensions": [1]}, "dimensions and threshold are both given"),
        (PCA(), {"n_neighbors": 0}, "n_neighbors=0 must be an int of at least 1"),
    ],
)
def test_bad_dimensions(learner, options, sentence):
    with pytest.raises(ValueError, match=sentence):
        choose_dimension(learner, X, y, **options)


def test_cross_validation_of_a_scikit_learn_regressor():
    result = cross_validate(LinearRegression(), X, X @ np.ones(4), random_state=0)
    assert result.test_score.min() > 0.99
