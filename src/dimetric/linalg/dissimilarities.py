"""Validation of dissimilarity matrices."""

from itertools import combinations_with_replacement

import numpy as np

from dimetric._arrays.blocks import row_blocks
from dimetric._arrays.namespaces import Array, namespace, to_host


def checked_dissimilarities(D: Array) -> None:
    """Raise unless D is square, symmetric but for rounding, not negative, and 0 on the diagonal."""
    xp = namespace(D)
    n = D.shape[0]
    if D.shape[1] != n:
        raise ValueError(
            f"Dissimilarities must be a square matrix; X has shape {tuple(D.shape)}. For samples "
            "and features, choose another metric than 'precomputed'."
        )
    if bool(xp.any(D < 0)):
        raise ValueError(
            "Dissimilarities must not be negative. Similarities are no dissimilarities."
        )
    rounding = 4 * float(xp.finfo(D.dtype).eps) ** 0.5 * float(xp.max(D))
    if bool(xp.any(xp.linalg.diagonal(D) > rounding)):
        raise ValueError("Dissimilarities of samples to themselves, on the diagonal, must be 0.")
    tiles = list(row_blocks(n, 512))  # in which rows and columns alike stay in a cache
    for b, c in combinations_with_replacement(tiles, 2):
        difference = xp.abs(D[b, c] - D[c, b].T)
        if bool(xp.any(difference > rounding)):
            i, j = np.unravel_index(np.argmax(to_host(difference)), difference.shape)
            i, j = i + b.start, j + c.start
            raise ValueError(
                f"Dissimilarities must be symmetric, but that of samples {i} and {j} is "
                f"{float(D[i, j]):.6g} one way and {float(D[j, i]):.6g} the other. "
                "(D + D.T) / 2 is symmetric."
            )
