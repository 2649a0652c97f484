"""The neighbours of a sample before and after a learned map."""

from dataclasses import dataclass
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import check_is_fitted

from dimetric._arguments import check_types
from dimetric._arrays.namespaces import Array, to_host
from dimetric._arrays.row_order import canonical_order
from dimetric._arrays.validation import checked_array
from dimetric._compat import take_samples
from dimetric.learners._inner_learner import last_step, mapping_of
from dimetric.learners._pair_explanation import explain_pair_of
from dimetric.neighbors.metric_search import distances_between
from dimetric.quality._distances import rounding_of_differences
from dimetric.quality._ties import TiedRanks

__all__ = ["Neighborhood", "before_and_after", "neighborhood"]


@dataclass(frozen=True, eq=False)
class Neighborhood:
    """Neighbours of a sample before and after a map, as returned by :func:`neighborhood`.

    Attributes
    ----------
    row : int
        Row index of the sample.
    before, after : ndarray of shape (k,)
        Row indices of its nearest neighbours, nearest first. See :func:`neighborhood` for ties.
    distances_before, distances_after : ndarray of shape (n_samples,)
        Distances from the sample to all samples.
    shown : ndarray of shape (m,)
        Row indices of the samples to plot: all neighbours before or after, then the nearest of the
        other samples.
    places_before, places_after : ndarray of shape (m, 2)
        Plane coordinates of the samples in `shown`, with the sample itself at the origin. Distances
        from the origin equal distances from the sample. Directions come from a projection to two
        dimensions. `places_after` is rotated and reflected to match `places_before`.
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
    def kept(self) -> np.ndarray:
        """Samples that are neighbours before and after, nearest first."""
        return self.after[np.isin(self.after, self.before)]

    @property
    def new(self) -> np.ndarray:
        """Samples that are neighbours after, but not before."""
        return self.after[~np.isin(self.after, self.before)]

    @property
    def lost(self) -> np.ndarray:
        """Samples that are neighbours before, but not after."""
        return self.before[~np.isin(self.before, self.after)]


@check_types
def neighborhood(
    X: Array, Z: Array, row: int, *, n_neighbors: int = 10, n_others: int = 60
) -> Neighborhood:
    r"""Return the neighbours of a sample before and after a map, with plane coordinates for a plot.

    The differences :math:`x_j - x_i` from sample i are projected onto their first two principal
    directions and rescaled to their original lengths. Distances from the sample are exact, and
    angles are approximate. The differences :math:`z_j - z_i` are treated in the same way, then
    rotated and reflected to match the first projection (orthogonal Procrustes).

    Among samples at equal distance before the map, those nearer after the map are chosen, and vice
    versa, so that a tie does not count as a change. If both distances are equal, the choice depends
    on the coordinates, and only among duplicates on the order of the rows.

    Parameters
    ----------
    X, Z : array-like of shape (n_samples, n_features) and (n_samples, n_components)
        Samples before and after the map.
    row : int
        Row index i of the sample. Negative indices count from the end.
    n_neighbors : int, default=10
        Number of neighbours.
    n_others : int, default=60
        Number of other samples to plot: the nearest ones before or after the map.

    Returns
    -------
    Neighborhood

    Examples
    --------
    >>> X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0], [3.0, 0.0]])
    >>> result = neighborhood(X, X * [1.0, 0.1], 0, n_neighbors=1)
    >>> result.lost, result.new
    (array([1]), array([2]))
    """
    X, Z = to_host(checked_array(X, "X")), to_host(checked_array(Z, "Z"))
    check_consistent_length(X, Z)
    n = len(X)
    if not isinstance(row, Integral) or not -n <= row < n:
        raise ValueError(f"row={row!r} must be the index of a row, from 0 to {n - 1}.")
    if not isinstance(n_neighbors, Integral) or not 1 <= n_neighbors < n:
        raise ValueError(
            f"n_neighbors={n_neighbors!r} must be an int between 1 and the number of other "
            f"samples, {n - 1}."
        )
    row, k = int(row) % n, int(n_neighbors)
    distances = [distances_between(A[row : row + 1], A)[0].astype(np.float64) for A in (X, Z)]
    orders = _nearest_first(X, Z, row, distances)
    neighbors = np.unique(np.concatenate([order[:k] for order in orders]))
    others = np.stack([order[: k + n_others] for order in orders], axis=1).ravel()
    # Remove duplicates, and keep the order.
    others = others[np.sort(np.unique(others, return_index=True)[1])]
    others = others[~np.isin(others, neighbors)][:n_others]
    shown = np.concatenate([neighbors, others])
    planes = [_projected_to_plane(A[shown] - A[row]) for A in (X, Z)]
    planes[1] = planes[1] @ _rotation(planes[1], planes[0])
    positions = [
        _with_lengths(plane, each[shown]) for plane, each in zip(planes, distances, strict=True)
    ]
    return Neighborhood(row, orders[0][:k], orders[1][:k], *distances, shown, *positions)


@check_types
def before_and_after(model: Any, X: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the samples before and after a model's learner maps them.

    Parameters
    ----------
    model : estimator
        A fitted learner, a classifier that uses one, or a pipeline that ends with either. The
        other steps of a pipeline, such as scaling, are applied to both results.
    X : array-like or data frame
        Samples, in the form that the model expects.

    Returns
    -------
    before, after : ndarray of shape (n_samples, n_features) and (n_samples, n_components)
        Samples after the other steps of the pipeline, and after the learner's map.

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
    if hasattr(last, "learner_"):
        # A classifier fits its learner to an array. None stands for the Euclidean distance.
        X, learner = _as_array(X), mapping_of(last)
    if learner is not None and not hasattr(learner, "transform"):
        raise ValueError(
            f"{type(last).__name__} has no map. Pass a learner such as NCA, or a classifier that "
            "uses one."
        )
    Z = X if learner is None else learner.transform(X)
    return _as_array(X), _as_array(Z)


def _as_array(X: Any) -> np.ndarray:
    return np.asarray(X) if hasattr(X, "columns") else to_host(X)


def _nearest_first(
    X: np.ndarray, Z: np.ndarray, row: int, distances: list[np.ndarray]
) -> list[np.ndarray]:
    """Return all other rows, nearest first, before and after the map.

    Rows at equal distance are sorted by the other distance, then by the coordinates.
    """
    index, by_content = np.array([row]), np.empty(len(X), dtype=np.int64)
    both = np.hstack([X, Z.astype(X.dtype)])
    by_content[canonical_order(both, np.zeros(len(X), dtype=np.int64))] = np.arange(len(X))
    before, after = (
        TiedRanks(each[None].copy(), index, rounding_of_differences(A)[index]).first[0]
        for A, each in zip((X, Z), distances, strict=True)
    )
    # The rank of the sample itself is the last one.
    return [
        np.lexsort(keys)[:-1] for keys in ((by_content, after, before), (by_content, before, after))
    ]


def _projected_to_plane(differences: np.ndarray) -> np.ndarray:
    """Return the coordinates of vectors along their first two principal directions."""
    U, s, _ = np.linalg.svd(differences.astype(np.float64), full_matrices=False)
    plane = U[:, :2] * s[:2]
    signs = np.sign(np.take_along_axis(plane, np.abs(plane).argmax(axis=0)[None], 0))
    plane = plane * np.where(signs == 0, 1, signs)
    return np.pad(plane, ((0, 0), (0, 2 - plane.shape[1])))


def _rotation(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Return the orthogonal matrix R that minimises |A R - B|."""
    U, _, Vt = np.linalg.svd(A.T @ B)
    return U @ Vt


