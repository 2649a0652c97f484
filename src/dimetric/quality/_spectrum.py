"""How much each dimension explains: shares of eigenvalues, and residual variances."""

from collections.abc import Iterable
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from dimetric._arrays.namespaces import Array, to_host
from dimetric._arrays.validation import checked_array
from dimetric.learners._steps import last_step
from dimetric.linalg.correlation import moments, residual_variance
from dimetric.manifold.isomap import Isomap
from dimetric.manifold.mds import MDS
from dimetric.quality._distances import Distances, over_blocks

__all__ = ["eigenvalue_ratios", "residual_variances"]

MAX_DEFAULT_DIMENSION = 10


def eigenvalue_ratios(estimator: Any) -> np.ndarray:
    r"""Return the share of each component, :math:`\lambda_i / \sum_j \lambda_j`, descending.

    For PCA, KPCA and LDA the sum is over all eigenvalues, including those of components that were
    not kept. For MDS and Isomap it is over the components only.

    Parameters
    ----------
    estimator : estimator
        A fitted PCA, KPCA, LDA, classical MDS, Isomap or scikit-learn's PCA, or a pipeline that
        ends with one of these.

    Examples
    --------
    >>> from dimetric import PCA
    >>> from sklearn.datasets import load_iris
    >>> eigenvalue_ratios(PCA(3).fit(load_iris().data)).round(3)
    array([0.925, 0.053, 0.017])
    """
    check_is_fitted(estimator)
    learner = last_step(estimator)
    if hasattr(learner, "explained_variance_ratio_"):
        return to_host(learner.explained_variance_ratio_).astype(np.float64)
    if not hasattr(learner, "eigenvalues_"):
        raise ValueError(
            f"{type(learner).__name__} has no eigenvalues: PCA, KPCA, LDA, classical MDS and "
            "Isomap have."
        )
    values = np.clip(to_host(learner.eigenvalues_).astype(np.float64), 0, None)
    facts = learner.metadata() if hasattr(learner, "metadata") else {}
    total = float(np.sum(values)) or 1.0
    return values / total * facts.get("accumulated_eigenvalues", 1.0)


def residual_variances(
    embedding: Any, X: Array, dimensions: Iterable[int] | None = None
) -> dict[int, float]:
    """Return the residual variance of embeddings of several dimensions.

    This is 1 - r^2, where r is the correlation of the distances in the embedding with those among
    the data; for Isomap, with the geodesic distances. The dimension at which the curve stops
    falling is an estimate of the dimension of the data [1]_.

    Parameters
    ----------
    embedding : estimator
        An embedding with ``n_components``. Copies are fitted: one for each dimension, but only one
        for Isomap and classical MDS, whose first coordinates are the embedding in fewer dimensions.
    X : array-like of shape (n_samples, n_features)
        Samples, or distances if the embedding takes these.
    dimensions : iterable of int, optional
        By default 1 to 10, or to the number of features if that is less.

    Returns
    -------
    dict of int to float
        The residual variance of each dimension.

    References
    ----------
    .. [1] J. B. Tenenbaum, V. de Silva, J. C. Langford, "A global geometric framework for
       nonlinear dimensionality reduction", Science 290, 2000.

    Examples
    --------
    >>> from dimetric.data import make_swiss_roll
    >>> found = residual_variances(Isomap(n_neighbors=8), make_swiss_roll(600, random_state=0).X)
    >>> [round(value, 2) for value in found.values()]
    [0.02, 0.0, 0.0]
    """
    if not hasattr(embedding, "n_components"):
        raise ValueError(f"{type(embedding).__name__} has no n_components to vary.")
    samples = checked_array(X, "X", accept_sparse=True)
    given = getattr(embedding, "metric", "euclidean") == "precomputed"
    n, d = samples.shape
    most = n - 1 if given else min(n - 1, d)
    dims = list(
        range(1, min(MAX_DEFAULT_DIMENSION, most) + 1) if dimensions is None else dimensions
    )
    if not dims or not all(isinstance(k, Integral) and 1 <= k < n for k in dims):
        raise ValueError(f"dimensions={dims!r} must be ints from 1 to {n - 1}.")
    dims = sorted({int(k) for k in dims})
    if isinstance(embedding, Isomap):
        model = clone(embedding).set_params(n_components=dims[-1]).fit(X)
        return {k: model.residual_variance(k) for k in dims}
    metric = getattr(embedding, "metric", "euclidean")
    before = Distances(samples, metric, getattr(embedding, "metric_params", None))
    nested = isinstance(embedding, MDS) and embedding.algorithm == "classical"
    whole = clone(embedding).set_params(n_components=dims[-1]).fit_transform(X) if nested else None
    found = {}
    for k in dims:
        Z = whole if nested else clone(embedding).set_params(n_components=k).fit_transform(X)
        found[k] = _residual_variance(before, np.asarray(to_host(Z), dtype=np.float64)[:, :k])
    return found


def _residual_variance(before: Distances, Z: np.ndarray) -> float:
    """Return the residual variance of the distances in an embedding."""
    after, n = Distances(Z), len(Z)

    def sums(rows: np.ndarray) -> np.ndarray:
        return moments(to_host(before(rows)), after(rows)).sum(axis=0)

    total = np.sum(list(over_blocks(sums, np.arange(n), before)), axis=0)
    return float(residual_variance(total / (n * (n - 1))))
