"""PCA against the fastest of scikit-learn's solvers."""

import numpy as np
from _measure import in_turns
from sklearn.decomposition import PCA as Reference

from dimetric import PCA

SOLVERS = ("auto", "covariance_eigh", "randomized", "arpack")


def against(name, X, k):
    """Find scikit-learn's best solver for the problem, then take turns with it alone."""
    rivals = [lambda s=s: Reference(k, svd_solver=s, random_state=0).fit(X) for s in SOLVERS]
    times = [seconds for seconds, _ in in_turns(*rivals, repeats=2)]
    best = int(np.argmin(times))
    (ours, model), (theirs, rival) = in_turns(lambda: PCA(k).fit(X), rivals[best], repeats=10)
    print(
        f"{name}: dimetric {ours:.3f} s; scikit-learn's best, {SOLVERS[best]}, {theirs:.3f} s: "
        f"{theirs / ours:.2f}x; variance kept {model.explained_variance_ratio_.sum():.6f} and "
        f"{rival.explained_variance_ratio_.sum():.6f}"
    )


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    # A spectrum that falls like that of images, and noise
    X = rng.normal(size=(20_000, 784)) / np.arange(1, 785) + 0.01 * rng.normal(size=(20_000, 784))
    against("20,000 x 784 -> 50", X, 50)
    against("the same in float32", X.astype(np.float32), 50)
    against("1,000 x 2,000 -> 10", rng.normal(size=(1000, 2000)), 10)
