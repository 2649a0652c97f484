"""faiss and usearch indexes find the same neighbours as dimetric."""

import sys

import faiss
import numpy as np
import pytest
from estimators import fit, samples
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from usearch.index import Index

from dimetric import (
    KPCA,
    LDA,
    LMNN,
    NCA,
    PCA,
    Isomap,
    KNNClassifier,
    MultiMetricKNNClassifier,
)
from dimetric.export import to_faiss, to_usearch
from dimetric.export._index import map_samples

N = 400
MODELS = [
    PCA(2),
    NCA(),
    make_pipeline(StandardScaler(), LMNN(2)),
    make_pipeline(MinMaxScaler(), KNNClassifier(learner=LDA())),
    KNNClassifier(),
]


def top10(model, X, new):
    """Return the row indices of the 10 nearest samples, found by KNNClassifier."""
    Z, queries = map_samples(model, X), map_samples(model, new)
    return KNNClassifier(10).fit(Z, np.arange(len(Z)) % 2).kneighbors(queries)[1]


@pytest.mark.parametrize("kind", ["flat", "hnsw"])
@pytest.mark.parametrize("model", MODELS, ids=str)
def test_faiss(model, kind, tmp_path):
    X, y = samples(N)
    X = X + 100  # far from the origin
    model = fit(model, X, y)
    new = samples(50, seed=1)[0] + 100
    to_faiss(model, X, tmp_path / "index", kind=kind)
    index = faiss.read_index(str(tmp_path / "index"))
    distances, rows = index.search(new.astype(np.float32), 10)
    np.testing.assert_array_equal(rows, top10(model, X, new))
    apart = map_samples(model, new)[:, None] - map_samples(model, X)[rows]
    np.testing.assert_allclose(distances, np.sum(apart**2, axis=2), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("model", [PCA(2), make_pipeline(StandardScaler(), LDA())], ids=str)
def test_faiss_far_from_the_origin(model):
    """The map keeps the precision that the samples have in float32."""
    X, y = samples(N)
    X = (X + 1e5).astype(np.float32).astype(float)
    model = fit(model, X, y)
    rows = to_faiss(model, X).search(X.astype(np.float32), 10)[1]
    assert np.mean(np.sort(rows) == np.sort(top10(model, X, X))) > 0.99


@pytest.mark.parametrize("model", [*MODELS, KPCA(2), Isomap()], ids=str)
def test_usearch(model, tmp_path):
    X, y = samples(N)
    model = fit(model, X, y)
    new = samples(50, seed=1)[0]
    to_usearch(model, X, tmp_path / "index")
    index = Index.restore(str(tmp_path / "index"))
    queries = map_samples(model, new).astype(np.float32)
    wanted = top10(model, X, new)
    np.testing.assert_array_equal(index.search(queries, 10, exact=True).keys, wanted)
    found = index.search(queries, 10).keys  # approximate search in the graph
    assert np.mean(found == wanted) > 0.95


@pytest.mark.filterwarnings("ignore:MultiMetricKNNClassifier did not converge")
def test_usearch_refuses_one_metric_per_class():
    X, y = samples(n=60)
    model = fit(MultiMetricKNNClassifier(max_iter=2), X, y)
    with pytest.raises(ValueError, match="because it has a metric for each class"):
        to_usearch(model, X)


def test_usearch_index_is_deterministic(tmp_path):
    X, y = samples(N)
    model = NCA().fit(X, y)
    for i in range(10):
        to_usearch(model, X, tmp_path / f"{i}")
    assert len({(tmp_path / f"{i}").read_bytes() for i in range(10)}) == 1


@pytest.mark.parametrize("make", [to_faiss, to_usearch])
def test_ids_are_kept(make):
    X, y = samples(N)
    model = KNNClassifier(learner=LDA()).fit(X, y)
    ids = 7 * np.arange(N)[::-1] + 1
    rows = np.arange(N)
    weighted = KNNClassifier(learner=LDA()).fit(
        np.concatenate([X[:3], X]),
        np.append(y[:3], y),
        sample_weight=np.append([0, 0, 0], rows + 1),
    )
    for fitted, index, wanted in (
        (model, make(model, X, ids=ids), ids[:5]),
        (model, make(model), rows[:5]),
        (weighted, make(weighted), rows[3:8]),  # samples of weight 0 are left out
    ):
        queries = X[:5] if make is to_faiss else map_samples(fitted, X[:5])
        found = index.search(queries.astype(np.float32), 1)
        keys = found[1] if make is to_faiss else found.keys
        np.testing.assert_array_equal(np.ravel(keys), wanted)


@pytest.mark.parametrize("make", [to_faiss, to_usearch])
def test_errors(make, monkeypatch):
    X, y = samples()
    model = LDA().fit(X, y)
    with pytest.raises(
        ValueError, match="required, because LDA does not store its training samples"
    ):
        make(model)
    with pytest.raises(ValueError, match="ids must be integers, one for each of the 60 samples"):
        make(model, X, ids=["a"] * 60)
    with pytest.raises(ValueError, match="ids must be integers"):
        make(model, X, ids=np.arange(59))
    with pytest.raises(ValueError, match="ids must be unique"):
        make(model, X, ids=np.zeros(60, int))
    with pytest.raises(ValueError, match="ids must be unique and non-negative"):
        make(model, X, ids=np.arange(60) - 1)
    with pytest.raises(ValueError, match="X has 3 features"):
        make(model, X[:, :3])
    name = "faiss" if make is to_faiss else "usearch.index"
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match=r"pip install 'dimetric\[ann\]'"):
        make(model, X)


def test_faiss_rejects_kernel_maps_and_unknown_kinds():
    X, y = samples()
    with pytest.raises(ValueError, match="A faiss index requires a linear map"):
        to_faiss(KPCA(2).fit(X), X)
    with pytest.raises(ValueError, match="kind must be one of flat, hnsw, not 'tree'"):
        to_faiss(LDA().fit(X, y), X, kind="tree")


def test_map_samples_requires_transform():
    X, y = samples()
    model = KNeighborsRegressor().fit(X, y)
    with pytest.raises(ValueError, match="KNeighborsRegressor has no transform method"):
        map_samples(model, X)
