"""PCA, LDA and NCMML on a Dask cluster of two workers: time, memory, equality with NumPy.

Blocks of samples are generated on the workers, in every pass again. The bytes of all results that
come back to the client are counted. Run

    python benchmarks/dask_scale.py --rows 10000000 --features 50

Each worker has one thread and a memory limit of 2 GB, and its peak memory must stay below it.
"""

import argparse
import resource
from contextlib import contextmanager
from time import perf_counter

import cloudpickle
import numpy as np

from dimetric import LDA, NCMML, PCA

N_CLASSES = 10
MEMORY_LIMIT = 2 * 10**9


def labels_of(number, n):
    """Return the labels of a block, which depend on its number only."""
    return np.random.default_rng([number, 0]).integers(0, N_CLASSES, n)


def block_of(number, n, d):
    """Return the samples and labels of a block. They depend on its number only."""
    y, rng = labels_of(number, n), np.random.default_rng([number, 1])
    centres = np.random.default_rng(0).normal(size=(N_CLASSES, d))
    X = rng.random((n, d))
    X *= np.linspace(1, 6, d)
    X += centres[y]
    return X, y


def generated(rows, chunk, d):
    """Return Dask arrays of generated samples and labels."""
    import dask.array as da

    def samples(block_info=None):
        place = block_info[None]
        return block_of(place["chunk-location"][0], place["chunk-shape"][0], d)[0]

    def labels(block_info=None):
        place = block_info[None]
        return labels_of(place["chunk-location"][0], place["chunk-shape"][0])

    chunks = (chunk,) * (rows // chunk)
    X = da.map_blocks(samples, chunks=(chunks, (d,)), dtype=np.float64, meta=np.empty((0, 0)))
    y = da.map_blocks(labels, chunks=(chunks,), dtype=np.int64, meta=np.empty(0, dtype=np.int64))
    return X, y


def peak_memory():
    """Return the peak memory of this process in bytes."""
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


@contextmanager
def counted_results():
    """Yield a list of the sizes of all results that the client gathers, in bytes."""
    from distributed import Client

    original, sizes = Client.gather, []

    def gather(self, *args, **kwargs):
        results = original(self, *args, **kwargs)
        sizes.append(len(cloudpickle.dumps(results)))
        return results

    Client.gather = gather
    try:
        yield sizes
    finally:
        Client.gather = original


def learners(max_iter):
    """Return the learners, with the name of the number to compare."""
    return {
        "PCA": PCA(),
        "LDA": LDA(),
        "NCMML": NCMML(max_iter=max_iter),
    }


def compare_part(rows, d, max_iter):
    """Print the difference from NumPy on a part, for two chunkings."""
    import dask.array as da

    X, y = block_of(0, rows, d)
    for name, learner in learners(max_iter).items():
        expected = learner.fit(X, y)
        L, value = expected.components_.copy(), expected.metadata().get("final_objective")
        for chunk in (rows // 3, rows // 7):
            given = da.from_array(X, chunks=(chunk, -1)), da.from_array(y, chunks=chunk)
            learner.fit(*given)
            error = np.max(np.abs(learner.components_ - L)) / np.max(np.abs(L))
            text = f"{name:6} {rows} rows in chunks of {chunk}: map differs by {error:.1e}"
            if value is not None:
                text += f", objective by {abs(learner.metadata()['final_objective'] - value):.1e}"
            print(text, flush=True)


def main():
    """Fit the learners, and print what was measured."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--chunk", type=int, default=100_000)
    parser.add_argument("--features", type=int, default=50)
    parser.add_argument("--max-iter", type=int, default=50)
    parser.add_argument("--part", type=int, default=20_000)
    options = parser.parse_args()
    from distributed import Client, LocalCluster

    cluster = LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit=MEMORY_LIMIT, dashboard_address=None
    )
    with cluster, Client(cluster) as client:
        compare_part(options.part, options.features, options.max_iter)
        X, y = generated(options.rows, options.chunk, options.features)
        print(f"X: {options.rows} x {options.features}, {X.nbytes / 1e9:.1f} GB", flush=True)
        for name, learner in learners(options.max_iter).items():
            started = perf_counter()
            with counted_results() as sizes:
                learner.fit(X, y)
            seconds, returned = perf_counter() - started, sum(sizes)
            peaks = [peak / 1e9 for peak in client.run(peak_memory).values()]
            facts = {k: v for k, v in learner.metadata().items() if k in ("n_iter", "reason")}
            print(
                f"{name:6} {seconds:6.0f} s, peaks of the workers {peaks[0]:.2f} and "
                f"{peaks[1]:.2f} GB, {returned / 1e6:.2f} MB returned {facts or ''}",
                flush=True,
            )
            assert max(peaks) < MEMORY_LIMIT / 1e9


if __name__ == "__main__":
    main()
