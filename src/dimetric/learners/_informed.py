"""What learners share that are told which samples are similar, by labels or by pairs."""

from collections.abc import Callable
from contextlib import nullcontext
from numbers import Integral, Real
from typing import Any, ClassVar

import array_api_compat as compat
import numpy as np

from dimetric._arrays.namespaces import Array, like, namespace, to_host
from dimetric._arrays.row_order import canonical_order
from dimetric._arrays.threads import one_blas_thread
from dimetric._compat import Interval, Progress
from dimetric.learners._base import LinearMetric, report
from dimetric.learners._solve import Watch
from dimetric.objectives.listed import differing
from dimetric.solvers.result import Result

# The fitted attributes that a map in the coordinates of a solver stands for.
Fitted = Callable[[np.ndarray], dict[str, Array]]


class InformedMetric(LinearMetric):
    """A learner from labels, or from similar and dissimilar pairs.

    It implements ``_learn``, with what is offered here.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "unlabelled": [Real, str, None],
        "verbose": ["verbose"],
    }
    _takes: ClassVar[tuple[str, ...]] = ("y", "pairs")
    max_iter: int
    tol: float
    verbose: int

    def _learn(self, X: Array, supervision: Any, progress: Progress) -> dict[str, Any]:
        """Do what ``_fit`` does."""
        raise TypeError(f"{type(self).__name__} does not say how it is fitted.")

    def _fit(self, X: Array, supervision: Any, progress: Progress) -> dict[str, Any]:
        # Objectives bring their own threads; all else is too short for those of BLAS.
        with one_blas_thread() if compat.is_numpy_array(X) else nullcontext():
            return self._learn(X, supervision, progress)

    def _in_order(self, X: Array, supervision: Any, *, by_class: bool) -> tuple[Array, Any]:
        """Return samples in canonical order, those with a label, and their codes or pairs.

        ValueError if none of them are dissimilar.
        """
        xp = namespace(X)
        is_labelled = isinstance(supervision, np.ndarray)
        codes = supervision if is_labelled else np.zeros(X.shape[0], dtype=np.int64)
        order = canonical_order(to_host(X), codes if by_class else np.zeros_like(codes))
        order = order[codes[order] >= 0]
        X, name = xp.take(X, like(order, X, dtype=xp.int64), axis=0), type(self).__name__
        if is_labelled:
            if len(self.classes_) == 1:
                raise ValueError(f"{name} needs dissimilar samples, but y holds one class.")
            return X, codes[order]
        pairs = supervision.reordered(order)
        if not differing(X, pairs.dissimilar).any():
            raise ValueError(
                f"{name} needs dissimilar samples that differ, but in every given pair they are "
                "the same point."
            )
        return X, pairs

    def _watch(
        self, fitted: Fitted, progress: Progress, shown: Callable[[float], float] = float
    ) -> Watch:
        """Return what tells of iterations; `shown` is the objective of a solver's value."""

        def watch(current: Any, value: float, n_iter: int) -> bool:
            if self.verbose:
                name = type(self).__name__
                report("[%s] iteration %d: objective %.6g", name, n_iter, shown(value))
            return progress.step(lambda: fitted(current()[0]))

        return watch

    def _ended(
        self, result: Result, attributes: dict[str, Any], remedy: str, **facts: Any
    ) -> dict[str, Any]:
        """Set the fitted attributes, warn if a solver did not converge, and return metadata."""
        result.warn_unless_converged(type(self).__name__, remedy)
        self.n_iter_, self.history_ = result.n_iter, result.history
        for name, value in attributes.items():
            setattr(self, name, value)
        return {
            "n_components": self.components_.shape[0],
            "n_iter": result.n_iter,
            "converged": result.converged,
            "reason": result.reason,
        } | facts
