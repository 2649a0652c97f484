"""Nearest-neighbour classifiers and regressors on samples in blocks, and on references."""

import pickle

import numpy as np
import pytest
from block_sources import SOURCES, as_dask, as_source, made_blocks
from sklearn.metrics import r2_score
from sklearn.preprocessing import StandardScaler

import dimetric.classify._block_training as block_training
from dimetric import LDA, LDML, MLKR, NCA, PCA
from dimetric.classify import KNNClassifier, KNNRegressor, MultiMetricKNNClassifier

X, y = made_blocks()
NAMES = np.array(["a", "bb", "ccc"])[y]
TARGETS = X[:, 0] * 2 - X[:, 1] + y + 100
WEIGHTS = np.random.default_rng(1).uniform(0, 2, len(X))
WEIGHTS[:50] = 0
# Few samples belong to the classes 1 and 2.
RARE = np.repeat([0, 1, 2], [560, 37, 3])[np.random.default_rng(2).permutation(len(X))]
MODELS = {
    "votes": (KNNClassifier(3), NAMES),
    "votes under LDA": (KNNClassifier(5, learner=LDA(), weights="distance"), NAMES),
    "votes under NCA": (KNNClassifier(learner=NCA(n_references=600, max_iter=3)), y),
    "unlabelled": (KNNClassifier(learner=LDA(unlabelled="bb")), NAMES),
    "softmax": (KNNClassifier(weights="softmax", learner=PCA(2)), y),
    "averages": (KNNRegressor(3), TARGETS),
    "averages under PCA": (KNNRegressor(4, learner=PCA(3), weights="distance"), TARGETS),
    "averages under LDA": (KNNRegressor(4, learner=LDA(unlabelled=1)), y),
    "softmax averages": (KNNRegressor(weights="softmax"), TARGETS),
    "another metric": (KNNRegressor(metric="manhattan"), TARGETS),
}
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def state_of(model):
    """Return the rows that are neighbours, and what they predict."""
    return model._rows, model._points, model.predict(X), model.predict()


def assert_same_state(state, expected):
    """Check that models have the same neighbours and predictions."""
    np.testing.assert_array_equal(state[0], expected[0])
    np.testing.assert_allclose(state[1], expected[1], rtol=1e-8, atol=1e-8)
    for values, known in zip(state[2:], expected[2:], strict=True):
        if known.dtype.kind == "f":
            np.testing.assert_allclose(values, known, rtol=1e-8)
        else:
            np.testing.assert_array_equal(values, known)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["", "weighted"])
def test_all_references_give_the_fit_of_the_array(name, weights):
    model, labels = MODELS[name]
    model.fit(X, labels, sample_weight=weights)
    expected = model.predict(X), model.predict(), model.n_samples_fit_, model.n_samples_seen_
    for chunk in (97, 800):
        model.fit(**as_source("factory", X, labels, weights, chunk=chunk))
        found = model.predict(X), model.predict(), model.n_samples_fit_, model.n_samples_seen_
        for values, known in zip(found, expected, strict=True):
            if np.asarray(known).dtype.kind == "f":
                np.testing.assert_allclose(values, known, rtol=1e-8)
            else:
                np.testing.assert_array_equal(values, known)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["", "weighted"])
def test_references_do_not_depend_on_the_blocks(name, weights):
    model, labels = MODELS[name]
    model = type(model)(**model.get_params(deep=False) | {"n_references": 60})
    expected = state_of(model.fit(X, labels, sample_weight=weights))
    assert model.n_samples_fit_ == len(model._points) == 60
    assert model.n_samples_seen_ > 250
    for chunk in (97, 800):
        model.fit(**as_source("factory", X, labels, weights, chunk=chunk))
        assert_same_state(state_of(model), expected)


@pytest.mark.parametrize("kind", SOURCES)
@pytest.mark.parametrize("name", ["votes under LDA", "averages under PCA"])
def test_all_kinds_of_blocks(kind, name, tmp_path):
    model, labels = MODELS[name]
    model = type(model)(**model.get_params(deep=False) | {"n_references": 60})
    expected = state_of(model.fit(X, labels))
    model.fit(**as_source(kind, X, labels, chunk=97, tmp_path=tmp_path))
    if kind == "frame":
        assert list(model.feature_names_in_) == [f"x{i}" for i in range(X.shape[1])]
        predicted = model.predict(as_dask(kind, X, 97)).compute()
        del model.feature_names_in_
    else:
        predicted = expected[2]
    assert_same_state(state_of(model), expected)
    assert_same_state((*expected[:2], predicted), expected[:3])


