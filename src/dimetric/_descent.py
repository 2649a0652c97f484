"""What learners share that minimise a pairwise rule over maps: start, ridge, solver, history."""

import warnings
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_array

from dimetric._base import LinearMetric, report
from dimetric._checks import in_range
from dimetric._compat import Interval, Progress, StrOptions
from dimetric._xp import Array, like, namespace, to_host
from dimetric.linear.lda import LDA
from dimetric.linear.pca import PCA
from dimetric.pairwise.engine import Rule
from dimetric.pairwise.objective import mean_objective
from dimetric.reduce.order import canonical_order
from dimetric.solvers.lbfgs import FLAT, lbfgs


class GradientMetric(LinearMetric):
    r"""A learner that minimises the mean of a rule over maps.

    .. math:: \min_L \frac{1}{n} \sum_i \mathrm{loss}_i(L) + \frac{reg}{d} |L|_F^2

    A learner gives its ``_rule()``, and the ``_infimum(counts)`` of its loss where no finite map
    attains it. Its parameters are these, or these and more.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "init": [StrOptions({"auto", "identity", "pca", "lda", "random"}), "array-like"],
        "solver": [StrOptions({"lbfgs"})],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "reg": [Interval(Real, 0, None, closed="left")],
        "warm_start": ["boolean"],
        "verbose": ["verbose"],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_components: int | None = None,
        *,
        init: str | Array = "auto",
        solver: str = "lbfgs",
        max_iter: int = 50,
        tol: float = 1e-5,
        reg: float = 0.0,
        warm_start: bool = False,
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.init = init
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.reg = reg
        self.warm_start = warm_start
        self.verbose = verbose
        self.random_state = random_state

    def _rule(self) -> Rule:
        """Return the objective."""
        raise TypeError(f"{type(self).__name__} does not say what it minimises.")

    def _infimum(self, counts: np.ndarray) -> float:
        """Return a lower bound of the mean loss that no finite map attains, given class sizes."""
        return -np.inf

    def _fit(self, X: Array, codes: Any, progress: Progress) -> dict[str, Any]:
        xp = namespace(X)
        order = canonical_order(to_host(X), codes)
        X, codes = xp.take(X, like(order, X, dtype=xp.int64), axis=0), codes[order]
        X, factor = in_range(X)
        if factor != 1:
            warnings.warn(
                f"X holds values around {1 / factor:.0e}: they are learned from as if they were "
                "around 1, which changes what init and reg mean. Scale X to avoid this.",
                stacklevel=2,
            )
        L0 = self._start(X, codes, factor)
        X, unit = _in_own_unit(X)
        L0 = L0 / unit
        X, A0, rest, lifted = _in_span(X, L0, keep_rest=self.reg == 0)
        d = L0.shape[1]
        ridge = self.reg * unit**2 / d

        def fitted(flat: np.ndarray) -> dict[str, Array]:
            L = lifted(flat.reshape(A0.shape)) * (factor * unit)
            return {"components_": like(L, X), "offset_": like(np.zeros(d), X)}

        def after_iteration(flat: np.ndarray, value: float, n_iter: int) -> bool:
            if self.verbose:
                report("[%s] iteration %d: loss %.6g", type(self).__name__, n_iter, value)
            return progress.step(lambda: fitted(flat))

        result = lbfgs(
            mean_objective(self._rule(), X, codes, ridge=ridge),
            A0.ravel(),
            max_iter=self.max_iter,
            tol=self.tol,
            infimum=self._infimum(np.bincount(codes)) if self.reg == 0 else -np.inf,
            callback=after_iteration,
        )
        title = type(self).__name__
        result.warn_unless_converged(title, "Raise max_iter or tol, or scale the features.")
        if result.n_iter == 0 and result.reason == FLAT and len(self.classes_) > 1:
            warnings.warn(
                f"{title} did not leave its start, where the objective is flat: its distances may "
                "be too large or too small to tell neighbours apart. Scale the features, or give "
                "another init.",
                ConvergenceWarning,
                stacklevel=2,
            )
        for name, value in fitted(result.x).items():
            setattr(self, name, value)
        self.n_iter_ = result.n_iter
        return {
            "n_components": len(L0),
            "n_iter": result.n_iter,
            "initial_objective": result.history[0] + ridge * float(np.sum(rest**2)),
            "final_objective": result.value,
            "converged": result.converged,
            "reason": result.reason,
            "reg": self.reg,
        }

    def _start(self, X: Array, codes: np.ndarray, factor: float) -> np.ndarray:
        """Return the first map, on the host, for samples that were multiplied by `factor`."""
        n, d = X.shape
        if self.n_components is not None and self.n_components > d:
            raise ValueError(f"n_components={self.n_components} must be at most n_features={d}.")
        if self.warm_start and hasattr(self, "components_"):
            return self._given(to_host(self.components_), d, "the map of the last fit") / factor
        if not isinstance(self.init, str):
            return self._given(to_host(self.init), d, "init") / factor
        k = self.n_components or d
        init = self.init
        if init == "auto":
            init = "pca" if k < min(n, d) else "identity"
            if k <= min(d, len(self.classes_) - 1) and _vary_within_classes(X, codes):
                init = "lda"
        if init == "identity":
            return np.eye(k, d)
        if init == "random":
            return check_random_state(self.random_state).normal(size=(k, d))
        if init == "pca":
            learner = PCA(n_components=k, random_state=self.random_state).fit(X)
        else:
            learner = _lda_with_all_rows(X, codes, k)
        return to_host(learner.components_).astype(np.float64)

    def _given(self, L: np.ndarray, d: int, name: str) -> np.ndarray:
        """Check a map that is given as the start."""
        L = check_array(L, dtype=np.float64, input_name=name)
        k = self.n_components
        rows = f"n_components={k}" if k is not None else f"1 to {d}"
        if L.shape[1] != d or L.shape[0] > d or (k is not None and L.shape[0] != k):
            raise ValueError(
                f"{name} has shape {L.shape}; it must have {rows} rows and n_features={d} columns."
            )
        return L


def _vary_within_classes(X: Array, codes: np.ndarray) -> bool:
    """Tell whether any class is more than a single point; X and codes are sorted by class."""
    same = codes[1:] == codes[:-1]
    moved = to_host(namespace(X).any(X[1:, :] != X[:-1, :], axis=1))
    return bool(np.any(same & moved))


def _lda_with_all_rows(X: Array, codes: np.ndarray, k: int) -> LDA:
    """Return LDA with k rows also where samples spread in fewer directions within classes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        learner = LDA(n_components=k).fit(X, codes)
        if learner.components_.shape[0] < k:
            learner = LDA(n_components=k, reg=1e-3).fit(X, codes)
    return learner


