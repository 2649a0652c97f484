"""How many components to keep."""

from collections.abc import Sequence
from functools import partial
from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import clone

from dimetric.selection._tune import tune

__all__ = ["choose_dimension"]


def choose_dimension(
    learner: Any,
    X: Any,
    y: Any = None,
    *,
    dimensions: Sequence[int] | None = None,
    threshold: float | None = None,
    criterion: int = 3,
    cv: Any = 5,
    n_repeats: int = 1,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> int:
    r"""Return how many components to keep: by nearest neighbours, or by a share of eigenvalues.

    Parameters
    ----------
    learner : learner
        One with ``n_components``.
    X, y : array-like of shape (n_samples, n_features) and (n_samples,)
        Samples and their classes.
    dimensions : sequence of int, optional
        Dimensions that are tried; by default 1, 2, 3, 5, 10, 20, 30, 40, 50 and all features, as
        far as there are so many. The smallest of those that do equally well is chosen.
    threshold : float in (0, 1], optional
        Take, instead, the least k whose eigenvalues are such a share of all,
        :math:`\sum_{i \le k} \lambda_i / \sum_i \lambda_i \ge t`, from a learner that has any.
    criterion : int, default=3
        Number of neighbours that dimensions are judged by.
    cv, n_repeats, random_state, n_jobs
        As in :func:`cross_validate`.

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
        dims = [k for k in (1, 2, 3, 5, 10, 20, 30, 40, 50) if k < d] + [d]
        grid = {"n_components": sorted(dims if dimensions is None else dimensions)}
        options: dict[str, Any] = {"cv": cv, "n_repeats": n_repeats, "n_jobs": n_jobs}
        found = tune(learner, X, y, grid, criterion=criterion, random_state=random_state, **options)
        return int(found.best_params["n_components"])
    if dimensions is not None:
        raise ValueError("Give dimensions or a threshold, not both.")
    if not isinstance(threshold, Real) or not 0 < float(threshold) <= 1:
        raise ValueError(f"threshold={threshold!r} must be above 0 and at most 1.")
    share = partial(_share_kept, learner, X, y)
    low, high = 1, share(None)[0]
    while low < high:  # the share grows with the dimension
        middle = (low + high) // 2
        if share(middle)[1] >= float(threshold) - 1e-12:
            high = middle
        else:
            low = middle + 1
    return low


def _share_kept(learner: Any, X: Any, y: Any, n_components: int | None) -> tuple[int, float]:
    """Return how many components there are, and their share of all eigenvalues."""
    facts = clone(learner).set_params(n_components=n_components).fit(X, y).metadata()
    if "accumulated_eigenvalues" not in facts:
        raise ValueError(
            f"{type(learner).__name__} has no eigenvalues: give dimensions, of which nearest "
            "neighbours choose."
        )
    return facts["n_components"], facts["accumulated_eigenvalues"]
