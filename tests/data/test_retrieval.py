"""Queries, documents and relevance tables in files."""

import gzip
import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import feather, parquet

from dimetric.data import read_beir, read_retrieval

N, D = 6, 5
RNG = np.random.default_rng(0)
VECTORS = RNG.normal(size=(N, D))
IDS = ["007", "8", "b", "c 1", "é", "f,g"]
TEXTS = ["one", "two", "", "four", "five", "six"]


def write_npz(path, ids=IDS, vectors=VECTORS, texts=TEXTS, **more):
    np.savez(path, ids=ids, vectors=vectors, texts=texts, **more)
    return path


def write(path, kind):
    """Write the items to a file of some kind, and return its path."""
    path = path.with_suffix(f".{kind.partition(' ')[0]}")
    frame = pd.DataFrame({"_id": IDS, "text": TEXTS, "topic": list("xxyyzz")})
    lists = pa.array(VECTORS.tolist(), pa.list_(pa.float64()))
    if kind == "npz":
        return write_npz(path, topic=list("xxyyzz"))
    if kind in ("parquet", "feather"):
        table = pa.table({**dict(frame), "embedding": lists})
        (parquet.write_table if kind == "parquet" else feather.write_feather)(table, str(path))
    elif kind == "parquet fixed":
        fixed = lists.cast(pa.list_(pa.float64(), D))
        parquet.write_table(pa.table({**dict(frame), "v": fixed}), path, row_group_size=2)
    elif kind == "csv":
        wide = pd.DataFrame(VECTORS, columns=[f"e{i}" for i in range(D)])
        pd.concat([frame, wide], axis=1).to_csv(path, index=False)
    elif kind == "csv text":
        frame.assign(vector=[str(each.tolist()) for each in VECTORS]).to_csv(path, index=False)
    else:
        rows = frame.assign(vector=VECTORS.tolist()).to_dict("records")
        path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return path


def relevance_file(path, rows, header="query_id,document_id,score"):
    path.write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def clicks(tmp_path):
    return relevance_file(tmp_path / "rel.csv", ["007,8,1", '"f,g",é,2', "c 1,007,1"])


KINDS = ["npz", "parquet", "parquet fixed", "feather", "csv", "csv text", "jsonl"]


@pytest.mark.parametrize("kind", KINDS)
def test_all_formats_give_the_same_data(tmp_path, clicks, kind):
    path = write(tmp_path / "q", kind)
    documents = write_npz(tmp_path / "d.npz")
    with pytest.warns(UserWarning, match="Left out 3 of 6 queries, which have no relevant"):
        data = read_retrieval(path, documents, clicks, groups="topic")
    assert data.query_ids == ("007", "c 1", "f,g")
    assert data.query_texts == ("one", "four", "six")
    assert data.groups.tolist() == ["x", "y", "z"]
    np.testing.assert_allclose(data.queries, VECTORS[[0, 3, 5]], rtol=1e-12)
    np.testing.assert_array_equal(data.relevance.pairs, [[0, 1], [1, 0], [2, 4]])
    np.testing.assert_array_equal(data.relevance.grades, [1, 1, 2])
    assert len(data.notes) == 1


def test_a_query_does_not_retrieve_itself_if_both_files_are_one(tmp_path, clicks):
    path = write_npz(tmp_path / "items.npz")
    with pytest.warns(UserWarning, match="Left out 3 of 6 queries"):
        data = read_retrieval(path, path, clicks)
    np.testing.assert_array_equal(data.relevance.own_documents, [0, 3, 5])


@pytest.mark.parametrize(
    ("header", "rows", "grades"),
    [
        ("query-id\tcorpus-id\tscore", ["007\t8\t2", "b\té\t0", "b\t8\t1"], [2, 1, 0]),
        ("qid;docid;clicks", ["007;8;12", "b;8;3", "b;é;0"], [1, 1, 0]),
        ("query,item,clicked", ["007,8,True", "b,8,True", "b,é,False"], [1, 1, 0]),
        ("Query ID,document", ["007,8", "007,8", "b,8"], [1, 1]),
        ("query_id,doc_id,rating", ["007,8,-1", "007,b,0.5", "b,8,3"], [0, 0.5, 3]),
    ],
)
def test_relevance_tables(tmp_path, header, rows, grades):
    table = relevance_file(tmp_path / "rel.csv", rows, header)
    items = write_npz(tmp_path / "items.npz")
    with pytest.warns(UserWarning, match="Left out 4 of 6 queries"):
        data = read_retrieval(items, write_npz(tmp_path / "d.npz"), table)
    assert data.query_ids == ("007", "b")
    np.testing.assert_array_equal(data.relevance.grades, grades)


