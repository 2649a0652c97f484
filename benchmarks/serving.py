"""Measure fitted models: latency and throughput, with scikit-learn's models beside.

Each line gives the rows of a call, the median and the 99 % quantile of the time of a call, the rows
per second, and the ratio of scikit-learn's median to ours. For neighbours, scikit-learn uses the
fastest of its algorithms ("brute", "kd_tree", "ball_tree") for this call, and the limit is the time
of the matrix product between the rows and all training samples in single precision. A search by a
tree takes less.

``python benchmarks/serving.py predict transform`` runs only these parts, ``--quick`` fewer sizes.
``--samples 500 5000 --features 2 10 --rows 1 1000 --seconds 0.3`` chooses the sizes of the training
set, the rows of a call and the time of a line. On a machine that does other work, set
``OMP_NUM_THREADS=1`` and pass ``--cpu`` to measure CPU time. The extra ``fast`` is recommended.
"""

import argparse
import tempfile
import time
from functools import partial
from pathlib import Path

import numpy as np
from sklearn.decomposition import PCA as ReferencePCA
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors

from dimetric import PCA, KNNClassifier, KNNRegressor
from dimetric.export import load, save

ALGORITHMS = ("brute", "kd_tree", "ball_tree")
SECONDS = 0.6  # for the calls of one line, of each library, by default
MIN_CALLS, MAX_CALLS = 6, 1_000
# After a call, the threads of BLAS wait in a busy loop, and disturb the other library for a tenth
# of a second. Therefore each library makes several calls in a row, as in a program that uses only
# one, and there is a pause before the other library's turn.
TURN_CALLS, TURN_SECONDS, PAUSE_SECONDS = 3, 0.1, 0.1
TRIAL_ROWS = 50  # rows that show which algorithms of scikit-learn are too slow to measure
SAMPLES, FEATURES = (500, 5_000, 20_000, 100_000), (2, 3, 5, 8, 10, 20, 50, 100, 300)
MAX_VALUES = 10_000_000  # of a training set
QUICK_SIZES = [(500, 10), (20_000, 3), (20_000, 10), (20_000, 20), (20_000, 50), (20_000, 300)]
BATCHES = (1, 10, 100, 1_000, 5_000, 10_000)
QUICK_BATCHES = (1, 100, 5_000)


