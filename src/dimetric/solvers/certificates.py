r"""Upper bounds of the distance of a metric from the optimum of a convex problem.

If a linear function :math:`c + \langle G, N \rangle` is nowhere above f, then

.. math:: f(M) - f(N) \le f(M) - c + R \max(0, -\lambda_{\min}(G))
          \qquad \text{for all } N \succeq 0,\; \mathrm{tr} N \le R.

The tangent at M of a convex f is such a function, with G the gradient (or a subgradient) and
:math:`c = f(M) - \langle G, M \rangle`. A bound on the trace of an optimum, such as a ridge gives,
makes this a proof. Every bound is rounded up by the error that eigenvalues and sums in floating
point may have. What the caller computed (a value, a gradient) counts as exact.
"""

from dataclasses import dataclass

import numpy as np

EPS = float(np.finfo(np.float64).eps)
UNPROVEN_RADIUS = 10.0


@dataclass(frozen=True)
class Certificate:
    """A bound of what is left to gain.

    Attributes
    ----------
    gap : float
        The objective is at most this far above its minimum over metrics of trace at most `radius`.
    radius : float
        That trace.
    proven : bool
        Whether an optimum is known to have no larger trace, so that `gap` holds for all metrics.
    """

    gap: float
    radius: float
    proven: bool


def certify_from_below(
    value: float, constant: float, G: np.ndarray, M: np.ndarray, *, radius: float = np.inf
) -> Certificate:
    """Certify a metric by its objective and a linear function that is nowhere above it.

    Parameters
    ----------
    value, constant, G
        As in :func:`gap_from_below`.
    M : ndarray of shape (d, d)
        Metric.
    radius : float, default=inf
        A proven bound of the trace of an optimum; the smallest one, if there are several. If it is
        infinite, ten times the trace of M takes its place, which proves nothing beyond it.

    Examples
    --------
    The nearest metric to -1, ``f(M) = (M + 1)^2 / 2``, is 0. At 0.1 the objective is 0.105 higher.
    The tangent there is ``0.605 + 1.1 (M - 0.1)``:

    >>> certificate = certify_from_below(0.605, 0.495, np.array([[1.1]]), np.array([[0.1]]))
    >>> round(certificate.gap, 3), certificate.radius, certificate.proven
    (0.11, 1.0, False)
    """
    radius, proven = _known_or_likely(radius, M)
    return Certificate(gap_from_below(value, constant, G, radius), radius, proven)


def gap_from_below(value: float, constant: float, G: np.ndarray, radius: float) -> float:
    r"""Return a bound of the gap from :math:`f(N) \ge c + \langle G, N \rangle`, c a `constant`.

    .. math:: f(M) - f(N) \le f(M) - c + R \max(0, -\lambda_{\min}(G))

    Each choice of multipliers of a hinge loss gives such a c and G, at its kinks too, where a
    gradient of one side may say little: :math:`[z]_+ \ge a z` for all a in [0, 1].

    Examples
    --------
    ``f(M) = max(0, 1 - M)`` is at least ``1 - M``, and so 0 for some M up to 2:

    >>> round(gap_from_below(0.5, 1.0, np.array([[-1.0]]), radius=2.0), 6)
    1.5
    """
    return _rounded_up(value - constant + _lift(_symmetric(G), radius))


def radius_from_ridge(value: float, ridge: float, *, floor: float) -> float:
    r"""Return the largest trace where :math:`h(M) + \rho\, \mathrm{tr} M` is at most a value.

    .. math:: R = (f - \inf h) / \rho

    Parameters
    ----------
    value : float
        Objective at any metric: an optimum has no higher one.
    ridge : float
        :math:`\rho`, for learners ``reg / d``; without a ridge the radius is infinite.
    floor : float
        A lower bound of h, the rest of the objective.

    Examples
    --------
    >>> round(radius_from_ridge(3.0, 0.5, floor=0.0), 6)
    6.0
    """
    if not ridge > 0:
        return np.inf
    return _rounded_up((value - floor) / ridge)


def radius_from_linear(value: float, P: np.ndarray, *, floor: float = 0.0) -> float:
    r"""Return the largest trace where an :math:`f(M) \ge c + \langle P, M \rangle` is at most f.

    .. math:: R = (f - c) / \lambda_{\min}(P)

    Infinite unless P is positive definite beyond rounding. Parameters as those of
    :func:`radius_from_ridge`, with `floor` for c.

    Examples
    --------
    >>> round(radius_from_linear(3.0, np.diag([0.5, 2.0])), 6)
    6.0
    """
    return radius_from_ridge(value, _least_eigenvalue(_symmetric(P)), floor=floor)


def _known_or_likely(radius: float, M: np.ndarray) -> tuple[float, bool]:
    """Return a radius, and whether it is proven; none is likely where M is 0."""
    if np.isfinite(radius):
        return radius, True
    return UNPROVEN_RADIUS * float(np.trace(M)) or np.inf, False


def _lift(G: np.ndarray, radius: float) -> float:
    """Return how much less than 0 the product of G and a metric in the radius may be."""
    least = _least_eigenvalue(G)
    return 0.0 if least >= 0 else -radius * least


def _least_eigenvalue(S: np.ndarray) -> float:
    """Return a number that is not above the least eigenvalue of a symmetric matrix."""
    if not np.isfinite(S).all():
        return -np.inf
    # LAPACK errs by a small multiple of eps |S|_2, and |S|_2 is at most the Frobenius norm.
    return float(np.linalg.eigvalsh(S)[0]) - 4 * len(S) * EPS * float(np.linalg.norm(S))


def _rounded_up(bound: float) -> float:
    """Return a bound that survives its last rounding; one that is not a number bounds nothing."""
    return np.inf if np.isnan(bound) else max(0.0, bound) * (1 + 8 * EPS)


def _symmetric(S: np.ndarray) -> np.ndarray:
    S = np.asarray(S, dtype=np.float64)
    return np.asarray((S + S.T) / 2)
