"""The base class of kernel learners."""

from contextlib import AbstractContextManager, nullcontext
from typing import Any, ClassVar, NoReturn

import numpy as np
from scipy import sparse
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from dimetric._arrays.blas_limit import one_blas_thread
from dimetric._arrays.blocks import row_blocks
from dimetric._arrays.namespaces import (
    Array,
    asarray_like,
    namespace,
    take_rows,
    to_host,
)
from dimetric._arrays.validation import checked_mapped, checked_samples, ignoring_overflow
from dimetric._compat import StrOptions, check_same_namespace, wrap_like_input
from dimetric.blocks.source import Source
from dimetric.kernels._block_space import BlockSpace, UsedRows, block_space
from dimetric.kernels._coordinates import Coordinates
from dimetric.kernels._feature_space import feature_space
from dimetric.kernels._function import BLOCK_ENTRIES, KernelFunction, check_precomputed
from dimetric.kernels.kernel import NAMES, Kernel, KernelLike, as_kernel, checked_kernel
from dimetric.learners._base import Learner, NamedObjects
from dimetric.learners._pair_scoring import PairScoringMixin

ONE_THREAD_SAMPLES = 2000  # up to this many samples, BLAS is faster with one thread


def blas_threads_for(n_samples: int) -> AbstractContextManager[Any]:
    """Return a context that limits BLAS to one thread if there are few samples."""
    return one_blas_thread() if n_samples <= ONE_THREAD_SAMPLES else nullcontext()


