r"""Squared Euclidean distances between rows by matrix products.

.. math:: |a - b|^2 = [-2a, |a|^2, 1] \cdot [b, 1, |b|^2]

If blocks of rows are used repeatedly, compute both factors once and multiply blocks of them.
Rounding errors are relative to the norms of the rows, so centre the rows first. Products of factors
can be slightly negative.
"""

import array_api_compat as compat
import numpy as np
from scipy import sparse

from dimetric._arrays.namespaces import Array, namespace


def squared_norms(Z: Array) -> Array:
    """Return the squared Euclidean norm of every row."""
    if sparse.issparse(Z):
        return Z.power(2).sum(axis=1)
    if compat.is_numpy_array(Z):
        return np.einsum("ij,ij->i", Z, Z)  # avoids a temporary array of the size of Z
    return namespace(Z).sum(Z * Z, axis=1)


def left_factor(A: Array) -> Array:
    """Return the rows [-2a, |a|^2, 1]. See :func:`right_factor`."""
    xp, norms = namespace(A), squared_norms(A)[:, None]
    return xp.concat([-2 * A, norms, xp.ones_like(norms)], axis=1)


def right_factor(B: Array) -> Array:
    """Return the rows [b, 1, |b|^2].

    ``left_factor(A) @ right_factor(B).T`` holds the squared distances between rows of A and B.

    Examples
    --------
    >>> A, B = np.array([[1.0, 2.0]]), np.array([[1.0, 2.0], [4.0, 6.0]])
    >>> left_factor(A) @ right_factor(B).T
    array([[ 0., 25.]])
    """
    xp, norms = namespace(B), squared_norms(B)[:, None]
    return xp.concat([B, xp.ones_like(norms), norms], axis=1)


def single_precision_error(d: int, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    r"""Return a bound on the error of :math:`|a|^2 + |b|^2 - 2 a \cdot b` in single precision.

    A sum of d products has an error of at most :math:`\frac{d u}{1 - d u} |a| |b|`, where u is half
    the machine epsilon (Higham, Accuracy and Stability of Numerical Algorithms, section 3.1). The
    rows are rounded to single precision, too, and so are the norms and the sum of the three terms.

    Parameters
    ----------
    d : int
        Number of features.
    left, right : ndarray of shape (n,)
        Norms of a and of b.

    Examples
    --------
    >>> bool(single_precision_error(10, np.ones(1), np.ones(1))[0] < 1e-5)
    True
    """
    epsilon = float(np.finfo(np.float32).eps)
    product = d * (1 + d * epsilon) * left * right
    return epsilon * (product + 6 * (left + right) ** 2)


def squared_distances(A: Array, B: Array) -> Array:
    """Return the squared distances between the rows of A and of B, of shape (n, m).

    Rounding errors are relative to the norms of the rows, so centre the rows first. Negative
    results are set to 0. A may be sparse.

    Examples
    --------
    >>> squared_distances(np.array([[1.0, 2.0]]), np.array([[1.0, 2.0], [4.0, 6.0]]))
    array([[ 0., 25.]])
    """
    xp = namespace(A)
    D = squared_norms(A)[:, None] + squared_norms(B)[None, :]
    products = A @ B.T
    if compat.is_numpy_array(D):  # in place, as allocating memory takes as long as the arithmetic
        products *= 2
        D -= products
        return np.maximum(D, 0, out=D)
    return xp.clip(D - 2 * products, 0)
