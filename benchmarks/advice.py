"""Score the models of ``dimetric.compare`` on rows that it never saw.

    python benchmarks/advice.py DIR --budget 10          # data sets: NAME.csv.gz or NAME.npz
    python benchmarks/advice.py --noise 100 --budget 10  # tables whose classes are random

Each data set is split into two stratified halves. ``compare`` gets one half. Its model, and every
candidate with default parameters, are scored on the other half, with the same scaler and number of
neighbours. On a busy machine, ``compare`` evaluates fewer learners and repeats within its budget.
"""

import argparse
import os
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.model_selection import StratifiedKFold

import dimetric
from dimetric.advice._candidates import candidate_learners
from dimetric.advice._race_options import RaceOptions
from dimetric.advice._stratified import stratified_rows
from dimetric.data._named import _directory_readers

N_BOOTSTRAP = 10_000
MIN_MEMBERS = 6  # of a class, because compare needs three rows of each class in its half
COMPARE = "compare"  # name of the model of dimetric.compare in the tables


def data_sets(folder, max_rows):
    """Yield the name, samples and classes of each data set, with at most max_rows rows."""
    for name, read in sorted(_directory_readers(folder).items()):
        data = read("drop")
        X, y = data.X, np.unique(data.y, return_inverse=True)[1]
        rows = np.flatnonzero(np.bincount(y)[y] >= MIN_MEMBERS)
        if len(rows) > max_rows:
            rows = stratified_rows(rows, y, max_rows, MIN_MEMBERS, np.random.default_rng(0))
        yield name, X[rows], y[rows]


def fixed_scores(train, test, n_neighbors):
    """Return the scores of the Euclidean distance and of all candidates."""
    options, (X, y) = RaceOptions(n_neighbors, 5, None, 0, scale="auto"), train
    scores = {}
    for name, learner in {"Euclidean": None, **candidate_learners(*X.shape)}.items():
        try:
            scores[name] = options.pipeline(learner).fit(X, y).score(*test)
        except ValueError as error:
            print(f"  {name}: {error}")
            scores[name] = np.nan
    return scores


def compared(train, args):
    """Return the comparison, and the seconds that it took."""
    started = time.perf_counter()
    options = {"budget": args.budget, "n_neighbors": args.k, "random_state": args.seed}
    return dimetric.compare(*train, **options, n_jobs=args.jobs), time.perf_counter() - started


def scores_of_data_sets(args):
    """Print a line for each data set. Return the scores of all models, one row for each set."""
    table = {}
    for name, X, y in data_sets(args.data, args.max_rows):
        folds = StratifiedKFold(2, shuffle=True, random_state=args.seed)
        train, test = ((X[rows], y[rows]) for rows in next(folds.split(X, y)))
        comparison, seconds = compared(train, args)
        choice, posterior = comparison.choice, comparison.posterior
        scores = {COMPARE: comparison.learner.score(*test)}
        scores |= fixed_scores(train, test, args.k)
        table[name] = scores
        print(
            f"{name:24} {len(train[1]):4} x {X.shape[1]:<4} {scores[COMPARE]:.3f}, Euclidean "
            f"{scores['Euclidean']:.3f}, best {max(scores.values()):.3f}; model {choice.chosen}, "
            f"best {choice.best} (worse {posterior.left:.2f}, better {posterior.right:.2f}), "
            f"{choice.n_repeats} repeats, {len(choice.dropped)} dropped, {seconds:.0f} s",
            flush=True,
        )
    return pd.DataFrame.from_dict(table, orient="index")


def interval(values):
    """Return the 95 % bootstrap interval of a mean over data sets."""
    rng = np.random.default_rng(0)
    means = values[rng.integers(len(values), size=(N_BOOTSTRAP, len(values)))].mean(axis=1)
    return np.quantile(means, [0.025, 0.975])


def print_summary(table):
    """Print the means, and how the model of compare differs from each fixed learner."""
    print(f"\n{'':12} sets mean   compare - learner      wins losses worst")
    for name in table.mean().sort_values(ascending=False).index:
        # A learner has scores on the data sets for which it is a candidate.
        gain = (table[COMPARE] - table[name]).dropna().to_numpy()
        low, high = interval(gain)
        print(
            f"{name:12} {len(gain):4} {table[name].mean():.4f} {gain.mean():+.4f} "
            f"[{low:+.4f}, {high:+.4f}] {np.sum(gain > 0):4} {np.sum(gain < 0):4} {gain.min():+.3f}"
        )


def noise_table(seed):
    """Return samples with random classes, of very different numbers and sizes."""
    rng = np.random.default_rng(seed)
    n = int(np.exp(rng.uniform(np.log(30), np.log(2000))))
    d, n_classes = rng.integers(2, 31), rng.integers(2, 6)
    sizes = rng.dirichlet(np.full(n_classes, 8.0 if seed % 2 else 1.5))
    y = rng.choice(n_classes, size=n, p=0.12 / n_classes + 0.88 * sizes)
    X = rng.standard_normal((n, d)) if seed % 3 else rng.exponential(size=(n, d))
    return X, y


def print_noise(args):
    """Count how often a learner is better on tables of noise, according to compare."""
    n_confident = n_shipped = 0
    for seed in range(args.noise):
        X, y = noise_table(seed)
        comparison, seconds = compared((X, y), args)
        posterior, choice = comparison.posterior, comparison.choice
        n_confident += posterior.right > 0.95
        n_shipped += choice.chosen != "Euclidean"
        print(
            f"{seed:3} {len(X):3} x {X.shape[1]:<2} {np.bincount(y)} {choice.best:6} worse "
            f"{posterior.left:.2f}, better {posterior.right:.2f}, model {choice.chosen}, "
            f"{seconds:.0f} s; so far {n_confident} above .95, {n_shipped} learners in models",
            flush=True,
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", nargs="?", default=os.environ.get("DIMETRIC_DATA"), type=Path)
    parser.add_argument("--budget", default=10.0, type=float, help="seconds for each data set")
    parser.add_argument("--k", default="auto", type=lambda k: k if k == "auto" else int(k))
    parser.add_argument("--jobs", default=1, type=int)
    parser.add_argument("--seed", default=0, type=int)
    parser.add_argument("--max-rows", default=1000, type=int)
    parser.add_argument("--noise", default=0, type=int, help="number of tables of noise")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    if args.noise:
        print_noise(args)
    else:
        print_summary(scores_of_data_sets(args))


if __name__ == "__main__":
    main()
