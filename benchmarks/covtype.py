"""Measure NCA with mini-batches on half a million samples: time, memory, and accuracy against PCA.

    python benchmarks/covtype.py --data DIR

DIR contains ``large/covtype.npz`` (X, y). Features are standardised, and 20,000 samples are held
out.
"""

import argparse
import os
import time
from pathlib import Path

import numpy as np
from _measure import added_megabytes
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

from dimetric import NCA, PCA

N_COMPONENTS = 10


def load(folder):
    """Return X_train, y_train, X_test and y_test."""
    with np.load(folder / "large" / "covtype.npz") as file:
        X, y = file["X"].astype(np.float64), file["y"]
    order = np.random.default_rng(0).permutation(len(X))
    test, train = order[:20_000], order[20_000:]
    X = StandardScaler().fit(X[train]).transform(X)
    return X[train], y[train], X[test], y[test]


def learner():
    """Return the learner to measure."""
    return NCA(N_COMPONENTS, solver="sgd", random_state=0)


def prepare_fit(folder):
    """Return the fit whose memory is measured."""
    X, y, _, _ = load(folder)
    return lambda: learner().fit(X, y)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default=os.environ.get("DIMETRIC_DATA"), type=Path)
    folder = parser.parse_args().data
    if folder is None:
        print("skipped: set --data to a folder that contains large/covtype.npz")
        return
    X, y, X_test, y_test = load(folder)
    for model in (PCA(N_COMPONENTS), learner()):
        started = time.perf_counter()
        Z = model.fit_transform(X, y)
        seconds = time.perf_counter() - started
        score = KNeighborsClassifier(3, n_jobs=-1).fit(Z, y).score(model.transform(X_test), y_test)
        print(f"{model}, n={len(X)}: {seconds:.1f} s, 3-NN test accuracy {score:.4f}")
    print(f"memory of the fit: {added_megabytes(prepare_fit, folder):.0f} MB")


if __name__ == "__main__":
    main()
