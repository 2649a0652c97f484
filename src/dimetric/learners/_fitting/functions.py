"""A mean loss as a function of a vector, which encodes a map L or a metric M."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from dimetric._arrays.random_state import random_generator
from dimetric.learners._fitting.problem import Problem, Solution
from dimetric.linalg.psd import map_of, metric_of, project_psd
from dimetric.objectives.objective import Objective, ValueAndGrad, on_maps, on_metrics
from dimetric.solvers import Solver
from dimetric.solvers.result import INFIMUM_REACHED, is_infimum

# Limits the time of an epoch if there are many samples.
MAX_BATCHES_PER_EPOCH = 100
# If the mean loss exceeds its infimum by less than this, larger maps are tried too: on separable
# data, the loss approaches its infimum as the map grows.
NEAR_INFIMUM = 0.1
# Factors by which the larger maps are scaled.
GROWTH_FACTORS = (4.0, 16.0)

LossT = TypeVar("LossT", bound=Objective)


class _MeanLoss:
    """Base class: the mean loss of a problem plus its ridge penalty.

    Parameters
    ----------
    problem : Problem
        The problem.
    preconditioner : ndarray of shape (d,) or (d, d), optional
        Preconditioner T, with L = A T, or its diagonal. The default is the identity. A good T makes
        the curvature about the same in all directions.
    """

    def __init__(
        self, problem: Problem[LossT], *, preconditioner: np.ndarray | None = None
    ) -> None:
        objective: Objective = problem.objective
        self._objective, self._ridge, self._theta = objective, problem.ridge, problem.theta
        L = problem.start
        self._T = np.ones(L.shape[1]) if preconditioner is None else preconditioner
        if problem.diagonal and self._T.ndim == 2:
            # The diagonal matrix for which a diagonal map has about the same curvature.
            self._T = np.diag(np.linalg.inv(self._T.T @ self._T)) ** -0.5
        self._A = L / self._T if self._T.ndim == 1 else np.linalg.solve(self._T.T, L.T).T
        # With a ridge the optimum is finite, and the infimum of the loss is not approached.
        self.infimum = objective.infimum if not np.any(problem.ridge) else -np.inf

    def _split(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Split a vector into a matrix with one column per feature, and theta."""
        n = x.size - len(self._theta)
        return x[:n].reshape(-1, self._A.shape[1]), x[n:]

    def _times(self, A: np.ndarray, T: np.ndarray) -> np.ndarray:
        """Return A T for a preconditioner T, or for its diagonal."""
        return np.asarray(A * T if T.ndim == 1 else A @ T)


