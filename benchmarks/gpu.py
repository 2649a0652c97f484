"""Compare estimators on CUDA tensors with NumPy, and measure them. Requires torch with CUDA."""

import time

import numpy as np
from scipy.spatial.distance import pdist
from sklearn.datasets import load_wine
from sklearn.preprocessing import scale

try:
    import torch
except ImportError:
    torch = None

import dimetric
from dimetric import LDA, NCA, PCA
from dimetric.learners.nca import NCARule
from dimetric.objectives.engine import pairwise_loss
from dimetric.objectives.side import Side


def seconds(call, repeats=5):
    """Return the best time of a call, including the work that is queued on the device."""
    best = float("inf")
    for _ in range(repeats):
        torch.cuda.synchronize()
        started = time.perf_counter()
        call()
        torch.cuda.synchronize()
        best = min(best, time.perf_counter() - started)
    return best


LEARNERS = [
    *(dimetric.PCA(3), dimetric.LDA(), dimetric.ANMM(3), dimetric.Covariance(), dimetric.DMLMJ(3)),
    *(dimetric.NCA(2, reg=0.1), dimetric.LMNN(reg=0.1), dimetric.MCML(reg=0.1)),
    *(dimetric.LDML(reg=0.1), dimetric.NCMML(reg=0.1), dimetric.NCMC(reg=0.1, random_state=0)),
    *(dimetric.ITML(random_state=0), dimetric.LSI(), dimetric.DMLEig()),
    *(dimetric.KPCA(3), dimetric.KDA(), dimetric.KANMM(3), dimetric.KDMLMJ(3)),
    dimetric.Kernelized(dimetric.NCA(2, reg=0.1)),
    *(
        dimetric.MDS(),
        dimetric.MDS(algorithm="smacof"),
        dimetric.Isomap(),
        dimetric.LLE(n_neighbors=12),
    ),
]


def agreement():
    """Print the largest relative difference between distances learned on CUDA and with NumPy."""
    X, y = load_wine(return_X_y=True)
    X = scale(X)
    X_cuda = torch.asarray(X, device="cuda")
    for learner in LEARNERS:
        Z = learner.fit(X_cuda, y).transform(X_cuda)
        expected = pdist(learner.fit(X, y).transform(X))
        difference = np.abs(pdist(Z.cpu().numpy()) - expected).max() / expected.max()
        print(f"{learner}: on {Z.device}, distances differ from NumPy's by {difference:.1e}")


def main():
    """Print the agreement with NumPy and the times."""
    if torch is None or not torch.cuda.is_available():
        print("skipped: there is no CUDA device")
        return
    agreement()
    rng = np.random.default_rng(0)
    n, d, k = 60_000, 784, 32
    labels = torch.asarray(rng.integers(0, 10, n), device="cuda")
    A = torch.randn(n, d, device="cuda") / 28 + torch.randn(10, d, device="cuda")[labels] / 56
    L = torch.randn(k, d, device="cuda") / 28 * 5
    side = Side.of(A, labels=labels)
    for block in (256, 1024, 4096):
        best = seconds(lambda b=block: pairwise_loss(NCARule(), L, A, side, block=b))
        print(f"NCA loss and gradient, {n:,} x {d} -> {k}, block {block}: {best * 1e3:.0f} ms")
    print(f"PCA to 50: {seconds(lambda: PCA(50).fit(A)) * 1e3:.0f} ms")
    print(f"LDA: {seconds(lambda: LDA().fit(A, labels)) * 1e3:.0f} ms")
    nca = NCA(k, init="pca", max_iter=50)
    started = time.perf_counter()
    nca.fit(A, labels)
    print(f"NCA: {time.perf_counter() - started:.1f} s, {nca.metadata()}")


if __name__ == "__main__":
    main()
