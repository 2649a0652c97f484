"""Compare Isomap, MDS and the k-NN graph with scikit-learn's. The extra ``fast`` is recommended.

``python benchmarks/manifold.py isomap smacof`` runs only these parts. The part ``million``, which
embeds a million samples, runs only if it is given. The limits are times of what each method cannot
do without: the matrix products of squared distances, or the neighbour search of Isomap.
"""

import sys
import time

import numpy as np
from _measure import added_megabytes, product_seconds, time_in_turns
from scipy.spatial import procrustes
from scipy.spatial.distance import cdist
from sklearn.manifold import MDS as ReferenceMDS
from sklearn.manifold import ClassicalMDS
from sklearn.manifold import Isomap as ReferenceIsomap
from sklearn.neighbors import kneighbors_graph

from dimetric import MDS, Isomap
from dimetric.data import make_swiss_roll
from dimetric.neighbors.metric_search import metric_neighbors


def isomap_of(n, params):
    X = make_swiss_roll(n, random_state=0).X
    Isomap(**params).fit(X[:2000])  # exclude the time of compilation
    return lambda: Isomap(**params).fit(X)


def reference_isomap_of(n, params):
    X = make_swiss_roll(n, random_state=0).X
    ReferenceIsomap(**params).fit(X[:200])
    return lambda: ReferenceIsomap(**params).fit(X)


def isomap(n=8000, k=10):
    sheet = make_swiss_roll(n, random_state=0).coordinates
    ours, theirs = isomap_of(n, {"n_neighbors": k}), reference_isomap_of(n, {"n_neighbors": k})
    X = make_swiss_roll(n, random_state=0).X
    (t, model), (their_t, rival), (limit, _) = time_in_turns(
        ours, theirs, lambda: metric_neighbors(X, k), repeats=2
    )
    our_mb, their_mb = (
        added_megabytes(of, n, {"n_neighbors": k}) for of in (isomap_of, reference_isomap_of)
    )
    print(
        f"Isomap, roll of {n:,}, {k} neighbours: dimetric {t:.2f} s and {our_mb:,.0f} MB; "
        f"scikit-learn {their_t:.2f} s and {their_mb:,.0f} MB: {their_t / t:.1f}x, "
        f"1/{their_mb / our_mb:.1f} of the memory; disparity from the sheet "
        f"{procrustes(sheet, model.embedding_)[2]:.5f} and "
        f"{procrustes(sheet, rival.embedding_)[2]:.5f}; limit: neighbours {limit:.3f} s"
    )


def with_landmarks(n, m, k):
    """Return the fit whose time and memory are measured in one run, because it is slow."""
    X, _, sheet = make_swiss_roll(n, random_state=0)
    isomap = Isomap(n_neighbors=k, n_landmarks=m, random_state=0)
    isomap.fit(X[:2000])  # exclude the time of compilation

    def measured():
        started = time.perf_counter()
        Z = isomap.fit(X).embedding_
        print(
            f"Isomap, roll of {n:,}, {m} landmarks: {time.perf_counter() - started:.1f} s, "
            f"disparity from the sheet {procrustes(sheet, Z)[2]:.5f}",
            end="; ",
            flush=True,
        )

    return measured


def landmarks(n, m=300, k=10):
    print(f"memory {added_megabytes(with_landmarks, n, m, k):,.0f} MB")


def classical(n=4000, d=50):
    X = np.random.default_rng(0).normal(size=(n, d)) / np.arange(1, d + 1)
    D = cdist(X, X)
    for name, data, metric in (("samples", X, "euclidean"), ("distances", D, "precomputed")):
        (t, ours), (their_t, theirs) = time_in_turns(
            lambda data=data, metric=metric: MDS(metric=metric).fit(data),
            lambda data=data, metric=metric: ClassicalMDS(metric=metric).fit(data),
            repeats=1,
        )
        error = np.abs(np.abs(ours.embedding_) - np.abs(theirs.embedding_)).max()
        print(
            f"Classical MDS of {n:,} {name}: dimetric {t:.3f} s; scikit-learn {their_t:.1f} s: "
            f"{their_t / t:.0f}x; coordinates differ by {error:.0e}; limit: product "
            f"{product_seconds(n, d if data is X else 2):.3f} s"
        )


def smacof(n=2000, n_iter=40):
    X = np.random.default_rng(0).normal(size=(n, 10))
    start = {"n_init": 1, "init": "random", "random_state": 0, "eps": 0, "max_iter": n_iter}
    for metric_mds in (True, False):
        (t, ours), (their_t, theirs) = time_in_turns(
            lambda m=metric_mds: MDS(algorithm="smacof", metric_mds=m, **start).fit(X),
            lambda m=metric_mds: ReferenceMDS(metric_mds=m, **start).fit(X),
            repeats=2,
        )
        print(
            f"SMACOF, {n:,} samples, {'metric' if metric_mds else 'non-metric'}: dimetric "
            f"{1e3 * t / n_iter:.1f} ms per iteration; scikit-learn {1e3 * their_t / n_iter:.0f} "
            f"ms: {their_t / t:.1f}x; stress {ours.stress_:.4g} and {theirs.stress_:.4g}; limit: "
            f"product {1e3 * product_seconds(n, 2):.1f} ms per iteration"
        )


def neighbours(n, d, k=10):
    X = np.random.default_rng(0).normal(size=(n, d)) / np.arange(1, d + 1) ** 0.25
    metric_neighbors(X[:2000], k)
    (t, ours), (their_t, graph) = time_in_turns(
        lambda: metric_neighbors(X, k), lambda: kneighbors_graph(X, k, mode="distance"), repeats=3
    )
    same = np.mean(np.sort(ours[1], axis=1) == np.sort(graph.indices.reshape(n, k), axis=1))
    print(
        f"{k} nearest of {n:,} x {d}: dimetric {t:.2f} s; scikit-learn {their_t:.2f} s: "
        f"{their_t / t:.2f}x; {same:.2%} the same; limit: product in float64 "
        f"{product_seconds(n, d):.2f} s"
    )


PARTS = {
    "neighbours": lambda: (neighbours(20_000, 50), neighbours(10_000, 784)),
    "classical": classical,
    "smacof": smacof,
    "isomap": isomap,
    "landmarks": lambda: landmarks(100_000),
    "million": lambda: landmarks(1_000_000),
}

if __name__ == "__main__":
    for name in sys.argv[1:] or [part for part in PARTS if part != "million"]:
        PARTS[name]()
