"""Principal component analysis."""

import warnings
from functools import partial
from numbers import Integral, Real
from time import perf_counter
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from sklearn.utils import Tags, check_random_state

from dimetric._arrays.namespaces import Array, asarray_like, eps, namespace, to_host
from dimetric._arrays.validation import checked_samples, rescale_for_squares
from dimetric._compat import Interval, Progress, StrOptions, fit_method
from dimetric.learners._linear import LinearMetric
from dimetric.linalg.principal_axes import PrincipalAxes, axes_by_iteration, axes_from_moments
from dimetric.linalg.scatter import Moments
from dimetric.linalg.spectral import lanczos_svd, randomized_svd
from dimetric.supervision.labels import Supervision


class PCA(LinearMetric):
    r"""Principal component analysis: the directions in which the samples vary most.

    .. math:: \max_{V V^T = I_k} \mathrm{tr}(V S V^T),
              \quad S = \sum_i (x_i - \mu)(x_i - \mu)^T

    The rows of V are the eigenvectors of S for its k largest eigenvalues. The same V minimises
    the error of reconstruction :math:`\sum_i |x_i - \mu - V^T V (x_i - \mu)|^2`, and is what
    taking the direction of largest variance away again and again gives [1]_.

    Parameters
    ----------
    n_components : int, float in (0, 1) or None, default=None
        k. A float t asks for the smallest k with
        :math:`\sum_{i \le k} \lambda_i / \sum_i \lambda_i \ge t`; None keeps
        ``min(n_samples, n_features)`` (one less with ``svd_solver="arpack"``).
    whiten : bool, default=False
        Scale the map so that its components have unit variance; directions without variance are
        mapped to 0. The distance is then Mahalanobis' in the subspace.
    svd_solver : str, default="auto"
        - ``"covariance_eigh"``: eigenvectors of S; one matrix product, for tall data.
        - ``"full"``: a QR decomposition and the singular values of R; as exact as the data.
        - ``"incremental"``: the same block by block in O(n_features^2) memory, as
          :meth:`partial_fit` does.
        - ``"randomized"``: block power iteration, for few components of large data.
        - ``"arpack"``: Lanczos iteration; needs ``n_components < min(n_samples, n_features)``.
        - ``"auto"``: by shape. Where it takes S and that turns out so ill-conditioned that
          squaring has cost digits, it takes ``"full"`` instead.
    tol : float, default=0.0
        Tolerance of ``"arpack"``; 0 is machine precision.
    iterated_power : int or "auto", default="auto"
        Power iterations of ``"randomized"``.
    n_oversamples : int, default=10
        Vectors that ``"randomized"`` takes along beyond k.
    random_state : int, RandomState or None, default=None
        Of the start vectors of ``"randomized"`` and ``"arpack"``.

    Attributes
    ----------
    components_ : array of shape (n_components, n_features)
        The map L: V, or V with rows divided by the standard deviations if `whiten`.
    offset_ : array of shape (n_features,)
        The mean of the samples.
    explained_variance_ : array of shape (n_components,)
        Variance of each component, with n - 1 in the denominator.
    explained_variance_ratio_ : array of shape (n_components,)
        Its share of the total variance.
    singular_values_ : array of shape (n_components,)
        Singular values of the centred samples.
    n_components_ : int
        k.
    n_samples_ : int
        Number of samples seen.
    n_features_in_ : int
        Number of features; ``feature_names_in_`` holds their names where X has any.

    References
    ----------
    .. [1] I. T. Jolliffe, "Principal Component Analysis", Springer, 2002.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> pca = PCA(n_components=0.95).fit(load_iris().data)
    >>> pca.n_components_
    2
    >>> pca.explained_variance_ratio_.round(3)
    array([0.925, 0.053])
    """

    _supervision_kinds: ClassVar[tuple[str, ...]] = ()
    _accepts_sparse: ClassVar[bool] = True
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_components": [
            Interval(Integral, 1, None, closed="left"),
            Interval(Real, 0, 1, closed="neither"),
            None,
        ],
        "whiten": ["boolean"],
        "svd_solver": [
            StrOptions({"auto", "full", "covariance_eigh", "incremental", "randomized", "arpack"})
        ],
        "tol": [Interval(Real, 0, None, closed="left")],
        "iterated_power": [StrOptions({"auto"}), Interval(Integral, 0, None, closed="left")],
        "n_oversamples": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_components: int | float | None = None,
        *,
        whiten: bool = False,
        svd_solver: str = "auto",
        tol: float = 0.0,
        iterated_power: int | str = "auto",
        n_oversamples: int = 10,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.whiten = whiten
        self.svd_solver = svd_solver
        self.tol = tol
        self.iterated_power = iterated_power
        self.n_oversamples = n_oversamples
        self.random_state = random_state

    def _fit(self, X: Array, supervision: Supervision | None, progress: Progress) -> dict[str, Any]:
        X, factor = rescale_for_squares(X)
        solver = self._solver_for(X)
        self._check_n_components(min(X.shape), solver)
        X = X.toarray() if sparse.issparse(X) and solver == "full" else X
        k = self._whole_k(min(X.shape) - (solver == "arpack"))
        if solver in _TRUNCATED:
            axes = self._iterated(X, k, solver)
        else:
            axes = axes_from_moments(Moments.of_all(X, root=solver != "covariance_eigh"), k)
            squared = solver == "covariance_eigh" and not sparse.issparse(X)
            if self.svd_solver == "auto" and squared and axes.lost_digits(X):
                solver = "full"
                axes = axes_from_moments(Moments.of_all(X, root=True), k)
        self._fit_svd_solver = solver
        self._moments: Moments | None = None  # a fit forgets the blocks of partial_fit
        return self._set(axes.rescaled(1 / factor), X)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.svd_solver not in _DENSE
        return tags

    @fit_method
    def partial_fit(self, X: Array, y: Array | None = None) -> Self:
        """Learn from one more block of samples; the map is that of all blocks seen so far.

        Blocks may have any number of rows; the learner counts as fitted as soon as there are
        `n_components` samples. After a :meth:`fit` the first block starts anew. Memory is
        O(n_features^2); sparse blocks become dense.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            A block of samples.
        y : ignored
            Not used.

        Returns
        -------
        self : object
            The learner, fitted to all blocks.
        """
        started = perf_counter()
        seen: Moments | None = getattr(self, "_moments", None)
        X = checked_samples(self, X, reset=seen is None)
        rescale_for_squares(X)  # refuses what has no variance in this dtype
        self._check_n_components(X.shape[1], "incremental")
        moments = Moments.root_of(X.toarray() if sparse.issparse(X) else X)
        if seen is None:
            self.__dict__.pop("components_", None)  # of an earlier fit
        else:
            moments = seen + moments.moved_to(seen)
        self._moments = moments
        # Too few samples to span the components: wait for more.
        if moments.n_samples >= max(2, self._whole_k(1)):
            k = self._whole_k(min(int(moments.n_samples), X.shape[1]))
            metadata = self._set(axes_from_moments(moments, k), X)
            self._metadata = metadata | {"time": perf_counter() - started}
        return self

    def _solver_for(self, X: Array) -> str:
        """Choose as scikit-learn does, by shape."""
        n, d = X.shape
        few = isinstance(self.n_components, Integral) and self.n_components < 0.8 * min(n, d)
        if self.svd_solver != "auto":
            if sparse.issparse(X) and self.svd_solver in _DENSE:
                raise TypeError(
                    f"svd_solver={self.svd_solver!r} needs dense samples; for sparse X it must be "
                    "'auto', 'covariance_eigh', 'randomized' or 'arpack'."
                )
            return self.svd_solver
        if sparse.issparse(X):
            return self._sparse_solver_for(X, few)
        if d <= 1000 and n >= 10 * d:
            return "covariance_eigh"
        return "randomized" if few and max(n, d) > 500 else "full"

    def _sparse_solver_for(self, X: Array, few: bool) -> str:
        """Take few components by Lanczos iteration, all from what fits into memory."""
        n, d = X.shape
        if d <= 500 or (d <= 5000 and not few):
            return "covariance_eigh"
        if few:
            return "arpack"
        if n * d <= 2**27:  # a gigabyte, dense
            return "full"
        raise ValueError(
            f"n_components={self.n_components} asks for nearly all components of a large sparse X "
            f"of shape {X.shape}; it must be an int below {0.8 * min(n, d):.0f}."
        )

    def _check_n_components(self, largest: int, solver: str) -> None:
        """Say which numbers of components there can be."""
        k = self.n_components
        if isinstance(k, Integral) and k > largest - (solver == "arpack"):
            limit = "strictly less than" if solver == "arpack" else "at most"
            raise ValueError(
                f"n_components={k} must be {limit} min(n_samples, n_features)={largest} with "
                f"svd_solver={solver!r}; n_features={self.n_features_in_}."
            )
        if solver == "arpack" and largest < 2:
            raise ValueError(
                f"svd_solver='arpack' needs at least 2 samples and features; n_features="
                f"{self.n_features_in_}."
            )
        if isinstance(k, Real) and not isinstance(k, Integral) and solver in _TRUNCATED:
            raise ValueError(
                f"n_components={k} asks for a share of the variance, which "
                f"svd_solver={solver!r} cannot tell; it must be an int, or svd_solver one of "
                "'auto', 'full', 'covariance_eigh', 'incremental'."
            )

    def _iterated(self, X: Array, k: int, solver: str) -> PrincipalAxes:
        """Take k axes by the iteration asked for, from a random start."""
        random = check_random_state(self.random_state)
        smaller = min(X.shape)
        if solver == "arpack":
            start = random.uniform(-1, 1, size=smaller)
            return axes_by_iteration(X, k, partial(lanczos_svd, start=start, tol=self.tol))
        start = random.normal(size=(X.shape[1], min(k + self.n_oversamples, smaller)))
        enough = 7 if k < 0.1 * smaller else 4
        n_iter = enough if self.iterated_power == "auto" else int(self.iterated_power)
        return axes_by_iteration(X, k, partial(randomized_svd, start=start, n_iter=n_iter))

    def _whole_k(self, otherwise: int) -> int:
        """Return n_components if it is a whole number."""
        k = self.n_components
        return int(k) if isinstance(k, Integral) else otherwise

    def _set(self, axes: PrincipalAxes, X: Array) -> dict[str, Any]:
        """Set the fitted attributes, in X's dtype; return metadata."""
        n, s, total = axes.n, axes.s, axes.total
        xp = namespace(s)
        ratio = s**2 / xp.where(total > 0, total, xp.ones_like(total))
        k = s.shape[0]
        if self.n_components is not None and not isinstance(self.n_components, Integral):
            reached = np.cumsum(to_host(ratio)) >= self.n_components
            k = int(np.argmax(reached)) + 1 if reached.any() else k
        s, V, ratio = s[:k], axes.V[:k, :], ratio[:k]
        L = V / self._deviations(s, n, X)[:, None] if self.whiten else V
        self.components_, self.offset_ = asarray_like(L, X), asarray_like(axes.mean, X)
        self.singular_values_ = asarray_like(s, X)
        self.explained_variance_ = asarray_like(s**2 / (n - 1), X)
        self.explained_variance_ratio_ = asarray_like(ratio, X)
        self.n_components_, self.n_samples_ = k, n
        return {"n_components": k, "accumulated_eigenvalues": float(xp.sum(ratio))}

    def _deviations(self, s: Array, n: int, X: Array) -> Array:
        """Return the standard deviations; infinite where there is no variance to scale to 1."""
        xp = namespace(s)
        flat = s <= max(n, self.n_features_in_) * eps(X) * s[0]
        if bool(xp.any(flat)):
            warnings.warn(
                f"{int(xp.sum(xp.astype(flat, xp.int64)))} of {s.shape[0]} components have no "
                "variance: whitening maps them to 0. A smaller n_components leaves them out.",
                stacklevel=2,
            )
        return xp.where(flat, xp.inf, s / (n - 1) ** 0.5)


_TRUNCATED = ("arpack", "randomized")
_DENSE = ("full", "incremental")
