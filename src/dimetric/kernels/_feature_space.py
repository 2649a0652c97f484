"""Coordinates of training samples in the feature space of a kernel.

The samples are first sorted into a canonical order, so that sums do not depend on the order in
which the user passed them. The results refer to the user's order again.
"""

from dataclasses import dataclass, replace

import numpy as np

from dimetric._arrays.namespaces import (
    Array,
    asarray_like,
    namespace,
    selected_rows,
    take_rows,
    to_host,
)
from dimetric._arrays.row_order import canonical_order
from dimetric._arrays.validation import rescale_for_squares
from dimetric.kernels._coordinates import (
    Coordinates,
    cholesky_coordinates,
    landmark_coordinates,
    pca_coordinates,
)
from dimetric.kernels._eigenpairs import is_iterative
from dimetric.kernels._function import KernelFunction, check_precomputed, check_symmetric
from dimetric.kernels._landmarks import first_of_equals, kmeans_landmarks, landmark_rows
from dimetric.kernels.kernel import Kernel
from dimetric.linalg.centred_products import MAX_SAMPLES_ON_ONE_THREAD


@dataclass(frozen=True)
class FeatureSpace:
    """Coordinates of the training samples, and the kernel for new samples.

    Attributes
    ----------
    coordinates : Coordinates
        The coordinates.
    function : KernelFunction
        The kernel function.
    references : array of shape (m, d) or None
        Reference samples: the training samples or the landmarks. None if the kernel is precomputed.
    landmark_rows : ndarray of shape (m,) or None
        Row indices of the landmarks. None if all samples are used, or if the landmarks are not
        samples.
    """

    coordinates: Coordinates
    function: KernelFunction
    references: Array | None = None
    landmark_rows: np.ndarray | None = None


def feature_space(
    X: Array,
    kernel: Kernel,
    n_components: float | None,
    weights: np.ndarray | None = None,
    *,
    principal: bool,
) -> FeatureSpace:
    """Return coordinates of samples in the feature space of a kernel.

    Parameters
    ----------
    X : array of shape (n, d)
        Samples. If the kernel is precomputed, the kernel matrix of shape (n, n).
    kernel : Kernel
        The kernel. Its own `n_components` is ignored.
    n_components : int, float in (0, 1) or None
        Maximum number of coordinates, fraction of the variance, or None for all coordinates.
    weights : ndarray of shape (n,), optional
        Weights of the samples. By default, all weights are 1.
    principal : bool
        Whether the coordinates must be principal coordinates.
    """
    rescale_for_squares(X)  # raises if squares overflow or underflow in this dtype
    n, precomputed = X.shape[0], kernel.name == "precomputed"
    if precomputed:
        check_precomputed(X)
        order = inverse = first = np.arange(n)
        ordered = X
    else:
        order = canonical_order(to_host(X), np.zeros(n, dtype=np.int64))
        inverse = np.argsort(order)
        ordered = selected_rows(X, order)
        # Identical samples get the coordinates of the first one, so their distance is exactly 0.
        first = first_of_equals(to_host(ordered))[inverse]
    weights = None if weights is None else weights[order]
    function = KernelFunction.for_samples(ordered, kernel, weights)
    if kernel.n_landmarks is not None and kernel.n_landmarks < n:
        space = _with_landmarks(ordered, order, kernel, function, n_components, weights)
        coordinates = space.coordinates
        adjusted = replace(coordinates, compute=lambda: take_rows(coordinates.compute(), first))
        return replace(space, coordinates=adjusted)
    coordinates = _with_all_samples(ordered, order, function, n_components, weights, principal)
    in_user_order = replace(
        coordinates,
        compute=lambda: take_rows(coordinates.compute(), first),
        mean=coordinates.mean[inverse],
        lift=lambda L: coordinates.lift(L)[:, inverse],
    )
    # Store a copy of the samples, because the user may change X after fit.
    references = None if precomputed else selected_rows(ordered, inverse)
    return FeatureSpace(in_user_order, function, references)


def _with_all_samples(
    X: Array,
    order: np.ndarray,
    function: KernelFunction,
    n_components: float | None,
    weights: np.ndarray | None,
    principal: bool,
) -> Coordinates:
    """Return coordinates computed from the kernel matrix of all samples."""
    n = X.shape[0]
    is_large = n > MAX_SAMPLES_ON_ONE_THREAD and is_iterative(n_components, n)
    if principal and is_large and weights is None and function.can_pack(X):
        return pca_coordinates(function.packed(X), n_components, definite=function.is_definite)
    K = function.gram(X)
    if callable(function.name):
        check_symmetric(K, order)
    coordinates_of = pca_coordinates if principal else cholesky_coordinates
    return coordinates_of(K, n_components, definite=function.is_definite, weights=weights)


def _with_landmarks(
    X: Array,
    order: np.ndarray,
    kernel: Kernel,
    function: KernelFunction,
    n_components: float | None,
    weights: np.ndarray | None,
) -> FeatureSpace:
    """Return coordinates computed from the kernel between samples and landmarks."""
    m, strategy, random_state = int(kernel.n_landmarks or 0), kernel.landmarks, kernel.random_state
    precomputed = kernel.name == "precomputed"
    if strategy == "kmeans":
        if precomputed:
            raise ValueError(
                "landmarks='kmeans' does not support a precomputed kernel. Use 'uniform' or "
                "'greedy'."
            )
        S = kmeans_landmarks(X, m, random_state, weights)
        coordinates = landmark_coordinates(function, X, S, n_components, weights)
        return FeatureSpace(coordinates, function, S)
    chosen = landmark_rows(strategy, function, X, m, random_state)
    S = selected_rows(X, chosen)
    if precomputed:
        columns = asarray_like(chosen, X, dtype=namespace(X).int64)
        X, S = (namespace(X).take(K, columns, axis=1) for K in (X, S))
    elif callable(function.name):
        check_symmetric(function.gram(S), order[chosen])
    coordinates = landmark_coordinates(function, X, S, n_components, weights)
    return FeatureSpace(coordinates, function, None if precomputed else S, order[chosen])
