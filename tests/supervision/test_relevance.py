"""Tests of Relevance against naive loops, and of its errors."""

import pickle

import numpy as np
import pytest

from dimetric import Relevance


def dense(relevance):
    ranking = np.tile(np.arange(relevance.n_documents), (relevance.n_queries, 1))
    return relevance.grades_of(ranking)


def test_pairs_become_grades():
    relevance = Relevance([[1, 0, 2], [0, 2, 1], [1, 0, 3], [1, 1, 0]], 3, 3)
    assert dense(relevance).tolist() == [[0, 0, 1], [3, 0, 0], [0, 0, 0]]
    assert relevance.n_relevant.tolist() == [1, 1, 0]
    assert relevance.of_query(1).tolist() == [0]
    assert relevance.pairs.tolist() == [[0, 2], [1, 0], [1, 1]]


@pytest.mark.parametrize("same_rows", [False, True])
def test_labels(same_rows):
    rng = np.random.RandomState(0)
    queries = rng.choice(["a", "b", "c"], 20)
    documents = queries if same_rows else rng.choice(["b", "c", "d"], 15)
    relevance = Relevance.from_labels(queries, documents, same_rows=same_rows)
    expected = (queries[:, None] == documents[None, :]).astype(float)
    if same_rows:
        np.fill_diagonal(expected, 0)
    assert np.array_equal(dense(relevance), expected)
    assert np.array_equal(relevance.n_relevant, expected.sum(axis=1))


def test_own_documents_are_not_relevant():
    relevance = Relevance([[0, 0], [0, 1], [1, 1]], 2, 2, own_documents=[0, -1])
    assert dense(relevance).tolist() == [[0, 1], [0, 1]]


def test_parts():
    rng = np.random.RandomState(0)
    pairs = np.column_stack([rng.randint(0, 12, 60), rng.randint(0, 9, 60), rng.randint(0, 3, 60)])
    relevance = Relevance(pairs, 12, 9, own_documents=rng.randint(-1, 9, 12))
    full, queries, documents = dense(relevance), np.array([7, 2, 11]), np.array([0, 3, 4, 8])
    assert np.array_equal(dense(relevance.take(queries)), full[queries])
    part = relevance.with_documents(documents)
    assert np.array_equal(dense(part), full[:, documents])
    kept = np.isin(relevance.own_documents, documents)
    assert np.array_equal(part.own_documents >= 0, kept)
    assert np.array_equal(documents[part.own_documents[kept]], relevance.own_documents[kept])
    assert np.array_equal(dense(pickle.loads(pickle.dumps(relevance))), full)


def test_triplets():
    relevance = Relevance.from_triplets([[0, 1, 2], [0, 2, 0], [1, 0, 1]])
    assert dense(relevance).tolist() == [[0, 1, 1], [1, 0, 0]]
    assert len(relevance) == 5  # judged irrelevant documents are kept


@pytest.mark.parametrize(
    "table",
    [
        [("q2", "d1", 2), ("q1", "d3", 1)],
        np.array([("q2", "d1", 2), ("q1", "d3", 1)], dtype=object),
        {"q2": {"d1": 2}, "q1": ["d3"]},
    ],
)
def test_identifiers(table):
    relevance = Relevance.from_ids(["q1", "q2"], ["d1", "d2", "d3"], table)
    assert dense(relevance).tolist() == [[0, 0, 1], [2, 0, 0]]


def test_identifiers_in_a_data_frame():
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"query": ["q2"], "document": [7], "grade": [0.5]})
    assert dense(Relevance.from_ids(["q1", "q2"], [5, 7], table)).tolist() == [[0, 0], [0, 0.5]]


def test_unknown_identifiers_are_counted():
    table = [("q1", "d1"), ("q9", "d1"), ("q1", "d8"), ("q1", "d9")]
    with pytest.warns(UserWarning, match="1 with an unknown query and 2 with an unknown document"):
        assert len(Relevance.from_ids(["q1"], ["d1"], table)) == 1
    with pytest.raises(ValueError, match="No row of the table has a known query"):
        Relevance.from_ids([1], ["d1"], [("1", "d1")])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Relevance.from_ids(["a", "a"], ["d"], []), "1 duplicate identifiers, .* 'a'"),
        (lambda: Relevance([[0, 5]], 1, 3), "1 of 1 pairs contain an unknown document"),
        (lambda: Relevance([[-1, 0]], 1, 3), "unknown query"),
        (lambda: Relevance([[0.5, 0]], 1, 3), "integer array of shape"),
        (lambda: Relevance([["q", "d"]], 1, 3), "use Relevance.from_ids"),
        (lambda: Relevance([[0, 0]], 1, 3, [-1]), "at least 0"),
        (lambda: Relevance([[0, 0]], 1, 3, [np.nan]), "finite"),
        (lambda: Relevance([[0, 0]], 1, 3, [1, 1]), "there are 1 pairs"),
        (lambda: Relevance([[0, 0]], 1, 3, own_documents=[7]), "from -1 to 2"),
        (lambda: Relevance.from_labels([1], [1, 2], same_rows=True), "as many queries"),
        (lambda: Relevance.from_triplets([[0, 1]]), r"shape \(m, 3\)"),
        (lambda: Relevance([[0, 0]], 1, 3).grades_of([[3]]), "only 3 documents"),
        (lambda: Relevance([[0, 0]], 1, 3).grades_of([[0], [0]]), "each of the 1 queries"),
        (lambda: Relevance.from_ids(["a"], ["d"], [("a",)]), "2 or 3 columns"),
    ],
)
def test_errors(make, message):
    with pytest.raises(ValueError, match=message):
        make()