def options():
    """Return the options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("parts", nargs="*", help=f"some of {', '.join(PARTS)}; all by default")
    parser.add_argument("--quick", action="store_true", help="measure fewer sizes")
    parser.add_argument("--samples", nargs="+", type=int, default=SAMPLES)
    parser.add_argument("--features", nargs="+", type=int, default=FEATURES)
    parser.add_argument("--rows", nargs="+", type=int, help="rows of a call")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="for each line")
    parser.add_argument("--cpu", action="store_true", help="measure CPU time")
    chosen = parser.parse_args()
    sizes = [(n, d) for n in chosen.samples for d in chosen.features if n * d <= MAX_VALUES]
    chosen.sizes = QUICK_SIZES if chosen.quick else sizes
    chosen.batches = chosen.rows or (QUICK_BATCHES if chosen.quick else BATCHES)
    return chosen


def clock():
    """Return the CPU time or the time, in seconds."""
    return time.process_time() if OPTIONS.cpu else time.perf_counter()


def seconds_of(call, turn_seconds=0.0):
    """Return the seconds of each call of one turn."""
    seconds, started = [], time.perf_counter()
    while len(seconds) < TURN_CALLS or time.perf_counter() - started < turn_seconds:
        before = clock()
        call()
        seconds.append(clock() - before)
    return seconds


def seconds_in_turns(*calls):
    """Return the seconds of repeated calls, as an array for each function. They take turns."""
    for call in calls:
        call()
    started = time.perf_counter()
    seconds = [[] for _ in calls]
    while len(seconds[0]) < MAX_CALLS and (
        len(seconds[0]) < MIN_CALLS or time.perf_counter() - started < OPTIONS.seconds * len(calls)
    ):
        for i, call in enumerate(calls):
            time.sleep(PAUSE_SECONDS)
            seconds[i] += seconds_of(call, TURN_SECONDS)
    return [np.array(each) for each in seconds]


def line(name, n_rows, ours, theirs=None, rival="", limit=None):
    """Print one line of results, from seconds of calls."""
    median, late = 1e3 * np.median(ours), 1e3 * np.quantile(ours, 0.99)
    text = f"{name:38s} {n_rows:6,d} rows: {median:8.3f} ms, 99 % {late:8.3f} ms, "
    text += f"{1e3 * n_rows / median:11,.0f} rows/s"
    if theirs is not None:
        ratio = np.median(theirs) / np.median(ours)
        text += f"; scikit-learn {rival} {1e3 * np.median(theirs):8.3f} ms: {ratio:5.2f}x"
    if limit is not None:
        text += f"; product {1e3 * np.median(limit):8.3f} ms"
    print(text, flush=True)


def data(n, d, n_rows, seed=0):
    """Return normal training samples, classes that depend on them, and new rows."""
    rng = np.random.default_rng(seed)
    X, Q = rng.normal(size=(n, d)), rng.normal(size=(n_rows, d))
    return X, (X[:, 0] + X[:, 1] > 0).astype(int) + (X[:, 0] > 1), Q


def fastest(models, call, Q):
    """Return the name and model of scikit-learn that is fastest for these rows."""
    seconds = {}
    for name, model in models.items():
        for rows in sorted({min(TRIAL_ROWS, len(Q)), len(Q)}):
            took = np.median(seconds_of(partial(call, model, Q[:rows]))) * len(Q) / rows
            if seconds and took > 4 * min(seconds.values()):
                break
        seconds[name] = took
    best = min(seconds, key=seconds.__getitem__)
    return best, models[best]


def product_seconds(X, Q):
    """Return the seconds of the product of the rows with all samples in single precision.

    It is not measured in turns, because the threads of BLAS would disturb the next call.
    """
    A, B = Q.astype(np.float32), np.ascontiguousarray(X.T, dtype=np.float32)
    out = np.empty((min(len(A), 1024), B.shape[1]), np.float32)

    def multiply():
        for start in range(0, len(A), 1024):
            part = A[start : start + 1024]
            np.matmul(part, B, out=out[: len(part)])

    return seconds_in_turns(multiply)[0]


def predict():
    """Measure the predictions of a k-NN classifier."""
    for n, d in OPTIONS.sizes:
        X, y, rows = data(n, d, max(OPTIONS.batches))
        ours = KNNClassifier(5).fit(X, y)
        models = {a: KNeighborsClassifier(5, algorithm=a).fit(X, y) for a in ALGORITHMS}
        for m in OPTIONS.batches:
            Q = rows[:m]
            name, best = fastest(models, lambda model, Q: model.predict(Q), Q)
            times = seconds_in_turns(partial(ours.predict, Q), partial(best.predict, Q))
            same = np.mean(ours.predict(Q) == best.predict(Q))
            assert same == 1, f"only {same:.2%} of the predictions agree"
            line(f"predict, {n:,} x {d}", m, *times, f"({name})", product_seconds(X, Q))


def neighbors():
    """Measure ``kneighbors`` of a k-NN classifier."""
    for n, d in OPTIONS.sizes:
        X, y, rows = data(n, d, max(OPTIONS.batches))
        ours = KNNClassifier(10).fit(X, y)
        models = {a: NearestNeighbors(n_neighbors=10, algorithm=a).fit(X) for a in ALGORITHMS}
        for m in OPTIONS.batches:
            Q = rows[:m]
            name, best = fastest(models, lambda model, Q: model.kneighbors(Q), Q)
            times = seconds_in_turns(partial(ours.kneighbors, Q), partial(best.kneighbors, Q))
            same = np.mean(ours.kneighbors(Q)[1] == best.kneighbors(Q)[1])
            assert same == 1, f"only {same:.2%} of the neighbours agree"
            line(f"10 neighbours, {n:,} x {d}", m, *times, f"({name})", product_seconds(X, Q))


def regress():
    """Measure the predictions of a k-NN regressor, without a rival."""
    X, y, rows = data(20_000, 50, max(OPTIONS.batches))
    model = KNNRegressor(5).fit(X, y)
    for m in OPTIONS.batches:
        Q = rows[:m]
        line("regression, 20,000 x 50", m, seconds_in_turns(partial(model.predict, Q))[0])


def transform():
    """Measure the map of PCA to 10 components."""
    for n, d in ((1, 50), (100, 50), (10_000, 50), (200_000, 50), (10_000, 300)):
        X = np.random.default_rng(0).normal(size=(max(n, 1_000), d))
        ours, theirs = PCA(10).fit(X), ReferencePCA(10).fit(X)
        Q, W = X[:n], np.ascontiguousarray(theirs.components_.T)
        times = seconds_in_turns(partial(ours.transform, Q), partial(theirs.transform, Q))
        limit = seconds_in_turns(partial(np.matmul, Q, W))[0]
        line(f"transform by PCA, {d} to 10", n, *times, limit=limit)


def model_file():
    """Measure a model that was written to a file and loaded, with its first call."""
    for n, d, learner in ((20_000, 50, None), (20_000, 50, PCA(10)), (100_000, 3, None)):
        X, y, rows = data(n, d, max(OPTIONS.batches))
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "model.dimetric")
            save(KNNClassifier(5, learner=learner).fit(X, y), path)
            before = time.perf_counter()
            model = load(path)
            loaded = time.perf_counter() - before
        before = time.perf_counter()
        model.predict(rows[:1])
        first = time.perf_counter() - before
        name = f"loaded file, {n:,} x {d}{'' if learner is None else ', PCA(10)'}"
        print(f"{name}: load {1e3 * loaded:.0f} ms, first prediction {1e3 * first:.1f} ms")
        for m in OPTIONS.batches:
            Q = rows[:m]
            line(name, m, seconds_in_turns(partial(model.predict, Q))[0])


PARTS = {
    "predict": predict,
    "neighbors": neighbors,
    "regress": regress,
    "transform": transform,
    "model_file": model_file,
}

if __name__ == "__main__":
    OPTIONS = options()
    for part in OPTIONS.parts or PARTS:
        PARTS[part]()
