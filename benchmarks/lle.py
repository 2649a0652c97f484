"""Locally linear embedding against scikit-learn's, on a Swiss roll."""

import numpy as np
from _measure import extra_megabytes, in_turns
from sklearn.manifold import LocallyLinearEmbedding

from dimetric import LLE
from dimetric.data import make_swiss_roll

N_NEIGHBORS = 12


def against(n, method, repeats):
    """Print both sides of one method, and how well each finds the roll's parameter."""
    X, t, _ = make_swiss_roll(n, random_state=0)
    (ours, model), (theirs, rival) = in_turns(
        lambda: LLE(N_NEIGHBORS, method=method).fit(X),
        lambda: LocallyLinearEmbedding(
            n_neighbors=N_NEIGHBORS, method=method, random_state=0, n_jobs=-1
        ).fit(X),
        repeats=repeats,
    )
    found = [
        max(np.abs(np.corrcoef(z, t)[0, 1]) for z in fit.embedding_.T) for fit in (model, rival)
    ]
    print(
        f"{method} {n:,}: dimetric {ours:.2f} s, correlation {found[0]:.4f}; scikit-learn "
        f"{theirs:.2f} s, {found[1]:.4f}; {theirs / ours:.1f}x"
    )


def large(n):
    """Prepare the fit whose memory is measured."""
    X = make_swiss_roll(n, random_state=0).X
    return lambda: LLE(N_NEIGHBORS, method="ltsa").fit(X)


if __name__ == "__main__":
    against(10_000, "standard", 5)
    for method in ("modified", "hessian", "ltsa"):
        against(10_000, method, 2)
    print(f"ltsa of 100,000 adds {extra_megabytes(large, 100_000):.0f} MB")
