"""The parameter `search` of estimators: exact by default, and approximate on request."""

import pickle
import sys
import warnings
from copy import deepcopy

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsTransformer, NearestNeighbors

from dimetric import (
    ANMM,
    DMLMJ,
    KANMM,
    KDMLMJ,
    KLMNN,
    LLE,
    LMNN,
    PCA,
    Isomap,
    Kernelized,
    KNNClassifier,
    KNNRegressor,
)
from dimetric.export import load, save
from dimetric.neighbors import ApproximateNeighbors

LEARNERS = [
    ANMM(2),
    DMLMJ(2),
    LMNN(max_iter=10),
    LMNN(max_iter=10, n_passes=2),
    KANMM(2),
    KANMM(2, orthonormal="coefficients"),
    KDMLMJ(2),
    KLMNN(max_iter=10),
    Kernelized(ANMM(2)),
    Isomap(n_neighbors=10),
    LLE(n_neighbors=10),
]
MODELS = [KNNClassifier(5), KNNClassifier(5, learner=PCA(2)), KNNRegressor(5, weights="distance")]
IGNORED = pytest.mark.filterwarnings(
    "ignore::sklearn.exceptions.ConvergenceWarning", "ignore:The neighbour graph has"
)


def flat():
    pytest.importorskip("faiss", reason="faiss is not installed: pip install 'dimetric[ann]'")
    return ApproximateNeighbors("flat", min_samples=0)


def with_search(estimator, search):
    name = "learner__search" if isinstance(estimator, Kernelized) else "search"
    return clone(estimator).set_params(**{name: search})


@pytest.fixture
def data(rng):
    y = rng.integers(3, size=240)
    return rng.normal(size=(240, 4)) + 0.7 * y[:, None], y


def mapped(learner):
    return learner.embedding_ if hasattr(learner, "embedding_") else learner.components_


@IGNORED
@pytest.mark.parametrize("learner", LEARNERS, ids=repr)
@pytest.mark.parametrize("searches_by", ["faiss", "model"])
def test_an_exhaustive_search_gives_the_exact_fit(learner, searches_by, data):
    search = flat() if searches_by == "faiss" else KNeighborsTransformer()
    exact, found = clone(learner).fit(*data), with_search(learner, search).fit(*data)
    assert_allclose(mapped(found), mapped(exact), rtol=1e-9, atol=1e-12)
    name = "flat" if searches_by == "faiss" else "KNeighborsTransformer"
    facts = found.metadata()
    assert (facts["search"], facts["search_recall"]) == (name, 1.0)
    assert "search" not in exact.metadata()


@IGNORED
@pytest.mark.parametrize("learner", LEARNERS, ids=repr)
def test_too_few_samples_are_searched_exactly(learner, data, monkeypatch):
    monkeypatch.setitem(sys.modules, "faiss", None)  # not needed
    exact, found = clone(learner).fit(*data), with_search(learner, ApproximateNeighbors())
    found.fit(*data)
    assert_array_equal(mapped(found), mapped(exact))
    facts = found.metadata()
    assert (facts["search"], facts["search_recall"]) == ("exact", 1.0)


@pytest.mark.parametrize("model", MODELS, ids=repr)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_models_with_an_exhaustive_search_equal_exact_ones(model, dtype, data):
    X, y = np.round(data[0], 1).astype(dtype), data[1]  # with ties and copies
    new = X[:50] + dtype(0.05)
    exact = clone(model).fit(X, y)
    for search in (flat(), NearestNeighbors()):
        found = clone(model).set_params(search=search).fit(X, y)
        assert_allclose(found.predict(new), exact.predict(new))
        assert_allclose(found.predict(), exact.predict())  # leave one out
        for a, b in zip(found.kneighbors(new, 7), exact.kneighbors(new, 7), strict=True):
            assert_allclose(a, b, rtol=1e-6)
        assert found.search_recall_ == 1.0
    assert not hasattr(exact, "search_recall_")


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_models_below_min_samples_are_exact(model, data, monkeypatch):
    monkeypatch.setitem(sys.modules, "faiss", None)  # not needed
    exact = clone(model).fit(*data)
    found = clone(model).set_params(search=ApproximateNeighbors()).fit(*data)
    assert (found.search_used_, found.search_recall_) == ("exact", 1.0)
    assert_array_equal(found.predict(), exact.predict())


class Half(BaseEstimator):
    """A search that sees only every other point."""

    def fit(self, X):
        self._X = X
        return self

    def kneighbors(self, X, n_neighbors, return_distance):
        return 2 * np.argsort(cdist(X, self._X[::2]), axis=1)[:, :n_neighbors]


def test_recall_of_a_model_is_measured_on_its_training_samples(data):
    with pytest.warns(UserWarning, match="'Half' found only"):
        model = KNNClassifier(4, search=Half()).fit(*data)
    D = cdist(data[0], data[0])
    np.fill_diagonal(D, np.inf)
    kth = np.sort(D, axis=1)[:, 3]
    found = np.sort(np.where(np.arange(240) % 2 == 0, D, np.inf), axis=1)[:, :4]
    assert model.search_used_ == "Half"
    assert model.search_recall_ == pytest.approx(np.mean(found <= kth[:, None]))
    distances, indices = model.kneighbors()
    assert_array_equal(indices % 2, 0)
    assert_allclose(distances, np.take_along_axis(D, indices, axis=1))


