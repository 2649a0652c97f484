r"""Votes of all training samples, with weights that decrease exponentially with squared distances.

.. math:: w_j(x) = e^{-d(x, x_j)^2 / T}

T is the temperature. NCA chooses neighbours with such weights, where :math:`T = 1`. With a small T,
only the nearest samples vote. With a large T, all samples vote alike.
"""

from collections.abc import Callable, Iterator

import numpy as np
from scipy import sparse

from dimetric._arrays.blocks import row_blocks
from dimetric._arrays.compiled import exp_in_place
from dimetric.neighbors.queries import Queries

MAX_DISTANCES_PER_BLOCK = 2**21  # 16 MiB in float64
# Leave-one-out losses use all samples up to 2048. Of more samples, they use 2**22 / n.
MAX_LEFT_OUT_DISTANCES = 2**22
MIN_LEFT_OUT_SAMPLES = 64
# Smaller probabilities count as this in a log loss. Otherwise, a few outliers, far from all other
# samples, would choose a temperature at which all samples vote alike.
MIN_PROBABILITY = 1e-3
# The learned distance was fitted to the samples whose leave-one-out log loss chooses the
# temperature, so the loss is too small where classes are separated, and vanishes for all small
# temperatures. The largest temperature is chosen whose total log loss is larger by at most this.
LOG_LOSS_SLACK = 2.0
# Temperatures that are tried first, in units of the mean squared distance, and multiples of the
# best of them that are tried next.
TEMPERATURES = 4.0 ** np.arange(-10, 3)
FINER_FACTORS = 4.0 ** (np.array([-3, -2, -1, 1, 2, 3]) / 4)

# Returns the loss of each row in `rows`, given weighted sums of shape (number of rows, c).
RowLoss = Callable[[np.ndarray, np.ndarray], np.ndarray]


def softmax_sums(
    queries: Queries, values: np.ndarray | sparse.csr_array, temperature: float
) -> np.ndarray:
    """Return the weighted sums of the values of all points, up to a factor for each query.

    The factor makes the largest weight of each query 1, so that weights do not underflow.

    Parameters
    ----------
    queries : Queries
        Queries and points. If the queries are the points, a sample is left out of its own sum.
    values : ndarray or sparse array of shape (m, c)
        Values of the points.
    temperature : float
        The temperature T.

    Returns
    -------
    sums : ndarray of shape (n, c)

    Examples
    --------
    >>> queries = Queries(np.array([[0.0]]), np.array([[0.0], [1.0]]))
    >>> softmax_sums(queries, np.eye(2), temperature=0.5).round(3)
    array([[1.   , 0.135]])
    """
    sums = [
        weighted_sums(squares, values, temperature)
        for _, squares in squared_distances_from(queries, np.arange(queries.n))
    ]
    return np.concatenate(sums)


def leave_one_out_temperature(
    queries: Queries,
    values: np.ndarray | sparse.csr_array,
    loss: RowLoss,
    *,
    weights: np.ndarray | None = None,
    slack: float = 0.0,
) -> float:
    """Return the temperature with the smallest mean leave-one-out loss, up to a slack.

    A grid of temperatures is searched, and then a finer grid around the best one. With more than
    2048 samples, the loss is the mean over 2**22 / n of them, but at least 64, in equal steps. All
    samples vote.

    Parameters
    ----------
    queries : Queries
        Training samples as queries, whose points are the samples themselves.
    values : ndarray or sparse array of shape (n, c)
        Values of the samples, as in :func:`softmax_sums`.
    loss : callable
        Returns the loss of each sample, given the sums of their values and their row numbers.
    weights : ndarray of shape (n,), optional
        Weights of the samples in the mean loss.
    slack : float, default=0
        Return the largest temperature whose mean loss exceeds the smallest by at most this.

    Examples
    --------
    >>> Z, y = np.array([[0.0], [1.0], [2.0], [10.0], [11.0]]), np.array([0, 0, 0, 1, 1])
    >>> def loss(sums, rows):
    ...     return -np.log(sums[np.arange(len(rows)), y[rows]] / sums.sum(axis=1))
    >>> temperatures = [
    ...     leave_one_out_temperature(Queries(Z, None), np.eye(2)[y], loss, slack=slack)
    ...     for slack in (0.0, 0.1)
    ... ]
    >>> temperatures[0] < temperatures[1] < 100
    True
    """
    if queries.n < 2:
        return 1.0
    rows = left_out_rows(queries.n, MAX_LEFT_OUT_DISTANCES)
    blocks = list(squared_distances_from(queries, rows))
    finite = [squares[np.isfinite(squares)] for _, squares in blocks]
    unit = sum(float(np.sum(each)) for each in finite) / sum(len(each) for each in finite)
    if unit == 0:
        return 1.0

    def mean_loss(T: float) -> float:
        losses = [loss(weighted_sums(squares, values, unit * T), part) for part, squares in blocks]
        of_rows = None if weights is None else weights[rows]
        return float(np.average(np.concatenate(losses), weights=of_rows))

    losses = {T: mean_loss(T) for T in TEMPERATURES}
    losses |= {T: mean_loss(T) for T in _largest_good(losses, slack) * FINER_FACTORS}
    return unit * _largest_good(losses, slack)


def log_losses(votes: list[np.ndarray], codes: list[np.ndarray]) -> np.ndarray:
    """Return the log loss of each sample, given votes and true classes of each output.

    Examples
    --------
    >>> log_losses([np.array([[1.0, 1.0], [0.0, 3.0]])], [np.array([0, 1])]).round(3)
    array([0.693, 0.   ])
    """
    losses = np.zeros(len(codes[0]))
    for each, own_codes in zip(votes, codes, strict=True):
        own = each[np.arange(len(own_codes)), own_codes]
        losses -= np.log(np.maximum(own / np.sum(each, axis=1), MIN_PROBABILITY))
    return losses


def _largest_good(losses: dict[float, float], slack: float) -> float:
    """Return the largest temperature whose loss exceeds the smallest by at most `slack`."""
    limit = min(losses.values()) + slack
    return float(max(T for T, value in losses.items() if value <= limit))


def left_out_rows(n: int, max_distances: int) -> np.ndarray:
    """Return the row numbers of the samples whose leave-one-out loss is used.

    Examples
    --------
    >>> [len(left_out_rows(n, 2**22)) for n in (2048, 10_000, 1_000_000)]
    [2048, 419, 64]
    """
    count = min(n, max(MIN_LEFT_OUT_SAMPLES, max_distances // n))
    return np.linspace(0, n - 1, count).astype(np.int64)


def squared_distances_from(
    queries: Queries, rows: np.ndarray
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield blocks of row numbers of queries, and their squared distances to all points."""
    size = max(1, MAX_DISTANCES_PER_BLOCK // queries.n_points)
    for part in row_blocks(len(rows), size):
        distances = queries.all_distances(rows[part]).astype(np.float64, copy=False)
        yield rows[part], distances**2


def weighted_sums(
    squares: np.ndarray, values: np.ndarray | sparse.csr_array, T: float
) -> np.ndarray:
    """Return the weighted sums of a block, given squared distances."""
    weights = (np.min(squares, axis=1, keepdims=True) - squares) / T
    exp_in_place(weights, weights.shape[1])
    return np.asarray(weights @ values)