class LossOverMaps(_MeanLoss):
    r"""The mean loss plus the ridge as a function of the flattened vector [A, theta].

    .. math:: f(A, \theta) = \frac{1}{N} \mathrm{loss}(L, \theta) + ridge\, |L|_F^2, \qquad L = A T

    If the map of the problem is diagonal, the vector contains the diagonal of A.

    Parameters
    ----------
    problem, preconditioner
        The problem and T.
    random_state : int, RandomState or None, default=None
        Seed of the mini-batches.
    """

    def __init__(
        self,
        problem: Problem[LossT],
        *,
        preconditioner: np.ndarray | None = None,
        random_state: Any = None,
    ) -> None:
        super().__init__(problem, preconditioner=preconditioner)
        self._random_state = random_state
        self._strata = self._objective.strata if problem.strata is None else problem.strata
        self._diagonal = problem.diagonal
        self._value_and_grad = self._of_vector(self._objective)
        coarse = self._objective.in_float32()
        # A function of the same vector that takes less time, or None.
        self.approximation = None if coarse is None else self._of_vector(coarse)
        self.start = np.concatenate([self._entries(self._A), self._theta])

    def __call__(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the value and the gradient over all samples."""
        return self._value_and_grad(x)

    def decode(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return L and theta."""
        if self._diagonal:
            d = self._A.shape[1]
            return np.diag(x[:d] * self._T), x[d:]
        A, theta = self._split(x)
        return self._times(A, self._T), theta

    def _entries(self, A: np.ndarray) -> np.ndarray:
        """Return the entries of A that the vector contains."""
        return np.diag(A) if self._diagonal else A.ravel()

    def _of_vector(self, objective: Objective) -> ValueAndGrad:
        """Return the mean loss of all samples or of a mini-batch, as a function of the vector."""
        of_map = on_maps(objective, ridge=self._ridge)

        def value_and_grad(x: np.ndarray) -> tuple[float, np.ndarray]:
            L, theta = self.decode(x)
            value, gradient = of_map(np.concatenate([L.ravel(), theta]))
            by_map, by_theta = self._split(gradient)
            by_entry = self._entries(self._times(by_map, self._T.T))
            return value, np.concatenate([by_entry, by_theta])

        return value_and_grad

    def epochs(self, batch_size: int) -> Callable[[int], Iterator[ValueAndGrad | None]]:
        """Return a function that takes the number of an epoch and yields its mini-batch losses.

        None stands for a mini-batch that defines no loss.
        """
        rng = random_generator(self._random_state)
        n_batches = max(1, len(self._strata) // batch_size)

        def epoch(_: int) -> Iterator[ValueAndGrad | None]:
            batches = np.array_split(stratified_order(self._strata, rng), n_batches)
            for rows in batches[:MAX_BATCHES_PER_EPOCH]:
                part = self._objective.batch(np.sort(rows))
                yield None if part is None else self._batch_loss(part)

        return epoch

    def _batch_loss(self, part: Objective) -> ValueAndGrad:
        """Return the mean loss of a mini-batch, shifted to have the infimum of the full loss."""
        value_and_grad = self._of_vector(part)
        infimum = self._objective.infimum
        if not np.isfinite([part.infimum, infimum]).all():
            return value_and_grad

        def shifted(x: np.ndarray) -> tuple[float, np.ndarray]:
            value, gradient = value_and_grad(x)
            return value - part.infimum + infimum, gradient

        return shifted


class LossOverMetrics(_MeanLoss):
    r"""The mean loss plus the ridge as a function of the flattened vector [B, theta].

    .. math:: f(B, \theta) = \frac{1}{N} \mathrm{loss}(M^{1/2}, \theta) + ridge\, \mathrm{tr} M,
              \qquad M = T^T B T \succeq 0

    Parameters
    ----------
    problem, preconditioner
        The problem and T.
    """

    def __init__(
        self, problem: Problem[LossT], *, preconditioner: np.ndarray | None = None
    ) -> None:
        super().__init__(problem, preconditioner=preconditioner)
        self._value_and_grad = on_metrics(self._objective, ridge=self._ridge, scale=preconditioner)
        self.start = np.concatenate([metric_of(self._A).ravel(), self._theta])

    def __call__(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the value and the gradient."""
        return self._value_and_grad(x)

    def decode(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return a map L and theta. The number of rows of L is the rank of M, but at least 1."""
        B, theta = self._split(x)
        A = map_of(B)
        A = A if len(A) else np.zeros((1, A.shape[1]))
        return self._times(A, self._T), theta

    def project(self, x: np.ndarray) -> np.ndarray:
        """Project the metric onto the positive semidefinite cone. Theta does not change."""
        B, theta = self._split(x)
        return np.concatenate([project_psd(B).ravel(), theta])


def loss_over(
    solver: Solver,
    problem: Problem[LossT],
    *,
    preconditioner: np.ndarray | None = None,
    random_state: Any = None,
) -> LossOverMaps | LossOverMetrics:
    """Return the mean loss as a function of maps or metrics, depending on the solver."""
    if solver.steps_over == "metrics":
        return LossOverMetrics(problem, preconditioner=preconditioner)
    return LossOverMaps(problem, preconditioner=preconditioner, random_state=random_state)


def scaled_up_if_separable(objective: Objective, solution: Solution, tol: float) -> Solution:
    """Return a scaled-up map if the objective reaches its infimum there, else the solution.

    On separable data, the objective approaches its infimum as the map grows. A solver may stop
    earlier, because each iteration improves little. Extra parameters are thresholds of squared
    distances, so they are multiplied by the square of the factor.
    """
    remaining = solution.result.value - objective.infimum
    if not tol < remaining < NEAR_INFIMUM:
        return solution
    for factor in GROWTH_FACTORS:
        L, theta = factor * solution.map, factor**2 * solution.theta
        value = on_maps(objective)(np.concatenate([L.ravel(), theta]))[0]
        if is_infimum(value, objective.infimum, tol):
            result = replace(solution.result, value=value, converged=True, reason=INFIMUM_REACHED)
            result = replace(result, history=(*result.history, value))
            return Solution(L, theta, result)
    return solution


def stratified_order(codes: np.ndarray, rng: np.random.RandomState) -> np.ndarray:
    """Return a random order of the samples in which each class is evenly spread.

    Consecutive parts of the order contain all classes in proportion, as far as possible.

    Examples
    --------
    >>> codes = np.array([0, 0, 0, 0, 1, 1])
    >>> order = stratified_order(codes, np.random.RandomState(0))
    >>> np.sort(codes[order[:3]]), np.sort(order)
    (array([0, 0, 1]), array([0, 1, 2, 3, 4, 5]))
    """
    shuffled = rng.permutation(len(codes))
    by_class = shuffled[np.argsort(codes[shuffled], kind="stable")]
    counts = np.bincount(codes)
    rank = np.arange(len(codes)) - np.repeat(np.cumsum(counts) - counts, counts)
    place = (rank + rng.uniform(size=len(codes))) / np.repeat(counts, counts)
    return by_class[np.argsort(place)]
