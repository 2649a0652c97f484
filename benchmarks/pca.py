"""PCA against the fastest of scikit-learn's solvers."""

import numpy as np
from _measure import in_turns
from sklearn.decomposition import PCA as Reference

from dimetric import PCA

SOLVERS = ("auto", "covariance_eigh", "randomized", "arpack")

if __name__ == "__main__":
    rng = np.random.default_rng(0)
    # A spectrum that falls like that of images, and noise
    X = rng.normal(size=(20_000, 784)) @ np.diag(1 / np.arange(1, 785)) + 0.01 * rng.normal(
        size=(20_000, 784)
    )
    results = in_turns(
        lambda: PCA(50).fit(X),
        *(lambda s=s: Reference(50, svd_solver=s, random_state=0).fit(X) for s in SOLVERS),
        repeats=10,
    )
    ours, model = results[0]
    times = {s: seconds for s, (seconds, _) in zip(SOLVERS, results[1:], strict=True)}
    best = min(times, key=times.get)
    print(
        f"20,000 x 784 -> 50: dimetric {ours:.3f} s; scikit-learn "
        + ", ".join(f"{s} {t:.3f} s" for s, t in times.items())
    )
    print(f"its best, {best}, takes {times[best] / ours:.2f} times as long")
    exact = results[1 + SOLVERS.index("covariance_eigh")][1].explained_variance_ratio_.sum()
    print(f"variance kept: {model.explained_variance_ratio_.sum():.6f}, theirs {exact:.6f}")
