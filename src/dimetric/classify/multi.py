"""Nearest neighbours with a metric for each class."""

from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import array_api_compat as compat
import numpy as np
from scipy import sparse

from dimetric._arrays.blocks import row_blocks
from dimetric._arrays.namespaces import Array, like, namespace, to_host
from dimetric._arrays.squared_distances import squared_distances
from dimetric._compat import Interval, fit_method
from dimetric.classify._neighbors import Weights, moved, nearest_in_order
from dimetric.classify.knn import KNNClassifier
from dimetric.objectives.margins.hinge import hinge
from dimetric.objectives.margins.objective import MarginRule
from dimetric.objectives.margins.targets import nearest_targets
from dimetric.objectives.side import Side
from dimetric.solvers import LBFGS, Result

WIDTHS = (0.1, 0.01)  # of the hinge's smooth part, of one stage after the other
SPARSE = 1 / 8  # share of impostors up to which single pairs cost less than whole blocks


class MultiMetricKNNClassifier(KNNClassifier):
    r"""Vote of the nearest neighbours, with a metric learned for each class.

    .. math:: \min_{L_1, \dots, L_C} \frac{1}{n} \Bigl[ (1 - \mu) \sum_{j \to i} d^2_{ij}
              + \mu \sum_{j \to i} \sum_{l:\, y_l \ne y_i} [1 + d^2_{ij} - d^2_{il}]_+ \Bigr]
              + \frac{reg}{C d} \sum_c |L_c|_F^2, \qquad d_{ij} = |L_{y_j} (x_i - x_j)|

    The distance to a sample is measured in the metric of its class, so that classes may gather in
    different ways. All maps are learned together, by the objective of LMNN and one margin for all:
    distances in different metrics are comparable [1]_.

    Parameters
    ----------
    n_neighbors : int, default=3
        Number of neighbours that vote, and of targets while learning.
    learner : learner or None, default=None
        Learner of a first map, the same for all classes, that theirs start from; a copy of it is
        fitted. None is the Euclidean distance.
    weights : {"uniform", "distance"}, callable or None, default="uniform"
        Weights of the votes, as in :class:`~dimetric.classify.knn.KNNClassifier`.
    mu : float, default=0.5
        Weight of the pushes, between 0 and 1; the pulls have weight ``1 - mu``.
    max_iter : int, default=100
        Most iterations.
    tol : float, default=1e-4
        Stop when the gradient's largest entry is below, or the objective gains less than a tenth
        of it in an iteration.
    reg : float, default=0.0
        Weight of the ridge.

    Attributes
    ----------
    components_ : array of shape (n_classes, n_components, n_components)
        The maps of the classes, of samples that the learner has mapped.
    classes_ : ndarray of shape (n_classes,)
        Labels.
    learner_ : learner or None
        The fitted learner.
    n_iter_ : int
        Iterations done.
    n_samples_fit_ : int
        Number of training samples.
    n_features_in_ : int
        Number of features; ``feature_names_in_`` holds their names where X has any.

    References
    ----------
    .. [1] K. Q. Weinberger, L. K. Saul, "Distance metric learning for large margin nearest
       neighbor classification", Journal of Machine Learning Research 10, 2009.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True)
    >>> X = (X - X.mean(axis=0)) / X.std(axis=0)
    >>> model = MultiMetricKNNClassifier().fit(X, y)
    >>> model.components_.shape
    (3, 13, 13)
    >>> round(KNNClassifier().fit(X, y).score(), 2), model.score() > 0.99  # leave one out
    (0.96, True)
    """

    _accepts_sparse = False
    _min_samples = 2
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **KNNClassifier._parameter_constraints,
        "mu": [Interval(Real, 0, 1, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "reg": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        n_neighbors: int = 3,
        *,
        learner: Any = None,
        weights: Weights = "uniform",
        mu: float = 0.5,
        max_iter: int = 100,
        tol: float = 1e-4,
        reg: float = 0.0,
    ) -> None:
        super().__init__(n_neighbors, learner=learner, weights=weights)
        self.mu = mu
        self.max_iter = max_iter
        self.tol = tol
        self.reg = reg

    @fit_method
    def fit(self, X: Array, y: Any) -> Self:
        """Learn a metric for each class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples: NumPy, pandas, polars, or an array of any array-API namespace.
        y : array-like of shape (n_samples,)
            Their classes.

        Returns
        -------
        self : object
            The fitted classifier.
        """
        super().fit(X, y)
        Z, xp = self._points, namespace(self._points)
        order = np.argsort(self._codes, kind="stable")
        Z = xp.take(Z, like(order, Z, dtype=xp.int64), axis=0)
        Z = Z - xp.mean(Z, axis=0)
        spread = float(xp.sum(xp.mean(xp.astype(Z, xp.float64) ** 2, axis=0))) ** 0.5
        unit = 1 / spread if spread > 0 else 1.0
        objective = JointMargins(Z * unit, self._codes[order], self.n_neighbors, self.mu)
        maps, result = self._solve(objective, self.reg * unit**2)
        result.warn_unless_converged(
            type(self).__name__, "Raise max_iter or tol, or scale the features."
        )
        self.components_ = like(unit * maps, Z)
        self.n_iter_ = result.n_iter
        self._members = [np.flatnonzero(self._codes == c) for c in range(len(self.classes_))]
        return self

    def _solve(self, objective: "JointMargins", reg: float) -> tuple[np.ndarray, Result]:
        """Return the maps, which start from a multiple of the identity that suits the margin."""
        C, d = len(self.classes_), objective.X.shape[1]
        identity = np.broadcast_to(np.eye(d), (C, d, d))

        def value_and_grad(flat: np.ndarray, width: float) -> tuple[float, np.ndarray]:
            maps = flat.reshape(C, d, d)
            value, grad = objective.evaluate(maps, width)
            ridge = reg / (C * d)
            return value + ridge * float(flat @ flat), grad.ravel() + 2 * ridge * flat

        sizes = 2.0 ** np.arange(-3, 5)
        at_sizes = [value_and_grad(size * identity.ravel(), WIDTHS[0])[0] for size in sizes]
        flat, done = sizes[np.argmin(at_sizes)] * identity.ravel(), 0
        if C == 1:  # pulls alone would draw all samples to a point
            return flat.reshape(C, d, d), Result(flat, at_sizes[0], 0, True, "one class", ())
        for width in WIDTHS:
            left = self.max_iter - done
            if left == 0:
                break
            function = partial(value_and_grad, width=width)
            found = LBFGS().minimise(function, flat, max_iter=left, tol=self.tol)
            flat, done = found.x, done + found.n_iter
        return flat.reshape(C, d, d), Result(
            flat, found.value, done, found.converged, found.reason, found.history
        )

    def _search(self, Z: Array | None, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the neighbours of samples, each class searched in its metric."""
        n = self.n_samples_fit_ if Z is None else Z.shape[0]
        near, who = [], []
        for members, L in zip(self._members, to_host(self.components_), strict=True):
            distances = np.full((n, k), np.inf)
            indices = np.full((n, k), self.n_samples_fit_)
            for rows, (found, those) in self._in_class(Z, k, members, L):
                distances[rows, : found.shape[1]] = found
                indices[rows, : found.shape[1]] = members[those]
            near.append(distances)
            who.append(indices)
        distances, indices = np.concatenate(near, axis=1), np.concatenate(who, axis=1)
        order = np.lexsort((indices, distances), axis=-1)[:, :k]
        return np.take_along_axis(distances, order, 1), np.take_along_axis(indices, order, 1)

    def _in_class(self, Z: Array | None, k: int, members: np.ndarray, L: np.ndarray) -> Any:
        """Yield queries, and their neighbours among the members of a class, under its map."""
        queries = self._points if Z is None else Z
        xp, size = namespace(queries), len(members)
        points = xp.take(moved(self._points, queries), like(members, queries, xp.int64), axis=0)
        L = like(L, queries)
        if Z is not None:
            yield slice(None), nearest_in_order(queries @ L.T, min(k, size), points @ L.T)
            return
        others = np.setdiff1d(np.arange(self.n_samples_fit_), members)
        if len(others):
            theirs = xp.take(queries, like(others, queries, xp.int64), axis=0)
            yield others, nearest_in_order(theirs @ L.T, min(k, size), points @ L.T)
        if size > 1:
            yield members, nearest_in_order(points @ L.T, min(k, size - 1))


class JointMargins:
    """The margins of LMNN, with the distance to a sample in the metric of its class.

    Parameters
    ----------
    X : array of shape (n, d)
        Samples, centred, sorted by class.
    codes : ndarray of shape (n,)
        Their classes, as integers from 0, ascending, on the host.
    n_neighbors : int
        Targets of each sample.
    mu : float
        Weight of the pushes; of the pulls it is ``1 - mu``.
    """

    def __init__(self, X: Array, codes: np.ndarray, n_neighbors: int, mu: float) -> None:
        self.X, self.mu = X, mu
        xp = namespace(X)
        self._targets = like(nearest_targets(X, codes, n_neighbors), X, dtype=xp.int64)
        self._side = Side.of(X, labels=codes)

    def evaluate(self, maps: np.ndarray, width: float) -> tuple[float, np.ndarray]:
        """Return the mean of all pulls and pushes, and its gradient, of shape (C, p, d)."""
        X, xp = self.X, namespace(self.X)
        n = X.shape[0]
        classes = [own for _, own in self._side.class_runs(0, n)]
        mapped = [X @ like(L, X).T for L in maps]
        loss, grad = 0.0, np.zeros(maps.shape)
        for b in row_blocks(n, max(64, 2**18 // n)):
            D = [squared_distances(Z[b, :], Z[c, :]) for Z, c in zip(mapped, classes, strict=True)]
            value, W = self._weights(xp.concat(D, axis=1), self._side[b], width)
            loss += float(value)
            for number, (Z, c) in enumerate(zip(mapped, classes, strict=True)):
                Wc, ones = W[:, c], xp.ones_like(X[:, :1])
                rows = (Wc @ ones[c, :]) * Z[b, :] - Wc @ Z[c, :]
                columns = (Wc.T @ ones[b, :]) * Z[c, :] - Wc.T @ Z[b, :]
                grad[number] += to_host(rows.T @ X[b, :] + columns.T @ X[c, :])
        return loss / n, 2 * grad / n

    def _weights(self, D: Array, rows: Side, width: float) -> tuple[float, Any]:
        """Return the sum over a block of squared distances, and its derivatives, perhaps sparse."""
        xp = namespace(D)
        if compat.is_numpy_array(D):
            targets = self._targets[rows.positions]
            there = targets >= 0
            near = np.take_along_axis(D, np.maximum(targets, 0), axis=1)
            thresholds = np.where(there, 1 + near, -1 - width)
            impostors = np.max(thresholds, axis=1, keepdims=True) + width / 2 > D
            impostors &= ~rows.same_label(self._side)
            if np.count_nonzero(impostors) < SPARSE * D.size:
                return self._sparse_weights(D, impostors, thresholds, targets, width)
        rule = MarginRule(self._targets, D.shape[1], 1 - self.mu, self.mu, width)
        return rule.block(xp, D, rows, self._side)[:2]

    def _sparse_weights(
        self,
        D: np.ndarray,
        impostors: np.ndarray,
        thresholds: np.ndarray,
        targets: np.ndarray,
        width: float,
    ) -> tuple[float, sparse.csc_array]:
        """Return the same from the pairs that matter alone, of which there are few in the end."""
        (size, k), there = targets.shape, targets >= 0
        i, l = np.nonzero(impostors)
        value, slope = hinge(thresholds[i] - D[i, l][:, None], width)
        pushed = np.stack([np.bincount(i, slope[:, r], size) for r in range(k)], axis=1)
        pulls = np.where(there, 1 - self.mu + self.mu * pushed, 0.0)
        rows = np.concatenate([i, np.repeat(np.arange(size), k)])
        columns = np.concatenate([l, np.maximum(targets, 0).ravel()])
        weights = np.concatenate([-self.mu * np.sum(slope, axis=1), pulls.ravel()])
        near = np.sum(thresholds - 1, where=there, dtype=np.float64)
        loss = self.mu * np.sum(value, dtype=np.float64) + (1 - self.mu) * near
        W = sparse.csc_array((weights.astype(D.dtype), (rows, columns)), shape=D.shape)
        return float(loss), W
