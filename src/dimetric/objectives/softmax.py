r"""Rules in which each sample picks a neighbour at random, with weights of the samples.

A sample i picks a neighbour j with the probability

.. math:: p_{ij} = \frac{w_j e^{-d^2_{ij}}}{\sum_{l \ne i} w_l e^{-d^2_{il}}}.

The weight :math:`w_i` also multiplies the loss of sample i, and sums are divided by the sum of all
weights. The functions ``nca``, ``mcml``, ``mlkr`` and ``expected_cost`` are the fast NumPy
implementations of these rules (see :mod:`dimetric.objectives.fast`).
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from dimetric._arrays.compiled import exp_in_place
from dimetric._arrays.namespaces import Array
from dimetric.objectives.engine import Rule
from dimetric.objectives.fast.all_pairs import EXPONENT_FRACTION, weighted_product
from dimetric.objectives.fast.kernel_pairs import KernelPairs
from dimetric.objectives.fast.near_pairs import NearPairs, NearPairSearch, near_product
from dimetric.objectives.side import Side

MIN_SAMPLES_FOR_KERNEL = 500  # with fewer samples, one pass over all pairs takes less time

# Returns the block of costs between the targets of the rows and of the columns, in float64.
Cost = Callable[[Any, Side, Side], Array]


class NeighborChoiceRule(Rule):
    """Base class of rules in which each sample picks a neighbour at random."""

    def n_terms(self, rows: Side, columns: Side) -> float:
        """Return the sum of the weights, or the number of samples without weights."""
        return rows.total_weight()


def neighbor_probabilities(xp: Any, D: Array, rows: Side, columns: Side) -> Array:
    """Return the probability that each row picks each column, from squared distances D.

    Examples
    --------
    >>> import numpy as np
    >>> side = Side.of(np.zeros((3, 1)), weights=np.array([1.0, 1.0, 3.0]))
    >>> neighbor_probabilities(np, np.zeros((3, 3)), side, side)
    array([[0.  , 0.25, 0.75],
           [0.25, 0.  , 0.75],
           [0.5 , 0.5 , 0.  ]])
    """
    D = xp.where(rows.different_sample(columns), D, xp.inf)
    E = xp.exp(xp.min(D, axis=1, keepdims=True) - D)
    if columns.weights is not None:
        E = E * columns.weights[None, :]
    return E / xp.sum(E, axis=1, keepdims=True)


def weighted_by_row(xp: Any, losses: Array, W: Array, rows: Side) -> tuple[Array, Array, float]:
    """Return the result of ``Rule.block``: the total loss, W and 0.

    Parameters
    ----------
    xp : namespace
        Array namespace.
    losses : array of shape (b, 1)
        The loss of each row, without its weight.
    W : array of shape (b, m)
        Derivatives of these losses with respect to the squared distances.
    rows : Side of b points
        The rows.
    """
    if rows.weights is not None:
        losses, W = losses * rows.weights[:, None], W * rows.weights[:, None]
    return xp.sum(losses, dtype=xp.float64), W, 0.0


def softmax_in_place(
    P: np.ndarray, itself: tuple[np.ndarray, np.ndarray], weights: np.ndarray | None
) -> tuple[np.ndarray | float, np.ndarray]:
    """Overwrite squared distances P with unnormalised probabilities.

    Parameters
    ----------
    P : ndarray of shape (b, m)
        Squared distances between points and their possible neighbours.
    itself : pair of ndarray
        Rows and columns of pairs of a point with itself, which have the probability 0.
    weights : ndarray of shape (m,) or None
        Weights of the neighbours.

    Returns
    -------
    shift : ndarray of shape (b, 1) or float
        The unnormalised probabilities are the weights times ``exp(shift - d2)``.
    total : ndarray of shape (b, 1)
        Sum of the unnormalised probabilities of each point.
    """
    lowest = EXPONENT_FRACTION * float(np.log(np.finfo(P.dtype).tiny))
    P[itself] = np.inf
    nearest = P.min(axis=1, keepdims=True)
    shift: np.ndarray | float = nearest
    if np.max(nearest) <= -lowest:  # no shift is needed, and it would take twice the time
        shift, lowest = 0.0, 2 * lowest
    np.subtract(shift, P, out=P)
    np.clip(P, lowest, np.inf, out=P)  # faster than np.maximum
    exp_in_place(P, P.shape[1])
    P[itself] = 0
    if weights is not None:
        P *= weights
    return shift, P.sum(axis=1, keepdims=True)


def _softmax(
    P: np.ndarray, first: int, last: int, weights: np.ndarray | None
) -> tuple[np.ndarray | float, np.ndarray]:
    """Return the result of :func:`softmax_in_place` for the points first:last and all points."""
    return softmax_in_place(P, (np.arange(last - first), np.arange(first, last)), weights)


def _weighted(by_row: np.ndarray, side: Side, rows: slice) -> np.ndarray:
    """Return the numbers of some rows, multiplied by the weights of the rows, if any."""
    return by_row if side.weights is None else by_row * side.weights[rows, None]


def _total(losses: np.ndarray, side: Side, rows: slice) -> float:
    """Return the weighted sum of the losses of some rows."""
    return float(_weighted(losses, side, rows).sum(dtype=np.float64))


def nca(
    Z: np.ndarray, V: np.ndarray, side: Side, theta: np.ndarray
) -> tuple[float, np.ndarray, float]:
    """Return the loss, Laplacian product and 0 for ``learners.nca.NCARule``."""
    search = NearPairSearch.if_few(Z)
    if search is not None:
        return *near_product(lambda pairs: _nca_of_near_pairs(pairs, side), search, V), 0.0
    if side.weights is None and len(Z) >= MIN_SAMPLES_FOR_KERNEL:
        kernel = KernelPairs(Z, V)
        sums, class_sums = kernel.sums_by_class(side)
        if np.all(sums >= kernel.smallest_sum):
            p, rest = class_sums / sums, (sums - class_sums) / sums
            return -float(np.sum(p)), kernel.product(-p / sums, rest / sums, side), 0.0
    tiny = np.finfo(Z.dtype).tiny
    factors = np.empty_like(Z, shape=(len(Z), 1))

    def weigh(P: np.ndarray, first: int, last: int) -> float:
        scale = 1 / _softmax(P, first, last, side.weights)[1]
        loss = 0.0
        for rows, members in side.class_runs(first, last):
            here = slice(rows.start - first, rows.stop - first)
            # W = P (same - p): a factor -p for the row, and (p - 1) / p in the same class.
            p = P[here, members].sum(axis=1, keepdims=True) * scale[here]
            loss -= _total(p, side, rows)
            p = np.maximum(p, tiny)
            P[here, members] *= (p - 1) / p
            factors[rows] = _weighted(-p * scale[here], side, rows)
        return loss

    return *weighted_product(weigh, Z, V, row_factors=factors)[:2], 0.0


def _nca_of_near_pairs(pairs: NearPairs, side: Side) -> tuple[float, np.ndarray]:
    """Return the loss of the rows of near pairs, and the weights of the pairs."""
    labels, weights = np.asarray(side.labels), side.weights
    P = np.exp(pairs.by_pair(pairs.nearest()) - pairs.squared_distances)
    if weights is not None:
        P *= weights[pairs.columns]
    P /= pairs.by_pair(pairs.row_sums(P))
    same = labels[pairs.columns] == pairs.by_pair(labels[pairs.rows])
    p = pairs.row_sums(P * same)
    P *= same - pairs.by_pair(p)
    if weights is not None:
        P *= pairs.by_pair(weights[pairs.rows])
    return -_total(p[:, None], side, pairs.rows), P


def expected_cost(
    Z: np.ndarray, V: np.ndarray, side: Side, cost: Cost
) -> tuple[float, np.ndarray, float]:
    """Return the loss, Laplacian product and 0 for ``costs.CostRule``."""
    factors = np.empty_like(Z, shape=(len(Z), 1))

    def weigh(P: np.ndarray, first: int, last: int) -> float:
        rows = slice(first, last)
        scale = 1 / _softmax(P, first, last, side.weights)[1]
        C = np.asarray(cost(np, side[rows], side), dtype=P.dtype)
        means = np.einsum("ij,ij->i", P, C)[:, None] * scale
        P *= means - C
        factors[rows] = _weighted(scale, side, rows)
        return _total(means, side, rows)

    return *weighted_product(weigh, Z, V, row_factors=factors)[:2], 0.0


def mlkr(
    Z: np.ndarray, V: np.ndarray, side: Side, theta: np.ndarray
) -> tuple[float, np.ndarray, float]:
    """Return the loss, Laplacian product and 0 for ``learners.mlkr.MLKRRule``."""
    targets = side.target_columns(Z.dtype)
    factors = np.empty_like(Z, shape=(len(Z), 1))

    def weigh(P: np.ndarray, first: int, last: int) -> float:
        rows = slice(first, last)
        scale = 1 / _softmax(P, first, last, side.weights)[1]
        predicted = P @ targets * scale
        errors = targets[rows] - predicted
        offsets = np.einsum("ij,ij->i", errors, predicted)[:, None]
        P *= errors @ targets.T - offsets
        factors[rows] = _weighted(2 * scale, side, rows)
        return _total(np.einsum("ij,ij->i", errors, errors)[:, None], side, rows)

    return *weighted_product(weigh, Z, V, row_factors=factors)[:2], 0.0


def mcml(
    Z: np.ndarray, V: np.ndarray, side: Side, theta: np.ndarray, *, half: bool = False
) -> tuple[float, np.ndarray, float]:
    """Return the loss, Laplacian product and 0 for ``learners.mcml.MCMLRule``."""
    starts = side.class_starts
    sizes = np.diff(starts)
    is_anchor = np.repeat(sizes > 1, sizes)[:, None]
    loss, product = _mcml_pushes(Z, V, side, is_anchor, half)
    # The second term is the scatter within each class, which is linear in M.
    for start, size in zip(starts[:-1].tolist(), sizes.tolist(), strict=True):
        members = slice(start, start + size)
        if size > 1 and side.weights is not None:
            weights = side.weights[members].astype(np.float64)
            loss += _add_weighted_pulls(product[members], Z[members], V[members], weights)
        elif size > 1:
            weight = 2 * size / (size - 1)
            deviation = Z[members] - Z[members].mean(axis=0)
            loss += weight * float(np.sum(deviation**2, dtype=np.float64))
            product[members] += weight * (V[members] - V[members].mean(axis=0))
    return loss, product, 0.0


def _mcml_pushes(
    Z: np.ndarray, V: np.ndarray, side: Side, is_anchor: np.ndarray, half: bool
) -> tuple[float, np.ndarray]:
    """Return the logarithms of the sums of exponentials, and their Laplacian product."""
    if side.weights is None and len(Z) >= MIN_SAMPLES_FOR_KERNEL:
        kernel = KernelPairs(Z, V, half=half)
        sums = kernel.sums()
        if np.all(sums >= kernel.smallest_sum):
            is_anchor = is_anchor[:, 0]
            terms = np.where(is_anchor, -1 / sums, 0)
            return float(np.sum(np.log(sums[is_anchor]))), kernel.product(terms)
    factors = np.empty_like(Z, shape=(len(Z), 1))

    def weigh(P: np.ndarray, first: int, last: int) -> float:
        rows = slice(first, last)
        shift, total = _softmax(P, first, last, side.weights)
        factors[rows] = _weighted(np.where(is_anchor[rows], -1 / total, 0), side, rows)
        return _total(np.where(is_anchor[rows], np.log(total) - shift, 0), side, rows)

    return weighted_product(weigh, Z, V, row_factors=factors, half=half)[:2]


def _add_weighted_pulls(
    product: np.ndarray, Z: np.ndarray, V: np.ndarray, weights: np.ndarray
) -> float:
    r"""Return the pulls between the samples of one class, and add their Laplacian product.

    Sample i pulls sample j with the weight :math:`a_i w_j`, where
    :math:`a_i = w_i / \sum_{l \ne i} w_l`.
    """
    before = np.concatenate([[0.0], np.cumsum(weights[:-1])])
    after = np.concatenate([np.cumsum(weights[:0:-1])[::-1], [0.0]])
    a, w = (weights / (before + after))[:, None], weights[:, None]
    Z, V = (A - np.average(A, axis=0, weights=weights) for A in (Z, V))
    product += a * w.sum() * V + w * a.sum() * V - a * (w.T @ V) - w * (a.T @ V)
    squares = np.sum(Z.astype(np.float64) ** 2, axis=1, keepdims=True)
    crossed = (a.T @ Z) @ (w.T @ Z).T
    return float(np.sum((a * w.sum() + w * a.sum()) * squares) - 2 * crossed.item())
