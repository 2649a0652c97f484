"""What kernel learners share: the parameter `kernel`, and the learned map x -> A (k(S, x) - o)."""

from contextlib import AbstractContextManager, nullcontext
from typing import Any, ClassVar, NoReturn

import numpy as np
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from dimetric._arrays.blocks import row_blocks
from dimetric._arrays.namespaces import Array, asarray_like, namespace, take_rows, to_host
from dimetric._arrays.threads import one_blas_thread
from dimetric._arrays.validation import checked_samples
from dimetric._compat import StrOptions, check_same_namespace, wrap_like_input
from dimetric.kernels._feature_space import feature_space
from dimetric.kernels._function import BLOCK, KernelFunction
from dimetric.kernels._space import Space
from dimetric.kernels.kernel import NAMES, Kernel, KernelLike, as_kernel, checked_kernel
from dimetric.learners._base import Learner, NamedObjects
from dimetric.learners._pair_scoring import PairScoringMixin

ONE_THREAD_SAMPLES = 2000  # up to so many samples, further threads of BLAS cost more than they gain


def blas_threads_for(n_samples: int) -> AbstractContextManager[Any]:
    """Return a context that gives BLAS one thread if there are few samples."""
    return one_blas_thread() if n_samples <= ONE_THREAD_SAMPLES else nullcontext()


class KernelMetric(PairScoringMixin, Learner):
    r"""A learner of a linear map of the feature space of a kernel, and so of a distance.

    .. math:: z = A\, (k(S, x) - o), \qquad d(x, x') = |z - z'|

    S are the samples of the fit, or landmarks. A learner's ``_fit`` asks for the coordinates of
    its samples by ``_space``, learns a map of them, and sets the attributes that ``_map`` returns.
    There is no ``metric()``: the distance is no function of differences between samples.
    """

    components_: Array
    offset_: Array
    X_fit_: Array | None
    landmarks_: Array
    gamma_: float
    _kernel: KernelFunction
    _fitted_attributes: ClassVar[tuple[str, ...]] = ("components_", "offset_")
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "kernel": [StrOptions(NAMES), Kernel, callable]
    }
    _named_objects: ClassVar[NamedObjects] = {"kernel": dict.fromkeys(sorted(NAMES), Kernel)}
    kernel: KernelLike

    def _object_for(self, name: str, given: Any = None) -> Any:
        if name != "kernel":
            return super()._object_for(name, given)
        return as_kernel(self.kernel if given is None else given)

    def transform(self, X: Array) -> Array:
        """Return the samples under the learned map, ``(k(X, S) - offset_) @ components_.T``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples; or, if the kernel is precomputed, its values between these samples and those of
            the fit.

        Returns
        -------
        Z : array of shape (n_samples, n_components)
            In X's namespace, dtype and device; a data frame where X is one.
        """
        check_is_fitted(self)
        check_same_namespace(X, self, attribute="components_", method="transform")
        samples = checked_samples(self, X, reset=False)
        return wrap_like_input(self._mapped(samples), X, self)

    def transformer(self) -> Array:
        """Return the coefficients A, of shape (n_components, n_references)."""
        check_is_fitted(self)
        return self.components_

    def metric(self) -> NoReturn:
        """Raise an error: the distance has no matrix. See :meth:`transformer`."""
        check_is_fitted(self)
        raise AttributeError(
            f"{type(self).__name__} learns a distance in the feature space of a kernel, which no "
            "matrix M of the features gives. transformer() returns its coefficients, "
            "pair_distance() its distances."
        )

    def _distances(self, points: Array, rows: np.ndarray) -> Array:
        Z = self._mapped(points)
        difference = take_rows(Z, rows[:, 0]) - take_rows(Z, rows[:, 1])
        return namespace(difference).linalg.vector_norm(difference, axis=1)

    def _mapped(self, X: Array) -> Array:
        """Map checked samples in blocks; sums are in float64."""
        xp = namespace(X)
        A, offset = (asarray_like(a, X, dtype=xp.float64) for a in (self.components_, self.offset_))
        blocks = row_blocks(X.shape[0], max(1, BLOCK // A.shape[1]))
        mapped = [(self._references(X[rows, :]) - offset) @ A.T for rows in blocks]
        return xp.astype(xp.concat(mapped), X.dtype, copy=False)

    def _references(self, X: Array) -> Array:
        """Return the kernel between samples and the references of the map, in float64."""
        xp = namespace(X)
        if self._kernel.name != "precomputed":
            K = self._kernel(X, asarray_like(self.X_fit_, X))
        elif hasattr(self, "landmarks_"):
            K = xp.take(X, asarray_like(self.landmarks_, X, dtype=xp.int64), axis=1)
        else:
            K = X
        return xp.astype(K, xp.float64, copy=False)

    def _space(self, X: Array, n_components: float | None, *, principal: bool) -> Space:
        """Return coordinates of the samples; set what the kernel of new samples needs."""
        found = feature_space(X, checked_kernel(self.kernel), n_components, principal=principal)
        self._kernel, self.gamma_ = found.function, found.function.gamma
        self.X_fit_ = found.references
        if found.rows is not None:
            self.landmarks_ = asarray_like(found.rows, X, dtype=namespace(X).int64)
        return found.space

    def _map(self, space: Space, L: Array, X: Array) -> dict[str, Array]:
        """Return the fitted attributes of a map L of the coordinates."""
        A = space.lift(to_host(L).astype(np.float64))
        return {"components_": asarray_like(A, X), "offset_": asarray_like(space.mean, X)}

    @property
    def _n_features_out(self) -> int:
        return self.components_.shape[0]

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = as_kernel(self.kernel).name == "precomputed"
        return tags
