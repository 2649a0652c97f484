"""Cyclic Bregman projections for the LogDet divergence with bounds on squared distances."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from dimetric._arguments import check_types
from dimetric.solvers.result import (
    GAP_BELOW_TOL,
    STOPPED_BY_CALLBACK,
    Callback,
    Function,
    Result,
    max_iter_reached,
)
from dimetric.solvers.solver import Solver


@dataclass(frozen=True)
class BoundedDivergence:
    r"""The LogDet divergence of a metric from the identity, plus a penalty for violated bounds.

    .. math:: f(M) = \mathrm{tr} M - \log\det M - d
              + \gamma \min_\xi \sum_c \phi(\xi_c / b_c), \quad
              s_c v_c^T M v_c \le s_c \xi_c, \quad \phi(x) = x - \log x - 1

    Each constraint c bounds a squared distance :math:`v_c^T M v_c` by a slack :math:`\xi_c`. The
    optimal slack is the squared distance if this violates the bound :math:`b_c`, and the bound
    otherwise. The object is a function of the flattened metric.

    Parameters
    ----------
    V : ndarray of shape (m, d)
        Nonzero differences :math:`v_c` between the samples of each pair.
    is_similar : ndarray of bool, shape (m,)
        Whether the pair is similar. If so, :math:`s_c = 1` and the bound is an upper bound.
        Otherwise, :math:`s_c = -1` and it is a lower bound.
    bounds : ndarray of shape (m,)
        Bounds :math:`b_c` on the squared distances.
    gamma : float or ndarray of shape (m,)
        Weight :math:`\gamma` of the penalty, or the weight of each constraint.

    Examples
    --------
    >>> V, similar = np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([True, False])
    >>> function = BoundedDivergence(V, similar, np.array([0.5, 4.0]), gamma=1.0)
    >>> value, gradient = function(np.eye(2).ravel())
    >>> round(value, 3), gradient.reshape(2, 2).round(2).tolist()
    (0.943, [[1.0, 0.0], [0.0, -0.75]])
    """

    V: np.ndarray
    is_similar: np.ndarray
    bounds: np.ndarray
    gamma: float | np.ndarray

    def __call__(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the value and the gradient at a flattened metric."""
        M, V, b = x.reshape(self.V.shape[1], -1), self.V, self.bounds
        squares = np.einsum("ij,ij->i", V @ M, V)
        slacks = np.where(self.is_similar, np.maximum(squares, b), np.minimum(squares, b))
        ratio = slacks / b
        divergence = float(np.trace(M)) - np.linalg.slogdet(M)[1] - len(M)
        penalty = weighted_sum(self.gamma, np.sum, ratio - np.log(ratio) - 1)
        value = float(divergence + penalty)
        weights = self.gamma * (1 / b - 1 / slacks)
        return value, (np.eye(len(M)) - np.linalg.inv(M) + (V.T * weights) @ V).ravel()


def weighted_sum(weights: Any, total: Callable[[Any], Any], terms: Any) -> float:
    """Return the sum of all terms, by the function `total`, times one weight or each times its own.

    Examples
    --------
    >>> terms = np.array([1.0, 2.0])
    >>> weighted_sum(3.0, np.sum, terms), weighted_sum(np.array([1.0, 0.5]), np.sum, terms)
    (9.0, 2.0)
    """
    if isinstance(weights, float):
        return weights * float(total(terms))
    return float(total(weights * terms))


@dataclass(frozen=True)
class ProvenResult(Result):
    """A result with a proven optimality gap.

    Attributes
    ----------
    gap : float
        Upper bound on the difference between the value and the minimum.
    """

    gap: float


