"""Tests of compare_retrieval: verdicts, honest splits, losers and errors."""

import json

import numpy as np
import pytest

import dimetric.advice._retrieval.held_out as held_out_module
from dimetric import Relevance, RetrievalAdapter, compare_retrieval
from dimetric.advice import RetrievalComparison
from dimetric.quality.retrieval import ndcg, rank_documents

D = 8


def topic_vectors(rng, n, topics, noise):
    labels = np.arange(n) % len(topics)
    features = noise * rng.randn(n, D) * (np.arange(D) >= D // 2)
    return topics[labels] + 0.3 * rng.randn(n, D) + features, labels


@pytest.fixture(scope="module")
def data():
    rng = np.random.RandomState(0)
    topics = rng.randn(9, D) * (np.arange(D) < D // 2)
    (Q, q), (X, x) = (topic_vectors(rng, n, topics, 1.5) for n in (135, 90))
    return Q, X, q, x


@pytest.fixture(scope="module")
def comparison(data):
    Q, X, q, x = data
    return compare_retrieval(
        Q,
        X,
        Relevance.from_labels(q, x),
        query_texts=[f"query {i}" for i in range(len(Q))],
        document_texts=[f"document {j}" for j in range(len(X))],
    )


def test_a_real_gain_is_found(comparison, data):
    assert isinstance(comparison, RetrievalComparison)
    assert comparison.verdict.startswith("adapter is better than identity")
    assert comparison.posterior.right > 0.95
    assert (comparison.n_queries, comparison.n_tested, comparison.n_folds) == (135, 135, 3)
    assert set(comparison.scores) | set(comparison.skipped) == {
        "identity",
        "adapter",
        "whitening",
        "LDA",
        "NCA",
        "LMNN",
    }
    assert comparison.scores["LDA"]["ndcg@10"] > comparison.scores["identity"]["ndcg@10"]
    assert isinstance(comparison.adapter, RetrievalAdapter)
    assert comparison.adapter.transform_queries(data[0]).shape == (135, D)


def test_scores_of_the_identity_are_those_of_plain_retrieval(comparison, data):
    Q, X, q, x = data
    expected = ndcg(rank_documents(Q, X, 10)[1], Relevance.from_labels(q, x))
    np.testing.assert_allclose(comparison.query_scores["identity"], expected)
    assert comparison.scores["identity"]["ndcg@10"] == pytest.approx(expected.mean())


def test_losers_and_winners_partition_the_changed_queries(comparison):
    before, after = (comparison.query_scores[name] for name in ("identity", "adapter"))
    assert [each.query for each in comparison.losers] == sorted(
        np.flatnonzero(after < before), key=lambda i: (after[i] - before[i], i)
    )
    assert {each.query for each in comparison.winners} == set(np.flatnonzero(after > before))
    for each in (*comparison.losers, *comparison.winners):
        assert each.text == f"query {each.query}"
        assert each.first_text_after == f"document {each.first_after}"
        assert (each.before, each.after) == (before[each.query], after[each.query])


def test_record_is_plain(comparison):
    record = json.loads(json.dumps(comparison.as_dict()))
    assert record["verdict"] == comparison.verdict
    assert record["posterior"]["better"] == comparison.posterior.right
    assert str(comparison).startswith(comparison.verdict)


def test_groups_are_held_out_together(data, monkeypatch):
    Q, X, q, x = data
    seen = []
    original = held_out_module._fitted

    def recorded(name, queries, documents, relevance, groups, fold, *rest):
        seen.append((set(q[fold.train]), set(q[fold.test]), set(x[fold.documents])))
        return original(name, queries, documents, relevance, groups, fold, *rest)

    monkeypatch.setattr(held_out_module, "_fitted", recorded)
    names = np.array([f"topic {label}" for label in q])
    result = compare_retrieval(Q, X, Relevance.from_labels(q, x), groups=names, budget=1e-3)
    assert result.split_by == "group"
    assert result.n_folds == 1  # the budget is too short for more
    others = {"whitening", "LDA", "NCA", "LMNN"}
    assert set(result.skipped) == {*others, "adapter with reg < 1"}
    for train, test, documents in seen:
        assert not train & test
        assert not documents & test
    gains = {each.group: each for each in result.group_gains}
    tested = np.isfinite(result.query_scores["adapter"])
    assert set(gains) == set(names[tested])
    for name, each in gains.items():
        rows = (names == name) & tested
        assert each.n_queries == rows.sum()
        assert each.after == pytest.approx(result.query_scores["adapter"][rows].mean())


def test_relevance_without_classes_skips_learners_of_classes(data):
    Q, X = data[:2]
    documents = np.random.RandomState(0).randint(0, 90, 4 * 135)
    pairs = np.column_stack([np.repeat(np.arange(135), 4), documents])
    result = compare_retrieval(Q, X, pairs, adapter=RetrievalAdapter(sides="both", reg=0.1))
    assert set(result.skipped) == {"LDA", "NCA", "LMNN"}
    assert "does not divide" in result.skipped["LDA"]
    assert result.adapter.sides == "both"


@pytest.mark.slow
def test_shuffled_relevance_is_not_called_a_gain(monkeypatch):
    """At most 5 % of 40 comparisons may claim a gain if the relevance is random."""
    monkeypatch.setattr(held_out_module, "RIVALS", ())  # the verdict does not depend on them
    claims = 0
    for seed in range(40):
        rng = np.random.RandomState(seed)
        topics = rng.randn(6, D) * (np.arange(D) < D // 2)
        (Q, q), (X, x) = (topic_vectors(rng, n, topics, 1.0) for n in (90, 60))
        relevance = Relevance.from_labels(rng.permutation(q), x)
        result = compare_retrieval(Q, X, relevance, random_state=seed)
        assert result.n_folds == 3
        assert not result.skipped
        claims += result.verdict.startswith("adapter is better")
    assert claims <= 2


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"relevance": [[0, 0], [1, 1]]}, "needs at least 6 queries .*, but there are only 2"),
        ({"groups": np.arange(135) % 2}, "groups has 2 different values"),
        ({"groups": [1, 2]}, "groups has shape"),
        ({"query_texts": ["a"]}, "query_texts has 1 texts, but there are 135"),
        ({"budget": 0.0}, "budget=0.0 must be"),
        ({"documents": np.zeros((90, D))}, r"documents contains zero vectors, .* \(90 in all\)"),
    ],
)
@pytest.mark.filterwarnings("ignore:.*left out")
def test_errors(data, changes, message):
    Q, X, q, x = data
    arguments = {"queries": Q, "documents": X, "relevance": Relevance.from_labels(q, x)}
    with pytest.raises(ValueError, match=message):
        compare_retrieval(**arguments | changes)


def test_queries_without_relevant_documents_are_counted(data):
    Q, X, q, x = data
    relevance = Relevance.from_labels(np.where(np.arange(135) < 3, 99, q), x)
    with pytest.warns(UserWarning, match="3 of 135 queries have no relevant document"):
        result = compare_retrieval(Q, X, relevance, budget=1e-3)
    assert np.isnan(result.query_scores["adapter"][:3]).all()