def test_unknown_ids_and_zero_vectors_are_counted(tmp_path):
    zero = VECTORS.copy()
    zero[1] = zero[4] = 0
    rows = ["007,b,1", "b,8,1", "b,c 1,1", "nobody,b,1", "007,nothing,1"]
    table = relevance_file(tmp_path / "rel.csv", rows)
    documents = write_npz(tmp_path / "d.npz", vectors=zero)
    with pytest.warns(UserWarning, match="Left out") as caught:
        data = read_retrieval(write_npz(tmp_path / "q.npz"), documents, table)
    assert data.notes == (
        "Left out 2 of 6 documents with zero vectors: '8', 'é'.",
        "Left out rows of the relevance table: 1 with an unknown query and 2 with an unknown "
        "document, of 5.",
        "Left out 4 of 6 queries, which have no relevant document: '8', 'c 1', 'é', 'f,g'.",
    )
    assert [str(each.message) for each in caught] == list(data.notes)
    assert data.document_ids == ("007", "b", "c 1", "f,g")
    np.testing.assert_array_equal(data.relevance.pairs, [[0, 1], [1, 2]])


def error(match, *args, **options):
    with pytest.raises(ValueError, match=match):
        read_retrieval(*args, **options)


def test_bad_items(tmp_path, clicks):
    good = write_npz(tmp_path / "good.npz")
    twice = write_npz(tmp_path / "twice.npz", ids=["a", "b", "a", "c", "d", "a"])
    error("2 rows repeat the id of another row, for example 'a'", twice, good, clicks)
    nan = np.where(np.arange(D) == 2, np.nan, VECTORS)
    bad = write_npz(tmp_path / "nan.npz", vectors=nan)
    error(r"nan.npz .*6 vectors contain NaN or infinity: those of '007'", good, bad, clicks)
    wide = write_npz(tmp_path / "wide.npz", vectors=np.ones((N, 9)))
    error("have 5 features, but those of the documents have 9", good, wide, clicks)
    error("All vectors of the documents are zero", good,
          write_npz(tmp_path / "z.npz", vectors=np.zeros((N, D))), clicks)  # fmt: skip
    few = write_npz(tmp_path / "few.npz", ids=IDS[:4])
    error(r"the array 'ids' has shape \(4,\), but there are 6 vectors", few, good, clicks)
    np.savez(tmp_path / "none.npz", ids=IDS)
    error("has no array 'vectors', but ids", tmp_path / "none.npz", good, clicks)
    np.save(tmp_path / "one.npy", VECTORS)
    error("holds one array", tmp_path / "one.npy", good, clicks)
    error("has no array 'topic'", good, good, clicks, groups="topic")


def test_bad_vectors(tmp_path, clicks):
    good, path = write_npz(tmp_path / "good.npz"), tmp_path / "bad.parquet"
    ragged = pa.array([[1.0, 2.0], [1.0]])
    parquet.write_table(pa.table({"id": ["a", "b"], "v": ragged}), path)
    error(r"different lengths, such as \[1, 2\]", path, good, clicks)
    parquet.write_table(pa.table({"id": ["a", "b"], "v": pa.array([[1.0], None])}), path)
    error("1 rows have no vector", path, good, clicks)
    parquet.write_table(pa.table({"id": ["a", "b"], "v": pa.array([[1.0], [None]])}), path)
    error("1 numbers of the vectors in 'v' are missing", path, good, clicks)
    parquet.write_table(pa.table({"id": ["a"], "name": ["b"]}), path)
    error("it has no vectors, only the columns 'id' and 'name'", path, good, clicks)
    lines = tmp_path / "q.jsonl"
    lines.write_text('{"_id": 1, "vector": [1, 2]}\n{"_id": 2, "vector": [1, "x"]}')
    error("row 1 has no vector", lines, good, clicks)
    lines.write_text('{"_id": 1, "vector": [1, 2]}\n{"_id": 2, "vector": [1]}')
    error("the vector of row 1 has 1 numbers, but that of row 0 has 2", lines, good, clicks)
    lines.write_text('{"_id": 1, "vector": [1, 2]}\n{"vector": [1, 3]}')
    error("1 rows have no id, for example row 1", lines, good, clicks)


