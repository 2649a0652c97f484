"""Compare KPCA with scikit-learn's and other kernel learners with pyDML's. Measure their memory.

Set DIMETRIC_PYDML to the path of a Python interpreter with pyDML installed.
"""

import numpy as np
from _measure import added_megabytes, time_in_turns
from _rival import rival
from sklearn.datasets import load_digits, load_wine
from sklearn.decomposition import KernelPCA
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import minmax_scale

from dimetric import KANMM, KDA, KDMLMJ, KLMNN, KPCA
from dimetric.kernels import Kernel

SOLVERS = ("auto", "arpack", "randomized")


def blobs(n, d=20):
    """Return samples around fifty centres."""
    rng = np.random.default_rng(0)
    return rng.normal(size=(50, d))[rng.integers(0, 50, n)] + 0.5 * rng.normal(size=(n, d))


def against_scikit_learn(n, k):
    """Print the times of exact KPCA with the RBF kernel in both libraries."""
    X = blobs(n)
    gamma = 1 / X.shape[1]
    rivals = [
        lambda s=s: KernelPCA(k, kernel="rbf", gamma=gamma, eigen_solver=s, random_state=0).fit(X)
        for s in SOLVERS
    ]
    ((auto, _),) = time_in_turns(rivals[0], repeats=1)
    (ours, model), *theirs = time_in_turns(
        lambda: KPCA(k, kernel=Kernel(gamma=gamma)).fit(X), *rivals[1:], repeats=3
    )
    best = int(np.argmin([seconds for seconds, _ in theirs]))
    seconds, other = theirs[best]
    difference = np.abs(model.eigenvalues_ / other.eigenvalues_ - 1).max()
    print(
        f"KPCA, {n:,} samples to {k}: dimetric {ours:.3f} s; scikit-learn's 'auto' {auto:.2f} s: "
        f"{auto / ours:.1f}x; its fastest, {SOLVERS[best + 1]}, {seconds:.3f} s: "
        f"{seconds / ours:.1f}x; eigenvalues differ by {difference:.0e}; limit: kernel matrix "
        f"{limit_of(X, gamma):.3f} s"
    )


def limit_of(X, gamma):
    """Return the seconds that scikit-learn takes for the kernel matrix alone."""
    ((seconds, _),) = time_in_turns(lambda: rbf_kernel(X, gamma=gamma))
    return seconds


def against_pydml(title, X, y):
    """Print the times of all learners with pyDML's kernel and number of components."""
    d = X.shape[1]
    options = {"kernel": Kernel("rbf", gamma="auto")}
    for learner in (KDA(**options), KANMM(d, **options), KDMLMJ(d, **options), KLMNN(**options)):
        name = type(learner).__name__
        ((ours, _),) = time_in_turns(lambda learner=learner: learner.fit(X, y))
        print(f"{name}, {title}: dimetric {ours:.3f} s")
        prepare = f"import dml; learner = dml.{name}(kernel='rbf')"
        found = rival(
            "DIMETRIC_PYDML",
            prepare,
            "learner.fit(X, y)",
            "np.real(learner.transformer())",
            limit=150,
            X=X,
            y=y,
        )
        if found is not None and found[1] is None:
            print(f"  pyDML not finished in 150 s: more than {150 / ours:.0f}x")
        elif found is not None:
            print(f"  pyDML {found[0]:.2f} s: {found[0] / ours:.0f}x")


def landmarks(n, m):
    """Return the fit of KPCA with landmarks whose memory is measured."""
    X = blobs(n)
    return lambda: KPCA(10, kernel=Kernel(n_landmarks=m, random_state=0)).fit(X)


def exact(n):
    """Return the fit of exact KPCA whose memory is measured."""
    X = blobs(n)
    return lambda: KPCA(10).fit(X)


if __name__ == "__main__":
    for title, load in (("wine", load_wine), ("digits", load_digits)):
        X, y = load(return_X_y=True)
        against_pydml(title, minmax_scale(X), y)
    for n in (500, 1_000, 2_500, 5_000):
        for k in (2, 10, 50, 100):
            against_scikit_learn(n, k)
    extra = added_megabytes(landmarks, 200_000, 2_000)
    print(f"memory of KPCA, 200,000 samples and 2,000 landmarks: {extra:.0f} MB")
    size = 20_000**2 * 8 / 2**20
    print(
        f"memory of exact KPCA, 20,000 samples: {added_megabytes(exact, 20_000):.0f} MB, of which "
        f"the kernel matrix takes {size:.0f} MB"
    )