@pytest.mark.parametrize("kind", ["dask", "frame", "unknown"])
def test_predictions_and_scores_on_dask(kind):
    samples = as_dask(kind, X, 97)
    for model, labels, method in (
        (KNNClassifier(n_references=50), NAMES, "predict_proba"),
        (KNNRegressor(n_references=50), TARGETS, "predict"),
    ):
        model.fit(samples, as_dask(kind, labels, 97))
        given = samples.compute()
        lazy = getattr(model, method)(samples)
        np.testing.assert_allclose(lazy.compute(), getattr(model, method)(given), rtol=1e-12)
        for weights in (None, WEIGHTS):
            blocks = None if weights is None else as_dask(kind, weights, 97)
            found = model.score(samples, as_dask(kind, labels, 97), sample_weight=blocks)
            expected = model.score(given, labels, sample_weight=weights)
            assert found == pytest.approx(expected, rel=1e-10)


def test_r2_of_unusual_targets():
    model, samples = KNNRegressor(2).fit(X, TARGETS), as_dask("dask", X, 97)
    large = 1e7 + TARGETS
    expected = r2_score(large, model.predict(X))
    assert model.score(samples, as_dask("dask", large, 97)) == pytest.approx(expected, rel=1e-8)
    constant = KNNRegressor(2).fit(X, np.full(len(X), 3.0))
    assert constant.score(samples, as_dask("dask", np.full(len(X), 3.0), 97)) == 1
    assert constant.score(samples, as_dask("dask", np.full(len(X), 4.0), 97)) == 0
    assert np.isnan(model.score(samples[:1], as_dask("dask", TARGETS, 97)[:1]))
    with pytest.raises(ValueError, match="requires the true targets"):
        model.score(samples)


@pytest.mark.parametrize("kind", ["array", "dask", "factory"])
def test_classes_have_references_in_proportion(kind):
    given = {"X": X, "y": RARE} if kind == "array" else as_source(kind, X, RARE, chunk=97)
    model = KNNClassifier(1, n_references=60).fit(**given)
    np.testing.assert_array_equal(np.bincount(model._codes), [53, 4, 3])
    np.testing.assert_array_equal(model._codes, RARE[model._rows])
    np.testing.assert_array_equal(model._points, X[model._rows])
    # Neighbours are numbered as the rows of X.
    np.testing.assert_array_equal(model.kneighbors(X[model._rows])[1][:, 0], model._rows)
    assert model.score() == model.score(X=None, y=RARE)


def test_references_of_numbers_are_a_random_sample():
    model = KNNRegressor(1, n_references=200).fit(X, TARGETS)
    assert len(np.unique(model._rows)) == 200
    np.testing.assert_array_equal(model._targets, TARGETS[model._rows])
    assert abs(np.mean(model._rows) - 299.5) < 40  # three standard deviations are 30


def test_arrays_with_several_outputs_and_distances_have_references():
    outputs = np.stack([y == 1, y == 2], axis=1).astype(int)
    model = KNNClassifier(1, n_references=90).fit(X, outputs)
    np.testing.assert_array_equal(model.predict(X[model._rows]), outputs[model._rows])
    D = np.linalg.norm(X[:, None] - X, axis=2)
    near = KNNClassifier(3, n_references=90).fit(X, y)
    given = KNNClassifier(3, n_references=90, metric="precomputed").fit(D, y)
    np.testing.assert_array_equal(given.predict(D), near.predict(X))
    np.testing.assert_array_equal(given.predict(), near.predict())


