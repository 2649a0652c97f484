"""Where a solver over maps starts."""

import warnings
from typing import Any, TypeVar

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_array

from dimetric._arrays.namespaces import Array, namespace, to_host
from dimetric.learners._fitting.problem import Problem
from dimetric.learners.lda import LDA
from dimetric.learners.pca import PCA
from dimetric.objectives.objective import Objective, on_maps
from dimetric.solvers import LBFGS
from dimetric.solvers.result import SEPARABLE

INIT_NAMES = {"auto", "identity", "pca", "lda", "random"}
MAX_SAMPLES_FOR_SIZE = 500  # the size of a start is fitted on at most so many samples

LossT = TypeVar("LossT", bound=Objective)


def named_start(
    name: str, X: Array, codes: np.ndarray, k: int, *, random_state: Any = None
) -> np.ndarray:
    """Return the map, on the host, that a value of ``init`` stands for.

    Parameters
    ----------
    name : {"auto", "identity", "pca", "lda", "random"}
        "auto" is "lda" if that has enough rows, else "pca" if the map has fewer rows than there are
        features and samples, else "identity".
    X : array of shape (n, d)
        Samples.
    codes : ndarray of shape (n,)
        Labels as integers from 0, ascending.
    k : int
        Number of rows of the map.
    random_state : int, RandomState or None
        Seed of "random", and of "pca" where that is randomised.
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


def checked_start(L: Array, k: int | None, d: int, name: str) -> np.ndarray:
    """Return a given start, checked: it must have d columns, and k rows unless k is None."""
    L = check_array(to_host(L), dtype=np.float64, input_name=name)
    rows = f"n_components={k}" if k is not None else f"1 to {d}"
    if L.shape[1] != d or L.shape[0] > d or (k is not None and L.shape[0] != k):
        raise ValueError(
            f"{name} has shape {L.shape}; it must have {rows} rows and n_features={d} columns."
        )
    return L


def rescaled_start(
    problem: Problem[LossT], *, keep_size: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Return the start, rescaled to minimise the objective, and the best theta for it.

    A solver needs many iterations to change the size of a map by powers of ten, and objectives are
    flat where maps are much too small or too large. To search along the ray of the start is easy.

    Parameters
    ----------
    problem : Problem
        The problem.
    keep_size : bool, default=False
        Whether the start keeps its size.
    """
    objective, L0 = problem.objective, problem.start
    n = len(objective.strata)
    # The samples in between would hardly change the size.
    some = objective.batch(np.arange(0, n, 1 + n // MAX_SAMPLES_FOR_SIZE)) or objective
    spread = float(np.sum(np.var(to_host(some.points).astype(np.float64) @ L0.T, axis=0)))
    if not keep_size and spread > 0:
        L0 = L0 * (2 / spread) ** 0.5  # squared distances of 4 on average
    value_and_grad = on_maps(some, ridge=problem.ridge)

    def along(x: np.ndarray) -> tuple[float, np.ndarray]:
        L = np.exp(np.clip(x[0], -20, 20)) * L0.ravel()
        value, grad = value_and_grad(np.concatenate([L, x[1:]]))
        growth = 0.0 if keep_size else grad[: L.size] @ L
        return value, np.concatenate([[growth], grad[L.size :]])

    x0 = np.concatenate([[0.0], some.theta])
    found = LBFGS().minimise(along, x0, tol=1e-4, infimum=some.infimum)
    if found.reason == SEPARABLE:  # nothing would be left to learn but the size
        return L0, objective.theta
    x = found.x
    # Near a map of 0 all gradients vanish: a solver would not leave it.
    return np.exp(np.clip(x[0], -3, 20)) * L0, x[1:]


def _vary_within_classes(X: Array, codes: np.ndarray) -> bool:
    """Tell whether any class has two different points; X and codes are sorted by class."""
    same = codes[1:] == codes[:-1]
    moved = to_host(namespace(X).any(X[1:, :] != X[:-1, :], axis=1))
    return bool(np.any(same & moved))


def _lda_with_all_rows(X: Array, codes: np.ndarray, k: int) -> LDA:
    """Return LDA with k rows, even if samples spread in fewer directions within classes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        learner = LDA(n_components=k).fit(X, codes)
        if learner.components_.shape[0] < k:
            learner = LDA(n_components=k, reg=1e-3).fit(X, codes)
    return learner
