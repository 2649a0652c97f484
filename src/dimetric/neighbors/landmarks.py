"""Landmarks: samples drawn at random that stand for all samples."""

from typing import Any

import numpy as np
from sklearn.utils import check_random_state


def draw_landmarks(n: int, m: int, random_state: Any, X: np.ndarray | None = None) -> np.ndarray:
    """Return the row numbers of m landmarks, drawn at random from n samples.

    Parameters
    ----------
    n : int
        Number of samples.
    m : int
        Number of landmarks, at most n.
    random_state : int, RandomState or None
        Source of randomness.
    X : ndarray of shape (n, d), optional
        The samples. If they are given, the draw does not depend on their order, origin or dtype:
        it picks ranks along a random direction instead of row numbers.

    Returns
    -------
    rows : ndarray of shape (m,)

    Examples
    --------
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> X[draw_landmarks(4, 2, 0, X), 0]
    array([2., 3.])
    >>> X[::-1][draw_landmarks(4, 2, 0, X[::-1]), 0]
    array([2., 3.])
    """
    random = check_random_state(random_state)
    rows = random.choice(n, m, replace=False)
    if X is None:
        return rows
    return np.argsort(X @ random.normal(size=X.shape[1]), kind="stable")[rows]
