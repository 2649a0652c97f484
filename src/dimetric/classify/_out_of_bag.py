"""The temperature of an ensemble, chosen by samples that its learners were not fitted to."""

import numpy as np
from scipy import sparse

from dimetric.classify._softmax import left_out_rows, squared_distances_from, weighted_sums
from dimetric.neighbors.queries import Queries

# Temperatures that are tried, in units of the mean squared distance.
TEMPERATURES = 2.0 ** np.arange(-12, 4)
# Up to 1024 samples, all of them are used. Of more samples, 2**20 / n are.
MAX_DISTANCES_PER_MEMBER = 2**20
SAMPLES_OF_MEAN = 64  # samples whose distances estimate the mean squared distance
MIN_PROBABILITY = 1e-3  # limits the loss of outliers


def chosen_temperature(
    members: list[Queries],
    units: np.ndarray,
    left_out: list[np.ndarray],
    codes: np.ndarray,
    indicators: sparse.csr_array,
    temperature: float | None = None,
    weights: np.ndarray | None = None,
) -> tuple[float, np.ndarray, np.ndarray]:
    """Return the temperature with the smallest log loss, and the probabilities that chose it.

    The probabilities of a sample are the means over the members that left it out. A sample does
    not vote for itself.

    Parameters
    ----------
    members : list of Queries
        Samples mapped by each member. Their points are the samples themselves.
    units : ndarray of shape (n_members,)
        The unit of the temperature for each member, a squared distance.
    left_out : list of ndarray of shape (n,)
        Which samples each member left out.
    codes : ndarray of shape (n,)
        Classes of the samples.
    indicators : sparse array of shape (n, n_classes)
        Weights of the samples in the columns of their classes.
    temperature : float, optional
        The temperature, if it is given.
    weights : ndarray of shape (n,), optional
        Weights of the samples in the loss.

    Returns
    -------
    temperature : float
    rows : ndarray of shape (m,)
        Row numbers of samples, see :func:`~dimetric.classify._softmax.left_out_rows`.
    probabilities : ndarray of shape (m, n_classes)

    Examples
    --------
    >>> Z, codes = np.array([[0.0], [1.0], [10.0], [11.0]]), np.array([0, 0, 1, 1])
    >>> votes = sparse.csr_array(np.eye(2)[codes])
    >>> queries, units = Queries(Z, None), np.array([60.0])
    >>> T, rows, P = chosen_temperature([queries], units, [codes == 1], codes, votes)
    >>> rows, P.round(1)
    (array([2, 3]), array([[0., 1.],
           [0., 1.]]))
    """
    rows = left_out_rows(len(codes), MAX_DISTANCES_PER_MEMBER)
    grid = TEMPERATURES if temperature is None else np.array([temperature])
    total = np.zeros((len(grid), *indicators.shape))
    counts = np.zeros(len(codes))
    for queries, unit, is_out in zip(members, units, left_out, strict=True):
        for part, squares in squared_distances_from(queries, rows[is_out[rows]]):
            counts[part] += 1
            for sums, T in zip(total, grid * unit, strict=True):
                sums[part] += fractions(weighted_sums(squares, indicators, float(T)))
    rows = rows[counts[rows] > 0]
    P = total[:, rows] / counts[rows][:, None]
    own = np.maximum(P[:, np.arange(len(rows)), codes[rows]], MIN_PROBABILITY)
    of_rows = None if weights is None else weights[rows]
    losses = np.average(-np.log(own), axis=1, weights=of_rows)
    best = int(np.flatnonzero(losses == np.min(losses))[-1])  # the largest of equally good ones
    return float(grid[best]), rows, P[best]


def fractions(votes: np.ndarray) -> np.ndarray:
    """Return the votes of each row, divided by their sum."""
    return votes / np.sum(votes, axis=1, keepdims=True)


def mean_squared_distance(queries: Queries) -> float:
    """Return the mean squared distance from some of the samples to all others, or 1 if it is 0.

    Examples
    --------
    >>> mean_squared_distance(Queries(np.array([[0.0], [1.0], [3.0]]), None)).__round__(2)
    4.67
    """
    rows = left_out_rows(queries.n, SAMPLES_OF_MEAN * queries.n)
    squares = np.concatenate([part for _, part in squared_distances_from(queries, rows)])
    return float(np.mean(squares[np.isfinite(squares)])) or 1.0
