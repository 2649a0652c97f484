"""Locally linear embedding and its variants."""

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import csgraph

from dimetric._arrays.namespaces import Array, asarray_like, to_host
from dimetric._arrays.row_order import distinct_rows
from dimetric._arrays.validation import rescale_for_squares
from dimetric._compat import Interval, Progress, StrOptions
from dimetric._warnings import warn
from dimetric.learners.pca import PCA
from dimetric.linalg.smallest_eigenvectors import smallest_eigenvectors
from dimetric.manifold._embedding import Embedding
from dimetric.manifold._patches import (
    alignment_matrix,
    reconstruction_root,
    reconstruction_weights,
    squared_root,
)
from dimetric.neighbors.approximate.log import SearchLog
from dimetric.neighbors.approximate.search import SEARCH_PARAMETER, check_search
from dimetric.neighbors.graph import directed
from dimetric.neighbors.index import NeighborIndex
from dimetric.neighbors.metric_search import metric_neighbors
from dimetric.neighbors.ties import Neighborhoods
from dimetric.supervision.labels import Supervision

MAX_DENSE_SAMPLES = 200  # up to this many samples, all eigenvectors of a dense M are computed
DENSE_SAMPLES_PER_VECTOR = 4  # also with at most this many samples per eigenvector needed


class LLE(Embedding):
    r"""Locally linear embedding: coordinates that preserve how neighbours reconstruct samples.

    The weights :math:`w_{ij}` sum to 1 and best reconstruct :math:`x_i` from its k nearest
    neighbours. The coordinates Y are best reconstructed with the same weights [1]_:

    .. math:: \min_Y \sum_i |y_i - \sum_j w_{ij} y_j|^2 = \mathrm{tr}(Y^T M Y), \quad
              M = (I - W)^T (I - W), \quad Y^T Y = I, \; Y^T 1 = 0

    The columns of Y are the eigenvectors of M with the smallest eigenvalues, without the constant
    one. The other methods define M differently: by several independent weight vectors for each
    neighbourhood (``"modified"`` [2]_), by the second derivatives in the tangent space
    (``"hessian"`` [3]_), or by the part of Y that the coordinates in the tangent space do not
    explain (``"ltsa"`` [4]_). With enough samples of a sheet that is bent but not stretched, these
    three recover the coordinates on the sheet up to a linear map.

    Duplicate samples count once and get the same coordinates. If the neighbour graph has several
    connected components, a warning is issued and each is embedded separately. The coordinates of
    each component are then mapped linearly to predict its samples best, and rotated and shifted to
    match the principal components of all samples.

    Parameters
    ----------
    n_components : int, default=2
        Dimension of the embedding.
    n_neighbors : int, default=5
        Number of neighbours k. ``"modified"`` requires at least `n_components`. With exactly this
        number, each sample has only one weight vector. ``"ltsa"`` requires more, because k + 1
        samples of a tangent space of dimension k always fit it. ``"hessian"`` requires more than
        ``n_components * (n_components + 3) / 2``, the number of first and second derivatives. Among
        neighbours at equal distance, the coordinates decide, not the order of the rows.
    reg : float, default=1e-3
        Ridge of the weights, relative to the squared distances to the neighbours.
    method : {"standard", "modified", "hessian", "ltsa"}, default="standard"
        Definition of the matrix M, as described above.
    eigen_solver : {"auto", "arpack", "dense"}, default="auto"
        ``"arpack"`` uses Lanczos iterations with a factorisation of the sparse matrix I - W, or of
        M if the method is not ``"standard"``. ``"dense"`` computes all eigenvectors of a dense M.
        ``"auto"`` uses ``"dense"`` if there are at most 200 samples, or at most
        ``4 * n_components``.
    search : ApproximateNeighbors, neighbour model or None, default=None
        Approximate search for the neighbours of training samples: an
        :class:`~dimetric.neighbors.ApproximateNeighbors`, or an object like scikit-learn's
        ``KNeighborsTransformer``. ``metadata()`` contains the `search_recall`. None searches
        exactly, and so does :meth:`transform`.

    Attributes
    ----------
    embedding_ : array of shape (n_samples, n_components)
        Coordinates Y of the training samples.
    reconstruction_error_ : float
        Sum of the eigenvalues of M that belong to Y, over all connected components.
    n_features_in_ : int
        Number of features. ``feature_names_in_`` holds their names if X has any.

    References
    ----------
    .. [1] S. T. Roweis, L. K. Saul, "Nonlinear dimensionality reduction by locally linear
       embedding", Science 290, 2000.
    .. [2] Z. Zhang, J. Wang, "MLLE: modified locally linear embedding using multiple weights",
       NIPS, 2006.
    .. [3] D. L. Donoho, C. Grimes, "Hessian eigenmaps: locally linear embedding techniques for
       high-dimensional data", PNAS 100, 2003.
    .. [4] Z. Zhang, H. Zha, "Principal manifolds and nonlinear dimensionality reduction via
       tangent space alignment", SIAM J. Scientific Computing 26, 2004.

    Examples
    --------
    >>> from dimetric.data import make_swiss_roll
    >>> X, t, _ = make_swiss_roll(1500, random_state=0)
    >>> Z = LLE(n_neighbors=12, method="ltsa").fit_transform(X)
    >>> bool(np.abs(np.corrcoef(Z[:, 0], t)[0, 1]) > 0.98)
    True
    """

    reconstruction_error_: float
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "reg": [Interval(Real, 0, None, closed="left")],
        "method": [StrOptions({"standard", "modified", "hessian", "ltsa"})],
        "eigen_solver": [StrOptions({"auto", "arpack", "dense"})],
        **SEARCH_PARAMETER,
    }

    def __init__(
        self,
        n_components: int = 2,
        *,
        n_neighbors: int = 5,
        reg: float = 1e-3,
        method: str = "standard",
        eigen_solver: str = "auto",
        search: Any = None,
    ) -> None:
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.reg = reg
        self.method = method
        self.eigen_solver = eigen_solver
        self.search = search

    def _fit(self, X: Array, supervision: Supervision | None, progress: Progress) -> dict[str, Any]:
        scaled, self._factor = rescale_for_squares(X)
        points, point_of_sample = distinct_rows(np.asarray(to_host(scaled), dtype=np.float64))
        k = self._checked_neighbors(X.shape[0], X.shape[1], len(points))
        check_search(self.search, points)
        search = SearchLog(self.search)
        _, neighbors = metric_neighbors(points, k, search=search)
        parts = _components(neighbors)
        one_weight_vector = self.method == "modified" and k == self.n_components
        if self.method == "standard" or one_weight_vector:
            _warn_about_closed_groups(neighbors, len(parts))
        if len(parts) == 1:
            Y, error = self._embed_component(points, neighbors)
        else:
            neighbors_within = [np.searchsorted(rows, neighbors[rows]) for rows in parts]
            embedded = [
                self._embed_component(points[rows], part_neighbors)
                for rows, part_neighbors in zip(parts, neighbors_within, strict=True)
            ]
            Y = _align_components(points, parts, [piece for piece, _ in embedded])
            error = sum(error for _, error in embedded)
        self.embedding_ = asarray_like(Y[point_of_sample], X)
        self._points, self._coordinates = asarray_like(points, X), asarray_like(Y, X)
        _ = self._index  # stored now, because transform must not add attributes
        self.reconstruction_error_ = error
        return {
            "final_objective": self.reconstruction_error_,
            "n_components": int(self.n_components),
            "reg": self.reg,
            **search.metadata(),
        }

    def _place(self, X: Array) -> Array:
        """Return the weighted means of the coordinates of the nearest training samples."""
        rescale_for_squares(X)  # raises if the dtype cannot hold squares of the values
        samples = self._factor * np.asarray(to_host(X), dtype=np.float64)
        index = self._index
        points = index.points
        k = min(int(self.n_neighbors), len(points) - 1)
        distances, neighbors = Neighborhoods(samples, k, points, index=index).listed(k)
        weights = reconstruction_weights(samples, points, neighbors, self.reg)
        weights[distances[:, 0] == 0] = np.eye(1, k)  # a training sample keeps its coordinates
        return np.einsum("ij,ijk->ik", weights, to_host(self._coordinates)[neighbors])

    @property
    def _index(self) -> NeighborIndex:
        """The distinct training samples. The first search of ``transform`` prepares them.

        The index is built from other attributes, so pickles and model files do not hold it.
        """
        source, index = self.__dict__.get("_search_index", (None, None))
        if source is not self._points:
            index = NeighborIndex(np.asarray(to_host(self._points), dtype=np.float64))
            self.__dict__["_search_index"] = self._points, index
        return index

    def __getstate__(self) -> dict[str, Any]:
        state: Any = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_search_index"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if hasattr(self, "_points"):
            _ = self._index

    def _embed_component(
        self, points: np.ndarray, neighbors: np.ndarray
    ) -> tuple[np.ndarray, float]:
        """Return the coordinates of one connected component, and the sum of their eigenvalues."""
        n, k = len(points), int(self.n_components)
        R = None
        if self.method == "standard":
            R = reconstruction_root(points, neighbors, self.reg)
            M = squared_root(R)
        else:
            M = alignment_matrix(points, neighbors, k, method=self.method, reg=self.reg)
        n_vectors = min(k, n - 1)  # a small connected component has fewer vectors
        small = n <= MAX_DENSE_SAMPLES or n <= DENSE_SAMPLES_PER_VECTOR * n_vectors
        dense = small if self.eigen_solver == "auto" else self.eigen_solver == "dense"
        values, V = smallest_eigenvectors(M, n_vectors, dense=dense or n_vectors >= n - 1, root=R)
        return np.pad(V.T, [(0, 0), (0, k - n_vectors)]), float(values.sum())

    def _checked_neighbors(self, n: int, d: int, n_distinct: int) -> int:
        """Return the number of neighbours to use. Raise if parameters do not fit the samples."""
        k, n_components = self.n_neighbors, self.n_components
        if n_distinct == 1:
            raise ValueError("All samples are equal, so there is nothing to embed.")
        if n_components > d or n_components >= n_distinct:
            raise ValueError(
                f"n_components={n_components} must be at most n_features = {d} and less than the "
                f"number of distinct samples, {n_distinct} (n_samples = {n})."
            )
        if k >= n:
            raise ValueError(f"n_neighbors={k} must be at most n_samples - 1 = {n - 1}.")
        if k >= n_distinct:
            warn(
                f"X has only {n_distinct} distinct samples. n_neighbors={k} was reduced to "
                f"{n_distinct - 1}.",
            )
        k = min(int(k), n_distinct - 1)
        least = {
            "standard": 1,
            "modified": n_components,
            "hessian": n_components * (n_components + 3) // 2 + 1,
            "ltsa": n_components + 1,
        }[self.method]
        if k < least:
            raise ValueError(
                f"n_neighbors={k} must be at least {least} with method={self.method!r} and "
                f"n_components={n_components}. Increase n_neighbors or reduce n_components."
            )
        return k


