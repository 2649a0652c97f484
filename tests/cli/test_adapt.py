"""The verb adapt."""

import json

import faiss
import numpy as np
import onnxruntime
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet
from safetensors.numpy import load_file

import dimetric
from dimetric.learners import RetrievalAdapter

N_TOPICS, D = 5, 8
EVIL = "<script>alert('x')</script> & more"


def vectors(n):
    """Return vectors whose first features depend on the topic, and whose others are noise."""
    rng = np.random.RandomState(n)
    topics = np.random.RandomState(0).randn(N_TOPICS, D)
    return topics[np.arange(n) % N_TOPICS] + 3 * rng.randn(n, D) * (np.arange(D) > 3)


def write(path, prefix, n):
    items = vectors(n)
    parquet.write_table(
        pa.table(
            {
                "id": [f"{prefix}{i}" for i in range(n)],
                "text": [f"{EVIL} {prefix}{i}" for i in range(n)],
                "topic": [f"topic {i % N_TOPICS}" for i in range(n)],
                "vector": items.tolist(),
            }
        ),
        path,
    )
    return path


@pytest.fixture
def files(tmp_path):
    """Write queries, documents and clicks. Return the options that name them."""
    n_queries, n_documents = 60, 50
    write(tmp_path / "q.parquet", "q", n_queries)
    write(tmp_path / "d.parquet", "d", n_documents)
    rows = [
        (f"q{i}", f"d{j}", 1)
        for i in range(n_queries)
        for j in range(n_documents)
        if i % N_TOPICS == j % N_TOPICS
    ]
    clicks = pd.DataFrame([*rows, ("q0", "gone", 2)], columns=["query_id", "doc_id", "clicks"])
    clicks.to_csv(tmp_path / "clicks.csv", index=False)
    names = {"queries": "q.parquet", "documents": "d.parquet", "relevance": "clicks.csv"}
    return [word for name, file in names.items() for word in (f"--{name}", tmp_path / file)]


@pytest.fixture
def adapter(run, files, tmp_path):
    """Write an adapter, and return its path."""
    out = tmp_path / "a.dimetric"
    done = run("adapt", *files, "--out", out, "--sides", "both")
    assert done.exit_code == 0, done.output
    return out


def test_prints_and_writes_the_results(run, files, tmp_path):
    out = tmp_path / "a.dimetric"
    done = run("adapt", *files, "--out", out, "--sides", "both", "--components", 6)
    assert done.exit_code == 0, done.output
    assert "60 queries, 50 documents, 600 judged pairs, 8 features" in done.stdout
    assert "adapter is better than identity" in done.stdout
    assert "For 60 queries that it had not seen, nDCG@10 is " in done.stdout
    assert f"Wrote {out} (RetrievalAdapter, sides=both, 6 components)" in done.stdout
    assert f"Wrote {tmp_path / 'a.html'}" in done.stdout
    assert "1 with an unknown document, of 601" in done.stderr
    adapter = dimetric.load(out)
    assert isinstance(adapter, RetrievalAdapter)
    assert not adapter.is_identity_
    assert adapter.transform_queries(vectors(3)).shape == (3, 6)
    page = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert "adapter is better than identity" in page
    assert EVIL not in page
    assert "&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt; &amp; more q" in page


def test_info(run, adapter):
    done = run("info", adapter)
    assert "RetrievalAdapter(" in done.stdout
    assert "sides='both'" in done.stdout
    assert "adapter is better than identity" in done.stdout
    described = json.loads(run("info", adapter, "--json").stdout)
    assert described["n_features"] == D
    assert described["about"]["queries"] == 60


def test_json_and_groups(run, files, tmp_path):
    out, page = tmp_path / "a.dimetric", tmp_path / "page.html"
    done = run("adapt", *files, "--out", out, "--report", page, "--groups", "topic", "--json")
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert found["split_by"] == "group"
    assert {each["group"] for each in found["group_gains"]} == {f"topic {i}" for i in range(5)}
    assert sum(found["posterior"].values()) == pytest.approx(1)
    assert found["report"] == str(page)
    assert "topic 3" in page.read_text(encoding="utf-8")
    gain = found["gains"]["adapter"]
    assert gain["interval"][0] <= gain["mean"] <= gain["interval"][1]
    groups = {each["group"]: each["after"] - each["before"] for each in found["group_gains"]}
    assert gain["mean"] == pytest.approx(np.mean(list(groups.values())))
    assert all(each["id"] == f"q{each['query']}" for each in found["losers"])
    assert done.stderr == ""


def test_beir(run, tmp_path):
    folder = tmp_path / "set"
    (folder / "qrels").mkdir(parents=True)
    for name, n in (("queries", 40), ("corpus", 30)):
        lines = [json.dumps({"_id": str(i), "text": f"text {i}"}) for i in range(n)]
        (folder / f"{name}.jsonl").write_text("\n".join(lines))
        np.savez(folder / f"{name}.npz", vectors=vectors(n).astype(np.float32))
    rows = [f"{i}\t{j}\t1" for i in range(40) for j in range(30) if i % N_TOPICS == j % N_TOPICS]
    (folder / "qrels" / "dev.tsv").write_text("\n".join(["query-id\tcorpus-id\tscore", *rows]))
    out = tmp_path / "a.dimetric"
    done = run("adapt", "--beir", folder, "--split", "dev", "--out", out)
    assert done.exit_code == 0, done.output
    assert "40 queries, 30 documents, 240 judged pairs" in done.stdout
    assert "text " in (tmp_path / "a.html").read_text(encoding="utf-8")


