"""How much each dimension explains: ratios of eigenvalues, and residual variances."""

from collections.abc import Iterable
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from dimetric._arguments import check_types
from dimetric._arrays.namespaces import Array, to_host
from dimetric._arrays.validation import checked_array
from dimetric.learners._inner_learner import last_step
from dimetric.linalg.correlation import moments, residual_variance
from dimetric.manifold.isomap import Isomap
from dimetric.manifold.mds import MDS
from dimetric.quality._distances import Distances, over_blocks

__all__ = ["eigenvalue_ratios", "residual_variances"]

MAX_DEFAULT_DIMENSION = 10  # the largest dimension that residual_variances tries by default


@check_types
def eigenvalue_ratios(estimator: Any) -> np.ndarray:
    r"""Return the eigenvalues divided by their sum, :math:`\lambda_i / \sum_j \lambda_j`.

    The ratios are in descending order. The sum includes the eigenvalues of components that are not
    kept. For Isomap, the sum is over the kept components only.

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
            f"{type(learner).__name__} has no eigenvalues. Pass a fitted PCA, KPCA, LDA, classical "
            "MDS or Isomap."
        )
    values = np.clip(to_host(learner.eigenvalues_).astype(np.float64), 0, None)
    metadata = learner.metadata() if hasattr(learner, "metadata") else {}
    total = float(np.sum(values)) or 1.0
    return values / total * metadata.get("accumulated_eigenvalues", 1.0)


@check_types
def residual_variances(
    embedding: Any, X: Array, dimensions: Iterable[int] | None = None
) -> dict[int, float]:
    """Return the residual variance of an embedding for several dimensions.

    The residual variance is 1 - r^2, where r is the correlation between the distances in the
    embedding and in the data. For Isomap, geodesic distances replace the distances in the data. The
    smallest dimension beyond which the residual variance hardly decreases is an estimate of the
    dimension of the data [1]_.

    Parameters
    ----------
    embedding : estimator
        An embedding with the parameter ``n_components``. A copy is fitted for each dimension. For
        Isomap and classical MDS, one copy is enough, because their first coordinates are the
        embedding in fewer dimensions.
    X : array-like of shape (n_samples, n_features)
        Samples, or distances if the metric of the embedding is ``"precomputed"``.
    dimensions : iterable of int, optional
        Dimensions to try. The default is 1, ..., 10, or up to the number of features if it is
        smaller.

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
    >>> result = residual_variances(Isomap(n_neighbors=8), make_swiss_roll(600, random_state=0).X)
    >>> [round(value, 2) for value in result.values()]
    [0.02, 0.0, 0.0]
    """
    if not hasattr(embedding, "n_components"):
        raise ValueError(f"{type(embedding).__name__} has no parameter n_components.")
    samples = checked_array(X, "X", accept_sparse=True)
    metric = getattr(embedding, "metric", "euclidean")
    n, d = samples.shape
    largest = n - 1 if metric == "precomputed" else min(n - 1, d)
    dims = list(
        range(1, min(MAX_DEFAULT_DIMENSION, largest) + 1) if dimensions is None else dimensions
    )
    if not dims or not all(isinstance(k, Integral) and 1 <= k < n for k in dims):
        raise ValueError(f"dimensions={dims!r} must be ints from 1 to {n - 1}.")
    dims = sorted({int(k) for k in dims})
    if isinstance(embedding, Isomap):
        model = clone(embedding).set_params(n_components=dims[-1]).fit(X)
        return {k: model.residual_variance(k) for k in dims}
    before = Distances(samples, metric, getattr(embedding, "metric_params", None))
    nested = isinstance(embedding, MDS) and embedding.algorithm == "classical"
    if nested:
        Z = clone(embedding).set_params(n_components=dims[-1]).fit_transform(X)
    variances = {}
    for k in dims:
        if not nested:
            Z = clone(embedding).set_params(n_components=k).fit_transform(X)
        variances[k] = _residual_variance(before, np.asarray(to_host(Z), dtype=np.float64)[:, :k])
    return variances


def _residual_variance(before: Distances, Z: np.ndarray) -> float:
    """Return the residual variance of the distances in the embedding Z."""
    after, n = Distances(Z), len(Z)

    def sums(rows: np.ndarray) -> np.ndarray:
        return moments(to_host(before(rows)), after(rows)).sum(axis=0)

    total = np.sum(list(over_blocks(sums, np.arange(n), before)), axis=0)
    return float(residual_variance(total / (n * (n - 1))))
