"""Compare NCA with scikit-learn's, and measure MCML: time, evaluations, final objective, memory.

Each evaluation needs the squared distances of all pairs of samples. The limit is the time of one
float64 matrix product of that size in each evaluation.
"""

import sys

import numpy as np
from _measure import added_megabytes, product_seconds, time_in_turns
from sklearn.datasets import load_digits, make_classification
from sklearn.neighbors import NeighborhoodComponentsAnalysis

from dimetric import MCML, NCA
from dimetric.learners.nca import NCARule
from dimetric.objectives.objective import Objective, on_maps
from dimetric.objectives.pairwise import PairwiseObjective

QUICK_SIZES = ((3000, 50), (5000, 50))
SIZES = (*QUICK_SIZES, (10_000, 50), (5000, 10), (3000, 300))


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


def n_evaluations(learner, X, y):
    """Return how often a fit evaluates the objective of all samples and its gradient."""
    count, original = 0, Objective.gradient_in_map

    def counted(self, L, theta):
        nonlocal count
        count += self.points.shape[0] == len(X)
        return original(self, L, theta)

    Objective.gradient_in_map = counted
    try:
        time_in_turns(lambda: learner.fit(X, y), repeats=1)
    finally:
        Objective.gradient_in_map = original
    return count


def compare(name, X, y, repeats, *, peer=True, **options):
    """Print the times and objectives of both libraries on one problem."""
    learner = NCA(reg=0.0, tol=1e-5, **options)
    calls = [lambda: learner.fit(X, y)]
    if peer:
        calls.append(lambda: NeighborhoodComponentsAnalysis(**options).fit(X, y))
    (ours, model), *others = time_in_turns(*calls, repeats=repeats)
    count = n_evaluations(learner, X, y)
    limit = count * product_seconds(len(X), model.components_.shape[0])
    print(
        f"NCA, {name}: dimetric {ours:.2f} s, objective {objective(model.components_, X, y):.6f} "
        f"({model.n_iter_} iterations, {count} evaluations, {ours / limit:.1f} times the limit)"
    )
    for theirs, rival in others:
        print(
            f"  scikit-learn {theirs:.2f} s, objective {objective(rival.components_, X, y):.6f} "
            f"({rival.n_iter_} iterations); {theirs / ours:.1f}x"
        )


def measure_mcml(name, X, y, repeats):
    """Print the time, objective and evaluations of MCML on one problem."""
    learner = MCML(reg=0.0, tol=1e-5, max_iter=500)
    ((ours, model),) = time_in_turns(lambda: learner.fit(X, y), repeats=repeats)
    facts, count = model.metadata(), n_evaluations(learner, X, y)
    limit = count * product_seconds(*X.shape)
    print(
        f"MCML, {name}: {ours:.2f} s, objective {facts['final_objective']:.6f} "
        f"({facts['n_iter']} iterations, {count} evaluations, {ours / limit:.1f} times the limit)"
    )


def large_fit(kind, n, d):
    """Return the fit whose memory is measured."""
    X, y = classification(n, d)
    return lambda: kind(max_iter=3).fit(X, y)


if __name__ == "__main__":
    is_quick = "--quick" in sys.argv
    X, y = load_digits(return_X_y=True)
    problems = [("digits 1,797 x 64", X / 16, y)]
    for n, d in QUICK_SIZES if is_quick else SIZES:
        problems.append((f"{n:,} x {d}", *classification(n, d)))
    compare("digits to 2 dimensions", X / 16, y, 1, n_components=2)
    for name, X, y in problems:
        is_small = len(X) <= 5000
        compare(name, X, y, 3 if len(X) < 2000 else 1, peer=is_small)
        measure_mcml(name, X, y, 3 if is_small else 1)
    for kind in (NCA, MCML):
        megabytes = added_megabytes(large_fit, kind, 20_000, 50)
        print(f"memory of {kind.__name__}, 20,000 x 50: {megabytes:.0f} MB")