def test_blocks_have_a_default_number_of_references(monkeypatch):
    monkeypatch.setattr(block_training, "DEFAULT_REFERENCES", 100)
    for model, labels in ((KNNClassifier(), y), (KNNRegressor(), TARGETS)):
        model.fit(**as_source("factory", X, labels, chunk=97))
        assert (model.n_samples_fit_, model.n_samples_seen_) == (100, 600)
        model.fit(X, labels)
        assert (model.n_samples_fit_, model.n_samples_seen_) == (600, 600)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (KNNClassifier(learner=StandardScaler()), "with a learner of dimetric only"),
        (KNNClassifier(class_weight="balanced"), "class_weight of KNNClassifier needs all labels"),
        (KNNRegressor(learner=MLKR()), "MLKR needs all samples at once"),
        (KNNClassifier(learner=LDA(shrinkage="auto")), "shrinkage='auto' of LDA needs all samples"),
        (KNNClassifier(metric="precomputed"), "needs all distances at once"),
        (MultiMetricKNNClassifier(), "MultiMetricKNNClassifier keeps its training samples"),
    ],
)
def test_models_that_need_all_samples(model, message, tmp_path):
    with pytest.raises(TypeError, match=message):
        model.fit(**as_source("dask", X, y, chunk=97))
    if model.metric != "precomputed":  # a memory map can be read as an array
        model.fit(**as_source("memmap", X[:200], y[:200], chunk=97, tmp_path=tmp_path))
        assert model.n_samples_fit_ == 200


@pytest.mark.parametrize("model", [KNNClassifier(), KNNRegressor(learner=PCA(2))])
def test_invalid_blocks(model):
    name = type(model).__name__
    with pytest.raises(ValueError, match=f"{name} reads the samples several times"):
        model.fit(**as_source("iterator", X, y, chunk=97))
    for kind in ("dask", "factory"):
        with pytest.raises(ValueError, match=f"{name} requires labels"):
            model.fit(**as_source(kind, X, chunk=97))
    bad = X.copy()
    bad[300, 1] = np.nan
    with pytest.raises(ValueError, match=r"Block 3.*NaN"):
        model.fit(**as_source("factory", bad, y, chunk=97))
    targets = y.astype(float)
    targets[300] = np.nan
    with pytest.raises(ValueError, match=r"Block 3.*labels that contain NaN"):
        model.fit(**as_source("factory", X, targets, chunk=97))
    outputs = np.stack([y, y], axis=1)
    with pytest.raises(ValueError, match="must have one label each"):
        model.fit(**as_source("factory", X, outputs, chunk=97))
    with pytest.raises(ValueError, match="n_neighbors=3 is larger than n_samples=1, the number"):
        type(model)(n_references=1).fit(**as_source("factory", X, y * 0, chunk=97))


def test_targets_that_do_not_suit():
    blocks = as_source("factory", X, TARGETS, chunk=97)
    with pytest.raises(ValueError, match="labels with fractions"):
        KNNClassifier().fit(**blocks)
    for learner in (LDA(), LDML()):
        with pytest.raises(ValueError, match="learns from one class per sample"):
            KNNRegressor(learner=learner).fit(**blocks)
    with pytest.raises(ValueError, match="numeric values"):
        KNNRegressor().fit(**as_source("factory", X, NAMES, chunk=97))
    for given in ({"X": X, "y": y}, as_source("factory", X, y, chunk=97)):
        with pytest.raises(ValueError, match="3 classes, but n_references=2"):
            KNNClassifier(1, n_references=2).fit(**given)
    unlabelled = KNNClassifier(learner=LDA(unlabelled=0))
    with pytest.raises(ValueError, match="unlabelled"):
        unlabelled.fit(**as_source("factory", X, y * 0, chunk=97))


@pytest.mark.parametrize("kind", ["dask", "frame"])
def test_references_are_one_task_of_the_graph(kind):
    samples, given = as_dask(kind, X, 60), X
    if kind == "frame":
        given = samples.compute()
    model = KNNClassifier().fit(given, y)
    (lazy,) = pytest.importorskip("dask").optimize(model.predict(samples))
    tasks = [len(pickle.dumps(task)) for task in dict(lazy.__dask_graph__()).values()]
    size, block = len(pickle.dumps(model)), X[:60].nbytes
    assert sum(length > size for length in tasks) == 1
    assert sum(tasks) < 2 * size + 20 * block + 1000 * len(tasks)
