"""Base class of linear learners, with the map x -> L (x - o) and its distance."""

from collections.abc import Callable, Iterator
from functools import partial
from operator import eq
from typing import Any, ClassVar

import array_api_compat as compat
import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from dimetric._arrays.blocks import row_blocks
from dimetric._arrays.namespaces import Array, asarray_like, eps, namespace, selected_rows
from dimetric._arrays.plain_input import is_finite, is_plain
from dimetric._arrays.threads import run_on_threads
from dimetric._arrays.validation import checked_mapped, checked_samples, ignoring_overflow
from dimetric._compat import Progress, check_same_namespace, wrap_like_input
from dimetric._warnings import warn
from dimetric.blocks.lazy import lazy_on_dask
from dimetric.blocks.source import Source
from dimetric.learners._base import Learner, WholeSampleValues
from dimetric.learners._converted_progress import ConvertedProgress
from dimetric.learners._identity_mix import DEFAULT_MIX, mixed, unmixed
from dimetric.learners._mix_choice import choose_mix
from dimetric.learners._pair_explanation import explain_pair_with
from dimetric.learners._pair_scoring import PairScoringMixin
from dimetric.linalg.psd import metric_of
from dimetric.supervision.labels import Supervision

BLOCK_ENTRIES = 2**22  # numbers in a block of differences, which take 32 MiB in float64
CACHE_BLOCK_ENTRIES = 2**16  # numbers in a block of centred samples, which fits a core's cache
MIN_ENTRIES_FOR_THREADS = 2**20  # to map fewer numbers takes no longer than to wake threads
MAX_METRIC_FEATURES = 2**14  # the metric of more features takes more than 2 GiB in float64


