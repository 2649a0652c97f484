r"""Classical scaling: coordinates of samples from their dissimilarities.

The Gram matrix of centred coordinates is :math:`B = -\frac12 J (D \circ D) J` with
:math:`J = I - \frac1n 1 1^T` [1]_. For many samples B is not formed. Products of B with vectors
square and centre D on the fly, in float64 for any dtype of D.

References
----------
.. [1] W. S. Torgerson, "Multidimensional scaling: I. Theory and method", Psychometrika 17, 1952.
"""

from dataclasses import dataclass

import numpy as np
from scipy.sparse.linalg import LinearOperator, eigs

from dimetric._arrays.blas_limit import one_blas_thread
from dimetric._arrays.blocks import row_blocks
from dimetric._arrays.namespaces import Array, asarray_like, eps, namespace, take_rows, to_host
from dimetric._warnings import warn
from dimetric.linalg.centred_products import (
    BLOCK_ENTRIES,
    Product,
    SquaredGram,
    gram_product,
    squared_moments,
)
from dimetric.linalg.krylov import LargestEigenpairs, largest_eigenvectors
from dimetric.linalg.spectral import fixed_signs, top_eigenvectors
from dimetric.linalg.symmetric import MAX_VECTORS

DENSE_SAMPLES = 256  # up to this many samples, decompose the dense matrix
MIN_SAMPLES_PER_COORDINATE = 16  # for fewer samples per coordinate, decompose the dense matrix
ARNOLDI_VECTORS = 40  # size of ARPACK's basis; chosen by experiment
MIN_SAMPLES_FOR_SPAN = 2048  # for fewer samples, testing whether some span all saves no time
SPAN_SAMPLES = 128  # samples that may span all others
SPAN_CUTOFF = 1e-10  # relative size of eigenvalues that count as 0
SPAN_TOLERANCE = 1e-9  # relative size of the part of the Gram matrix that they may leave
SPAN_PROBES = 2  # random vectors that test this


