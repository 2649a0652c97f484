"""Long calls that tests/fuzz/test_interrupts.py interrupts, and the process that runs them.

``python interrupt_cases.py NAME`` prepares a call and reports ``ready``. For each line of standard
input it then runs the call and prints one line of JSON: when the call ended and how, and what an
interrupt left behind.
"""

import faulthandler
import json
import os
import pickle
import signal
import sys
import threading
import traceback
import warnings
import zlib
from time import monotonic

import numpy as np

CASES = {}


def case(function):
    """Register a function that prepares a call and returns it."""
    CASES[function.__name__] = function
    return function


def samples(n, d, n_classes=3, seed=0, roll=False):
    """Return overlapping classes, in which fits take many iterations, or a Swiss roll."""
    rng = np.random.default_rng(seed)
    y = rng.integers(n_classes, size=n)
    if roll:
        t, height = rng.uniform(4, 14, size=n), rng.uniform(0, 20, size=n)
        return np.stack([t * np.cos(t), t * np.sin(t), height], axis=1), y
    return rng.normal(size=(n, d)) + 0.3 * rng.normal(size=(n_classes, d))[y], y


def fit_case(name, estimator, n, d, **options):
    """Register the fit of an estimator to n samples with d features."""

    def prepare():
        import dimetric

        X, y = samples(n, d, **options)
        model = estimator(dimetric)
        model.fit(X[:200], y[:200])  # imports and compiles
        return lambda: estimator(dimetric).fit(X, y)

    CASES[name] = prepare


fit_case("PCA", lambda dm: dm.PCA(), 4_000, 3_000)
fit_case("PCA_randomized", lambda dm: dm.PCA(50, svd_solver="randomized"), 40_000, 1_000)
fit_case("Covariance", lambda dm: dm.Covariance(), 4_000, 2_500)
fit_case("LDA", lambda dm: dm.LDA(), 4_000, 2_500)
fit_case("ANMM", lambda dm: dm.ANMM(), 30_000, 30)
fit_case("DMLMJ", lambda dm: dm.DMLMJ(), 20_000, 100)
fit_case("NCA", lambda dm: dm.NCA(), 6_000, 20)
fit_case("LMNN_short", lambda dm: dm.LMNN(max_iter=40), 2_500, 10)
fit_case("LMNN", lambda dm: dm.LMNN(), 20_000, 20)
fit_case("MCML", lambda dm: dm.MCML(), 4_000, 15)
fit_case("LDML", lambda dm: dm.LDML(), 4_000, 15)
fit_case("NCMML", lambda dm: dm.NCMML(), 200_000, 50)
fit_case("NCMC", lambda dm: dm.NCMC(n_centroids=20), 50_000, 40)
fit_case("ITML", lambda dm: dm.ITML(), 5_000, 200)
fit_case("LSI", lambda dm: dm.LSI(), 20_000, 60)
fit_case("DMLEig", lambda dm: dm.DMLEig(), 5_000, 80)
fit_case("KPCA", lambda dm: dm.KPCA(2), 8_000, 20)
fit_case("KDA", lambda dm: dm.KDA(), 4_000, 20)
fit_case("KANMM", lambda dm: dm.KANMM(), 4_000, 20)
fit_case("KDMLMJ", lambda dm: dm.KDMLMJ(), 4_000, 20)
fit_case("KLMNN", lambda dm: dm.KLMNN(), 2_000, 20)
fit_case("Kernelized", lambda dm: dm.Kernelized(dm.NCA()), 3_000, 20)
fit_case("MDS", lambda dm: dm.MDS(), 20_000, 10)
fit_case("MDS_smacof", lambda dm: dm.MDS(algorithm="smacof"), 3_000, 10)
fit_case("MDS_nonmetric", lambda dm: dm.MDS(algorithm="smacof", metric_mds=False), 2_000, 10)
fit_case("MDS_cityblock", lambda dm: dm.MDS(metric="cityblock"), 6_000, 10)
fit_case("Isomap", lambda dm: dm.Isomap(), 12_000, 3)
fit_case("Isomap_landmarks", lambda dm: dm.Isomap(n_landmarks=500), 100_000, 3)
fit_case("LLE", lambda dm: dm.LLE(n_neighbors=12), 40_000, 3, roll=True)
fit_case("LLE_modified", lambda dm: dm.LLE(n_neighbors=12, method="modified"), 20_000, 3, roll=True)
fit_case("LLE_hessian", lambda dm: dm.LLE(n_neighbors=12, method="hessian"), 20_000, 3, roll=True)
fit_case("LLE_ltsa", lambda dm: dm.LLE(n_neighbors=12, method="ltsa"), 20_000, 3, roll=True)
fit_case("MultiMetric", lambda dm: dm.MultiMetricKNNClassifier(), 10_000, 20)
fit_case("EnergyClassifier", lambda dm: dm.EnergyClassifier(), 20_000, 20)
fit_case("NCMCClassifier", lambda dm: dm.NCMCClassifier(50), 100_000, 40)
fit_case("KNNClassifier_LMNN", lambda dm: dm.KNNClassifier(learner=dm.LMNN()), 20_000, 20)


