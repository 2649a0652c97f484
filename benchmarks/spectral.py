"""Measure ANMM, DMLMJ and Covariance: time, and memory on many samples.

The limit is the time of the matrix product of the squared distances.

Set DIMETRIC_PYDML to the path of a Python interpreter with pyDML installed.
"""

import time

from _measure import added_megabytes, product_seconds, time_in_turns
from _rival import rival
from sklearn.datasets import load_digits, make_classification
from sklearn.neighbors import NearestNeighbors

from dimetric import ANMM, DMLMJ, Covariance

LEARNERS = {learner.__name__: learner for learner in (ANMM, DMLMJ, Covariance)}


def classification(n, d):
    """Return ten overlapping classes."""
    return make_classification(
        n, d, n_informative=d // 2, n_redundant=d // 4, n_classes=10, random_state=0
    )


def large_fit(name, n, d):
    """Return the fit whose memory is measured."""
    X, y = classification(n, d)
    LEARNERS[name]().fit(X[:2000], y[:2000])  # exclude one-time initialization of libraries

    def fit():
        started = time.perf_counter()
        LEARNERS[name]().fit(X, y)
        print(f"{name} {n:,} x {d}: {time.perf_counter() - started:.1f} s", end="", flush=True)

    return fit


def times(title, X, y, repeats):
    """Print the times of all learners and of one search for 3 neighbours as a lower bound."""
    search, *ours = time_in_turns(
        lambda: NearestNeighbors(n_neighbors=3, algorithm="brute").fit(X).kneighbors(),
        *(lambda learner=learner: learner().fit(X, y) for learner in LEARNERS.values()),
        repeats=repeats,
    )
    best = {name: seconds for name, (seconds, _) in zip(LEARNERS, ours, strict=True)}
    print(
        f"{title}: "
        + ", ".join(f"{name} {seconds:.3f} s" for name, seconds in best.items())
        + f"; scikit-learn's brute-force search for 3 neighbours {search[0]:.3f} s; limit: product "
        f"{product_seconds(*X.shape):.3f} s"
    )
    return best


def against_pydml(X, y, ours):
    """Print the times of pyDML, measured in its own process."""
    for name in ("ANMM", "DMLMJ"):
        prepare = f"import dml; learner = dml.{name}()"
        measured = ("DIMETRIC_PYDML", prepare, "learner.fit(X, y)", "learner.transformer()")
        theirs = [rival(*measured, X=X, y=y) for _ in range(3)]
        if None not in theirs:
            seconds = min(seconds for seconds, _ in theirs)
            print(f"  pyDML's {name} {seconds:.3f} s; {seconds / ours[name]:.0f}x")


if __name__ == "__main__":
    digits = load_digits(return_X_y=True)
    against_pydml(*digits, times("digits 1,797 x 64", *digits, 9))
    times("20,000 x 50", *classification(20_000, 50), 2)
    for name in LEARNERS:
        print(f", memory {added_megabytes(large_fit, name, 100_000, 50):.0f} MB")