def _in_own_unit(X: Array) -> tuple[Array, float]:
    """Return centred samples times the power of two that brings them near 1, and that factor.

    Pairs do not see the origin, but rounding does: it lies among the samples, wherever an outlier
    is. The solver's tolerance means the same whatever unit the features come in.
    """
    some = to_host(X[:: max(1, X.shape[0] // 1000), :])  # in canonical order, so always the same
    centre = np.median(some, axis=0)
    size = float(np.median(np.sqrt(np.mean((some - centre) ** 2, axis=1, dtype=np.float64))))
    factor = 2.0 ** -round(np.log2(size)) if size > 0 else 1.0
    return (X - like(centre, X)) * factor, factor


def _in_span(
    X: Array, L0: np.ndarray, *, keep_rest: bool
) -> tuple[Array, np.ndarray, np.ndarray, Callable[[np.ndarray], np.ndarray]]:
    """Return X and a start in coordinates of the samples' span, and the way back for a map.

    With fewer samples than features, steps along a gradient never leave the span of the samples,
    so n columns are learned instead of d. What the start does to all other directions is kept,
    unless a ridge takes it to 0; the third value is what has been dropped.
    """
    if X.shape[0] > X.shape[1]:
        return X, L0, np.zeros(0), lambda A: A
    Q = namespace(X).linalg.qr(X.T, mode="reduced").Q
    basis = to_host(Q).astype(np.float64)
    A0 = L0 @ basis
    rest = L0 - A0 @ basis.T
    if keep_rest:
        return X @ Q, A0, np.zeros(0), lambda A: A @ basis.T + rest
    return X @ Q, A0, rest, lambda A: A @ basis.T
