"""Functions that all kernels use: squared distances of a tile, and its product with V."""

import triton
import triton.language as tl


@triton.jit
def row_operand(ZH, ZL, rows, K: tl.constexpr, BK: tl.constexpr):
    """Return the first chunk of the points of a block of rows."""
    at = rows[:, None] * K + tl.arange(0, BK)[None, :]
    return tl.load(ZH + at), tl.load(ZL + at)


@triton.jit
def distances(
    zih, zil, ni, cross, ZH, ZL, PARTS, NORMS, rows, cols, n_padded,
    K: tl.constexpr, BK: tl.constexpr, WIDE: tl.constexpr, EXACT: tl.constexpr,
    BM: tl.constexpr, BN: tl.constexpr,
):  # fmt: skip
    """Return the squared distances of a tile, and the first chunk of the points of the columns."""
    ks = tl.arange(0, BK)
    at = cols[:, None] * K + ks[None, :]
    zjh = tl.load(ZH + at)
    zjl = tl.load(ZL + at)
    norms = ni[:, None] + tl.load(NORMS + cols)[None, :]
    if EXACT:
        size = n_padded * K
        H = tl.zeros((BM, BN), tl.float32)
        X = tl.zeros((BM, BN), tl.float32)
        for first in range(0, K, BK):
            at_row = rows[:, None] * K + (first + ks)[None, :]
            at_col = cols[:, None] * K + (first + ks)[None, :]
            hi = tl.load(PARTS + at_row)
            ri = tl.load(PARTS + size + at_row)
            hj = tl.load(PARTS + at_col)
            rj = tl.load(PARTS + size + at_col)
            H = tl.dot(hi, tl.trans(hj), H)
            X = tl.dot(hi, tl.trans(tl.load(PARTS + 2 * size + at_col)), X)
            X = tl.dot(tl.load(PARTS + 2 * size + at_row), tl.trans(hj), X)
            X = tl.dot(ri, tl.trans(rj), X)
            X = tl.dot(hi, tl.trans(rj), X)
            X = tl.dot(ri, tl.trans(hj), X)
        rests = (
            tl.load(NORMS + n_padded + rows)[:, None] + tl.load(NORMS + n_padded + cols)[None, :]
        )
        D = cross * tl.maximum((norms - 2 * H) + (rests - 2 * X), 0.0)
    else:
        G = tl.dot(zil, tl.trans(zjh))
        G = tl.dot(zih, tl.trans(zjl), G)
        G = tl.dot(zih, tl.trans(zjh), G)
        if WIDE:
            for first in range(BK, K, BK):
                at_row = rows[:, None] * K + (first + ks)[None, :]
                at_col = cols[:, None] * K + (first + ks)[None, :]
                ah = tl.load(ZH + at_row)
                al = tl.load(ZL + at_row)
                bh = tl.load(ZH + at_col)
                bl = tl.load(ZL + at_col)
                G = tl.dot(al, tl.trans(bh), G)
                G = tl.dot(ah, tl.trans(bl), G)
                G = tl.dot(ah, tl.trans(bh), G)
        D = tl.maximum(norms - cross * G, 0.0)
    return D, zjh, zjl


@triton.jit
def times_v(
    S, zjh, zjl, VH, VL, cols, first, Q: tl.constexpr, BQ: tl.constexpr, SAME: tl.constexpr
):
    """Return the product of scaled weights with a chunk of columns of V, in units of V."""
    if SAME:
        vh = zjh
        vl = zjl
    else:
        at = cols[:, None] * Q + (first + tl.arange(0, BQ))[None, :]
        vh = tl.load(VH + at)
        vl = tl.load(VL + at)
    high = S.to(tl.float16)
    low = (S - high.to(tl.float32)).to(tl.float16)
    T = tl.dot(low, vh)
    T = tl.dot(high, vl, T)
    return tl.dot(high, vh, T)


@triton.jit
def split_bounds(n_padded, n_splits, BN: tl.constexpr):
    """Return the first column of the program's split of the columns, and the end of the split."""
    per_split = tl.cdiv(tl.cdiv(n_padded, BN), n_splits) * BN
    low = tl.program_id(2) * per_split
    return low, tl.minimum(low + per_split, n_padded)


@triton.jit
def store_product(
    acc, degrees, OUT, DEGREES, rows, first, n_padded, Q: tl.constexpr, BQ: tl.constexpr
):
    """Store the part of the product and of the row sums that the program has computed."""
    split = tl.program_id(2)
    at = (split * n_padded + rows)[:, None].to(tl.int64) * Q + (first + tl.arange(0, BQ))[None, :]
    tl.store(OUT + at, acc)
    if tl.program_id(1) == 0:
        tl.store(DEGREES + split * n_padded + rows, degrees)
