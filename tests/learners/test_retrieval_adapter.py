"""Tests of RetrievalAdapter: convergence, held-out gains, honest choices, and errors."""

import pickle
from contextlib import contextmanager

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from dimetric import Relevance, RetrievalAdapter
from dimetric.learners import retrieval_adapter
from dimetric.learners._retrieval import choice, solve
from dimetric.learners._retrieval.choice import folds
from dimetric.learners._retrieval.function import Maps
from dimetric.learners._retrieval.solve import Options, fit_maps, initial_maps, softmax_documents
from dimetric.learners._retrieval.vectors import unit_rows
from dimetric.quality.retrieval import ndcg
from dimetric.solvers import LBFGS, GradientDescent

D = 10


def make_topics(rng, n, topics, noise=1.5):
    """Return vectors and topics. Half of the features hold the topic, the others only noise."""
    labels = np.arange(n) % len(topics)
    X = topics[labels] + 0.3 * rng.randn(n, D) + noise * rng.randn(n, D) * (np.arange(D) >= D // 2)
    return X, labels


@pytest.fixture
def rng():
    return np.random.RandomState(0)


@pytest.fixture
def data(rng):
    """Queries, documents, relevance, and a held-out set of queries with their relevance."""
    topics = rng.randn(8, D) * (np.arange(D) < D // 2)
    (Q, q), (X, x), (T, t) = (make_topics(rng, n, topics) for n in (120, 80, 200))
    return Q, X, Relevance.from_labels(q, x), T, Relevance.from_labels(t, x)


def options(**changes):
    settings = {
        "sides": "both",
        "learns_scale": False,
        "n_candidates": 10_000,
        "solver": LBFGS(),
        "max_iter": 500,
        "tol": 1e-8,
        "seed": 0,
    }
    return Options(**settings | changes)


@pytest.mark.parametrize("sides", ["query", "both", "two"])
def test_adapter_improves_queries_that_it_has_not_seen(data, sides):
    Q, X, relevance, T, unseen = data
    adapter = RetrievalAdapter(sides=sides, random_state=0).fit(Q, X, relevance)
    before = ndcg(RetrievalAdapter.search(identity(Q), T, X)[1], unseen).mean()
    after = ndcg(adapter.search(T, X)[1], unseen).mean()
    assert not adapter.is_identity_
    assert after > before + 0.1
    assert np.array_equal(adapter.document_components_, np.eye(D)) == (sides == "query")
    same = np.array_equal(adapter.query_components_, adapter.document_components_)
    assert same == (sides == "both")


def identity(X):
    """Return an adapter that changes nothing: the ridge holds the maps at the start."""
    relevance = Relevance.from_labels(np.arange(len(X)), np.arange(len(X)))
    return RetrievalAdapter(reg=1e12).fit(X, X, relevance)


def test_a_huge_ridge_keeps_the_identity(data):
    adapter = identity(data[0])
    np.testing.assert_allclose(adapter.query_components_, np.eye(D), atol=1e-9)


@pytest.mark.parametrize("sides", ["query", "both", "two"])
def test_two_starts_reach_the_same_maps(rng, data, sides):
    Q, X, relevance = unit_rows(data[0])[0], unit_rows(data[1])[0], data[2]
    initial = initial_maps(Q, X, D, 10.0)
    start = Maps(
        initial.queries + 0.1 * rng.randn(D, D),
        initial.documents if sides == "query" else initial.documents + 0.1 * rng.randn(D, D),
        10.0,
    )
    fits = [
        fit_maps(Q, X, relevance, initial, 0.01, options(sides=sides), start=each)
        for each in (None, start)
    ]
    assert all(fit.result.converged for fit in fits)
    if sides == "two":  # two maps have local minima of nearly equal values
        assert fits[0].result.value == pytest.approx(fits[1].result.value, rel=0.03)
        return
    assert fits[0].result.value == pytest.approx(fits[1].result.value, rel=1e-6)
    np.testing.assert_allclose(fits[0].maps.queries, fits[1].maps.queries, atol=2e-3)
    np.testing.assert_allclose(fits[0].maps.documents, fits[1].maps.documents, atol=2e-3)


def test_another_solver_reaches_the_same_objective(data):
    Q, X, relevance = data[:3]
    settings = {"reg": 0.1, "max_iter": 3000, "tol": 1e-7}
    values = [
        RetrievalAdapter(solver=solver, **settings).fit(Q, X, relevance).metadata()
        for solver in ("lbfgs", GradientDescent())
    ]
    assert values[0]["final_objective"] == pytest.approx(values[1]["final_objective"], rel=1e-4)


def test_fewer_components_start_at_the_principal_axes(data):
    Q, X, relevance, T, unseen = data
    start = RetrievalAdapter(4, reg=1e12).fit(Q, X, relevance)
    adapter = RetrievalAdapter(4, reg=0.01).fit(Q, X, relevance)
    assert adapter.transform_queries(T).shape == (200, 4)
    np.testing.assert_allclose(
        start.query_components_ @ start.query_components_.T, np.eye(4), atol=1e-7
    )
    assert np.array_equal(adapter.document_components_, start.document_components_)
    before, after = (ndcg(each.search(T, X)[1], unseen).mean() for each in (start, adapter))
    assert after > before
    with pytest.raises(ValueError, match="n_components=11 must be at most"):
        RetrievalAdapter(11).fit(Q, X, relevance)


def test_learned_scale_lowers_the_objective(data):
    Q, X, relevance = data[:3]
    fits = [RetrievalAdapter(scale=s, reg=0.1).fit(Q, X, relevance) for s in (10.0, "learn")]
    assert fits[0].scale_ == 10.0
    assert 1 <= fits[1].scale_ <= 100
    values = [fit.metadata()["final_objective"] for fit in fits]
    assert values[1] < values[0] - 1e-3


def test_lengths_of_vectors_do_not_matter(rng, data):
    Q, X, relevance = data[:3]
    scaled = Q * np.exp(rng.randn(len(Q), 1)), X * 1e150
    fits = [RetrievalAdapter(reg=0.1).fit(*each, relevance) for each in ((Q, X), scaled)]
    np.testing.assert_allclose(fits[0].query_components_, fits[1].query_components_, atol=1e-6)
    norms = np.linalg.norm(fits[0].transform_queries(1e-200 * Q), axis=1)
    np.testing.assert_allclose(norms, 1)


def test_order_of_queries_and_documents_does_not_matter(rng, data):
    Q, X, relevance = data[:3]
    q, x = rng.permutation(len(Q)), rng.permutation(len(X))
    moved = np.argsort(q)[relevance.pairs[:, 0]], np.argsort(x)[relevance.pairs[:, 1]]
    settings = {"reg": 0.1, "tol": 1e-8, "max_iter": 500}
    first = RetrievalAdapter(**settings).fit(Q, X, relevance)
    other = RetrievalAdapter(**settings).fit(Q[q], X[x], np.column_stack(moved))
    np.testing.assert_allclose(first.query_components_, other.query_components_, atol=1e-6)


def test_irrelevant_relevance_returns_the_identity(rng):
    """The relevant documents are random, so that no adapter helps."""
    Q, X = rng.randn(80, D), rng.randn(60, D)
    pairs = np.column_stack([np.arange(80), rng.randint(0, 60, 80)])
    adapter = RetrievalAdapter(random_state=0)
    with pytest.warns(UserWarning, match="returns the initial maps: .* no clear gain"):
        adapter.fit(Q, X, pairs)
    assert adapter.is_identity_
    assert np.array_equal(adapter.query_components_, np.eye(D))
    metadata = adapter.metadata()
    assert metadata["reg"] is None
    assert metadata["is_identity"]
    assert "identity" in metadata["cv_scores"]


def test_chosen_reg_has_the_best_cross_validated_score(data):
    metadata = RetrievalAdapter(random_state=0).fit(*data[:3]).metadata()
    scores = metadata["cv_scores"]
    assert scores[metadata["reg"]] == max(scores.values())
    assert scores[metadata["reg"]] - scores["identity"] == pytest.approx(metadata["cv_gain"])


def test_folds_hold_out_groups_with_their_documents():
    labels = np.arange(40) % 5
    relevance = Relevance.from_labels(labels, np.arange(30) % 5)
    for fold in folds(relevance, labels, 3, 0):
        held_out = set(labels[fold.test])
        assert not held_out & set(labels[fold.train])
        assert not held_out & set(fold.documents % 5)
    tested = np.concatenate([fold.test for fold in folds(relevance, labels, 3, 0)])
    assert np.array_equal(np.sort(tested), np.arange(40))


def test_folds_hold_out_documents_that_are_queries():
    relevance = Relevance.from_labels(np.arange(30) % 2, np.arange(30) % 2, same_rows=True)
    for fold in folds(relevance, None, 3, 0):
        assert not set(fold.test) & set(fold.documents)
        assert set(fold.train) <= set(fold.documents)


def test_candidates_approximate_all_documents(rng, data, monkeypatch):
    monkeypatch.setattr(solve, "TOP_DOCUMENTS", 10)
    topics = rng.randn(8, D) * (np.arange(D) < D // 2)
    (Q, q), (X, x) = (make_topics(rng, n, topics) for n in (60, 2000))
    pairs = np.column_stack([np.arange(60), q + 8 * rng.randint(0, 50, 60)])
    assert np.all(x[pairs[:, 1]] == q)
    settings = {"reg": 0.03, "random_state": 0}
    full = RetrievalAdapter(**settings).fit(Q, X, pairs)
    part = RetrievalAdapter(n_candidates=500, **settings).fit(Q, X, pairs)
    assert part.metadata()["n_candidates"] == 500
    assert part.metadata()["n_rounds"] == 3
    assert full.metadata()["n_candidates"] == 2000
    change = np.linalg.norm(full.query_components_ - np.eye(D))
    assert np.linalg.norm(part.query_components_ - full.query_components_) < 0.3 * change


def test_softmax_documents_contain_judged_and_best_ones(rng):
    Q, X = unit_rows(rng.randn(5, D))[0], unit_rows(rng.randn(400, D))[0]
    relevance = Relevance([[i, 7 * i, i % 2] for i in range(5)], 5, 400)
    chosen, weights = softmax_documents(
        Q, X, relevance, initial_maps(Q, X, D, 10.0), options(n_candidates=50)
    )
    assert len(chosen) == 50
    assert set(relevance.documents) <= set(chosen)
    best = np.argsort(-(Q @ X.T), axis=1)[:, :4]
    assert set(best.ravel()) <= set(chosen)
    assert weights.sum() == pytest.approx(400)  # random documents stand for all others
    assert set(weights[np.isin(chosen, best)]) == {1.0}


def test_float32_and_torch(data):
    torch = pytest.importorskip("torch")
    Q, X, relevance = data[:3]
    host = RetrievalAdapter(reg=0.1).fit(Q, X, relevance)
    single = RetrievalAdapter(reg=0.1).fit(Q.astype(np.float32), X, relevance)
    assert single.query_components_.dtype == np.float32
    np.testing.assert_allclose(single.query_components_, host.query_components_, atol=2e-3)
    tensor = RetrievalAdapter(reg=0.1).fit(torch.asarray(Q), torch.asarray(X), relevance)
    assert isinstance(tensor.query_components_, torch.Tensor)
    np.testing.assert_allclose(tensor.query_components_, host.query_components_, atol=1e-6)
    scores, positions = tensor.search(torch.asarray(Q), torch.asarray(X), 5)
    assert np.array_equal(positions, host.search(Q, X, 5)[1])
    np.testing.assert_allclose(scores, host.search(Q, X, 5)[0], atol=1e-6)
    auto = RetrievalAdapter(random_state=0).fit(torch.asarray(Q), torch.asarray(X), relevance)
    expected = RetrievalAdapter(random_state=0).fit(Q, X, relevance)
    assert auto.metadata()["reg"] == expected.metadata()["reg"]


def test_estimator_interface(data):
    Q, X, relevance = data[:3]
    adapter = RetrievalAdapter(reg=0.1, solver=LBFGS(), verbose=0, random_state=0)
    copy = clone(adapter).set_params(sides="two")
    assert (adapter.sides, copy.sides) == ("query", "two")
    adapter.fit(Q, X, relevance)
    again = clone(adapter).fit(Q, X, relevance)
    assert np.array_equal(adapter.query_components_, again.query_components_)
    loaded = pickle.loads(pickle.dumps(adapter))
    assert np.array_equal(loaded.transform_documents(X), adapter.transform_documents(X))
    for call in ("transform_queries", "transform_documents"):
        with pytest.raises(NotFittedError):
            getattr(copy, call)(Q)
    for wrong in ({"sides": "all"}, {"scale": 0}, {"reg": -1}, {"cv": 1}, {"solver": "adam"}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            RetrievalAdapter(**wrong).fit(Q, X, relevance)


def test_verbose_reports_iterations(data, capsys):
    RetrievalAdapter(reg=0.1, verbose=1).fit(*data[:3])
    assert "RetrievalAdapter: iteration 1, objective" in capsys.readouterr().err


def test_queries_without_relevant_documents_are_counted(data):
    Q, X, relevance = data[:3]
    pairs = relevance.pairs[relevance.pairs[:, 0] >= 3]
    with pytest.warns(UserWarning, match="3 of 120 queries have no relevant document"):
        fitted = RetrievalAdapter(reg=0.1).fit(Q, X, pairs)
    expected = RetrievalAdapter(reg=0.1).fit(Q[3:], X, relevance.take(np.arange(3, 120)))
    np.testing.assert_allclose(fitted.query_components_, expected.query_components_, atol=1e-9)


def test_one_query(data):
    Q, X = data[:2]
    assert RetrievalAdapter(reg=0.1).fit(Q[:1], X, [[0, 3]]).search(Q[:1], X)[1][0, 0] >= 0
    with pytest.raises(ValueError, match=r"at least 2 queries .* set reg to a number"):
        RetrievalAdapter().fit(Q[:1], X, [[0, 3]])
    with pytest.raises(ValueError, match="at least 2 groups"):
        RetrievalAdapter().fit(Q[:2], X, [[0, 3], [1, 3]], groups=[1, 1])


@pytest.mark.parametrize("n_candidates", [None, 40])
def test_no_convergence_warns(data, n_candidates):
    adapter = RetrievalAdapter(reg=1e-3, max_iter=4, n_candidates=n_candidates, random_state=0)
    with pytest.warns(ConvergenceWarning, match="max_iter=4 reached"):
        adapter.fit(*data[:3])
    assert adapter.metadata()["n_iter"] == 4


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda Q, X, r: (Q * (np.arange(len(Q)) > 1)[:, None], X, r), "row 0, 1 .2 in all"),
        (
            lambda Q, X, r: (Q, X * (np.arange(len(X)) > 0)[:, None], r),
            "documents contains zero vectors",
        ),
        (lambda Q, X, r: (Q, X[:, :4], r), "10 features and documents have 4"),
        (lambda Q, X, r: (Q[:5], X, r), "relevance refers to 120 queries, but there are 5"),
        (lambda Q, X, r: (Q, X[:5], r), "relevance refers to 80 documents, but there are 5"),
        (lambda Q, X, r: (Q, X, [[0, 99]]), "1 of 1 pairs contain an unknown document"),
        (lambda Q, X, r: (Q, X, []), "No query has a relevant document"),
        (lambda Q, X, r: (Q * np.nan, X, r), "NaN"),
    ],
)
def test_bad_input(data, change, message):
    with pytest.raises(ValueError, match=message):
        RetrievalAdapter().fit(*change(*data[:3]))


def test_large_sets_choose_reg_on_a_part_of_the_queries(data, monkeypatch):
    monkeypatch.setattr(choice, "MAX_QUERIES", 30)
    Q, X, relevance = data[:3]
    parts = list(folds(relevance, None, 3, 0, choice.MAX_QUERIES))
    assert sum(len(fold.test) for fold in parts) == 30
    assert not RetrievalAdapter(random_state=0).fit(Q, X, relevance).is_identity_


def test_time_limit_ends_the_choice_and_the_fit(data):
    Q, X, relevance = data[:3]
    adapter = RetrievalAdapter(random_state=0)
    metadata = adapter._fit(Q, X, relevance, None, 1e-9)
    assert metadata["cv_timed_out"]
    assert set(metadata["cv_scores"]) == {"identity", choice.REGS[0]}
    fixed = RetrievalAdapter(reg=1e-3)._fit(Q, X, relevance, None, 1e-9)
    assert (fixed["n_iter"], fixed["reason"]) == (1, solve.TIME_LIMIT_REACHED)
    assert not RetrievalAdapter()._fit(Q, X, relevance, None)["cv_timed_out"]


def test_blas_has_one_thread_beside_an_accelerator(data, monkeypatch):
    limits = []  # those that hold

    @contextmanager
    def recorded_limit():
        limits.append(1)
        yield
        limits.pop()

    class RecordingLBFGS(LBFGS):
        def minimise(self, *args, **kwargs):
            seen.append(len(limits))
            return super().minimise(*args, **kwargs)

    monkeypatch.setattr(retrieval_adapter, "one_blas_thread", recorded_limit)
    for on_host, expected in ((True, 0), (False, 1)):
        seen = []
        monkeypatch.setattr(retrieval_adapter, "is_host", lambda X, on_host=on_host: on_host)
        RetrievalAdapter(solver=RecordingLBFGS(), random_state=0).fit(*data[:3])
        assert set(seen) == {expected}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:RetrievalAdapter")
def test_random_clicks_give_no_adapter():
    """At most 5 % of 40 fits may return an adapter if sparse clicks are random, with groups."""
    claims = 0
    for seed in range(40):
        rng = np.random.RandomState(seed)
        spectrum = np.arange(1, 65) ** -0.5
        Q, X = (rng.randn(n, 64) * spectrum + 1 for n in (60, 300))
        clicks = [(i, j) for i in range(60) for j in rng.choice(300, 1 + i % 2, replace=False)]
        adapter = RetrievalAdapter(random_state=seed)
        claims += not adapter.fit(Q, X, clicks, groups=rng.randint(0, 12, 60)).is_identity_
    assert claims <= 2
