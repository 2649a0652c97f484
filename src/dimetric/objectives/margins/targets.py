"""Target neighbours: samples of the same class that LMNN keeps near a sample."""

from typing import Any

import numpy as np

from dimetric._arrays.namespaces import Array, take_rows, to_host
from dimetric._arrays.random_state import random_generator
from dimetric.neighbors.approximate.log import SearchLog
from dimetric.neighbors.roles import friends


def nearest_targets(
    X: Array,
    codes: np.ndarray,
    k: int,
    *,
    max_group_size: int | None = None,
    random_state: Any = None,
    search: SearchLog | None = None,
) -> tuple[np.ndarray, np.ndarray | None]:
    """Return each sample's k nearest neighbours in its class, and their weights.

    Neighbours that are tied at the k-th distance share the remaining places, as described in
    :mod:`dimetric.neighbors.role_shares`.

    Parameters
    ----------
    X : array of shape (n, d)
        Samples, sorted by class.
    codes : ndarray of shape (n,)
        Class of each sample, as integers from 0, ascending.
    k : int
        Number of targets of each sample.
    max_group_size : int, optional
        Split larger classes into random groups of at most this many samples, and search for
        neighbours within each group. The search time is then linear in n instead of quadratic.
    random_state : int, RandomState or None
        Random seed for the groups.
    search : SearchLog, optional
        An approximate search. See :func:`~dimetric.neighbors.roles.friends`.

    Returns
    -------
    targets : ndarray of shape (n, m)
        Row indices on the host. m is k unless neighbours are tied. If a class has too few samples,
        the missing targets are -1.
    weights : ndarray of shape (n, m) or None
        Weights of the targets, which sum to the number of targets of a sample, at most k. None if
        no neighbours are tied, so that all weights are 1.

    Examples
    --------
    >>> codes = np.zeros(4, dtype=int)
    >>> nearest_targets(np.array([[0.0], [2.0], [9.0], [8.0]]), codes, 1)[0].ravel()
    array([1, 0, 3, 2])
    >>> nearest_targets(np.array([[0.0], [2.0], [4.0], [8.0]]), codes, 1)[1]
    array([[1. , 0. ],
           [0.5, 0.5],
           [1. , 0. ],
           [1. , 0. ]])
    """
    if max_group_size is not None and np.bincount(codes).max() > max_group_size:
        order, groups = _random_groups(codes, max_group_size, random_generator(random_state))
        targets, weights = nearest_targets(take_rows(X, order), groups, k)
        in_order = in_user_order(targets, order, weights)
        return in_order[0], None if weights is None else in_order[1]
    nearest = friends(X, codes, k, share_ties=True, search=search)
    ranks = np.arange(nearest.indices.shape[1])
    if not len(ranks):
        return np.full((len(codes), 1), -1), None
    exists = ranks < nearest.counts[:, None] if nearest.weights is None else nearest.weights > 0
    return np.where(exists, to_host(nearest.indices), -1), nearest.weights


def _random_groups(
    codes: np.ndarray, max_group_size: int, rng: np.random.RandomState
) -> tuple[np.ndarray, np.ndarray]:
    """Split each class into random groups of at most `max_group_size` samples.

    Returns
    -------
    order : ndarray of shape (n,)
        Row indices of the samples, sorted by group.
    groups : ndarray of shape (n,)
        Group number of each sample in that order, ascending.
    """
    order = rng.permutation(len(codes))
    order = order[np.argsort(codes[order], kind="stable")]
    sizes = np.bincount(codes)
    n_groups = -(-sizes // max_group_size)
    first_sample, first_group = np.cumsum(sizes) - sizes, np.cumsum(n_groups) - n_groups
    c = codes[order]
    rank = np.arange(len(codes)) - first_sample[c]
    return order, first_group[c] + rank * n_groups[c] // sizes[c]


def checked_targets(targets: Any, codes: np.ndarray, order: np.ndarray) -> np.ndarray:
    """Check the user's targets, and convert them to row indices of the sorted samples.

    Parameters
    ----------
    targets : array-like of shape (n, k)
        Row indices of the targets in the user's X. -1 means no target.
    codes : ndarray of shape (m,)
        Classes of the m labelled samples after sorting.
    order : ndarray of shape (n,)
        Row indices in the user's X: first those of the sorted labelled samples, then those of
        samples without a label.

    Returns
    -------
    targets : ndarray of shape (m, k)
        Row indices among the sorted samples. -1 means no target.

    Examples
    --------
    >>> checked_targets([[2], [-1], [0]], np.array([0, 0, 1]), np.array([2, 0, 1]))
    array([[ 1],
           [ 0],
           [-1]])
    """
    targets, n = np.asarray(to_host(targets)), len(order)
    if (
        targets.ndim != 2
        or len(targets) != n
        or 0 in targets.shape
        or targets.dtype.kind not in "iu"
    ):
        raise ValueError(
            "targets must be an integer array of row indices of X, of shape "
            f"(n_samples={n}, k). Got shape {targets.shape} and dtype {targets.dtype}."
        )
    sorted_rows = np.empty(n + 1, dtype=np.int64)
    sorted_rows[order], sorted_rows[-1] = np.arange(n), -1  # the last entry maps -1 to -1
    outside = (targets < -1) | (targets >= n)
    _raise_if_any(
        outside, targets, f"contains a row index that is out of range for X with {n} samples"
    )
    classes = np.full(n, -1)
    classes[order[: len(codes)]] = codes
    other_class = (targets >= 0) & (classes[targets] != classes[:, None])
    _raise_if_any(other_class, targets, "contains a sample of another class")
    _raise_if_any(targets == np.arange(n)[:, None], targets, "contains the sample itself")
    return np.asarray(sorted_rows[targets[order[: len(codes)]]])


def _raise_if_any(invalid: np.ndarray, targets: np.ndarray, problem: str) -> None:
    """Raise a ValueError that shows the first row of targets with an invalid entry."""
    rows = np.flatnonzero(invalid.any(axis=1))
    if len(rows):
        raise ValueError(
            f"targets[{rows[0]}] = {targets[rows[0]].tolist()} {problem}. Each target must be "
            "another sample of the same class, or -1 for no target."
        )


def in_user_order(
    targets: np.ndarray, order: np.ndarray, weights: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Convert targets of sorted samples to row indices of the user's X, and return their weights.

    This is the inverse of :func:`checked_targets`. Samples without a label get no targets.

    Parameters
    ----------
    targets : ndarray of shape (m, k)
        Row indices among the sorted samples. -1 means no target.
    order : ndarray of shape (n,)
        See :func:`checked_targets`.
    weights : ndarray of shape (m, k), optional
        Weights of the targets. By default, all targets have weight 1.

    Returns
    -------
    targets : ndarray of shape (n, k)
    weights : ndarray of shape (n, k)

    Examples
    --------
    >>> in_user_order(np.array([[1], [0], [-1]]), np.array([2, 0, 1]))[0]
    array([[ 2],
           [-1],
           [ 0]])
    """
    rows = np.append(order, -1)
    user_targets = np.full((len(order), targets.shape[1]), -1)
    user_targets[order[: len(targets)]] = rows[targets]
    user_weights = np.zeros(user_targets.shape)
    user_weights[order[: len(targets)]] = targets >= 0 if weights is None else weights
    return user_targets, user_weights
