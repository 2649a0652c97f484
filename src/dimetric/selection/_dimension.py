"""How many components to keep."""

from collections.abc import Callable, Sequence
from functools import partial
from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import clone

from dimetric.selection._knn_scores import checked_neighbors
from dimetric.selection._tune import tune

__all__ = ["choose_dimension"]

DEFAULT_DIMENSIONS = (1, 2, 3, 5, 10, 20, 30, 40, 50)


def choose_dimension(
    learner: Any,
    X: Any,
    y: Any = None,
    *,
    dimensions: Sequence[int] | None = None,
    threshold: float | None = None,
    n_neighbors: int = 3,
    cv: Any = 5,
    n_repeats: int = 1,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> int:
    r"""Choose the number of components: by nearest neighbours, or by a share of the eigenvalues.

    Parameters
    ----------
    learner : learner
        A learner with ``n_components``.
    X, y : array-like of shape (n_samples, n_features) and (n_samples,)
        Samples and their classes.
    dimensions : sequence of int, optional
        Dimensions to try; by default those of 1, 2, 3, 5, 10, 20, 30, 40, 50 that are below the
        number of features, and that number. The smallest of equally good ones is chosen.
    threshold : float in (0, 1], optional
        Choose, instead, the smallest k whose eigenvalues are at least this share of all,
        :math:`\sum_{i \le k} \lambda_i / \sum_i \lambda_i \ge t`. The learner must have
        eigenvalues.
    n_neighbors : int, default=3
        Number of neighbours whose accuracy decides between dimensions.
    cv, n_repeats, random_state, n_jobs
        As in :func:`cross_validate`.

    Returns
    -------
    n_components : int

    Examples
    --------
    >>> from dimetric import PCA
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> choose_dimension(PCA(), X, threshold=0.95), choose_dimension(PCA(), X, y, random_state=0)
    (2, 2)
    """
    if not hasattr(learner, "n_components"):
        raise ValueError(f"{type(learner).__name__} has no n_components to choose.")
    if threshold is None:
        d = np.shape(X)[1]
        defaults = [k for k in DEFAULT_DIMENSIONS if k < d] + [d]
        grid = {"n_components": sorted(defaults if dimensions is None else dimensions)}
        found = tune(
            learner,
            X,
            y,
            grid,
            criterion=checked_neighbors(n_neighbors)[0],
            cv=cv,
            n_repeats=n_repeats,
            random_state=random_state,
            n_jobs=n_jobs,
        )
        return int(found.best_params_["n_components"])
    if dimensions is not None:
        raise ValueError("Give dimensions or a threshold, not both.")
    if not isinstance(threshold, Real) or not 0 < float(threshold) <= 1:
        raise ValueError(f"threshold={threshold!r} must be above 0 and at most 1.")
    return _smallest_dimension(partial(_share_kept, learner, X, y), float(threshold))


def _smallest_dimension(
    share_kept: Callable[[int | None], tuple[int, float]], threshold: float
) -> int:
    """Return the smallest dimension that keeps a share, by bisection: the share grows with it."""
    low, high = 1, share_kept(None)[0]
    while low < high:
        middle = (low + high) // 2
        if share_kept(middle)[1] >= threshold - 1e-12:
            high = middle
        else:
            low = middle + 1
    return low


def _share_kept(learner: Any, X: Any, y: Any, n_components: int | None) -> tuple[int, float]:
    """Return the number of components of a fit, and their share of all eigenvalues."""
    facts = clone(learner).set_params(n_components=n_components).fit(X, y).metadata()
    if "accumulated_eigenvalues" not in facts:
        raise ValueError(
            f"{type(learner).__name__} has no eigenvalues: give dimensions instead of a threshold."
        )
    return facts["n_components"], facts["accumulated_eigenvalues"]
