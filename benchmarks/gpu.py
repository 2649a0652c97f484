"""The same estimators on CUDA tensors: equal to NumPy, and how fast. Needs torch with CUDA."""

import time

import numpy as np

try:
    import torch
except ImportError:
    torch = None

from dimetric import LDA, NCA, PCA
from dimetric.neighborhood.nca import NCARule
from dimetric.pairwise.engine import pairwise_loss


def seconds(call, repeats=5):
    """Return the best time of a call that ends when the device is done."""
    best = float("inf")
    for _ in range(repeats):
        torch.cuda.synchronize()
        started = time.perf_counter()
        call()
        torch.cuda.synchronize()
        best = min(best, time.perf_counter() - started)
    return best


def main():
    """Print agreement and times."""
    if torch is None or not torch.cuda.is_available():
        print("no CUDA device here: nothing to measure")
        return
    rng = np.random.default_rng(0)
    y = rng.integers(0, 10, 2000)
    X = rng.normal(size=(10, 50))[y] + rng.normal(size=(2000, 50))
    for learner in (PCA(5), LDA(), NCA(5)):
        on_gpu = learner.fit(torch.asarray(X, device="cuda"), y)
        map_on_gpu, where = on_gpu.components_.cpu().numpy(), on_gpu.components_.device
        difference = np.abs(map_on_gpu - learner.fit(X, y).components_).max()
        print(
            f"{type(learner).__name__}: fitted on {where}, differs from NumPy by {difference:.1e}"
        )
    n, d, k = 60_000, 784, 32
    labels = torch.asarray(rng.integers(0, 10, n), device="cuda")
    A = torch.randn(n, d, device="cuda") / 28 + torch.randn(10, d, device="cuda")[labels] / 56
    L = torch.randn(k, d, device="cuda") / 28 * 5
    for block in (256, 1024, 4096):
        best = seconds(lambda b=block: pairwise_loss(NCARule(), L, A, labels, block=b))
        print(f"NCA loss and gradient, {n:,} x {d} -> {k}, block {block}: {best * 1e3:.0f} ms")
    print(f"PCA to 50: {seconds(lambda: PCA(50).fit(A)) * 1e3:.0f} ms")
    print(f"LDA: {seconds(lambda: LDA().fit(A, labels)) * 1e3:.0f} ms")
    nca = NCA(k, init="pca", max_iter=50)
    started = time.perf_counter()
    nca.fit(A, labels)
    print(f"NCA: {time.perf_counter() - started:.1f} s, {nca.metadata()}")


if __name__ == "__main__":
    main()
