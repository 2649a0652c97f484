"""Frank-Wolfe steps on the metrics of trace 1, by top eigenvectors."""

from collections.abc import Callable

import numpy as np
from scipy.sparse.linalg import ArpackError, eigsh

from dimetric.solvers.result import GAP_CLOSED, Callback, Objective, Result, Trace


def smoothed_steps(t: int) -> float:
    """Return the step 2 / (t + 3) after t others, for smooth objectives."""
    return 2 / (t + 3)  # not 2 / (t + 2), which begins with a leap to a metric of rank 1


def averaging_steps(t: int) -> float:
    """Return the step 1 / (t + 2): the metric is the mean of its start and all directions."""
    return 1 / (t + 2)


def frank_wolfe(
    value_and_grad: Objective,
    M0: np.ndarray,
    *,
    step: Callable[[int], float] = smoothed_steps,
    max_iter: int = 100,
    tol: float = 1e-5,
    callback: Callback | None = None,
) -> Result:
    r"""Minimise a smooth convex function over the positive semidefinite matrices of trace 1 [1]_.

    .. math:: M_{t+1} = (1 - \alpha_t) M_t + \alpha_t v_t v_t^T, \qquad
              v_t \text{ the eigenvector of } -\nabla f(M_t) \text{ with the largest eigenvalue}

    There is no projection, and one eigenvector is all that an iteration asks for. Where f is
    linearised its minimum is at :math:`v_t v_t^T`, so that f is at most
    :math:`\langle \nabla f, M_t - v_t v_t^T \rangle` above its own; the solver stops where that is
    at most ``tol * max(1, |f|)``. The objective may rise on the way: the best metric counts.

    Parameters
    ----------
    value_and_grad : callable
        Returns the objective and its gradient at a flattened metric.
    M0 : ndarray of shape (d, d)
        Start, of trace 1.
    step : callable, default=smoothed_steps
        :math:`\alpha_t` by the number t of the iteration, from 0.
    max_iter, tol, callback
        As of :func:`dimetric.solvers.lbfgs.lbfgs`.

    References
    ----------
    .. [1] M. Frank, P. Wolfe, "An algorithm for quadratic programming", Naval Research Logistics
       Quarterly 3, 1956.

    Examples
    --------
    The metric of trace 1 that is nearest to another one:

    >>> target = np.diag([0.9, 0.6])
    >>> def distance(x):
    ...     return float(np.sum((x - target.ravel()) ** 2)), 2 * (x - target.ravel())
    >>> result = frank_wolfe(distance, np.eye(2) / 2, max_iter=1000, tol=1e-2)
    >>> np.diag(result.x.reshape(2, 2)).round(1), result.reason
    (array([0.6, 0.4]), 'duality gap below tol')
    """
    d = len(M0)
    x = np.array(M0, dtype=np.float64).ravel()
    value, gradient = value_and_grad(x)
    trace = Trace(
        x, value, gradient, max_iter=max_iter, tol=0.0, infimum=-np.inf, callback=callback
    )
    t = 0
    while not trace.reason:
        v = top_eigenvector(-gradient.reshape(d, d))
        vertex = np.outer(v, v).ravel()
        if float(gradient @ (x - vertex)) <= tol * max(1.0, abs(value)):
            trace.stop(GAP_CLOSED, converged=True)
            break
        x = x + step(t) * (vertex - x)
        value, gradient = value_and_grad(x)
        trace.add(x, value, gradient, change=np.inf)
        t += 1
    return trace.result()


def top_eigenvector(S: np.ndarray) -> np.ndarray:
    """Return a unit eigenvector of the largest eigenvalue, by Lanczos where that is worth it.

    Examples
    --------
    >>> np.abs(top_eigenvector(np.diag([1.0, 3.0, 2.0])))
    array([0., 1., 0.])
    """
    S = (S + S.T) / 2
    if len(S) >= 50:
        start = np.random.default_rng(0).normal(size=len(S))  # a vector that nothing is special to
        try:
            return eigsh(S, k=1, which="LA", v0=start)[1][:, 0]
        except ArpackError:  # pragma: no cover - eigenvalues too close to tell apart
            pass
    return np.linalg.eigh(S)[1][:, -1]
