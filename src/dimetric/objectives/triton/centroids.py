r"""The softmax over centroids of NCMML and NCMC.

The inner products of samples and centroids are one matrix product. The kernel turns them into the
losses of the samples and the weights of all pairs, reading and writing each of them once or twice.
"""

import torch
import triton
import triton.language as tl

NEGLIGIBLE = tl.constexpr(-1e30)  # an exponent below all others, but finite
LOG_2 = 0.6931471805599453
BLOCK_SAMPLES = 128
BLOCK_CENTROIDS = 16


@triton.jit
def _weights_kernel(
    LOGITS, LABELS, CENTROID_LABELS, SAMPLE_WEIGHTS, LOSSES, W, n, m,
    WEIGHTED: tl.constexpr, BN: tl.constexpr, BM: tl.constexpr,
):  # fmt: skip
    """Compute the losses of a block of samples, and their weights, of shape (m, n)."""
    samples = tl.program_id(0) * BN + tl.arange(0, BN)
    exists = samples < n
    labels = tl.load(LABELS + samples, mask=exists, other=-1)
    top = tl.full((BN,), NEGLIGIBLE, tl.float32)
    own_top = tl.full((BN,), NEGLIGIBLE, tl.float32)
    total = tl.zeros((BN,), tl.float32)
    own = tl.zeros((BN,), tl.float32)
    for first in range(0, m, BM):
        c = first + tl.arange(0, BM)
        inside = (c < m)[:, None] & exists[None, :]
        at = c[:, None] * n + samples[None, :]
        x = tl.load(LOGITS + at, mask=inside, other=float("-inf")) / 0.6931471805599453
        same = tl.load(CENTROID_LABELS + c, mask=c < m, other=-2)[:, None] == labels[None, :]
        y = tl.where(same, x, float("-inf"))
        larger = tl.maximum(top, tl.max(x, 0))
        own_larger = tl.maximum(own_top, tl.max(y, 0))
        total = total * tl.exp2(top - larger) + tl.sum(tl.exp2(x - larger[None, :]), 0)
        own = own * tl.exp2(own_top - own_larger) + tl.sum(tl.exp2(y - own_larger[None, :]), 0)
        top = larger
        own_top = own_larger
    w = tl.full((BN,), 1.0, tl.float32)
    if WEIGHTED:
        w = tl.load(SAMPLE_WEIGHTS + samples, mask=exists, other=0.0)
    log_total = top + tl.log2(tl.where(exists, total, 1.0))
    log_own = own_top + tl.log2(tl.where(exists, own, 1.0))
    tl.store(LOSSES + samples, w * (log_total - log_own), mask=exists)
    for first in range(0, m, BM):
        c = first + tl.arange(0, BM)
        inside = (c < m)[:, None] & exists[None, :]
        at = c[:, None] * n + samples[None, :]
        x = tl.load(LOGITS + at, mask=inside, other=float("-inf")) / 0.6931471805599453
        same = tl.load(CENTROID_LABELS + c, mask=c < m, other=-2)[:, None] == labels[None, :]
        r = tl.exp2(tl.where(same, x, float("-inf")) - log_own[None, :])
        weights = w[None, :] * (r - tl.exp2(x - log_total[None, :])) / 2
        tl.store(W + at, weights, mask=inside)


def loss_and_weights(
    logits: torch.Tensor,
    centroid_labels: torch.Tensor,
    labels: torch.Tensor,
    sample_weight: torch.Tensor | None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the loss and the weights, of shape (m, n), for ``centroids.CentroidRule``.

    Parameters
    ----------
    logits : tensor of shape (m, n)
        Minus half the squared distances of m centroids and n samples, up to a constant for each
        sample.
    centroid_labels, labels : tensors of shape (m,) and (n,)
        Classes.
    sample_weight : tensor of shape (n,) or None
        Weights of the samples.
    """
    m, n = logits.shape
    logits = logits.contiguous()
    W, losses = torch.empty_like(logits), torch.empty_like(logits[0])
    _weights_kernel[(triton.cdiv(n, BLOCK_SAMPLES),)](
        logits,
        labels.to(torch.int32),
        centroid_labels.to(torch.int32),
        losses if sample_weight is None else sample_weight,
        losses,
        W,
        n,
        m,
        WEIGHTED=sample_weight is not None,
        BN=BLOCK_SAMPLES,
        BM=BLOCK_CENTROIDS,
    )
    return LOG_2 * torch.sum(losses, dtype=torch.float64), W
