"""Compare PCA with scikit-learn's fastest solver."""

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


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    # The spectrum decays like that of images, plus noise.
    X = rng.normal(size=(20_000, 784)) / np.arange(1, 785) + 0.01 * rng.normal(size=(20_000, 784))
    compare("20,000 x 784 -> 50", X, 50)
    compare("the same in float32", X.astype(np.float32), 50)
    compare("1,000 x 2,000 -> 10", rng.normal(size=(1000, 2000)), 10)
