r"""Squared Euclidean distances between rows, by one matrix product.

.. math:: |a - b|^2 = [-2a, |a|^2, 1] \cdot [b, 1, |b|^2]

Where one side is used again and again, block by block, the two factors are computed once and the
product of two blocks is all there is to do. Rounding is relative to the norms of the rows, so
centre them first; it can leave results slightly below 0.
"""

import array_api_compat as compat
import numpy as np

from dimetric._arrays.namespaces import Array, namespace


def squared_norms(Z: Array) -> Array:
    """Return the squared Euclidean norm of every row."""
    if compat.is_numpy_array(Z):
        return np.einsum("ij,ij->i", Z, Z)  # without a copy of Z
    return namespace(Z).sum(Z * Z, axis=1)


def left_factor(A: Array) -> Array:
    """Return the rows [-2a, |a|^2, 1]; see :func:`right_factor`."""
    xp, norms = namespace(A), squared_norms(A)[:, None]
    return xp.concat([-2 * A, norms, xp.ones_like(norms)], axis=1)


def right_factor(B: Array) -> Array:
    """Return the rows [b, 1, |b|^2].

    ``left_factor(A) @ right_factor(B).T`` are the squared distances between rows of A and of B.

    Examples
    --------
    >>> A, B = np.array([[1.0, 2.0]]), np.array([[1.0, 2.0], [4.0, 6.0]])
    >>> left_factor(A) @ right_factor(B).T
    array([[ 0., 25.]])
    """
    xp, norms = namespace(B), squared_norms(B)[:, None]
    return xp.concat([B, xp.ones_like(norms), norms], axis=1)


def squared_distances(A: Array, B: Array) -> Array:
    """Return the squared distances between the rows of A and of B, of shape (n, m).

    Rounding is relative to the norms of the rows: centre them first. No result is below 0.

    Examples
    --------
    >>> squared_distances(np.array([[1.0, 2.0]]), np.array([[1.0, 2.0], [4.0, 6.0]]))
    array([[ 0., 25.]])
    """
    xp = namespace(A)
    D = squared_norms(A)[:, None] + squared_norms(B)[None, :]
    products = A @ B.T
    if compat.is_numpy_array(D):  # in place: fresh memory costs as much as the arithmetic
        products *= 2
        D -= products
        return np.maximum(D, 0, out=D)
    return xp.clip(D - 2 * products, 0)
