"""Compare test scores of kernel learners under the published protocol with the published scores.

    python benchmarks/published_kernels.py --data DIR KDA KLMNN

DIR contains the folders ``keel`` (data sets with the published folds) and ``paper_tables``. There
are 21 small data sets and five kernels. The classifier uses 3 nearest neighbours, and the learners
use 3 friends, enemies and targets. To choose defaults, use the "tune" half, every other data set in
the order of names. To evaluate them, use the "test" half.
"""

import argparse
import os
from pathlib import Path

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from published import load, score

import dimetric
from dimetric._processes import safe_path_for_children
from dimetric.kernels import Kernel

LEARNERS = ["KPCA", "KDA", "KANMM", "KDMLMJ", "KLMNN"]
KERNELS = {
    "Linear": "linear",
    "Poly-2": Kernel("poly", degree=2),
    "Poly-3": Kernel("poly", degree=3),
    "RBF": "rbf",
    "Laplacian": "laplacian",
}
K = 3


def make_learner(name, **options):
    """Return a learner with K neighbours, friends and enemies."""
    learner = getattr(dimetric, name)(**options)
    tied = {"n_neighbors", "n_friends", "n_enemies"} & learner.get_params().keys()
    return learner.set_params(**dict.fromkeys(tied, K))


def scores(name, options, data, jobs):
    """Return the mean score and time on each data set."""
    folds = [(title, number) for title in data for number in range(10)]
    tasks = []
    for title, number in folds:
        X, y, fold = data[title]
        tasks.append(delayed(score)(make_learner(name, **options), X, y, fold == number, K))
    with safe_path_for_children():
        scores = Parallel(jobs)(tasks)
    table = pd.DataFrame(scores, columns=["score", "seconds", "n_iter"])
    return table.groupby(np.array([title for title, _ in folds])).mean()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("learners", nargs="*", default=LEARNERS)
    parser.add_argument("--kernels", nargs="*", default=list(KERNELS))
    parser.add_argument("--data", default=os.environ.get("DIMETRIC_DATA"), type=Path)
    parser.add_argument("--jobs", default=2, type=int)
    parser.add_argument("--half", choices=["tune", "test", "all"], default="all")
    parser.add_argument("--sets", action="store_true", help="print the scores of each data set")
    args = parser.parse_args()
    published = pd.read_csv(args.data / "paper_tables" / "ker-3nn-test.csv", index_col=0)
    names = [name for name in published.index if not name.startswith("AVG")]
    half = {name: ("tune", "test")[i % 2] for i, name in enumerate(sorted(names))}
    names = [name for name in names if args.half in ("all", half[name])]
    data = {name: load(args.data, name) for name in names}
    runs = [(name, title) for name in args.learners for title in args.kernels if name != "LDA"]
    runs += [("LDA", None)] * ("LDA" in args.learners)
    for name, title in runs:
        table = scores(name, {"kernel": KERNELS[title]} if title else {}, data, args.jobs)
        table["half"] = [half[name] for name in table.index]
        if title:
            table["published"] = published[f"{name} [{title}]"].reindex(table.index)
        if args.sets:
            print(table.round(4).to_string())
        means = table.groupby("half").mean(numeric_only=True)
        means.loc["all"] = table.mean(numeric_only=True)
        print(f"{name} {title or ''}")
        print(means.round(4).to_string(), flush=True)


if __name__ == "__main__":
    main()
