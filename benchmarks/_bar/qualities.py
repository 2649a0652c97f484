"""The quality of a result: the same function evaluates our result and that of the peer."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial import procrustes
from scipy.spatial.distance import pdist
from sklearn.exceptions import ConvergenceWarning
from sklearn.neighbors import KNeighborsClassifier

import dimetric
from dimetric.solvers.bregman_projections import BoundedDivergence

Arrays = dict[str, Any]


@dataclass(frozen=True)
class Quality:
    """A number that says how good a result is.

    Parameters
    ----------
    name : str
        What the number is.
    of : callable
        ``of(arrays, results)`` evaluates the results of a side.
    higher_is_better : bool
        Whether larger values are better.
    tolerance : float
        A value is as good as another if it is worse by at most this share of the other one.
    """

    name: str
    of: Callable[[Arrays, Arrays], float]
    higher_is_better: bool
    tolerance: float = 1e-3

    def no_worse(self, ours: float, theirs: float) -> bool:
        """Return whether our value is as good as theirs, or better. NaN is never as good."""
        if np.isnan(theirs):
            return True
        gain = ours - theirs if self.higher_is_better else theirs - ours
        return bool(gain >= -self.tolerance * abs(theirs))


def objective(name: str, *, higher_is_better: bool, **params: Any) -> Quality:
    """Return the objective of one of our learners without penalty, evaluated at any map."""

    def of(arrays: Arrays, results: Arrays) -> float:
        L = np.asarray(results["components_"], dtype=np.float64)
        if not np.all(np.isfinite(L)):
            return float("nan")
        learner = getattr(dimetric, name)(len(L), init=L, max_iter=1, reg=0.0, **params)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # one iteration is enough
            metadata = learner.fit(arrays["X"], arrays["y"]).metadata()
        return float(metadata["initial_objective"])

    return Quality(f"{name} objective", of, higher_is_better)


def _pair_squares(arrays: Arrays, results: Arrays) -> tuple[np.ndarray, np.ndarray]:
    """Return the squared distances of dissimilar pairs, if those of similar pairs sum to 1."""
    X, y = arrays["X"], arrays["y"]
    squares = pdist(X @ np.asarray(results["components_"]).T, "sqeuclidean")
    i, j = np.triu_indices(len(y), 1)
    same = y[i] == y[j]
    return squares / np.sum(squares[same]), ~same


def _lsi(arrays: Arrays, results: Arrays) -> float:
    squares, apart = _pair_squares(arrays, results)
    return float(np.sum(np.sqrt(squares[apart])))


def _dml_eig(arrays: Arrays, results: Arrays) -> float:
    squares, apart = _pair_squares(arrays, results)
    return float(np.min(squares[apart]))


def _itml(arrays: Arrays, results: Arrays) -> float:
    X, rows, is_similar = arrays["X"], arrays["rows"], arrays["is_similar"]
    L = results["components_"]
    bounds = np.where(is_similar, *arrays["bounds"])
    divergence = BoundedDivergence(X[rows[:, 0]] - X[rows[:, 1]], is_similar, bounds, 1.0)
    return float(divergence((L.T @ L).ravel())[0])


def _accuracy(Z: np.ndarray, y: np.ndarray) -> float:
    # Without X, scikit-learn predicts each sample from the others.
    return float(np.mean(KNeighborsClassifier(3).fit(Z, y).predict(None) == y))


def _accuracy_of_map(arrays: Arrays, results: Arrays) -> float:
    return _accuracy(arrays["X"] @ results["components_"].T, arrays["y"])


def _accuracy_of_embedding(arrays: Arrays, results: Arrays) -> float:
    return _accuracy(results["Z"], arrays["y"])


def _disparity(arrays: Arrays, results: Arrays) -> float:
    return float(procrustes(arrays["sheet"], results["embedding_"])[2])


def _correlation(arrays: Arrays, results: Arrays) -> float:
    """Return the largest correlation of a coordinate with the long side of the sheet."""
    side = arrays["sheet"][:, np.argmax(np.ptp(arrays["sheet"], axis=0))]
    return float(max(abs(np.corrcoef(z, side)[0, 1]) for z in results["embedding_"].T))


def _stress(arrays: Arrays, results: Arrays) -> float:
    return float(np.sum((pdist(arrays["X"]) - pdist(results["embedding_"])) ** 2))


def _neighbor_distance(arrays: Arrays, results: Arrays) -> float:
    X, indices = arrays["X"], results["indices"]
    squares = [np.sum((X - X[column]) ** 2, axis=1) for column in indices.T]
    return float(np.mean(np.sqrt(squares)))


LSI = Quality("LSI objective", _lsi, True)
DML_EIG = Quality("smallest squared distance of a dissimilar pair", _dml_eig, True)
ITML = Quality("ITML objective", _itml, False)
ACCURACY_OF_MAP = Quality("leave-one-out accuracy of 3-NN", _accuracy_of_map, True, 5e-3)
ACCURACY_OF_EMBEDDING = Quality(
    "leave-one-out accuracy of 3-NN", _accuracy_of_embedding, True, 5e-3
)
DISPARITY = Quality("disparity from the sheet", _disparity, False, 1e-2)
CORRELATION = Quality("correlation with the sheet", _correlation, True, 5e-3)
STRESS = Quality("stress", _stress, False)
NEIGHBOR_DISTANCE = Quality("mean distance of the neighbours", _neighbor_distance, False, 1e-9)
VARIANCE = Quality(
    "sum of squares", lambda _, results: float(np.sum(results["embedding_"] ** 2)), True, 1e-6
)
EIGENVALUES = Quality(
    "sum of eigenvalues", lambda _, results: float(np.sum(results["eigenvalues_"])), True, 1e-6
)
EXPLAINED_VARIANCE = Quality(
    "explained variance",
    lambda _, results: float(np.sum(results["explained_variance_ratio_"])),
    *(True, 1e-5),
)
ACCURACY = Quality(
    "accuracy", lambda arrays, results: float(np.mean(results["labels"] == arrays["labels"])), True
)
SCORE = Quality("trustworthiness", lambda _, results: float(results["value"]), True, 1e-9)
