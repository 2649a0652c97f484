"""How the time and memory of each method grow with samples, features, components and classes.

Each method is fitted to generated classes of several sizes. The exponents e of the fits
time = c size^e are those of the processor time, which a busy machine changes less than the elapsed
time. Methods with a solver do five iterations, so the times are those of an iteration, plus the
start. Memory is the largest size of the arrays that a fit allocates.
"""

import argparse
import time
import tracemalloc
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from _bar.growth import exponent
from _bar.machine import cores, processor
from threadpoolctl import threadpool_limits

from dimetric import (
    ANMM,
    DMLMJ,
    ITML,
    KPCA,
    LDA,
    LDML,
    LMNN,
    LSI,
    MCML,
    NCA,
    NCMC,
    NCMML,
    PCA,
    Covariance,
    DMLEig,
    KNNClassifier,
)
from dimetric.kernels import KDA, Kernel
from dimetric.manifold import LLE, MDS, Isomap

REPEATS = 3
MAX_SECONDS = 3.0  # of a fit, after which larger sizes are left out
BASE = {"n": 1000, "d": 32, "k": 8, "c": 4}
SIZES = {
    "n": (500, 1000, 2000, 4000),
    "d": (16, 32, 64, 128),
    "k": (2, 8, 32),
    "c": (2, 8, 32),
}
MANY = (20_000, 40_000, 80_000, 160_000)  # samples for methods whose time is linear in n


@dataclass(frozen=True)
class Method:
    """A method, and what of it grows.

    Parameters
    ----------
    name : str
        Its name.
    make : callable
        Returns the estimator for a number of components.
    n_samples : sequence of int
        Numbers of samples.
    has_components : bool
        Whether the number of components can be chosen.
    """

    name: str
    make: Callable[[int], Any]
    n_samples: Sequence[int] = SIZES["n"]
    has_components: bool = True


def _iterative(kind: Any, **options: Any) -> Callable[[int], Any]:
    return lambda k: kind(k, max_iter=5, tol=0.0, **options)


METHODS = (
    Method("PCA", PCA, MANY),
    Method("LDA", lambda k: LDA(), MANY, has_components=False),
    Method("Covariance", lambda k: Covariance(), MANY, has_components=False),
    Method("NCMML", _iterative(NCMML), MANY),
    Method("NCMC", _iterative(NCMC), (5000, 10_000, 20_000, 40_000)),
    Method("KPCA, 500 landmarks", lambda k: KPCA(k, kernel=Kernel(n_landmarks=500)), MANY[:3]),
    Method("ANMM", ANMM),
    Method("DMLMJ", DMLMJ),
    Method("NCA", _iterative(NCA)),
    Method("LMNN", _iterative(LMNN)),
    Method("MCML", _iterative(MCML)),
    Method("LDML", _iterative(LDML)),
    Method("ITML", lambda k: ITML(max_iter=5, tol=0.0), has_components=False),
    Method("LSI", lambda k: LSI(max_iter=5, tol=0.0), has_components=False),
    Method("DMLEig", lambda k: DMLEig(max_iter=5, tol=0.0), has_components=False),
    Method("KPCA", KPCA),
    Method("KDA", lambda k: KDA(), has_components=False),
    Method("Isomap", Isomap),
    Method("LLE", LLE),
    Method("MDS", MDS),
    Method("k-NN prediction", lambda k: KNNClassifier(3), has_components=False),
)


def samples(n: int, d: int, c: int) -> tuple[np.ndarray, np.ndarray]:
    """Return overlapping classes."""
    rng = np.random.default_rng(0)
    y = rng.permutation(np.arange(n) % c)
    centres = rng.standard_normal((c, d))
    return centres[y] + 1.5 * rng.standard_normal((n, d)), y


def measured(method: Method, size: dict[str, int], repeats: int) -> tuple[float, float]:
    """Return the median processor time in seconds, and the memory in MB."""
    X, y = samples(size["n"], size["d"], size["c"])
    k = min(size["k"], size["d"])

    def work() -> None:
        model = method.make(k).fit(X, y)
        if isinstance(model, KNNClassifier):
            model.predict(X)

    seconds = []
    for _ in range(repeats):
        started = time.process_time()
        work()
        seconds.append(time.process_time() - started)
        if seconds[0] > MAX_SECONDS / repeats:
            break
    tracemalloc.start()
    work()
    peak = tracemalloc.get_traced_memory()[1] / 1e6
    tracemalloc.stop()
    return float(np.median(seconds)), peak


def series(method: Method, variable: str, repeats: int) -> str:
    """Return the exponents of time and memory as text, or "-" if the size cannot be chosen."""
    if variable == "k" and not method.has_components:
        return "-"
    sizes = method.n_samples if variable == "n" else SIZES[variable]
    base = BASE | ({"d": 64} if variable == "k" else {})
    base["n"] = min(2 * method.n_samples[0], MANY[0])
    done, times, memory = [], [], []
    for size in sizes:
        seconds, megabytes = measured(method, base | {variable: size}, repeats)
        done, times, memory = [*done, size], [*times, seconds], [*memory, megabytes]
        if seconds > MAX_SECONDS:
            break
    exponents = (exponent(tuple(done), each) for each in (times, memory))
    shown = " / ".join(f"{max(0.0, each):.1f}" for each in exponents)
    largest = f" ({times[-1]:.2f} s, {memory[-1]:.0f} MB)" if variable == "n" else ""
    return shown + (f"{largest} at {done[-1]:,}" if largest else "")


def main() -> None:
    """Print a table of exponents, time / memory."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="methods whose name contains this text")
    parser.add_argument("--repeats", type=int, default=REPEATS)
    arguments = parser.parse_args()
    print(f"{processor()}, {cores()} cores, one thread for BLAS, processor time\n")
    print("| method | n (largest) | d | components | classes |\n|---|---|---|---|---|")
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for method in METHODS:
            if arguments.only.lower() in method.name.lower():
                # Compile and import what fits of few and of many samples need.
                for n in (method.n_samples[0], method.n_samples[-1]):
                    measured(method, BASE | {"n": n}, 1)
                cells = [series(method, each, arguments.repeats) for each in "ndkc"]
                print(f"| {method.name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
