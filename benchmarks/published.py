"""Compare k-NN test scores under the published protocol with the published scores.

    python benchmarks/published.py --data DIR NCA reg=0.1 max_iter=20

DIR contains the folders ``keel`` (data sets with the published folds) and ``paper_tables``.
Features are scaled to [0, 1] on the whole data set before the split into ten folds. To choose
defaults, use the "tune" half, every other data set in the order of names. To evaluate them, use the
"test" half.
"""

import argparse
import ast
import os
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import minmax_scale
from threadpoolctl import threadpool_limits

import dimetric
from dimetric._processes import safe_path_for_children
from dimetric.experiments._protocol import FOLD_COLUMN, load_published_data_set


def load(folder, name):
    """Return X scaled to [0, 1], y and the test fold of each sample."""
    data = load_published_data_set(name, folder)
    return minmax_scale(data.X), data.y, data.extra[FOLD_COLUMN] - 1


def score(learner, X, y, test, n_neighbors):
    """Return the test score, seconds and iterations of one fold."""
    warnings.simplefilter("ignore")
    with threadpool_limits(1):
        started = time.perf_counter()
        Z, W = X[~test], X[test]
        if learner is not None:
            learner.fit(Z, y[~test])
            Z, W = learner.transform(Z), learner.transform(W)
        seconds = time.perf_counter() - started
        value = KNeighborsClassifier(n_neighbors).fit(Z, y[~test]).score(W, y[test])
    return value, seconds, getattr(learner, "n_iter_", 0)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("learner")
    parser.add_argument("options", nargs="*", help="parameters, as name=value")
    parser.add_argument("--data", default=os.environ.get("DIMETRIC_DATA"), type=Path)
    parser.add_argument("--k", default=3, type=int)
    parser.add_argument("--jobs", default=2, type=int)
    parser.add_argument("--half", choices=["tune", "test", "all"], default="all")
    parser.add_argument("--quiet", action="store_true", help="print means only")
    args = parser.parse_args()
    published = pd.read_csv(args.data / "paper_tables" / f"basic-{args.k}nn-test.csv", index_col=0)
    names = [name for name in published.index if not name.startswith("AVG")]
    half = {name: ("tune", "test")[i % 2] for i, name in enumerate(sorted(names))}
    names = [name for name in names if args.half in ("all", half[name])]
    options = {}
    for option in args.options:
        name, value = option.split("=", 1)
        try:
            options[name] = ast.literal_eval(value)
        except (ValueError, SyntaxError):
            options[name] = value
    task_names, tasks = [], []
    for name in names:
        X, y, fold = load(args.data, name)
        for number in range(10):
            learner = None
            if args.learner != "Euclidean":
                learner = getattr(dimetric, args.learner)(**options)
                for tied in ("n_neighbors", "n_friends", "n_enemies"):
                    if tied in learner.get_params():
                        learner.set_params(**{tied: args.k})
            task_names.append(name)
            tasks.append(delayed(score)(learner, X, y, fold == number, args.k))
    with safe_path_for_children():
        scores = Parallel(args.jobs)(tasks)
    table = pd.DataFrame(scores, columns=["score", "seconds", "n_iter"])
    table = table.groupby(np.array(task_names)).mean()
    table["half"] = [half[name] for name in table.index]
    column = args.learner.replace("DMLEig", "DML_eig")
    if column in published:
        table["published"] = published[column].reindex(table.index)
    if not args.quiet:
        print(table.round(4).to_string())
    means = table.groupby("half").mean(numeric_only=True)
    means.loc["all"] = table.mean(numeric_only=True)
    print(args.learner, options)
    print(means.round(4).to_string())


if __name__ == "__main__":
    main()
