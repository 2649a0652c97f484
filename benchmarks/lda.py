"""Compare LDA with scikit-learn's."""

import numpy as np
from _measure import time_in_turns
from sklearn.datasets import load_digits, make_classification
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from dimetric import LDA


def compare(name, X, y, repeats=5):
    """Print the times of both libraries on one problem."""
    # scikit-learn's eigen solver requires a nonsingular scatter matrix.
    solvers = ("svd", "eigen") if len(X) > X.shape[1] else ("svd",)
    (ours, _), *theirs = time_in_turns(
        lambda: LDA().fit(X, y),
        *(lambda s=s: LinearDiscriminantAnalysis(solver=s).fit(X, y) for s in solvers),
        repeats=repeats,
    )
    print(
        f"{name}: dimetric {ours * 1e3:.1f} ms; scikit-learn "
        + ", ".join(f"{s} {t * 1e3:.1f} ms" for s, (t, _) in zip(solvers, theirs, strict=True))
        + f"; {min(t for t, _ in theirs) / ours:.1f}x relative to its fastest"
    )


if __name__ == "__main__":
    X, y = load_digits(return_X_y=True)
    # scikit-learn's eigen solver fails on constant pixels.
    compare("digits 1,797 x 61", X[:, X.std(axis=0) > 0], y)
    for n, d in ((20_000, 50), (20_000, 500), (2_000, 500)):
        compare(
            f"{n:,} x {d}",
            *make_classification(
                n, d, n_informative=d // 2, n_redundant=0, n_classes=10, random_state=0
            ),
        )
    rng = np.random.default_rng(0)
    compare("62 x 2,000", rng.normal(size=(62, 2000)), np.arange(62) % 2)
