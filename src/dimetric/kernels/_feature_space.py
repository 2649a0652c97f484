"""From samples and a kernel to coordinates in feature space: what the fit of a learner starts with.

The samples are put in a canonical order first, so that sums do not depend on the order they came
in. What is returned refers to their own order again.
"""

from dataclasses import dataclass, replace

import numpy as np

from dimetric._arrays.namespaces import Array, asarray_like, namespace, take_rows, to_host
from dimetric._arrays.row_order import canonical_order
from dimetric._arrays.validation import rescale_for_squares
from dimetric.kernels._function import KernelFunction, check_precomputed, check_symmetric
from dimetric.kernels._landmarks import first_of_equals, kmeans_landmarks, landmark_rows
from dimetric.kernels._space import (
    Space,
    are_few,
    exact_space,
    landmark_space,
    principal_space,
)
from dimetric.kernels.kernel import Kernel


@dataclass(frozen=True)
class FeatureSpace:
    """Coordinates of the samples of a fit, and what the kernel of new samples needs.

    Attributes
    ----------
    space : Space
        The coordinates.
    function : KernelFunction
        The kernel.
    references : array of shape (m, d) or None
        Samples that new samples are compared with: those of the fit, or landmarks. None if the
        kernel is precomputed.
    rows : ndarray of shape (m,) or None
        Rows of the landmarks, if there are any that are samples.
    """

    space: Space
    function: KernelFunction
    references: Array | None = None
    rows: np.ndarray | None = None


def feature_space(
    X: Array, kernel: Kernel, n_components: float | None, *, principal: bool
) -> FeatureSpace:
    """Return coordinates of samples in the feature space of a kernel.

    Parameters
    ----------
    X : array of shape (n, d)
        Samples; or the kernel between them, (n, n), if it is precomputed.
    kernel : Kernel
        The kernel. Its own `n_components` is not used.
    n_components : int, float in (0, 1) or None
        Largest number of coordinates, share of the variance, or all.
    principal : bool
        Whether the coordinates must be the principal ones.
    """
    rescale_for_squares(X)  # refuses samples without variance in this dtype
    n, precomputed = X.shape[0], kernel.name == "precomputed"
    if precomputed:
        check_precomputed(X)
        order = place = first = np.arange(n)
        ordered = X
    else:
        order = canonical_order(to_host(X), np.zeros(n, dtype=np.int64))
        place = np.argsort(order)
        ordered = take_rows(X, order)
        # Equal samples share the coordinates of the first one: their distance is exactly 0.
        first = first_of_equals(to_host(ordered))[place]
    function = KernelFunction.for_samples(ordered, kernel)
    if kernel.n_landmarks is not None and kernel.n_landmarks < n:
        found = _with_landmarks(ordered, order, kernel, function, n_components)
        space = found.space
        return replace(found, space=replace(space, scores=lambda: take_rows(space.scores(), first)))
    space = _with_all_samples(ordered, order, function, n_components, principal)
    in_given_order = replace(
        space,
        scores=lambda: take_rows(space.scores(), first),
        mean=space.mean[place],
        lift=lambda L: space.lift(L)[:, place],
    )
    references = None if precomputed else take_rows(ordered, place)  # a copy: X may change later
    return FeatureSpace(in_given_order, function, references)


def _with_all_samples(
    X: Array,
    order: np.ndarray,
    function: KernelFunction,
    n_components: float | None,
    principal: bool,
) -> Space:
    """Return coordinates from the kernel between all samples."""
    if principal and are_few(n_components, X.shape[0]) and function.can_pack(X):
        return principal_space(function.packed(X), n_components, definite=function.is_definite)
    K = function.gram(X)
    if callable(function.name):
        check_symmetric(K, order)
    space_of = principal_space if principal else exact_space
    return space_of(K, n_components, definite=function.is_definite)


def _with_landmarks(
    X: Array,
    order: np.ndarray,
    kernel: Kernel,
    function: KernelFunction,
    n_components: float | None,
) -> FeatureSpace:
    """Return coordinates from the kernel between all samples and landmarks."""
    m, strategy, random_state = int(kernel.n_landmarks or 0), kernel.landmarks, kernel.random_state
    precomputed = kernel.name == "precomputed"
    if strategy == "kmeans":
        if precomputed:
            raise ValueError(
                "landmarks='kmeans' needs samples, not a precomputed kernel; 'uniform' and "
                "'greedy' do not."
            )
        S = kmeans_landmarks(X, m, random_state)
        return FeatureSpace(landmark_space(function, X, S, n_components), function, S)
    chosen = landmark_rows(strategy, function, X, m, random_state)
    S = take_rows(X, chosen)
    if precomputed:
        columns = asarray_like(chosen, X, dtype=namespace(X).int64)
        X, S = (namespace(X).take(K, columns, axis=1) for K in (X, S))
    elif callable(function.name):
        check_symmetric(function.gram(S), order[chosen])
    space = landmark_space(function, X, S, n_components)
    return FeatureSpace(space, function, None if precomputed else S, order[chosen])
