"""Isomap: multidimensional scaling of distances along the data."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from dimetric._arrays.blocks import row_blocks
from dimetric._arrays.memory import require_memory
from dimetric._arrays.namespaces import Array, asarray_like, namespace, to_host
from dimetric._arrays.validation import checked_dissimilarities, rescale_for_squares
from dimetric._compat import HasMethods, Interval, Progress, StrOptions
from dimetric.linalg.classical_scaling import PrincipalCoordinates, principal_coordinates
from dimetric.linalg.correlation import moments, residual_variance
from dimetric.manifold._embedding import LandmarkEmbedding
from dimetric.neighbors.graph import Neighborhood
from dimetric.neighbors.paths import geodesics
from dimetric.supervision.labels import Supervision

BLOCK_ENTRIES = 2**22  # numbers in memory at once
DOUBLE_PRECISION = 2**23  # up to so many geodesics are kept in double precision


@dataclass(frozen=True)
class Geodesics:
    """What places new samples: paths from the samples of the fit, and coordinates.

    Attributes
    ----------
    samples : array or sparse array of shape (n, d), or None
        Samples of the fit, on the host; None if distances to them are given.
    lengths : ndarray of shape (n, m)
        Lengths of the shortest paths from each sample to all, or to m landmarks.
    coordinates : PrincipalCoordinates
        Coordinates of all samples, or of the landmarks.
    """

    samples: Any
    lengths: np.ndarray
    coordinates: PrincipalCoordinates


class Isomap(LandmarkEmbedding):
    r"""Isometric mapping: coordinates whose distances are those along the data [1]_.

    Near samples are linked by edges. The length of the shortest path between two samples is their
    geodesic distance. Classical scaling (:class:`MDS`) turns these distances into coordinates:

    .. math:: B = -\tfrac12 J (G \circ G) J = V^T \Lambda V, \qquad Z = V^T \Lambda^{1/2}

    New samples are linked to their neighbours, and placed by their geodesic distances.

    With too few neighbours the graph has several components (an open circuit). They are joined by
    the shortest possible edges, with a warning. With too many, edges cross gaps (a short circuit).
    See :func:`dimetric.manifold.scan_neighbors`.

    Parameters
    ----------
    n_components : int, default=2
        k.
    n_neighbors : int or None, default=5
        Number of nearest samples that each sample is linked with.
    radius : float or None, default=None
        Link each sample with all within this distance instead; `n_neighbors` must then be None.
    path_method : {"auto", "D", "FW"}, default="auto"
        Shortest paths by Dijkstra's algorithm, or by Floyd's and Warshall's (small graphs with
        many edges). With numba installed, the first is several times as fast.
    metric : str or callable, default="euclidean"
        Any metric of scikit-learn. ``"precomputed"``: X holds all distances, or is a sparse graph
        of neighbours, and :meth:`transform` takes the distances of new samples to the samples of
        the fit. With `n_neighbors` and `radius` both None a sparse graph is used as it is.
    metric_params : dict, optional
        Parameters of the metric.
    n_landmarks : int, optional
        Compute paths from this number of samples, drawn at random, and place all others by their
        geodesics to these [2]_. Time and memory are O(n n_landmarks) instead of n^2.
    regressor : regressor, optional
        Learns the embedding from the samples, and places new ones instead of their geodesics.
    random_state : int, RandomState or None, default=None
        Draws the landmarks.

    Attributes
    ----------
    embedding_ : array of shape (n_samples, n_components)
        Z.
    eigenvalues_ : array of shape (n_components,)
        The k largest of B, descending.
    landmarks_ : array of shape (n_landmarks,)
        Rows of the landmarks, if there are any.
    regressor_ : regressor
        Fitted, if there is one.
    n_features_in_ : int
        Number of features; ``feature_names_in_`` holds their names where X has any.

    Notes
    -----
    Paths are summed in double precision. More than 8 million geodesics are kept in single
    precision, which changes the embedding in the eighth digit.

    References
    ----------
    .. [1] J. B. Tenenbaum, V. de Silva, J. C. Langford, "A global geometric framework for
       nonlinear dimensionality reduction", Science 290, 2000.
    .. [2] V. de Silva, J. B. Tenenbaum, "Global versus local methods in nonlinear dimensionality
       reduction", NIPS 15, 2002.

    Examples
    --------
    A sheet rolled up is unrolled: the first coordinate is the length along the roll.

    >>> from dimetric.data import make_swiss_roll
    >>> X, _, truth = make_swiss_roll(1000, random_state=0)
    >>> Z = Isomap(n_neighbors=8).fit_transform(X)
    >>> bool(abs(np.corrcoef(Z[:, 0], truth[:, 0])[0, 1]) > 0.99)
    True
    """

    _accepts_sparse: ClassVar[bool] = True
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "n_neighbors": [Interval(Integral, 1, None, closed="left"), None],
        "radius": [Interval(Real, 0, None, closed="both"), None],
        "path_method": [StrOptions({"auto", "D", "FW"})],
        "metric": [str, callable],
        "metric_params": [dict, None],
        "n_landmarks": [Interval(Integral, 2, None, closed="left"), None],
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
        self.regressor = regressor
        self.random_state = random_state

    def _fit(self, X: Array, supervision: Supervision | None, progress: Progress) -> dict[str, Any]:
        self._check_parameters(X)
        given = X
        X, self._factor = rescale_for_squares(X)
        samples = self._on_host(X)
        graph = self._neighborhood().graph(samples, connected=True)
        rows = self._landmark_rows(X, samples)
        n, m = X.shape[0], X.shape[0] if rows is None else len(rows)
        single = X.dtype == namespace(X).float32 or n * m > DOUBLE_PRECISION
        dtype = np.float32 if single else np.float64
        G = geodesics(graph, rows, method=self.path_method, dtype=dtype)
        model = principal_coordinates(G if rows is None else G[:, rows], self.n_components)
        model.warn_if_negative("Ask for fewer.")
        kept = None if self.metric == "precomputed" else samples
        self._map = Geodesics(kept, G.T, model)
        Z = model.coordinates if rows is None else model.place(G.T)
        self.embedding_ = asarray_like(Z / self._factor, X)
        self.eigenvalues_ = asarray_like(model.values / self._factor**2, X)
        if self.regressor is not None:
            target = to_host(self.embedding_)
            self.regressor_ = clone(self.regressor).fit(self._on_host(given), target)
        return {
            "n_components": self.n_components,
            "smallest_eigenvalue": model.smallest / self._factor**2,
            "reconstruction_error": self.reconstruction_error(),
        }

    def reconstruction_error(self) -> float:
        r"""Return :math:`|B - Z Z^T|_F / n`, of the landmarks where there are any."""
        check_is_fitted(self)
        return self._map.coordinates.strain / self._factor**2

    def residual_variance(self, n_components: int | None = None) -> float:
        """Return the share of the variance of geodesics that the embedding does not explain.

        This is 1 - r^2, with r the correlation of geodesics and distances of the embedding over
        all pairs, or over all pairs with a landmark.

        Parameters
        ----------
        n_components : int, optional
            Number of coordinates to use, the first ones: the embedding in fewer dimensions.
        """
        check_is_fitted(self)
        G, Z = self._map.lengths, to_host(self.embedding_).astype(np.float64)[:, :n_components]
        ends = Z if G.shape[0] == G.shape[1] else Z[to_host(self.landmarks_)]
        blocks = row_blocks(len(Z), max(1, BLOCK_ENTRIES // len(ends)))
        sums = sum(moments(G[b].astype(np.float64), cdist(Z[b], ends)).sum(axis=0) for b in blocks)
        return float(residual_variance(sums / (G.size - len(ends))))

    def _place(self, X: Array) -> Array:
        if self.regressor is not None:
            return self.regressor_.predict(self._on_host(X)).reshape(X.shape[0], -1)
        given = X.data if sparse.issparse(X) else X
        if self.metric == "precomputed" and bool(namespace(given).any(given < 0)):
            raise ValueError("Distances must not be negative.")
        links = self._links(self._on_host(X * self._factor))
        G, model = self._map.lengths, self._map.coordinates
        rows = max(1, BLOCK_ENTRIES // (G.shape[1] * max(1, int(np.diff(links.indptr).max()))))
        blocks = row_blocks(X.shape[0], rows)
        placed = [model.place(_lengths_through(links[b], G)) for b in blocks]
        return np.concatenate(placed) / self._factor

    def _links(self, X: Any) -> Any:
        """Return the edges from new samples to those of the fit, at least one each."""
        near, samples = self._neighborhood(), self._map.samples
        nearest = replace(near, n_neighbors=1, radius=None)
        given = samples is None
        links = near.precomputed_edges(X) if given else near.links(X, samples)
        alone = np.diff(links.indptr) == 0
        if not alone.any():
            return links
        if sparse.issparse(X) and given:
            raise ValueError(f"{alone.sum()} samples have no edge in the graph given.")
        warnings.warn(
            f"{alone.sum()} of {len(alone)} samples have no neighbour within radius="
            f"{self.radius}: each was linked to its nearest one. Raise radius.",
            stacklevel=2,
        )
        added = nearest.precomputed_edges(X[alone]) if given else nearest.links(X[alone], samples)
        order = np.argsort(np.concatenate([np.flatnonzero(~alone), np.flatnonzero(alone)]))
        return sparse.vstack([links[~alone], added], format="csr")[order]

    def _neighborhood(self) -> Neighborhood:
        radius = None if self.radius is None else self.radius * self._factor
        return Neighborhood(self.n_neighbors, radius, self.metric, self.metric_params)

    def _on_host(self, X: Any) -> Any:
        """Return samples on the host, dense unless they are a graph or too many."""
        if not sparse.issparse(X):
            return to_host(X)
        dense = self.metric != "precomputed" and X.shape[0] * X.shape[1] <= 8 * BLOCK_ENTRIES
        return X.toarray() if dense else X

    def _check_parameters(self, X: Any) -> None:
        """Raise if parameters do not go with each other, or with the samples."""
        n, given = X.shape[0], self.metric == "precomputed"
        if self.n_neighbors is not None and self.radius is not None:
            raise ValueError(
                f"Both n_neighbors and radius are provided: for radius={self.radius} set "
                "n_neighbors=None."
            )
        as_it_is = given and sparse.issparse(X)
        if self.n_neighbors is None and self.radius is None and not as_it_is:
            raise ValueError("Set n_neighbors or radius: without either there are no neighbours.")
        m = self._checked_n_references(n)
        remedy = "Set n_landmarks, for instance to 1000."
        require_memory(4 * n * m, f"The geodesics of {n} samples", remedy)
        if given and not sparse.issparse(X):
            checked_dissimilarities(X)
        elif given and (X.shape[0] != X.shape[1] or (X.nnz and X.data.min() < 0)):
            raise ValueError(
                f"A graph must be square, with lengths >= 0; X has shape {X.shape}, and values "
                f"from {X.data.min() if X.nnz else 0}."
            )


def _lengths_through(links: Any, G: np.ndarray) -> np.ndarray:
    """Return the lengths of the shortest paths that begin with one of the links of each sample.

    A sample at the place of one of the fit gets exactly its paths. Among neighbours at equal
    distance the fit may have chosen others, whose links could give shorter paths.
    """
    starts = links.indptr[:-1]
    nearest = np.minimum.reduceat(links.data, starts)
    first = (links.data == 0) | np.repeat(nearest > 0, np.diff(links.indptr))
    lengths = G[links.indices] + np.where(first, links.data, np.inf)[:, None]
    return np.minimum.reduceat(lengths, starts, axis=0)
