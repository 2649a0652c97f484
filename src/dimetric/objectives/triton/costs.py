r"""NCA with costs, and MLKR.

As in :mod:`dimetric.objectives.triton.softmax`, a first kernel computes the sums of each sample,
and a second one the product. With :math:`\bar{c}_i = \sum_j p_{ij} c_{ij}`, the weights of a pair
are :math:`p_{ij} (\bar{c}_i - c_{ij})`. The kernels compute the costs from labels or targets. The
weights of MLKR have the same form, with a cost that is linear in the target of j: with the errors
:math:`r_i = y_i - \hat{y}_i`, it is :math:`-2 r_i \cdot y_j`.
"""

from dataclasses import dataclass
from typing import Any

import torch
import triton
import triton.language as tl

from dimetric.objectives.side import Side
from dimetric.objectives.triton.operands import LOG2_E, WEIGHT_SCALE, Pairs, Product, padded
from dimetric.objectives.triton.tiles import (
    distances,
    row_operand,
    split_bounds,
    store_product,
    times_v,
)

NEGLIGIBLE = tl.constexpr(-1e30)  # an exponent below all others, but finite
# Costs by a table, and by the distance, the squared distance, the Jaccard distance and the inner
# product of targets.
TABLE, ABSOLUTE, SQUARED, JACCARD, INNER = range(5)


@triton.jit
def _cost(
    A, B, rows, cols, q,
    KIND: tl.constexpr, BACK: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
):  # fmt: skip
    """Return the costs of a tile, from q numbers A of the picking and B of the picked sample.

    The rows pick the columns, or the columns the rows if BACK. For a table of q classes, A is the
    table, and B contains the classes.
    """
    if KIND == 0:
        i = tl.load(B + rows).to(tl.int32)[:, None]
        j = tl.load(B + cols).to(tl.int32)[None, :]
        if BACK:  # noqa: SIM108 - a condition of the compiler
            C = tl.load(A + j * q + i)
        else:
            C = tl.load(A + i * q + j)
    else:
        C = tl.zeros((BM, BN), tl.float32)
        sizes = tl.zeros((BM, BN), tl.float32)
        for r in range(q):
            if BACK:
                a = tl.load(A + cols * q + r)[None, :]
                b = tl.load(B + rows * q + r)[:, None]
            else:
                a = tl.load(A + rows * q + r)[:, None]
                b = tl.load(B + cols * q + r)[None, :]
            if (KIND == 1) | (KIND == 2):
                C += (a - b) * (a - b)
            else:
                C += a * b
            if KIND == 3:
                sizes += a + b
        if KIND == 1:
            C = tl.sqrt(C)
        if KIND == 3:
            union = sizes - C
            C = (union - C) / tl.where(union > 0, union, 1.0)
    return C


@triton.jit
def _means_kernel(
    ZH, ZL, PARTS, NORMS, CROSS, LOGW, A, B, M, TOTAL, COSTS,
    n, n_padded, n_splits, q,
    K: tl.constexpr, BK: tl.constexpr, WIDE: tl.constexpr, EXACT: tl.constexpr,
    KIND: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
):  # fmt: skip
    """Compute the sums of exponentials, and of exponentials times costs."""
    first_row = tl.program_id(0) * BM
    rows = first_row + tl.arange(0, BM)
    zih, zil = row_operand(ZH, ZL, rows, K, BK)
    ni = tl.load(NORMS + rows)
    cross = tl.load(CROSS)
    m = tl.full((BM,), NEGLIGIBLE, tl.float32)
    total = tl.zeros((BM,), tl.float32)
    costs = tl.zeros((BM,), tl.float32)
    low, high = split_bounds(n_padded, n_splits, BN)
    for first in range(low, high, BN):
        cols = first + tl.arange(0, BN)
        D, _, _ = distances(
            zih, zil, ni, cross, ZH, ZL, PARTS, NORMS, rows, cols, n_padded,
            K, BK, WIDE, EXACT, BM, BN,
        )  # fmt: skip
        x = tl.load(LOGW + cols)[None, :] - D
        if (first < first_row + BM) & (first + BN > first_row):
            x = tl.where(rows[:, None] == cols[None, :], float("-inf"), x)
        larger = tl.maximum(m, tl.max(x, 1))
        shrink = tl.exp2(m - larger)
        e = tl.exp2(x - larger[:, None])
        total = total * shrink + tl.sum(e, 1)
        costs = costs * shrink + tl.sum(e * _cost(A, B, rows, cols, q, KIND, False, BM, BN), 1)
        m = larger
    at = tl.program_id(2) * n_padded + rows
    tl.store(M + at, m)
    tl.store(TOTAL + at, total)
    tl.store(COSTS + at, costs)


