"""Principal component analysis."""

from collections.abc import Callable
from functools import partial
from numbers import Integral, Real
from time import perf_counter
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from sklearn.utils import Tags

from dimetric._arrays.namespaces import Array, asarray_like, eps, namespace, to_host
from dimetric._arrays.random_state import random_generator
from dimetric._arrays.validation import rescale_for_squares
from dimetric._compat import Interval, Progress, StrOptions, fit_method
from dimetric._warnings import warn
from dimetric.blocks.source import Source
from dimetric.learners._base import WholeSampleValues
from dimetric.learners._block_statistics import statistics_of
from dimetric.learners._linear import LinearMetric
from dimetric.learners._partial_fit import check_sum_of_weights, keep, with_block
from dimetric.learners._pca_solver import (
    DENSE_SOLVERS,
    TRUNCATED_SOLVERS,
    check_n_components,
    choose_solver,
)
from dimetric.learners._probabilistic_pca import (
    ProbabilisticPCAMixin,
    most_evident_dimension,
    noise_variance,
)
from dimetric.linalg.principal_axes import (
    PrincipalAxes,
    axes_by_iteration,
    axes_from_moments,
    axes_in_single_precision,
)
from dimetric.linalg.scatter import Moments
from dimetric.linalg.spectral import lanczos_svd, randomized_svd
from dimetric.supervision.labels import Supervision, weights_of


