"""MCML and LDML against pyDML's: seconds, objective reached; then alone on more samples.

pyDML needs a Python of its own, whose path is in DIMETRIC_PYDML.
"""

import numpy as np
from _measure import extra_megabytes, in_turns
from _rival import rival
from sklearn.datasets import load_breast_cancer, load_digits, load_wine, make_classification
from sklearn.preprocessing import StandardScaler

from dimetric import LDML, MCML


def objective(learner, L, X, y):
    """Return the mean objective of a map; LDML's with the best threshold."""
    facts = type(learner)(init=L, max_iter=1).fit(X, y).metadata()
    return facts["initial_objective"]


def against(name, learner, X, y):
    """Print both sides of one problem."""
    ((ours, model),) = in_turns(lambda: learner.fit(X, y))
    facts, kind = model.metadata(), type(learner).__name__
    print(
        f"{kind}, {name}: dimetric {ours:.3f} s, objective {facts['final_objective']:.4f} "
        f"({facts['n_iter']} iterations, at most {facts['gap']:.4f} from the optimum)"
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
            print(f"  pyDML not done in 120 s: more than {120 / ours:.0f}x")
        else:
            reached = objective(learner, L, X, y)
            print(f"  pyDML {theirs:.1f} s, objective {reached:.4f}; {theirs / ours:.0f}x")


def large(kind, n, d):
    """Prepare the fit whose memory is measured."""
    X, y = make_classification(n, d, n_informative=d // 2, n_classes=10, random_state=0)
    return lambda: kind(max_iter=3).fit(X, y)


if __name__ == "__main__":
    for load in (load_wine, load_breast_cancer, load_digits):
        X, y = load(return_X_y=True)
        X = StandardScaler().fit_transform(X[:, np.ptp(X, axis=0) > 0])
        name = f"{load.__name__[5:]} {X.shape[0]:,} x {X.shape[1]}"
        for learner in (MCML(max_iter=1000), LDML(max_iter=1000)):
            against(name, learner, X, y)
    for kind in (MCML, LDML):
        extra = extra_megabytes(large, kind, 10_000, 50)
        print(f"{kind.__name__}, 10,000 x 50 adds {extra:.0f} MB")
