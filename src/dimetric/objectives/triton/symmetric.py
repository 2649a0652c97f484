"""LDML and LSI, whose weights of a pair depend on the distance and the labels of the pair only.

Both directions of a pair have the same weight, so one pass over all pairs yields the loss and the
product. The weight of a pair is multiplied by the weights of its samples.
"""

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

LOGISTIC, DISTANCE = 0, 1  # the loss: that of LDML, or that of LSI


@triton.jit
def _symmetric_kernel(
    ZH, ZL, PARTS, NORMS, CROSS, WEIGHTS, LABELS, LOSSES, parameter, scale,
    VH, VL, UNIT, OUT, DEGREES,
    n, n_padded, n_splits,
    K: tl.constexpr, BK: tl.constexpr, WIDE: tl.constexpr, EXACT: tl.constexpr,
    Q: tl.constexpr, BQ: tl.constexpr, SAME: tl.constexpr,
    KIND: tl.constexpr, WEIGHTED: tl.constexpr,
    BM: tl.constexpr, BN: tl.constexpr,
):  # fmt: skip
    """Sum the loss of all pairs of each row, and multiply the weights with V.

    The parameter is the threshold of LDML, in base 2, or the epsilon of LSI.
    """
    first_row = tl.program_id(0) * BM
    first_q = tl.program_id(1) * BQ
    rows = first_row + tl.arange(0, BM)
    zih, zil = row_operand(ZH, ZL, rows, K, BK)
    ni = tl.load(NORMS + rows)
    cross = tl.load(CROSS)
    unit = tl.load(UNIT)
    labels = tl.load(LABELS + rows)
    acc = tl.zeros((BM, BQ), tl.float32)
    degrees = tl.zeros((BM,), tl.float32)
    losses = tl.zeros((BM,), tl.float32)
    low, high = split_bounds(n_padded, n_splits, BN)
    for first in range(low, high, BN):
        cols = first + tl.arange(0, BN)
        D, zjh, zjl = distances(
            zih, zil, ni, cross, ZH, ZL, PARTS, NORMS, rows, cols, n_padded,
            K, BK, WIDE, EXACT, BM, BN,
        )  # fmt: skip
        same = labels[:, None] == tl.load(LABELS + cols)[None, :]
        if KIND == 0:
            u = tl.where(same, D - parameter, parameter - D)
            e = tl.exp2(-tl.abs(u))
            loss = tl.maximum(u, 0.0) + tl.log2(1 + e)
            S = tl.where(u > 0, 1.0, e) / (1 + e)
            S = tl.where(same, S, -S)
            if (first < first_row + BM) & (first + BN > first_row):
                itself = rows[:, None] == cols[None, :]
                loss = tl.where(itself, 0.0, loss)
                S = tl.where(itself, 0.0, S)
        else:
            loss = tl.where(same, 0.0, tl.sqrt(D + parameter))
            S = tl.where(loss > 0, 1 / tl.where(loss > 0, loss, 1.0), 0.0)
        if first + BN > n:
            loss = tl.where((cols < n)[None, :], loss, 0.0)
            S = tl.where((cols < n)[None, :], S, 0.0)
        if WEIGHTED:
            w = tl.load(WEIGHTS + cols)[None, :]
            loss *= w
            S *= w
        losses += tl.sum(loss, 1)
        degrees += tl.sum(S, 1)
        acc += unit * times_v(S * scale, zjh, zjl, VH, VL, cols, first_q, Q, BQ, SAME)
    store_product(acc, degrees, OUT, DEGREES, rows, first_q, n_padded, Q, BQ)
    if tl.program_id(1) == 0:
        tl.store(LOSSES + tl.program_id(2) * n_padded + rows, losses)


def _sums(
    Z: torch.Tensor, V: torch.Tensor, side: Side, kind: int, parameter: float, bound: float
) -> tuple[float, torch.Tensor, float]:
    """Return the sum of the losses, the Laplacian product, and the sum of the weights.

    The sums contain both directions of each pair. No weight exceeds the bound, if the samples have
    no weights.
    """
    pairs = Pairs.of(Z, LOG2_E if kind == LOGISTIC else 1.0)
    weights = side.weights
    scale = WEIGHT_SCALE / bound
    if weights is not None:
        weights = weights.to(torch.float32)
        scale /= float(torch.amax(weights))
    product = Product.of(pairs, V, Z, scale)
    tiling = pairs.tiling(product.n_chunks)
    losses = torch.empty((tiling.n_splits, pairs.n_padded), device=Z.device)
    assert side.labels is not None
    _symmetric_kernel[(tiling.n_blocks, product.n_chunks, tiling.n_splits)](
        WEIGHTS=pairs.norms if weights is None else padded(weights, 0.0),
        LABELS=padded(side.labels, -1, torch.int32),
        LOSSES=losses,
        parameter=parameter,
        scale=scale,
        KIND=kind,
        WEIGHTED=weights is not None,
        **pairs.launch(),
        **product.launch(),
        **tiling.launch(),
    )
    # The kernel multiplies the weights of a pair by the weight of the column only.
    by_row = torch.sum(losses, dim=0, dtype=torch.float64)[: pairs.n]
    degrees = product.row_sums(1.0)
    result = product.laplacian(1.0)
    if weights is not None:
        by_row, degrees, result = (
            by_row * weights,
            degrees * weights,
            result * weights[:, None].to(result.dtype),
        )
    return float(torch.sum(by_row)), result, float(torch.sum(degrees))


def ldml(Z: Any, V: Any, side: Side, b: float) -> tuple[float, Any, float]:
    """Return the loss, Laplacian product and dloss/db for ``learners.ldml.LDMLRule``."""
    loss, product, total = _sums(Z, V, side, LOGISTIC, b * LOG2_E, 1.0)
    return loss / LOG2_E / 2, product, -total / 2


def lsi(Z: Any, V: Any, side: Side, eps: float) -> tuple[float, Any, float]:
    """Return the loss, Laplacian product and 0 for ``learners.lsi.DistanceRule``."""
    # Squared distances below the rounding error of float32 are noise.
    noise = torch.finfo(torch.float32).eps * float(torch.amax(torch.sum(Z * Z, dim=1)))
    smallest = max(eps, 4 * noise, torch.finfo(torch.float32).tiny)
    loss, product, _ = _sums(Z, V, side, DISTANCE, eps, smallest**-0.5)
    return loss / 2, product / 2, 0.0
