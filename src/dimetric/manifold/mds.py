"""Multidimensional scaling."""

from collections.abc import Callable
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np

from dimetric._arrays.dissimilarities import check_dissimilarities
from dimetric._arrays.memory import require_memory
from dimetric._arrays.namespaces import Array, asarray_like, namespace, to_host
from dimetric._arrays.validation import rescale_for_squares
from dimetric._compat import Interval, Progress, StrOptions
from dimetric.learners._fitting.verbose import report
from dimetric.manifold._classical import Axes, References, principal_axes, scale_references
from dimetric.manifold._embedding import LandmarkEmbedding
from dimetric.manifold._smacof import Configuration, best_smacof, starting_coordinates
from dimetric.manifold._stress import NonmetricStress, Stress, checked_weights
from dimetric.neighbors.metric_search import is_euclidean
from dimetric.supervision.labels import Supervision


class MDS(LandmarkEmbedding):
    r"""Multidimensional scaling: coordinates whose distances match given dissimilarities.

    ``algorithm="classical"`` [1]_ uses the k largest eigenvalues of the Gram matrix

    .. math:: B = -\tfrac12 J (D \circ D) J = V^T \Lambda V, \quad J = I - \tfrac1n 1 1^T,
              \qquad Z = V^T \Lambda^{1/2}

    where D is the matrix of dissimilarities. The distances are exact if k dimensions are enough.
    For Euclidean distances, Z equals the scores of PCA. New samples are placed by Gower's formula.

    ``algorithm="smacof"`` [2]_ minimises the stress from one or more starts,

    .. math:: \sigma(Z) = \sum_{i<j} w_{ij} (\hat d_{ij} - |z_i - z_j|)^2

    where :math:`\hat d` are the dissimilarities if ``metric_mds=True``, otherwise the isotonic
    regression of the distances on the dissimilarities, scaled to a mean square of 1 in
    :math:`\sigma`. New samples are placed where the stress is lowest.

    Parameters
    ----------
    n_components : int, default=2
        Dimension k of the embedding.
    algorithm : {"classical", "smacof"}, default="classical"
        Classical scaling or SMACOF, as described above.
    metric : str or callable, default="euclidean"
        Any metric of :func:`sklearn.metrics.pairwise_distances`. With ``"precomputed"``, X contains
        the dissimilarities, and :meth:`transform` takes those from new samples to training samples.
    metric_params : dict, optional
        Parameters of the metric.
    n_landmarks : int, optional
        For ``"classical"``: scale only this number of random samples, the landmarks, and place all
        others as new samples [3]_. Time and memory are O(n n_landmarks) instead of O(n^2). If X has
        no more samples than this, all are scaled.
    additive_constant : bool, default=False
        For ``"classical"``: whether to add to all dissimilarities the smallest constant that makes
        them Euclidean. No eigenvalue is then negative.
    metric_mds : bool, default=True
        For ``"smacof"``: whether to use the values of the dissimilarities, or only their order.
    weights : array-like of shape (n_samples, n_samples), optional
        For ``"smacof"``: symmetric weights w. A weight of 0 marks a missing dissimilarity, whose
        value in X is ignored.
    init : {"classical_mds", "random"} or array-like, default="classical_mds"
        First start of ``"smacof"``.
    n_init : int, default=1
        Number of starts. All but the first are random, and the result of lowest stress is kept.
    max_iter : int, default=300
        Maximum number of iterations from each start.
    eps : float, default=1e-6
        Stop when an iteration lowers the stress by less than this fraction of the sum of squared
        distances.
    normalized_stress : bool or "auto", default="auto"
        Whether ``stress_`` is Kruskal's stress-1, or else the stress :math:`\sigma(Z)`. "auto"
        means stress-1 for non-metric scaling only.
    verbose : int, default=0
        If not 0, log the stress after each iteration.
    random_state : int, RandomState or None, default=None
        Random seed of the landmarks and of random starts.

    Attributes
    ----------
    embedding_ : array of shape (n_samples, n_components)
        Coordinates Z of the training samples.
    eigenvalues_ : array of shape (n_components,)
        For ``"classical"``: the k largest eigenvalues of B, in descending order. A coordinate is 0
        if its eigenvalue is not positive.
    landmarks_ : array of shape (n_landmarks,)
        Row indices of the landmarks, if there are any.
    stress_ : float
        For ``"smacof"``: the final :math:`\sigma(Z)`, or Kruskal's stress-1 [5]_, which is
        :math:`(\sum w_{ij} (\hat d_{ij} - d_{ij})^2 / \sum w_{ij} d_{ij}^2)^{1/2}` with
        :math:`d_{ij} = |z_i - z_j|`. Equal dissimilarities have equal :math:`\hat d`,
        which is Kruskal's secondary treatment of ties. His primary treatment gives a smaller
        value if there are ties.
    n_iter_ : int
        For ``"smacof"``, the number of iterations from the best start. Otherwise 1.
    history_ : tuple of float
        For ``"smacof"``: the stress at the best start and after each iteration from there.
    n_features_in_ : int
        Number of features. ``feature_names_in_`` holds their names if X has any.

    References
    ----------
    .. [1] W. S. Torgerson, "Multidimensional scaling: I. Theory and method", Psychometrika 17,
       1952.
    .. [2] J. de Leeuw, "Applications of convex analysis to multidimensional scaling", 1977.
    .. [3] V. de Silva, J. B. Tenenbaum, "Sparse multidimensional scaling using landmark points",
       Stanford University, 2004.
    .. [4] J. B. Kruskal, M. Wish, "Multidimensional scaling", Sage, 1978.
    .. [5] J. B. Kruskal, "Nonmetric multidimensional scaling", Psychometrika 29, 1964.

    Examples
    --------
    Five points in two groups, of three and of two:

    >>> D = np.array(
    ...     [[0, 4, 3, 7, 8], [4, 0, 1, 6, 7], [3, 1, 0, 5, 7], [7, 6, 5, 0, 1], [8, 7, 7, 1, 0]]
    ... )
    >>> mds = MDS(metric="precomputed").fit(D)
    >>> mds.embedding_.round(2)
    array([[-3.34,  2.13],
           [-2.29, -1.67],
           [-2.17, -0.78],
           [ 3.26, -0.12],
           [ 4.53,  0.44]])
    >>> mds.eigenvalues_.round(1), round(mds.metadata()["smallest_eigenvalue"], 1)
    (array([52.2,  8.2]), -3.5)

    Flying distances in miles between ten cities of the United States [4]_ reproduce their map, here
    with the west on the left:

    >>> from scipy.spatial.distance import pdist, squareform
    >>> cities = "Atlanta Chicago Denver Houston LA Miami NY SF Seattle Washington".split()
    >>> miles = [587, 1212, 701, 1936, 604, 748, 2139, 2182, 543, 920, 940, 1745, 1188, 713, 1858]
    >>> miles += [1737, 597, 879, 831, 1726, 1631, 949, 1021, 1494, 1374, 968, 1420, 1645, 1891]
    >>> miles += [1220, 2339, 2451, 347, 959, 2300, 1092, 2594, 2734, 923, 2571, 2408, 205, 678]
    >>> miles += [2442, 2329]
    >>> Z = MDS(metric="precomputed").fit_transform(squareform(np.array(miles, float)))
    >>> [cities[i] for i in np.argsort(Z[:, 0] * np.sign(Z[6, 0]))]
    ['SF', 'Seattle', 'LA', 'Denver', 'Houston', 'Chicago', 'Atlanta', 'Washington', 'NY', 'Miami']
    >>> float(np.abs(pdist(Z) - miles).max().round(1))
    20.6
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "algorithm": [StrOptions({"classical", "smacof"})],
        "metric": [str, callable],
        "metric_params": [dict, None],
        "n_landmarks": [Interval(Integral, 2, None, closed="left"), None],
        "additive_constant": ["boolean"],
        "metric_mds": ["boolean"],
        "weights": ["array-like", None],
        "init": [StrOptions({"classical_mds", "random"}), "array-like"],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "eps": [Interval(Real, 0, None, closed="left")],
        "normalized_stress": ["boolean", StrOptions({"auto"})],
        "verbose": ["verbose"],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_components: int = 2,
        *,
        algorithm: str = "classical",
        metric: str | Callable[..., float] = "euclidean",
        metric_params: dict[str, Any] | None = None,
        n_landmarks: int | None = None,
        additive_constant: bool = False,
        metric_mds: bool = True,
        weights: Array | None = None,
        init: str | Array = "classical_mds",
        n_init: int = 1,
        max_iter: int = 300,
        eps: float = 1e-6,
        normalized_stress: bool | str = "auto",
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.algorithm = algorithm
        self.metric = metric
        self.metric_params = metric_params
        self.n_landmarks = n_landmarks
        self.additive_constant = additive_constant
        self.metric_mds = metric_mds
        self.weights = weights
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.eps = eps
        self.normalized_stress = normalized_stress
        self.verbose = verbose
        self.random_state = random_state

    @property
    def _finds_invalid_values(self) -> bool:  # type: ignore[override]
        return self.metric == "precomputed"

    def _max_steps(self) -> int:
        return self.n_init * self.max_iter if self.algorithm == "smacof" else 0

    def _fit(self, X: Array, supervision: Supervision | None, progress: Progress) -> dict[str, Any]:
        self._check_parameters(X.shape[0])
        largest = check_dissimilarities(X, self) if self.metric == "precomputed" else None
        X, self._factor = rescale_for_squares(X, largest=largest)
        self._unit = self._factor if self.metric_mds else 1.0  # disparities have no unit
        if self.algorithm == "smacof":
            return self._fit_stress(X, progress)
        exact = self.n_landmarks is None and not self.additive_constant
        if exact and is_euclidean(self.metric, self.metric_params):
            self._references = References(None, None, self.metric)  # axes map samples directly
            self._model: Any = principal_axes(X, self.n_components)
            return self._set_coordinates(X, self._model.place(X), self._model.share, 0.0)
        return self._fit_coordinates(X)

    def _check_parameters(self, n: int) -> None:
        """Raise if parameters are inconsistent with the number of samples or the algorithm."""
        self._checked_n_references(n)
        misused = {"metric_mds": not self.metric_mds, "weights": self.weights is not None}
        if self.algorithm == "smacof":
            misused = {
                "n_landmarks": self.n_landmarks is not None,
                "additive_constant": self.additive_constant,
            }
        for name in filter(misused.get, misused):
            raise ValueError(
                f"{name} is not supported by algorithm={self.algorithm!r}. Remove it, or choose "
                "the other algorithm."
            )

    def _fit_coordinates(self, X: Array) -> dict[str, Any]:
        """Apply classical scaling to the dissimilarities of all samples, or of landmarks."""
        self._references, model, Z = scale_references(
            self._chosen_references(X), X, self.n_components, additive=self.additive_constant
        )
        self._model = model
        fraction = float(np.sum(model.lengths**2)) / (float(np.sum(model.means)) / 2 or 1.0)
        option = "" if self.additive_constant else "additive_constant=True or "
        model.warn_if_negative(f"Reduce n_components, or try {option}algorithm='smacof'.")
        return self._set_coordinates(X, Z, fraction, model.smallest / self._factor**2)

    def _chosen_references(self, X: Array) -> References:
        """Return the references. Dissimilarities are computed from each sample to these samples."""
        n = X.shape[0]
        is_smacof = self.algorithm == "smacof"
        require_memory(
            8 * n * min(self.n_landmarks or n, n),
            f"The dissimilarities of {n} samples",
            "Use fewer samples." if is_smacof else "Set n_landmarks, for example to 1000.",
        )
        points = None if self.metric == "precomputed" else to_host(X)
        rows = self._landmark_rows(X, points)
        if points is not None and rows is not None:
            points = points[rows]
        return References(points, rows, self.metric, self.metric_params)

    def _set_coordinates(
        self, X: Array, Z: Array, eigenvalue_fraction: float, smallest: float
    ) -> dict[str, Any]:
        """Set the fitted attributes of classical scaling and return the metadata."""
        self.embedding_ = asarray_like(Z, X) / self._factor
        self.n_iter_ = 1
        self.eigenvalues_ = asarray_like(self._model.values / self._factor**2, X)
        return {
            "n_components": self.n_components,
            "accumulated_eigenvalues": eigenvalue_fraction,
            "smallest_eigenvalue": smallest,
            "additive_constant": self._references.constant / self._factor,
        }

    def _fit_stress(self, X: Array, progress: Progress) -> dict[str, Any]:
        """Minimise the stress from each start, and keep the best result."""
        self._references = self._chosen_references(X)
        # In single precision, rounding errors could change the order of dissimilarities.
        xp = namespace(X)
        D = self._references.dissimilarities(
            X if self.metric_mds else xp.astype(X, xp.float64), is_training=True
        )
        W = None if self.weights is None else checked_weights(self.weights, X.shape[0])
        starts = starting_coordinates(
            D, W, self.n_components, self.init, self.n_init, self.random_state
        )
        make_objective = partial(Stress if self.metric_mds else NonmetricStress, D, W)
        callback = partial(self._after_iteration, X, progress)
        best, objective = best_smacof(make_objective, starts, self.max_iter, self.eps, callback)
        best.warn_unless_converged("MDS", "Increase max_iter or eps.")
        for name, value in self._attributes_at(best.x, objective, X).items():
            setattr(self, name, value)
        self.n_iter_ = best.n_iter
        self.history_ = tuple(stress / self._unit**2 for stress in best.history)
        stress_1, automatic = objective.stress_1(best.x), self.normalized_stress == "auto"
        normalized = not self.metric_mds if automatic else self.normalized_stress
        self.stress_ = stress_1 if normalized else best.value / self._unit**2
        return {
            "n_components": self.n_components,
            "n_iter": best.n_iter,
            "initial_objective": best.history[0] / self._unit**2,
            "final_objective": best.value / self._unit**2,
            "normalized_stress": stress_1,
            "converged": best.converged,
            "reason": best.reason,
        }

    def _after_iteration(
        self, X: Array, progress: Progress, objective: Stress, Z: np.ndarray, stress: float, i: int
    ) -> bool:
        if self.verbose:
            report("[MDS] iteration %d: stress %.6g", i, stress / self._unit**2)
        return progress.step(lambda: self._attributes_at(Z, objective, X))

    def _attributes_at(self, Z: np.ndarray, objective: Stress, X: Array) -> dict[str, Any]:
        """Return the fitted attributes for the current coordinates Z of SMACOF."""
        model = Configuration(Z, objective.steps())
        return {"_model": model, "embedding_": asarray_like(Z / self._unit, X)}

    def _place(self, X: Array) -> Array:
        X = X * self._factor
        if isinstance(self._model, Axes):
            return self._model.place(X) / self._unit
        return self._model.place(self._references.dissimilarities(X)) / self._unit
