"""Tests of rankings and their scores against scikit-learn and naive loops."""

from itertools import permutations

import numpy as np
import pytest
from sklearn.metrics import ndcg_score

from dimetric import Relevance
from dimetric.neighbors import ranking as module
from dimetric.quality.retrieval import (
    average_precision,
    grouped_means,
    mrr,
    ndcg,
    precision,
    rank_documents,
    recall,
)

N, M = 8, 12


@pytest.fixture
def rng():
    return np.random.RandomState(0)


@pytest.fixture
def grades(rng):
    grades = rng.randint(0, 4, (N, M)) * (rng.rand(N, M) < 0.5)
    grades[:, 0] = 1
    grades[3] = 0  # no relevant document
    return grades


def relevance_of(grades):
    pairs = np.argwhere(grades > 0)
    return Relevance(pairs, *grades.shape, grades[grades > 0])


@pytest.mark.parametrize("k", [1, 3, 10, 12, 30])
def test_scores_follow_their_definitions(rng, grades, k):
    ranking = np.array([rng.permutation(M) for _ in range(N)])
    relevance = relevance_of(grades)
    found = {f: f(ranking, relevance, k) for f in (mrr, recall, precision, average_precision)}
    for i in range(N):
        relevant = {j for j in range(M) if grades[i, j] > 0}
        top = list(ranking[i, :k])
        hits = [j in relevant for j in top]
        if not relevant:
            assert all(np.isnan(values[i]) for values in found.values())
            continue
        ranks = [r + 1 for r, hit in enumerate(hits) if hit]
        assert found[mrr][i] == pytest.approx(1 / ranks[0] if ranks else 0)
        assert found[recall][i] == pytest.approx(len(ranks) / len(relevant))
        assert found[precision][i] == pytest.approx(len(ranks) / k)
        precisions = [sum(hits[:r]) / r for r in ranks]
        expected = sum(precisions) / min(k, len(relevant))
        assert found[average_precision][i] == pytest.approx(expected)


@pytest.mark.parametrize("k", [1, 3, 10, 30])
def test_ndcg_equals_scikit_learn(rng, grades, k):
    scores = rng.rand(N, M)
    found = ndcg(np.argsort(-scores, axis=1), relevance_of(grades), k)
    for i in range(N):
        if grades[i].any():
            assert found[i] == pytest.approx(ndcg_score(grades[[i]], scores[[i]], k=k))
        else:
            assert np.isnan(found[i])


def test_mean_ndcg_over_the_orders_of_tied_documents_equals_scikit_learn():
    grades, scores = np.array([[2, 0, 1, 3, 0]]), np.array([[0.5, 0.9, 0.5, 0.5, 0.1]])
    relevance, values = relevance_of(grades), []
    for order in permutations([0, 2, 3]):
        values.append(ndcg([[1, *order, 4]], relevance, 3)[0])
    assert np.mean(values) == pytest.approx(ndcg_score(grades, scores, k=3))


@pytest.mark.parametrize("library", ["numpy", "torch", "array_api_strict"])
@pytest.mark.parametrize("k", [1, 4, 100])
def test_ranking_with_ties_equals_a_stable_sort(rng, library, k, monkeypatch):
    xp = pytest.importorskip(library)
    monkeypatch.setattr(module, "HOST_BLOCK_ENTRIES", 3 * 40)  # blocks of three queries
    # Vectors with entries 0 and 1 and the same norm have many equal, exact inner products.
    queries, documents = np.zeros((20, 8)), np.zeros((40, 8))
    for X in (queries, documents):
        for row in X:
            row[rng.permutation(8)[:4]] = 0.5
    own = np.where(np.arange(20) % 3 == 0, -1, np.arange(20))
    scores, positions = rank_documents(
        xp.asarray(queries), xp.asarray(documents), k, own_documents=own
    )
    S = queries @ documents.T
    S[np.arange(20)[own >= 0], own[own >= 0]] = -np.inf
    expected = np.argsort(-S, axis=1, kind="stable")[:, : min(k, 39)]
    assert np.array_equal(np.asarray(positions), expected)
    assert np.array_equal(np.asarray(scores), np.take_along_axis(S, expected, axis=1))


def test_rankings_shorter_than_k_and_missing_documents():
    relevance = Relevance([[0, 0], [0, 1]], 1, 3)
    assert recall([[0, -1]], relevance, 10) == [0.5]
    assert precision([[0, -1]], relevance, 10) == [0.1]
    assert ndcg([[-1, 0]], relevance)[0] == pytest.approx(1 / np.log2(3) / (1 + 1 / np.log2(3)))


def test_grouped_means():
    assert grouped_means(np.array([1.0, np.nan, 0.0]), [2, 1, 2]) == {2: 0.5}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ndcg([[0, 0]], Relevance([[0, 0]], 1, 2)), "1 queries contains a document twice"),
        (lambda: mrr([[0]], Relevance([[0, 0]], 1, 2), 0), "k=0 must be at least 1"),
        (lambda: recall([0], Relevance([[0, 0]], 1, 2)), "a row of positions"),
        (
            lambda: rank_documents([[0.0, 0.0]], [[1.0, 0.0]]),
            r"zero vectors, for example in row 0 \(1 in all\)",
        ),
        (lambda: rank_documents([[1.0]], [[1.0, 0.0]]), "use SpaceMap"),
        (lambda: rank_documents([[1.0]], [[1.0]], 0), "n_neighbors=0"),
        (lambda: rank_documents([[1.0]], [[1.0]], own_documents=[0, 0]), "own_documents"),
    ],
)
def test_errors(call, message):
    with pytest.raises(ValueError, match=message):
        call()
