"""Compare MCML and LDML with pyDML's: time and final objective. Measure their memory.

Set DIMETRIC_PYDML to the path of a Python interpreter with pyDML installed.
"""

import numpy as np
from _measure import added_megabytes, time_in_turns
from _rival import rival
from sklearn.datasets import load_breast_cancer, load_digits, load_wine, make_classification
from sklearn.preprocessing import StandardScaler

from dimetric import LDML, MCML


def objective(learner, L, X, y):
    """Return the mean objective of a map. LDML uses the best threshold."""
    metadata = type(learner)(init=L, max_iter=1).fit(X, y).metadata()
    return metadata["initial_objective"]


def compare(name, learner, X, y):
    """Print the times and objectives of both libraries on one problem."""
    ((ours, model),) = time_in_turns(lambda: learner.fit(X, y))
    metadata, kind = model.metadata(), type(learner).__name__
    print(
        f"{kind}, {name}: dimetric {ours:.3f} s, objective {metadata['final_objective']:.4f} "
        f"({metadata['n_iter']} iterations, at most {metadata['gap']:.4f} from the optimum)"
    )
    found = rival(
        "DIMETRIC_PYDML",
        f"import dml; learner = dml.{kind}()",
        "learner.fit(X, y)",
        "np.real(learner.transformer())",
        X=X,
        y=y,
    )
    if found is not None:
        theirs, L = found
        if L is None:
            print(f"  pyDML not finished in 120 s: more than {120 / ours:.0f}x")
        else:
            reached = objective(learner, L, X, y)
            print(f"  pyDML {theirs:.1f} s, objective {reached:.4f}; {theirs / ours:.0f}x")


def large_fit(kind, n, d):
    """Return the fit whose memory is measured."""
    X, y = make_classification(n, d, n_informative=d // 2, n_classes=10, random_state=0)
    return lambda: kind(max_iter=3).fit(X, y)


if __name__ == "__main__":
    for load in (load_wine, load_breast_cancer, load_digits):
        X, y = load(return_X_y=True)
        X = StandardScaler().fit_transform(X[:, np.ptp(X, axis=0) > 0])
        name = f"{load.__name__[5:]} {X.shape[0]:,} x {X.shape[1]}"
        for learner in (MCML(max_iter=1000), LDML(max_iter=1000)):
            compare(name, learner, X, y)
    for kind in (MCML, LDML):
        extra = added_megabytes(large_fit, kind, 10_000, 50)
        print(f"memory of {kind.__name__}, 10,000 x 50: {extra:.0f} MB")
