"""Compare trustworthiness with scikit-learn's, and measure all scores of large embeddings.

The limit is the time of the matrix products of the squared distances, of samples and embedding.
"""

import time

import numpy as np
from _measure import added_megabytes, product_seconds, time_in_turns
from sklearn import manifold

from dimetric.quality import embedding_quality, trustworthiness


def points(n, d=50):
    """Return samples with decaying variances, and their first two features as embedding."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d)) @ np.diag(1 / np.arange(1, d + 1))
    return X, X[:, :2]


def large_score(n):
    """Return the computation whose memory is measured."""
    X, Z = points(n)

    def measured():
        started = time.perf_counter()
        trustworthiness(X, Z, n_neighbors=10)
        print(f"trustworthiness {n:,}: {time.perf_counter() - started:.0f} s", end="; ", flush=True)

    return measured


if __name__ == "__main__":
    X, Z = points(6000)
    (ours, value), (theirs, expected), (everything, _) = time_in_turns(
        lambda: trustworthiness(X, Z, n_neighbors=10),
        lambda: manifold.trustworthiness(X, Z, n_neighbors=10),
        lambda: embedding_quality(X, Z, n_neighbors=10),
        repeats=4,
    )
    print(
        f"trustworthiness 6,000: dimetric {ours:.2f} s, {value:.6f}; scikit-learn {theirs:.2f} s, "
        f"{expected:.6f}; {theirs / ours:.1f}x; all scores {everything:.2f} s; limit: products "
        f"{product_seconds(6000, 50) + product_seconds(6000, 2):.2f} s"
    )
    X, Z = points(100_000)
    started = time.perf_counter()
    quality = embedding_quality(X, Z, n_neighbors=10, sample_size=1000, random_state=0)
    print(
        f"all scores, 1,000 of 100,000 samples: {time.perf_counter() - started:.1f} s, "
        f"trustworthiness {quality.trustworthiness:.5f} +- "
        f"{quality.standard_error['trustworthiness']:.5f}"
    )
    print(f"memory {added_megabytes(large_score, 100_000):.0f} MB")
