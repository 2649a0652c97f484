"""Compare locally linear embedding with scikit-learn's on a Swiss roll."""

import numpy as np
from _measure import added_megabytes, time_in_turns
from sklearn.manifold import LocallyLinearEmbedding

from dimetric import LLE
from dimetric.data import make_swiss_roll

N_NEIGHBORS = 12


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


def large_fit(n):
    """Return the fit whose memory is measured."""
    X = make_swiss_roll(n, random_state=0).X
    return lambda: LLE(n_neighbors=N_NEIGHBORS, method="ltsa").fit(X)


if __name__ == "__main__":
    compare(10_000, "standard", 5)
    for method in ("modified", "hessian", "ltsa"):
        compare(10_000, method, 2)
    print(f"memory of ltsa, 100,000 samples: {added_megabytes(large_fit, 100_000):.0f} MB")
