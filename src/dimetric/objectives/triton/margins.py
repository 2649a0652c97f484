r"""LMNN: the pushes of all samples and their impostors.

A sample has a threshold for each target, the squared distance of the target plus the margin. The
slopes of the hinges of both directions of a pair are known when its distance is known, so one pass
over all pairs yields the loss, the slopes of each threshold and the product. Tiles without an
impostor are skipped.
"""

from dataclasses import dataclass

import torch
import triton
import triton.language as tl

from dimetric.objectives.side import Side
from dimetric.objectives.triton.operands import WEIGHT_SCALE, Pairs, Product, padded
from dimetric.objectives.triton.tiles import (
    distances,
    row_operand,
    split_bounds,
    store_product,
    times_v,
)

NEVER = -1e30  # the threshold of a missing target


@triton.jit
def _hinge(t, width, SHARP: tl.constexpr):
    """Return the value and the slope of the hinge, see ``objectives.margins.hinge``."""
    if SHARP:
        value = tl.maximum(t, 0.0)
        slope = tl.where(t > 0, 1.0, 0.0)
    else:
        t = tl.maximum(t * (1.0 / width) + 0.5, 0.0)
        slope = tl.minimum(t, 1.0)
        value = width * slope * (t - slope / 2)
    return value, slope


@triton.jit
def _pushes_kernel(
    ZH, ZL, PARTS, NORMS, CROSS, LABELS, THRESHOLDS, TARGET_WEIGHTS, WEIGHTS, REACH, LOSSES, SLOPES,
    width, scale,
    VH, VL, UNIT, OUT, DEGREES,
    n, n_padded, n_splits, n_targets,
    K: tl.constexpr, BK: tl.constexpr, WIDE: tl.constexpr, EXACT: tl.constexpr,
    Q: tl.constexpr, BQ: tl.constexpr, SAME: tl.constexpr,
    T: tl.constexpr, SHARP: tl.constexpr,
    BM: tl.constexpr, BN: tl.constexpr,
):  # fmt: skip
    """Sum the hinges of each row, and multiply the slopes of both directions with V."""
    first_q = tl.program_id(1) * BQ
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    zih, zil = row_operand(ZH, ZL, rows, K, BK)
    ni = tl.load(NORMS + rows)
    cross = tl.load(CROSS)
    unit = tl.load(UNIT)
    labels = tl.load(LABELS + rows)
    reach_i = tl.load(REACH + rows)
    w_i = tl.load(WEIGHTS + rows)
    ranks = tl.arange(0, T)
    acc = tl.zeros((BM, BQ), tl.float32)
    degrees = tl.zeros((BM,), tl.float32)
    losses = tl.zeros((BM,), tl.float32)
    slopes = tl.zeros((BM, T), tl.float32)
    low, high = split_bounds(n_padded, n_splits, BN)
    for first in range(low, high, BN):
        cols = first + tl.arange(0, BN)
        D, zjh, zjl = distances(
            zih, zil, ni, cross, ZH, ZL, PARTS, NORMS, rows, cols, n_padded,
            K, BK, WIDE, EXACT, BM, BN,
        )  # fmt: skip
        same = labels[:, None] == tl.load(LABELS + cols)[None, :]
        D = tl.where(same, float("inf"), D)
        reach = tl.maximum(reach_i[:, None], tl.load(REACH + cols)[None, :])
        if tl.max(tl.max(reach - D, 1), 0) > 0:
            w_j = tl.load(WEIGHTS + cols)
            S = tl.zeros((BM, BN), tl.float32)
            for rank in range(n_targets):
                threshold = tl.load(THRESHOLDS + rows * n_targets + rank)
                value, slope = _hinge(threshold[:, None] - D, width, SHARP)
                weight = tl.load(TARGET_WEIGHTS + rows * n_targets + rank)
                weight = weight[:, None] * w_j[None, :]
                losses += tl.sum(value * weight, 1)
                slope = slope * weight
                S += slope
                slopes += tl.where(ranks[None, :] == rank, tl.sum(slope, 1)[:, None], 0.0)
                threshold = tl.load(THRESHOLDS + cols * n_targets + rank)
                value, slope = _hinge(threshold[None, :] - D, width, SHARP)
                weight = tl.load(TARGET_WEIGHTS + cols * n_targets + rank)
                S += slope * (weight[None, :] * w_i[:, None])
            degrees += tl.sum(S, 1)
            acc += unit * times_v(S * scale, zjh, zjl, VH, VL, cols, first_q, Q, BQ, SAME)
    store_product(acc, degrees, OUT, DEGREES, rows, first_q, n_padded, Q, BQ)
    if tl.program_id(1) == 0:
        at = tl.program_id(2) * n_padded + rows
        tl.store(LOSSES + at, losses)
        tl.store(SLOPES + at[:, None] * T + ranks[None, :], slopes)


