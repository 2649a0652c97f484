"""The data of the works. Each function returns a title and arrays by name."""

import os
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from scipy.spatial.distance import cdist
from sklearn import datasets
from sklearn.preprocessing import minmax_scale, scale

from dimetric import PCA, Pairs
from dimetric.data import make_swiss_roll

Data: TypeAlias = tuple[str, dict[str, Any]]


def table(name: str, *, scaling: str = "standard", step: int = 1) -> Data:
    """Return each step-th row of a data set of scikit-learn, without constant features."""
    X, y = (each[::step] for each in getattr(datasets, f"load_{name}")(return_X_y=True))
    X = X[:, np.ptp(X, axis=0) > 0]
    scaled = {"standard": scale, "minmax": minmax_scale, "none": np.asarray}[scaling](X)
    return f"{name} {X.shape[0]:,} x {X.shape[1]}", {"X": scaled, "y": y}


def classes(n: int, d: int) -> Data:
    """Return ten overlapping classes, scaled so that distances are of order 1."""
    X, y = datasets.make_classification(
        n, d, n_informative=d // 2, n_redundant=d // 4, n_classes=10, random_state=0
    )
    return f"{n:,} x {d}", {"X": X / X.std() / (2 * d) ** 0.5, "y": y}


def digit_pairs(n_pairs: int) -> Data:
    """Return digits, pairs of similar and dissimilar samples, and bounds on their distances."""
    _, arrays = table("digits", scaling="minmax")
    pairs = Pairs.from_labels(arrays["y"], n_pairs, random_state=0)
    V = arrays["X"][pairs.rows[:, 0]] - arrays["X"][pairs.rows[:, 1]]
    bounds = np.percentile(np.sum(V**2, axis=1), [5, 95])
    extra = {"rows": pairs.rows, "is_similar": pairs.is_similar, "bounds": bounds}
    return f"digits, {n_pairs:,} pairs", {"X": arrays["X"], **extra}


def roll(n: int) -> Data:
    """Return a Swiss roll, with its unrolled coordinates."""
    X, _, sheet = make_swiss_roll(n, random_state=0)
    return f"Swiss roll, {n:,}", {"X": X, "sheet": sheet}


def normal(n: int, d: int, decay: float, dtype: str = "float64") -> Data:
    """Return normal samples. The standard deviation of feature i is i ** -decay."""
    X = np.random.default_rng(0).normal(size=(n, d)) / np.arange(1, d + 1) ** decay
    return f"{n:,} x {d}{'' if dtype == 'float64' else f', {dtype}'}", {"X": X.astype(dtype)}


def queries(n: int, d: int, n_rows: int) -> Data:
    """Return normal samples of three classes, and new rows with their classes."""
    X = np.random.default_rng(0).normal(size=(n + n_rows, d))
    y = (X[:, 0] + X[:, 1] > 0).astype(int) + (X[:, 0] > 1)
    rows = f"{n_rows:,} row{'s' * (n_rows > 1)}"
    return f"{rows}, {n:,} x {d}", {"X": X[:n], "y": y[:n], "Q": X[n:], "labels": y[n:]}


def distances(n: int) -> Data:
    """Return the matrix of Euclidean distances between samples of 50 features."""
    X = normal(n, 50, 1)[1]["X"]
    return f"distances of {n:,}", {"D": cdist(X, X)}


def blobs(n: int) -> Data:
    """Return samples of 20 features around fifty centres."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 20))[rng.integers(0, 50, n)] + 0.5 * rng.normal(size=(n, 20))
    return f"{n:,} x 20", {"X": X}


def embedded(n: int) -> Data:
    """Return samples with decaying variances, and their first two features as embedding."""
    X = normal(n, 50, 1)[1]["X"]
    return f"{n:,} x 50", {"X": X, "Z": X[:, :2]}


def image_like(n: int, d: int) -> Data:
    """Return float32 samples of ten classes, as large as MNIST."""
    rng = np.random.default_rng(0)
    y = np.sort(rng.integers(0, 10, n))
    X = rng.standard_normal((n, d), dtype=np.float32) / d**0.5
    X += rng.standard_normal((10, d), dtype=np.float32)[y] / (2 * d**0.5)
    return f"{n:,} x {d}, float32", {"X": X, "y": y}


def mnist(n_components: int | None) -> Data:
    """Return the training images of MNIST in float32, mapped by PCA if a number is given."""
    with np.load(folder() / "large" / "mnist.npz") as file:
        X, y = file["X_train"].astype(np.float32) / 255, file["y_train"]
    if n_components is not None:
        X = PCA(n_components).fit_transform(X)
    return f"MNIST {X.shape[0]:,} x {X.shape[1]}, float32", {"X": X, "y": y}


def images(n: int, n_components: int) -> Data:
    """Return the first images of MNIST, mapped by PCA."""
    _, arrays = mnist(n_components)
    return f"MNIST {n:,} x {n_components}", {"X": arrays["X"][:n].astype(np.float64)}


def nothing(title: str) -> Data:
    """Return no arrays, for a work that reads its own data."""
    return title, {}


def folder() -> Path:
    """Return the folder of data sets that the environment variable names."""
    return Path(os.environ["DIMETRIC_DATA"])
