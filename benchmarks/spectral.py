"""ANMM, DMLMJ and Covariance: seconds, and the memory that many samples take.

pyDML runs on old releases only: give the Python of an environment that has it as an argument.
"""

import json
import subprocess
import sys
import time

from _measure import extra_megabytes, in_turns
from sklearn.datasets import load_digits, make_classification
from sklearn.neighbors import NearestNeighbors

from dimetric import ANMM, DMLMJ, Covariance

LEARNERS = {learner.__name__: learner for learner in (ANMM, DMLMJ, Covariance)}

PYDML = """
import json, time, warnings
import dml
from sklearn.datasets import load_digits
warnings.simplefilter("ignore")
X, y = load_digits(return_X_y=True)
best = {}
for name in ("ANMM", "DMLMJ"):
    for _ in range(3):
        started = time.perf_counter()
        getattr(dml, name)().fit(X, y)
        seconds = time.perf_counter() - started
        best[name] = min(seconds, best.get(name, seconds))
print(json.dumps(best))
"""


def classification(n, d):
    """Ten overlapping classes."""
    return make_classification(
        n, d, n_informative=d // 2, n_redundant=d // 4, n_classes=10, random_state=0
    )


def large(name, n, d):
    """Prepare the fit whose memory is measured."""
    X, y = classification(n, d)
    LEARNERS[name]().fit(X[:2000], y[:2000])  # what libraries set up once is not counted

    def fit():
        started = time.perf_counter()
        LEARNERS[name]().fit(X, y)
        print(f"{name} {n:,} x {d}: {time.perf_counter() - started:.1f} s", end="", flush=True)

    return fit


def times(title, X, y, repeats):
    """Print all learners beside one search for 3 neighbours, the least that they can do."""
    search, *ours = in_turns(
        lambda: NearestNeighbors(n_neighbors=3, algorithm="brute").fit(X).kneighbors(),
        *(lambda learner=learner: learner().fit(X, y) for learner in LEARNERS.values()),
        repeats=repeats,
    )
    best = {name: seconds for name, (seconds, _) in zip(LEARNERS, ours, strict=True)}
    print(
        f"{title}: "
        + ", ".join(f"{name} {seconds:.3f} s" for name, seconds in best.items())
        + f"; scikit-learn's brute-force search for 3 neighbours {search[0]:.3f} s"
    )
    return best


def against_pydml(python, ours):
    """Print both sides on digits; pyDML's times are taken in its own process."""
    done = subprocess.run([python, "-c", PYDML], capture_output=True, text=True, check=True)
    for name, seconds in json.loads(done.stdout).items():
        print(f"digits: pyDML's {name} {seconds:.3f} s, {seconds / ours[name]:.1f}x ours")


if __name__ == "__main__":
    digits = times("digits 1,797 x 64", *load_digits(return_X_y=True), 9)
    if len(sys.argv) > 1:
        against_pydml(sys.argv[1], digits)
    times("20,000 x 50", *classification(20_000, 50), 2)
    for name in LEARNERS:
        print(f", adds {extra_megabytes(large, name, 100_000, 50):.0f} MB")
