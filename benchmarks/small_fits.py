"""Measure fits of all learners to iris and wine, where fixed costs dominate.

``small_fits.py --save FILE`` also writes the times and objectives to a file. ``small_fits.py
--before FILE`` compares them with those of another version, which were saved on the same machine.
"""

import argparse
import json
import time
import warnings
from pathlib import Path

from sklearn.datasets import load_iris, load_wine
from sklearn.preprocessing import minmax_scale

import dimetric

LEARNERS = (
    *("PCA", "Covariance", "LDA", "ANMM", "DMLMJ", "NCA", "LMNN", "MCML", "LDML", "NCMML", "NCMC"),
    *("ITML", "LSI", "DMLEig", "KPCA", "KDA", "KANMM", "KDMLMJ", "KLMNN"),
)
MIN_REPEATS, MAX_REPEATS = 5, 200
SECONDS = 0.5  # of repeats for each fit


def best_time(learner, X, y):
    """Return the shortest time of repeated fits in milliseconds."""
    best, total, repeats = float("inf"), 0.0, 0
    while repeats < MIN_REPEATS or (total < SECONDS and repeats < MAX_REPEATS):
        started = time.perf_counter()
        learner.fit(X, y)
        elapsed = time.perf_counter() - started
        best, total, repeats = min(best, elapsed), total + elapsed, repeats + 1
    return 1e3 * best


def measured(name, X, y):
    """Return the time of a fit in milliseconds, and its objective if there is one."""
    learner = getattr(dimetric, name)()
    best = best_time(learner, X, y)
    return best, learner.metadata().get("final_objective")


def row(name, dataset, found, before):
    """Return a line of the table."""
    milliseconds, objective = found
    line = f"{name:<12}{dataset:<6}{milliseconds:>9.2f} ms"
    line += f"{'' if objective is None else format(objective, '.6g'):>12}"
    if before is not None:
        line += f"{before[0]:>12.2f} ms{before[0] / milliseconds:>8.2f}x"
        line += f"{'' if before[1] is None else format(before[1], '.6g'):>12}"
    return line


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--save", type=Path, help="write the results to this file")
    parser.add_argument("--before", type=Path, help="compare with the results in this file")
    parser.add_argument("--only", nargs="*", default=LEARNERS, help="names of learners")
    arguments = parser.parse_args()
    old = json.loads(arguments.before.read_text()) if arguments.before else {}
    new = {}
    warnings.simplefilter("ignore")
    for load in (load_iris, load_wine):
        X, y = load(return_X_y=True)
        X, dataset = minmax_scale(X), load.__name__[5:]
        for name in arguments.only:
            new[f"{name} {dataset}"] = found = measured(name, X, y)
            print(row(name, dataset, found, old.get(f"{name} {dataset}")), flush=True)
    if arguments.save:
        arguments.save.write_text(json.dumps(new, indent=1))
