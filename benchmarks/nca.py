"""Compare NCA with scikit-learn's: time, final objective, memory."""

import numpy as np
from _measure import added_megabytes, time_in_turns
from sklearn.datasets import load_digits, make_classification
from sklearn.neighbors import NeighborhoodComponentsAnalysis

from dimetric import NCA
from dimetric.learners.nca import NCARule
from dimetric.objectives.objective import on_maps
from dimetric.objectives.pairwise import PairwiseObjective


def classification(n, d):
    """Return ten overlapping classes, scaled so that distances are of order 1."""
    X, y = make_classification(
        n, d, n_informative=d // 2, n_redundant=d // 4, n_classes=10, random_state=0
    )
    return X / X.std() / (2 * d) ** 0.5, y


def objective(L, X, y):
    """Return the mean probability that a sample picks a neighbour of its own class."""
    order = np.argsort(y, kind="stable")
    codes = np.unique(y[order], return_inverse=True)[1]
    f = on_maps(PairwiseObjective(NCARule(), X[order] - X.mean(0), codes))
    return -f(L.astype(float).ravel())[0]


def compare(name, X, y, repeats, **options):
    """Print the times and objectives of both libraries on one problem."""
    (ours, model), (theirs, rival) = time_in_turns(
        lambda: NCA(**options).fit(X, y),
        lambda: NeighborhoodComponentsAnalysis(**options).fit(X, y),
        repeats=repeats,
    )
    print(
        f"{name}: dimetric {ours:.2f} s, objective {objective(model.components_, X, y):.5f} "
        f"({model.n_iter_} iterations); scikit-learn {theirs:.2f} s, objective "
        f"{objective(rival.components_, X, y):.5f} ({rival.n_iter_}); {theirs / ours:.1f}x"
    )


def large_fit(n, d):
    """Return the fit whose memory is measured."""
    X, y = classification(n, d)
    return lambda: NCA(max_iter=3).fit(X, y)


if __name__ == "__main__":
    X, y = load_digits(return_X_y=True)
    compare("digits 1,797 x 64", X / 16, y, 3)
    compare("digits to 2 dimensions", X / 16, y, 1, n_components=2)
    compare("5,000 x 50", *classification(5000, 50), 1)
    print(f"memory, 20,000 x 50: {added_megabytes(large_fit, 20_000, 50):.0f} MB")
