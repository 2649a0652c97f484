"""Mixing of a learned metric with the identity."""

from numbers import Real
from typing import Any

from dimetric._arrays.namespaces import Array, asarray_like, eps, namespace
from dimetric._compat import Interval, StrOptions

# Constraints of the parameter of all metric learners. None stands for DEFAULT_MIX.
MIX_PARAMETER: dict[str, list[Any]] = {
    "identity_mix": [Interval(Real, 0, 1, closed="both"), StrOptions({"auto"}), None],
}
DEFAULT_MIX = 0.0


def mixed(L: Array, a: float, *, all_directions: bool = True, diagonal: bool = False) -> Array:
    r"""Return the map of a metric mixed with the identity, which keeps the trace of the metric.

    .. math:: M' = (1 - a) M + a\, \frac{\mathrm{tr}(M)}{d} I, \qquad M = L^T L

    With the singular value decomposition :math:`L = U S V^T`, the new map is
    :math:`U \sqrt{(1 - a) S^2 + a\, \mathrm{tr}(S^2) / d}\, V^T`, so it depends continuously on L.

    Parameters
    ----------
    L : array of shape (k, d)
        The map. It may have at most d rows.
    a : float
        Weight of the identity, at most 1. A negative weight undoes mixing, see :func:`unmixed`.
    all_directions : bool, default=True
        Whether the new map has d rows. Otherwise, a map of fewer rows keeps its shape and its
        span: the projector onto the span replaces I, and the rank of L replaces d.
    diagonal : bool, default=False
        Whether M is diagonal. The new map is then diagonal.

    Examples
    --------
    >>> import numpy as np
    >>> L = np.array([[2.0, 0.0]])
    >>> mixed(L, 0.5, diagonal=True) ** 2
    array([[3., 0.],
           [0., 1.]])
    >>> mixed(L, 0.5, all_directions=False)
    array([[2., 0.]])
    """
    xp = namespace(L)
    largest = xp.max(xp.abs(L))
    if a == 0 or float(largest) == 0:
        return L
    d = L.shape[1]
    A = xp.astype(L, xp.float64) / xp.astype(largest, xp.float64)  # squares do not overflow
    if diagonal:
        weights = _mixed_squares(xp, xp.sum(A * A, axis=0), a, d)
        eye = xp.eye(d, dtype=A.dtype, device=A.device)
        return asarray_like(eye * xp.sqrt(weights) * float(largest), L)
    missing = d - A.shape[0] if all_directions else 0
    A = xp.concat([A, xp.zeros((missing, d), dtype=A.dtype, device=A.device)])
    U, S, Vt = xp.linalg.svd(A, full_matrices=False)
    is_kept = (d * eps(L) * S[0] < S) | (S.shape[0] == d)
    squares = _mixed_squares(xp, S * S, a, int(xp.sum(xp.astype(is_kept, xp.int64))))
    S = xp.where(is_kept, xp.sqrt(squares), xp.zeros_like(S))
    return asarray_like(U * S @ Vt * float(largest), L)


def unmixed(L: Array, a: float, **options: Any) -> Array:
    """Return the map that :func:`mixed` with the same arguments turns into L.

    With a = 1, nothing is left of it, and L itself is returned.

    Examples
    --------
    >>> import numpy as np
    >>> L = np.array([[3.0, 1.0], [0.0, 2.0]])
    >>> bool(np.allclose(unmixed(mixed(L, 0.2), 0.2), L))
    True
    """
    return L if a == 1 else mixed(L, -a / (1 - a), **options)


def _mixed_squares(xp: Any, squares: Array, a: float, n_directions: int) -> Array:
    """Return eigenvalues of a metric, mixed with their mean over some directions."""
    return xp.clip((1 - a) * squares + a * xp.sum(squares) / n_directions, 0.0)