class PCA(ProbabilisticPCAMixin, LinearMetric):
    r"""Principal component analysis: the directions of largest variance.

    .. math:: \max_{V V^T = I_k} \mathrm{tr}(V S V^T),
              \quad S = \sum_i w_i (x_i - \mu)(x_i - \mu)^T

    The rows of V are the eigenvectors of S for its k largest eigenvalues :math:`\lambda_i`. The
    same V minimises the reconstruction error :math:`\sum_i |x_i - \mu - V^T V (x_i - \mu)|^2` [1]_,
    and maximises the likelihood of a Gaussian model with isotropic noise [2]_. :meth:`score`,
    :meth:`get_covariance` and :meth:`get_precision` use this model. The weights :math:`w_i` are the
    `sample_weight` of :meth:`fit`, by default 1. A sample of weight 2 counts as two equal samples,
    and n is the sum of the weights. The mean :math:`\mu` is weighted, too.

    Parameters
    ----------
    n_components : int, float in (0, 1), "mle" or None, default=None
        Number of components k. If it is a float t, k is the smallest number with
        :math:`\sum_{i \le k} \lambda_i / \sum_i \lambda_i \ge t`. "mle" chooses k by Minka's
        approximation of the evidence of the probabilistic model [3]_, and needs
        ``n_samples >= n_features``. None keeps ``min(n_samples, n_features)`` components (one fewer
        with ``svd_solver="arpack"``).
    whiten : bool, default=False
        Whether to scale the components to unit variance. Directions without variance are mapped
        to 0. The learned distance is then the Mahalanobis distance within the subspace.
    svd_solver : str, default="auto"
        - ``"covariance_eigh"``: eigenvectors of S. Fast if there are many more samples than
          features.
        - ``"full"``: QR decomposition, then singular values of R. The most accurate solver.
        - ``"incremental"``: like ``"full"``, but block by block in O(n_features^2) memory, as in
          :meth:`partial_fit`.
        - ``"randomized"``: block power iteration. Fast for few components of large data.
        - ``"arpack"``: Lanczos iteration. Needs ``n_components < min(n_samples, n_features)``.
        - ``"auto"``: chosen by the shape of X. If the choice is ``"covariance_eigh"`` but S is too
          ill-conditioned for accurate eigenvectors, ``"full"`` is used instead.
    tol : float, default=0.0
        Tolerance of ``"arpack"``. 0 means machine precision.
    iterated_power : int or "auto", default="auto"
        Number of power iterations of ``"randomized"``.
    n_oversamples : int, default=10
        Number of random vectors that ``"randomized"`` uses in addition to k.
    random_state : int, RandomState or None, default=None
        Seed of the initial vectors of ``"randomized"`` and ``"arpack"``.

    Attributes
    ----------
    components_ : array of shape (n_components, n_features)
        The map L. It is V or, if `whiten`, V with each row divided by its standard deviation.
    offset_ : array of shape (n_features,)
        The mean of the samples.
    explained_variance_ : array of shape (n_components,)
        Variance of each component, with n - 1 in the denominator.
    explained_variance_ratio_ : array of shape (n_components,)
        Fraction of the total variance that each component explains.
    singular_values_ : array of shape (n_components,)
        Singular values of the centred samples.
    noise_variance_ : float
        Mean variance of the ``n_features - k`` directions other than the components, which is 0 if
        no variance is left. (scikit-learn divides by ``min(n_samples, n_features) - k``.)
    n_components_ : int
        Number of components k.
    n_samples_ : int or float
        Number of samples seen, or the sum of their weights.
    n_features_in_ : int
        Number of features. If X has feature names, they are in ``feature_names_in_``.

    References
    ----------
    .. [1] I. T. Jolliffe, "Principal Component Analysis", Springer, 2002.
    .. [2] M. E. Tipping, C. M. Bishop, "Probabilistic principal component analysis", Journal of
       the Royal Statistical Society B 61, 1999.
    .. [3] T. P. Minka, "Automatic choice of dimensionality for PCA", NeurIPS 2000.

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
    _fits_sparse: ClassVar[bool] = True
    _accepts_weights: ClassVar[bool] = True
    _learns_from_blocks: ClassVar[bool] = True
    _whole_sample_values: ClassVar[WholeSampleValues] = {
        "svd_solver": (TRUNCATED_SOLVERS.__contains__, "'auto', 'covariance_eigh' or 'full'")
    }
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_components": [
            Interval(Integral, 1, None, closed="left"),
            Interval(Real, 0, 1, closed="neither"),
            StrOptions({"mle"}),
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
        n_components: int | float | str | None = None,
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
        weights = weights_of(supervision)
        solver = choose_solver(self.svd_solver, X, self.n_components)
        check_n_components(self.n_components, solver, min(X.shape), X.shape[1])
        k = self._int_n_components(min(X.shape) - (solver == "arpack"))
        axes = None
        if self.svd_solver == "auto" and solver == "covariance_eigh" and weights is None:
            axes = axes_in_single_precision(X, k) if isinstance(X, np.ndarray) else None
        if axes is None:
            X, factor = rescale_for_squares(X)
            axes, solver = self._axes(X, k, solver, weights)
            axes = axes.rescaled(1 / factor)
        self._fit_svd_solver = solver
        self._moments: Moments | None = None  # discard the blocks of partial_fit
        return self._set_fitted_attributes(axes, X, X.shape[0])

    def _axes(
        self, X: Array, k: int, solver: str, weights: np.ndarray | None
    ) -> tuple[PrincipalAxes, str]:
        """Return the first k principal axes of samples, and the solver that was used."""
        if solver in TRUNCATED_SOLVERS:
            return self._truncated_axes(X, k, solver, weights), solver
        X = X.toarray() if sparse.issparse(X) and solver == "full" else X

        def moments(root: bool) -> Moments:
            return Moments.of_all(X, weights=weights, root=root)

        return self._accurate_axes(moments, k, solver, X)

    def _fit_blocks(self, source: Source, progress: Progress) -> dict[str, Any]:
        d, empty = source.n_features, np.empty((0, source.n_features), source.dtype)
        # Samples that can be read only once cannot be read again if the scatter loses digits.
        only_full = self.svd_solver != "covariance_eigh" and not source.can_repeat
        solver = "full" if only_full or self.svd_solver in DENSE_SOLVERS else "covariance_eigh"
        first = statistics_of(source, root=solver == "full", min_samples=self._min_samples)
        n = first.n_rows
        check_n_components(self.n_components, solver, min(n, d), d)

        def moments(root: bool) -> Moments:
            if root == first.moments.is_root:
                return first.moments
            return statistics_of(source, root=root, min_samples=self._min_samples).moments

        k = self._int_n_components(min(n, d))
        axes, self._fit_svd_solver = self._accurate_axes(moments, k, solver, empty)
        self._moments = None
        return self._set_fitted_attributes(axes, empty, n)

    def _accurate_axes(
        self, moments: Callable[[bool], Moments], k: int, solver: str, X: Array
    ) -> tuple[PrincipalAxes, str]:
        """Return the first k principal axes, and the solver that was used.

        ``moments(root)`` returns the moments of samples with the type and dtype of X.
        """
        axes = axes_from_moments(moments(solver != "covariance_eigh"), k)
        squared = solver == "covariance_eigh" and not sparse.issparse(X)
        if self.svd_solver == "auto" and squared and axes.lost_digits(X):
            return axes_from_moments(moments(True), k), "full"
        return axes, solver

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.svd_solver not in DENSE_SOLVERS
        return tags

    @fit_method
    def partial_fit(self, X: Array, y: Array | None = None, *, sample_weight: Any = None) -> Self:
        """Update the map with another block of samples.

        The result is the map of all blocks seen so far. Blocks may have any number of rows. The
        learner is fitted once it has seen 2 samples and, if `n_components` is an int, at least that
        many (`n_features` for "mle"). After :meth:`fit`, the first block starts from scratch. The
        method needs O(n_features^2) memory, and converts sparse blocks to dense ones.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            A block of samples.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the samples, as in :meth:`fit`.

        Returns
        -------
        self : object
            The learner, fitted to all blocks seen so far.
        """
        started = perf_counter()
        X, moments = with_block(self, X, sample_weight)
        n, d = moments.n_samples, X.shape[1]
        check_n_components(self.n_components, "incremental", d, d)
        keep(self, moments)
        # k components need at least k samples. Their most probable number needs n_features.
        required = d if self.n_components == "mle" else self._int_n_components(1)
        n_spread = moments.spread.shape[0]  # less than n if a few samples have large weights
        if n >= max(2, required) and n_spread >= required:
            axes = axes_from_moments(moments, self._int_n_components(min(int(n), d)))
            metadata = self._set_fitted_attributes(axes, X, max(int(n), n_spread))
            self._metadata = metadata | {"time": perf_counter() - started}
        return self

    def _truncated_axes(
        self, X: Array, k: int, solver: str, weights: np.ndarray | None
    ) -> PrincipalAxes:
        """Return the first k principal axes by Lanczos or power iteration."""
        random = random_generator(self.random_state)
        smaller = min(X.shape)
        if solver == "arpack":
            start = random.uniform(-1, 1, size=smaller)
            svd = partial(lanczos_svd, start=start, tol=self.tol)
            return axes_by_iteration(X, k, svd, weights)
        start = random.normal(size=(X.shape[1], min(k + self.n_oversamples, smaller)))
        default_n_iter = 7 if k < 0.1 * smaller else 4  # as in scikit-learn
        n_iter = default_n_iter if self.iterated_power == "auto" else int(self.iterated_power)
        return axes_by_iteration(X, k, partial(randomized_svd, start=start, n_iter=n_iter), weights)

    def _int_n_components(self, default: int) -> int:
        """Return `n_components` if it is an integer, else `default`."""
        k = self.n_components
        return int(k) if isinstance(k, Integral) else default

    def _set_fitted_attributes(self, axes: PrincipalAxes, X: Array, n_rows: int) -> dict[str, Any]:
        """Set the fitted attributes in the dtype of X, and return the metadata."""
        n, s, total = axes.n, axes.s, axes.total
        check_sum_of_weights(n)
        xp = namespace(s)
        ratio = s**2 / xp.where(total > 0, total, xp.ones_like(total))
        k = self._number_of_components(axes, to_host(ratio))
        variance, d = s**2 / (n - 1), axes.V.shape[1]
        self.noise_variance_ = noise_variance(variance, float(total) / (n - 1), k, n_rows, d)
        s, V, ratio = s[:k], axes.V[:k, :], ratio[:k]
        L = V / self._deviations(s, n, X)[:, None] if self.whiten else V
        self.components_, self.offset_ = asarray_like(L, X), asarray_like(axes.mean, X)
        self.singular_values_ = asarray_like(s, X)
        self.explained_variance_ = asarray_like(variance[:k], X)
        self.explained_variance_ratio_ = asarray_like(ratio, X)
        self.n_components_, self.n_samples_ = k, n
        return {"n_components": k, "accumulated_eigenvalues": float(xp.sum(ratio))}

    def _number_of_components(self, axes: PrincipalAxes, ratio: np.ndarray) -> int:
        """Return the number of components, given the fraction of variance of each."""
        k, largest = self.n_components, axes.V.shape[0]
        if k is None or isinstance(k, Integral):
            return largest
        if isinstance(k, str):
            return most_evident_dimension(ratio.astype(np.float64), axes.n)
        reached = np.cumsum(ratio) >= k
        return int(np.argmax(reached)) + 1 if reached.any() else largest

    def _deviations(self, s: Array, n: float, X: Array) -> Array:
        """Return the standard deviations, which are infinite for components without variance."""
        xp = namespace(s)
        flat = s <= max(n, self.n_features_in_) * eps(X) * s[0]
        if bool(xp.any(flat)):
            warn(
                f"{int(xp.sum(xp.astype(flat, xp.int64)))} of {s.shape[0]} components have no "
                "variance, so whitening maps them to 0. Use a smaller n_components to drop them.",
            )
        return xp.where(flat, xp.inf, s / (n - 1) ** 0.5)