class KernelMetric(PairScoringMixin, Learner):
    r"""A learner of a linear map in the feature space of a kernel.

    .. math:: z = A\, (k(S, x) - o), \qquad d(x, x') = |z - z'|

    S holds the reference samples, which are the training samples or landmarks. The method ``_fit``
    of a subclass gets coordinates of the training samples from ``_fit_coordinates``, learns a map
    of the coordinates, and sets the attributes that ``_map_attributes`` returns. ``metric()``
    raises an error, because the distance is not a function of the difference x - x'.
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
    _fits_sparse: ClassVar[bool] = True

    @property
    def _accepts_sparse(self) -> bool:  # type: ignore[override]
        return as_kernel(self.kernel).name != "precomputed"

    def _object_for(self, name: str, value: Any = None) -> Any:
        if name != "kernel":
            return super()._object_for(name, value)
        return as_kernel(self.kernel if value is None else value)

    def transform(self, X: Array) -> Array:
        """Map samples by the learned map, ``(k(X, S) - offset_) @ components_.T``.

        S holds the reference samples, which are the training samples or the landmarks.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples. If the kernel is precomputed, the kernel between these samples (rows) and the
            training samples (columns).

        Returns
        -------
        Z : array of shape (n_samples, n_components)
            Mapped samples, in X's namespace, dtype and device. A data frame if X is one.
        """
        check_is_fitted(self)
        check_same_namespace(X, self, attribute="components_", method="transform")
        samples = checked_samples(self, X, reset=False)
        with ignoring_overflow():
            Z = self._mapped(samples)
        return wrap_like_input(checked_mapped(Z), X, self)

    def transformer(self) -> Array:
        """Return the coefficients A, of shape (n_components, n_references)."""
        check_is_fitted(self)
        return self.components_

    def metric(self) -> NoReturn:
        """Raise an AttributeError, because the distance has no matrix. See :meth:`transformer`."""
        check_is_fitted(self)
        raise AttributeError(
            f"{type(self).__name__} learns a distance in the feature space of a kernel, which has "
            "no matrix M. Use transformer() for the coefficients of the map, or pair_distance() "
            "for distances."
        )

    def _distances(self, points: Array, rows: np.ndarray) -> Array:
        Z = self._mapped(points)
        difference = take_rows(Z, rows[:, 0]) - take_rows(Z, rows[:, 1])
        return namespace(difference).linalg.vector_norm(difference, axis=1)

    def _mapped(self, X: Array) -> Array:
        """Map validated samples in blocks, with sums in float64."""
        xp = namespace(X)
        A, offset = (asarray_like(a, X, dtype=xp.float64) for a in (self.components_, self.offset_))
        # Sparse rows are made dense if the reference samples are dense.
        width = max(A.shape[1], X.shape[1]) if sparse.issparse(X) else A.shape[1]
        blocks = row_blocks(X.shape[0], max(1, BLOCK_ENTRIES // width))
        mapped = [(self._reference_kernel(X[rows, :]) - offset) @ A.T for rows in blocks]
        return xp.astype(xp.concat(mapped), X.dtype, copy=False)

    def _reference_kernel(self, X: Array) -> Array:
        """Return the kernel between samples and the reference samples, in float64."""
        xp = namespace(X)
        if self._kernel.name != "precomputed":
            S = self.X_fit_
            if sparse.issparse(S):
                K = asarray_like(self._kernel(to_host(X), S), X)
            else:
                K = self._kernel(X.toarray() if sparse.issparse(X) else X, asarray_like(S, X))
        elif hasattr(self, "landmarks_"):
            K = xp.take(X, asarray_like(self.landmarks_, X, dtype=xp.int64), axis=1)
        else:
            K = X
        return xp.astype(K, xp.float64, copy=False)

    def _fit_coordinates(
        self,
        X: Array,
        n_components: float | None,
        weights: np.ndarray | None = None,
        *,
        principal: bool,
    ) -> Coordinates:
        """Store the kernel and its reference samples, and return coordinates of the samples."""
        kernel = checked_kernel(self.kernel)
        space = feature_space(X, kernel, n_components, weights, principal=principal)
        self._kernel, self.gamma_ = space.function, space.function.gamma
        self.X_fit_ = space.references
        if space.landmark_rows is not None:
            self.landmarks_ = asarray_like(space.landmark_rows, X, dtype=namespace(X).int64)
        return space.coordinates

    def _block_obstacle(self) -> str:
        kernel = as_kernel(self.kernel)
        if kernel.name == "precomputed":
            return (
                f"{type(self).__name__} with a precomputed kernel needs all samples at once. For "
                "samples in blocks, use another kernel with n_landmarks."
            )
        if kernel.n_landmarks is None:
            return (
                f"{type(self).__name__} without landmarks needs all samples at once. For samples "
                "in blocks, set n_landmarks, for example kernel=Kernel(n_landmarks=500)."
            )
        return ""

    def _fit_block_space(
        self, source: Source, n_components: float | None, used: UsedRows
    ) -> BlockSpace:
        """Store the kernel and its landmarks, and return coordinates of samples in blocks."""
        space = block_space(source, checked_kernel(self.kernel), n_components, used)
        coordinates = space.coordinates
        self._kernel, self.gamma_ = coordinates.function, coordinates.function.gamma
        self.X_fit_ = coordinates.landmarks
        if space.landmark_rows is not None:
            self.landmarks_ = space.landmark_rows
        return space

    def _map_attributes(
        self, coordinates: Coordinates | BlockSpace, L: Array, X: Array
    ) -> dict[str, Array]:
        """Return `components_` and `offset_` for a map L of the coordinates."""
        A = coordinates.lift(to_host(L).astype(np.float64))
        return {"components_": asarray_like(A, X), "offset_": asarray_like(coordinates.mean, X)}

    def _take_samples(self, X: Array, rows: np.ndarray) -> Array:
        if as_kernel(self.kernel).name != "precomputed":
            return super()._take_samples(X, rows)
        check_precomputed(X)
        columns = asarray_like(rows, X, dtype=namespace(X).int64)
        return namespace(X).take(take_rows(X, rows), columns, axis=1)

    def _restore_rows(self, used: np.ndarray) -> None:
        rows = np.flatnonzero(used)
        if hasattr(self, "landmarks_"):
            landmarks = rows[to_host(self.landmarks_)]
            self.landmarks_ = asarray_like(landmarks, self.landmarks_)
        elif self._kernel.name == "precomputed":
            # transform gets the kernel with all samples, of which unused ones have no effect.
            for name in ("components_", "offset_"):
                value = to_host(getattr(self, name))
                expanded = np.zeros((*value.shape[:-1], len(used)))
                expanded[..., rows] = value
                setattr(self, name, asarray_like(expanded, getattr(self, name)))

    @property
    def _n_features_out(self) -> int:
        return self.components_.shape[0]

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = as_kernel(self.kernel).name == "precomputed"
        return tags
