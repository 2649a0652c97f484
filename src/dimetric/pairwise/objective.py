"""A rule over given samples, as a function of one host vector that a solver can minimise."""

from collections.abc import Callable
from typing import Any

import array_api_compat as compat
import numpy as np

from dimetric._xp import Array, like, namespace, to_host
from dimetric.pairwise.engine import Rule, pairwise_loss


def mean_objective(
    rule: Rule, X: Array, codes: np.ndarray, *, ridge: float
) -> Callable[[np.ndarray], tuple[float, np.ndarray]]:
    r"""Return ``value_and_grad`` of a rule's mean loss, as a function of the flattened map.

    .. math:: f(L) = \frac{1}{n} \sum_i \mathrm{loss}_i(L) + ridge\, |L|_F^2

    NumPy's samples take the rule's ``fast`` path if it has one, all others the engine.

    Parameters
    ----------
    rule : Rule
        A pairwise objective without extra parameters.
    X : array of shape (n, d)
        Samples, centred.
    codes : ndarray of shape (n,)
        Labels as integers from 0, ascending, on the host.
    ridge : float
        Weight of the squared norm.
    """
    n, d = X.shape
    if np.any(np.diff(codes) < 0):
        raise ValueError("codes must be ascending: sort the samples by class.")
    evaluate = _evaluator(rule, X, codes)

    def value_and_grad(flat: np.ndarray) -> tuple[float, np.ndarray]:
        L = flat.reshape(-1, d)
        loss, grad = evaluate(L)
        value = loss / n + ridge * float(np.vdot(L, L))
        return value, (grad / n + 2 * ridge * L).ravel()

    return value_and_grad


def _evaluator(
    rule: Any, X: Array, codes: np.ndarray
) -> Callable[[np.ndarray], tuple[float, np.ndarray]]:
    """Return the sum of the rule's loss and its float64 gradient, for a map on the host."""
    if compat.is_numpy_array(X) and hasattr(rule, "fast"):
        starts = np.concatenate([[0], np.cumsum(np.bincount(codes))])

        def evaluate(L: np.ndarray) -> tuple[float, np.ndarray]:
            loss, grad = rule.fast(L.astype(X.dtype, copy=False), X, starts)
            return loss, grad.astype(np.float64, copy=False)

    else:
        labels = like(codes, X, dtype=namespace(X).int64)

        def evaluate(L: np.ndarray) -> tuple[float, np.ndarray]:
            loss, grad, _ = pairwise_loss(rule, like(L, X), X, labels)
            return float(loss), to_host(grad).astype(np.float64, copy=False)

    return evaluate
