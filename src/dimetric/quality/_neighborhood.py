"""The neighbours of a sample, under plain and under learned distances."""

from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import check_is_fitted

from dimetric._arrays.namespaces import Array, to_host
from dimetric._arrays.validation import checked_array
from dimetric.learners._inner_learner import last_step
from dimetric.neighbors.metric_search import distances_between

__all__ = ["Neighborhood", "before_and_after", "neighborhood"]


@dataclass(frozen=True, eq=False)
class Neighborhood:
    """The neighbours of a sample, before and after a map; made by :func:`neighborhood`.

    Attributes
    ----------
    row : int
        Row number of the sample.
    before, after : ndarray of shape (k,)
        Its nearest neighbours, nearest first.
    distances_before, distances_after : ndarray of shape (n_samples,)
        Distances from the sample to all samples.
    shown : ndarray of shape (m,)
        Neighbours before or after, then the nearest of all others.
    places_before, places_after : ndarray of shape (m, 2)
        Coordinates of those in a plane, with the sample at 0. Their distances from 0 are the
        distances from the sample; their directions are those of a projection to two dimensions.
        The second picture is rotated and reflected to match the first.
    """

    row: int
    before: np.ndarray
    after: np.ndarray
    distances_before: np.ndarray
    distances_after: np.ndarray
    shown: np.ndarray
    places_before: np.ndarray
    places_after: np.ndarray

    @property
    def stayed(self) -> np.ndarray:
        """Samples that are neighbours before and after, nearest first."""
        return self.after[np.isin(self.after, self.before)]

    @property
    def came(self) -> np.ndarray:
        """Samples that are neighbours after, but not before."""
        return self.after[~np.isin(self.after, self.before)]

    @property
    def left(self) -> np.ndarray:
        """Samples that are neighbours before, but not after."""
        return self.before[~np.isin(self.before, self.after)]


def neighborhood(
    X: Array, Z: Array, row: int, *, n_neighbors: int = 10, n_others: int = 60
) -> Neighborhood:
    r"""Return the neighbours of a sample before and after a map, with a plane picture of both.

    The differences :math:`x_j - x_i` are projected to their two principal directions and rescaled
    to their original lengths: distances from the sample are exact, angles are approximate. The
    picture of :math:`z_j - z_i` is then rotated and reflected (orthogonal Procrustes) to be as
    close to the first as possible.

    Parameters
    ----------
    X, Z : array-like of shape (n_samples, n_features) and (n_samples, n_components)
        Samples before and after.
    row : int
        Row number of the sample; -1 is the last.
    n_neighbors : int, default=10
        Number of neighbours.
    n_others : int, default=60
        How many other samples the picture shows: the nearest before or after.

    Returns
    -------
    Neighborhood

    Examples
    --------
    >>> X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0], [3.0, 0.0]])
    >>> found = neighborhood(X, X * [1.0, 0.1], 0, n_neighbors=1)
    >>> found.left, found.came
    (array([1]), array([2]))
    """
    X, Z = to_host(checked_array(X, "X")), to_host(checked_array(Z, "Z"))
    check_consistent_length(X, Z)
    n = len(X)
    if not isinstance(row, Integral) or not -n <= row < n:
        raise ValueError(f"row={row!r} must be the number of a row, 0 to {n - 1}.")
    if not isinstance(n_neighbors, Integral) or not 1 <= n_neighbors < n:
        raise ValueError(
            f"n_neighbors={n_neighbors!r} must be at least 1, and at most {n - 1}, the number of "
            "other samples."
        )
    row, k = int(row) % n, int(n_neighbors)
    near = [distances_between(A[row : row + 1], A)[0].astype(np.float64) for A in (X, Z)]
    orders = [_nearest_first(each, row) for each in near]
    first = np.unique(np.concatenate([order[:k] for order in orders]))
    others = np.stack([order[: k + n_others] for order in orders], axis=1).ravel()
    others = others[np.sort(np.unique(others, return_index=True)[1])]
    others = others[~np.isin(others, first)][:n_others]
    shown = np.concatenate([first, others])
    planes = [_in_a_plane(A[shown] - A[row]) for A in (X, Z)]
    planes[1] = planes[1] @ _rotation(planes[1], planes[0])
    places = [_given_length(plane, each[shown]) for plane, each in zip(planes, near, strict=True)]
    return Neighborhood(row, orders[0][:k], orders[1][:k], *near, shown, *places)


def before_and_after(model: Any, X: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return samples as the learner of a model gets them, and as it maps them.

    Parameters
    ----------
    model : estimator
        A fitted learner, a classifier over one, or a pipeline that ends with either. The other
        steps of a pipeline, such as scaling, are part of "before".
    X : array-like or data frame
        Samples, as the model takes them.

    Returns
    -------
    before, after : ndarray of shape (n_samples, n_features) and (n_samples, n_components)

    Examples
    --------
    >>> from dimetric import LDA, KNNClassifier
    >>> X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 5.0], [1.0, 6.0]])
    >>> model = KNNClassifier(1, learner=LDA()).fit(X, [0, 0, 1, 1])
    >>> [each.shape for each in before_and_after(model, X)]
    [(4, 2), (4, 1)]
    """
    check_is_fitted(model)
    last = last_step(model)
    if last is not model and len(model) > 1:
        X = model[:-1].transform(X)
    learner = last
    if hasattr(last, "learner_"):  # it was fitted to arrays; None is the Euclidean distance
        X, learner = _as_array(X), last.learner_
    if learner is not None and not hasattr(learner, "transform"):
        raise ValueError(
            f"{type(last).__name__} has learned no map: give a learner such as NCA, or a "
            "classifier over one."
        )
    Z = X if learner is None else learner.transform(X)
    return _as_array(X), _as_array(Z)


def _as_array(X: Any) -> np.ndarray:
    return np.asarray(X) if hasattr(X, "columns") else to_host(X)


def _nearest_first(distances: np.ndarray, row: int) -> np.ndarray:
    """Return all other rows, nearest first; of equally near ones, the first."""
    order = np.argsort(distances, kind="stable")
    return order[order != row]


def _in_a_plane(differences: np.ndarray) -> np.ndarray:
    """Return the first two principal coordinates of vectors from a point."""
    U, s, _ = np.linalg.svd(differences.astype(np.float64), full_matrices=False)
    plane = U[:, :2] * s[:2]
    signs = np.sign(np.take_along_axis(plane, np.abs(plane).argmax(axis=0)[None], 0))
    plane = plane * np.where(signs == 0, 1, signs)
    return np.pad(plane, ((0, 0), (0, 2 - plane.shape[1])))


def _rotation(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Return the orthogonal matrix R that minimises |A R - B|."""
    U, _, Vt = np.linalg.svd(A.T @ B)
    return U @ Vt


def _given_length(plane: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Return vectors of the same directions with other lengths."""
    now = np.linalg.norm(plane, axis=1)
    upwards = np.where(now[:, None] > 0, plane, [0.0, 1.0])
    return upwards * (lengths / np.where(now > 0, now, 1.0))[:, None]
