r"""NCA and MCML, with weights of the samples.

The first kernel computes, for each sample i, the logarithm of the sum
:math:`s_i = \sum_{j \ne i} w_j e^{-d^2_{ij}}` and the probability :math:`p_i` of its class. All
weights of pairs are then known, so that the second kernel can multiply the symmetric matrix
:math:`W + W^T` with V in one pass. Exponents are in base 2.
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

NEGLIGIBLE = tl.constexpr(-1e30)  # an exponent below all others, but finite


@triton.jit
def _sums_kernel(
    ZH, ZL, PARTS, NORMS, CROSS, LOGW, LABELS, STARTS, STOPS, M, TOTAL, OWN,
    n, n_padded, n_splits,
    K: tl.constexpr, BK: tl.constexpr, WIDE: tl.constexpr, EXACT: tl.constexpr,
    WEIGHTED: tl.constexpr, BY_CLASS: tl.constexpr,
    BM: tl.constexpr, BN: tl.constexpr,
):  # fmt: skip
    """Compute the sums of exponentials over all columns, and over those of the own class."""
    first_row = tl.program_id(0) * BM
    rows = first_row + tl.arange(0, BM)
    zih, zil = row_operand(ZH, ZL, rows, K, BK)
    ni = tl.load(NORMS + rows)
    cross = tl.load(CROSS)
    labels = tl.load(LABELS + rows)
    class_low = tl.min(tl.load(STARTS + rows))
    class_high = tl.max(tl.load(STOPS + rows))
    m = tl.full((BM,), NEGLIGIBLE, tl.float32)
    total = tl.zeros((BM,), tl.float32)
    own = tl.zeros((BM,), tl.float32)
    low, high = split_bounds(n_padded, n_splits, BN)
    for first in range(low, high, BN):
        cols = first + tl.arange(0, BN)
        D, _, _ = distances(
            zih, zil, ni, cross, ZH, ZL, PARTS, NORMS, rows, cols, n_padded,
            K, BK, WIDE, EXACT, BM, BN,
        )  # fmt: skip
        x = -D
        if WEIGHTED:
            x += tl.load(LOGW + cols)[None, :]
        if (first < first_row + BM) & (first + BN > first_row):
            x = tl.where(rows[:, None] == cols[None, :], float("-inf"), x)
        larger = tl.maximum(m, tl.max(x, 1))
        shrink = tl.exp2(m - larger)
        e = tl.exp2(x - larger[:, None])
        total = total * shrink + tl.sum(e, 1)
        own = own * shrink
        if BY_CLASS:  # noqa: SIM102 - a condition of the compiler
            if (first < class_high) & (first + BN > class_low):
                same = labels[:, None] == tl.load(LABELS + cols)[None, :]
                own += tl.sum(tl.where(same, e, 0.0), 1)
        m = larger
    at = tl.program_id(2) * n_padded + rows
    tl.store(M + at, m)
    tl.store(TOTAL + at, total)
    tl.store(OWN + at, own)


@triton.jit
def _product_kernel(
    ZH, ZL, PARTS, NORMS, CROSS, LOGW, LABELS, STARTS, STOPS, ALPHA, BETA, P,
    VH, VL, UNIT, OUT, DEGREES,
    n, n_padded, n_splits,
    K: tl.constexpr, BK: tl.constexpr, WIDE: tl.constexpr, EXACT: tl.constexpr,
    Q: tl.constexpr, BQ: tl.constexpr, SAME: tl.constexpr,
    WEIGHTED: tl.constexpr, BY_CLASS: tl.constexpr,
    BM: tl.constexpr, BN: tl.constexpr,
):  # fmt: skip
    """Multiply the weights of both directions of each pair with V."""
    first_row = tl.program_id(0) * BM
    first_q = tl.program_id(1) * BQ
    rows = first_row + tl.arange(0, BM)
    zih, zil = row_operand(ZH, ZL, rows, K, BK)
    ni = tl.load(NORMS + rows)
    cross = tl.load(CROSS)
    unit = tl.load(UNIT)
    labels = tl.load(LABELS + rows)
    class_low = tl.min(tl.load(STARTS + rows))
    class_high = tl.max(tl.load(STOPS + rows))
    alpha_i = tl.load(ALPHA + rows)
    beta_i = tl.load(BETA + rows)
    p_i = tl.load(P + rows)
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
        near_class = BY_CLASS & (first < class_high) & (first + BN > class_low)
        if near_class:
            forward = alpha_i[:, None] - D
            backward = tl.load(ALPHA + cols)[None, :] - D
        else:
            forward = beta_i[:, None] - D
            backward = tl.load(BETA + cols)[None, :] - D
        if WEIGHTED:
            forward += tl.load(LOGW + cols)[None, :]
            backward += logw_i[:, None]
        forward = tl.exp2(forward)
        backward = tl.exp2(backward)
        if near_class:
            p_j = tl.load(P + cols)
            same = labels[:, None] == tl.load(LABELS + cols)[None, :]
            S = tl.where(same, forward + backward, 0.0)
            S -= forward * p_i[:, None] + backward * p_j[None, :]
        else:
            S = -(forward + backward)
        degrees += tl.sum(S, 1)
        acc += unit * times_v(S, zjh, zjl, VH, VL, cols, first_q, Q, BQ, SAME)
    store_product(acc, degrees, OUT, DEGREES, rows, first_q, n_padded, Q, BQ)


class _Softmax:
    """The probabilities of neighbours of all samples, for one matrix Z."""

    def __init__(self, Z: torch.Tensor, side: Side) -> None:
        self.Z, self.side = Z, side
        self.pairs = Pairs.of(Z, LOG2_E)
        self.weights = side.weights
        weights = torch.ones_like(Z[:, 0]) if side.weights is None else side.weights
        self.log_weights = torch.log2(weights)
        self.largest_weight = torch.amax(weights)
        assert side.labels is not None
        starts = torch.as_tensor(side.class_starts, device=Z.device)
        low, high = starts[side.labels], starts[side.labels + 1]
        self._common = {
            "LOGW": padded(self.log_weights, -torch.inf),
            "LABELS": padded(side.labels, -1, torch.int32),
            "STARTS": padded(low, self.pairs.n_padded, torch.int32),
            "STOPS": padded(high, 0, torch.int32),
            "WEIGHTED": side.weights is not None,
        }

    def sums(self, *, by_class: bool) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the logarithm in base 2 of each sample's sum, and the probability of its class."""
        pairs, tiling = self.pairs, self.pairs.tiling()
        shape = tiling.n_splits, pairs.n_padded
        M, total, own = (torch.empty(shape, device=self.Z.device) for _ in range(3))
        _sums_kernel[(tiling.n_blocks, 1, tiling.n_splits)](
            M=M,
            TOTAL=total,
            OWN=own,
            BY_CLASS=by_class,
            **self._common,
            **pairs.launch(),
            **tiling.launch(),
        )
        M, total, own = M[:, : pairs.n], total[:, : pairs.n], own[:, : pairs.n]
        m = torch.amax(M, dim=0)
        scales = torch.exp2(M - m)
        sums = torch.sum(scales * total, dim=0)
        return m + torch.log2(sums), torch.sum(scales * own, dim=0) / sums

    def product(
        self, V: torch.Tensor, log_sums: torch.Tensor, p: torch.Tensor, *, by_class: bool
    ) -> torch.Tensor:
        """Return the Laplacian product of the weights.

        They are the probabilities times ``same class - p`` if `by_class`, else times ``-p``.
        """
        # Entries of W + W^T are at most twice the largest weight of a sample.
        scale = WEIGHT_SCALE / torch.exp2(torch.ceil(torch.log2(self.largest_weight)))
        alpha = self.log_weights - log_sums + torch.log2(scale)
        product = Product.of(self.pairs, V, self.Z, scale)
        tiling = self.pairs.tiling(product.n_chunks)
        _product_kernel[(tiling.n_blocks, product.n_chunks, tiling.n_splits)](
            ALPHA=padded(alpha, -torch.inf),
            BETA=padded(alpha + torch.log2(p), -torch.inf),
            P=padded(p, 0.0),
            BY_CLASS=by_class,
            **self._common,
            **self.pairs.launch(),
            **product.launch(),
            **tiling.launch(),
        )
        return product.laplacian(scale)

    def weighted_sum(self, losses: torch.Tensor) -> float:
        """Return the sum of the losses of all samples, times their weights."""
        weighted = losses if self.weights is None else losses * self.weights
        return float(torch.sum(weighted, dtype=torch.float64))


