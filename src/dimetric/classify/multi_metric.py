"""Nearest-neighbour classification with a metric for each class."""

from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np

from dimetric._arrays.namespaces import Array, asarray_like, namespace, take_rows, to_host
from dimetric._compat import Interval, StrOptions, fit_method
from dimetric.classify._neighbors import points_like
from dimetric.classify._votes import Weights, weight_function
from dimetric.classify._weights import ClassWeights
from dimetric.classify.knn import KNNClassifier
from dimetric.neighbors.ties import Neighborhoods, WeightFunction
from dimetric.objectives.margins.multi_metric import MultiMetricMargins
from dimetric.solvers import LBFGS, Result

HINGE_WIDTHS = (0.1, 0.01)  # width of the smooth part of the hinge, in two solver stages
START_SCALES = 2.0 ** np.arange(-3, 5)  # multiples of the identity that are tried as the start


class MultiMetricKNNClassifier(KNNClassifier):
    r"""Classifier by a vote of the nearest neighbours, with a metric learned for each class.

    .. math:: \min_{L_1, \dots, L_C} \frac{1}{n} \Bigl[ (1 - \mu) \sum_{j \to i} d^2_{ij}
              + \mu \sum_{j \to i} \sum_{l:\, y_l \ne y_i} [1 + d^2_{ij} - d^2_{il}]_+ \Bigr]
              + reg\, \frac{v}{C d} \sum_c |L_c|_F^2, \qquad d_{ij} = |L_{y_j} (x_i - x_j)|

    The distance to a training sample is measured in the metric of its class, because classes may
    differ in shape. All maps :math:`L_c` are learned jointly with the objective of LMNN. The margin
    is the same for all classes, which makes distances in different metrics comparable [1]_. v is
    the mean variance of the features, so the effect of `reg` does not depend on their unit. With
    sample weights w, divided by their mean, all terms of i are multiplied by :math:`w_i`, and those
    of the impostor l also by :math:`w_l`.

    Parameters
    ----------
    n_neighbors : int, default=3
        Number of neighbours that vote, and number of targets per sample in the objective.
    learner : learner or None, default=None
        Learner of a map that is applied before the maps of the classes. A copy of it is fitted. If
        None, the maps of the classes are applied to X itself. Samples whose label is the learner's
        parameter ``unlabelled`` only teach the learner: they do not vote.
    weights : {"uniform", "distance"}, callable or None, default="uniform"
        Weights of the votes, as in :class:`~dimetric.KNNClassifier`.
    mu : float, default=0.5
        Weight of the term that pushes impostors away, between 0 and 1. The term that pulls targets
        closer has weight ``1 - mu``.
    max_iter : int, default=100
        Maximum number of iterations.
    tol : float, default=1e-4
        Stop when the largest entry of the gradient is at most `tol`, or when an iteration lowers
        the objective f by no more than ``tol * max(1, f) / 10``.
    reg : float, default=0.0
        Weight of the ridge penalty on the maps.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, which multiply the sample weights. A class that is not in the dict
        has the weight 1. With ``"balanced"``, all classes have the same total weight.

    Attributes
    ----------
    components_ : array of shape (n_classes, n_components, n_components)
        Map of each class, for samples mapped by the learner.
    classes_ : ndarray of shape (n_classes,)
        Class labels, sorted.
    learner_ : learner or None
        The fitted learner.
    n_iter_ : int
        Number of iterations.
    n_samples_fit_, n_samples_seen_ : int
        Number of training samples with a label and a positive weight.
    n_features_in_ : int
        Number of features. ``feature_names_in_`` holds their names if X has any.

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

    metric = "euclidean"  # the metrics of the classes are applied before
    metric_params = search = n_references = None
    _multi_output = False
    _searches_points = _learns_from_blocks = False
    _min_samples = 2
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **KNNClassifier._parameter_constraints,
        "weights": [StrOptions({"uniform", "distance"}), callable, None],
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
        class_weight: ClassWeights = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.learner = learner
        self.weights = weights
        self.mu = mu
        self.max_iter = max_iter
        self.tol = tol
        self.reg = reg
        self.class_weight = class_weight

    @fit_method
    def fit(self, X: Array, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn a metric for each class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples, as a NumPy array, a pandas or polars data frame, or an array of any array-API
            namespace.
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the samples, which are at least 0. A sample of weight 0 is left out. The
            weights are also passed to the learner if it uses weights.

        Returns
        -------
        self : object
            The fitted classifier.
        """
        super().fit(X, y, sample_weight)
        self._points = self._made_dense(self._points)
        Z, xp = self._points, namespace(self._points)
        order = np.argsort(self._codes, kind="stable")
        Z = take_rows(Z, order)
        Z = Z - xp.mean(Z, axis=0)
        spread = float(xp.sum(xp.mean(xp.astype(Z, xp.float64) ** 2, axis=0))) ** 0.5
        factor = 1 / spread if spread > 0 else 1.0
        weights = self._weights_of_votes()
        weights = None if weights is None else (weights / np.mean(weights))[order]
        codes = self._codes[order]
        objective = MultiMetricMargins(Z * factor, codes, self.n_neighbors, self.mu, weights)
        mean_variance = (spread * factor) ** 2 / Z.shape[1] or 1.0
        maps, result = self._solve(objective, self.reg * mean_variance)
        result.warn_unless_converged(
            type(self).__name__, "Increase max_iter or tol, or scale the features."
        )
        self.components_ = asarray_like(factor * maps, Z)
        self.n_iter_ = result.n_iter
        self._members = [np.flatnonzero(self._codes == c) for c in range(len(self.classes_))]
        return self

    def _solve(self, objective: MultiMetricMargins, reg: float) -> tuple[np.ndarray, Result]:
        """Return the maps and the result, starting from the best multiple of the identity."""
        C, d = len(self.classes_), objective.X.shape[1]
        identity = np.broadcast_to(np.eye(d), (C, d, d))

        def value_and_grad(flat: np.ndarray, width: float) -> tuple[float, np.ndarray]:
            maps = flat.reshape(C, d, d)
            value, grad = objective.evaluate(maps, width)
            ridge = reg / (C * d)
            return value + ridge * float(flat @ flat), grad.ravel() + 2 * ridge * flat

        values = [
            value_and_grad(scale * identity.ravel(), HINGE_WIDTHS[0])[0] for scale in START_SCALES
        ]
        flat, n_iter = START_SCALES[np.argmin(values)] * identity.ravel(), 0
        if C == 1:  # without impostors, the targets would contract all samples to a point
            return flat.reshape(C, d, d), Result(
                flat, values[0], 0, True, "y has only one class", ()
            )
        for width in HINGE_WIDTHS:
            remaining = self.max_iter - n_iter
            if remaining == 0:
                break
            function = partial(value_and_grad, width=width)
            result = LBFGS().minimise(function, flat, max_iter=remaining, tol=self.tol)
            flat, n_iter = result.x, n_iter + result.n_iter
        return flat.reshape(C, d, d), Result(
            flat, result.value, n_iter, result.converged, result.reason, result.history
        )

    def _search(self, Z: Array | None, k: int) -> "ClassNeighborhoods":
        """Return the neighbours of samples. Each class is searched in its own metric."""
        n = self.n_samples_fit_ if Z is None else Z.shape[0]
        maps = to_host(self.components_)
        parts = [
            (code, rows, near, members)
            for code, (members, L) in enumerate(zip(self._members, maps, strict=True))
            for rows, near in self._search_class(Z, k, members, L)
        ]
        return ClassNeighborhoods(parts, n, k)

    def _search_class(self, Z: Array | None, k: int, members: np.ndarray, L: np.ndarray) -> Any:
        """Yield rows of queries and their neighbours among the members of a class."""
        queries = self._points if Z is None else Z
        xp, size = namespace(queries), len(members)
        points = xp.take(
            points_like(self._points, queries), asarray_like(members, queries, xp.int64), axis=0
        )
        L = asarray_like(L, queries)
        search = partial(Neighborhoods, is_mapped=True)
        if Z is not None:
            yield np.arange(Z.shape[0]), search(queries @ L.T, min(k, size), points @ L.T)
            return
        # Without Z, the queries are the training samples. The members of the class are searched
        # separately, because a sample is not its own neighbour.
        others = np.setdiff1d(np.arange(self.n_samples_fit_), members)
        if len(others):
            other_queries = take_rows(queries, others)
            yield others, search(other_queries @ L.T, min(k, size), points @ L.T)
        if size > 1:
            yield members, search(points @ L.T, min(k, size - 1))

    def _votes_of(self, near: "ClassNeighborhoods", k: int) -> list[np.ndarray]:
        function, weights = weight_function(self.weights), self._weights_of_votes()
        return [near.votes(self._codes, len(self.classes_), k, function, weights)]

    def _require_one_metric(self) -> None:
        raise ValueError(
            f"{type(self).__name__} has a metric for each class, so two samples do not have a "
            "single distance to explain. Use KNNClassifier."
        )


