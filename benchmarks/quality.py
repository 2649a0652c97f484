"""Scores of embeddings: trustworthiness against scikit-learn's, and all scores of many points."""

import time

import numpy as np
from _measure import extra_megabytes, in_turns
from sklearn import manifold

from dimetric.quality import embedding_quality, trustworthiness


def points(n, d=50):
    """Return correlated features, and the first two of them as embedding."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d)) @ np.diag(1 / np.arange(1, d + 1))
    return X, X[:, :2]


def large(n):
    """Prepare the score whose memory is measured."""
    X, Z = points(n)

    def measured():
        started = time.perf_counter()
        trustworthiness(X, Z, n_neighbors=10)
        print(f"trustworthiness {n:,}: {time.perf_counter() - started:.0f} s", end="; ", flush=True)

    return measured


if __name__ == "__main__":
    X, Z = points(6000)
    (ours, value), (theirs, expected), (everything, _) = in_turns(
        lambda: trustworthiness(X, Z, n_neighbors=10),
        lambda: manifold.trustworthiness(X, Z, n_neighbors=10),
        lambda: embedding_quality(X, Z, n_neighbors=10),
        repeats=4,
    )
    print(
        f"trustworthiness 6,000: dimetric {ours:.2f} s, {value:.6f}; scikit-learn {theirs:.2f} s, "
        f"{expected:.6f}; {theirs / ours:.1f}x; all scores {everything:.2f} s"
    )
    X, Z = points(100_000)
    started = time.perf_counter()
    quality = embedding_quality(X, Z, n_neighbors=10, sample_size=1000, random_state=0)
    print(
        f"all scores of 1,000 in 100,000: {time.perf_counter() - started:.1f} s, trustworthiness "
        f"{quality.trustworthiness:.5f} +- {quality.standard_error['trustworthiness']:.5f}"
    )
    print(f"it adds {extra_megabytes(large, 100_000):.0f} MB")
