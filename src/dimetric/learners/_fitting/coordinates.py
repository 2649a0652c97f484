"""The coordinates that a map is learned in, and the way back."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from dimetric._arrays.namespaces import Array, asarray_like, eps, namespace, to_host


@dataclass(frozen=True)
class Coordinates:
    r"""Samples and a start in coordinates that suit a solver: same distances, better numbers.

    .. math:: x' = u\, Q^T (x - c), \qquad L' = L Q / u

    Distances do not depend on the centre c, but rounding errors do: c is a median, which outliers
    do not move. The scale u, a power of two, makes the samples about 1 in size, so that a solver's
    tolerance means the same in any unit of the features. With fewer samples than features, steps
    along a gradient never leave the span Q of the samples' differences: r < n columns are learned
    instead of d. What the start does in all other directions is kept, unless a ridge would drive it
    to zero.
    """

    samples: Array
    start: np.ndarray
    sample_scale: float
    basis: np.ndarray | None  # Q, (d, r); None is the identity
    start_outside: np.ndarray  # the part of the start outside of the span
    keeps_outside: bool

    @classmethod
    def of(cls, X: Array, L0: np.ndarray, *, keep_outside: bool, rotate: bool = True) -> Self:
        """Choose coordinates for samples in canonical order, and transform the start L0 to them.

        Without `rotate` the axes are those of the features.
        """
        some = to_host(X[:: max(1, X.shape[0] // 1000), :])
        centre = np.median(some, axis=0)
        size = float(np.median(np.sqrt(np.mean((some - centre) ** 2, axis=1, dtype=np.float64))))
        sample_scale = 2.0 ** -round(np.log2(size)) if size > 0 else 1.0
        rounding = sample_scale * eps(X) * float(namespace(X).max(namespace(X).abs(X)))
        X, L0 = (X - asarray_like(centre, X)) * sample_scale, L0 / sample_scale
        if X.shape[0] > X.shape[1] or not rotate:
            return cls(X, L0, sample_scale, None, np.zeros(0), keep_outside)
        Q = _span(X, rounding)
        basis = to_host(Q)
        A0 = L0 @ basis
        samples = namespace(X).astype(namespace(X).astype(X, Q.dtype) @ Q, X.dtype)
        return cls(samples, A0, sample_scale, basis, L0 - A0 @ basis.T, keep_outside)

    @property
    def dropped_squared_norm(self) -> float:
        """Squared norm of the part of the start outside of the span; 0 if that part is kept."""
        return 0.0 if self.keeps_outside else float(np.sum(self.start_outside**2))

    def map_of_samples(self, A: np.ndarray) -> np.ndarray:
        """Return the map of X with the same distances as the map A of the coordinates."""
        if self.basis is not None:
            A = A @ self.basis.T
            if self.keeps_outside:
                A = A + self.start_outside
        return A * self.sample_scale


def _span(X: Array, rounding: float) -> Array:
    """Return an orthonormal basis (d, r) of the span of the samples' differences, with r >= 1.

    Directions that hold nothing but rounding errors are left out: a solver that rescales directions
    would amplify them. The errors of the samples' entries form a random matrix, whose norm grows
    only as the square roots of its sides.
    """
    xp, (n, d) = namespace(X), X.shape
    X = xp.astype(X, xp.float64)
    Q, R = xp.linalg.qr((X - xp.mean(X, axis=0)).T, mode="reduced")
    U, lengths, _ = xp.linalg.svd(R, full_matrices=False)
    noise = max(d * eps(X) * float(lengths[0]), (n**0.5 + d**0.5) * rounding)
    rank = int(xp.sum(xp.astype(lengths > noise, xp.int64)))
    return Q @ U[:, : max(1, rank)]
