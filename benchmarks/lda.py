"""LDA against scikit-learn's."""

import numpy as np
from _measure import in_turns
from sklearn.datasets import load_digits, make_classification
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from dimetric import LDA


def against(name, X, y, repeats=5):
    """Print both sides of one problem; scikit-learn's faster transformer is the rival."""
    (ours, _), (svd, _), (eigen, _) = in_turns(
        lambda: LDA().fit(X, y),
        lambda: LinearDiscriminantAnalysis(solver="svd").fit(X, y),
        lambda: LinearDiscriminantAnalysis(solver="eigen").fit(X, y),
        repeats=repeats,
    )
    print(
        f"{name}: dimetric {ours * 1e3:.1f} ms; scikit-learn svd {svd * 1e3:.1f} ms, eigen "
        f"{eigen * 1e3:.1f} ms; {min(svd, eigen) / ours:.1f}x its faster one"
    )


if __name__ == "__main__":
    X, y = load_digits(return_X_y=True)
    # Pixels that never change make scikit-learn's eigen solver fail
    against("digits 1,797 x 61", X[:, X.std(axis=0) > 0], y)
    for n, d in ((20_000, 50), (20_000, 500), (2_000, 500)):
        against(
            f"{n:,} x {d}",
            *make_classification(n, d, n_informative=d // 2, n_classes=10, random_state=0),
        )
    rng = np.random.default_rng(0)
    against("62 x 2,000", rng.normal(size=(62, 2000)), np.arange(62) % 2)
