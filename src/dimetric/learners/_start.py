"""Where a descent over maps starts."""

import warnings
from typing import Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_array

from dimetric._arrays.namespaces import Array, namespace, to_host
from dimetric.learners.lda import LDA
from dimetric.learners.pca import PCA
from dimetric.objectives.objective import Objective, on_maps
from dimetric.solvers import LBFGS
from dimetric.solvers.result import SEPARABLE

NAMES = {"auto", "identity", "pca", "lda", "random"}


def named_start(
    name: str, X: Array, codes: np.ndarray, k: int, *, random_state: Any = None
) -> np.ndarray:
    """Return the map, on the host, that a name stands for.

    Parameters
    ----------
    name : {"auto", "identity", "pca", "lda", "random"}
        "auto" is "lda" if that has enough rows, else "pca" if rows are to be fewer than features
        and samples, else "identity".
    X : array of shape (n, d)
        Samples.
    codes : ndarray of shape (n,)
        Labels as integers from 0, ascending.
    k : int
        Rows of the map.
    random_state : int, RandomState or None
        Of "random", and of "pca" where that is randomised.
    """
    n, d = X.shape
    if name == "auto":
        name = "pca" if k < min(n, d) else "identity"
        if k <= min(d, int(codes[-1])) and _vary_within_classes(X, codes):
            name = "lda"
    if name == "identity":
        return np.eye(k, d)
    if name == "lda" and k > min(d, int(codes[-1])):
        raise ValueError(
            f"init='lda' has at most {min(d, int(codes[-1]))} rows, one less than classes and no "
            f"more than features, but the map is to have {k}: set n_components, or another init."
        )
    if name == "random":
        return check_random_state(random_state).normal(size=(k, d))
    if name == "pca":
        if k > min(n, d):
            raise ValueError(
                f"init='pca' has at most {min(n, d)} rows, no more than samples or features, but "
                f"the map is to have {k}: set n_components, or another init."
            )
        learner = PCA(n_components=k, random_state=random_state).fit(X)
    else:
        learner = _lda_with_all_rows(X, codes, k)
    return to_host(learner.components_).astype(np.float64)


def given_start(L: Array, k: int | None, d: int, name: str) -> np.ndarray:
    """Return a map that is given as the start, checked: k rows (None: any), d columns."""
    L = check_array(to_host(L), dtype=np.float64, input_name=name)
    rows = f"n_components={k}" if k is not None else f"1 to {d}"
    if L.shape[1] != d or L.shape[0] > d or (k is not None and L.shape[0] != k):
        raise ValueError(
            f"{name} has shape {L.shape}; it must have {rows} rows and n_features={d} columns."
        )
    return L


def fitting_start(
    objective: Objective, L0: np.ndarray, ridge: float, *, of_any_size: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Return a start with the theta that fits, and with the size that fits unless it is given.

    To change the size of a map by powers of ten takes a solver long, and objectives are flat
    where it is much too small or too large; along a ray alone it is easy. A few samples tell.
    """
    n = len(objective.strata)
    some = objective.batch(np.arange(0, n, 1 + n // 500)) or objective
    spread = float(np.sum(np.var(to_host(some.points).astype(np.float64) @ L0.T, axis=0)))
    if of_any_size and spread > 0:
        L0 = L0 * (2 / spread) ** 0.5  # squared distances of 4 on average
    value_and_grad = on_maps(some, ridge=ridge)

    def along(x: np.ndarray) -> tuple[float, np.ndarray]:
        L = np.exp(np.clip(x[0], -20, 20)) * L0.ravel()
        value, grad = value_and_grad(np.concatenate([L, x[1:]]))
        growth = grad[: L.size] @ L if of_any_size else 0.0
        return value, np.concatenate([[growth], grad[L.size :]])

    found = LBFGS().minimise(
        along, np.concatenate([[0.0], some.theta]), tol=1e-4, infimum=some.infimum
    )
    if found.reason == SEPARABLE:  # nothing would be left to be learned but size
        return L0, objective.theta
    x = found.x
    # Near a map of 0 all gradients vanish: no place to start from.
    return np.exp(np.clip(x[0], -3, 20)) * L0, x[1:]


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