@dataclass(frozen=True)
class Targets:
    """The targets of the samples and the weights of their terms, as in ``MarginRule``.

    Attributes
    ----------
    rows : tensor of shape (n_samples, k)
        Row indices of the targets. -1 means no target.
    weights : tensor of shape (n_samples, k)
        Weights of the terms, which are 0 for missing targets.
    impostor_weights : tensor of shape (n_samples,)
        Weights of the samples as impostors.
    """

    rows: torch.Tensor
    weights: torch.Tensor
    impostor_weights: torch.Tensor

    @classmethod
    def of(
        cls, targets: torch.Tensor, weights: torch.Tensor | None, side: Side, Z: torch.Tensor
    ) -> "Targets":
        """Return the targets of the first samples, and the weights of their terms."""
        n = targets.shape[0]
        w = (targets >= 0).to(torch.float32)
        if weights is not None:
            w = w * weights[:n].to(torch.float32)
        counts = torch.ones(n, device=Z.device)
        if side.weights is not None:
            counts = side.weights[:n].to(torch.float32)
        return cls(targets, w * counts[:, None], counts)


def margins(
    Z: torch.Tensor,
    V: torch.Tensor,
    side: Side,
    targets: Targets,
    *,
    pull: float,
    push: float,
    width: float,
) -> tuple[float, torch.Tensor, float]:
    """Return the loss, Laplacian product and dtheta for ``MarginRule``.

    The first points are samples. Further points serve as targets only.
    """
    (n, k), dtype = targets.rows.shape, V.dtype
    Z, V = Z.to(torch.float32), Z.to(torch.float32) if V is Z else V
    near = torch.clamp(targets.rows, min=0)
    distances = torch.stack(
        [torch.sum((Z[:n] - Z[near[:, rank]]) ** 2, dim=1) for rank in range(k)], dim=1
    )
    thresholds = torch.where(targets.rows >= 0, 1 + distances, NEVER)
    loss, slopes, pushed = _pushes(Z[:n], V[:n], Z is V, side, targets, thresholds, width)
    product = torch.zeros_like(V)
    product[:n] = -push * pushed
    pulled = pull * targets.weights + push * slopes
    for rank in range(k):
        difference = pulled[:, rank, None] * (V[:n] - V[near[:, rank]])
        product[:n] += difference
        # Unlike index_add_, this adds in a fixed order.
        product.index_put_((near[:, rank],), -difference, accumulate=True)
    total = pull * torch.sum(targets.weights * distances, dtype=torch.float64) + push * loss
    return float(total), product.to(dtype), push * float(torch.sum(slopes, dtype=torch.float64))


def _pushes(
    Z: torch.Tensor,
    V: torch.Tensor,
    is_points: bool,
    side: Side,
    targets: Targets,
    thresholds: torch.Tensor,
    width: float,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return the sum of the hinges, the slopes of each target, and their Laplacian product."""
    n, k = thresholds.shape
    pairs = Pairs.of(Z)
    # Entries of the symmetric matrix are at most twice the weights of all targets of a sample.
    largest = torch.amax(torch.sum(targets.weights, dim=1)) * torch.amax(targets.impostor_weights)
    scale = WEIGHT_SCALE / max(float(largest), torch.finfo(torch.float32).tiny)
    product = Product.of(pairs, Z if is_points else V, Z, scale)
    tiling = pairs.tiling(product.n_chunks)
    T = triton.next_power_of_2(k)
    losses = torch.empty((tiling.n_splits, pairs.n_padded), device=Z.device)
    slopes = torch.empty((tiling.n_splits, pairs.n_padded, T), device=Z.device)
    assert side.labels is not None
    _pushes_kernel[(tiling.n_blocks, product.n_chunks, tiling.n_splits)](
        LABELS=padded(side.labels[:n], -1, torch.int32),
        THRESHOLDS=padded(thresholds, NEVER),
        TARGET_WEIGHTS=padded(targets.weights, 0.0),
        WEIGHTS=padded(targets.impostor_weights, 0.0),
        REACH=padded(torch.amax(thresholds, dim=1) + width / 2, NEVER),
        LOSSES=losses,
        SLOPES=slopes,
        width=float(width),
        scale=scale,
        n_targets=k,
        T=T,
        SHARP=width == 0,
        **pairs.launch(),
        **product.launch(),
        **tiling.launch(),
    )
    loss = torch.sum(losses[:, :n], dtype=torch.float64)
    return loss, torch.sum(slopes, dim=0)[:n, :k], product.laplacian(1.0)