def _neighbor_graph(neighbors: np.ndarray) -> Any:
    """Return the neighbour graph, with an edge from each sample to each of its neighbours."""
    return directed(neighbors, np.ones(neighbors.shape, dtype=np.int8), len(neighbors))


def _components(neighbors: np.ndarray) -> list[np.ndarray]:
    """Return the row indices of each connected component. Warn if there are several."""
    n_parts, label = csgraph.connected_components(_neighbor_graph(neighbors), directed=False)
    if n_parts > 1:
        warn(
            f"The neighbour graph has {n_parts} connected components. Each was embedded separately "
            "and placed by the principal components of X. Increase n_neighbors to embed them "
            "together.",
        )
    return [np.flatnonzero(label == part) for part in range(n_parts)]


def _warn_about_closed_groups(neighbors: np.ndarray, n_parts: int) -> None:
    """Warn about groups in a connected component whose samples have no neighbour outside the group.

    M has a null vector for each such group. In a null vector, all samples of a group have the same
    value, and all other samples interpolate between groups.
    """
    links = _neighbor_graph(neighbors).tocoo()
    n_groups, label = csgraph.connected_components(links, connection="strong")
    leaves = label[links.row] != label[links.col]
    n_closed = n_groups - len(np.unique(label[links.row[leaves]]))
    if n_closed > n_parts:
        warn(
            f"{n_closed} groups of samples have no neighbour outside their group. The embedding "
            "mainly shows these groups. Increase n_neighbors or choose another method.",
        )


def _align_components(
    X: np.ndarray, parts: list[np.ndarray], pieces: list[np.ndarray]
) -> np.ndarray:
    """Place the coordinates of each component by the principal components of X.

    Eigenvectors define the coordinates of a component only up to a linear map. The linear map is
    chosen that predicts the samples of the component best, by least squares. The prediction is
    rotated to match the principal components, and keeps the distances between its samples.
    """
    k = pieces[0].shape[1]
    plane = PCA(k).fit_transform(X)
    Y = np.empty((len(X), k))
    for rows, piece in zip(parts, pieces, strict=True):
        centre = plane[rows].mean(axis=0)
        # The columns of each piece are orthonormal, or 0 in a small component.
        slopes = piece.T @ (X[rows] - X[rows].mean(axis=0))
        axes, lengths, _ = np.linalg.svd(slopes, full_matrices=False)
        predicted = piece @ (axes * lengths)
        U, _, V = np.linalg.svd(predicted.T @ (plane[rows] - centre))
        Y[rows] = centre + predicted @ (U @ V)
    return Y * (k**0.5 / np.linalg.norm(Y))
