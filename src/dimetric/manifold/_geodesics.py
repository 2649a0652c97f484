"""Geodesic distances of training samples, and from new samples to them."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from dimetric.linalg.classical_scaling import PrincipalCoordinates


@dataclass(frozen=True)
class Geodesics:
    """Data for placing new samples: geodesic distances and coordinates of the training samples.

    Attributes
    ----------
    samples : array or sparse array of shape (n, d), or None
        Training samples in host memory. None if distances are precomputed.
    lengths : ndarray of shape (n, m)
        Lengths of the shortest paths from each sample to all samples, or to m landmarks.
    coordinates : PrincipalCoordinates
        Coordinates of all samples, or of the landmarks.
    """

    samples: Any
    lengths: np.ndarray
    coordinates: PrincipalCoordinates


def lengths_through(links: Any, G: np.ndarray) -> np.ndarray:
    """Return the lengths of the shortest paths that begin with one of the links of each sample.

    A sample that equals a training sample gets exactly the path lengths of that training sample.
    Its other links are ignored. If neighbours are tied, these links may differ from the links of
    the training sample and give shorter paths.
    """
    starts = links.indptr[:-1]
    nearest = np.minimum.reduceat(links.data, starts)
    is_used = (links.data == 0) | np.repeat(nearest > 0, np.diff(links.indptr))
    lengths = G[links.indices] + np.where(is_used, links.data, np.inf)[:, None]
    return np.minimum.reduceat(lengths, starts, axis=0)
