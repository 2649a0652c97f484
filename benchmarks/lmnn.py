"""Compare LMNN with metric-learn's: time, final training loss, memory.

metric-learn 0.7.0 does not run with current scikit-learn. Set DIMETRIC_METRIC_LEARN to the path of
a Python interpreter with ``metric-learn==0.7.0 scikit-learn==1.5.2 "numpy<2.3"`` installed. It also
measures the time of metric-learn. Both maps are evaluated by the same loss with the same targets.
"""

import numpy as np
from _measure import added_megabytes, time_in_turns
from _rival import rival
from sklearn.datasets import load_digits, load_wine
from sklearn.preprocessing import minmax_scale

from dimetric import LMNN
from dimetric.objectives.margins.objective import MarginObjective
from dimetric.objectives.margins.targets import nearest_targets
from dimetric.objectives.objective import on_maps


def overlapping(n, d):
    """Return two Gaussians one standard deviation apart, in which most samples are impostors."""
    rng = np.random.default_rng(0)
    y = np.arange(n) % 2
    return rng.normal(size=(n, d)) + y[:, None] * (np.arange(d) == 0), y


def loss(L, X, y):
    """Return the LMNN loss: the mean of pull and push terms, each with weight one half."""
    order = np.argsort(y, kind="stable")
    X, codes = X[order] - X.mean(axis=0), np.unique(y[order], return_inverse=True)[1]
    f = on_maps(MarginObjective(X, codes, *nearest_targets(X, codes, 3), mu=0.5))
    return f(np.asarray(L, dtype=float).ravel())[0]


def compare(name, X, y, *, limit, repeats=3):
    """Print the times and losses of both libraries on one problem."""
    [(ours, learner)] = time_in_turns(lambda: LMNN().fit(X, y), repeats=repeats)
    metadata = learner.metadata()
    print(
        f"{name}: dimetric {ours:.2f} s, loss {loss(learner.components_, X, y):.4f} "
        f"({learner.n_iter_} iterations, at most {metadata['gap']:.4f} above the optimum)"
    )
    found = rival(
        "DIMETRIC_METRIC_LEARN",
        "from metric_learn import LMNN; learner = LMNN()",
        "learner.fit(X, y)",
        "learner.components_",
        limit=limit,
        X=X,
        y=y,
    )
    if found is None:
        return
    theirs, L = found
    if L is None:
        print(f"  metric-learn not finished in {limit} s: more than {limit / ours:.0f}x")
    else:
        print(f"  metric-learn {theirs:.2f} s, loss {loss(L, X, y):.4f}; {theirs / ours:.1f}x")


def large_fit(n, d):
    """Return the fit whose memory is measured."""
    X, y = overlapping(n, d)
    return lambda: LMNN(max_iter=3).fit(X, y)


if __name__ == "__main__":
    X, y = load_wine(return_X_y=True)
    compare("wine 178 x 13", minmax_scale(X), y, limit=120)
    compare("digits 1,797 x 64", *load_digits(return_X_y=True), limit=600)
    compare("overlapping 500 x 20", *overlapping(500, 20), limit=300)
    compare("overlapping 5,000 x 20", *overlapping(5000, 20), limit=120, repeats=1)
    for n in (5_000, 20_000):
        print(f"memory, overlapping {n:,} x 20: {added_megabytes(large_fit, n, 20):.0f} MB")
