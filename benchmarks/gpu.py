"""Compare estimators on CUDA tensors with NumPy, and measure them. Requires torch with CUDA.

The evaluations and fits use MNIST, if ``large/mnist.npz`` (X_train, y_train) is in the folder of
data sets, else generated data of the same shape. Beside each evaluation stands its limit: the time
of the matrix products that it cannot do without, by torch in float32.
"""

import argparse
import os
import time
import warnings
from pathlib import Path

import numpy as np
from scipy.spatial.distance import pdist
from sklearn.datasets import load_digits, load_wine
from sklearn.preprocessing import scale

try:
    import torch
except ImportError:
    torch = None

import dimetric
from dimetric import LDML, LMNN, MCML, NCA, NCMML, PCA, DMLEig
from dimetric.learners.ldml import LDMLRule
from dimetric.learners.lsi import DistanceRule
from dimetric.learners.mcml import MCMLRule
from dimetric.learners.mlkr import MLKRRule
from dimetric.learners.nca import NCARule
from dimetric.objectives.engine import laplacian_product
from dimetric.objectives.margins.objective import MarginObjective
from dimetric.objectives.margins.targets import nearest_targets
from dimetric.objectives.pairwise import PairwiseObjective
from dimetric.objectives.side import Side
from dimetric.objectives.softmin import SoftminObjective

LEARNERS = [
    *(dimetric.PCA(3), dimetric.LDA(), dimetric.ANMM(3), dimetric.Covariance(), dimetric.DMLMJ(3)),
    *(dimetric.NCA(2, reg=0.1), dimetric.LMNN(reg=0.1), dimetric.MCML(reg=0.1)),
    *(dimetric.LDML(reg=0.1), dimetric.NCMML(reg=0.1), dimetric.NCMC(reg=0.1, random_state=0)),
    *(dimetric.ITML(random_state=0), dimetric.LSI(), dimetric.DMLEig()),
    *(dimetric.KPCA(3), dimetric.KDA(), dimetric.KANMM(3), dimetric.KDMLMJ(3)),
    dimetric.Kernelized(dimetric.NCA(2, reg=0.1)),
    *(dimetric.MDS(), dimetric.MDS(algorithm="smacof"), dimetric.Isomap()),
    dimetric.LLE(n_neighbors=12),
]
# Fits of MNIST and the seconds that they should take on an H200: of all features to 32 components,
# and of 50 principal components. With a given tol, fits are not stopped early.
NCA_FITS = [(NCA(32, init="pca"), 1.5), (NCA(32, init="pca", tol=1e-5), 1.5)]
PCA_FITS = [
    *((LMNN(), 3.0), (LMNN(tol=1e-6), 3.0), (MCML(), 3.0), (MCML(tol=1e-5), 3.0)),
    *((LDML(), 3.0), (LDML(tol=1e-5), 3.0), (DMLEig(), 3.0), (NCMML(), None)),
]


def seconds(call, repeats=5):
    """Return the median time of a call, including the work that is queued on the device."""
    times = []
    call()
    for _ in range(repeats):
        torch.cuda.synchronize()
        started = time.perf_counter()
        call()
        torch.cuda.synchronize()
        times.append(time.perf_counter() - started)
    return float(np.median(times))


def agreement():
    """Print the largest relative difference between distances learned on CUDA and with NumPy."""
    X, y = load_wine(return_X_y=True)
    for dtype in (np.float64, np.float32):
        A = scale(X).astype(dtype)
        on_device = torch.asarray(A, device="cuda")
        for learner in LEARNERS:
            try:
                Z = learner.fit(on_device, y).transform(on_device)
                expected = pdist(learner.fit(A, y).transform(A))
            except Exception as error:  # print the other learners, too
                print(f"{learner}: {error!r}")
                continue
            difference = np.abs(pdist(Z.cpu().numpy()) - expected).max() / expected.max()
            print(f"{learner}, {np.dtype(dtype)}: differs from NumPy by {difference:.1e}")


def value_agreement():
    """Print how losses and gradients of small problems differ from those of NumPy in float32."""
    X, y = load_digits(return_X_y=True)
    order = np.argsort(y, kind="stable")
    X, y = scale(X)[order].astype(np.float32), y[order]
    L = np.random.default_rng(0).normal(size=(20, 64)).astype(np.float32) / 20
    objectives = {
        "NCA": lambda A: PairwiseObjective(NCARule(), A, y),
        "MCML": lambda A: PairwiseObjective(MCMLRule(), A, y),
        "LDML": lambda A: PairwiseObjective(LDMLRule(), A, y, [10.0]),
        "LSI": lambda A: PairwiseObjective(DistanceRule(), A, y, [0.1]),
        "MLKR": lambda A: PairwiseObjective(MLKRRule(), A, None, targets=y / 10.0),
        "LMNN": lambda A: MarginObjective(A, y, *nearest_targets(X, y, 3), mu=0.5, width=0.1),
    }
    for name, objective in objectives.items():
        results = []
        for A, map_ in ((X, L), (torch.asarray(X, device="cuda"), torch.asarray(L, device="cuda"))):
            part = objective(A)
            value, gradient, _ = part.gradient_in_map(map_, part.theta)
            results.append((value, np.asarray(gradient if A is X else gradient.cpu())))
        (v, g), (value, gradient) = results
        error = np.linalg.norm(gradient - g) / np.linalg.norm(g)
        print(f"{name}, digits: loss differs by {abs(value / v - 1):.1e}, gradient by {error:.1e}")