def test_wrong_usage(run, files, tmp_path, error_of):
    out = tmp_path / "a.dimetric"
    for words, message in {
        (): "--queries and --documents and --relevance must be given, or --beir DIR instead",
        (*files[:4],): "--relevance must be given",
        (*files, "--beir", tmp_path): "--beir replaces --queries",
        (*files, "--split", "dev"): "--split requires --beir",
        (*files, "--budget", "0"): "--budget must be a finite number > 0",
    }.items():
        done = run("adapt", *words, "--out", out)
        assert done.exit_code == 2
        assert message in done.output
    assert "--sides must be 'query', 'both' or 'two', not 'left'" in error_of(
        "adapt", *files, "--out", out, "--sides", "left"
    )
    assert "A model file ends in .dimetric" in error_of("adapt", *files, "--out", tmp_path / "a.x")
    assert "would overwrite the table" in error_of(
        "adapt", *files, "--out", out, "--report", files[5]
    )
    assert "has no column 'where'" in error_of("adapt", *files, "--out", out, "--groups", "where")
    assert not out.exists()


def test_one_query(files, tmp_path, error_of):
    (tmp_path / "clicks.csv").write_text("query_id,doc_id\nq1,d1\nq1,d2\n")
    message = error_of("adapt", *files, "--out", tmp_path / "a.dimetric")
    assert "1 of 60 queries have a relevant document, but at least 2 are needed" in message


@pytest.fixture
def saved(tmp_path):
    """Save an adapter without a comparison, which takes longer."""
    X = vectors(60)
    pairs = [(i, i) for i in range(60)]
    path = tmp_path / "a.dimetric"
    adapter = RetrievalAdapter(sides="two", reg=0.1, tol=1e-3).fit(X, X, pairs)
    dimetric.save(adapter, path)
    return path, adapter


@pytest.mark.parametrize("side", ["query", "document"])
def test_export_of_a_side(run, saved, tmp_path, side):
    path, adapter = saved
    W = adapter.query_components_ if side == "query" else adapter.document_components_
    done = run("export", path, "--out", tmp_path / "a.onnx", "--side", side)
    assert done.exit_code == 0, done.output
    session = onnxruntime.InferenceSession(tmp_path / "a.onnx")
    Z = session.run(["Z"], {"X": vectors(5).astype(np.float32)})[0]
    wanted = vectors(5) @ W.T
    np.testing.assert_allclose(Z, wanted / np.linalg.norm(wanted, axis=1)[:, None], atol=1e-5)
    folder = tmp_path / "modules"
    options = ("--to", "sentence-transformers", "--side", side, "--json")
    done = run("export", path, *options, "--out", folder)
    assert json.loads(done.stdout)["side"] == side
    weights = load_file(folder / "0_Dense" / "model.safetensors")["linear.weight"]
    np.testing.assert_array_equal(weights, W.astype(np.float32))


def test_export_of_an_index(run, saved, tmp_path, error_of):
    path, adapter = saved
    documents = write(tmp_path / "d.parquet", "", 50)  # integer ids
    done = run("export", path, documents, "--id", "id", "--out", tmp_path / "d.faiss")
    assert "50 samples" in done.stdout
    index = faiss.read_index(str(tmp_path / "d.faiss"))
    found = index.search(vectors(5).astype(np.float32), 10)[1]
    np.testing.assert_array_equal(found, adapter.search(vectors(5), vectors(50), 10)[1])
    named = write(tmp_path / "n.parquet", "d", 50)
    words = ("export", path, named, "--id", "id", "--out", tmp_path / "n.faiss")
    assert "--id id: the ids must be integers" in error_of(*words)
    words = ("export", path, "--out", tmp_path / "n.usearch")
    assert "cannot be exported to usearch" in error_of(*words)


def test_export_to_text(run, saved, tmp_path):
    path, adapter = saved
    done = run("export", path, "--to", "postgres", "--half", "--table", "docs", "--columns", "v",
               "--out", tmp_path / "a.sql")  # fmt: skip
    assert done.exit_code == 0, done.output
    script = (tmp_path / "a.sql").read_text()
    assert 'CREATE FUNCTION "docs_search"' in script
    assert "halfvec(8)" in script
    done = run("export", path, "--out", tmp_path / "a.py")
    assert "import a; a.map_queries(X)" in done.stdout
    module = {}
    exec((tmp_path / "a.py").read_text(), module)
    np.testing.assert_allclose(module["map_queries"](vectors(3)),
                               adapter.transform_queries(vectors(3)))  # fmt: skip


def test_export_options_that_need_an_adapter(run, saved, model, tmp_path):
    path, _ = saved
    for words, message in {
        (model, "--side", "query", "--out", tmp_path / "a.onnx"): "require a RetrievalAdapter",
        (model, "--to", "sentence-transformers", "--out", tmp_path / "b"): "require a Retrieval",
        (path, "--side", "query", "--out", tmp_path / "a.py"): "--side can only be used with",
        (path, "--out", tmp_path / "a.faiss"): "DATA must name the file of the documents",
    }.items():
        done = run("export", *words)
        assert done.exit_code == 2, done.output
        assert message in done.output


@pytest.mark.parametrize("verb", ["transform", "predict", "neighbors"])
def test_verbs_for_tables_refuse_an_adapter(saved, wine, error_of, verb):
    more = ("--row", "1") if verb == "neighbors" else ()
    message = error_of(verb, saved[0], wine, *more)
    assert "holds a RetrievalAdapter" in message
