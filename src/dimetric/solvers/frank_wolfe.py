"""The Frank-Wolfe method on the metrics of trace 1."""

from typing import Any, ClassVar, Literal

import numpy as np
from scipy.sparse.linalg import ArpackError, eigsh

from dimetric._arguments import check_types
from dimetric._compat import StrOptions, check_params
from dimetric.solvers.result import GAP_BELOW_TOL, Callback, Function, Result, Trace
from dimetric.solvers.solver import Solver

MIN_LANCZOS_SIZE = 50  # smaller matrices are decomposed completely, which is faster


class FrankWolfe(Solver):
    r"""The Frank-Wolfe method [1]_ over positive semidefinite matrices of trace 1.

    .. math:: M_{t+1} = (1 - \alpha_t) M_t + \alpha_t v_t v_t^T, \qquad
              v_t \text{ the eigenvector of } -\nabla f(M_t) \text{ with the largest eigenvalue}

    An iteration needs one eigenvector and no projection. The linearised f has its minimum at
    :math:`v_t v_t^T`. If f is convex, :math:`f(M_t)` is therefore at most
    :math:`\langle \nabla f(M_t), M_t - v_t v_t^T \rangle` above the minimum. The solver stops if
    this gap is at most ``tol * max(1, |f|)``. Values can increase between iterations, so the best
    metric is returned.

    Parameters
    ----------
    schedule : {"smoothed", "averaging"}, default="smoothed"
        Step sizes :math:`\alpha_t`, where t counts from 0. "smoothed", for smooth functions, uses
        :math:`2 / (t + 3)`. "averaging" uses :math:`1 / (t + 2)`, so that M is the mean of the
        starting point and all :math:`v_t v_t^T`.

    References
    ----------
    .. [1] M. Frank, P. Wolfe, "An algorithm for quadratic programming", Naval Research Logistics
       Quarterly 3, 1956.

    Examples
    --------
    Find the metric of trace 1 that is nearest to a given metric:

    >>> target = np.diag([0.9, 0.6])
    >>> def distance(x):
    ...     return float(np.sum((x - target.ravel()) ** 2)), 2 * (x - target.ravel())
    >>> start = np.eye(2).ravel() / 2
    >>> result = FrankWolfe().minimise(distance, start, max_iter=1000, tol=1e-2)
    >>> np.diag(result.x.reshape(2, 2)).round(1), result.reason
    (array([0.6, 0.4]), 'duality gap below tol')
    """

    steps_over: ClassVar[Literal["maps", "metrics"]] = "metrics"
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "schedule": [StrOptions({"smoothed", "averaging"})]
    }

    def __init__(self, *, schedule: str = "smoothed") -> None:
        self.schedule = schedule

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
    ) -> Result:
        """Minimise over metrics of trace 1. See :meth:`dimetric.solvers.Solver.minimise`.

        The function takes a flattened metric. The starting point must have trace 1.
        """
        check_params(self)
        x = np.array(x0, dtype=np.float64).ravel()
        d = round(x.size**0.5)
        if x.size != d * d:
            raise ValueError(f"x0 has {x.size} elements, which are not those of a square matrix.")
        value, gradient = function(x)
        # Only the gap decides on convergence, because the gradient need not vanish on this set.
        trace = Trace(
            x, value, gradient, max_iter=max_iter, tol=0.0, infimum=infimum, callback=callback
        )
        t = 0
        while not trace.reason:
            v = top_eigenvector(-gradient.reshape(d, d))
            vertex = np.outer(v, v).ravel()
            if float(gradient @ (x - vertex)) <= tol * max(1.0, abs(value)):
                trace.stop(GAP_BELOW_TOL, converged=True)
                break
            x = x + self._step(t) * (vertex - x)
            value, gradient = function(x)
            trace.add(x, value, gradient, change=np.inf)
            t += 1
        return trace.result()

    def _step(self, t: int) -> float:
        """Return the step size of iteration t, counted from 0."""
        if self.schedule == "averaging":
            return 1 / (t + 2)
        return 2 / (t + 3)  # 2 / (t + 2) would jump to a metric of rank 1 at t = 0


def top_eigenvector(S: np.ndarray) -> np.ndarray:
    """Return a unit eigenvector of the largest eigenvalue. Large matrices use the Lanczos method.

    Examples
    --------
    >>> np.abs(top_eigenvector(np.diag([1.0, 3.0, 2.0])))
    array([0., 1., 0.])
    """
    S = (S + S.T) / 2
    if len(S) >= MIN_LANCZOS_SIZE:
        # A random vector is almost surely not orthogonal to the eigenvector.
        start = np.random.default_rng(0).normal(size=len(S))
        try:
            return np.asarray(eigsh(S, k=1, which="LA", v0=start)[1][:, 0])
        except ArpackError:  # pragma: no cover - nearly equal eigenvalues
            pass
    return np.linalg.eigh(S)[1][:, -1]
