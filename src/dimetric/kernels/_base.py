"""What kernel learners share: parameters of the kernel, and the learned map x -> A k(S, x)."""

from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar, NoReturn

import numpy as np
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from dimetric._arrays.blocks import row_blocks
from dimetric._arrays.namespaces import Array, like, namespace, to_host
from dimetric._arrays.row_order import canonical_order
from dimetric._arrays.threads import one_blas_thread
from dimetric._arrays.validation import checked_samples, rescale_for_squares, take_rows
from dimetric._compat import Interval, StrOptions, check_same_namespace, framed
from dimetric.kernels.functions import (
    BLOCK,
    NAMES,
    Kernel,
    KernelLike,
    checked_precomputed,
    checked_symmetric,
)
from dimetric.kernels.landmarks import (
    STRATEGIES,
    chosen_landmarks,
    first_of_equals,
    kmeans_landmarks,
)
from dimetric.kernels.space import (
    Space,
    are_few,
    exact_space,
    landmark_space,
    principal_space,
)
from dimetric.learners._base import Learner
from dimetric.learners._pair_scoring import PairScoringMixin
from dimetric.supervision.validation import checked_pair_rows

FEW = 2000  # samples up to which more threads of BLAS cost more than they gain


def blas_threads_for(n_samples: int) -> AbstractContextManager[Any]:
    """Return a context that leaves BLAS one thread, where more would only wait for each other."""
    return one_blas_thread() if n_samples <= FEW else nullcontext()


