"""Every export of an adapter finds the same ten documents as its search."""

import json

import duckdb
import faiss
import numpy as np
import onnxruntime
import pandas as pd
import pytest
from postgres import in_postgres, needs_postgres
from safetensors.numpy import load_file

import dimetric
from dimetric.export import (
    describe,
    to_faiss,
    to_function,
    to_numpy,
    to_onnx,
    to_sentence_transformers,
    to_sql,
    to_usearch,
)
from dimetric.learners import NCA, RetrievalAdapter, SpaceMap

OPTIONS = [
    {"sides": "query"},
    {"sides": "both"},
    {"sides": "two"},
    {"sides": "two", "n_components": 4},
]
N_DOCUMENTS, D = 120, 8


def fitted(options):
    """Return an adapter, and queries and documents that it was not fitted to."""
    rng = np.random.RandomState(0)
    X = rng.randn(300, D) + 2 * rng.randn(10, D)[np.arange(300) % 10]
    pairs = [(i, j) for i in range(60) for j in range(100) if i % 10 == j % 10]
    adapter = RetrievalAdapter(reg=1e-3, tol=1e-3, **options)
    adapter.fit(X[:60], X[60:160], pairs)
    return adapter, X[160:180], X[180:]


@pytest.fixture(scope="module", params=OPTIONS, ids=str)
def case(request):
    return fitted(request.param)


def top10(adapter, Q, D):
    return adapter.search(Q, D, 10)[1]


def best(U, V):
    """Return the ten rows of V with the largest inner products."""
    return np.argsort(-np.asarray(U) @ np.asarray(V).T, axis=1)[:, :10]


def test_search_is_not_trivial(case):
    adapter, Q, X = case
    plain = best(Q / np.linalg.norm(Q, axis=1, keepdims=True),
                 X / np.linalg.norm(X, axis=1, keepdims=True))  # fmt: skip
    assert np.mean(plain != top10(adapter, Q, X)) > 0.2


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_onnx(case, dtype, tmp_path):
    adapter, Q, X = case
    mapped = []
    for side, vectors in (("query", Q), ("document", X)):
        path = tmp_path / f"{side}.onnx"
        to_onnx(adapter, path, dtype=dtype, side=side)
        session = onnxruntime.InferenceSession(path)
        mapped.append(session.run(["Z"], {"X": vectors.astype(dtype)})[0])
    rtol = 1e-5 if dtype == "float32" else 1e-12
    np.testing.assert_allclose(mapped[0], adapter.transform_queries(Q), rtol=rtol, atol=rtol)
    np.testing.assert_array_equal(best(*mapped), top10(adapter, Q, X))
    zero = session.run(["Z"], {"X": np.zeros((1, D), dtype)})[0]
    assert not zero.any()


def test_onnx_side():
    adapter, Q, _ = fitted({"sides": "two"})
    session = onnxruntime.InferenceSession(to_onnx(adapter).SerializeToString())  # queries
    Z = session.run(["Z"], {"X": Q.astype(np.float32)})[0]
    np.testing.assert_allclose(Z, adapter.transform_queries(Q), atol=1e-5)
    with pytest.raises(ValueError, match="side must be 'query' or 'document', not 'both'"):
        to_onnx(adapter, side="both")
    nca = NCA(max_iter=1, tol=1).fit(Q, np.arange(20) % 2)
    with pytest.raises(ValueError, match="side='query' requires a RetrievalAdapter, not NCA"):
        to_onnx(nca, side="query")


@pytest.mark.parametrize("kind", ["flat", "hnsw"])
def test_faiss(case, kind, tmp_path):
    adapter, Q, X = case
    ids = 1000 + np.arange(len(X))
    to_faiss(adapter, X, tmp_path / "d.faiss", ids=ids, kind=kind)
    index = faiss.read_index(str(tmp_path / "d.faiss"))
    scores, found = index.search(Q.astype(np.float32), 10)
    expected, positions = adapter.search(Q, X, 10)
    np.testing.assert_array_equal(found - 1000, positions)
    np.testing.assert_allclose(scores, expected, atol=1e-5)
    with pytest.raises(ValueError, match="X must be the vectors of the documents"):
        to_faiss(adapter)