def test_recall_of_a_fit_is_low_if_the_search_is_blind(data):
    for learner in (ANMM(2, search=Half()), LMNN(max_iter=2, search=Half())):
        with warnings.catch_warnings(record=True, action="always") as caught:
            recall = learner.fit(*data).metadata()["search_recall"]
        assert 0.2 < recall < 0.8
        assert any("set search=None" in str(each.message) for each in caught)


@pytest.mark.parametrize("model", MODELS, ids=repr)
@pytest.mark.parametrize("kind", ["hnsw", "ivf", "model"])
def test_copies_pickles_and_files_predict_the_same(model, kind, data, rng, tmp_path):
    search = NearestNeighbors()
    if kind != "model":
        search = flat().set_params(kind=kind, n_links=2, ef_search=2, n_lists=40, n_probes=2)
    model = clone(model).set_params(search=search)
    with warnings.catch_warnings(action="ignore"):
        model.fit(*data)
    save(model, tmp_path / "model.dimetric")
    new = rng.normal(size=(60, 4))
    expected = model.kneighbors(new)
    copies = [pickle.loads(pickle.dumps(model)), deepcopy(model)]
    for copy in [*copies, load(tmp_path / "model.dimetric")]:
        assert copy.get_params()["search"].get_params() == search.get_params()
        assert copy.search_recall_ == model.search_recall_
        assert_array_equal(copy.kneighbors(new), expected)
        assert_array_equal(copy.predict(new), model.predict(new))


@IGNORED
@pytest.mark.parametrize("learner", LEARNERS, ids=repr)
def test_learners_are_saved_with_their_search(learner, data, tmp_path):
    learner = with_search(learner, flat()).fit(*data)
    save(learner, tmp_path / "learner.dimetric")
    loaded = load(tmp_path / "learner.dimetric")
    assert loaded.metadata() == learner.metadata()
    assert_array_equal(loaded.transform(data[0]), learner.transform(data[0]))


def test_a_fit_without_search_forgets_the_recall(data):
    model = KNNClassifier(search=NearestNeighbors()).fit(*data)
    assert hasattr(model, "search_recall_")
    model.set_params(search=None).fit(*data)
    assert not hasattr(model, "search_recall_")
    assert not hasattr(model, "search_used_")


def test_settings_of_the_search_can_be_tuned(data):
    grid = {"search__n_probes": [1, 40]}
    search = flat().set_params(kind="ivf", n_lists=40)
    with warnings.catch_warnings(action="ignore"):
        tuned = GridSearchCV(KNNClassifier(search=search), grid, cv=3).fit(*data)
    assert tuned.best_params_["search__n_probes"] in (1, 40)


def test_other_namespaces_are_searched_on_the_host(data, namespace):
    X, y = data
    search = flat()
    expected = KNNClassifier(search=search).fit(X, y).predict_proba(X[:20])
    model = KNNClassifier(search=search).fit(namespace.asarray(X), namespace.asarray(y))
    found = model.predict_proba(namespace.asarray(X[:20]))
    assert_allclose(np.asarray(found), expected)
    components = ANMM(2, search=search).fit(namespace.asarray(X), namespace.asarray(y)).components_
    assert_allclose(np.asarray(components), ANMM(2).fit(X, y).components_, rtol=1e-9)


def test_sgd_with_a_search_finds_the_targets_of_the_whole_class(data):
    X, y = data
    exact = LMNN(max_iter=1, solver="lbfgs")
    found = LMNN(max_iter=1, solver="sgd", random_state=0, search=flat())
    with warnings.catch_warnings(action="ignore"):
        assert_array_equal(found.fit(X, y).targets_, exact.fit(X, y).targets_)


# Errors


@IGNORED
@pytest.mark.parametrize("estimator", [*LEARNERS, *MODELS], ids=repr)
def test_other_objects_raise(estimator, data):
    for search in ("hnsw", 3, object()):
        with pytest.raises(ValueError, match=r"'search' parameter of .* must be an instance of"):
            with_search(estimator, search).fit(*data)
    with pytest.raises(ValueError, match="must return a sparse graph of shape"):
        with_search(estimator, PCA(2)).fit(*data)
    with pytest.raises(ValueError, match=r"is a class. Pass an object: NearestNeighbors\(\)"):
        with_search(estimator, NearestNeighbors).fit(*data)


@pytest.mark.parametrize("metric", ["cityblock", "precomputed", "cosine"])
@pytest.mark.parametrize("estimator", [KNNClassifier(), KNNRegressor(), Isomap()], ids=repr)
def test_other_metrics_raise(estimator, metric, data):
    X = cdist(data[0], data[0]) if metric == "precomputed" else data[0]
    estimator = clone(estimator).set_params(metric=metric, search=ApproximateNeighbors())
    with pytest.raises(ValueError, match=f"metric='{metric}' cannot be combined with search="):
        estimator.fit(X, data[1])


def test_sparse_samples_raise_unless_a_learner_maps_them(data):
    X, y = sparse.csr_array(data[0]), data[1]
    with pytest.raises(ValueError, match="needs dense samples"):
        KNNClassifier(search=NearestNeighbors()).fit(X, y)
    model = KNNClassifier(learner=PCA(3), search=NearestNeighbors()).fit(X, y)
    exact = KNNClassifier(learner=PCA(3)).fit(X, y)
    assert_array_equal(model.predict(X), exact.predict(X))


def test_a_radius_raises(data):
    with pytest.raises(ValueError, match="not all samples within a radius"):
        Isomap(n_neighbors=None, radius=1.0, search=NearestNeighbors()).fit(data[0])