class KernelMetric(PairScoringMixin, Learner):
    r"""A learner of a linear map of the feature space of a kernel, and so of a distance.

    .. math:: z = A\, (k(S, x) - o), \qquad d(x, x') = |z - z'|

    S are the samples of the fit, or landmarks. A learner's ``_fit`` asks for the coordinates of
    its samples, ``_space``, and sets ``components_`` (A) and the rest as ``_map`` says. There is no
    ``metric()``: the distance is no function of differences between samples.
    """

    components_: Array
    offset_: Array
    X_fit_: Array | None
    landmarks_: Array
    gamma_: float
    _fitted_attribute: ClassVar[str] = "components_"
    _kernel_constraints: ClassVar[dict[str, list[Any]]] = {
        "kernel": [StrOptions(NAMES), callable],
        "gamma": [StrOptions({"scale", "auto"}), Interval(Real, 0, None, closed="neither")],
        "degree": [Interval(Real, 0, None, closed="neither")],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "kernel_params": [dict, None],
        "n_landmarks": [Interval(Integral, 2, None, closed="left"), None],
        "landmarks": [StrOptions(STRATEGIES)],
        "random_state": ["random_state"],
    }
    kernel: KernelLike
    gamma: float | str
    degree: float
    coef0: float
    kernel_params: dict[str, Any] | None
    n_landmarks: int | None
    landmarks: str
    random_state: Any

    def transform(self, X: Array) -> Array:
        """Return the samples under the learned map, ``(k(X, S) - offset_) @ components_.T``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples; of a precomputed kernel, its values between them and the samples of the fit.

        Returns
        -------
        Z : array of shape (n_samples, n_components)
            In X's namespace, dtype and device; a data frame where X is one.
        """
        check_is_fitted(self)
        check_same_namespace(X, self, attribute="components_", method="transform")
        samples = checked_samples(self, X, reset=False)
        return framed(self._mapped(samples), X, self)

    def transformer(self) -> Array:
        """Return the coefficients A, of shape (n_components, n_references)."""
        check_is_fitted(self)
        return self.components_

    def metric(self) -> NoReturn:
        """Raise: a kernel's distance has no matrix. See :meth:`transformer`."""
        check_is_fitted(self)
        raise AttributeError(
            f"{type(self).__name__} learns a distance in the feature space of a kernel, which no "
            "matrix M of the features gives. Its coefficients are transformer(), its distances "
            "pair_distance()."
        )

    def pair_distance(self, pairs: Any, X: Array | None = None) -> Array:
        """Return the learned distance between the two samples of each pair.

        Parameters
        ----------
        pairs : array-like of shape (n_pairs, 2, n_features), or Pairs or (n_pairs, 2) with X
            Pairs of vectors, or pairs of row numbers of X.
        X : array-like of shape (n_samples, n_features), optional
            The samples that row numbers refer to.

        Returns
        -------
        distances : array of shape (n_pairs,)
        """
        check_is_fitted(self)
        points, rows = checked_pair_rows(self, pairs, X)
        Z = self._mapped(points)
        difference = take_rows(Z, rows[:, 0]) - take_rows(Z, rows[:, 1])
        return namespace(difference).linalg.vector_norm(difference, axis=1)

    def _mapped(self, X: Array) -> Array:
        """Map checked samples, a block at a time; the sums are taken in float64."""
        xp = namespace(X)
        A, offset = (like(a, X, dtype=xp.float64) for a in (self.components_, self.offset_))
        blocks = row_blocks(X.shape[0], max(1, BLOCK // A.shape[1]))
        mapped = [(self._references(X[rows, :]) - offset) @ A.T for rows in blocks]
        return xp.astype(xp.concat(mapped), X.dtype, copy=False)

    def _references(self, X: Array) -> Array:
        """Return the kernel between samples and those that the map refers to, in float64."""
        xp = namespace(X)
        if self.kernel != "precomputed":
            K = self._kernel(X, like(self.X_fit_, X))
        elif hasattr(self, "landmarks_"):
            K = xp.take(X, like(self.landmarks_, X, dtype=xp.int64), axis=1)
        else:
            K = X
        return xp.astype(K, xp.float64, copy=False)

    def _space(self, X: Array, n_components: float | None, *, principal: bool) -> Space:
        """Return coordinates of the samples; set what the map will refer to."""
        rescale_for_squares(X)  # refuses what has no variance in this dtype
        xp, n = namespace(X), X.shape[0]
        precomputed = self.kernel == "precomputed"
        order = np.arange(n)
        if precomputed:
            checked_precomputed(X)
        else:  # sums in this order do not depend on how the samples came
            order = canonical_order(to_host(X), np.zeros(n, dtype=np.int64))
        place = np.argsort(order)
        ordered = X if precomputed else xp.take(X, like(order, X, dtype=xp.int64), axis=0)
        self._kernel = Kernel.for_samples(
            ordered,
            self.kernel,
            gamma=self.gamma,
            degree=self.degree,
            coef0=self.coef0,
            params=self.kernel_params,
        )
        self.gamma_ = self._kernel.gamma
        self.X_fit_ = None
        self.__dict__.pop("landmarks_", None)  # of an earlier fit
        space = self._of_ordered(ordered, order, n_components, principal)

        first = np.arange(n) if precomputed else first_of_equals(to_host(ordered))

        def scores() -> Array:
            # Equal samples have equal coordinates, to the last bit: they are at distance 0.
            return xp.take(space.scores(), like(first[place], X, dtype=xp.int64), axis=0)

        if self._has_landmarks(n):
            return replace(space, scores=scores)
        if not precomputed:
            self.X_fit_ = xp.take(ordered, like(place, X, dtype=xp.int64), axis=0)
        return replace(
            space,
            scores=scores,
            mean=space.mean[place],
            lift=lambda L: space.lift(L)[:, place],
        )

    def _has_landmarks(self, n: int) -> bool:
        return self.n_landmarks is not None and self.n_landmarks < n

    def _of_ordered(
        self, X: Array, order: np.ndarray, n_components: float | None, principal: bool
    ) -> Space:
        """Return coordinates from the kernel between all samples, or with landmarks."""
        xp, kernel = namespace(X), self._kernel
        if not self._has_landmarks(X.shape[0]):
            if principal and are_few(n_components, X.shape[0]) and kernel.has_half(X):
                return principal_space(kernel.half(X), n_components, definite=kernel.is_definite)
            K = kernel.gram(X)
            if callable(kernel.name):
                checked_symmetric(K, order)
            found = principal_space if principal else exact_space
            return found(K, n_components, definite=kernel.is_definite)
        if self.landmarks == "kmeans":
            if kernel.name == "precomputed":
                raise ValueError(
                    "landmarks='kmeans' needs samples, not a precomputed kernel; 'uniform' and "
                    "'greedy' do not."
                )
            self.X_fit_ = S = kmeans_landmarks(X, int(self.n_landmarks or 0), self.random_state)
            return landmark_space(kernel, X, S, n_components)
        chosen = chosen_landmarks(
            self.landmarks, kernel, X, int(self.n_landmarks or 0), self.random_state
        )
        rows = like(chosen, X, dtype=xp.int64)
        self.landmarks_ = like(order[chosen], X, dtype=xp.int64)
        if kernel.name == "precomputed":
            X = xp.take(X, rows, axis=1)
            return landmark_space(kernel, X, xp.take(X, rows, axis=0), n_components)
        self.X_fit_ = S = xp.take(X, rows, axis=0)
        if callable(kernel.name):
            checked_symmetric(kernel.gram(S), order[chosen])
        return landmark_space(kernel, X, S, n_components)

    def _map(self, space: Space, L: Array, X: Array) -> dict[str, Array]:
        """Return the attributes that make a map L of coordinates one of samples."""
        A = space.lift(to_host(L).astype(np.float64))
        return {"components_": like(A, X), "offset_": like(space.mean, X)}

    @property
    def _n_features_out(self) -> int:
        return self.components_.shape[0]

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags
