"""Measure how well the default learners generalise: held-out k-NN accuracy on many data sets.

Each data set is a file ``<name>.npz`` with samples X and integer classes y. It is split into two
stratified folds. Features are standardised on the training rows of a fold. The accuracy is the mean
of 3-, 5- and 7-nearest-neighbour classification in both folds.

Measure the installed version, then compare two measurements on the sets of a folder::

    python benchmarks/generalisation.py measure --data sets --out before.csv
    python benchmarks/generalisation.py compare before.csv after.csv --data sets/report
"""

import argparse
import csv
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from scipy.stats import wilcoxon
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

import dimetric as dm

NEIGHBORS = (3, 5, 7)
NAMES = (
    *("PCA", "LDA", "ANMM", "DMLMJ", "NCMML", "NCMC", "NCA", "MCML", "LDML", "LMNN", "LSI"),
    *("DMLEig", "ITML", "Covariance", "KDA", "KANMM", "KDMLMJ", "KLMNN"),
)
LEARNERS: dict[str, Callable[[], Any]] = {name: getattr(dm, name) for name in NAMES}
LEARNERS["PCA"] = lambda: dm.PCA(0.95)
# The named classifiers predict by themselves. The learners above are followed by k-NN.
CLASSIFIERS: dict[str, Callable[[], Any]] = {
    "random forest": lambda: RandomForestClassifier(300, random_state=0),
    "gradient boosting": lambda: HistGradientBoostingClassifier(random_state=0),
    "logistic regression": lambda: LogisticRegression(max_iter=1000),
    "RBF SVM": SVC,
}
if hasattr(dm, "MetricEnsembleClassifier"):
    CLASSIFIERS["metric ensemble"] = lambda: dm.MetricEnsembleClassifier(random_state=0)
    CLASSIFIERS["softmax votes under NCA"] = lambda: dm.KNNClassifier(
        learner=dm.NCA(), weights="softmax"
    )


def folds(
    path: Path,
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]]:
    """Yield standardised training samples, their classes, test samples and their classes."""
    with np.load(path) as stored:
        X, y = stored["X"], stored["y"]
    for train, test in StratifiedKFold(2, shuffle=True, random_state=0).split(X, y):
        scaler = StandardScaler().fit(X[train])
        yield scaler.transform(X[train]), y[train], scaler.transform(X[test]), y[test]


def neighbor_accuracy(A: np.ndarray, y: np.ndarray, B: np.ndarray, z: np.ndarray) -> float:
    """Return the mean accuracy of k-NN for all k in ``NEIGHBORS``."""
    return float(np.mean([KNeighborsClassifier(k).fit(A, y).score(B, z) for k in NEIGHBORS]))


def measure(path: Path, name: str) -> tuple[float, float]:
    """Return the accuracy of a learner or classifier on a data set, and the seconds of its fits."""
    scores, seconds = [], 0.0
    for A, y, B, z in folds(path):
        started = perf_counter()
        if name == "Euclidean":
            scores.append(neighbor_accuracy(A, y, B, z))
        elif name in CLASSIFIERS:
            model = CLASSIFIERS[name]().fit(A, y)
            seconds += perf_counter() - started
            scores.append(float(model.score(B, z)))
        else:
            learner = LEARNERS[name]().fit(A, y)
            seconds += perf_counter() - started
            scores.append(neighbor_accuracy(learner.transform(A), y, learner.transform(B), z))
    return float(np.mean(scores)), seconds


def measure_all(data: Path, out: Path, names: list[str]) -> None:
    """Measure all learners on all data sets. Results that are already in the file are kept."""
    known = {(row["set"], row["name"]) for row in read(out)} if out.exists() else set()
    with out.open("a", newline="") as file:
        writer = csv.writer(file)
        if not known:
            writer.writerow(["set", "name", "accuracy", "seconds"])
        for name in names:
            for path in sorted(data.rglob("*.npz")):
                if (path.stem, name) in known:
                    continue
                try:
                    accuracy, seconds = measure(path, name)
                except (ValueError, np.linalg.LinAlgError) as error:
                    print(f"{name} failed on {path.stem}: {error}", flush=True)
                    continue
                writer.writerow([path.stem, name, f"{accuracy:.5f}", f"{seconds:.4f}"])
                file.flush()
            print(f"{name} is done.", flush=True)


def read(path: Path) -> list[dict[str, str]]:
    """Return the rows of a file of results."""
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def table(path: Path, column: str, sets: list[str]) -> dict[str, np.ndarray]:
    """Return the values of each learner on the given sets, nan where it was not measured."""
    rows = read(path)
    values = {(row["name"], row["set"]): float(row[column]) for row in rows}
    names = dict.fromkeys(row["name"] for row in rows)
    return {name: np.array([values.get((name, each), np.nan) for each in sets]) for name in names}


def interval(differences: np.ndarray) -> str:
    """Return the mean difference with its 95 % bootstrap interval over data sets."""
    rng = np.random.default_rng(0)
    means = np.mean(rng.choice(differences, (10_000, len(differences))), axis=1)
    low, high = np.quantile(means, [0.025, 0.975])
    return f"{np.mean(differences):+.4f} [{low:+.4f}, {high:+.4f}]"


def compare(before: Path, after: Path, data: Path) -> None:
    """Print a Markdown table of two measurements, on the data sets of a folder."""
    sets = sorted(path.stem for path in data.rglob("*.npz"))
    old, new = table(before, "accuracy", sets), table(after, "accuracy", sets)
    base = new["Euclidean"]
    print(f"{len(sets)} data sets; Euclidean {np.nanmean(base):.4f}\n")
    print(
        "| learner | before | after | gain [95 % interval] | wins / losses | "
        "largest loss to Euclidean, before / after |\n|---|---|---|---|---|---|"
    )
    for name in sorted(new, key=lambda each: np.nanmean(new[each])):
        a = new[name]
        b = old.get(name, np.full(len(sets), np.nan))
        both = ~np.isnan(a) & ~np.isnan(b)
        worst = f"{np.nanmin(a - base):+.3f}"
        if not both.any():
            print(f"| {name} | | {np.nanmean(a):.4f} | | | {worst} |")
            continue
        gain = (a - b)[both]
        print(
            f"| {name} | {b[both].mean():.4f} | {a[both].mean():.4f} | {interval(gain)} | "
            f"{np.sum(gain > 0)} / {np.sum(gain < 0)} | "
            f"{np.min((b - base)[both]):+.3f} / {worst} |"
        )
    if "metric ensemble" in new:
        print()
        for rival in ("random forest", "gradient boosting"):
            gap = new["metric ensemble"] - (new | old)[rival]
            p = wilcoxon(gap).pvalue
            print(
                f"Metric ensemble against {rival}: {interval(gap)}, {np.sum(gap > 0)} wins, "
                f"{np.sum(gap < 0)} losses, signed-rank p = {p:.3f}"
            )


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__)
    verbs = parser.add_subparsers(dest="verb", required=True)
    verb = verbs.add_parser("measure")
    verb.add_argument("--data", type=Path, required=True)
    verb.add_argument("--out", type=Path, required=True)
    verb.add_argument("--names", nargs="*", default=["Euclidean", *LEARNERS, *CLASSIFIERS])
    verb = verbs.add_parser("compare")
    verb.add_argument("before", type=Path)
    verb.add_argument("after", type=Path)
    verb.add_argument("--data", type=Path, required=True)
    args = parser.parse_args()
    if args.verb == "compare":
        compare(args.before, args.after, args.data)
        return
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        measure_all(args.data, args.out, args.names)


if __name__ == "__main__":
    main()
