"""The smooth minimum of the distances between classes, and the smallest of these distances."""

from collections.abc import Iterator

import numpy as np

from dimetric._arrays.compiled import exp_in_place
from dimetric.objectives.fast.all_pairs import AllPairs, over_row_blocks
from dimetric.objectives.side import Side

CUTOFF = 40.0  # weights below e^-40 times the largest weight are negligible
SMALLEST_EXPONENT = -700.0  # e^-700 is a normal number in float64


def softmin(
    Z: np.ndarray,
    V: np.ndarray,
    side: Side,
    mu: float,
    left_out: np.ndarray,
    log_weights: np.ndarray | None = None,
) -> tuple[float, float, np.ndarray]:
    r"""Return the parts of a smooth minimum of squared distances between different classes.

    Parameters
    ----------
    Z, V, side
        Points, the matrix that is multiplied by the Laplacian, and the labels of the points.
    mu : float
        Smoothing parameter :math:`\mu`.
    left_out : ndarray of shape (m, 2)
        Pairs of points that are ignored, in ascending order, each with the smaller row index
        first.
    log_weights : ndarray of shape (n,), optional
        Logarithms of the weights of the points. The squared distance of a pair is reduced by
        :math:`\mu \log(w_i w_j)`.

    Returns
    -------
    least : float
        Smallest squared distance :math:`d^2_{\min}`, reduced as described.
    total : float
        Sum of the weights :math:`e^{(d^2_{\min} - d^2) / \mu}` over all pairs.
    product : ndarray
        Laplacian of the weights times V.
    """
    pairs = AllPairs(Z, V, upper=True)

    def work(firsts: Iterator[int]) -> tuple[float, np.ndarray]:
        least, total = np.inf, pairs.zeros()
        for rows, columns, W in pairs.blocks(firsts):
            _leave_out(W, rows, side, left_out)
            if log_weights is None:
                low = max(0.0, float(W.min()))
            else:
                W -= mu * log_weights[rows][:, None]
                W -= mu * log_weights[columns]
                low = float(W.min())
            if low == np.inf or low > least + CUTOFF * mu:  # all weights are negligible
                continue
            if low < least:
                total *= np.exp((low - least) / mu)
                least = low
            np.subtract(least, W, out=W)
            W /= mu
            np.clip(W, SMALLEST_EXPONENT, 0, out=W)
            exp_in_place(W, len(Z))
            pairs.add(total, rows, columns, W)
        return least, total

    parts = over_row_blocks(work, len(Z))
    least = min(part[0] for part in parts)
    # Each thread computed its weights relative to the smallest distance that it found.
    scales = [np.exp((least - low) / mu) if low < np.inf else 0.0 for low, _ in parts]
    total = np.sum([scale * part for scale, (_, part) in zip(scales, parts, strict=True)], axis=0)
    return least, float(total[-1].sum()) / 2, pairs.laplacian_product(total)


def nearest_dissimilar(Z: np.ndarray, side: Side, left_out: np.ndarray) -> np.ndarray:
    """Return the smallest squared distance of each point to later points of other classes.

    It is infinite for points of the last class. The squared distances come from a matrix product.
    See :func:`softmin` for the parameters.
    """
    pairs, nearest = AllPairs(Z, Z[:, :0], upper=True), np.empty(len(Z), Z.dtype)

    def work(firsts: Iterator[int]) -> None:
        for rows, _, D in pairs.blocks(firsts):
            _leave_out(D, rows, side, left_out)
            np.min(D, axis=1, out=nearest[rows])

    over_row_blocks(work, len(Z))
    return nearest


def _leave_out(D: np.ndarray, rows: slice, side: Side, pairs: np.ndarray) -> None:
    """Set the distances of the given pairs and within classes to infinity, in an upper block."""
    first, last = rows.start, rows.stop
    for run, members in side.class_runs(first, last):
        D[run.start - first : run.stop - first, : members.stop - first] = np.inf
    in_block = pairs[slice(*np.searchsorted(pairs[:, 0], [first, last]))] - first
    D[in_block[:, 0], in_block[:, 1]] = np.inf
