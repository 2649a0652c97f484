"""LDML and LSI: objectives in which the weight of a pair does not depend on other pairs."""

from itertools import pairwise
from typing import Any

import numpy as np

from dimetric._arrays.compiled import exp_in_place
from dimetric.objectives.fast.all_pairs import BLOCK_ROWS, EXPONENT_FRACTION, weighted_product
from dimetric.objectives.side import Side


def ldml(
    Z: np.ndarray, V: np.ndarray, side: Side, b: float, *, half: bool = False
) -> tuple[float, np.ndarray, float]:
    r"""Return the loss, Laplacian product and dloss/db for ``learners.ldml.LDMLRule``.

    With :math:`t = d^2 - b`, the loss of a pair is :math:`\log(1 + e^{-t})`, plus t if the pair is
    similar. The sum of these t has a closed form. Many factors :math:`1 + e^{-t}` are multiplied
    before one logarithm is taken, because products are faster than logarithms. As
    :math:`t \ge -b`, it is known how many factors can be multiplied without overflow.
    """
    info = np.finfo(Z.dtype)
    cutoff = -EXPONENT_FRACTION * float(np.log(info.tiny))  # e^-cutoff is negligible
    largest = max(b, 0.0) if b < cutoff else cutoff  # written so that NaN yields the cutoff
    n_factors = max(1, int(np.log(info.max) / (largest + 1)))
    lower_triangle = np.tri(min(BLOCK_ROWS, len(Z)), dtype=bool)

    def weigh(T: np.ndarray, first: int, last: int) -> float:
        size, loss = last - first, 0.0
        here, after = slice(first, last), slice(first, None)
        # Count each pair once, and no pair of a sample with itself.
        corner, skipped = T[:, :size], lower_triangle[:size, :size]
        np.subtract(b, T, out=T)
        corner[skipped] = -cutoff
        if b > cutoff:  # some t may be below -cutoff, where log(1 + e^-t) = -t
            loss += _pair_sum(np.maximum(T - cutoff, 0), side, here, after)
            np.minimum(T, cutoff, out=T)
        np.clip(T, -cutoff, np.inf, out=T)  # faster than np.maximum
        exp_in_place(T, len(Z))
        T += 1
        if side.weights is None:
            for start in range(0, size, n_factors):
                products = np.multiply.reduce(T[start : start + n_factors], axis=0)
                loss += float(np.log(products, out=products).sum(dtype=np.float64))
        else:
            loss += _pair_sum(np.log(T), side, here, after)
        np.reciprocal(T, out=T)
        for rows, members in side.class_runs(first, last):
            T[rows.start - first : rows.stop - first, members.stop - first :] -= 1
        corner[skipped] = 0
        _multiply_by_weights(T, side, here, after)
        return loss

    loss, product, degrees = weighted_product(weigh, Z, V, upper=True, half=half)
    loss += _similar_sum(Z, side, b)
    return loss, product, -float(degrees.sum(dtype=np.float64)) / 2


def _similar_sum(Z: np.ndarray, side: Side, b: float) -> float:
    r"""Return the sum of :math:`d^2 - b` over all pairs of the same class.

    The sum of the squared distances in a class of n samples is n times the sum of the squared
    distances to its mean.
    """
    total = 0.0
    for first, last in pairwise(side.class_starts):
        part = Z[first:last].astype(np.float64, copy=False)
        w = np.ones(len(part)) if side.weights is None else side.weights[first:last]
        size = float(np.sum(w, dtype=np.float64))
        if size > 0:
            spread = float(w @ np.sum((part - w @ part / size) ** 2, axis=1))
            total += size * spread - b * (size**2 - float(np.vdot(w, w))) / 2
    return total


def lsi(Z: np.ndarray, V: np.ndarray, side: Side, eps: float) -> tuple[float, np.ndarray, float]:
    """Return the loss, Laplacian product and 0 for ``learners.lsi.DistanceRule``."""

    def weigh(T: np.ndarray, first: int, last: int) -> float:
        loss = 0.0
        for rows, members in side.class_runs(first, last):
            here, after = slice(rows.start - first, rows.stop - first), members.stop - first
            T[here, :after] = 0  # same class, or counted in another block
            R = T[here, after:]
            np.maximum(R, 0, out=R)
            R += eps
            np.sqrt(R, out=R)
            loss += _pair_sum(R, side, rows, dissimilar := slice(members.stop, None), np.float64)
            np.divide(0.5, R, out=R, where=R > 0)
            _multiply_by_weights(R, side, rows, dissimilar)
        return loss

    return *weighted_product(weigh, Z, V, upper=True)[:2], 0.0


def _pair_sum(A: np.ndarray, side: Side, rows: slice, columns: slice, dtype: Any = None) -> float:
    """Return the sum over pairs, each times the product of its samples' weights, if any."""
    if side.weights is None:
        return float(A.sum(dtype=dtype))
    by_row = A @ side.weights[columns]
    return float(np.sum(by_row * side.weights[rows], dtype=dtype))


def _multiply_by_weights(W: np.ndarray, side: Side, rows: slice, columns: slice) -> None:
    """Multiply the entry of each pair by the weights of its samples, in place."""
    if side.weights is not None:
        W *= side.weights[rows][:, None]
        W *= side.weights[columns]
