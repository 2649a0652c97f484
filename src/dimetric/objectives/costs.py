"""Costs between the targets of two samples, and the loss of NCA with costs.

A cost gets the targets of the rows and of the columns of a block, and returns the cost of each pair
in float64. Costs are at least 0.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dimetric._arrays.blocks import row_blocks
from dimetric._arrays.namespaces import Array, asarray_like, namespace, to_host
from dimetric._arrays.validation import rescale_for_squares
from dimetric.objectives.side import Side
from dimetric.objectives.softmax import (
    Cost,
    NeighborChoiceRule,
    expected_cost,
    neighbor_probabilities,
    weighted_by_row,
)
from dimetric.supervision.labels import sum_of_pair_weights

MAX_SAMPLES_FOR_MEAN = 1000  # number of samples whose pairs determine the mean cost
MAX_SAMPLES_FOR_INFIMUM = 5000  # with more samples, the smallest costs are not computed
BLOCK_ROWS = 256

CostFunction = Callable[[np.ndarray, np.ndarray], Any]


def squared_cost(xp: Any, rows: Side, columns: Side) -> Array:
    """Return the squared Euclidean distance between targets.

    Examples
    --------
    >>> side = Side.of(np.zeros((3, 1)), targets=np.array([0.0, 1.0, 3.0]))
    >>> squared_cost(np, side[:1], side), absolute_cost(np, side[:1], side)
    (array([[0., 1., 9.]]), array([[0., 1., 3.]]))
    """
    A, B = rows.target_columns(xp.float64), columns.target_columns(xp.float64)
    total = (A[:, 0][:, None] - B[:, 0][None, :]) ** 2
    for k in range(1, A.shape[1]):
        total = total + (A[:, k][:, None] - B[:, k][None, :]) ** 2
    return total


def absolute_cost(xp: Any, rows: Side, columns: Side) -> Array:
    """Return the Euclidean distance between targets."""
    A, B = rows.target_columns(xp.float64), columns.target_columns(xp.float64)
    if A.shape[1] == 1:
        return xp.abs(A - B.T)
    return xp.sqrt(squared_cost(xp, rows, columns))


def jaccard_cost(xp: Any, rows: Side, columns: Side) -> Array:
    """Return 1 minus the Jaccard similarity of sets of labels, given as rows of 0 and 1.

    The cost of two empty sets is 0.

    Examples
    --------
    >>> side = Side.of(np.zeros((3, 1)), targets=np.array([[1, 1], [1, 0], [0, 0]]))
    >>> jaccard_cost(np, side, side)
    array([[0. , 0.5, 1. ],
           [0.5, 0. , 1. ],
           [1. , 1. , 0. ]])
    """
    A, B = rows.target_columns(xp.float64), columns.target_columns(xp.float64)
    shared = A @ B.T
    union = xp.sum(A, axis=1)[:, None] + xp.sum(B, axis=1)[None, :] - shared
    return (union - shared) / xp.where(union > 0, union, xp.ones_like(union))


@dataclass(frozen=True, eq=False)
class TableCost:
    """The cost given by a table, whose rows and columns are classes.

    Examples
    --------
    >>> side = Side.of(np.zeros((3, 1)), labels=np.array([0, 0, 1]))
    >>> TableCost(np.array([[0.0, 5.0], [1.0, 0.0]]))(np, side, side)
    array([[0., 0., 5.],
           [0., 0., 5.],
           [1., 1., 0.]])
    """

    table: np.ndarray

    def __call__(self, xp: Any, rows: Side, columns: Side) -> Array:
        """Return the costs of a block."""
        on_device = asarray_like(self.table, rows.positions, dtype=xp.float64)
        return xp.take(xp.take(on_device, rows.labels, axis=0), columns.labels, axis=1)


def function_cost(function: CostFunction) -> Cost:
    """Return the cost given by a function of two NumPy arrays of targets."""

    def cost(xp: Any, rows: Side, columns: Side) -> Array:
        blocks = to_host(rows.targets), to_host(columns.targets)
        result = np.asarray(function(*blocks))
        expected = len(rows), len(columns)
        if result.shape != expected or result.dtype.kind not in "biuf":
            raise ValueError(
                f"The function cost returned an array of shape {result.shape} and dtype "
                f"{result.dtype} for blocks of {expected[0]} and {expected[1]} targets. It must "
                f"return numbers of shape {expected}."
            )
        if not np.all(np.isfinite(result)) or np.any(result < 0):
            raise ValueError(
                "The function cost returned a value that is negative, infinite or NaN. Costs must "
                "be finite and at least 0."
            )
        return asarray_like(result, rows.positions, dtype=xp.float64)

    return cost


# For each named cost of numbers: the cost, and the power of the unit of y that it is measured in.
_NUMERIC_COSTS: dict[str, tuple[Cost, int]] = {
    "absolute": (absolute_cost, 1),
    "squared": (squared_cost, 2),
}
COST_NAMES = ("jaccard", *_NUMERIC_COSTS)


def target_cost(cost: Any, values: np.ndarray) -> tuple[Cost, np.ndarray, float]:
    """Return the cost that a name or function stands for, the targets, and a factor.

    The targets are rescaled if squares would overflow. This multiplies all costs by the factor.
    """
    if callable(cost):
        return function_cost(cost), values, 1.0
    if cost == "jaccard":
        check_indicators(values)
        return jaccard_cost, values, 1.0
    function, power = _NUMERIC_COSTS[cost]
    values, factor = rescale_for_squares(values, "y")
    return function, values, factor**power


def checked_table(table: Any, classes: np.ndarray) -> np.ndarray:
    """Return a table of costs between classes. Raise if it is not valid.

    Examples
    --------
    >>> checked_table([[0, 1], [2, 0]], np.array(["a", "b"]))
    array([[0., 1.],
           [2., 0.]])
    """
    array = np.asarray(table)
    n = len(classes)
    if array.dtype.kind not in "biuf":
        raise ValueError(
            f"The table cost must contain numbers, but it has dtype {array.dtype}. Pass a row and "
            "a column for each class, in sorted order."
        )
    if array.shape != (n, n):
        raise ValueError(
            f"The table cost has shape {array.shape}, but y has {n} classes: "
            f"{classes[:10].tolist()}{' and others' if n > 10 else ''}. Pass a row and a column "
            "for each class, in this order."
        )
    array = array.astype(np.float64)
    for is_wrong, reason in (
        (~np.isfinite(array), "costs must be finite"),
        (array < 0, "costs must not be negative"),
    ):
        if np.any(is_wrong):
            i, j = np.argwhere(is_wrong)[0].tolist()
            raise ValueError(f"The table cost contains {array[i, j]} at ({i}, {j}), but {reason}.")
    return array


def check_indicators(values: np.ndarray) -> None:
    """Raise unless the targets are a matrix of 0 and 1, with a column for each label."""
    if values.ndim != 2 or np.any((values != 0) & (values != 1)):
        content = "contains other values" if values.ndim == 2 else "is not a matrix"
        raise ValueError(
            f"cost='jaccard' needs y of shape (n_samples, n_labels), with 1 where a sample has a "
            f"label and 0 elsewhere, but y {content}. Use MultiLabelBinarizer of scikit-learn to "
            "encode sets of labels."
        )


def mean_cost(cost: Cost, xp: Any, side: Side) -> float:
    """Return the mean cost of pairs of different samples, at most about 1000 of them.

    A pair has the product of the weights of its samples as weight.
    """
    part = side.take(np.arange(0, len(side), 1 + len(side) // MAX_SAMPLES_FOR_MEAN))
    if part.weights is None:
        total = sum(_without_itself(cost, xp, part, b, 0.0).sum() for b in _blocks(part))
        return float(total) / part.n_different_pairs(part)
    w = to_host(part.weights).astype(np.float64)
    total = sum(w[b] @ _without_itself(cost, xp, part, b, 0.0) @ w for b in _blocks(part))
    return float(total) / (2 * sum_of_pair_weights(w))


def mean_smallest_cost(cost: Cost, xp: Any, rows: Side) -> float:
    """Return the weighted mean of the smallest cost of each sample, or -inf if it takes too long.

    Also return -inf if each sample has the same cost to all others.
    """
    if len(rows) > MAX_SAMPLES_FOR_INFIMUM:
        return -np.inf
    lowest, highest = (
        np.concatenate(
            [extreme(_without_itself(cost, xp, rows, b, fill), axis=1) for b in _blocks(rows)]
        )
        for extreme, fill in ((np.min, np.inf), (np.max, -np.inf))
    )
    if np.all(lowest == highest):
        return -np.inf
    weights = None if rows.weights is None else to_host(rows.weights)
    return float(np.average(lowest, weights=weights))


def _blocks(side: Side) -> list[slice]:
    return list(row_blocks(len(side), BLOCK_ROWS))


def _without_itself(cost: Cost, xp: Any, side: Side, block: slice, fill: float) -> np.ndarray:
    """Return the costs of a block on the host, with `fill` for a sample and itself."""
    costs = to_host(cost(xp, side[block], side))
    return np.where(to_host(side[block].different_sample(side)), costs, fill)


# The kinds of costs in dimetric.objectives.triton.costs, which cannot be imported without torch.
_KERNEL_KINDS: dict[Cost, int] = {absolute_cost: 1, squared_cost: 2, jaccard_cost: 3}


class CostRule(NeighborChoiceRule):
    r"""The loss of NCA with costs: the expected cost of the neighbour that a sample picks.

    With :math:`\bar{c}_i = \sum_j p_{ij} c_{ij}`, the derivatives are
    :math:`W_{ij} = p_{ij} (\bar{c}_i - c_{ij})`.

    Parameters
    ----------
    cost : callable
        The cost between targets, see :mod:`dimetric.objectives.costs`.
    mean : float
        Mean cost of all pairs, by which costs are divided.
    unit : float
        The mean cost in the user's unit of the targets.
    """

    def __init__(self, cost: Cost, mean: float, unit: float) -> None:
        self._cost, self._mean, self.unit = cost, mean, unit
        if isinstance(cost, TableCost) or cost in _KERNEL_KINDS:
            self.fused = self._fused

    def relative_cost(self, xp: Any, rows: Side, columns: Side) -> Array:
        """Return the costs of a block, divided by the mean cost."""
        return self._cost(xp, rows, columns) / self._mean

    def fast(
        self, Z: np.ndarray, V: np.ndarray, side: Side, theta: np.ndarray
    ) -> tuple[float, np.ndarray, float]:
        """Implement the rule for NumPy, see :class:`dimetric.objectives.engine.Rule`."""
        return expected_cost(Z, V, side, self.relative_cost)

    def _fused(self, Z: Array, V: Array, side: Side, theta: Any) -> tuple[float, Array, float]:
        """Implement the rule for CUDA tensors, see :class:`dimetric.objectives.engine.Rule`."""
        from dimetric.objectives.triton import costs as kernels

        factor = 1 / self._mean
        if isinstance(self._cost, TableCost):
            assert side.labels is not None
            table = asarray_like(self._cost.table, Z)
            costs = kernels.Costs(kernels.TABLE, table, side.labels, factor)
        else:
            targets = side.target_columns(Z.dtype)
            costs = kernels.Costs(_KERNEL_KINDS[self._cost], targets, targets, factor)
        return kernels.expected_cost(Z, V, side, costs)

    def block(
        self, xp: Any, D: Array, rows: Side, columns: Side, theta: Any = None
    ) -> tuple[Array, Array, float]:
        """Return (loss, W, 0) of a block, see :class:`dimetric.objectives.engine.Rule`."""
        P = neighbor_probabilities(xp, D, rows, columns)
        C = xp.astype(self.relative_cost(xp, rows, columns), P.dtype)
        means = xp.sum(P * C, axis=1, keepdims=True)
        return weighted_by_row(xp, means, P * (means - C), rows)

    def infimum(self, rows: Side, columns: Side) -> float:
        """Return the mean of the smallest cost of each sample, or -inf if it is not known."""
        if rows is not columns:
            return -np.inf
        return mean_smallest_cost(self.relative_cost, namespace(rows.positions), rows)
