"""Maps that an adapter is compared with: whitening, and maps that are learned from classes."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from dimetric._arrays.namespaces import Array, asarray_like, namespace, take_rows, to_host
from dimetric.learners import LDA, LMNN, NCA, PCA
from dimetric.learners._retrieval.vectors import unit_rows
from dimetric.supervision import Relevance

# If more than this share of the items is in one group of items that are relevant to each other,
# the groups are not used as classes.
MAX_CLASS_SHARE = 0.5
MAX_SAMPLES = {"LDA": 50_000, "NCA": 3000, "LMNN": 3000}
VARIANCE_FLOOR = 1e-2  # axes of less variance, relative to the mean, are not enlarged further
CLASS_LEARNERS: dict[str, Callable[[], Any]] = {
    "LDA": lambda: LDA(reg=0.1),
    "NCA": lambda: NCA(reg=0.1, max_iter=30),
    "LMNN": lambda: LMNN(max_iter=30),
}
RIVALS = ("whitening", *CLASS_LEARNERS)

Transform = Callable[[Array], Array]


class NotApplicableError(ValueError):
    """A method cannot be fitted to these data. The message gives the reason."""


def fit_rival(
    name: str, queries: Array, documents: Array, relevance: Relevance, rng: np.random.RandomState
) -> Transform:
    """Fit a map to training queries and documents. Return a function that maps to unit vectors."""
    if name == "whitening":
        model = PCA().fit(documents)
        return lambda X: unit_rows((X - asarray_like(model.offset_, X)) @ _whitening(model, X).T)[0]
    rows, labels = _classes(relevance)
    points = namespace(queries).concat([queries, documents])
    if len(rows) > MAX_SAMPLES[name]:
        kept = np.sort(rng.permutation(len(rows))[: MAX_SAMPLES[name]])
        rows, labels = rows[kept], labels[kept]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a rival may stop early, or have few samples in a class
        model = CLASS_LEARNERS[name]().fit(take_rows(points, rows), labels)
    return lambda X: unit_rows(model.transform(X))[0]


def _whitening(model: PCA, X: Array) -> Array:
    """Return the principal axes divided by their standard deviations, small ones excepted."""
    variances = np.asarray(to_host(model.explained_variance_), dtype=np.float64)
    scale = np.maximum(variances, VARIANCE_FLOOR * float(np.mean(variances))) ** -0.5
    return asarray_like(to_host(model.components_) * scale[:, None], X)


def _classes(relevance: Relevance) -> tuple[np.ndarray, np.ndarray]:
    """Return rows of items that have a class, first queries and then documents, and the classes.

    Items are in the same class if relevance links them, directly or through others. If relevance
    comes from labels, these are the labels. A query that is a document too counts once.
    """
    n, m = relevance.n_queries, relevance.n_documents
    pairs = relevance.pairs[relevance.grades > 0]
    own = relevance.own_documents
    if own is not None:
        has_own = np.flatnonzero(own >= 0)
        pairs = np.concatenate([pairs, np.stack([has_own, own[has_own]], axis=1)])
    links = sparse.coo_array((np.ones(len(pairs)), (pairs[:, 0], n + pairs[:, 1])), (n + m, n + m))
    labels = connected_components(links, directed=False)[1]
    is_item = np.zeros(n + m, dtype=bool)
    is_item[pairs[:, 0]] = is_item[n + pairs[:, 1]] = True
    if own is not None:
        is_item[:n] &= own < 0
    rows = np.flatnonzero(is_item)
    sizes = np.bincount(labels[rows])
    if sizes.max(initial=0) > MAX_CLASS_SHARE * len(rows) or np.sum(sizes > 1) < 2:
        raise NotApplicableError("relevance does not divide queries and documents into classes")
    rows = rows[sizes[labels[rows]] > 1]
    return rows, labels[rows]
