"""Large margin nearest neighbours."""

from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np

from dimetric._arrays.namespaces import Array, eps, like, namespace
from dimetric._compat import Interval, Progress
from dimetric.learners._convex import ConvexMetric
from dimetric.learners._solve import Solution, Watch
from dimetric.learners._start import fitting_start
from dimetric.objectives.margins.bounds import MarginBounds
from dimetric.objectives.margins.objective import MarginObjective, pull_scale
from dimetric.objectives.margins.targets import given_targets, in_given_order, nearest_targets
from dimetric.objectives.margins.triplets import TripletObjective
from dimetric.objectives.objective import on_maps
from dimetric.solvers.certificates import Certificate
from dimetric.solvers.result import NO_DECREASE, STOPPED_BY_CALLBACK, Result
from dimetric.supervision.triplets import Triplets

# The width of the hinge's smooth part, and the tolerance in units of tol, of one stage after the
# other. The second is for maps that the first leaves too far from a proof; what a sharper hinge
# changes is little, and hard to be precise about.
STAGES = ((0.1, 1.0), (0.1, 0.1), (0.01, 10.0), (0.001, 10.0))
SHARP = 300.0  # difference that smoothing may make to the objective, in units of tol
TIGHT = 0.007  # bound of what is left to gain, as a share of the objective
# "sgd" is for more samples than all pairs can be looked at of: beyond these numbers, targets are
# searched in a part of a class, and objectives are means over mini-batches.
MOST_FRIENDS = 5_000
MOST_SAMPLES = 20_000


