"""Principal component analysis."""

import warnings
from numbers import Integral, Real
from time import perf_counter
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from sklearn.utils import Tags, check_random_state

from dimetric._base import LinearMetric
from dimetric._checks import checked_samples, in_range
from dimetric._compat import Interval, Progress, StrOptions, fit_method
from dimetric._xp import Array, eps, namespace, to_host
from dimetric.linalg.scatter import Moments
from dimetric.linalg.spectral import lanczos_svd, randomized_svd, top_eigenvectors, top_singular
from dimetric.reduce.tree import tall_block, tree_reduce


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

    _needs_labels: ClassVar[bool] = False
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

    def _fit(self, X: Array, codes: Any, progress: Progress) -> dict[str, Any]:
        X, factor = in_range(X)
        solver = self._solver_for(X)
        self._check_n_components(min(X.shape), solver)
        if solver in ("arpack", "randomized"):
            n, mean, total, s, V = self._iterated(X, solver)
        else:
            n, mean, total, s, V = self._decomposed(_moments(X, solver))
            # Eigenvalues below this have lost half their digits to the squaring.
            lost = eps(s) ** 0.5 * s[0] ** 2
            squared = solver == "covariance_eigh" and not sparse.issparse(X)
            if self.svd_solver == "auto" and squared and s[-1] ** 2 < lost:
                solver = "full"
                n, mean, total, s, V = self._decomposed(_moments(X, solver))
        self._fit_svd_solver = solver
        self._moments: Moments | None = None  # a fit forgets the blocks of partial_fit
        return self._set(n, mean / factor, total / factor**2, s / factor, V)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.svd_solver not in _DENSE
        return tags

    @fit_method
    def partial_fit(self, X: Array, y: Array | None = None) -> Self:
        """Learn from one more block of samples; the map is that of all blocks seen so far.

        Blocks may have any number of rows; the learner counts as fitted as soon as there are
        `n_components` samples. Memory is O(n_features^2); sparse blocks become dense.

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
        moments = Moments.root_of(X.toarray() if sparse.issparse(X) else X)
        moments = moments if seen is None else seen + moments
        self._moments = moments
        n_samples = int(moments.n_samples)
        self._check_n_components(X.shape[1], "incremental")
        if n_samples < max(2, self._whole_k(1)):  # too few to span the components: wait for more
            return self
        metadata = self._set(*self._decomposed(moments))
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
            return "arpack" if few and d > 500 else "covariance_eigh"
        if d <= 1000 and n >= 10 * d:
            return "covariance_eigh"
        return "randomized" if few and max(n, d) > 500 else "full"

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

    def _decomposed(self, moments: Moments) -> tuple[int, Array, Array, Array, Array]:
        """Return n, mean, total scatter, singular values and V of whole moments."""
        xp = namespace(moments.means)
        n, d = int(moments.n_samples), moments.means.shape[1]
        k = self._whole_k(min(n, d))
        if moments.is_root:
            s, V = top_singular(moments.spread, k)
            total = xp.sum(moments.spread**2)
        else:
            values, V = top_eigenvectors(moments.spread, k)
            s = xp.sqrt(xp.clip(values, 0))
            total = xp.linalg.trace(moments.spread)
        return n, moments.mean, total, s, V

    def _iterated(self, X: Array, solver: str) -> tuple[int, Array, Array, Array, Array]:
        """Return n, mean, total scatter, singular values and V by power or Lanczos iteration."""
        n, d = X.shape
        mean, total = _mean_and_total(X)
        random = check_random_state(self.random_state)
        if float(total) <= n * (d * eps(mean)) ** 2 * float(
            mean @ mean
        ):  # constant, but for rounding
            k, xp = self._whole_k(min(n, d) - (solver == "arpack")), namespace(mean)
            V = xp.eye(k, d, dtype=mean.dtype, device=mean.device)
            return n, mean, 0 * total, xp.zeros_like(V[:, 0]), V
        if solver == "arpack":
            k = self._whole_k(min(n, d) - 1)
            start = random.uniform(-1, 1, size=min(n, d))
            return n, mean, total, *lanczos_svd(X, mean, k, start, self.tol)
        k = self._whole_k(min(n, d))
        start = random.normal(size=(d, min(k + self.n_oversamples, n, d)))
        enough = 7 if k < 0.1 * min(n, d) else 4
        n_iter = enough if self.iterated_power == "auto" else int(self.iterated_power)
        return n, mean, total, *randomized_svd(X, mean, k, start, n_iter)

    def _whole_k(self, otherwise: int) -> int:
        """Return n_components if it is a whole number."""
        k = self.n_components
        return int(k) if isinstance(k, Integral) else otherwise

    def _set(self, n: int, mean: Array, total: Array, s: Array, V: Array) -> dict[str, Any]:
        """Set the fitted attributes from a decomposition; return metadata."""
        xp = namespace(s)
        ratio = s**2 / xp.where(total > 0, total, xp.ones_like(total))
        k = s.shape[0]
        if self.n_components is not None and not isinstance(self.n_components, Integral):
            reached = np.cumsum(to_host(ratio)) >= self.n_components
            k = int(np.argmax(reached)) + 1 if reached.any() else k
        s, V, ratio = s[:k], V[:k, :], ratio[:k]
        self.components_ = V / self._deviations(s, n)[:, None] if self.whiten else V
        self.offset_ = mean
        self.singular_values_ = s
        self.explained_variance_ = s**2 / (n - 1)
        self.explained_variance_ratio_ = ratio
        self.n_components_, self.n_samples_ = k, n
        return {
            "n_components": k,
            "accumulated_eigenvalues": float(xp.sum(ratio)),
        }

    def _deviations(self, s: Array, n: int) -> Array:
        """Return the standard deviations; infinite where there is no variance to scale to 1."""
        xp = namespace(s)
        flat = s <= max(n, self.n_features_in_) * eps(s) * s[0]
        if bool(xp.any(flat)):
            warnings.warn(
                f"{int(xp.sum(xp.astype(flat, xp.int64)))} of {s.shape[0]} components have no "
                "variance: whitening maps them to 0. A smaller n_components leaves them out.",
                stacklevel=2,
            )
        return xp.where(flat, xp.inf, s / (n - 1) ** 0.5)


_TRUNCATED = ("arpack", "randomized")
_DENSE = ("full", "incremental")


def _moments(X: Array, solver: str) -> Moments:
    """Reduce all samples, in blocks tall enough for the products and decompositions to pay off."""
    if sparse.issparse(X):
        return Moments.scatter_of(X)
    of = Moments.scatter_of if solver == "covariance_eigh" else Moments.root_of
    return tree_reduce(lambda X_block, _: of(X_block), X, block=tall_block(X.shape[1]))


def _mean_and_total(X: Array) -> tuple[Array, Array]:
    """Return the mean of the samples and the trace of their scatter."""
    xp = namespace(X)
    if sparse.issparse(X):
        mean = np.asarray(X.mean(axis=0)).ravel()
        return mean, np.sum(X.multiply(X)) - X.shape[0] * mean @ mean
    mean = xp.mean(X, axis=0)
    return mean, (X.shape[0] - 1) * xp.sum(xp.var(X, axis=0, correction=1))
