r"""Upper bounds on the gap between an objective's value and its minimum, for convex problems.

Let f be an objective over metrics. If a linear function :math:`c + \langle G, N \rangle` is a lower
bound of f, then

.. math:: f(M) - f(N) \le f(M) - c + R \max(0, -\lambda_{\min}(G))
          \qquad \text{for all } N \succeq 0,\; \mathrm{tr} N \le R.

For convex f, the tangent at M is such a lower bound: G is the gradient (or a subgradient), and
:math:`c = f(M) - \langle G, M \rangle`. If the trace of an optimum is known to be at most R, for
example because of a ridge, the bound holds for the optimum and is proven.

Every bound is increased by the possible rounding errors of eigenvalues and sums. Numbers passed by
the caller, such as values and gradients, are taken as exact.
"""

from dataclasses import dataclass

import numpy as np

EPS = float(np.finfo(np.float64).eps)
UNPROVEN_TRACE_FACTOR = 10.0  # assumed bound: the trace of an optimum is at most 10 times that of M


@dataclass(frozen=True)
class Certificate:
    """An upper bound on how far an objective is above its minimum.

    Attributes
    ----------
    gap : float
        Upper bound on the objective minus its minimum over all metrics of trace at most `radius`.
    radius : float
        Largest trace of the metrics to which `gap` applies.
    proven : bool
        Whether `radius` is a proven bound on the trace of an optimum. If so, `gap` applies
        to the minimum over all metrics.
    """

    gap: float
    radius: float
    proven: bool


def certify_by_lower_bound(
    value: float, constant: float, G: np.ndarray, M: np.ndarray, *, radius: float = np.inf
) -> Certificate:
    """Return a certificate for a metric M, from a linear lower bound of the objective.

    Parameters
    ----------
    value, constant, G
        See :func:`gap_from_lower_bound`.
    M : ndarray of shape (d, d)
        Metric to be certified.
    radius : float, default=inf
        Proven bound on the trace of an optimum. If infinite, ten times the trace of M is used
        instead, and the certificate is not proven.

    Examples
    --------
    The minimum of ``f(M) = (M + 1)^2 / 2`` over metrics is 0.5, at M = 0. At M = 0.1 the value is
    0.605, which is 0.105 above the minimum. The tangent there is ``0.495 + 1.1 M``:

    >>> certificate = certify_by_lower_bound(0.605, 0.495, np.array([[1.1]]), np.array([[0.1]]))
    >>> round(certificate.gap, 3), certificate.radius, certificate.proven
    (0.11, 1.0, False)
    """
    radius, proven = _radius_or_guess(radius, M)
    return Certificate(gap_from_lower_bound(value, constant, G, radius), radius, proven)


def gap_from_lower_bound(value: float, constant: float, G: np.ndarray, radius: float) -> float:
    r"""Return an upper bound on the gap from the lower bound :math:`c + \langle G, N \rangle`.

    .. math:: f(M) - f(N) \le f(M) - c + R \max(0, -\lambda_{\min}(G))

    A hinge loss has many such lower bounds, because :math:`[z]_+ \ge a z` for all a in [0, 1]. They
    are also useful at kinks, where a one-sided gradient gives a weak bound.

    Parameters
    ----------
    value : float
        Objective f(M).
    constant : float
        Constant c of the lower bound.
    G : ndarray of shape (d, d)
        Matrix of the lower bound.
    radius : float
        Largest trace R of the metrics N.

    Examples
    --------
    ``f(M) = max(0, 1 - M)`` is at least ``1 - M``, which is at least -1 for M up to 2. A value of
    0.5 is therefore at most 1.5 above the minimum:

    >>> round(gap_from_lower_bound(0.5, 1.0, np.array([[-1.0]]), radius=2.0), 6)
    1.5
    """
    return _rounded_up(value - constant + _largest_decrease(_symmetric(G), radius))


def radius_from_ridge(value: float, ridge: float, *, floor: float) -> float:
    r"""Return a bound on the trace of an optimum of :math:`f(M) = h(M) + \rho\, \mathrm{tr} M`.

    .. math:: R = (v - h_0) / \rho

    Parameters
    ----------
    value : float
        Objective v at any metric. The value at an optimum is not larger.
    ridge : float
        Weight :math:`\rho` of the trace. Learners use ``reg * v / d``, where v is the mean variance
        of the features. If it is 0, the bound is inf.
    floor : float
        A lower bound :math:`h_0` on h.

    Examples
    --------
    >>> round(radius_from_ridge(3.0, 0.5, floor=0.0), 6)
    6.0
    """
    if not ridge > 0:
        return np.inf
    return _rounded_up((value - floor) / ridge)


def radius_from_linear(value: float, P: np.ndarray, *, floor: float = 0.0) -> float:
    r"""Return a bound on the trace of an optimum, if :math:`f(M) \ge c + \langle P, M \rangle`.

    .. math:: R = (v - c) / \lambda_{\min}(P)

    The bound is inf unless P is positive definite up to rounding.

    Parameters
    ----------
    value : float
        Objective v at any metric. The value at an optimum is not larger.
    P : ndarray of shape (d, d)
        Matrix of the lower bound.
    floor : float, default=0.0
        Constant c of the lower bound.

    Examples
    --------
    >>> round(radius_from_linear(3.0, np.diag([0.5, 2.0])), 6)
    6.0
    """
    return radius_from_ridge(value, _smallest_eigenvalue_bound(_symmetric(P)), floor=floor)


def _radius_or_guess(radius: float, M: np.ndarray) -> tuple[float, bool]:
    """Return the radius, or a guess if it is infinite, and whether the result is proven."""
    if np.isfinite(radius):
        return radius, True
    return UNPROVEN_TRACE_FACTOR * float(np.trace(M)) or np.inf, False


def _largest_decrease(G: np.ndarray, radius: float) -> float:
    """Return the maximum of -<G, N> over all metrics N of trace at most `radius`."""
    least = _smallest_eigenvalue_bound(G)
    return 0.0 if least >= 0 else -radius * least


def _smallest_eigenvalue_bound(S: np.ndarray) -> float:
    """Return a lower bound on the smallest eigenvalue of a symmetric matrix."""
    if not np.isfinite(S).all():
        return -np.inf
    # LAPACK errs by a small multiple of eps |S|_2, and |S|_2 is at most the Frobenius norm.
    return float(np.linalg.eigvalsh(S)[0]) - 4 * len(S) * EPS * float(np.linalg.norm(S))


def _rounded_up(bound: float) -> float:
    """Return an upper bound increased by its rounding error, or inf if it is NaN."""
    return np.inf if np.isnan(bound) else max(0.0, bound) * (1 + 8 * EPS)


def _symmetric(S: np.ndarray) -> np.ndarray:
    S = np.asarray(S, dtype=np.float64)
    return np.asarray((S + S.T) / 2)
