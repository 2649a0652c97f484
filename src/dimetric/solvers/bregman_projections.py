"""Cyclic Bregman projections for the LogDet divergence under bounds of squared distances."""

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from dimetric.solvers.result import GAP_CLOSED, STOPPED_BY_CALLBACK, Callback, Function, Result
from dimetric.solvers.solver import Solver


@dataclass(frozen=True)
class BoundedDivergence:
    r"""The LogDet divergence of a metric from the identity, plus that of slacks from bounds.

    .. math:: f(M) = \mathrm{tr} M - \log\det M - d
              + \gamma \min_\xi \sum_c \phi(\xi_c / b_c), \quad
              s_c v_c^T M v_c \le s_c \xi_c, \quad \phi(x) = x - \log x - 1

    The best slack :math:`\xi_c` is the squared distance :math:`v_c^T M v_c` where that breaks its
    bound :math:`b_c`, else the bound. It is a function of the flattened metric.

    Parameters
    ----------
    V : ndarray of shape (m, d)
        Differences :math:`v_c` of pairs, none of them 0.
    is_similar : ndarray of shape (m,)
        Whether :math:`s_c` is 1, so that the bound is an upper one; else it is -1.
    bounds : ndarray of shape (m,)
        Bounds :math:`b_c` of squared distances.
    gamma : float
        Weight :math:`\gamma` of the bounds.

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
    gamma: float

    def __call__(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the value and the gradient at a flattened metric."""
        M, V, b = x.reshape(self.V.shape[1], -1), self.V, self.bounds
        squares = np.einsum("ij,ij->i", V @ M, V)
        slacks = np.where(self.is_similar, np.maximum(squares, b), np.minimum(squares, b))
        ratio = slacks / b
        divergence = float(np.trace(M)) - np.linalg.slogdet(M)[1] - len(M)
        value = float(divergence + self.gamma * np.sum(ratio - np.log(ratio) - 1))
        weights = self.gamma * (1 / b - 1 / slacks)
        return value, (np.eye(len(M)) - np.linalg.inv(M) + (V.T * weights) @ V).ravel()


@dataclass(frozen=True)
class ProvenResult(Result):
    """A result with a bound.

    Attributes
    ----------
    gap : float
        The value is at most this far above the minimum.
    """

    gap: float


class BregmanProjections(Solver):
    r"""Cyclic Bregman projections [1]_, for a :class:`BoundedDivergence` alone.

    Each constraint c in turn is met exactly by the nearest M and :math:`\xi_c`, a rank-one update
    of M that its multiplier :math:`\lambda_c \ge 0` allows. M stays positive definite, and is
    always :math:`(I + \sum_c s_c \lambda_c v_c v_c^T)^{-1}`. So the multipliers are a point of the
    dual problem,

    .. math:: \max_{\lambda \ge 0} \log\det\Big(I + \sum_c s_c \lambda_c v_c v_c^T\Big)
              + \gamma \sum_c \log(1 - s_c \lambda_c b_c / \gamma),

    whose values are at most the minimum. A sweep over all constraints is an iteration. The solver
    stops when the value is within ``tol * max(1, |value|)`` of the best dual value.

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
        """Minimise the divergence; see :meth:`dimetric.solvers.Solver.minimise`.

        The function must be a :class:`BoundedDivergence`, and the start the identity. The infimum
        is not used: the dual problem gives a better bound.
        """
        if not isinstance(function, BoundedDivergence):
            raise self._refuse(function, "bounds of squared distances, a BoundedDivergence")
        V, bounds, gamma, d = function.V, function.bounds, function.gamma, function.V.shape[1]
        M = np.array(x0, dtype=np.float64).reshape(d, d)
        if not np.array_equal(M, np.eye(d)):
            raise ValueError("BregmanProjections starts at the identity, without multipliers.")
        sign = np.where(function.is_similar, 1.0, -1.0)
        multipliers, slacks = np.zeros(len(V)), np.array(bounds, dtype=np.float64)
        value, dual = function(M.ravel())[0], 0.0
        # The dual value rises in every sweep, the primal one may rise or fall: keep its best point.
        best, history, reason = (value, M.copy()), [value], ""
        while not reason:
            if best[0] - dual <= tol * max(1.0, abs(best[0])):
                reason = GAP_CLOSED
            elif len(history) > max_iter:
                reason = f"max_iter={max_iter} reached"
            else:
                for c in range(len(V)):
                    _project(c, M, V, sign, gamma, multipliers, slacks)
                # The updates are exact; their rounding errors would add up.
                inverse = np.eye(d) + (V.T * (sign * multipliers)) @ V
                M = np.linalg.inv((inverse + inverse.T) / 2)
                M = (M + M.T) / 2
                value = function(M.ravel())[0]
                logs = np.log1p(-sign * multipliers * bounds / gamma)
                dual = max(dual, float(np.linalg.slogdet(inverse)[1] + gamma * np.sum(logs)))
                best = min(best, (value, M.copy()), key=lambda point: point[0])
                history.append(value)
                if callback is not None and callback(M.ravel(), value, len(history) - 1):
                    reason = STOPPED_BY_CALLBACK
        value, M = best
        closed, gap = reason == GAP_CLOSED, max(0.0, value - dual)
        return ProvenResult(M.ravel(), value, len(history) - 1, closed, reason, tuple(history), gap)


def _project(
    c: int,
    M: np.ndarray,
    V: np.ndarray,
    sign: np.ndarray,
    gamma: float,
    multipliers: np.ndarray,
    slacks: np.ndarray,
) -> None:
    """Meet constraint c, in place."""
    s, xi, Mv = sign[c], slacks[c], M @ V[c]
    square = float(V[c] @ Mv)
    alpha = min(multipliers[c], s * gamma / (gamma + 1) * (1 / square - 1 / xi))
    multipliers[c] -= alpha
    slacks[c] = gamma * xi / (gamma + s * alpha * xi)
    M += s * alpha / (1 - s * alpha * square) * np.outer(Mv, Mv)