@triton.jit
def _product_kernel(
    ZH, ZL, PARTS, NORMS, CROSS, LOGW, A, B, ALPHA, MEANS, scale,
    VH, VL, UNIT, OUT, DEGREES,
    n, n_padded, n_splits, q,
    K: tl.constexpr, BK: tl.constexpr, WIDE: tl.constexpr, EXACT: tl.constexpr,
    Q: tl.constexpr, BQ: tl.constexpr, SAME: tl.constexpr,
    KIND: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
):  # fmt: skip
    """Multiply the weights of both directions of each pair with V."""
    first_row = tl.program_id(0) * BM
    first_q = tl.program_id(1) * BQ
    rows = first_row + tl.arange(0, BM)
    zih, zil = row_operand(ZH, ZL, rows, K, BK)
    ni = tl.load(NORMS + rows)
    cross = tl.load(CROSS)
    unit = tl.load(UNIT)
    alpha_i = tl.load(ALPHA + rows)
    mean_i = tl.load(MEANS + rows)
    logw_i = tl.load(LOGW + rows)
    acc = tl.zeros((BM, BQ), tl.float32)
    degrees = tl.zeros((BM,), tl.float32)
    low, high = split_bounds(n_padded, n_splits, BN)
    for first in range(low, high, BN):
        cols = first + tl.arange(0, BN)
        D, zjh, zjl = distances(
            zih, zil, ni, cross, ZH, ZL, PARTS, NORMS, rows, cols, n_padded,
            K, BK, WIDE, EXACT, BM, BN,
        )  # fmt: skip
        if (first < first_row + BM) & (first + BN > first_row):
            D = tl.where(rows[:, None] == cols[None, :], float("inf"), D)
        forward = tl.exp2(alpha_i[:, None] + tl.load(LOGW + cols)[None, :] - D)
        backward = tl.exp2(tl.load(ALPHA + cols)[None, :] + logw_i[:, None] - D)
        there = _cost(A, B, rows, cols, q, KIND, False, BM, BN)
        if (KIND == 0) | (KIND == 4):
            back = _cost(A, B, rows, cols, q, KIND, True, BM, BN)
        else:
            back = there
        S = forward * (mean_i[:, None] - there)
        S += backward * (tl.load(MEANS + cols)[None, :] - back)
        degrees += tl.sum(S, 1)
        acc += unit * times_v(S * scale, zjh, zjl, VH, VL, cols, first_q, Q, BQ, SAME)
    store_product(acc, degrees, OUT, DEGREES, rows, first_q, n_padded, Q, BQ)


@dataclass(frozen=True)
class Costs:
    """Costs that a kernel can compute.

    Attributes
    ----------
    kind : int
        ``TABLE``, ``ABSOLUTE``, ``SQUARED``, ``JACCARD`` or ``INNER``.
    rows, columns : tensors of shape (n, q)
        Numbers of each sample that picks a neighbour, and of each sample that is picked. For a
        table of q classes, they are the table, of shape (q, q), and the classes, of shape (n,).
    factor : float
        Number by which the costs are multiplied.
    """

    kind: int
    rows: torch.Tensor
    columns: torch.Tensor
    factor: float = 1.0

    def largest(self) -> torch.Tensor:
        """Return an upper bound on the absolute costs, without the factor."""
        if self.kind == TABLE:
            return torch.amax(torch.abs(self.rows))
        if self.kind == JACCARD:
            return torch.ones((), device=self.rows.device)
        spans = torch.amax(self.rows, dim=0) - torch.amin(self.rows, dim=0)
        if self.kind == INNER:
            sizes = (
                torch.linalg.vector_norm(self.rows, dim=1),
                torch.linalg.vector_norm(self.columns, dim=1),
            )
            return torch.amax(sizes[0]) * torch.amax(sizes[1])
        power = 1 if self.kind == ABSOLUTE else 2
        return torch.linalg.vector_norm(spans) ** power

    def launch(self) -> dict[str, Any]:
        """Return the arguments of the costs that a kernel gets."""
        return {
            "A": padded(self.rows, 0.0),
            "B": padded(self.columns, 0.0),
            "q": self.rows.shape[1],
            "KIND": self.kind,
        }


