"""Positive semidefinite (PSD) matrices: projection, square roots, maps of metrics."""

from dimetric._arrays.namespaces import Array, eps, namespace
from dimetric.linalg.spectral import fixed_signs


def project_psd(M: Array) -> Array:
    r"""Return the PSD matrix nearest to M in the Frobenius norm.

    .. math:: P = \sum_i \max(\lambda_i, 0)\, v_i v_i^T

    with the eigenpairs of :math:`(M + M^T) / 2`. The skew-symmetric part of M is orthogonal to
    every symmetric matrix, so it does not affect the nearest one [1]_.

    References
    ----------
    .. [1] N. J. Higham, "Computing a nearest symmetric positive semidefinite matrix", Linear
       Algebra and its Applications 103, 1988.

    Examples
    --------
    >>> import numpy as np
    >>> project_psd(np.diag([2.0, -3.0]))
    array([[2., 0.],
           [0., 0.]])
    """
    xp = namespace(M)
    values, V = xp.linalg.eigh(_symmetric(M))
    return _symmetric((V * xp.clip(values, min=0.0)) @ V.T)


def metric_of(L: Array) -> Array:
    r"""Return the metric :math:`M = L^T L` of a linear map L, exactly symmetric.

    Examples
    --------
    >>> import numpy as np
    >>> metric_of(np.array([[1.0, 2.0]]))
    array([[1., 2.],
           [2., 4.]])
    """
    return _symmetric(L.T @ L)


def map_of(M: Array) -> Array:
    r"""Return the linear map L of a metric M, :math:`L^T L = M`.

    .. math:: L = \Lambda^{1/2} V^T

    Only eigenvalues above the rounding level :math:`d\,\epsilon\,\lambda_{\max}` are used, in
    descending order, so the number of rows of L is the rank of M. The rows are orthogonal, and the
    entry of largest absolute value in each is positive. Raise ValueError if an eigenvalue is
    negative beyond rounding.

    Examples
    --------
    >>> import numpy as np
    >>> map_of(np.diag([4.0, 0.0, 9.0]))
    array([[0., 0., 3.],
           [2., 0., 0.]])
    """
    values, V = _positive_eigenpairs(M)
    return V * namespace(M).sqrt(values)[:, None]


def square_root(M: Array) -> Array:
    r"""Return the PSD matrix :math:`M^{1/2}` whose square is M.

    Raise ValueError in the same cases as :func:`map_of`.

    Examples
    --------
    >>> import numpy as np
    >>> square_root(np.diag([4.0, 9.0]))
    array([[2., 0.],
           [0., 3.]])
    """
    values, V = _positive_eigenpairs(M)
    return _symmetric((V.T * namespace(M).sqrt(values)) @ V)


def inverse_square_root(M: Array) -> Array:
    r"""Return :math:`M^{-1/2}`, or the pseudo-inverse of :math:`M^{1/2}` if M is singular.

    Examples
    --------
    >>> import numpy as np
    >>> inverse_square_root(np.diag([4.0, 0.0]))
    array([[0.5, 0. ],
           [0. , 0. ]])
    """
    values, V = _positive_eigenpairs(M)
    return _symmetric((V.T / namespace(M).sqrt(values)) @ V)


def _positive_eigenpairs(M: Array) -> tuple[Array, Array]:
    """Return the positive eigenvalues of a PSD matrix, descending, and eigenvectors as rows."""
    xp = namespace(M)
    # Not `largest_eigenpairs`: the errors of LAPACK's partial solver exceed the tolerance.
    values, V = xp.linalg.eigh(_symmetric(M))
    tol = _tolerance(values)
    if not values[0] >= -tol:  # written so that NaN fails the comparison
        raise ValueError(
            f"M must be positive semidefinite, but its most negative eigenvalue is "
            f"{float(values[0]):.3g} (largest eigenvalue: {float(values[-1]):.3g})."
        )
    rank = int(xp.sum(xp.astype(values > tol, xp.int64)))
    return xp.flip(values)[:rank], fixed_signs(xp.flip(V, axis=1).T[:rank, :])


def _tolerance(values: Array) -> float:
    return values.shape[0] * eps(values) * float(namespace(values).max(abs(values)))


def _symmetric(M: Array) -> Array:
    return (M + M.T) / 2
