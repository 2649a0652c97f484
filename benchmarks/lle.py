"""Compare locally linear embedding with scikit-learn's on a Swiss roll and on images.

Set DIMETRIC_DATA to a folder that holds ``large/mnist.npz`` for the part on images.
"""

import os
from pathlib import Path

import numpy as np
from _measure import added_megabytes, time_in_turns
from sklearn.manifold import LocallyLinearEmbedding

from dimetric import LLE, PCA
from dimetric.data import make_swiss_roll
from dimetric.neighbors.metric_search import metric_neighbors

N_NEIGHBORS = 12
MAX_REFERENCE_IMAGES = 5_000


def compare(n, method, repeats):
    """Print the times of both libraries, and the correlation with the parameter of the roll."""
    X, t, _ = make_swiss_roll(n, random_state=0)
    (ours, model), (theirs, rival) = time_in_turns(
        lambda: LLE(n_neighbors=N_NEIGHBORS, method=method).fit(X),
        lambda: LocallyLinearEmbedding(
            n_neighbors=N_NEIGHBORS, method=method, random_state=0, n_jobs=-1
        ).fit(X),
        repeats=repeats,
    )
    correlations = [
        max(np.abs(np.corrcoef(z, t)[0, 1]) for z in fit.embedding_.T) for fit in (model, rival)
    ]
    print(
        f"{method} {n:,}: dimetric {ours:.2f} s, correlation {correlations[0]:.4f}; "
        f"scikit-learn {theirs:.2f} s, {correlations[1]:.4f}; {theirs / ours:.1f}x"
    )


def images(n, repeats):
    """Print the times on images, which lie on no sheet, so that factors of M fill up.

    The limit is the neighbour search, which both libraries need.
    """
    path = Path(os.environ.get("DIMETRIC_DATA", ".")) / "large" / "mnist.npz"
    if not path.exists():
        print(f"{path} does not exist")
        return
    with np.load(path) as arrays:
        X = arrays["X_train"][:n].reshape(n, -1) / 255.0
    X = PCA(50).fit_transform(X)
    calls = [
        lambda: LLE(n_neighbors=N_NEIGHBORS).fit(X),
        lambda: metric_neighbors(X, N_NEIGHBORS),
        lambda: LocallyLinearEmbedding(n_neighbors=N_NEIGHBORS, random_state=0, n_jobs=-1).fit(X),
    ]
    # scikit-learn needs minutes for many images.
    (ours, model), (limit, _), *theirs = time_in_turns(
        *(calls if n <= MAX_REFERENCE_IMAGES else calls[:2]), repeats=repeats
    )
    print(
        f"standard, {n:,} images: dimetric {ours:.2f} s, error {model.reconstruction_error_:.3e}; "
        f"limit: neighbours {limit:.2f} s"
    )
    for seconds, rival in theirs:
        error = rival.reconstruction_error_
        print(f"  scikit-learn {seconds:.2f} s, error {error:.3e}; {seconds / ours:.1f}x")


def large_fit(n):
    """Return the fit whose memory is measured."""
    X = make_swiss_roll(n, random_state=0).X
    return lambda: LLE(n_neighbors=N_NEIGHBORS, method="ltsa").fit(X)


if __name__ == "__main__":
    compare(10_000, "standard", 5)
    for method in ("modified", "hessian", "ltsa"):
        compare(10_000, method, 2)
    images(2_000, 3)
    images(20_000, 1)
    print(f"memory of ltsa, 100,000 samples: {added_megabytes(large_fit, 100_000):.0f} MB")
