"""Objectives over all pairs of labelled samples."""

from typing import Any

import array_api_compat as compat
import numpy as np

from dimetric._arrays.namespaces import Array, eps, like, namespace, to_host
from dimetric.linalg.scatter import Moments
from dimetric.objectives.engine import Rule, laplacian_product
from dimetric.objectives.objective import SimilarityObjective


class PairwiseObjective(SimilarityObjective):
    """A rule over labelled samples.

    NumPy's samples take the rule's ``fast`` path if it has one, all others the engine.

    Parameters
    ----------
    rule : Rule
        What is summed.
    X : array of shape (n, d)
        Samples, centred.
    codes : ndarray of shape (n,)
        Labels as integers from 0, ascending, on the host.
    theta : sequence of float
        Start of the rule's extra parameters.
    """

    def __init__(self, rule: Rule, X: Array, codes: np.ndarray, theta: Any = ()) -> None:
        if np.any(np.diff(codes) < 0):
            raise ValueError("codes must be ascending: sort the samples by class.")
        self.rule, self.points, self.strata = rule, X, codes
        self.theta = np.asarray(theta, dtype=np.float64)
        counts = np.bincount(codes)
        self.n_terms, self.infimum = rule.n_terms(counts), rule.infimum(counts)
        self._starts = np.concatenate([[0], np.cumsum(counts)])
        self._fast = rule.fast if compat.is_numpy_array(X) else None
        self._labels = like(codes, X, dtype=namespace(X).int64)

    def evaluate(
        self, Z: Array, V: Array, theta: np.ndarray
    ) -> tuple[float, Array, np.ndarray | float]:
        """Return what ``Objective.evaluate`` does."""
        if _is_coarse(Z):
            xp = namespace(Z)
            wide = xp.astype(Z, xp.float64), xp.astype(V, xp.float64)
            loss, product, dtheta = self.evaluate(*wide, theta)
            return loss, xp.astype(product, V.dtype), dtheta
        if self._fast is not None:
            return self._fast(Z, V, self._starts, theta)
        return laplacian_product(self.rule, Z, V, self._labels, theta)

    def batch(self, rows: np.ndarray) -> "PairwiseObjective | None":
        """Return the rule over the pairs of some samples; None if all or none are of one class."""
        codes = self.strata[rows]
        if codes[0] == codes[-1] or np.all(codes[1:] != codes[:-1]):
            return None
        xp = namespace(self.points)
        X = xp.take(self.points, like(rows, self.points, dtype=xp.int64), axis=0)
        return PairwiseObjective(self.rule, X, codes, self.theta)

    def within(self) -> np.ndarray:
        """Return the covariance of samples within their classes."""
        return covariance_within(self.points, self.strata)

    def n_similar(self) -> float:
        """Return the number of pairs of one class."""
        counts = np.bincount(self.strata)
        return float(counts @ (counts - 1)) / 2


def covariance_within(points: Array, codes: np.ndarray) -> np.ndarray:
    """Return the covariance within classes of samples, the first of some points."""
    X = points[: len(codes), :]
    labels = like(codes, X, dtype=namespace(X).int64)
    moments = Moments.of_all(X, labels, int(codes[-1]) + 1, root=False)
    return to_host(moments.spread) / len(codes)


def _is_coarse(Z: Array) -> bool:
    """Tell whether points are so far from each other that single precision blurs near ones.

    Squared distances from a matrix product are rounded relative to the points' squared norms.
    """
    xp = namespace(Z)
    if Z.dtype != xp.float32 or Z.shape[1] == 0:
        return False
    return eps(Z) * float(xp.max(xp.sum(Z * Z, axis=1))) > 1e-3