@pytest.mark.parametrize("convert", [np.asarray, np.ndarray.tolist], ids=["arrays", "lists"])
def test_functions(case, convert, tmp_path):
    adapter, Q, X = case
    module = {}
    exec(to_numpy(adapter, tmp_path / "adapter.py"), module)
    pairs = [
        (to_function(adapter), to_function(adapter, "document")),
        (module["map_queries"], module["map_documents"]),
    ]
    for map_query, map_document in pairs:
        U, V = map_query(convert(Q)), map_document(convert(X))
        assert isinstance(U[0][0], float)
        np.testing.assert_allclose(U, adapter.transform_queries(Q), rtol=1e-10)
        np.testing.assert_array_equal(best(U, V), top10(adapter, Q, X))
        one = map_query(convert(Q)[0])  # as LangChain's embed_query and qdrant's query vectors
        np.testing.assert_allclose(one, U[0], rtol=1e-12)
        assert not any(map_query([0.0] * D))
        with pytest.raises(ValueError, match=f"A vector must have {D} numbers"):
            map_query([1.0, 2.0])


def test_sentence_transformers_folder(case, tmp_path):
    adapter, *_ = case
    to_sentence_transformers(adapter, tmp_path / "a")
    to_sentence_transformers(adapter, tmp_path / "a")  # again
    dense = tmp_path / "a" / "0_Dense"
    W = load_file(dense / "model.safetensors")["linear.weight"]
    np.testing.assert_array_equal(W, adapter.query_components_.astype(np.float32))
    config = json.loads((dense / "config.json").read_text())
    assert config == {
        "in_features": D,
        "out_features": len(W),
        "bias": False,
        "activation_function": "torch.nn.modules.linear.Identity",
    }
    modules = json.loads((tmp_path / "a" / "modules.json").read_text())
    assert [each["path"] for each in modules] == ["0_Dense", "1_Normalize"]
    with pytest.raises(ValueError, match="requires a RetrievalAdapter, not NCA"):
        to_sentence_transformers(NCA(), tmp_path / "b")


def test_sentence_transformers_loads_the_folder(case, tmp_path):
    reason = "sentence-transformers is not installed"
    sentence_transformers = pytest.importorskip("sentence_transformers", reason=reason)
    import torch

    adapter, Q, X = case
    mapped = []
    for side, vectors in (("query", Q), ("document", X)):
        to_sentence_transformers(adapter, tmp_path / side, side=side)
        model = sentence_transformers.SentenceTransformer(str(tmp_path / side), device="cpu")
        assert [type(each).__name__ for each in model] == ["Dense", "Normalize"]
        inputs = {"sentence_embedding": torch.tensor(vectors, dtype=torch.float32)}
        with torch.no_grad():
            mapped.append(model(inputs)["sentence_embedding"].numpy())
    np.testing.assert_allclose(mapped[0], adapter.transform_queries(Q), atol=1e-5)
    np.testing.assert_array_equal(best(*mapped), top10(adapter, Q, X))


def test_duckdb(case):
    adapter, Q, X = case
    frame = pd.DataFrame({"key": 1000 + np.arange(len(X)), "embedding": X.tolist()})
    with duckdb.connect() as base:
        base.register("frame", frame)
        base.sql('CREATE TABLE "my ""docs" AS SELECT * FROM frame UNION ALL SELECT 7, NULL')
        base.execute(to_sql(adapter, table='my "docs', id="key"))
        found = [
            base.execute('SELECT * FROM "my ""docs_search"(?, 10)', [q]).fetchnumpy()
            for q in Q.tolist()
        ]
        tables = base.sql("SELECT table_name FROM duckdb_tables()").fetchall()
    scores, positions = adapter.search(Q, X, 10)
    np.testing.assert_array_equal([each["key"] - 1000 for each in found], positions)
    np.testing.assert_allclose([each["score"] for each in found], scores, rtol=1e-9)
    # The documents of a query adapter are searched where they are.
    assert (('my "docs_mapped',) in tables) == (adapter.sides != "query")


