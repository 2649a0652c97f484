"""Isomap: multidimensional scaling of geodesic distances."""

from collections.abc import Callable
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from dimetric._arrays.blocks import row_blocks
from dimetric._arrays.dissimilarities import check_dissimilarities
from dimetric._arrays.memory import require_memory
from dimetric._arrays.namespaces import Array, asarray_like, namespace, to_host
from dimetric._arrays.validation import rescale_for_squares
from dimetric._compat import HasMethods, Interval, Progress, StrOptions
from dimetric._warnings import warn
from dimetric.linalg.classical_scaling import principal_coordinates
from dimetric.linalg.correlation import moments, residual_variance
from dimetric.manifold._embedding import LandmarkEmbedding
from dimetric.manifold._geodesics import Geodesics, lengths_through
from dimetric.neighbors.approximate.log import SearchLog
from dimetric.neighbors.approximate.search import SEARCH_PARAMETER, check_search
from dimetric.neighbors.graph import Neighborhood
from dimetric.neighbors.paths import geodesics
from dimetric.supervision.labels import Supervision

BLOCK_ENTRIES = 2**22  # distances per block
MAX_DENSE_ENTRIES = 2**25  # sparse samples with at most this many entries are made dense (256 MiB)
MAX_DOUBLE_GEODESICS = 2**23  # up to this many geodesic distances are stored in double precision