@dataclass(frozen=True)
class PrincipalCoordinates:
    """Coordinates of samples from the eigenvectors of their Gram matrix B, on the host.

    Attributes
    ----------
    values : ndarray of shape (k,)
        The k largest eigenvalues of B in descending order. Some may be negative.
    V : ndarray of shape (k, n)
        The corresponding eigenvectors as rows, with fixed signs.
    means : ndarray of shape (n,)
        Mean squared dissimilarity of each sample to all samples.
    smallest : float
        Approximation of the smallest eigenvalue of B. It is negative if the dissimilarities are
        not Euclidean.
    norm : float
        Frobenius norm of B.
    noise : float
        Eigenvalues of at most this absolute value may be rounding errors.
    """

    values: np.ndarray
    V: np.ndarray
    means: np.ndarray
    smallest: float
    norm: float
    noise: float

    @property
    def lengths(self) -> np.ndarray:
        """Norm of each coordinate over all samples, or 0 if its eigenvalue is not positive."""
        return np.sqrt(np.where(self.values > self.noise, self.values, 0))

    @property
    def coordinates(self) -> np.ndarray:
        """Coordinates of the samples, of shape (n, k)."""
        return self.V.T * self.lengths

    @property
    def strain(self) -> float:
        """Root mean square of the entries of B after subtracting its k largest eigenpairs."""
        remainder = self.norm**2 - float(np.sum(self.values**2))
        return float(np.sqrt(max(remainder, 0))) / len(self.means)

    def warn_if_negative(self, remedy: str) -> None:
        """Warn if some of the k largest eigenvalues are negative, and suggest a remedy."""
        negative = int(np.sum(self.values < -self.noise))
        if negative:
            warn(
                f"{negative} of {len(self.values)} eigenvalues are negative, because the "
                f"distances are not Euclidean. The corresponding coordinates are 0. {remedy}",
            )

    def place(self, D: Array) -> Array:
        r"""Return coordinates of new samples by Gower's formula [1]_.

        .. math:: z = \tfrac12 \Lambda^{-1/2} V (\mu - d \circ d)

        Here :math:`\Lambda` holds ``values``, :math:`\mu` is ``means`` and d is a row of D. For the
        samples of the fit, the formula returns their coordinates.

        Parameters
        ----------
        D : array of shape (m, n)
            Dissimilarities between the new samples and those of the fit.

        Returns
        -------
        Z : array of shape (m, k)
            Coordinates in float64, in the namespace of D.

        References
        ----------
        .. [1] J. C. Gower, "Adding a point to vector diagrams in multivariate analysis",
           Biometrika 55, 1968.
        """
        xp = namespace(D)
        lengths = self.lengths
        scale = np.where(lengths > 0, 0.5 / np.where(lengths > 0, lengths, 1), 0)
        projection = asarray_like((self.V * scale[:, None]).T, D, dtype=xp.float64)
        means = asarray_like(self.means, D, dtype=xp.float64)
        blocks = row_blocks(D.shape[0], max(1, BLOCK_ENTRIES // D.shape[1]))
        placed = [(means - xp.astype(D[b, :], xp.float64) ** 2) @ projection for b in blocks]
        return xp.concat(placed)


def principal_coordinates(D: Array, k: int) -> PrincipalCoordinates:
    """Return the first k principal coordinates of symmetric dissimilarities.

    Parameters
    ----------
    D : array of shape (n, n)
        Dissimilarities, in any namespace.
    k : int
        Number of coordinates, at most n.

    Examples
    --------
    >>> line = principal_coordinates(np.array([[0.0, 1, 3], [1, 0, 2], [3, 2, 0]]), 2)
    >>> line.coordinates.round(6) + 0.0
    array([[-1.333333,  0.      ],
           [-0.333333,  0.      ],
           [ 1.666667,  0.      ]])
    >>> line.place(np.array([[1.5, 0.5, 1.5]])).round(6)
    array([[0.166667, 0.      ]])
    """
    n = D.shape[0]
    if n <= DENSE_SAMPLES or MIN_SAMPLES_PER_COORDINATE * k > n:
        means, fourth_powers = squared_moments(D)
        values, V = np.linalg.eigh(centred_gram(to_host(D)))
        values, V, smallest = values[::-1][:k], fixed_signs(V.T[::-1][:k]), float(values[0])
    else:
        tol, gram = max(1e-12, eps(D) / 100), SquaredGram(D)
        with one_blas_thread():  # the products use their own threads, and the other work is small
            found = _eigenpairs_in_span(D, gram, k, tol) if n >= MIN_SAMPLES_FOR_SPAN else None
            if found is None:
                found = largest_eigenvectors(gram, n, k, tol=tol)
        values, V, smallest = found
        means, fourth_powers = gram.moments
    # |J A J|^2 = |A|^2 - 2 n |row means|^2 + n^2 mean^2
    norm2 = (fourth_powers - 2 * n * float(means @ means) + n**2 * float(means.mean()) ** 2) / 4
    # The rounding errors of D form a random matrix, whose norm grows only like sqrt(n).
    rounding = max(n * np.finfo(float).eps, 10 * eps(D) / n**0.5)
    noise = rounding * max(abs(float(values[0])), abs(smallest))
    return PrincipalCoordinates(values, V, means, smallest, max(norm2, 0) ** 0.5, noise)


def _eigenpairs_in_span(D: Array, gram: Product, k: int, tol: float) -> LargestEigenpairs | None:
    r"""Return the k largest eigenpairs of B if some samples span all others. Otherwise return None.

    The other samples are placed among some by Gower's formula, as landmark MDS does [1]_. If these
    span all others, the coordinates Z are exact, and :math:`B = Z Z^T`. Random vectors g test
    this: if :math:`E = B - Z Z^T` has an eigenvalue e with unit eigenvector v, then
    :math:`|E g| \ge |e\, v^T g|`, and :math:`v^T g` is a standard normal number. So one product
    with B is enough.

    References
    ----------
    .. [1] V. de Silva, J. B. Tenenbaum, "Sparse multidimensional scaling using landmark points",
       Stanford University, 2004.
    """
    Z = _coordinates_in_span(D)
    # The first product with B has a vector of ones, too.
    if Z is None or k > min(Z.shape[1], MAX_VECTORS - SPAN_PROBES - 1):
        return None
    values, axes = top_eigenvectors(Z.T @ Z, k)
    if not values[-1] > SPAN_CUTOFF * values[0]:  # samples far away may hide the other directions
        return None
    V = Z @ (axes.T / np.sqrt(values))
    probes = np.random.default_rng(0).standard_normal((len(Z), SPAN_PROBES))
    images = gram(np.hstack([V, probes]))
    left = np.linalg.norm(images[:, k:] - Z @ (Z.T @ probes), axis=0)
    H = V.T @ images[:, :k]
    values, S = np.linalg.eigh((H + H.T) / 2)
    residuals = np.linalg.norm(images[:, :k] - V @ H, axis=0)
    # Written so that NaN fails the comparisons.
    if not (left.max() <= SPAN_TOLERANCE * values[0] and residuals.max() <= tol * values[-1]):
        return None
    return LargestEigenpairs(values[::-1], fixed_signs((V @ S[:, ::-1]).T), 0.0)


def _coordinates_in_span(D: Array) -> np.ndarray | None:
    """Return coordinates of all samples in the span of some, or None if a sample is outside it."""
    rows = np.linspace(0, D.shape[0] - 1, SPAN_SAMPLES).astype(np.int64)
    squares = np.square(to_host(take_rows(D, rows)), dtype=np.float64)  # one column for each sample
    between = squares[:, rows]
    values, V = np.linalg.eigh(centred_gram(between, power=1))
    kept = values > SPAN_CUTOFF * np.max(np.abs(values))
    squares -= np.mean(between, axis=0)[:, None]
    Z = (V[:, kept] / -(2 * np.sqrt(values[kept]))).T @ squares
    norms = np.einsum("ij,ij->j", Z, Z)
    heights = np.mean(squares, axis=0) + np.mean(between) / 2 - norms  # above the span, squared
    if not np.abs(heights).max() <= SPAN_TOLERANCE * norms.max():
        return None
    return np.asarray((Z - Z.mean(axis=1, keepdims=True)).T)


def centred_gram(D: np.ndarray, *, power: int = 2) -> np.ndarray:
    r"""Return the matrix :math:`-\frac12 J D^p J`, where :math:`D^p` is taken entrywise."""
    A = np.asarray(D, np.float64) ** power
    centred = A - A.mean(axis=0) - A.mean(axis=1, keepdims=True) + A.mean()
    return -(centred + centred.T) / 4


def additive_constant(D: np.ndarray) -> float:
    r"""Return the smallest c >= 0 for which the dissimilarities :math:`d_{ij} + c` are Euclidean.

    c is the largest eigenvalue of :math:`\begin{bmatrix} 0 & 2 B_2 \\ -I & -4 B_1 \end{bmatrix}`
    with :math:`B_p = -\frac12 J D^p J` [1]_.

    References
    ----------
    .. [1] F. Cailliez, "The analytical solution of the additive constant problem",
       Psychometrika 48, 1983.

    Examples
    --------
    >>> D = np.array([[0.0, 1, 1, 1], [1, 0, 2, 2], [1, 2, 0, 2], [1, 2, 2, 0]])
    >>> c = additive_constant(D)
    >>> round(c, 6)
    0.366025
    >>> np.linalg.eigvalsh(centred_gram(D + c * (1 - np.eye(4)))).round(6) + 0.0
    array([0.      , 0.      , 2.799038, 2.799038])
    """
    n = len(D)
    if n <= DENSE_SAMPLES:
        zero, eye = np.zeros((n, n)), np.eye(n)
        companion = np.block([[zero, 2 * centred_gram(D)], [-eye, -4 * centred_gram(D, power=1)]])
        return max(0.0, float(np.linalg.eigvals(companion).real.max()))

    times_B1, times_B2 = gram_product(D, power=1), gram_product(D, power=2)

    def product(v: np.ndarray) -> np.ndarray:
        upper, lower = v.reshape(-1)[:n, None], v.reshape(-1)[n:, None]
        return np.concatenate([2 * times_B2(lower), -upper - 4 * times_B1(lower)])[:, 0]

    operator = LinearOperator((2 * n, 2 * n), matvec=product, dtype=np.float64)
    start = np.random.default_rng(0).standard_normal(2 * n)
    largest = eigs(
        operator, k=1, which="LR", v0=start, ncv=ARNOLDI_VECTORS, return_eigenvectors=False
    )
    return max(0.0, float(largest[0].real))