class LinearMetric(PairScoringMixin, Learner):
    r"""Base class of learners of a linear map, which defines a Mahalanobis distance.

    .. math:: z = L (x - o), \qquad d(x, x') = |L (x - x')| = \sqrt{(x - x')^T M (x - x')},
              \quad M = L^T L

    The method ``_fit`` of a subclass sets ``components_`` (L) and ``offset_`` (o). Results have the
    array library, dtype and device of the input. To map new samples, L is moved to their device.
    """

    components_: Array
    offset_: Array
    _fitted_attributes: ClassVar[tuple[str, ...]] = ("components_", "offset_")
    _accepts_sparse: ClassVar[bool] = True
    # Whether the learner reduces the dimension by default. `identity_mix` then keeps the span of
    # the map. Otherwise it does so only if `n_components` is set.
    _reduces_dimension: ClassVar[bool] = False
    identity_mix: float | str | None  # not a parameter of learners such as PCA
    _whole_sample_values: ClassVar[WholeSampleValues] = {
        "identity_mix": (partial(eq, "auto"), "None or a number in [0, 1]")
    }

    def _learn(
        self, X: Array, supervision: Supervision | None, progress: Progress
    ) -> dict[str, Any]:
        """Call ``_fit``, and mix the metric with the identity."""
        if not hasattr(self, "identity_mix"):
            return self._fit(X, supervision, progress)
        self._remove_mix_of_start()
        is_auto = self.identity_mix == "auto"
        choice = choose_mix(self, X, supervision) if is_auto else None
        a = self._given_mix() if choice is None else choice["identity_mix"]
        metadata = self._mixed_fit(lambda each: self._fit(X, supervision, each), a, progress)
        if is_auto and choice is None:
            warn(
                f"identity_mix='auto' of {self._name} found too few samples, pairs or triplets to "
                f"hold some out, so it uses identity_mix={a}. Set identity_mix to a number."
            )
        return metadata | (choice or {})

    def _learn_blocks(self, source: Source, progress: Progress) -> dict[str, Any]:
        """Call ``_fit_blocks``, and mix the metric with the identity."""
        if not hasattr(self, "identity_mix"):
            return self._fit_blocks(source, progress)
        self._remove_mix_of_start()
        a = self._given_mix()
        return self._mixed_fit(lambda each: self._fit_blocks(source, each), a, progress)

    def _remove_mix_of_start(self) -> None:
        """Restore the map before mixing, if it is the start of this fit."""
        if getattr(self, "warm_start", False) and hasattr(self, "components_"):
            a = getattr(self, "_metadata", {}).get("identity_mix", 0.0)
            self.components_ = unmixed(self.components_, a, **self._mix_options())

    def _mixed_fit(
        self, fit: Callable[[Progress | ConvertedProgress], dict[str, Any]], a: float, progress: Any
    ) -> dict[str, Any]:
        """Call a function that fits the learner, and mix the metric with the identity."""

        def with_mix(fitted: dict[str, Any]) -> dict[str, Any]:
            L = mixed(fitted["components_"], a, **self._mix_options())
            return fitted | {"components_": L}

        metadata = fit(ConvertedProgress(progress, with_mix))
        if a > 0 and {"final_objective", "margin"} & metadata.keys():
            metadata["objective_of"] = "the metric before mixing"
        return metadata | self._mix_with_identity(a)

    def _mix_with_identity(self, a: float) -> dict[str, Any]:
        """Mix the metric with the identity, and return the metadata."""
        self.components_ = mixed(self.components_, a, **self._mix_options())
        return {"identity_mix": a, "n_components": self.components_.shape[0]}

    def _given_mix(self) -> float:
        """Return the weight of the identity, or the default if it is not a number."""
        a = self.identity_mix
        return DEFAULT_MIX if a is None or isinstance(a, str) else float(a)

    def _select_rows(self, rows: np.ndarray) -> None:
        """Let parameters that hold row indices of X refer to some of its rows only."""

    def _mix_options(self) -> dict[str, bool]:
        """Return whether mixing adds rows to the map, and whether the map is diagonal."""
        is_reduced = self._reduces_dimension or getattr(self, "n_components", None) is not None
        return {
            "all_directions": not is_reduced,
            "diagonal": getattr(self, "diagonal", False),
        }

    def transform(self, X: Array) -> Array:
        """Map samples: return ``(X - offset_) @ components_.T``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        Z : array of shape (n_samples, n_components)
            Mapped samples, in the array library, dtype and device of X. A data frame if X is one.
        """
        check_is_fitted(self)
        # With array_api_dispatch, scikit-learn requires X and the map to have the same namespace.
        # Without it, this check does nothing.
        check_same_namespace(X, self, attribute="components_", method="transform")
        Z = self._mapped_if_finite(X)
        if Z is None:
            Z = checked_mapped(self._product(checked_samples(self, X, reset=False)))
        return wrap_like_input(Z, X, self)

    def _mapped_if_finite(self, X: Array) -> Array | None:
        """Return the map of a large valid NumPy array, or None if it may not be finite.

        If the map uses all features, NaN and infinity in X appear in the result. Checking only this
        result saves reading X once more.
        """
        L = self.components_
        if not isinstance(X, np.ndarray) or X.size < CACHE_BLOCK_ENTRIES:
            return None
        if not is_plain(self, X, reset=False, min_samples=1, must_be_finite=False):
            return None
        if not isinstance(L, np.ndarray) or not np.all(np.any(L, axis=0)):
            return None
        Z = self._product(X)
        return Z if is_finite(Z) else None

    def _product(self, X: Array) -> Array:
        """Return L (x - o) for all rows x of X."""
        L, offset = asarray_like(self.components_, X), asarray_like(self.offset_, X)
        with ignoring_overflow():
            if sparse.issparse(X):
                return X @ L.T - offset @ L.T
            if namespace(offset).any(offset != 0):
                return _centred_product(X, offset, L)
            return X @ L.T

    @lazy_on_dask
    def inverse_transform(self, Z: Array) -> Array:
        r"""Map back: return :math:`o + L^+ z`, the pre-images that are closest to the offset.

        These are the original samples if L keeps all directions in which they differ from the
        offset.

        Parameters
        ----------
        Z : array-like of shape (n_samples, n_components)
            Mapped samples.

        Returns
        -------
        X : array of shape (n_samples, n_features)
            Pre-images, in the array library, dtype and device of Z.
        """
        check_is_fitted(self)
        Z = self._checked_mapped(Z)
        xp = namespace(Z)
        L = asarray_like(self.components_, Z)
        # Normalise the rows: after whitening their lengths differ, and pinv would drop short ones.
        length = xp.sqrt(xp.sum(L * L, axis=1))
        length = xp.where(length > 0, length, xp.ones_like(length))
        back = xp.linalg.pinv(L / length[:, None]) / length
        return Z @ back.T + asarray_like(self.offset_, Z)

    def transformer(self) -> Array:
        """Return the map L, of shape (n_components, n_features)."""
        check_is_fitted(self)
        return self.components_

    def metric(self) -> Array:
        """Return the symmetric positive semidefinite matrix M = L^T L of the distance."""
        check_is_fitted(self)
        d = self.n_features_in_
        if d > MAX_METRIC_FEATURES:
            raise MemoryError(
                f"The metric of {d} features is a {d} x {d} matrix, which needs "
                f"{8 * d * d / 2**30:,.0f} GiB of memory. Use transformer() for the map L with "
                "M = L^T L, transform(X) for mapped samples, or pair_distance(pairs, X) for the "
                "distances of pairs of row indices of X."
            )
        return metric_of(self.components_)

    def explain_pair(self, x: Array, x2: Array) -> Array:
        r"""Return the part of each feature in the squared distance between two samples.

        .. math:: d^2(x, x') = \sum_k \delta_k (M \delta)_k, \qquad \delta = x - x'

        A part is negative if the feature brings the samples closer, because its difference
        compensates those of correlated features.

        Parameters
        ----------
        x, x2 : array-like of shape (n_features,) or (n_samples, n_features)
            Samples, such as rows of an array or of a data frame. The rows of two blocks are
            compared one by one, and one sample is compared with all rows of a block.

        Returns
        -------
        parts : array of shape (n_features,) or (n_samples, n_features)
            The parts :math:`\delta_k (M \delta)_k`, which sum to the squared distance, in the array
            library, dtype and device of x.
        """
        check_is_fitted(self)
        return explain_pair_with(self, self, x, x2)

    def metadata(self) -> dict[str, Any]:
        """Return information about the fit, such as the objective, iterations, rank and time."""
        # The rank is computed on demand, because that can take longer than the fit.
        return super().metadata() | {"rank": self._metric_rank()}

    def _distances(self, points: Array, rows: np.ndarray) -> Array:
        L = asarray_like(self.components_, points)
        xp = namespace(points)
        width = L.shape[0] if sparse.issparse(points) else points.shape[1]
        blocks = row_blocks(max(1, len(rows)), max(1, BLOCK_ENTRIES // width))
        distances = [
            _row_norms(
                (selected_rows(points, rows[b, 0]) - selected_rows(points, rows[b, 1])) @ L.T
            )
            for b in blocks
        ]
        return xp.concat(distances)

    @property
    def _n_features_out(self) -> int:
        return self.components_.shape[0]

    def _metric_rank(self) -> int:
        """Return the numerical rank of M, with the tolerance d * eps * (largest eigenvalue)."""
        L = self.components_
        xp = namespace(L)
        largest = xp.max(xp.abs(L))
        values = xp.linalg.svdvals(L / xp.where(largest > 0, largest, xp.ones_like(largest))) ** 2
        tolerance = self.n_features_in_ * eps(values) * xp.max(values)
        return int(xp.sum(xp.astype(values > tolerance, xp.int64)))


def _centred_product(X: Array, offset: Array, L: Array) -> Array:
    """Return ``(X - offset) @ L.T``.

    NumPy arrays are centred in blocks that stay in the cache, because writing and reading all
    centred samples takes longer than the product. Centring after the product would be faster still,
    but would lose digits if the offset is large.
    """
    n, d = X.shape
    rows = max(1, CACHE_BLOCK_ENTRIES // d)
    if not compat.is_numpy_array(X) or n <= rows:
        return (X - offset) @ L.T
    Z = np.empty((n, L.shape[0]), X.dtype)
    weights = np.ascontiguousarray(L.T)  # BLAS has faster code for small products of such arrays

    def work(blocks: Iterator[slice]) -> None:
        buffer = np.empty((rows, d), X.dtype)
        for b in blocks:
            centred = np.subtract(X[b], offset, out=buffer[: b.stop - b.start])
            np.matmul(centred, weights, out=Z[b])

    max_threads = 1 if X.size < MIN_ENTRIES_FOR_THREADS else None
    blocks = list(row_blocks(n, rows))
    run_on_threads(work, blocks, n_rows=n, max_threads=max_threads, shared_queue=True)
    return Z


def _row_norms(vectors: Array) -> Array:
    """Return the norm of each row.

    Each row is divided by its largest entry first, so that squares neither overflow nor underflow.
    """
    xp = namespace(vectors)
    largest = xp.max(xp.abs(vectors), axis=1, keepdims=True)
    largest = xp.where(largest > 0, largest, xp.ones_like(largest))
    return largest[:, 0] * xp.sqrt(xp.sum((vectors / largest) ** 2, axis=1))
