"""scikit-learn's side of each work. It runs in a process of its own."""

import time

from sklearn.decomposition import PCA, KernelPCA
from sklearn.manifold import MDS, ClassicalMDS, Isomap, LocallyLinearEmbedding, trustworthiness
from sklearn.neighbors import (
    KNeighborsClassifier,
    NeighborhoodComponentsAnalysis,
    kneighbors_graph,
)

ESTIMATORS = (
    *(NeighborhoodComponentsAnalysis, PCA, KernelPCA, MDS, ClassicalMDS, Isomap),
    LocallyLinearEmbedding,
)
WARM_UP_ROWS = 300


def some_rows(arrays, names):
    """Return a few rows of each array, for a first fit that loads code."""
    step = max(1, len(arrays[names[0]]) // WARM_UP_ROWS)
    return [arrays[name][::step] for name in names]


def fit(arrays, *, name, params, inputs=("X", "y"), results=("components_",)):
    """Fit an estimator, and return some of its attributes."""
    estimator = {kind.__name__: kind for kind in ESTIMATORS}[name](**params)
    if params.get("metric") != "precomputed":
        estimator.fit(*some_rows(arrays, inputs))

    def call():
        estimator.fit(*(arrays[name] for name in inputs))
        return {name: getattr(estimator, name) for name in results}

    return call


def fastest(calls):
    """Return the call that takes the least time when it is repeated."""
    seconds = []
    for call in calls:
        call()
        started = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - started)
    return calls[seconds.index(min(seconds))]


def fastest_fit(arrays, *, name, params, choice, values, inputs, results):
    """Fit an estimator with the fastest value of the parameter `choice`."""
    options = {"name": name, "inputs": inputs, "results": results}
    return fastest([fit(arrays, params=params | {choice: each}, **options) for each in values])


def predict(arrays, *, n_neighbors):
    """Predict the classes of new rows by the fastest algorithm of a fitted k-NN classifier."""

    def call_of(algorithm):
        model = KNeighborsClassifier(n_neighbors, algorithm=algorithm)
        model.fit(arrays["X"], arrays["y"])
        return lambda: {"labels": model.predict(arrays["Q"])}

    return fastest([call_of(algorithm) for algorithm in ("brute", "kd_tree", "ball_tree")])


def neighbors(arrays, *, n_neighbors):
    """Find the nearest neighbours of all samples by brute force."""
    from sklearn.neighbors import NearestNeighbors

    X = arrays["X"]

    def call():
        search = NearestNeighbors(n_neighbors=n_neighbors, algorithm="brute").fit(X)
        graph = search.kneighbors_graph(mode="distance")
        return {"indices": graph.indices.reshape(len(X), n_neighbors)}

    kneighbors_graph(*some_rows(arrays, ("X",)), n_neighbors)
    return call


def embedding_score(arrays, *, n_neighbors):
    """Compute the trustworthiness of an embedding."""
    X, Z = arrays["X"], arrays["Z"]
    return lambda: {"value": trustworthiness(X, Z, n_neighbors=n_neighbors)}