class _ExpectedCost:
    """The expected cost of the neighbour that each sample picks, for one matrix Z."""

    def __init__(self, Z: torch.Tensor, side: Side) -> None:
        self.Z, self.pairs = Z, Pairs.of(Z, LOG2_E)
        self.weights = torch.ones_like(Z[:, 0]) if side.weights is None else side.weights
        self._common = {"LOGW": padded(torch.log2(self.weights), -torch.inf), **self.pairs.launch()}

    def means(self, costs: Costs) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the logarithm in base 2 of each sample's sum, and its mean cost."""
        pairs, tiling = self.pairs, self.pairs.tiling()
        shape = tiling.n_splits, pairs.n_padded
        M, total, sums = (torch.empty(shape, device=self.Z.device) for _ in range(3))
        _means_kernel[(tiling.n_blocks, 1, tiling.n_splits)](
            M=M, TOTAL=total, COSTS=sums, **self._common, **costs.launch(), **tiling.launch()
        )
        m = torch.amax(M, dim=0)
        scales = torch.exp2(M - m)
        total = torch.sum(scales * total, dim=0)
        means = torch.sum(scales * sums, dim=0) / total
        return (m + torch.log2(total))[: pairs.n], means[: pairs.n]

    def product(
        self, V: torch.Tensor, costs: Costs, log_sums: torch.Tensor, means: torch.Tensor
    ) -> torch.Tensor:
        """Return the Laplacian product of the weights."""
        largest = 2 * torch.amax(self.weights) * costs.largest()
        scale = WEIGHT_SCALE / max(float(largest), torch.finfo(torch.float32).tiny)
        product = Product.of(self.pairs, V, self.Z, scale)
        tiling = self.pairs.tiling(product.n_chunks)
        _product_kernel[(tiling.n_blocks, product.n_chunks, tiling.n_splits)](
            ALPHA=padded(torch.log2(self.weights) - log_sums, -torch.inf),
            MEANS=padded(means, 0.0),
            scale=scale,
            **self._common,
            **costs.launch(),
            **product.launch(),
            **tiling.launch(),
        )
        return product.laplacian(1.0)

    def weighted_sum(self, losses: torch.Tensor) -> float:
        """Return the sum of the losses of all samples, times their weights."""
        return float(torch.sum(losses * self.weights, dtype=torch.float64))


def expected_cost(Z: Any, V: Any, side: Side, costs: Costs) -> tuple[float, Any, float]:
    """Return the loss, Laplacian product and 0 for ``costs.CostRule``."""
    expected = _ExpectedCost(Z, side)
    log_sums, means = expected.means(costs)
    product = expected.product(V, costs, log_sums, means)
    return costs.factor * expected.weighted_sum(means), costs.factor * product, 0.0


def mlkr(Z: Any, V: Any, side: Side, theta: Any) -> tuple[float, Any, float]:
    """Return the loss, Laplacian product and 0 for ``learners.mlkr.MLKRRule``."""
    expected, targets = _ExpectedCost(Z, side), side.target_columns(Z.dtype)
    ones, predicted = torch.ones_like(targets[:, :1]), []
    for column in targets.T:
        log_sums, mean = expected.means(Costs(INNER, ones, column[:, None]))
        predicted.append(mean)
    prediction = torch.stack(predicted, dim=1)
    errors = targets - prediction
    costs = Costs(INNER, -2 * errors, targets)
    means = torch.sum(-2 * errors * prediction, dim=1)
    product = expected.product(V, costs, log_sums, means)
    return expected.weighted_sum(torch.sum(errors**2, dim=1)), product, 0.0
