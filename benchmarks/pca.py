"""Compare PCA with scikit-learn's: fits with its fastest solver, and the map of samples."""

import numpy as np
from _measure import time_in_turns
from sklearn.decomposition import PCA as Reference

from dimetric import PCA

SOLVERS = ("auto", "covariance_eigh", "randomized", "arpack")


def compare(name, X, k):
    """Find the fastest solver of scikit-learn, then measure it and dimetric alternately."""
    rivals = [lambda s=s: Reference(k, svd_solver=s, random_state=0).fit(X) for s in SOLVERS]
    times = [seconds for seconds, _ in time_in_turns(*rivals, repeats=2)]
    best = int(np.argmin(times))
    (ours, model), (theirs, rival) = time_in_turns(lambda: PCA(k).fit(X), rivals[best], repeats=10)
    print(
        f"{name}: dimetric {ours:.3f} s; scikit-learn ({SOLVERS[best]}) {theirs:.3f} s: "
        f"{theirs / ours:.2f}x; explained variance {model.explained_variance_ratio_.sum():.6f} and "
        f"{rival.explained_variance_ratio_.sum():.6f}"
    )


def transform(n, d, k):
    """Print the times to map samples, and of the matrix product alone as a limit."""
    X = np.random.default_rng(0).normal(3, 1, size=(n, d))
    model, rival = PCA(k).fit(X), Reference(k).fit(X)
    (ours, Z), (theirs, expected), (limit, _) = time_in_turns(
        lambda: model.transform(X),
        lambda: rival.transform(X),
        lambda: X @ model.components_.T,
        repeats=20,
    )
    difference = np.abs(np.abs(Z) - np.abs(expected)).max()
    print(
        f"transform {n:,} x {d} -> {k}: dimetric {1e3 * ours:.1f} ms; scikit-learn "
        f"{1e3 * theirs:.1f} ms: {theirs / ours:.2f}x; limit: product {1e3 * limit:.1f} ms; "
        f"results differ by {difference:.0e}"
    )


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    # The spectrum decays like that of images, plus noise.
    X = rng.normal(size=(20_000, 784)) / np.arange(1, 785) + 0.01 * rng.normal(size=(20_000, 784))
    compare("20,000 x 784 -> 50", X, 50)
    compare("the same in float32", X.astype(np.float32), 50)
    compare("1,000 x 2,000 -> 10", rng.normal(size=(1000, 2000)), 10)
    for k in (2, 10, 50):
        transform(200_000, 50, k)
