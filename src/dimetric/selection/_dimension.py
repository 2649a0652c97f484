"""Choice of the number of components."""

from collections.abc import Callable, Sequence
from functools import partial
from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import clone

from dimetric._arguments import check_types
from dimetric._arrays.validation import checked_array
from dimetric.selection._knn_scores import checked_neighbors
from dimetric.selection._splits import n_rows
from dimetric.selection._tune import tune
from dimetric.selection._weighted import fit_weighted
from dimetric.supervision._weights import checked_sample_weight

__all__ = ["choose_dimension"]

DEFAULT_DIMENSIONS = (1, 2, 3, 5, 10, 20, 30, 40, 50)
FRACTION_ROUNDING = 1e-12  # largest rounding error of a fraction of the eigenvalues


@check_types
def choose_dimension(
    learner: Any,
    X: Any,
    y: Any = None,
    *,
    dimensions: Sequence[int] | None = None,
    threshold: float | None = None,
    n_neighbors: int = 3,
    sample_weight: Any = None,
    groups: Any = None,
    cv: Any = 5,
    n_repeats: int = 1,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> int:
    r"""Choose the number of components, by k-NN accuracy or by a fraction of the eigenvalues.

    Parameters
    ----------
    learner : learner
        A learner with ``n_components``.
    X, y : array-like of shape (n_samples, n_features) and (n_samples,)
        Samples and their classes.
    dimensions : sequence of int, optional
        Numbers of components to try. The default is the number of features d, and the numbers
        among 1, 2, 3, 5, 10, 20, 30, 40, 50 that are less than d. If numbers have the same
        accuracy, the smallest is chosen.
    threshold : float in (0, 1], optional
        If given, choose by eigenvalues instead: the smallest k for which the first k eigenvalues
        reach this fraction t of the sum, :math:`\sum_{i \le k} \lambda_i / \sum_i \lambda_i \ge
        t`. The learner must have eigenvalues.
    n_neighbors : int, default=3
        Number of neighbours of the k-NN accuracy.
    sample_weight : array-like of shape (n_samples,), optional
        Weights of the samples, in the fits and in the scores. Learners that do not use weights are
        fitted without them.
    groups, cv, n_repeats, random_state, n_jobs
        As in :func:`cross_validate`.

    Returns
    -------
    n_components : int
        The chosen number of components.

    Examples
    --------
    >>> from dimetric import PCA
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> choose_dimension(PCA(), X, threshold=0.95), choose_dimension(PCA(), X, y, random_state=0)
    (2, 2)
    """
    if not hasattr(learner, "n_components"):
        raise ValueError(f"{type(learner).__name__} has no parameter n_components.")
    if threshold is None:
        d = checked_array(X, "X", accept_sparse=True).shape[1]
        defaults = [k for k in DEFAULT_DIMENSIONS if k < d] + [d]
        grid = {"n_components": sorted(defaults if dimensions is None else dimensions)}
        result = tune(
            learner,
            X,
            y,
            grid,
            criterion=checked_neighbors(n_neighbors)[0],
            sample_weight=sample_weight,
            groups=groups,
            cv=cv,
            n_repeats=n_repeats,
            random_state=random_state,
            n_jobs=n_jobs,
        )
        return int(result.best_params_["n_components"])
    if dimensions is not None:
        raise ValueError("dimensions and threshold are both given. Pass only one of them.")
    if not isinstance(threshold, Real) or not 0 < float(threshold) <= 1:
        raise ValueError(f"threshold={threshold!r} must be above 0 and at most 1.")
    weights = checked_sample_weight(sample_weight, n_rows(X))
    fraction = partial(_eigenvalue_fraction, learner, X, y, weights)
    return _smallest_dimension(fraction, float(threshold))


def _smallest_dimension(
    eigenvalue_fraction: Callable[[int | None], tuple[int, float]], threshold: float
) -> int:
    """Return the smallest dimension that reaches the threshold, by bisection.

    The fraction of the eigenvalues increases with the dimension.
    """
    low, high = 1, eigenvalue_fraction(None)[0]
    while low < high:
        middle = (low + high) // 2
        if eigenvalue_fraction(middle)[1] >= threshold - FRACTION_ROUNDING:
            high = middle
        else:
            low = middle + 1
    return low


def _eigenvalue_fraction(
    learner: Any, X: Any, y: Any, sample_weight: np.ndarray | None, n_components: int | None
) -> tuple[int, float]:
    """Fit a learner and return its number of components and their fraction of all eigenvalues."""
    copy = clone(learner).set_params(n_components=n_components)
    metadata = fit_weighted(copy, X, y, sample_weight).metadata()
    if "accumulated_eigenvalues" not in metadata:
        raise ValueError(
            f"{type(learner).__name__} has no eigenvalues. Pass dimensions instead of threshold."
        )
    return metadata["n_components"], metadata["accumulated_eigenvalues"]