def limit(Z, n_products):
    """Return the time of the products of all pairs, in blocks, in float32."""
    rows = 4096
    W = torch.randn(rows, len(Z), device="cuda")

    def products():
        for first in range(0, len(Z), rows):
            torch.mm(Z[first : first + rows], Z.T)
            for _ in range(n_products - 1):
                torch.mm(W[: len(Z) - first], Z)

    return seconds(products, 3)


def evaluations(X, y):
    """Print the time of one loss and product of each rule, at a typical scale of the map."""
    for k in (32, 50):
        Z = PCA(k).fit(X).transform(X)
        Z = (Z - Z.mean(dim=0)) * (16 / float(2 * (Z * Z).sum(dim=1).median())) ** 0.5
        least = limit(Z, 2)
        side = Side.of(Z, labels=y)
        targets = torch.asarray(nearest_targets(Z, y, 3)[0], device="cuda")
        objectives = {
            "NCA": PairwiseObjective(NCARule(), Z, y),
            "MCML": PairwiseObjective(MCMLRule(), Z, y),
            "LDML": PairwiseObjective(LDMLRule(), Z, y, [10.0]),
            "LSI": PairwiseObjective(DistanceRule(), Z, y, [0.1]),
            "MLKR": PairwiseObjective(MLKRRule(), Z, None, targets=y / 10.0),
            "LMNN": MarginObjective(Z, y, targets.cpu().numpy(), mu=0.5, width=0.1),
            "DML-eig": SoftminObjective(Z, y),
        }
        for name, objective in objectives.items():
            taken = seconds(lambda o=objective, z=Z: o.evaluate(z, z, o.theta))
            print(f"{name}, {len(Z):,} x {k}: {taken * 1e3:.1f} ms, limit {least * 1e3:.1f} ms")
        engine = seconds(lambda z=Z, s=side: laplacian_product(NCARule(), z, z, s), 2)
        print(f"NCA by the engine, {len(Z):,} x {k}: {engine * 1e3:.0f} ms")
    L = torch.randn(32, X.shape[1], device="cuda") / X.shape[1] ** 0.5
    objective = PairwiseObjective(NCARule(), X - X.mean(dim=0), y)
    taken = seconds(lambda: objective.gradient_in_map(L, objective.theta))
    print(f"NCA with gradient, {len(X):,} x {X.shape[1]} -> 32: {taken * 1e3:.1f} ms (aim: 25 ms)")
    for k in (256, 512, 1024):
        Z = torch.randn(20_000, k, device="cuda") / k**0.5
        objective = PairwiseObjective(NCARule(), Z, np.sort(y[:20_000]))
        taken = seconds(lambda o=objective, z=Z: o.evaluate(z, z, o.theta), 3)
        print(f"NCA, 20,000 x {k}: {taken * 1e3:.0f} ms, limit {limit(Z, 2) * 1e3:.0f} ms")


def fits(X, y, learners):
    """Print the time of whole fits. The first one also compiles the kernels."""
    for learner, aim in learners:
        times = []
        for _ in range(2):
            torch.cuda.synchronize()
            started = time.perf_counter()
            learner.fit(X, y)
            torch.cuda.synchronize()
            times.append(time.perf_counter() - started)
        facts = learner.metadata()
        goal = f" (aim: {aim} s)" if aim else ""
        size = f"{X.shape[0]:,} x {X.shape[1]}"
        print(f"{learner}, {size}: first {times[0]:.2f} s, then {times[1]:.2f} s{goal}")
        names = ("n_iter", "initial_objective", "final_objective", "gap", "reason")
        print("   ", {name: facts[name] for name in names if name in facts})


def samples(folder):
    """Return MNIST or generated samples on the device, sorted by class, and their labels."""
    path = Path(folder or ".") / "large" / "mnist.npz"
    if path.is_file():
        data = np.load(path)
        X, y = data["X_train"].reshape(-1, 784) / np.float32(255), data["y_train"].astype(np.int64)
    else:
        print("large/mnist.npz was not found: generated data")
        rng = np.random.default_rng(0)
        y = rng.integers(0, 10, 60_000)
        X = rng.normal(size=(60_000, 784)) / 28 + rng.normal(size=(10, 784))[y] / 56
    order = np.argsort(y, kind="stable")
    return torch.asarray(X[order].astype(np.float32), device="cuda"), y[order]


def main():
    """Print the agreement with NumPy and the times."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default=os.environ.get("DIMETRIC_DATA"), type=Path)
    arguments = parser.parse_args()
    if torch is None or not torch.cuda.is_available():
        print("skipped: there is no CUDA device")
        return
    warnings.simplefilter("ignore")
    X, y = samples(arguments.data)
    evaluations(X, y)
    fits(X, y, NCA_FITS)
    fits(PCA(50).fit(X).transform(X), y, PCA_FITS)
    value_agreement()
    agreement()


if __name__ == "__main__":
    main()
