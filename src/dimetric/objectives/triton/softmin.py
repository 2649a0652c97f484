r"""The smooth minimum of the squared distances between samples of different classes.

The exponentials of each row are computed relative to the nearest sample of another class. They are
rescaled when the smallest distance of all rows is known.
"""

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

FAR = tl.constexpr(1e30)  # a squared distance above all others, but finite


@triton.jit
def _nearest_kernel(
    ZH, ZL, PARTS, NORMS, CROSS, SHIFTS, LABELS, POSITIONS, NEAREST,
    n, n_padded, n_splits,
    K: tl.constexpr, BK: tl.constexpr, WIDE: tl.constexpr, EXACT: tl.constexpr,
    BM: tl.constexpr, BN: tl.constexpr,
):  # fmt: skip
    """Find the smallest squared distance of each row to another class, minus the shifts."""
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    zih, zil = row_operand(ZH, ZL, rows, K, BK)
    ni = tl.load(NORMS + rows)
    cross = tl.load(CROSS)
    labels = tl.load(LABELS + rows)
    positions = tl.load(POSITIONS + rows)
    nearest = tl.full((BM,), FAR, tl.float32)
    low, high = split_bounds(n_padded, n_splits, BN)
    for first in range(low, high, BN):
        cols = first + tl.arange(0, BN)
        D, _, _ = distances(
            zih, zil, ni, cross, ZH, ZL, PARTS, NORMS, rows, cols, n_padded,
            K, BK, WIDE, EXACT, BM, BN,
        )  # fmt: skip
        same = labels[:, None] == tl.load(LABELS + cols)[None, :]
        same |= positions[:, None] == tl.load(POSITIONS + cols)[None, :]
        D = tl.where(same, FAR, D - tl.load(SHIFTS + cols)[None, :])
        nearest = tl.minimum(nearest, tl.min(D, 1))
    tl.store(NEAREST + tl.program_id(2) * n_padded + rows, nearest)


@triton.jit
def _softmin_kernel(
    ZH, ZL, PARTS, NORMS, CROSS, SHIFTS, LABELS, POSITIONS, LEAST, scale,
    VH, VL, UNIT, OUT, DEGREES,
    n, n_padded, n_splits,
    K: tl.constexpr, BK: tl.constexpr, WIDE: tl.constexpr, EXACT: tl.constexpr,
    Q: tl.constexpr, BQ: tl.constexpr, SAME: tl.constexpr,
    BM: tl.constexpr, BN: tl.constexpr,
):  # fmt: skip
    """Multiply the weights of all pairs of different classes with V."""
    first_q = tl.program_id(1) * BQ
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    zih, zil = row_operand(ZH, ZL, rows, K, BK)
    least = tl.load(LEAST)
    ni = tl.load(NORMS + rows)
    shift = tl.load(SHIFTS + rows) + least
    cross = tl.load(CROSS)
    unit = tl.load(UNIT)
    labels = tl.load(LABELS + rows)
    positions = tl.load(POSITIONS + rows)
    acc = tl.zeros((BM, BQ), tl.float32)
    degrees = tl.zeros((BM,), tl.float32)
    low, high = split_bounds(n_padded, n_splits, BN)
    for first in range(low, high, BN):
        cols = first + tl.arange(0, BN)
        D, zjh, zjl = distances(
            zih, zil, ni, cross, ZH, ZL, PARTS, NORMS, rows, cols, n_padded,
            K, BK, WIDE, EXACT, BM, BN,
        )  # fmt: skip
        same = labels[:, None] == tl.load(LABELS + cols)[None, :]
        same |= positions[:, None] == tl.load(POSITIONS + cols)[None, :]
        D = tl.where(same, float("inf"), D)
        S = tl.exp2(shift[:, None] + tl.load(SHIFTS + cols)[None, :] - D)
        degrees += tl.sum(S, 1)
        acc += unit * times_v(S * scale, zjh, zjl, VH, VL, cols, first_q, Q, BQ, SAME)
    store_product(acc, degrees, OUT, DEGREES, rows, first_q, n_padded, Q, BQ)


class _DissimilarPairs:
    """All pairs of samples of different classes, without pairs of identical samples.

    Squared distances are multiplied by a factor. A shift of each sample is subtracted from them.
    """

    def __init__(
        self, Z: torch.Tensor, side: Side, factor: float, shifts: torch.Tensor | None
    ) -> None:
        self.Z = factor**0.5 * Z
        self.pairs = Pairs.of(self.Z)
        assert side.labels is not None
        self.shifts = torch.zeros_like(self.Z[:, 0]) if shifts is None else shifts
        self.common = {
            "SHIFTS": padded(self.shifts, 0.0),
            "LABELS": padded(side.labels, -1, torch.int32),
            "POSITIONS": padded(side.positions, -1, torch.int32),
            **self.pairs.launch(),
        }

    def nearest(self) -> torch.Tensor:
        """Return the smallest shifted squared distance of each sample."""
        tiling = self.pairs.tiling()
        nearest = torch.empty((tiling.n_splits, self.pairs.n_padded), device=self.Z.device)
        _nearest_kernel[(tiling.n_blocks, 1, tiling.n_splits)](
            NEAREST=nearest, **self.common, **tiling.launch()
        )
        return torch.amin(nearest, dim=0)[: self.pairs.n] - self.shifts


def softmin(
    Z: torch.Tensor,
    V: torch.Tensor,
    side: Side,
    mu: float,
    log_weights: torch.Tensor | None = None,
) -> tuple[float, float, torch.Tensor]:
    """Return the parts of a smooth minimum, as :func:`dimetric.objectives.fast.softmin.softmin`."""
    shifts = None if log_weights is None else (LOG2_E * log_weights).to(torch.float32)
    dissimilar = _DissimilarPairs(Z, side, LOG2_E / mu, shifts)
    least = torch.amin(dissimilar.nearest()).to(torch.float32)
    pairs, points = dissimilar.pairs, dissimilar.Z
    product = Product.of(pairs, points if V is Z else V, points, WEIGHT_SCALE)
    tiling = pairs.tiling(product.n_chunks)
    _softmin_kernel[(tiling.n_blocks, product.n_chunks, tiling.n_splits)](
        LEAST=least, scale=WEIGHT_SCALE, **dissimilar.common, **product.launch(), **tiling.launch()
    )
    result = product.laplacian(1.0).to(V.dtype)
    if V is Z:
        result = result / (LOG2_E / mu) ** 0.5
    total = float(torch.sum(product.row_sums(1.0))) / 2
    return float(least) * mu / LOG2_E, total, result


def nearest_dissimilar(Z: torch.Tensor, side: Side) -> torch.Tensor:
    """Return the squared distance of each sample to the nearest one of another class.

    The rounding errors are those of single precision.
    """
    return _DissimilarPairs(Z, side, 1.0, None).nearest()