def _with_lengths(plane: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Rescale vectors to the given lengths. A vector of length 0 is replaced by (0, 1) first."""
    norms = np.linalg.norm(plane, axis=1)
    directions = np.where(norms[:, None] > 0, plane, [0.0, 1.0])
    return directions * (lengths / np.where(norms > 0, norms, 1.0))[:, None]


class ExplainedNeighbor(NamedTuple):
    """A neighbour that a learned distance adds or removes, and the reasons.

    Attributes
    ----------
    row : int
        Row index of the neighbour.
    is_new : bool
        Whether the sample is a neighbour only under the learned distance. Otherwise it is a
        neighbour only under the Euclidean distance.
    parts : ndarray of shape (n_features,)
        The part of each feature in the squared learned distance to the neighbour.
    """

    row: int
    is_new: bool
    parts: np.ndarray


def explained_neighbors(
    model: Any, x: Array, X: Array, before: np.ndarray, after: np.ndarray
) -> list[ExplainedNeighbor]:
    """Explain the nearest neighbour that a learned distance removes, and the nearest it adds.

    Parameters
    ----------
    model : estimator
        Fitted linear learner, classifier or regressor with one, or pipeline that ends with either.
    x : array-like of shape (n_features,)
        The sample whose neighbours are compared.
    X : array-like of shape (n_samples, n_features)
        Samples that contain the neighbours.
    before, after : ndarray of shape (k,)
        Row indices of the nearest samples under the Euclidean and the learned distance.

    Returns
    -------
    list of ExplainedNeighbor
        At most two neighbours, first the one that is removed. Empty if no neighbour changes.

    Examples
    --------
    >>> from dimetric import Covariance
    >>> X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 9.0], [1.0, 9.0]])
    >>> for each in explained_neighbors(Covariance().fit(X), X[0], X, np.array([1]), np.array([2])):
    ...     print(each.row, each.is_new, each.parts)
    1 False [3. 0.]
    2 True [0. 3.]
    """
    changes = []
    for rows, others, is_new in ((before, after, False), (after, before, True)):
        changed = rows[~np.isin(rows, others)]
        if len(changed):
            parts = explain_pair_of(model, x, take_samples(X, int(changed[0])))
            changes.append(ExplainedNeighbor(int(changed[0]), is_new, to_host(parts)))
    return changes