@needs_postgres
@pytest.mark.parametrize("half", [False, True])
@pytest.mark.parametrize("index", [False, True])
def test_postgres(case, half, index):
    adapter, Q, X = case
    rows = ",\n".join(f"({1000 + i}, '{each.tolist()}')" for i, each in enumerate(X))
    script = f"CREATE TABLE docs (key bigint, embedding vector({D}));\n"
    script += f"INSERT INTO docs VALUES {rows}, (7, NULL);\n"
    exported = to_sql(adapter, dialect="postgres", table="docs", id="key", half=half)
    script += exported
    if index:  # run the statement that the script shows as a comment
        (statement,) = [each[3:] for each in exported.splitlines() if "CREATE INDEX" in each]
        assert ("halfvec_cosine_ops" if half else "vector_cosine_ops") in statement
        script += f"{statement}\nSET enable_seqscan = off;\nSET hnsw.ef_search = 200;\n"
    for query in Q.tolist():
        script += f"SELECT key, score FROM docs_search('{query}', 10);\n"
    words = in_postgres(script)
    found = np.array([each.split("|") for each in words], dtype=float).reshape(len(Q), 10, 2)
    scores, positions = adapter.search(Q, X, 10)
    np.testing.assert_array_equal(found[..., 0] - 1000, positions)
    np.testing.assert_allclose(found[..., 1], scores, atol=1e-5)


def test_sql_errors():
    adapter, *_ = fitted({})
    for match, options in {
        "the name of one column that holds the vectors": {"columns": ["a", "b"]},
        "half=True requires dialect='postgres', not 'duckdb'": {"half": True},
        "form='expression' cannot write a RetrievalAdapter": {"form": "expression"},
        "The id column cannot be named 'score'": {"id": "score"},
        "The id column cannot be named 'embedding'": {"id": "embedding"},
    }.items():
        with pytest.raises(ValueError, match=match):
            to_sql(adapter, **options)
    space = SpaceMap().fit(np.eye(3), np.eye(3))
    with pytest.raises(ValueError, match="half=True requires a RetrievalAdapter, not SpaceMap"):
        to_sql(space, half=True)
    with pytest.raises(ValueError, match="RetrievalAdapter has no transform method"):
        to_usearch(adapter, np.eye(D))


def test_model_file(case, tmp_path):
    adapter, Q, X = case
    path = tmp_path / "a.dimetric"
    dimetric.save(adapter, path, about={"verdict": "better"})
    again = dimetric.load(path)
    assert again.get_params() == adapter.get_params()
    assert again.metadata() == adapter.metadata()
    for new, old in zip(again.search(Q, X), adapter.search(Q, X), strict=True):
        np.testing.assert_array_equal(new, old)
    summary = describe(path)
    assert summary["class"] == "RetrievalAdapter"
    assert summary["n_features"] == D
    assert summary["tensors"]["query_components_"]["shape"] == list(adapter.query_components_.shape)


def test_wrong_model_files_are_rejected(tmp_path):
    adapter, *_ = fitted({})
    path = tmp_path / "a.dimetric"
    wrong = {
        "query_components_": [np.full((D, D), np.nan), np.ones((D, D + 1)), "text"],
        "document_components_": [np.ones((D - 1, D)), np.ones(D), None],
        "scale_": ["10", np.inf],
        "is_identity_": [1],
        "fit": [0],
        "search": [np.eye(D)],
    }
    for name, value in ((name, each) for name, values in wrong.items() for each in values):
        broken = fitted({})[0] if not hasattr(adapter, "__dict__") else adapter
        before = broken.__dict__.get(name)
        broken.__dict__[name] = value
        try:
            dimetric.save(broken, path)
            with pytest.raises(ValueError, match="cannot be loaded"):
                dimetric.load(path)
        except (ValueError, TypeError):
            pass  # save refuses it, too
        finally:
            if before is None:
                del broken.__dict__[name]
            else:
                broken.__dict__[name] = before
    dimetric.save(adapter, path)
    dimetric.load(path)


@pytest.mark.parametrize("method", ["procrustes", "ridge"])
def test_space_map(method, tmp_path):
    rng = np.random.RandomState(0)
    X, Y = rng.randn(40, 5), rng.randn(40, 3)
    space = SpaceMap(method, random_state=0).fit(X, Y)
    path = tmp_path / "s.dimetric"
    dimetric.save(space, path)
    again = dimetric.load(path)
    np.testing.assert_array_equal(again.transform(X), space.transform(X))
    assert again.metadata() == space.metadata()
    graph = to_onnx(space, dtype="float64").SerializeToString()
    Z = onnxruntime.InferenceSession(graph).run(["Z"], {"X": X})[0]
    np.testing.assert_allclose(Z, space.transform(X), rtol=1e-12)
    module = {}
    exec(to_numpy(space), module)
    np.testing.assert_allclose(module["transform"](X), space.transform(X), rtol=1e-12)
    index = to_faiss(space, X)
    assert index.search(X.astype(np.float32), 1)[1].ravel().tolist() == list(range(40))