class BregmanProjections(Solver):
    r"""Cyclic Bregman projections [1]_, which only minimise a :class:`BoundedDivergence`.

    Each step takes the next constraint c and projects M and :math:`\xi_c` onto it, as far as its
    multiplier :math:`\lambda_c \ge 0` allows. This is a rank-one update of M. M remains positive
    definite and equals :math:`(I + \sum_c s_c \lambda_c v_c v_c^T)^{-1}`, so the multipliers are a
    feasible point of the dual problem

    .. math:: \max_{\lambda \ge 0} \log\det\Big(I + \sum_c s_c \lambda_c v_c v_c^T\Big)
              + \gamma \sum_c \log(1 - s_c \lambda_c b_c / \gamma),

    whose values are lower bounds on the minimum. An iteration is a sweep over all constraints. The
    solver stops if the value is within ``tol * max(1, |value|)`` of the best dual value.

    References
    ----------
    .. [1] J. V. Davis, B. Kulis, P. Jain, S. Sra, I. S. Dhillon, "Information-theoretic metric
       learning", ICML 2007.

    Examples
    --------
    >>> V, similar = np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([True, False])
    >>> function = BoundedDivergence(V, similar, np.array([0.5, 4.0]), gamma=1.0)
    >>> BregmanProjections().minimise(function, np.eye(2).ravel()).x.reshape(2, 2).round(3)
    array([[0.667, 0.   ],
           [0.   , 1.6  ]])
    """

    steps_over: ClassVar[Literal["maps", "metrics"]] = "metrics"

    @check_types
    def minimise(
        self,
        function: Function,
        x0: np.ndarray,
        *,
        max_iter: int = 100,
        tol: float = 1e-5,
        infimum: float = -np.inf,
        callback: Callback | None = None,
    ) -> ProvenResult:
        """Minimise the divergence. See :meth:`dimetric.solvers.Solver.minimise`.

        The function must be a :class:`BoundedDivergence`, and x0 the flattened identity. `infimum`
        is ignored, because the dual problem gives a better bound.
        """
        if not isinstance(function, BoundedDivergence):
            raise self._unsupported(function, "a BoundedDivergence")
        V, bounds, gamma, d = function.V, function.bounds, function.gamma, function.V.shape[1]
        M = np.array(x0, dtype=np.float64).reshape(d, d)
        if not np.array_equal(M, np.eye(d)):
            raise ValueError("x0 must be the flattened identity for BregmanProjections.")
        gammas = np.broadcast_to(gamma, len(V))
        sign = np.where(function.is_similar, 1.0, -1.0)
        multipliers, slacks = np.zeros(len(V)), np.array(bounds, dtype=np.float64)
        value, dual = function(M.ravel())[0], 0.0
        # The value can increase in a sweep, so the best M is kept.
        best, history, reason = (value, M.copy()), [value], ""
        while not reason:
            if best[0] - dual <= tol * max(1.0, abs(best[0])):
                reason = GAP_BELOW_TOL
            elif len(history) > max_iter:
                reason = max_iter_reached(max_iter)
            else:
                for c in range(len(V)):
                    _project(c, M, V, sign, gammas[c], multipliers, slacks)
                # Recompute M from the multipliers, because rounding errors of updates accumulate.
                inverse = np.eye(d) + (V.T * (sign * multipliers)) @ V
                M = np.linalg.inv((inverse + inverse.T) / 2)
                M = (M + M.T) / 2
                value = function(M.ravel())[0]
                logs = np.log1p(-sign * multipliers * bounds / gamma)
                slack_value = weighted_sum(gamma, np.sum, logs)
                dual = max(dual, float(np.linalg.slogdet(inverse)[1] + slack_value))
                best = min(best, (value, M.copy()), key=lambda point: point[0])
                history.append(value)
                if callback is not None and callback(M.ravel(), value, len(history) - 1):
                    reason = STOPPED_BY_CALLBACK
        value, M = best
        converged, gap = reason == GAP_BELOW_TOL, max(0.0, value - dual)
        n_iter = len(history) - 1
        return ProvenResult(M.ravel(), value, n_iter, converged, reason, tuple(history), gap)


def _project(
    c: int,
    M: np.ndarray,
    V: np.ndarray,
    sign: np.ndarray,
    gamma: float,
    multipliers: np.ndarray,
    slacks: np.ndarray,
) -> None:
    """Project onto constraint c. Update M, `multipliers` and `slacks` in place."""
    s, xi, Mv = sign[c], slacks[c], M @ V[c]
    square = float(V[c] @ Mv)
    alpha = min(multipliers[c], s * gamma / (gamma + 1) * (1 / square - 1 / xi))
    multipliers[c] -= alpha
    slacks[c] = gamma * xi / (gamma + s * alpha * xi)
    M += s * alpha / (1 - s * alpha * square) * np.outer(Mv, Mv)
