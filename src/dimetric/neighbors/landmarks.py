"""Landmarks: a random subset of the samples that represents all of them."""

from typing import Any

import numpy as np

from dimetric._arrays.random_state import random_generator


def draw_landmarks(n: int, m: int, random_state: Any, X: np.ndarray | None = None) -> np.ndarray:
    """Return the row indices of m landmarks, chosen at random among n samples.

    Parameters
    ----------
    n : int
        Number of samples.
    m : int
        Number of landmarks, at most n.
    random_state : int, RandomState or None
        Random seed or generator.
    X : ndarray of shape (n, d), optional
        The samples. If given, landmarks are chosen by their rank along a random direction instead
        of their row index, so the choice does not depend on the order, origin or dtype of X.

    Returns
    -------
    rows : ndarray of shape (m,)
        Row indices of the landmarks.

    Examples
    --------
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> X[draw_landmarks(4, 2, 0, X), 0]
    array([2., 3.])
    >>> X[::-1][draw_landmarks(4, 2, 0, X[::-1]), 0]
    array([2., 3.])
    """
    random = random_generator(random_state)
    rows = random.choice(n, m, replace=False)
    if X is None:
        return rows
    return np.argsort(X @ random.normal(size=X.shape[1]), kind="stable")[rows]
