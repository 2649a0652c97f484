"""Votes of the nearest training samples, and their weights."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from dimetric._arrays.namespaces import Array
from dimetric.neighbors.queries import relative_tolerance
from dimetric.neighbors.ties import WeightFunction

# Votes for two classes that differ by less than this multiple of the tolerance of distances count
# as equal. Weights 1 / distance have larger relative errors than distances.
VOTE_TOLERANCE = 16

MAX_DENSE_CLASSES = 16  # for more classes, a sparse array of votes takes less memory

Weights = str | Callable[[np.ndarray], np.ndarray] | None


def weights_of(distances: np.ndarray, weights: Weights) -> np.ndarray:
    """Return the weights of neighbours at given distances.

    Examples
    --------
    >>> weights_of(np.array([[1.0, 4.0], [0.0, 2.0]]), "distance")
    array([[1.  , 0.25],
           [1.  , 0.  ]])
    """
    if callable(weights):
        values = np.asarray(weights(distances), dtype=np.float64)
        if values.shape != distances.shape:
            raise ValueError(
                "weights must return an array of the same shape as the distances, "
                f"{distances.shape}, but returned shape {values.shape}."
            )
        if not np.all(np.isfinite(values) & (values >= 0)):
            raise ValueError(
                "weights must return finite numbers of at least 0, but returned negative, infinite "
                "or NaN values."
            )
    else:
        with np.errstate(divide="ignore"):
            values = 1 / distances
        at_zero = np.isinf(values)  # includes distances so small that their inverse overflows
        values = np.where(np.any(at_zero, axis=1, keepdims=True), at_zero, values)
    if np.any(np.all(values == 0, axis=1)):
        raise ValueError(
            "All neighbours of a sample have weight 0. weights must return at least one positive "
            "weight for each sample."
        )
    return values


def has_several_outputs(y: Any) -> bool:
    """Return whether y is a matrix with several columns.

    Examples
    --------
    >>> has_several_outputs([0, 1]), has_several_outputs([[0], [1]])
    (False, False)
    >>> has_several_outputs([[0, 1], [1, 1]])
    True
    """
    shape = y.shape if hasattr(y, "shape") else np.asarray(y).shape
    return len(shape) == 2 and shape[1] > 1


def weight_function(weights: Weights) -> WeightFunction | None:
    """Return the function that returns weights from distances, or None if all weights are 1."""
    if weights is None or weights == "uniform":
        return None
    if weights == "softmax":
        raise ValueError(
            "weights='softmax' lets all training samples vote, so there is no vote of the k "
            "nearest ones. Choose weights='uniform' or weights='distance'."
        )
    return lambda distances: weights_of(distances, weights)


def outputs_of(codes: np.ndarray, classes: Any) -> list[tuple[np.ndarray, int]]:
    """Return the codes and the number of classes of each output."""
    if codes.ndim == 1:
        return [(codes, len(classes))]
    if not isinstance(classes, list):  # in a damaged model file
        raise ValueError("classes_ must be a list, because the class codes have two dimensions.")
    return [(output, len(each)) for output, each in zip(codes.T, classes, strict=True)]


def decoded(classes: Any, codes: Sequence[np.ndarray] | np.ndarray) -> np.ndarray:
    """Return the classes of samples from the codes of each output.

    Examples
    --------
    >>> decoded([np.array([3, 5]), np.array([7, 9])], [[0, 1], [1, 1]])
    array([[3, 9],
           [5, 9]])
    """
    if not isinstance(classes, list):
        return classes[codes[0]]
    pairs = zip(classes, codes, strict=True)
    return np.stack([each[output] for each, output in pairs], axis=1)


def one_hot_rows(
    outputs: Sequence[tuple[np.ndarray, int]], weights: np.ndarray | None = None
) -> sparse.csr_array:
    """Return the indicators of classes as a sparse array with a column for each class.

    Parameters
    ----------
    outputs : sequence of (ndarray of shape (n,), int)
        For each output, the codes of the samples and the number of classes.
    weights : ndarray of shape (n,), optional
        Factors of the rows.

    Examples
    --------
    >>> one_hot_rows([(np.array([0, 1]), 2), (np.array([2, 0]), 3)]).toarray()
    array([[1., 0., 0., 0., 1.],
           [0., 1., 1., 0., 0.]])
    """
    for codes, n_classes in outputs:
        if np.any((codes < 0) | (codes >= n_classes)):  # from a damaged model file
            raise ValueError(f"Class codes must be between 0 and {n_classes - 1}.")
    first = np.cumsum([0, *(n_classes for _, n_classes in outputs)])
    columns = np.stack([codes + first[i] for i, (codes, _) in enumerate(outputs)], axis=1)
    n, m = columns.shape
    starts = np.arange(0, n * m + 1, m)
    values = np.ones(n * m) if weights is None else np.repeat(weights, m)
    return sparse.csr_array((values, columns.ravel(), starts), shape=(n, first[-1]))


def indicators_of(
    outputs: Sequence[tuple[np.ndarray, int]], weights: np.ndarray | None
) -> np.ndarray | sparse.csr_array:
    """Return :func:`one_hot_rows`, as a dense array if there are few classes."""
    indicators = one_hot_rows(outputs, weights)
    return indicators.toarray() if indicators.shape[1] <= MAX_DENSE_CLASSES else indicators


def most_voted(votes: np.ndarray, points: Array) -> np.ndarray:
    """Return the first class of each row whose votes are the most, up to rounding.

    Examples
    --------
    >>> most_voted(np.array([[0.1 + 0.2, 0.3, 0.0], [0.3, 0.1 + 0.2, 0.0]]), np.zeros(1))
    array([0, 0])
    """
    tolerance = VOTE_TOLERANCE * relative_tolerance(points)
    most = np.max(np.ascontiguousarray(votes.T), axis=0)  # along long rows, which is faster
    return np.argmax(votes >= (1 - tolerance) * most[:, None], axis=1)
