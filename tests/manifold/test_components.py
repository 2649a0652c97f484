"""Isomap and LLE of neighbour graphs with several components, compared with scikit-learn."""

from functools import cache

import numpy as np
import pytest
from scipy.sparse import csgraph
from sklearn import manifold

from dimetric import LLE, Isomap
from dimetric.neighbors.graph import Neighborhood
from dimetric.quality import embedding_quality

pytestmark = [
    pytest.mark.filterwarnings("ignore:The neighbour graph has"),
    pytest.mark.filterwarnings("ignore:.*number of connected components"),
    pytest.mark.filterwarnings("ignore:Changing the sparsity structure"),
    pytest.mark.filterwarnings("ignore:.*groups of samples have no neighbour"),
]


def turning_objects(n_objects=14, n_views=36, n_kinds=8, side=12, n_balls=12):
    """Images of turning objects, made of bright balls. Objects of a kind are alike."""
    rng = np.random.default_rng(0)
    place = rng.uniform(-0.6, 0.6, (n_kinds, n_balls, 3))
    brightness = rng.uniform(0.2, 1, (n_kinds, n_balls))
    radius = rng.uniform(0.1, 0.35, (n_kinds, n_balls))
    pixel = np.linspace(-1, 1, side)[:, None]
    images = []
    for kind in np.arange(n_objects) % n_kinds:
        x, y, z = (place[kind] + 0.15 * rng.normal(size=(n_balls, 3))).T
        for angle in 2 * np.pi * np.arange(n_views) / n_views:
            across = x * np.cos(angle) + z * np.sin(angle)
            depth = z * np.cos(angle) - x * np.sin(angle)
            rows, columns = (
                np.exp(-((pixel - at) ** 2) / (2 * radius[kind] ** 2)) for at in (y, across)
            )
            light = brightness[kind] * (1 + depth / 2)
            images.append(((rows * light) @ columns.T).ravel())
    return np.array(images)


def rings(n_rings=12, n=30, d=40):
    """Closed curves of different sizes and shapes."""
    rng = np.random.default_rng(0)
    angle = 2 * np.pi * np.arange(n)[:, None] / n * np.arange(1, 5)
    waves = np.concatenate([np.cos(angle), np.sin(angle)], axis=1)
    decay = np.tile(np.arange(1, 5) ** -1.5, 2)[:, None]
    sizes = rng.uniform(0.4, 1.4, n_rings)
    curves = [waves @ (size * decay * rng.normal(size=(8, d))) for size in sizes]
    X = np.concatenate([curve + rng.normal(size=d) for curve in curves])
    return X + 0.02 * rng.normal(size=X.shape)


def sheets(n_sheets=7, n=50, d=20):
    """Bent sheets of different sizes."""
    rng = np.random.default_rng(0)
    X = []
    for size in rng.uniform(0.2, 0.6, n_sheets):
        u = rng.normal(size=(n, 2))
        bent = np.hstack([u, 0.3 * u**2, 0.3 * np.sin(2 * u)])
        X.append(size * bent @ rng.normal(size=(6, d)) + 1.2 * rng.normal(size=d))
    return np.concatenate(X)


DATA = {"turning objects": (turning_objects, 4), "rings": (rings, 5), "sheets": (sheets, 6)}


@cache
def samples(name):
    make, k = DATA[name]
    return make(), k


@pytest.mark.parametrize("name", DATA)
def test_graphs_have_several_components(name):
    X, k = samples(name)
    assert 4 <= csgraph.connected_components(Neighborhood(k).graph(X))[0] <= 12


@pytest.mark.parametrize("name", DATA)
@pytest.mark.parametrize(
    ("ours", "theirs", "margin"),
    [(Isomap, manifold.Isomap, 0.0), (LLE, manifold.LocallyLinearEmbedding, 0.05)],
)
def test_neighbourhoods_are_kept_better_than_by_scikit_learn(name, ours, theirs, margin):
    X, k = samples(name)
    scores = [
        embedding_quality(X, method(n_components=10, n_neighbors=k).fit_transform(X)).r_nx_auc
        for method in (theirs, ours)
    ]
    assert scores[1] > scores[0] + margin
