"""Target neighbours: the samples of its class that a sample should be near to."""

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from dimetric._arrays.namespaces import Array, take_rows, to_host
from dimetric.neighbors.roles import friends


def nearest_targets(
    X: Array, codes: np.ndarray, k: int, *, most: int | None = None, random_state: Any = None
) -> np.ndarray:
    """Return the row numbers of each sample's k nearest neighbours in its class, on the host.

    Where a class has fewer samples, -1 stands for none.

    Parameters
    ----------
    X : array of shape (n, d)
        Samples, sorted by class.
    codes : ndarray of shape (n,)
        Their classes, as integers from 0, ascending.
    k : int
        Number of targets.
    most : int, optional
        Split larger classes at random into groups of at most `most` samples, and search within
        these groups: the time of a search then grows with n, not with its square.
    random_state : int, RandomState or None
        Seed of the random groups.

    Examples
    --------
    >>> nearest_targets(np.array([[0.0], [2.0], [9.0], [8.0]]), np.array([0, 0, 0, 0]), 1).ravel()
    array([1, 0, 3, 2])
    """
    if most is not None and np.bincount(codes).max() > most:
        order, groups = _random_groups(codes, most, check_random_state(random_state))
        grouped = take_rows(X, order)
        return in_given_order(nearest_targets(grouped, groups, k), order)
    found = friends(X, codes, k)
    ranks = np.arange(found.indices.shape[1])
    targets = np.where(ranks < found.counts[:, None], to_host(found.indices), -1)
    return targets if len(ranks) else np.full((len(codes), 1), -1)


def _random_groups(
    codes: np.ndarray, most: int, rng: np.random.RandomState
) -> tuple[np.ndarray, np.ndarray]:
    """Return an order of the samples by class and random group, and their groups, ascending."""
    order = rng.permutation(len(codes))
    order = order[np.argsort(codes[order], kind="stable")]
    sizes = np.bincount(codes)
    n_groups = -(-sizes // most)
    first_sample, first_group = np.cumsum(sizes) - sizes, np.cumsum(n_groups) - n_groups
    c = codes[order]
    rank = np.arange(len(codes)) - first_sample[c]
    return order, first_group[c] + rank * n_groups[c] // sizes[c]


def given_targets(targets: Any, codes: np.ndarray, order: np.ndarray) -> np.ndarray:
    """Check targets that a user gave, and return them for samples in another order.

    Parameters
    ----------
    targets : array-like of shape (n, k)
        Row numbers in the user's order; -1 stands for none.
    codes : ndarray of shape (m,)
        Classes of the samples, in the other order.
    order : ndarray of shape (n,)
        Row numbers of these samples in the user's order, followed by those of samples without a
        class.

    Examples
    --------
    >>> given_targets([[2], [-1], [0]], np.array([0, 0, 1]), np.array([2, 0, 1]))
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
            f"targets has shape {targets.shape} and dtype {targets.dtype}; it must hold row "
            f"numbers of X: integers of shape (n_samples={n}, k)."
        )
    places = np.empty(n + 1, dtype=np.int64)
    places[order], places[-1] = np.arange(n), -1
    outside = (targets < -1) | (targets >= n)
    _refuse(targets, outside, f"names a row outside X, which has {n} samples")
    own = np.full(n, -1)
    own[order[: len(codes)]] = codes
    other = (targets >= 0) & (own[targets] != own[:, None])
    _refuse(targets, other, "names a sample of another class")
    _refuse(targets, targets == np.arange(n)[:, None], "names the sample itself")
    return np.asarray(places[targets[order[: len(codes)]]])


def _refuse(targets: np.ndarray, wrong: np.ndarray, why: str) -> None:
    rows = np.flatnonzero(wrong.any(axis=1))
    if len(rows):
        raise ValueError(
            f"targets[{rows[0]}] = {targets[rows[0]].tolist()} {why}. A target is another sample "
            "of the same class, or -1 for none."
        )


def in_given_order(targets: np.ndarray, order: np.ndarray) -> np.ndarray:
    """Return targets in the user's order: the inverse of :func:`given_targets`.

    Examples
    --------
    >>> in_given_order(np.array([[1], [0], [-1]]), np.array([2, 0, 1]))
    array([[ 2],
           [-1],
           [ 0]])
    """
    rows = np.append(order, -1)
    given = np.full((len(order), targets.shape[1]), -1)
    given[order[: len(targets)]] = rows[targets]
    return given
