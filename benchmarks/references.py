"""Measure fits to references: accuracy against fits to all pairs, and size on a Dask cluster.

    python benchmarks/references.py --data DIR [--full]
    python benchmarks/references.py --rows 1000000

The first call fits NCA and LMNN to 50,000 samples of covtype and of MNIST, and prints the accuracy
of 3-NN on 10,000 other samples for several numbers of references. With ``--full``, it also fits
them to all pairs, which takes minutes each. DIR contains ``large/covtype.npz`` and
``large/mnist.npz`` (X, y). The second call fits NCA and LMNN to generated rows on a local cluster
of two workers, for two divisions into blocks.
"""

import argparse
import os
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.neighbors import KNeighborsClassifier

from dimetric import LMNN, NCA, PCA

N_TRAIN, N_TEST = 50_000, 10_000
MAX_ITER = {NCA: 20, LMNN: 30}
REFERENCES = (500, 1000, 2000, 4000)
FEATURES = 50


def load(folder, name):
    """Return X_train, y_train, X_test and y_test: 50 components of MNIST, or scaled features."""
    with np.load(folder / "large" / f"{name}.npz") as file:
        X, y = file["X"], file["y"]
    rows = np.random.RandomState(0).permutation(len(X))[: N_TRAIN + N_TEST]
    X, y = X[rows].astype(np.float64), y[rows]
    train, test = slice(0, N_TRAIN), slice(N_TRAIN, None)
    if name == "mnist":
        X = PCA(FEATURES).fit(X[train] / 255).transform(X / 255)
    else:
        spread = X[train].std(axis=0)
        X = (X - X[train].mean(axis=0)) / np.where(spread > 0, spread, 1)
    X = X.astype(np.float32)
    return X[train], y[train], X[test], y[test]


def compare_accuracy(folder, numbers):
    """Print the accuracy and time of each learner and number of references. None is all pairs."""
    print("data, learner, references, 3-NN accuracy, seconds, iterations, objective")
    for name in ("covtype", "mnist"):
        X, y, X_test, y_test = load(folder, name)
        for learner, max_iter in MAX_ITER.items():
            for m in numbers:
                started = time.perf_counter()
                model = learner(max_iter=max_iter, n_references=m).fit(X, y)
                seconds, facts = time.perf_counter() - started, model.metadata()
                knn = KNeighborsClassifier(3, n_jobs=-1).fit(model.transform(X), y)
                score = knn.score(model.transform(X_test), y_test)
                line = (name, learner.__name__, m or "all", f"{score:.4f}", f"{seconds:.1f}")
                line += (facts["n_iter"], f"{facts['final_objective']:.4f}")
                print(*line, sep=", ", flush=True)


def generated_rows(n, chunk):
    """Return Dask arrays of n rows and their classes, which do not depend on the chunks."""
    import dask.array as da

    centres = np.random.default_rng(0).normal(size=(10, FEATURES))

    def rows(_, block_info=None):
        first, last = block_info[0]["array-location"][0]
        parts = []
        for start in range(first - first % 1000, last, 1000):
            rng = np.random.default_rng(start)
            part = np.arange(start, start + 1000) % 10
            Z = centres[part] + 2 * rng.normal(size=(1000, FEATURES))
            parts.append(Z[max(first - start, 0) : last - start])
        return np.concatenate(parts)

    numbers = da.arange(n, chunks=chunk)
    X = da.map_blocks(rows, numbers[:, None], chunks=(numbers.chunks[0], FEATURES), dtype=float)
    return X, numbers % 10


def largest_memory(client):
    """Return the largest memory of a worker so far, in MB."""
    import resource

    peaks = client.run(lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
    return max(peaks.values())


def compare_blocks(n, m, max_iter):
    """Fit NCA and LMNN to n rows on two workers, for two divisions into blocks."""
    from dask.distributed import Client, LocalCluster

    cluster = LocalCluster(2, threads_per_worker=1, memory_limit="2GB")
    with cluster, Client(cluster) as client:
        for learner in (NCA, LMNN):
            found = []
            for chunk in (50_000, 32_000):
                X, y = (each.persist() for each in generated_rows(n, chunk))
                model = learner(max_iter=max_iter, n_references=m, tol=1e-9)
                started = time.perf_counter()
                model.fit(X, y)
                seconds, facts = time.perf_counter() - started, model.metadata()
                found.append((facts["final_objective"], model.components_))
                print(
                    f"{learner.__name__}, {n} x {FEATURES}, blocks of {chunk}, {m} references: "
                    f"{seconds:.1f} s, {facts['n_iter']} iterations, objective "
                    f"{facts['final_objective']!r}, worker memory {largest_memory(client):.0f} MB",
                    flush=True,
                )
                del X, y
            (value, L), (other, L2) = found
            print(
                f"{learner.__name__}: difference of the objectives {abs(value - other):.1e}, of "
                f"the maps {np.max(np.abs(L - L2)) / np.max(np.abs(L)):.1e}",
                flush=True,
            )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default=os.environ.get("DIMETRIC_DATA"), type=Path)
    parser.add_argument("--full", action="store_true", help="also fit to all pairs")
    parser.add_argument("--rows", type=int, help="number of generated rows on a cluster")
    parser.add_argument("--references", type=int, default=500, help="for generated rows")
    parser.add_argument("--iterations", type=int, default=5, help="for generated rows")
    options = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    if options.rows is not None:
        compare_blocks(options.rows, options.references, options.iterations)
    elif options.data is not None:
        compare_accuracy(options.data, (*REFERENCES, *([None] if options.full else [])))
    else:
        print("skipped: set --data to a folder that contains large/covtype.npz, or set --rows")


if __name__ == "__main__":
    main()