class LMNN(ConvexMetric):
    r"""Large margin nearest neighbours: near neighbours of one's class, all others farther away.

    .. math:: \min_L \frac{1}{N} \Bigl[ (1 - \mu) \sum_{j \to i} d^2_{ij} + \mu \sum_{j \to i}
              \sum_{l:\, y_l \ne y_i} [1 + d^2_{ij} - d^2_{il}]_+ \Bigr] + \frac{reg}{d} |L|_F^2,
              \qquad d_{ij} = |L x_i - L x_j|

    The targets :math:`j \to i` of a sample are its nearest neighbours of the same class before
    anything is learned. They are pulled near, and samples of other classes, impostors, are pushed
    out to where a margin of 1 lies between [1]_. Triplets (i, j, l), where they are given in place
    of labels, are what is summed over, and N is their number.

    In :math:`M = L^T L` the objective is convex. What it is above its minimum at most is told by
    the metadata: ``gap``, among all metrics if ``gap_proven``, else among those of trace
    ``gap_radius``. There is no such bound for "sgd", nor for fewer components than features.

    Parameters
    ----------
    n_components : int or None, default=None
        Rows of L; None is ``n_features``.
    n_neighbors : int, default=3
        Targets of each sample; of a smaller class, as many as there are.
    mu : float, default=0.5
        Weight of the pushes, between 0 and 1; the pulls have weight ``1 - mu``.
    targets : array of shape (n_samples, k) or None, default=None
        Row numbers of targets in place of the nearest; -1 stands for none. For labels alone.
    n_passes : int, default=1
        How often targets are chosen: each time after the first by the distance learned so far.
    init : str or array of shape (n_components, n_features), default="auto"
        Start: "identity", "pca", "lda" (at most ``n_classes - 1`` rows), "random", or a map.
        "auto" is "lda" if that has enough rows, else "pca" if rows are to be fewer than features
        and samples, else "identity".
    solver : {"lbfgs", "bgd", "sgd", "sdp"}, default="lbfgs"
        How the objective is minimised: "lbfgs" with the hinge made smooth, less and less so;
        "bgd" by batch gradient descent; "sgd" by mini-batches, for more samples than all pairs can
        be looked at of; "sdp" over metrics M, as "lbfgs" otherwise. With "sgd", targets are the
        nearest among 5,000 of a class drawn at random, and beyond 20,000 samples the objectives
        told are means over mini-batches.
    max_iter : int, default=300
        Most iterations, of all passes together; of "sgd", passes over the samples.
    tol : float, default=1e-6
        Stop when the gradient's largest entry is below, or the objective gains less than a tenth
        of it in an iteration.
    reg : float, default=0.0
        Weight of the ridge.
    learning_rate : {"adaptive", "constant"}, default="adaptive"
        Of "bgd" and "sgd": whether the rate grows after a gain and shrinks after a loss.
    eta0 : float or None, default=None
        First learning rate; None is chosen from the first gradients.
    learn_inc, learn_dec : float, default=1.01, 0.5
        Factors of an adaptive rate after a gain, and after a loss.
    batch_size : int, default=512
        Samples of a mini-batch; their targets come with them, impostors are found among them.
    warm_start : bool, default=False
        Start from the map of the last fit.
    unlabelled : float, str or None, default=None
        Label of samples that have none, often -1: they are left out.
    verbose : int, default=0
        Log each iteration if positive.
    random_state : int, RandomState or None, default=None
        Of mini-batches, of ``init="random"``, and of "pca" where that is randomised.

    Attributes
    ----------
    components_ : array of shape (n_components, n_features)
        The map L.
    offset_ : array of shape (n_features,)
        0.
    targets_ : array of shape (n_samples, k)
        Row numbers of the targets, those of the last pass; -1 where there are fewer.
    classes_ : ndarray of shape (n_classes,)
        Labels.
    n_iter_ : int
        Iterations done.
    history_ : tuple of float
        The objective at the start and after every iteration, as the solver saw it.
    n_features_in_ : int
        Number of features; ``feature_names_in_`` holds their names where X has any.

    References
    ----------
    .. [1] K. Q. Weinberger, L. K. Saul, "Distance metric learning for large margin nearest
       neighbor classification", Journal of Machine Learning Research 10, 2009.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> facts = LMNN().fit(X, y).metadata()
    >>> round(facts["initial_objective"], 2), round(facts["final_objective"], 2)
    (4.04, 1.51)
    >>> facts["gap"] < 0.015, facts["gap_proven"]
    (True, True)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = ConvexMetric._parameter_constraints | {
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "mu": [Interval(Real, 0, 1, closed="neither")],
        "targets": ["array-like", None],
        "n_passes": [Interval(Integral, 1, None, closed="left")],
        "unlabelled": [Real, str, None],
    }
    _takes = ("y", "triplets")

    def __init__(
        self,
        n_components: int | None = None,
        *,
        n_neighbors: int = 3,
        mu: float = 0.5,
        targets: Array | None = None,
        n_passes: int = 1,
        init: str | Array = "auto",
        solver: str = "lbfgs",
        max_iter: int = 300,
        tol: float = 1e-6,
        reg: float = 0.0,
        learning_rate: str = "adaptive",
        eta0: float | None = None,
        learn_inc: float = 1.01,
        learn_dec: float = 0.5,
        batch_size: int = 512,
        warm_start: bool = False,
        unlabelled: float | str | None = None,
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            n_components,
            init=init,
            solver=solver,
            max_iter=max_iter,
            tol=tol,
            reg=reg,
            learning_rate=learning_rate,
            eta0=eta0,
            learn_inc=learn_inc,
            learn_dec=learn_dec,
            batch_size=batch_size,
            warm_start=warm_start,
            verbose=verbose,
            random_state=random_state,
        )
        self.n_neighbors = n_neighbors
        self.mu = mu
        self.targets = targets
        self.n_passes = n_passes
        self.unlabelled = unlabelled

    def _fit(self, X: Array, codes: Any, progress: Progress) -> dict[str, Any]:
        given = "triplets" if isinstance(codes, Triplets) else "targets"
        if given == "triplets" and self.targets is not None:
            raise ValueError("targets are for labels, but triplets are given: leave one out.")
        if self.n_passes > 1 and (given == "triplets" or self.targets is not None):
            raise ValueError(
                f"n_passes={self.n_passes} chooses new targets, but {given} are given: leave "
                f"n_passes=1, or {given}=None."
            )
        if given == "targets":
            self._warn_of_classes(codes, "which has no neighbour to be near to")
        return super()._fit(X, codes, progress)

    def _objective(self, X: Array, codes: Any, order: np.ndarray) -> Any:
        if isinstance(codes, Triplets):
            return TripletObjective(X, codes.rows, mu=self.mu)
        if self.targets is not None:
            targets = given_targets(self.targets, codes, order)
        else:
            targets = self._nearest(X, codes)
        return MarginObjective(X, codes, targets, mu=self.mu, order=order)

    def _nearest(self, X: Array, codes: np.ndarray) -> np.ndarray:
        most = MOST_FRIENDS if self.solver == "sgd" else None
        return nearest_targets(
            X, codes, self.n_neighbors, most=most, random_state=self.random_state
        )

    def _minimise(
        self, objective: Any, L0: np.ndarray, ridge: float, codes: np.ndarray, watch: Watch
    ) -> "_Found":
        if len(getattr(self, "classes_", ())) == 1:  # pulls alone would draw all to a point
            value = on_maps(objective, ridge=ridge)(L0.ravel())[0]
            result = Result(L0.ravel(), value, 0, True, "y holds one class", (value,))
            return _Found(L0, objective.theta, result, objective, None)
        L = L0
        if not self._start_is_given() and self.solver in ("lbfgs", "sdp"):
            L = fitting_start(objective, L0, ridge, of_any_size=True)[0]
        aimed, done, history = objective, 0, list[float]()
        for left in range(self.n_passes, 0, -1):
            if history:
                X = objective.points
                targets = self._nearest(X @ like(L, X).T, codes)
                if done == self.max_iter or np.array_equal(targets, aimed.targets):
                    break
                aimed = objective.aimed(targets)
            most = -(-(self.max_iter - done) // left)  # what a pass saves is for those to come
            found = self._descend(aimed, L, ridge, codes, _counting(watch, done), most)
            L, done = found.map, done + found.result.n_iter
            history += found.result.history
            if found.result.reason == STOPPED_BY_CALLBACK:
                break
        history[0] = self._value(objective, L0, ridge, history[0])
        return replace(found, result=replace(found.result, n_iter=done, history=tuple(history)))

    def _descend(
        self,
        objective: MarginObjective,
        L: np.ndarray,
        ridge: float,
        codes: np.ndarray,
        watch: Watch,
        max_iter: int,
    ) -> "_Found":
        """Minimise for given targets, with a hinge that is smooth, and then less and less so."""
        smooth = self.solver in ("lbfgs", "sdp")
        scale = pull_scale(objective, ridge) if smooth else None
        is_convex = self.solver == "sdp" or (self.solver != "sgd" and len(L) >= L.shape[1])
        bounds = MarginBounds(objective, ridge) if is_convex else None
        done, history, certificate = 0, list[float](), None
        last, is_sharp, is_tight = np.inf, False, True
        for width, precision in STAGES if smooth else ((0.0, 1.0),):
            if width == last and is_tight:
                continue
            if width < last and is_sharp:
                break
            found = self._solver(max_iter=max_iter - done, tol=precision * self.tol)(
                objective.smoothed(width),
                L,
                ridge=ridge,
                codes=codes,
                watch=_counting(watch, done),
                scale=scale,
            )
            L, result, last = found.map, found.result, width
            value = self._value(objective, L, ridge, result.value)
            done += result.n_iter
            history += result.history
            if bounds is not None:
                bounds.add(L, width or STAGES[0][0])
                certificate = bounds.certificate(value, L)
                is_tight = certificate.gap <= TIGHT * max(1.0, value)
            is_sharp = result.value - value <= SHARP * self.tol * max(1.0, value)
            if not result.converged or done == max_iter:
                break
        converged, reason = result.converged, result.reason
        if reason.startswith("max_iter") or (done == max_iter and not is_sharp):
            converged, reason = False, f"max_iter={self.max_iter} reached"
        elif reason.startswith("the line search failed"):
            if eps(objective.points) > 1e-10:  # rounding hides what there is left to gain
                converged, reason = True, NO_DECREASE
            elif certificate is not None and is_tight:
                converged, reason = True, f"at most {certificate.gap:.2g} above the optimum"
        result = Result(L.ravel(), value, done, converged, reason, tuple(history))
        return _Found(L, found.theta, result, objective, certificate)

    def _value(
        self, objective: MarginObjective, L: np.ndarray, ridge: float, estimate: float
    ) -> float:
        """Return the objective as it is, or an estimate where that would take too long."""
        if self.solver == "sgd" and objective.n_terms > MOST_SAMPLES:
            return estimate
        return on_maps(objective, ridge=ridge)(L.ravel())[0]

    def _facts(self, objective: Any, solution: Any, ridge: float) -> dict[str, Any]:
        X = objective.points
        if isinstance(objective, MarginObjective) and objective.order is not None:
            targets = in_given_order(solution.objective.targets, objective.order)
            self.targets_ = like(targets, X, dtype=namespace(X).int64)
        found = solution.certificate
        if found is None:
            return {}
        if not found.proven and not solution.result.converged:
            # A guess at the optimum's size may do near it; far away it is worth nothing.
            found = Certificate(solution.result.value, np.inf, proven=True)
        return {"gap": found.gap, "gap_radius": found.radius, "gap_proven": found.proven}


@dataclass(frozen=True)
class _Found(Solution):
    """A solution, the objective that it is of, and how far from its optimum it is at most."""

    objective: MarginObjective
    certificate: Certificate | None


def _counting(watch: Watch, done: int) -> Watch:
    """Return the same watch over iterations that come after some others."""
    return lambda current, value, n_iter: watch(current, value, done + n_iter)