def knn_case(name, method, n, d, **params):
    """Register a method of KNNClassifier."""

    def prepare():
        from dimetric import KNNClassifier

        X, y = samples(n, d)
        small = KNNClassifier(**params).fit(X[:200], y[:200])
        method(small, X[:200])
        model = KNNClassifier(**params).fit(X, y)
        return lambda: method(model, X)

    CASES[name] = prepare


knn_case("knn_tree", lambda m, X: m.predict(X + 0.01), 100_000, 8)
knn_case("knn_tree_wide", lambda m, X: m.predict(X + 0.01), 50_000, 12)
knn_case("knn_product", lambda m, X: m.predict(X + 0.01), 30_000, 30)
knn_case("knn_numba", lambda m, X: m.score(), 60_000, 30)


@case
def embedding_quality():
    from dimetric.quality import embedding_quality

    X, _ = samples(6_000, 20)
    embedding_quality(X[:100], X[:100, :2])
    return lambda: embedding_quality(X, X[:, :2])


@case
def cross_validate():
    from dimetric import NCA, KNNClassifier
    from dimetric.selection import cross_validate

    X, y = samples(2_000, 10)
    return lambda: cross_validate(KNNClassifier(learner=NCA()), X, y)


@case
def cross_validate_jobs():
    from dimetric import NCA, KNNClassifier
    from dimetric.selection import cross_validate

    X, y = samples(2_000, 10)
    return lambda: cross_validate(KNNClassifier(learner=NCA()), X, y, n_jobs=2)


@case
def compare():
    from dimetric import compare

    X, y = samples(3_000, 10)
    return lambda: compare(X, y, n_jobs=2)


@case
def benchmark():
    from dimetric import NCA, PCA
    from dimetric.benchmark import run

    X, y = samples(3_000, 10)
    return lambda: run({"nca": NCA(), "pca": PCA()}, {"data": (X, y)}, n_jobs=2)


def state():
    """Return the global state that a call must not change."""
    from threadpoolctl import threadpool_info

    return {
        "numpy errors": np.geterr(),
        "warning filters": list(map(repr, warnings.filters)),
        "showwarning": repr((warnings.showwarning, warnings._showwarnmsg_impl)),
        "threads of BLAS": {each["filepath"]: each["num_threads"] for each in threadpool_info()},
        "folder": os.getcwd(),
        "environment": dict(os.environ),
        "path": list(sys.path),
        "random numbers": zlib.crc32(pickle.dumps(np.random.get_state())),  # noqa: NPY002
        "threads": [each.name for each in threading.enumerate()],
        "children": children(),
    }


def children():
    """Return the numbers of the child processes."""
    path = f"/proc/self/task/{os.getpid()}/children"
    return open(path).read().split() if os.path.exists(path) else []


RAISED = []  # where the last interrupt was raised


def interrupt(number, frame):
    """Handle SIGINT as Python does, and keep the place.

    This uses no generator, because Python may call it while a StopIteration is pending, which a
    generator turns into a RuntimeError.
    """
    while frame is not None and len(RAISED) < 4:
        code = frame.f_code
        RAISED.insert(0, f"{os.path.basename(code.co_filename)}:{frame.f_lineno} {code.co_name}")
        frame = frame.f_back
    raise KeyboardInterrupt


def places(frames):
    return [f"{os.path.basename(f.filename)}:{f.lineno} {f.name}" for f in frames[-4:]]


def attempt(call):
    """Run the call, and report its end."""
    outcome, where = "finished", []
    RAISED.clear()
    try:
        call()
    except KeyboardInterrupt as error:
        back, outcome = monotonic(), "interrupted"
        where = places(traceback.extract_tb(error.__traceback__))
    except BaseException as error:
        back, outcome = monotonic(), f"{type(error).__name__}: {error}"
    else:
        back = monotonic()
    return {"back": back, "outcome": outcome, "where": where, "raised": list(RAISED)}


def main():
    faulthandler.register(signal.SIGUSR1)  # shows where a call hangs
    signal.signal(signal.SIGINT, interrupt)
    call = CASES[sys.argv[1]]()
    before = state()
    print("ready", flush=True)
    for _ in sys.stdin:
        try:
            print("begin", flush=True)
            report = attempt(call)
            after = state()
            report["changed"] = {key: after[key] for key in after if after[key] != before[key]}
        except KeyboardInterrupt:  # it came just after the end of the call
            report = {"back": monotonic(), "outcome": "late", "where": [], "changed": {}}
        print(json.dumps(report), flush=True)


if __name__ == "__main__":
    main()
