"""NCA by mini-batches on half a million samples: time, memory, and 3-NN against PCA.

python benchmarks/covtype.py --data DIR

DIR has ``large/covtype.npz`` (X, y). Features are standardised; 20,000 samples are held out.
"""

import argparse
import os
import time
from pathlib import Path

import numpy as np
from _measure import extra_megabytes
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

from dimetric import NCA, PCA

N_COMPONENTS = 10


def load(folder):
    """Return samples and labels to learn from, and those held out."""
    with np.load(folder / "large" / "covtype.npz") as file:
        X, y = file["X"].astype(np.float64), file["y"]
    order = np.random.default_rng(0).permutation(len(X))
    test, train = order[:20_000], order[20_000:]
    X = StandardScaler().fit(X[train]).transform(X)
    return X[train], y[train], X[test], y[test]


def learner():
    """Return the learner that is measured."""
    return NCA(N_COMPONENTS, solver="sgd", random_state=0)


def prepared(folder):
    """Return a fit, for a measurement of its memory."""
    X, y, _, _ = load(folder)
    return lambda: learner().fit(X, y)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default=os.environ.get("DIMETRIC_DATA"), type=Path)
    folder = parser.parse_args().data
    if folder is None:
        print("skipped: give --data, a folder with large/covtype.npz")
        return
    X, y, X_test, y_test = load(folder)
    for model in (PCA(N_COMPONENTS), learner()):
        started = time.perf_counter()
        Z = model.fit_transform(X, y)
        seconds = time.perf_counter() - started
        score = KNeighborsClassifier(3, n_jobs=-1).fit(Z, y).score(model.transform(X_test), y_test)
        print(f"{model}, n={len(X)}: {seconds:.1f} s, 3-NN {score:.4f} on held-out samples")
    print(f"memory of the fit: +{extra_megabytes(prepared, folder):.0f} MB")


if __name__ == "__main__":
    main()
