"""Cyclic Bregman projections for the LogDet divergence under bounds of squared distances."""

import numpy as np

from dimetric.solvers.result import GAP_CLOSED, STOPPED_BY_CALLBACK, Callback, Result


def bregman_projections(
    V: np.ndarray,
    is_similar: np.ndarray,
    bounds: np.ndarray,
    gamma: float,
    *,
    max_iter: int = 100,
    tol: float = 1e-5,
    callback: Callback | None = None,
) -> tuple[Result, float]:
    r"""Minimise the divergence to the identity and of slacks, one constraint after the other [1]_.

    .. math:: \min_{M \succ 0,\, \xi} \mathrm{tr} M - \log\det M - d
              + \gamma \sum_c \phi(\xi_c / b_c), \quad
              s_c v_c^T M v_c \le s_c \xi_c, \quad \phi(x) = x - \log x - 1

    Each constraint c in turn is met exactly by the nearest M and :math:`\xi_c`, a rank-one update
    of M that its multiplier :math:`\lambda_c \ge 0` allows. M stays positive definite, and is
    always :math:`(I + \sum_c s_c \lambda_c v_c v_c^T)^{-1}`, so the multipliers are a point of the
    dual problem,

    .. math:: \max_{\lambda \ge 0} \log\det\Big(I + \sum_c s_c \lambda_c v_c v_c^T\Big)
              + \gamma \sum_c \log(1 - s_c \lambda_c b_c / \gamma),

    which no M is below. A sweep over all constraints is an iteration; the solver stops where both
    are within ``tol * max(1, |value|)``.

    Parameters
    ----------
    V : ndarray of shape (m, d)
        Differences :math:`v_c` of pairs, none of them 0.
    is_similar : ndarray of shape (m,)
        Whether :math:`s_c` is 1, and a bound an upper one; else it is -1.
    bounds : ndarray of shape (m,)
        Bounds :math:`b_c` of squared distances.
    gamma : float
        :math:`\gamma`, how much the bounds weigh.
    max_iter, tol, callback
        As of :func:`dimetric.solvers.lbfgs.lbfgs`; x is M, flattened, and the value that with the
        best slacks.

    Returns
    -------
    result : Result
        The best M, flattened.
    gap : float
        How far above the minimum its value is at most.

    References
    ----------
    .. [1] J. V. Davis, B. Kulis, P. Jain, S. Sra, I. S. Dhillon, "Information-theoretic metric
       learning", ICML 2007.

    Examples
    --------
    >>> V, similar = np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([True, False])
    >>> result, gap = bregman_projections(V, similar, np.array([0.5, 4.0]), gamma=1.0)
    >>> result.x.reshape(2, 2).round(3)
    array([[0.667, 0.   ],
           [0.   , 1.6  ]])
    """
    d = V.shape[1]
    sign = np.where(is_similar, 1.0, -1.0)
    M, multipliers, slacks = np.eye(d), np.zeros(len(V)), np.array(bounds, dtype=np.float64)
    value, dual = primal_value(M, V, is_similar, bounds, gamma), 0.0
    # The dual rises in every sweep, the primal may do anything: its best point counts.
    best, history, reason = (value, M), [value], ""
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
            value = primal_value(M, V, is_similar, bounds, gamma)
            logs = np.log1p(-sign * multipliers * bounds / gamma)
            dual = max(dual, float(np.linalg.slogdet(inverse)[1] + gamma * np.sum(logs)))
            best = min(best, (value, M.copy()), key=lambda point: point[0])
            history.append(value)
            if callback is not None and callback(M.ravel(), value, len(history) - 1):
                reason = STOPPED_BY_CALLBACK
    value, M = best
    result = Result(
        M.ravel(), value, len(history) - 1, reason == GAP_CLOSED, reason, tuple(history)
    )
    return result, max(0.0, value - dual)


def primal_value(
    M: np.ndarray, V: np.ndarray, is_similar: np.ndarray, bounds: np.ndarray, gamma: float
) -> float:
    """Return the objective at M, with the best slacks."""
    squares = np.einsum("ij,ij->i", V @ M, V)
    slacks = np.where(is_similar, np.maximum(squares, bounds), np.minimum(squares, bounds))
    ratio = slacks / bounds
    divergence = float(np.trace(M)) - np.linalg.slogdet(M)[1] - len(M)
    return float(divergence + gamma * np.sum(ratio - np.log(ratio) - 1))


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
