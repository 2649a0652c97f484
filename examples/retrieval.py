"""Adapt frozen embeddings to search, from pairs of queries and documents, and see where it helps.

The data are questions to a bank with 77 intents (BANKING77, Casanueva et al. 2020). Each question
is a vector of 384 numbers, embedded by all-MiniLM-L6-v2, a network that was not trained on banking.
Some of the questions are the documents. A pair says that a document answers a query: it has the
same intent. In a log of clicks, some pairs are wrong.

RetrievalAdapter learns a map of the vectors from 50, 500 or 5,000 pairs, of which 0 or 20 % are
wrong. There are two tests with questions that it has not seen: questions with the intents of the
pairs, and questions with other intents, which have other documents. Without a clear gain for
held-out queries, the adapter leaves the vectors as they are.

Run ``python retrieval.py banking77_minilm384.npz``, or set DIMETRIC_DATA. Without a path, the
example generates smaller data.
"""

import os
import sys
import warnings
from time import perf_counter
from typing import NamedTuple

import numpy as np
from _data import load

from dimetric.learners import RetrievalAdapter
from dimetric.quality.retrieval import mrr, ndcg, rank_documents
from dimetric.supervision import Relevance

NAME = "banking77_minilm384.npz"
CONTENT = "embeddings X of questions, their intents y, split, classes"
N_DOCUMENTS, N_QUERIES, N_TEST = 500, 600, 500
PAIR_COUNTS = (50, 500, 5000)
WRONG_SHARES = (0.0, 0.2)


class Items(NamedTuple):
    """Vectors, and the intent of each."""

    X: np.ndarray
    y: np.ndarray

    def take(self, rows) -> "Items":
        """Return some of the items."""
        return Items(self.X[rows], self.y[rows])


def read_data() -> tuple[Items, np.ndarray]:
    """Return all questions, and which of them are for the test."""
    if len(sys.argv) > 1 or os.environ.get("DIMETRIC_DATA"):
        data = load(NAME, CONTENT)
        items = Items(data["X"].astype(np.float32), data["y"].astype(np.int64))
        return items, data["split"] == 1
    print("No path was given, so the questions are generated.")
    rng = np.random.default_rng(0)
    y = rng.integers(0, 12, 900)
    # Eight features depend on the intent. Sixteen others are noise with a larger variance.
    X = np.hstack([rng.normal(size=(12, 8))[y], 1.5 * rng.normal(size=(900, 16))])
    X += 0.5 * rng.normal(size=X.shape)
    return Items(X.astype(np.float32), y), np.arange(900) % 4 == 0


def sample_pairs(rng, n_pairs, wrong, queries, documents) -> tuple[np.ndarray, np.ndarray]:
    """Return the queries of random pairs, and the pairs. A share of them is wrong."""
    asked = rng.integers(0, len(queries.y), n_pairs)
    members = {each: np.flatnonzero(documents.y == each) for each in np.unique(documents.y)}
    found = np.array([rng.choice(members[queries.y[i]]) for i in asked])
    is_wrong = rng.random(n_pairs) < wrong
    found[is_wrong] = rng.integers(0, len(documents.y), is_wrong.sum())
    rows, positions = np.unique(asked, return_inverse=True)
    return rows, np.stack([positions, found], axis=1)


def scores(adapter, test, documents) -> tuple[float, float]:
    """Return nDCG@10 and MRR@10 of the test queries. Documents of the same intent are relevant."""
    Q, D = test.X, documents.X
    if adapter is not None:
        Q, D = adapter.transform_queries(Q), adapter.transform_documents(D)
    ranking = rank_documents(Q, D, 10)[1]
    relevance = Relevance.from_labels(test.y, documents.y)
    return float(np.mean(ndcg(ranking, relevance))), float(np.mean(mrr(ranking, relevance)))


def fit(queries, documents, n_pairs, wrong) -> RetrievalAdapter:
    """Fit an adapter to random pairs."""
    rng = np.random.default_rng(n_pairs)
    rows, pairs = sample_pairs(rng, n_pairs, wrong, queries, documents)
    adapter = RetrievalAdapter(sides="both", random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it says that the identity is kept, as the table does
        return adapter.fit(queries.X[rows], documents.X, pairs)


def show(title, tests) -> None:
    """Print the scores of the unchanged vectors."""
    print(f"\n{'pairs':>6} {'wrong':>6}", end="")
    print("".join(f"   {name:>21}" for name in tests), "   reg     seconds")
    print(f"{title:>13}", end="")
    for test, documents in tests.values():
        print("   nDCG@10 {:.3f} MRR {:.3f}".format(*scores(None, test, documents)), end="")
    print(flush=True)


def main() -> None:
    """Print the scores for both tests, with more and more pairs."""
    items, is_test = read_data()
    rng = np.random.default_rng(0)
    order = rng.permutation(len(items.y))
    intents = np.unique(items.y)
    unseen = np.isin(items.y, rng.choice(intents, len(intents) // 3, replace=False))
    known = order[~is_test[order] & ~unseen[order]]
    n_documents, n_queries = min(N_DOCUMENTS, len(known) // 3), min(N_QUERIES, len(known) // 2)
    documents, queries = items.take(known[:n_documents]), items.take(known[-n_queries:])
    others = items.take(order[~is_test[order] & unseen[order]][:n_documents])
    new, new_others = (
        items.take(order[is_test[order] & (unseen[order] == wanted)][:N_TEST])
        for wanted in (False, True)
    )
    tests = {"intents of the pairs": (new, documents), "other intents": (new_others, others)}
    print(f"{len(queries.y)} queries, {len(documents.y)} documents, {items.X.shape[1]} features")
    show("unchanged", tests)
    for n_pairs in PAIR_COUNTS:
        for wrong in WRONG_SHARES:
            started = perf_counter()
            adapter = fit(queries, documents, n_pairs, wrong)
            print(f"{n_pairs:6} {wrong:6.0%}", end="")
            for test, found in tests.values():
                print("   nDCG@10 {:.3f} MRR {:.3f}".format(*scores(adapter, test, found)), end="")
            reg = "kept" if adapter.is_identity_ else f"{adapter.metadata()['reg']:g}"
            print(f"   {reg:>7} {perf_counter() - started:7.0f}", flush=True)


if __name__ == "__main__":
    main()