class ClassNeighborhoods:
    """Neighbours of queries, if each class of points has its own metric.

    Parameters
    ----------
    parts : list of (int, ndarray, Neighborhoods, ndarray)
        Code of a class, row numbers of queries, their neighbours in the class, and the row numbers
        of the members of the class.
    n : int
        Number of queries.
    k : int
        Largest number of neighbours that is needed.
    """

    def __init__(
        self, parts: list[tuple[int, np.ndarray, Neighborhoods, np.ndarray]], n: int, k: int
    ) -> None:
        self._parts, self._n, self._k = parts, n, k

    def listed(self, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the k nearest points of each query, ordered by distance, then by row number."""
        distances, indices = ([np.empty((self._n, 0))] for _ in range(2))
        for _, rows, near, members in self._parts:
            width = min(k, near.k)
            part = np.full((self._n, width), np.inf), np.full((self._n, width), self._n)
            part[0][rows], nearest = near.listed(width)
            part[1][rows] = members[nearest]
            distances.append(part[0])
            indices.append(part[1])
        D, points = np.concatenate(distances, axis=1), np.concatenate(indices, axis=1)
        order = np.lexsort((points, D), axis=-1)[:, :k]
        return (
            np.take_along_axis(D, order, axis=1),
            np.take_along_axis(points, order, axis=1).astype(np.int64),
        )

    def votes(
        self,
        codes: np.ndarray,
        n_classes: int,
        k: int,
        weights: WeightFunction | None,
        point_weights: np.ndarray | None = None,
    ) -> np.ndarray:
        """Return the votes for each class. Points tied at the k-th distance share the rest.

        Parameters
        ----------
        codes : ndarray of shape (n_points,)
            Classes of the points.
        n_classes, k : int
            Numbers of classes and of neighbours.
        weights : callable or None
            Function that returns the weights of neighbours from their distances.
        point_weights : ndarray of shape (n_points,), optional
            Factors of the votes of the points.
        """
        point_weights = np.ones(len(codes)) if point_weights is None else point_weights
        distances, indices = self.listed(k)
        kth = distances[:, -1]
        tolerance, zero = np.zeros(self._n), np.zeros(self._n)
        for _, rows, near, _ in self._parts:
            tolerance[rows] = np.maximum(tolerance[rows], near.tolerance(kth[rows]))
            zero[rows] = np.maximum(zero[rows], near.tolerance(np.zeros(len(rows))))
        of_ranks = np.ones_like(distances)
        if weights is not None:
            of_ranks = weights(np.where(distances <= zero[:, None], 0, distances))
        n_tied, tied = np.zeros(self._n), np.zeros((self._n, n_classes))
        for code, rows, near, members in self._parts:
            low, high = kth[rows] - tolerance[rows], kth[rows] + tolerance[rows]
            n_tied[rows] += near.sums_between(np.ones(len(members)), low, high)
            tied[rows, code] = near.sums_between(point_weights[members], low, high)
        nearer = distances < (kth - tolerance)[:, None]
        cells = np.arange(self._n)[:, None] * n_classes + codes[indices]
        of_nearer = of_ranks * nearer * point_weights[indices]
        votes = np.bincount(cells.ravel(), of_nearer.ravel(), self._n * n_classes)
        share = np.sum(of_ranks * ~nearer, axis=1) / n_tied
        return votes.reshape(self._n, n_classes) + share[:, None] * tied
