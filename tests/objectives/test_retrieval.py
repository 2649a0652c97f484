"""Tests of the softmax loss of retrieval against its definition and the engine."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime

from dimetric.learners._retrieval.function import Maps, RetrievalFunction, decode_scale
from dimetric.learners._retrieval.vectors import unit_rows
from dimetric.objectives import retrieval as module
from dimetric.objectives.bipartite import BipartiteObjective
from dimetric.objectives.engine import bipartite_product
from dimetric.objectives.retrieval import RetrievalRule, retrieval_loss
from dimetric.objectives.side import Side
from dimetric.supervision import Relevance

N, M, D, K = 9, 14, 5, 3


@pytest.fixture
def rng():
    return np.random.RandomState(0)


@pytest.fixture
def graded(rng):
    """Graded relevance with judged irrelevant documents and own documents, for each query."""
    pairs = [(i, j, rng.randint(0, 4)) for i in range(N) for j in range(M) if rng.rand() < 0.3]
    pairs += [(i, (i + 5) % M, 2) for i in range(N)]
    return Relevance(pairs, N, M, own_documents=np.where(np.arange(N) < 6, np.arange(N), -1))


def unit(rng, n, d):
    return unit_rows(rng.randn(n, d))[0]


def naive_loss(U, V, relevance, s, weights):
    """Return the sum of the losses by the definition, one query and document at a time."""
    total = 0.0
    grades = relevance.grades_of(np.tile(np.arange(len(V)), (len(U), 1)))
    for i in range(len(U)):
        top, bottom = 0.0, 0.0
        for j in range(len(V)):
            if relevance.own_documents is not None and relevance.own_documents[i] == j:
                continue
            e = weights[j] * np.exp(s * U[i] @ V[j])
            bottom += e
            top += e * grades[i, j] / grades[i].max()
        total -= np.log(top / bottom)
    return total


def test_loss_follows_the_definition(rng, graded):
    U, V, weights = unit(rng, N, K), unit(rng, M, K), 0.5 + rng.rand(M)
    value = retrieval_loss(U, V, graded, 7.0, weights=weights).value
    assert value == pytest.approx(naive_loss(U, V, graded, 7.0, weights), rel=1e-12)


def test_relevant_documents_are_not_negatives(rng):
    """Two equal relevant documents cannot push each other away: the best loss is 0."""
    U = np.eye(2)[[0]]
    V = np.array([[1.0, 0.0], [1.0, 0.0], [-1.0, 0.0]])
    loss = retrieval_loss(U, V, Relevance([[0, 0], [0, 1]], 1, 3), 200.0)
    assert loss.value == pytest.approx(0, abs=1e-12)
    assert np.allclose(loss.documents[:2], loss.documents[0])


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_numpy_path_equals_the_engine(rng, graded, weighted, dtype, monkeypatch):
    monkeypatch.setattr(module, "MIN_BLOCK_ROWS", 2)
    monkeypatch.setattr(module, "BLOCK_ENTRIES", 1)  # blocks of two rows
    U, V = unit(rng, N, K).astype(dtype), unit(rng, M, K).astype(dtype)
    weights = 0.5 + rng.rand(M) if weighted else None
    loss = retrieval_loss(U, V, graded, 7.0, weights=weights)
    rows = Side.of(U)
    columns = Side.of(V, weights=None if weights is None else weights.astype(dtype), first=N)
    rule, theta = RetrievalRule(graded), np.array([7.0])
    value, by_row, by_column, dscale = bipartite_product(
        rule, (U, V), (U, V), rows, columns, theta, block=4
    )
    tolerance = {"rtol": 1e-4, "atol": 1e-5} if dtype == np.float32 else {"rtol": 1e-9}
    np.testing.assert_allclose(loss.value, value, **tolerance)
    np.testing.assert_allclose(loss.scale, dscale, **tolerance)
    # Only the parts orthogonal to the unit vectors matter.
    for found, expected, Z in ((loss.queries, 2 * by_row, U), (loss.documents, 2 * by_column, V)):
        np.testing.assert_allclose(tangent(found, Z), tangent(expected, Z), **tolerance, err_msg=Z)
    objective = BipartiteObjective(rule, U, V, rows, columns, theta)
    points = np.concatenate([U, V])
    np.testing.assert_allclose(objective.evaluate(points, points, theta)[0], value, **tolerance)


def tangent(G, Z):
    return G - np.sum(G * Z, axis=1, keepdims=True) * Z


@pytest.mark.parametrize("sides", ["query", "both", "two"])
@pytest.mark.parametrize("learns_scale", [False, True])
@pytest.mark.parametrize("library", ["numpy", "torch", "array_api_strict"])
def test_gradient_by_finite_differences(rng, graded, sides, learns_scale, library):
    xp = pytest.importorskip(library)
    initial = Maps(rng.randn(K, D), rng.randn(K, D), 5.0)
    Q, documents = unit(rng, N, D), unit(rng, M, D)
    if sides == "query":
        documents = unit_rows(documents @ initial.documents.T)[0]
    function = RetrievalFunction(
        xp.asarray(Q),
        xp.asarray(documents),
        graded,
        0.5 + rng.rand(M),
        initial,
        sides,
        0.1,
        learns_scale,
    )
    x = function.encode(initial)
    x = x + 0.3 * rng.randn(len(x))
    value, gradient = function(x)
    numeric = approx_fprime(x, lambda z: function(z)[0], 1e-6)
    np.testing.assert_allclose(gradient, numeric, rtol=1e-4, atol=1e-5)
    in_numpy = RetrievalFunction(
        Q, documents, graded, function.weights, initial, sides, 0.1, learns_scale
    )
    assert value == pytest.approx(in_numpy(x)[0], rel=1e-10)
    np.testing.assert_allclose(gradient, in_numpy(x)[1], rtol=1e-7, atol=1e-10)


def test_learned_scale_is_bounded():
    assert decode_scale(0.0)[0] == pytest.approx(10.0)
    for t in (-3.0, 0.0, 0.7):
        numeric = (decode_scale(t + 1e-6)[0] - decode_scale(t - 1e-6)[0]) / 2e-6
        assert decode_scale(t)[1] == pytest.approx(numeric, rel=1e-6)
    assert 1 <= decode_scale(-500.0)[0] < decode_scale(500.0)[0] <= 100 * (1 + 1e-12)


def test_loss_of_distant_relevant_documents_is_finite():
    """The probability of the relevant document underflows, but its logarithm does not."""
    U = np.array([[1.0, 0.0]], dtype=np.float32)
    V = np.array([[1.0, 0.0], [-1.0, 0.0]], dtype=np.float32)
    relevance = Relevance([[0, 1]], 1, 2)
    assert retrieval_loss(U, V, relevance, 100.0).value == pytest.approx(200.0)
    torch = pytest.importorskip("torch")
    loss = retrieval_loss(torch.asarray(U), torch.asarray(V), relevance, 100.0)
    assert loss.value == pytest.approx(200.0)
