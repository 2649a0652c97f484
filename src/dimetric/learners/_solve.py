"""From an objective and the name of a solver to the best map."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from dimetric.linalg.psd import map_of, metric_of, project_psd
from dimetric.objectives.objective import Objective, ValueAndGrad, on_maps, on_metrics
from dimetric.solvers import LBFGS, SGD, GradientDescent, ProjectedGradient
from dimetric.solvers.result import SEPARABLE, Function, Result, is_infimum

# Mini-batches of an iteration of "sgd": with many samples a pass would be too long to wait for.
MOST_BATCHES = 100

# Called after every iteration with a function that gives the map and theta, the value and the
# number of the iteration; true stops the solver.
Watch = Callable[[Callable[[], tuple[np.ndarray, np.ndarray]], float, int], bool]


@dataclass(frozen=True)
class Solution:
    """The best map found, the extra parameters beside it, and how the solver ended."""

    map: np.ndarray
    theta: np.ndarray
    result: Result


@dataclass(frozen=True)
class Solver:
    """A solver with its settings: what a learner's parameters of the same names say."""

    name: str  # "lbfgs", "bgd" or "sgd" over maps, "sdp" over metrics
    max_iter: int
    tol: float
    rate: dict[str, Any]  # learning_rate, eta0, learn_inc, learn_dec of "bgd" and "sgd"
    batch_size: int
    random_state: Any

    def __call__(
        self,
        objective: Objective,
        L0: np.ndarray,
        *,
        ridge: float,
        codes: np.ndarray,
        watch: Watch,
        scale: np.ndarray | None = None,
    ) -> Solution:
        """Minimise the mean objective plus `ridge` times the squared norm of the map.

        If there is a `scale` T, "lbfgs" takes its steps in A, :math:`L = A T`, and "sdp" in B,
        :math:`M = T^T B T`: the same maps, which a good T brings into reach.
        """
        d, p = L0.shape[1], len(objective.theta)
        T = scale if self.name in ("lbfgs", "sdp") else None

        def as_map(flat: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            A, theta = flat[: flat.size - p].reshape(-1, d), flat[flat.size - p :]
            A = _some_rows(map_of(A)) if self.name == "sdp" else A
            return A if T is None else A @ T, theta

        settings: dict[str, Any] = {
            "max_iter": self.max_iter,
            "tol": self.tol,
            # A ridge makes the optimum finite; what is below it then is no infimum.
            "infimum": objective.infimum if ridge == 0 else -np.inf,
            "callback": lambda flat, value, n_iter: watch(lambda: as_map(flat), value, n_iter),
        }
        A0 = L0 if T is None else np.linalg.solve(T.T, L0.T).T
        start = np.concatenate([A0.ravel(), objective.theta])
        if self.name == "lbfgs":
            value_and_grad = on_maps(objective, ridge=ridge)
            if T is not None:
                value_and_grad = _in_steps_of(T, value_and_grad, p)
            result = LBFGS().minimise(value_and_grad, start, **settings)
        elif self.name == "bgd":
            solver = GradientDescent(**self.rate)
            result = solver.minimise(on_maps(objective, ridge=ridge), start, **settings)
        elif self.name == "sgd":
            batches = _Batches(
                on_maps(objective, ridge=ridge), self._epochs(objective, codes, ridge)
            )
            solver = SGD(batch_size=self.batch_size, **self.rate)
            result = solver.minimise(batches, start, **settings)
        else:
            start = np.concatenate([metric_of(A0).ravel(), objective.theta])
            on_cone = _OnCone(on_metrics(objective, ridge=ridge, scale=T), _onto_metrics(d))
            result = ProjectedGradient().minimise(on_cone, start, **settings)
        return self._grown(objective, Solution(*as_map(result.x), result), ridge)

    def _grown(self, objective: Objective, found: Solution, ridge: float) -> Solution:
        """Return a larger map where that shows that the objective has no minimum.

        Near the infimum a solver gains so little that it may stop, for this or that reason,
        before it is there. Extra parameters are thresholds, which grow like squared distances.
        """
        left = found.result.value - objective.infimum
        if ridge > 0 or self.name == "sgd" or not self.tol < left < 0.1:
            return found
        for factor in (4.0, 16.0):
            L, theta = factor * found.map, factor**2 * found.theta
            value = on_maps(objective)(np.concatenate([L.ravel(), theta]))[0]
            if is_infimum(value, objective.infimum, self.tol):
                result = replace(found.result, value=value, converged=True, reason=SEPARABLE)
                result = replace(result, history=(*result.history, value))
                return Solution(L, theta, result)
        return found

    def _epochs(
        self, objective: Objective, codes: np.ndarray, ridge: float
    ) -> Callable[[int], Iterator[ValueAndGrad | None]]:
        """Return a function that deals out the samples of an epoch in mini-batches."""
        rng = check_random_state(self.random_state)
        n_batches = max(1, len(codes) // self.batch_size)

        def epoch(_: int) -> Iterator[ValueAndGrad | None]:
            batches = np.array_split(stratified_order(codes, rng), n_batches)
            for rows in batches[:MOST_BATCHES]:
                part = objective.batch(np.sort(rows))
                yield None if part is None else _comparable(part, objective.infimum, ridge)

        return epoch


@dataclass(frozen=True)
class _Batches:
    whole: Function
    epoch: Callable[[int], Iterator[Function | None]]

    def __call__(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        return self.whole(x)

    def epochs(self, batch_size: int) -> Callable[[int], Iterator[Function | None]]:
        return self.epoch


@dataclass(frozen=True)
class _OnCone:
    function: Function
    project: Callable[[np.ndarray], np.ndarray]

    def __call__(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        return self.function(x)


def _in_steps_of(T: np.ndarray, value_and_grad: ValueAndGrad, p: int) -> ValueAndGrad:
    """Return a function of [L, theta] as one of [A, theta], L = A T."""

    def scaled(flat: np.ndarray) -> tuple[float, np.ndarray]:
        n = flat.size - p
        L = flat[:n].reshape(-1, len(T)) @ T
        value, grad = value_and_grad(np.concatenate([L.ravel(), flat[n:]]))
        return value, np.concatenate([(grad[:n].reshape(L.shape) @ T.T).ravel(), grad[n:]])

    return scaled


def _comparable(part: Objective, infimum: float, ridge: float) -> ValueAndGrad:
    """Return a batch's mean objective, moved to where that of all samples has its infimum."""
    value_and_grad = on_maps(part, ridge=ridge)
    if not np.isfinite([part.infimum, infimum]).all():
        return value_and_grad

    def moved(flat: np.ndarray) -> tuple[float, np.ndarray]:
        value, grad = value_and_grad(flat)
        return value - part.infimum + infimum, grad

    return moved


def stratified_order(codes: np.ndarray, rng: np.random.RandomState) -> np.ndarray:
    """Return a random order of samples in which every class is spread evenly.

    Parts of such an order have all classes in proportion, as far as that goes.

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


def _onto_metrics(d: int) -> Callable[[np.ndarray], np.ndarray]:
    """Return the projection of [M, theta] on positive semidefinite M."""

    def project(flat: np.ndarray) -> np.ndarray:
        M = project_psd(flat[: d * d].reshape(d, d))
        return np.concatenate([M.ravel(), flat[d * d :]])

    return project


def _some_rows(L: np.ndarray) -> np.ndarray:
    """Return the map, or one row of zeros if it has none."""
    return L if len(L) else np.zeros((1, L.shape[1]))