class Isomap(LandmarkEmbedding):
    r"""Isometric mapping: coordinates that preserve geodesic distances along the data [1]_.

    A graph links neighbouring samples. The length of the shortest path between two samples is their
    geodesic distance. Classical scaling (:class:`MDS`) turns the matrix G of these distances into
    coordinates:

    .. math:: B = -\tfrac12 J (G \circ G) J = V^T \Lambda V, \qquad Z = V^T \Lambda^{1/2}

    New samples are linked to their neighbours and placed by their geodesic distances.

    With too few neighbours, the graph has several connected components (an open circuit). Each is
    joined to the 5 components nearest to it, by several edges between samples that are mutually
    nearest, and a warning is issued. With too many neighbours, edges cross gaps (a short circuit).
    :func:`dimetric.manifold.scan_neighbors` detects both.

    Parameters
    ----------
    n_components : int, default=2
        Dimension k of the embedding.
    n_neighbors : int or None, default=5
        Number of nearest neighbours that each sample is linked to. Among neighbours at equal
        distance, the coordinates decide, not the order of the rows. With precomputed distances, the
        first rows are chosen.
    radius : float or None, default=None
        If given, link each sample to all samples within this distance. `n_neighbors` must then be
        None.
    path_method : {"auto", "D", "FW"}, default="auto"
        Algorithm for shortest paths: Dijkstra (``"D"``), or Floyd-Warshall (``"FW"``), which is
        faster for small graphs with many edges. With numba installed, Dijkstra is several times
        faster.
    metric : str or callable, default="euclidean"
        Any metric of scikit-learn. With ``"precomputed"``, X contains all distances or is a sparse
        neighbour graph, and :meth:`transform` takes the distances from new samples to training
        samples. If `n_neighbors` and `radius` are both None, a sparse graph is used unchanged.
    metric_params : dict, optional
        Parameters of the metric.
    n_landmarks : int, optional
        If given, compute paths only from this number of random samples, the landmarks, and place
        all others by their geodesic distances to the landmarks [2]_. Time and memory are
        O(n n_landmarks) instead of O(n^2).
    search : ApproximateNeighbors, neighbour model or None, default=None
        Approximate search for the `n_neighbors` nearest training samples of training samples: an
        :class:`~dimetric.neighbors.ApproximateNeighbors`, or an object like scikit-learn's
        ``KNeighborsTransformer``. ``metadata()`` contains the `search_recall`. None searches
        exactly, and so does :meth:`transform`.
    regressor : regressor, optional
        If given, it is fitted to predict the embedding. New samples are then placed by its
        predictions, not by their geodesic distances.
    random_state : int, RandomState or None, default=None
        Random seed of the landmarks.

    Attributes
    ----------
    embedding_ : array of shape (n_samples, n_components)
        Coordinates Z of the training samples.
    eigenvalues_ : array of shape (n_components,)
        The k largest eigenvalues of B, in descending order.
    dist_matrix_ : array of shape (n_samples, n_samples) or (n_samples, n_landmarks)
        Geodesic distances from each sample to all samples, or to the landmarks. The array is
        read-only and takes no extra memory, because :meth:`transform` needs it, too.
    landmarks_ : array of shape (n_landmarks,)
        Row indices of the landmarks, if there are any.
    regressor_ : regressor
        The fitted regressor, if there is one.
    n_features_in_ : int
        Number of features. ``feature_names_in_`` holds their names if X has any.

    Notes
    -----
    Path lengths are summed in double precision. More than 8 million geodesic distances are stored
    in single precision, which changes the embedding in the eighth digit.

    References
    ----------
    .. [1] J. B. Tenenbaum, V. de Silva, J. C. Langford, "A global geometric framework for
       nonlinear dimensionality reduction", Science 290, 2000.
    .. [2] V. de Silva, J. B. Tenenbaum, "Global versus local methods in nonlinear dimensionality
       reduction", NIPS 15, 2002.

    Examples
    --------
    Isomap unrolls a rolled-up sheet: the first coordinate is the length along the roll.

    >>> from dimetric.data import make_swiss_roll
    >>> X, _, truth = make_swiss_roll(1000, random_state=0)
    >>> Z = Isomap(n_neighbors=8).fit_transform(X)
    >>> bool(abs(np.corrcoef(Z[:, 0], truth[:, 0])[0, 1]) > 0.99)
    True
    """

    _accepts_sparse: ClassVar[bool] = True
    _fits_sparse: ClassVar[bool] = True
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "n_neighbors": [Interval(Integral, 1, None, closed="left"), None],
        "radius": [Interval(Real, 0, None, closed="both"), None],
        "path_method": [StrOptions({"auto", "D", "FW"})],
        "metric": [str, callable],
        "metric_params": [dict, None],
        "n_landmarks": [Interval(Integral, 2, None, closed="left"), None],
        **SEARCH_PARAMETER,
        "regressor": [HasMethods(["fit", "predict"]), None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_components: int = 2,
        *,
        n_neighbors: int | None = 5,
        radius: float | None = None,
        path_method: str = "auto",
        metric: str | Callable[..., float] = "euclidean",
        metric_params: dict[str, Any] | None = None,
        n_landmarks: int | None = None,
        search: Any = None,
        regressor: Any = None,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.radius = radius
        self.path_method = path_method
        self.metric = metric
        self.metric_params = metric_params
        self.n_landmarks = n_landmarks
        self.search = search
        self.regressor = regressor
        self.random_state = random_state

    def _fit(self, X: Array, supervision: Supervision | None, progress: Progress) -> dict[str, Any]:
        self._check_parameters(X)
        unscaled = X
        X, self._factor = rescale_for_squares(X)
        samples = self._host_samples(X)
        check_search(self.search, samples, self.metric, self.metric_params)
        search = SearchLog(self.search)
        graph = replace(self._neighborhood(), search=search).graph(samples, connected=True)
        rows = self._landmark_rows(X, samples)
        n, m = X.shape[0], X.shape[0] if rows is None else len(rows)
        single = X.dtype == namespace(X).float32 or n * m > MAX_DOUBLE_GEODESICS
        dtype = np.float32 if single else np.float64
        G = geodesics(graph, rows, method=self.path_method, dtype=dtype)
        model = principal_coordinates(G if rows is None else G[:, rows], self.n_components)
        model.warn_if_negative("Reduce n_components.")
        kept = None if self.metric == "precomputed" else samples
        self._map = Geodesics(kept, G.T, model)
        Z = model.coordinates if rows is None else model.place(G.T)
        self.embedding_ = asarray_like(Z / self._factor, X)
        self.eigenvalues_ = asarray_like(model.values / self._factor**2, X)
        if self.regressor is not None:
            target = to_host(self.embedding_)
            self.regressor_ = clone(self.regressor).fit(self._host_samples(unscaled), target)
        return {
            "n_components": self.n_components,
            "smallest_eigenvalue": model.smallest / self._factor**2,
            "reconstruction_error": self.reconstruction_error(),
            **search.metadata(),
        }

    @property
    def dist_matrix_(self) -> Array:
        """Geodesic distances from each sample to all samples, or to the landmarks."""
        check_is_fitted(self)
        G = self._map.lengths
        G = G.view() if self._factor == 1 else G / G.dtype.type(self._factor)
        G.flags.writeable = False  # `transform` uses the same memory
        dtype = getattr(namespace(self.embedding_), G.dtype.name)
        return asarray_like(G, self.embedding_, dtype=dtype)

    def reconstruction_error(self) -> float:
        r"""Return :math:`|B - Z Z^T|_F / n`, for the landmarks only if there are any."""
        check_is_fitted(self)
        return self._map.coordinates.strain / self._factor**2

    def residual_variance(self, n_components: int | None = None) -> float:
        """Return the fraction of the variance of geodesic distances that is not explained.

        It is 1 - r^2, where r is the correlation between geodesic distances and distances in the
        embedding, over all pairs or over all pairs with a landmark.

        Parameters
        ----------
        n_components : int, optional
            Number of leading coordinates to use. By default, all are used.
        """
        check_is_fitted(self)
        G, Z = self._map.lengths, to_host(self.embedding_).astype(np.float64)[:, :n_components]
        ends = Z if G.shape[0] == G.shape[1] else Z[to_host(self.landmarks_)]
        blocks = row_blocks(len(Z), max(1, BLOCK_ENTRIES // len(ends)))
        sums = sum(moments(G[b].astype(np.float64), cdist(Z[b], ends)).sum(axis=0) for b in blocks)
        return float(residual_variance(sums / (G.size - len(ends))))

    def _place(self, X: Array) -> Array:
        if self.regressor is not None:
            return self.regressor_.predict(self._host_samples(X)).reshape(X.shape[0], -1)
        values = X.data if sparse.issparse(X) else X
        if self.metric == "precomputed" and bool(namespace(values).any(values < 0)):
            raise ValueError("Distances must not be negative.")
        links = self._links(self._host_samples(X * self._factor))
        G, model = self._map.lengths, self._map.coordinates
        rows = max(1, BLOCK_ENTRIES // (G.shape[1] * max(1, int(np.diff(links.indptr).max()))))
        blocks = row_blocks(X.shape[0], rows)
        placed = [model.place(lengths_through(links[b], G)) for b in blocks]
        return np.concatenate(placed) / self._factor

    def _links(self, X: Any) -> Any:
        """Return the edges from new samples to training samples, at least one per new sample."""
        neighborhood, samples = self._neighborhood(), self._map.samples
        nearest = replace(neighborhood, n_neighbors=1, radius=None)
        precomputed = samples is None
        links = neighborhood.precomputed_edges(X) if precomputed else neighborhood.links(X, samples)
        isolated = np.diff(links.indptr) == 0
        if not isolated.any():
            return links
        if sparse.issparse(X) and precomputed:
            raise ValueError(
                f"{isolated.sum()} of {len(isolated)} samples have no edge in the given graph. Add "
                "at least one edge for each sample."
            )
        warn(
            f"{isolated.sum()} of {len(isolated)} samples have no neighbour within radius="
            f"{self.radius}. Each was linked to its nearest neighbour. Increase radius.",
        )
        added = (
            nearest.precomputed_edges(X[isolated])
            if precomputed
            else nearest.links(X[isolated], samples)
        )
        order = np.argsort(np.concatenate([np.flatnonzero(~isolated), np.flatnonzero(isolated)]))
        return sparse.vstack([links[~isolated], added], format="csr")[order]

    def _neighborhood(self) -> Neighborhood:
        radius = None if self.radius is None else self.radius * self._factor
        return Neighborhood(self.n_neighbors, radius, self.metric, self.metric_params)

    def _host_samples(self, X: Any) -> Any:
        """Return samples in host memory, as a dense array unless X is a graph or too large."""
        if not sparse.issparse(X):
            return to_host(X)
        dense = self.metric != "precomputed" and X.shape[0] * X.shape[1] <= MAX_DENSE_ENTRIES
        return X.toarray() if dense else X

    def _check_parameters(self, X: Any) -> None:
        """Raise if parameters are inconsistent with each other or with the samples."""
        n, precomputed = X.shape[0], self.metric == "precomputed"
        if self.n_neighbors is not None and self.radius is not None:
            raise ValueError(
                f"Both n_neighbors and radius are provided. To use radius={self.radius}, set "
                "n_neighbors=None."
            )
        if self.search is not None and self.radius is not None:
            raise ValueError(
                f"search={self.search!r} finds the nearest neighbours, not all samples within a "
                f"radius. Set search=None, or radius=None and n_neighbors."
            )
        is_graph = precomputed and sparse.issparse(X)
        if self.n_neighbors is None and self.radius is None and not is_graph:
            raise ValueError("n_neighbors and radius are both None. Set one of them.")
        m = self._checked_n_references(n)
        remedy = "Set n_landmarks, for example to 1000."
        require_memory(4 * n * m, f"The geodesic distances of {n} samples", remedy)
        if precomputed and not sparse.issparse(X):
            check_dissimilarities(X)
        elif precomputed and (X.shape[0] != X.shape[1] or (X.nnz and X.data.min() < 0)):
            raise ValueError(
                "A precomputed graph must be square with non-negative lengths, but X has shape "
                f"{X.shape} and minimum {X.data.min() if X.nnz else 0}."
            )