def nca(Z: Any, V: Any, side: Side, theta: Any) -> tuple[float, Any, float]:
    """Return the loss, Laplacian product and 0 for ``learners.nca.NCARule``."""
    softmax = _Softmax(Z, side)
    log_sums, p = softmax.sums(by_class=True)
    product = softmax.product(V, log_sums, p, by_class=True)
    return -softmax.weighted_sum(p), product, 0.0


def mcml(Z: Any, V: Any, side: Side, theta: Any) -> tuple[float, Any, float]:
    """Return the loss, Laplacian product and 0 for ``learners.mcml.MCMLRule``."""
    softmax = _Softmax(Z, side)
    log_sums, _ = softmax.sums(by_class=False)
    sizes = torch.as_tensor(side.class_starts[1:] - side.class_starts[:-1], device=Z.device)
    assert side.labels is not None
    is_anchor = sizes[side.labels] > 1
    product = softmax.product(V, log_sums, is_anchor.to(Z.dtype), by_class=False)
    loss = softmax.weighted_sum(torch.where(is_anchor, log_sums / LOG2_E, 0.0))
    return loss + _add_pulls(product, Z, V, side), product, 0.0


def _add_pulls(product: torch.Tensor, Z: torch.Tensor, V: torch.Tensor, side: Side) -> float:
    r"""Return the pulls between the samples of each class, and add their Laplacian product.

    Sample i pulls sample j with the weight :math:`a_i w_j`, where
    :math:`a_i = w_i / \sum_{l \ne i} w_l`.
    """
    starts = torch.as_tensor(side.class_starts, device=Z.device)
    codes = side.labels
    assert codes is not None

    def sums(A: torch.Tensor) -> torch.Tensor:
        """Return the sum of the rows of each sample's class."""
        sizes = torch.diff(starts)
        return torch.segment_reduce(A, "sum", lengths=sizes, axis=0, unsafe=True)[codes]

    w = torch.ones_like(Z[:, 0]) if side.weights is None else side.weights
    w = w.to(torch.float64)[:, None]
    alone = (torch.diff(starts)[codes] < 2)[:, None]
    a = torch.where(alone, 0.0, w / torch.where(alone, 1.0, sums(w) - w))
    w = torch.where(alone, 0.0, w)
    Z, U = Z.to(torch.float64), V.to(torch.float64)
    k, q = Z.shape[1], V.shape[1]
    totals = sums(torch.cat([w, a, w * Z, w * U, a * U], dim=1))
    w_sum, a_sum, wZ, wU, aU = torch.split(totals, [1, 1, k, q, q], dim=1)
    degree = a * w_sum + w * a_sum
    product += (degree * U - a * wU - w * aU).to(product.dtype)
    Y = Z - wZ / torch.where(alone, 1.0, w_sum)
    crossed = torch.sum(a * Y * sums(w * Y))
    return float(torch.sum(degree * Y * Y) - 2 * crossed)
