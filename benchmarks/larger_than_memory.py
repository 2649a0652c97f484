"""Fits to a memory map that is larger than the memory: time, and peak of anonymous memory.

The file is sparse: only some parts are filled, and the others read as zeros. Run

    python benchmarks/larger_than_memory.py --size 20 --learner PCA

for a file of 20 GB. Each learner must need less than 2 GB of anonymous memory (RssAnon). Pages of
the file that the kernel keeps are not anonymous: it drops them when other programs need memory.
"""

import argparse
import tempfile
from pathlib import Path
from threading import Event, Thread
from time import perf_counter

import numpy as np

from dimetric import LDA, NCMML, PCA

N_CLASSES = 5
FILLED_PARTS = 40
ROWS_OF_PART = 10_000


def anonymous_memory():
    """Return the anonymous memory of this process in bytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith("RssAnon"))


def sparse_file(path, gigabytes, d):
    """Return a memory map of float32 samples, of which some parts are filled, and labels."""
    n = int(gigabytes * 1e9) // (4 * d)
    X = np.memmap(path, dtype=np.float32, mode="w+", shape=(n, d))
    y = np.arange(n, dtype=np.int8) % N_CLASSES
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(N_CLASSES, d))
    for start in np.linspace(0, n - ROWS_OF_PART, FILLED_PARTS).astype(int):
        rows = slice(start, start + ROWS_OF_PART)
        X[rows] = rng.normal(size=(ROWS_OF_PART, d)) + centres[y[rows]]
    X.flush()
    return np.memmap(path, dtype=np.float32, mode="r", shape=(n, d)), y


def with_peak(work):
    """Return the result of a function, and the peak of anonymous memory while it runs."""
    peak, done = [0], Event()

    def watch():
        while not done.wait(0.02):
            peak[0] = max(peak[0], anonymous_memory())

    watcher = Thread(target=watch)
    watcher.start()
    try:
        return work(), peak[0]
    finally:
        done.set()
        watcher.join()


def main():
    """Fit the learners, and print what was measured."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=float, default=20.0, help="size of the file in GB")
    parser.add_argument("--features", type=int, default=50)
    parser.add_argument("--learner", choices=["PCA", "LDA", "NCMML"], action="append")
    parser.add_argument("--max-iter", type=int, default=3, help="iterations of NCMML")
    parser.add_argument("--folder", help="where to make the file")
    options = parser.parse_args()
    learners = {"PCA": PCA(), "LDA": LDA(), "NCMML": NCMML(max_iter=options.max_iter)}
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        path = Path(folder) / "samples.bin"
        X, y = sparse_file(path, options.size, options.features)
        used = 512 * path.stat().st_blocks
        print(
            f"{X.shape[0]} x {X.shape[1]} float32, {X.nbytes / 1e9:.1f} GB, of which "
            f"{used / 1e6:.0f} MB are on the disk",
            flush=True,
        )
        for name in options.learner or learners:
            started = perf_counter()
            _, peak = with_peak(lambda name=name: learners[name].fit(X, y))
            print(
                f"{name:6} {perf_counter() - started:6.0f} s, {peak / 1e9:.2f} GB of anonymous "
                "memory",
                flush=True,
            )
            assert peak < 2e9


if __name__ == "__main__":
    main()
