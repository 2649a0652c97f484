"""Works of neighbour search and of scores of embeddings."""

from functools import partial

from _bar import qualities
from _bar.data import embedded, normal, queries
from _bar.process import Side
from _bar.work import Bar, Work


def _graph(n: int, d: int, ratio: float) -> Work:
    return Work(
        row="neighbors",
        name="10-NN graph, scikit-learn's brute force",
        data=partial(normal, n, d, 0.25),
        ours=Side("dimetric", "neighbors", {"n_neighbors": 10}),
        peer=Side("scikit_learn", "neighbors", {"n_neighbors": 10}),
        limit=Side("limit", "inner_products"),
        bar=Bar(ratio),
        quality=qualities.NEIGHBOR_DISTANCE,
    )


def _predict(n: int, d: int, n_rows: int, bar: Bar, *, quick: bool = False) -> Work:
    return Work(
        row="serving",
        name="5-NN predictions, scikit-learn",
        data=partial(queries, n, d, n_rows),
        ours=Side("dimetric", "predict", {"n_neighbors": 5}),
        peer=Side("scikit_learn", "predict", {"n_neighbors": 5}),
        limit=Side("limit", "query_products"),
        bar=bar,
        quality=qualities.ACCURACY,
        quick=quick,
    )


SERVED = ((500, 10, 1), (500, 300, 100), (5000, 300, 10), (20_000, 3, 5000), (100_000, 20, 1000))

WORKS = (
    _graph(20_000, 50, 1.9),
    _graph(10_000, 784, 2.8),
    Work(
        row="trustworthiness",
        name="Trustworthiness, scikit-learn",
        data=partial(embedded, 6000),
        ours=Side("dimetric", "trustworthiness", {"n_neighbors": 10}),
        peer=Side("scikit_learn", "embedding_score", {"n_neighbors": 10}),
        limit=Side("limit", "inner_products", {"names": ["X", "Z"]}),
        bar=Bar(3),
        quality=qualities.SCORE,
    ),
    _predict(20_000, 50, 1, Bar(1.2, seconds=1e-3), quick=True),
    _predict(20_000, 50, 5000, Bar(1.2), quick=True),
    *(_predict(*sizes, Bar(1.2)) for sizes in SERVED),
    Work(
        row="trustworthiness",
        name="Trustworthiness",
        data=partial(embedded, 100_000),
        ours=Side("dimetric", "trustworthiness", {"n_neighbors": 10}),
        bar=Bar(megabytes=2000),
        quality=qualities.SCORE,
        quick=False,
        seconds_limit=1200,
    ),
)
