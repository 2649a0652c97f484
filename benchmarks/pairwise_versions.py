"""Compare MCML, LDML and LMNN with an earlier version: time, objective and evaluations.

``git worktree add /tmp/before COMMIT`` checks out the earlier version, and
``pairwise_versions.py --before /tmp/before/src`` measures both. The fits of both versions
alternate, each version in a process of its own, with ``reg=0`` and the same other parameters. The
table shows how often the objective of all samples was evaluated, as the number in float64 + the
number in float32. The limit is the time of the matrix products that these evaluations need: half of
the squared distances, and for MCML and LDML half of the weights times the samples.
``DIMETRIC_DATA`` names the folder with MNIST, which is left out otherwise.
"""

import argparse
import json
import os
import subprocess
import sys
import time
import warnings
from pathlib import Path
from statistics import median

import numpy as np
from sklearn import datasets
from sklearn.decomposition import PCA
from sklearn.preprocessing import scale

DATA = ("iris", "wine", "breast_cancer", "digits", "2000x20", "5000x50", "mnist")
LEARNERS = ("MCML", "LDML", "LMNN")
SECONDS = 20.0  # a work is not repeated for longer


def load(name):
    """Return the samples and labels of a data set."""
    if name == "mnist":
        with np.load(Path(os.environ["DIMETRIC_DATA"]) / "large" / "mnist.npz") as file:
            X, y = file["X_train"][:5000] / 255, file["y_train"][:5000]
        return PCA(50, random_state=0).fit_transform(X), y
    if "x" in name:
        n, d = map(int, name.split("x"))
        options = {"n_informative": d // 2, "n_redundant": d // 4, "n_classes": 10}
        X, y = datasets.make_classification(n, d, **options, random_state=0)
        return X / X.std() / (2 * d) ** 0.5, y
    X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    return scale(X[:, np.ptp(X, axis=0) > 0]), y


def count_evaluations(counts):
    """Let the rules append the number of samples and the bytes per number of each evaluation."""
    from dimetric.learners.ldml import LDMLRule
    from dimetric.learners.mcml import MCMLRule
    from dimetric.objectives.margins.objective import MarginRule

    def counted(fast, position):
        def call(*arguments, **options):
            Z = arguments[position]
            counts.append((len(Z), Z.dtype.itemsize))
            return fast(*arguments, **options)

        return call

    MCMLRule.fast = staticmethod(counted(MCMLRule.fast, 0))
    for rule in (LDMLRule, MarginRule):
        rule.fast = counted(rule.fast, 1)


def serve():
    """Fit as each line of the standard input says, and print the time and the metadata."""
    import dimetric

    warnings.simplefilter("ignore")
    counts = []
    count_evaluations(counts)
    for line in sys.stdin:
        kind, data, params = json.loads(line)
        X, y = load(data)
        counts.clear()
        learner = getattr(dimetric, kind)(**params)
        started = time.perf_counter()
        learner.fit(X, y)
        seconds = time.perf_counter() - started
        n = max(size for size, _ in counts)
        work = [counts.count((n, itemsize)) for itemsize in (8, 4)]
        print(
            json.dumps(
                {
                    "seconds": seconds,
                    "objective": learner.metadata()["final_objective"],
                    "evaluations": work,
                    "n_iter": learner.n_iter_,
                }
            ),
            flush=True,
        )


class Version:
    """A process that fits with the version in a folder."""

    def __init__(self, source):
        environment = os.environ | {"PYTHONPATH": str(source)}
        command = [sys.executable, __file__, "--serve"]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(
            command, stdin=pipe, stdout=pipe, env=environment, text=True
        )

    def fit(self, *work):
        """Return what :func:`serve` prints for a fit."""
        self.process.stdin.write(json.dumps(work) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())


def limit_seconds(kind, data, evaluations):
    """Return the time of the matrix products of all evaluations."""
    X, _ = load(data)
    n_products, total = 1 if kind == "LMNN" else 2, 0.0
    for dtype, count in zip((np.float64, np.float32), evaluations, strict=True):
        A = X.astype(dtype)
        rows, times = A[: (len(A) + 1) // 2], []
        out = np.empty((len(rows), len(A)), dtype)
        for _ in range(3):
            started = time.perf_counter()
            np.matmul(rows, A.T, out=out)
            times.append(time.perf_counter() - started)
        total += count * n_products * min(times)
    return total


def compare(versions, kind, data, tol, repeats):
    """Fit with all versions in turns, and print a line of the table."""
    params = {"reg": 0.0} | ({} if tol is None else {"tol": tol})
    started, fits = time.perf_counter(), [[] for _ in versions]
    for turn in range(repeats + 1):  # the first turn warms up
        if turn > 1 and time.perf_counter() - started > SECONDS:
            break
        for version, results in zip(versions, fits, strict=True):
            results.append(version.fit(kind, data, params))
    line = f"{kind:<5}{data:<14}{'default' if tol is None else format(tol, 'g'):<8}"
    seconds = [median(result["seconds"] for result in results[1:]) for results in fits]
    for time_of_fit, results in zip(seconds, fits, strict=True):
        last = results[-1]
        work = "{}+{}".format(*last["evaluations"])
        line += f"{time_of_fit:>9.4f} s {last['objective']:>13.8g} {work:>8} |"
    limit = limit_seconds(kind, data, fits[-1][-1]["evaluations"])
    print(f"{line} {seconds[0] / seconds[-1]:.2f}x, limit {limit:.4f} s", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--before", type=Path, help="folder `src` of an earlier version")
    parser.add_argument("--learners", nargs="*", default=LEARNERS)
    parser.add_argument("--data", nargs="*", default=DATA)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.serve:
        serve()
        sys.exit()
    now = Path(__file__).resolve().parent.parent / "src"
    versions = [Version(each) for each in (arguments.before, now) if each is not None]
    for data in arguments.data:
        if data == "mnist" and "DIMETRIC_DATA" not in os.environ:
            continue
        for kind in arguments.learners:
            for tol in (None, 1e-6):
                compare(versions, kind, data, tol, arguments.repeats)
