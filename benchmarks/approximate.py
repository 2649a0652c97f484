"""Compare approximate with exact searches for neighbours: time and recall.

The extras ``ann`` and ``fast`` are needed. The samples are 50 normal clusters around a linear
subspace of 10 dimensions. Times are seconds of the processor, over all threads, and include the
construction of the index and the measurement of the recall. ``python benchmarks/approximate.py
5000 20000`` runs only these numbers of samples.
"""

import sys
import time

import numpy as np

from dimetric import KNNClassifier
from dimetric.neighbors import ApproximateNeighbors
from dimetric.neighbors.approximate.log import SearchLog
from dimetric.neighbors.metric_search import metric_neighbors
from dimetric.neighbors.roles import enemies, friends

SIZES = (5_000, 10_000, 20_000, 50_000, 100_000, 200_000)
N_FEATURES = (10, 50)
N_NEIGHBORS, N_CLASSES, N_QUERIES = 10, 10, 20_000
MAX_REPEATED = 20_000  # up to this many samples, the fastest of three runs counts


def samples(n, d):
    rng = np.random.default_rng(0)
    cluster = rng.integers(50, size=n)
    X = rng.normal(size=(n, 10)) @ rng.normal(size=(10, d)) + 0.3 * rng.normal(size=(n, d))
    return X + 3 * rng.normal(size=(50, d))[cluster], np.sort(cluster % N_CLASSES)


def graph(X, y, search):
    log = SearchLog(search)
    metric_neighbors(X, N_NEIGHBORS, search=log)
    return log.metadata()


def roles(X, y, search):
    log = SearchLog(search)
    for role in (friends, enemies):
        role(X, y, 3, share_ties=True, search=log)
    return log.metadata()


def classifier(X, y, search):
    model = KNNClassifier(N_NEIGHBORS, search=search).fit(X, y)
    model.predict(X[:: max(1, len(X) // N_QUERIES)] + 0.01)
    return {"search_recall": getattr(model, "search_recall_", 1.0)}


def measured(work, X, y, search):
    """Return the seconds of a work, and its recall."""
    best = np.inf
    for _ in range(3 if len(X) <= MAX_REPEATED else 1):
        started = time.process_time()
        facts = work(X, y, search)
        best = min(best, time.process_time() - started)
    return best, facts.get("search_recall", 1.0)


def main():
    sizes = [int(each) for each in sys.argv[1:]] or SIZES
    print(f"{'work':<10} {'d':>3} {'n':>8} {'exact':>9}", end="")
    for kind in ("hnsw", "ivf"):
        print(f"{kind:>9} {'ratio':>7} {'recall':>7}", end="")
    print()
    for work in (graph, roles, classifier):
        for d in N_FEATURES:
            work(*samples(6000, d), None)  # exclude the time of compilation
            for n in sizes:
                X, y = samples(n, d)
                exact, _ = measured(work, X, y, None)
                print(f"{work.__name__:<10} {d:>3} {n:>8,} {exact:>7.2f} s", end="")
                for kind in ("hnsw", "ivf"):
                    search = ApproximateNeighbors(kind, min_samples=0)
                    seconds, recall = measured(work, X, y, search)
                    print(f"{seconds:>7.2f} s {exact / seconds:>6.1f}x {recall:>7.3f}", end="")
                print(flush=True)


if __name__ == "__main__":
    main()
