"""The initial map of a solver."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.utils.validation import check_array

from dimetric._arrays.namespaces import Array, namespace, to_host
from dimetric._arrays.random_state import random_generator
from dimetric.learners.lda import LDA
from dimetric.learners.pca import PCA
from dimetric.objectives.objective import Objective, Ridge, on_maps
from dimetric.solvers import LBFGS
from dimetric.solvers.result import INFIMUM_REACHED, is_infimum

INIT_NAMES = {"auto", "identity", "pca", "lda", "random"}
MAX_SAMPLES_FOR_RESCALING = 500  # the scale of the start is fitted to at most this many samples
# Typical squared distance between samples under the start, if its scale is not optimised. On small
# data sets, NCA is about equally accurate for all values from 4 to 32. With 2,000 samples and 50
# features, values from 16 to 32 are best.
FIXED_SQUARED_DISTANCE = 16.0
# If the scale is optimised: the typical squared distance at which this search starts.
SEARCH_SQUARED_DISTANCE = 4.0
SCALE_TOL = 1e-4  # tolerance of the search; the solver refines the scale later
MAX_LOG_SCALE = 20.0  # largest absolute logarithm of the factor in the search, against overflow
MIN_START_LOG_SCALE = -3.0  # smallest logarithm of the factor that the search returns
LDA_RIDGE = 1e-3  # `reg` of LDA if it fails without regularisation
# Largest variance of samples mapped by LDA, whose classes have the variance 1. Beyond it, a
# direction without variance within classes was not left out because of rounding errors.
MAX_LDA_VARIANCE = 1e12


def automatic_start(X: Array, codes: np.ndarray | None, k: int) -> str:
    """Return the name of the start that ``init="auto"`` stands for.

    It is "lda" if there are classes and it has enough rows, otherwise "pca" if the map has fewer
    rows than ``min(n, d)``, otherwise "identity". The parameters are those of :func:`named_start`.
    """
    n, d = X.shape
    if codes is not None and k <= min(d, int(codes[-1])) and _vary_within_classes(X, codes):
        return "lda"
    return "pca" if k < min(n, d) else "identity"


def named_start(
    name: str,
    X: Array,
    codes: np.ndarray | None,
    k: int,
    *,
    weights: np.ndarray | None = None,
    random_state: Any = None,
) -> np.ndarray:
    """Return the initial map for a name given as ``init``, as a NumPy array.

    Parameters
    ----------
    name : {"identity", "pca", "lda", "random"}
        Name of the map.
    X : array of shape (n, d)
        Samples.
    codes : ndarray of shape (n,) or None
        Labels as integers from 0, in ascending order. None if the samples have no classes.
    k : int
        Number of rows of the map.
    weights : ndarray of shape (n,) or None
        Weights of the samples in "pca" and "lda". Their mean is 1. None if all are equal.
    random_state : int, RandomState or None
        Seed of "random" and of randomised PCA.
    """
    n, d = X.shape
    if name == "identity":
        return np.eye(k, d)
    if name == "random":
        return random_generator(random_state).normal(size=(k, d))
    if name == "pca":
        check_rows_of_pca(k, n, d)
        learner = PCA(n_components=k, random_state=random_state).fit(X, sample_weight=weights)
        return to_host(learner.components_).astype(np.float64)
    if codes is None:
        raise ValueError(
            "init='lda' needs class labels, but the samples have other targets, pairs or triplets. "
            "Use init='auto', 'pca' or 'identity'."
        )
    check_rows_of_lda(k, d, int(codes[-1]) + 1)

    def fit(learner: LDA) -> LDA:
        return learner.fit(X, codes, sample_weight=weights)

    def variances(L: np.ndarray) -> np.ndarray:
        return np.var(to_host(X).astype(np.float64) @ L.T, axis=0)

    return lda_with_all_rows(fit, variances, k)


def check_rows_of_pca(k: int, n: int, d: int) -> None:
    """Raise if ``init="pca"`` has fewer than k rows for n samples with d features."""
    if k > min(n, d):
        raise ValueError(
            f"init='pca' has at most min(n_samples, n_features)={min(n, d)} rows, but the map "
            f"has {k}. Set n_components, or use another init."
        )


def check_rows_of_lda(k: int, d: int, n_classes: int) -> None:
    """Raise if ``init="lda"`` has fewer than k rows for d features."""
    largest = min(d, n_classes - 1)
    if k > largest:
        raise ValueError(
            f"init='lda' has at most min(n_classes - 1, n_features)={largest} rows, but the map "
            f"has {k}. Set n_components, or use another init."
        )


def checked_start(
    L: Array, k: int | None, d: int, name: str, *, diagonal: bool = False
) -> np.ndarray:
    """Return the start as an array. Raise unless it has d columns and k rows (any if None)."""
    L = check_array(to_host(L), dtype=np.float64, input_name=name)
    rows = f"n_components={k}" if k is not None else f"from 1 to {d}"
    if L.shape[1] != d or L.shape[0] > d or (k is not None and L.shape[0] != k):
        raise ValueError(
            f"{name} has shape {L.shape}, but must have {rows} rows and n_features={d} columns."
        )
    if diagonal and np.any(np.diag(np.diag(L)) != L):
        raise ValueError(
            f"{name} is not a diagonal matrix, but diagonal=True. Pass np.diag(weights), with a "
            "weight for each feature."
        )
    return L


def check_diagonal(learner: Any, d: int, *, same_unit: bool) -> None:
    """Raise if a parameter of a learner cannot be combined with ``diagonal=True``.

    Parameters
    ----------
    learner : MeanLossMetric
        The learner.
    d : int
        Number of columns of X.
    same_unit : bool
        Whether the columns are coordinates that mix features, and not features.
    """
    if same_unit:
        raise ValueError(
            "diagonal=True learns a weight of each feature, but here the map is learned from "
            "coordinates that mix the features. Set diagonal=False."
        )
    mixes_features = isinstance(learner.init, str) and learner.init in ("pca", "lda")
    for name, is_wrong, remedy in (
        ("n_components", learner.n_components not in (None, d), "Set n_components=None."),
        ("solver", learner._solver().steps_over == "metrics", "Use solver='lbfgs'."),
        ("init", mixes_features, "Use init='identity' or 'random'."),
    ):
        if is_wrong:
            raise ValueError(
                f"diagonal=True learns a weight of each of the {d} features and cannot use "
                f"{name}={getattr(learner, name)!r}. {remedy}"
            )


def check_rows_of_metric(learner: Any, d: int) -> None:
    """Raise if a learner has a solver over metrics of d features, but fewer components."""
    k = learner.n_components
    if k is None or k >= d:
        return
    name, what = f"{learner._name}(solver={learner.solver!r})", "features"
    reduced = f"reduce the features first: make_pipeline(PCA({k}), {name})"
    if hasattr(learner, "_kernel_learner"):
        what, reduced = "coordinates", f"set kernel=Kernel(n_components={k})"
    raise ValueError(
        f"solver={learner.solver!r} learns a metric of all {d} {what} and cannot use "
        f"n_components={k}. Use another solver, or {reduced}."
    )


def fitted_scale(
    objective: Objective, L0: np.ndarray, ridge: Ridge, *, search: bool = True
) -> tuple[float, np.ndarray]:
    """Return a factor for the start, and the extra parameters that fit the rescaled start.

    Objectives are flat if the map is much too small or too large, and a solver needs many
    iterations to change the scale of a map by orders of magnitude. A search over the scale alone is
    fast. The result does not depend on the scale of the start.

    Parameters
    ----------
    objective : Objective
        The objective.
    L0 : ndarray of shape (k, d)
        The start.
    ridge : float or ndarray of shape (d, d)
        Weight of the squared Frobenius norm of the map, or a matrix, as in :func:`on_maps`.
    search : bool, default=True
        Whether to minimise the objective over the scale. If False, a typical squared distance
        under the rescaled start is ``FIXED_SQUARED_DISTANCE``. If the start then separates the
        classes, nothing would be learned, and it is ``SEARCH_SQUARED_DISTANCE`` instead.
    """
    subset = objective.part(MAX_SAMPLES_FOR_RESCALING)
    # The squared distance between two samples is on average twice that to the centre.
    size = 2 * squared_size(to_host(subset.points).astype(np.float64) @ L0.T)
    first = (SEARCH_SQUARED_DISTANCE / size) ** 0.5 if size > 0 else 1.0
    if not search:
        fixed = first * (FIXED_SQUARED_DISTANCE / SEARCH_SQUARED_DISTANCE) ** 0.5
        theta = fitted_theta(objective, fixed * L0)
        value = on_maps(subset)(np.concatenate([fixed * L0.ravel(), theta]))[0]
        if not is_infimum(value, subset.infimum, SCALE_TOL):
            return fixed, theta
        return first, fitted_theta(objective, first * L0)
    flat = first * L0.ravel()
    value_and_grad = on_maps(subset, ridge=ridge)

    def at_scale(x: np.ndarray) -> tuple[float, np.ndarray]:
        L = np.exp(np.clip(x[0], -MAX_LOG_SCALE, MAX_LOG_SCALE)) * flat
        value, grad = value_and_grad(np.concatenate([L, x[1:]]))
        return value, np.concatenate([[grad[: L.size] @ L], grad[L.size :]])

    x0 = np.concatenate([[0.0], subset.theta])
    result = LBFGS().minimise(at_scale, x0, tol=SCALE_TOL, infimum=subset.infimum)
    if result.reason == INFIMUM_REACHED:  # the best scale is infinite
        return first, objective.theta
    # Do not shrink the map to almost 0, where gradients vanish and a solver would not move.
    log_scale = np.clip(result.x[0], MIN_START_LOG_SCALE, MAX_LOG_SCALE)
    return first * float(np.exp(log_scale)), result.x[1:]


def fitted_theta(objective: Objective, L0: np.ndarray) -> np.ndarray:
    """Return the extra parameters that minimise the objective at the start."""
    if not len(objective.theta):
        return objective.theta
    subset = objective.part(MAX_SAMPLES_FOR_RESCALING)
    value_and_grad = on_maps(subset)

    def at_theta(theta: np.ndarray) -> tuple[float, np.ndarray]:
        value, grad = value_and_grad(np.concatenate([L0.ravel(), theta]))
        return value, grad[L0.size :]

    result = LBFGS().minimise(at_theta, subset.theta, tol=SCALE_TOL, infimum=subset.infimum)
    return objective.theta if result.reason == INFIMUM_REACHED else result.x


def squared_size(Z: np.ndarray) -> float:
    """Return a typical squared distance of points from their centre. Outliers have no effect."""
    squares = np.sum((Z - np.median(Z, axis=0)) ** 2, axis=1)
    return float(np.median(squares)) or float(np.mean(squares))


def _vary_within_classes(X: Array, codes: np.ndarray) -> bool:
    """Return whether any class has two distinct samples. X and codes are sorted by class."""
    same = codes[1:] == codes[:-1]
    differs = to_host(namespace(X).any(X[1:, :] != X[:-1, :], axis=1))
    return bool(np.any(same & differs))


def lda_with_all_rows(
    fit: Callable[[LDA], LDA], variances: Callable[[np.ndarray], np.ndarray], k: int
) -> np.ndarray:
    """Return the map of LDA with k rows. If S_w has a lower rank, a ridge is added to it.

    Parameters
    ----------
    fit : callable
        Fits LDA to the samples.
    variances : callable
        Returns the variances of the samples mapped by L.
    k : int
        Number of rows.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        L = to_host(fit(LDA(n_components=k)).components_).astype(np.float64)
        if L.shape[0] < k or np.max(variances(L)) > MAX_LDA_VARIANCE:
            learner = fit(LDA(n_components=k, reg=LDA_RIDGE))
            L = to_host(learner.components_).astype(np.float64)
    return L
