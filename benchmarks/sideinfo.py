"""Compare ITML, LSI and DML-eig with metric-learn's and pyDML's: time, final objective, memory.

All libraries get the same pairs. Set DIMETRIC_METRIC_LEARN and DIMETRIC_PYDML to the paths of
Python interpreters with these libraries installed. Learners from labels are fitted without
regularization (``reg=0``), because the rivals have none.
"""

import numpy as np
from _measure import added_megabytes, time_in_turns
from _rival import rival
from sklearn.datasets import (
    load_breast_cancer,
    load_digits,
    load_iris,
    load_wine,
    make_classification,
)
from sklearn.preprocessing import minmax_scale

from dimetric import ITML, LSI, DMLEig, Pairs
from dimetric.solvers.bregman_projections import BoundedDivergence

LIMIT = 120  # seconds for a rival


def itml(X, y):
    """Print the times and gaps of ITML in both libraries, with the same pairs and bounds."""
    pairs = Pairs.from_labels(y, 4000, random_state=0)
    V = X[pairs.rows[:, 0]] - X[pairs.rows[:, 1]]
    bounds = np.percentile(np.sum(V**2, axis=1), [5, 95])
    learner = ITML(bounds=bounds)
    ((ours, model),) = time_in_turns(lambda: learner.fit(X, pairs=pairs))
    metadata = model.metadata()
    lower_bound = metadata["final_objective"] - metadata["gap"]
    print(f"ITML, digits, 4,000 pairs: dimetric {ours:.2f} s, gap {metadata['gap']:.1e}")
    found = rival(
        "DIMETRIC_METRIC_LEARN",
        "from metric_learn import ITML; learner = ITML()",
        "learner.fit(P, t, bounds=bounds)",
        "learner.get_mahalanobis_matrix()",
        limit=LIMIT,
        P=X[pairs.rows],
        t=np.where(pairs.is_similar, 1, -1),
        bounds=bounds,
    )
    if found is not None and found[1] is None:
        print(f"  metric-learn not finished in {LIMIT} s: more than {LIMIT / ours:.0f}x")
    elif found is not None:
        theirs, M = found
        upper_or_lower = np.where(pairs.is_similar, *bounds)
        objective = BoundedDivergence(V, pairs.is_similar, upper_or_lower, 1.0)
        gap = objective(M.ravel())[0] - lower_bound
        print(f"  metric-learn {theirs:.1f} s, gap {gap:.1e}; {theirs / ours:.0f}x")


def objective_of(kind, L, X, y):
    """Return the objective of a map, scaled so that similar pairs have total squared distance 1."""
    Z = X @ L.T
    i, j = np.triu_indices(len(y), 1)
    squares, same = np.sum((Z[i] - Z[j]) ** 2, axis=1), y[i] == y[j]
    squares /= np.sum(squares[same])
    apart = ~same & np.any(X[i] != X[j], axis=1)
    return np.sum(np.sqrt(squares[apart])) if kind is LSI else np.min(squares[apart])


def labelled(name, kind, theirs, X, y):
    """Print the times and objectives of a learner from labels in both libraries."""
    learner = kind(reg=0.0, delta=1e-6, max_iter=1000)
    ((ours, model),) = time_in_turns(lambda: learner.fit(X, y))
    value, gap = objective_of(kind, model.components_, X, y), model.metadata()["gap"]
    print(
        f"{kind.__name__}, {name}: dimetric {ours:.3f} s, objective {value:.5g} "
        f"(at most {gap:.1e} from the optimum)"
    )
    found = rival(
        "DIMETRIC_PYDML",
        f"import dml; learner = dml.{theirs}",
        "learner.fit(X, y)",
        "np.real(learner.transformer())",
        limit=LIMIT,
        X=X,
        y=y,
    )
    if found is not None and found[1] is None:
        print(f"  pyDML not finished in {LIMIT} s: more than {LIMIT / ours:.0f}x")
    elif found is not None:
        seconds, L = found
        value = objective_of(kind, L, X, y)
        print(f"  pyDML {seconds:.1f} s, objective {value:.5g}; {seconds / ours:.0f}x")


def large_fit(kind, n_pairs):
    """Return the fit whose memory is measured: as many samples as MNIST, 50 features."""
    X, y = make_classification(60_000, 50, n_informative=25, n_classes=10, random_state=0)
    pairs = Pairs.from_labels(y, n_pairs, random_state=0)
    return lambda: kind(max_iter=5).fit(X, pairs=pairs)


if __name__ == "__main__":
    X, y = load_digits(return_X_y=True)
    itml(X[:, np.ptp(X, axis=0) > 0] / 16, y)
    for load in (load_iris, load_wine, load_breast_cancer):
        X, y = load(return_X_y=True)
        name = f"{load.__name__[5:]} {X.shape[0]} x {X.shape[1]}"
        labelled(name, LSI, "LSI(supervised=True)", minmax_scale(X), y)
        labelled(name, DMLEig, "DML_eig()", minmax_scale(X), y)
    for kind in (ITML, LSI, DMLEig):
        extra = added_megabytes(large_fit, kind, 1_000_000)
        print(f"memory of {kind.__name__}, 1,000,000 pairs of 60,000 x 50: {extra:.0f} MB")
