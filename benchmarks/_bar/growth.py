"""How the time grows with the number of samples and of features."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from _bar.data import Data, blobs, classes, normal, roll
from _bar.measure import Timing
from _bar.process import Side
from _bar.works.manifold import EMBEDDING


@dataclass(frozen=True)
class Series:
    """A work on data of several sizes.

    Parameters
    ----------
    name : str
        Name of the work, with what is kept fixed.
    variable : str
        What grows: "n" or "d".
    sizes : tuple of int
        The sizes, ascending. The quick run has the first three.
    data : callable
        Returns the data of one size.
    ours, peer : Side
        Our side and that of the peer.
    quick : bool
        Whether the quick run includes the series.
    """

    name: str
    variable: str
    sizes: tuple[int, ...]
    data: Callable[[int], Data]
    ours: Side
    peer: Side | None = None
    quick: bool = False


@dataclass
class Growth:
    """The timings of a series, one for each size and role."""

    series: Series
    sizes: tuple[int, ...]
    timings: dict[str, list[Timing]]

    def exponents(self) -> dict[str, float]:
        """Return the exponent of each side."""
        return {
            role: exponent(self.sizes, [timing.median for timing in timings])
            for role, timings in self.timings.items()
        }


def exponent(sizes: tuple[int, ...], seconds: list[float]) -> float:
    """Return the slope of log(seconds) over log(sizes), by least squares. NaN are left out."""
    x, y = np.log(np.asarray(sizes, dtype=float)), np.log(np.asarray(seconds, dtype=float))
    known = np.isfinite(y)
    if np.sum(known) < 2:
        return float("nan")
    return float(np.polyfit(x[known], y[known], 1)[0])


def _fit(library: str, name: str, params: dict[str, object], **options: object) -> Side:
    return Side(library, "fit", {"name": name, "params": params, **options})


TEN_ITERATIONS = {
    "ours": _fit("dimetric", "NCA", {"reg": 0.0, "tol": 1e-5, "max_iter": 10}),
    "peer": _fit("scikit_learn", "NeighborhoodComponentsAnalysis", {"max_iter": 10}),
}
NEIGHBORS = {
    "ours": Side("dimetric", "neighbors", {"n_neighbors": 10}),
    "peer": Side("scikit_learn", "neighbors", {"n_neighbors": 10}),
}
GAMMA = 0.05
EIGENVALUES = {"inputs": ["X"], "results": ["eigenvalues_"]}

SERIES = (
    Series(
        "NCA, 10 iterations, d = 50",
        "n",
        (500, 1000, 2000, 4000),
        lambda n: classes(n, 50),
        **TEN_ITERATIONS,
        quick=True,
    ),
    Series(
        "NCA, 10 iterations, n = 1,000",
        "d",
        (25, 50, 100, 200, 400),
        lambda d: classes(1000, d),
        **TEN_ITERATIONS,
        quick=True,
    ),
    Series(
        "LMNN, 10 iterations, d = 50",
        "n",
        (500, 1000, 2000, 4000, 8000),
        lambda n: classes(n, 50),
        _fit("dimetric", "LMNN", {"reg": 0.0, "max_iter": 10}),
    ),
    Series(
        "10-NN graph, d = 50",
        "n",
        (2500, 5000, 10_000, 20_000),
        lambda n: normal(n, 50, 0.25),
        **NEIGHBORS,
        quick=True,
    ),
    Series(
        "10-NN graph, n = 5,000",
        "d",
        (25, 50, 100, 200, 400, 800),
        lambda d: normal(5000, d, 0.25),
        **NEIGHBORS,
    ),
    Series(
        "KPCA to 10, d = 20",
        "n",
        (1000, 2000, 4000, 8000),
        blobs,
        _fit("dimetric", "KPCA", {"n_components": 10}, kernel={"gamma": GAMMA}, **EIGENVALUES),
        _fit(
            "scikit_learn",
            "KernelPCA",
            {
                "n_components": 10,
                "kernel": "rbf",
                "gamma": GAMMA,
                "eigen_solver": "arpack",
                "random_state": 0,
            },
            **EIGENVALUES,
        ),
    ),
    Series(
        "Isomap, 10 neighbours",
        "n",
        (1000, 2000, 4000, 8000),
        roll,
        _fit("dimetric", "Isomap", {"n_neighbors": 10}, **EMBEDDING),
        _fit("scikit_learn", "Isomap", {"n_neighbors": 10}, **EMBEDDING),
    ),
    Series(
        "LLE, 12 neighbours",
        "n",
        (2500, 5000, 10_000, 20_000, 40_000),
        roll,
        _fit("dimetric", "LLE", {"n_neighbors": 12}, **EMBEDDING),
        _fit(
            "scikit_learn",
            "LocallyLinearEmbedding",
            {"n_neighbors": 12, "random_state": 0, "n_jobs": -1},
            **EMBEDDING,
        ),
    ),
)