def test_bad_relevance(tmp_path):
    q, d = write_npz(tmp_path / "q.npz"), write_npz(tmp_path / "d.npz")
    path = tmp_path / "rel.csv"
    error("name the columns of ids 'query_id' and 'document_id'", q, d,
          relevance_file(path, ["007,8"], "left,right"))  # fmt: skip
    error("No row of the table has a known query", q, d, relevance_file(path, ["x,y,1"]))
    error("1 of 6 queries have a relevant document, but at least 2", q, d,
          relevance_file(path, ["007,8,1", "b,8,0"]))  # fmt: skip
    error("column 'score' must contain numbers", q, d,
          relevance_file(path, ["007,8,good", "b,8,bad"]))  # fmt: skip
    error("column 'score' has no finite number in 1 rows", q, d,
          relevance_file(path, ["007,8,1", "b,8,"]))  # fmt: skip


def beir_folder(folder, vectors):
    """Write a small folder in the layout of BEIR."""
    (folder / "qrels").mkdir(parents=True)
    for name in ("corpus", "queries"):
        records = [
            {"_id": each, "title": "T" if name == "corpus" else "", "text": text, "metadata": {}}
            for each, text in zip(IDS, TEXTS, strict=True)
        ]
        if vectors == "lines":
            records = [
                record | {"vector": row.tolist()}
                for record, row in zip(records, VECTORS, strict=True)
            ]
        lines = "\n".join(map(json.dumps, records))
        if vectors == "gz":
            (folder / f"{name}.jsonl.gz").write_bytes(gzip.compress(lines.encode()))
        else:
            (folder / f"{name}.jsonl").write_text(lines)
        if vectors == "parquet":  # in another order
            table = pa.table({"id": IDS[::-1], "vector": VECTORS[::-1].tolist()})
            parquet.write_table(table, folder / f"{name}.parquet")
        elif vectors in ("npz", "gz"):
            np.savez(folder / f"{name}.npz", vectors=VECTORS)
    for split, rows in (("test", "8\tb\t1\n"), ("train", "007\té\t2\nb\t8\t1\n")):
        (folder / "qrels" / f"{split}.tsv").write_text(f"query-id\tcorpus-id\tscore\n{rows}")
    return folder


@pytest.mark.parametrize("vectors", ["lines", "npz", "gz", "parquet"])
def test_beir(tmp_path, vectors):
    data = read_beir(beir_folder(tmp_path / "scifact", vectors))
    expected = ["007", "b"] if vectors != "parquet" else ["b", "007"]
    assert list(data.query_ids) == expected
    rows = [IDS.index(each) for each in expected]
    np.testing.assert_allclose(data.queries, VECTORS[rows])
    texts = dict(zip(data.document_ids, data.document_texts, strict=True))
    assert texts["007"] == "T. one"
    assert texts["b"] == "T"
    pairs = {
        (data.query_ids[i], data.document_ids[j], float(grade))
        for (i, j), grade in zip(data.relevance.pairs, data.relevance.grades, strict=True)
    }
    assert pairs == {("007", "é", 2.0), ("b", "8", 1.0)}
    assert data.name == "scifact"
    assert data.notes == ("Relevance of the split train.",)


def test_beir_splits(tmp_path):
    folder = beir_folder(tmp_path / "set", "npz")
    (folder / "qrels" / "train.tsv").rename(folder / "qrels" / "dev.tsv")
    assert read_beir(folder).query_ids == ("007", "8", "b")
    assert read_beir(folder, split="dev").query_ids == ("007", "b")
    with pytest.raises(ValueError, match=r"no table qrels/train.tsv. The splits are 'dev', 'test'"):
        read_beir(folder, split="train")
    np.savez(folder / "corpus.npz", vectors=VECTORS[:4])
    with pytest.raises(ValueError, match=r"4 vectors without ids, but .* has 6 lines"):
        read_beir(folder)
    np.savez(folder / "corpus.npz", vectors=VECTORS, ids=["?", *IDS[1:]])
    with pytest.raises(ValueError, match=r"1 ids of .*corpus.npz are not in .*corpus.jsonl"):
        read_beir(folder)
    with pytest.raises(ValueError, match="is not a directory"):
        read_beir(folder / "nothing")
