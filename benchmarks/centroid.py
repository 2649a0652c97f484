"""Compare NCMML and NCMC with pyDML's: time and final likelihood.

Set DIMETRIC_PYDML to the path of a Python interpreter with pyDML installed. Both maps of NCMC
are evaluated with our centroids.
"""

import numpy as np
from _measure import added_megabytes, time_in_turns
from _rival import rival
from scipy.spatial.distance import cdist
from scipy.special import logsumexp
from sklearn.datasets import load_digits, load_wine, make_classification
from sklearn.preprocessing import minmax_scale

from dimetric import NCMC, NCMML


def likelihood(L, learner, X, y):
    """Return the mean log-likelihood of the labels after a linear map L."""
    D = cdist(X @ L.T, learner.centroids_ @ L.T, "sqeuclidean")
    is_same_class = y[:, None] == learner.centroid_classes_
    of_class = logsumexp(np.where(is_same_class, -D / 2, -np.inf), axis=1)
    return np.mean(of_class - logsumexp(-D / 2, axis=1))


def compare(name, X, y):
    """Print the times and likelihoods of both libraries on one problem."""
    for learner in (NCMML(), NCMC(random_state=0)):
        method = type(learner).__name__
        seconds, _ = time_in_turns(lambda: learner.fit(X, y))[0]  # noqa: B023
        print(
            f"{name}, {method}: dimetric {seconds:.3f} s, log-likelihood "
            f"{likelihood(learner.components_, learner, X, y):.5f} ({learner.n_iter_} iterations)"
        )
        prepare = f"import dml, numpy; numpy.random.seed(0); learner = dml.{method}()"
        theirs = rival(
            "DIMETRIC_PYDML", prepare, "learner.fit(X, y)", "learner.transformer()", X=X, y=y
        )
        if theirs is not None and theirs[1] is None:
            print("  pyDML not finished in 120 s")
        elif theirs is not None:
            reached = likelihood(theirs[1], learner, X, y)
            print(f"  pyDML {theirs[0]:.2f} s, {reached:.5g}; {theirs[0] / seconds:.0f}x")


def large_fit(n, d):
    """Return the fit whose memory is measured."""
    X, y = make_classification(n, d, n_informative=d // 2, n_classes=10, random_state=0)
    return lambda: NCMML(max_iter=10).fit(X, y)


if __name__ == "__main__":
    X, y = load_wine(return_X_y=True)
    compare("wine 178 x 13", minmax_scale(X), y)
    X, y = load_digits(return_X_y=True)
    compare("digits 1,797 x 64", minmax_scale(X), y)
    X, y = make_classification(
        5000, 50, n_informative=25, n_redundant=12, n_classes=10, random_state=0
    )
    compare("5,000 x 50, 10 classes", minmax_scale(X), y)
    print(f"memory, 100,000 x 50 (40 MB): {added_megabytes(large_fit, 100_000, 50):.0f} MB")
