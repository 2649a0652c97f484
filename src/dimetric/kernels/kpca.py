"""Kernel principal component analysis."""

from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from dimetric._arrays.namespaces import Array, asarray_like, eps, namespace
from dimetric._compat import Interval, Progress
from dimetric._warnings import warn
from dimetric.blocks.lazy import lazy_on_dask
from dimetric.blocks.source import Source
from dimetric.kernels._base import KernelMetric, blas_threads_for
from dimetric.kernels._block_space import BlockSpace, UsedRows
from dimetric.kernels._coordinates import Coordinates
from dimetric.kernels._function import KernelFunction
from dimetric.kernels.kernel import KernelLike, checked_kernel
from dimetric.linalg.row_basis import MAX_DENSE_ENTRIES
from dimetric.supervision.labels import Supervision, weights_of


def _has_inverse(learner: "KPCA") -> bool:
    is_fitted = hasattr(learner, "components_")
    if not learner.fit_inverse_transform or (is_fitted and not hasattr(learner, "dual_coef_")):
        raise AttributeError("To use inverse_transform, set fit_inverse_transform=True before fit.")
    return True


class KPCA(KernelMetric):
    r"""Kernel principal component analysis: PCA in the feature space of a kernel.

    .. math:: z_i = \frac{1}{\sqrt{\lambda_i}} \sum_j \alpha_{ij}\, \tilde k(x_j, x), \qquad
              \tilde K \alpha_i = \lambda_i \alpha_i, \quad \tilde K = J K J, \quad
              J = I - \tfrac1n 1 1^T

    :math:`\tilde k` is the kernel after centring in feature space [1]_. With the linear kernel,
    this is PCA. With weights :math:`w_i`, the `sample_weight` of :meth:`fit`,
    :math:`\tilde K = W^{1/2} J K J^T W^{1/2}`, where W is the diagonal matrix of the weights and
    :math:`J = I - 1 w^T / \sum_i w_i`, and :math:`\alpha_{ij}` is multiplied by
    :math:`\sqrt{w_j}`. A sample of weight 2 counts as two equal samples. A few components of many
    samples are computed iteratively by products with K. With landmarks, the full matrix K is not
    computed [2]_.

    Parameters
    ----------
    n_components : int, float in (0, 1) or None, default=None
        Number of components k. A float t selects the smallest k with
        :math:`\sum_{i \le k} \lambda_i / \sum_i \lambda_i \ge t`. None keeps all components with
        :math:`\lambda_i > 0`.
    kernel : str, callable or Kernel, default="rbf"
        The kernel. See :class:`~dimetric.kernels.Kernel`. Its own `n_components` must be "auto".
    fit_inverse_transform : bool, default=False
        Whether to learn an inverse map for :meth:`inverse_transform`, which takes O(n^3) time.
    alpha : float, default=1.0
        Ridge parameter of the inverse map.

    Attributes
    ----------
    components_ : array of shape (n_components, n_references)
        Coefficients A of the map ``(k(X, X_fit_) - offset_) @ A.T``.
    offset_ : array of shape (n_references,)
        Weighted mean of the kernel over the training samples.
    eigenvalues_ : array of shape (n_components,)
        Eigenvalues :math:`\lambda`, descending. They are the variances of the components times n,
        which is the sum of the weights.
    X_fit_ : array of shape (n_references, n_features) or None
        The reference samples: the training samples or the landmarks. None if the kernel is
        precomputed.
    landmarks_ : array of shape (n_landmarks,)
        Row indices of the landmarks in X. Not set without landmarks, or if they are cluster
        centres.
    gamma_ : float
        Value of the kernel's gamma.
    dual_coef_ : array of shape (n_references, n_features)
        Coefficients of the inverse map. Set only if `fit_inverse_transform` is True.
    n_features_in_ : int
        Number of features. ``feature_names_in_`` holds their names, if X has column names.

    References
    ----------
    .. [1] B. Schölkopf, A. Smola, K.-R. Müller, "Nonlinear component analysis as a kernel
       eigenvalue problem", Neural Computation 10, 1998.
    .. [2] C. K. I. Williams, M. Seeger, "Using the Nyström method to speed up kernel machines",
       NeurIPS 2000.

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> from dimetric.kernels import Kernel
    >>> X, y = make_circles(200, factor=0.3, noise=0.05, random_state=0)
    >>> Z = KPCA(1, kernel=Kernel("rbf", gamma=2.0)).fit_transform(X)
    >>> bool(Z[y == 0].max() < Z[y == 1].min() or Z[y == 1].max() < Z[y == 0].min())
    True
    """

    _supervision_kinds: ClassVar[tuple[str, ...]] = ()
    _accepts_weights: ClassVar[bool] = True
    _learns_from_blocks: ClassVar[bool] = True
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = KernelMetric._parameter_constraints | {
        "n_components": [
            Interval(Integral, 1, None, closed="left"),
            Interval(Real, 0, 1, closed="neither"),
            None,
        ],
        "fit_inverse_transform": ["boolean"],
        "alpha": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        n_components: float | None = None,
        *,
        kernel: KernelLike = "rbf",
        fit_inverse_transform: bool = False,
        alpha: float = 1.0,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.fit_inverse_transform = fit_inverse_transform
        self.alpha = alpha

    def _fit(self, X: Array, supervision: Supervision | None, progress: Progress) -> dict[str, Any]:
        k, n = self.n_components, X.shape[0]
        self._check_parameters(k, n)
        with blas_threads_for(n):
            coordinates = self._fit_coordinates(X, k, weights_of(supervision), principal=True)
            metadata = self._set_fitted_attributes(coordinates, X)
        if self.fit_inverse_transform:
            self._fit_inverse(X, weights_of(supervision))
        return metadata

    def _fit_blocks(self, source: Source, progress: Progress) -> dict[str, Any]:
        self._check_parameters(self.n_components)
        space = self._fit_block_space(source, self.n_components, UsedRows())
        empty = np.empty((0, source.n_features), source.dtype)
        metadata = self._set_fitted_attributes(space, empty)
        if self.fit_inverse_transform:
            self._fit_inverse(empty, None)
        return metadata

    def _set_fitted_attributes(
        self, coordinates: Coordinates | BlockSpace, X: Array
    ) -> dict[str, Any]:
        """Set the fitted attributes in the dtype of X, and return the metadata."""
        values = np.asarray(coordinates.eigenvalues)
        n_zero = int(np.sum(values == 0))
        if n_zero:
            warn(
                f"{n_zero} of {coordinates.rank} components have no variance and are 0. Decrease "
                "n_components to omit them.",
            )
        for name, value in self._map_attributes(coordinates, np.eye(coordinates.rank), X).items():
            setattr(self, name, value)
        self.eigenvalues_ = asarray_like(values, X)
        return {
            "n_components": coordinates.rank,
            "accumulated_eigenvalues": min(1.0, float(np.sum(values)) / coordinates.eigenvalue_sum),
            "rank": int(np.sum(values > 0)),
        }

    def _check_parameters(self, k: float | None, n: int | None = None) -> None:
        """Raise a ValueError if parameters contradict each other or the number of samples n.

        n may be None if there are fewer landmarks than samples.
        """
        kernel = checked_kernel(self.kernel)
        if self.fit_inverse_transform and kernel.name == "precomputed":
            raise ValueError(
                "fit_inverse_transform=True does not support a precomputed kernel, because the "
                "inverse map needs samples."
            )
        if kernel.n_components != "auto":
            raise ValueError(
                f"The kernel of KPCA must have n_components='auto'. Use KPCA(n_components="
                f"{kernel.n_components!r}) instead."
            )
        given = {"n_samples": n, "n_landmarks": kernel.n_landmarks}
        limits = {name: limit for name, limit in given.items() if limit is not None}
        name = min(limits, key=lambda name: limits[name])
        if isinstance(k, Integral) and k > limits[name]:
            raise ValueError(f"n_components={k} must be at most {name}={limits[name]}.")

    @available_if(_has_inverse)
    @lazy_on_dask
    def inverse_transform(self, Z: Array) -> Array:
        r"""Return samples whose images are approximately Z, by kernel ridge regression.

        .. math:: x = k(z, Z_S) (K(Z_S, Z_S) + \alpha W^{-1})^{-1} X_S

        :math:`X_S` holds the reference samples, :math:`Z_S` their images, and W the weights of the
        samples, which are 1 for landmarks. The result is
        approximate, because not every point of the feature space is the image of a sample [1]_.

        Parameters
        ----------
        Z : array-like of shape (n_samples, n_components)
            Mapped samples.

        Returns
        -------
        X : array of shape (n_samples, n_features)
            Approximate samples, in Z's namespace, dtype and device.

        References
        ----------
        .. [1] G. H. Bakır, J. Weston, B. Schölkopf, "Learning to find pre-images", NeurIPS 2003.
        """
        check_is_fitted(self)
        Z = self._checked_mapped(Z)
        return self._inverse_kernel()(Z, asarray_like(self._Z_fit, Z)) @ asarray_like(
            self.dual_coef_, Z
        )

    def _inverse_kernel(self) -> KernelFunction:
        """Return the kernel function for mapped samples."""
        return replace(self._kernel, centre=None)

    def _fit_inverse(self, X: Array, weights: np.ndarray | None) -> None:
        xp = namespace(X)
        self._Z_fit = self._mapped(self.X_fit_)
        m = self._Z_fit.shape[0]
        if weights is None or m < X.shape[0]:  # landmarks have no weights
            weights = np.ones(m)
        K = xp.astype(self._inverse_kernel().gram(self._Z_fit), xp.float64)
        S: Any = self.X_fit_
        if sparse.issparse(S):  # the inverse map has a number for each reference and feature
            if S.shape[0] * S.shape[1] > MAX_DENSE_ENTRIES:
                raise ValueError(
                    f"fit_inverse_transform=True needs a dense matrix of {S.shape[0]} x "
                    f"{S.shape[1]} values, which is too large. Set n_landmarks of the kernel, or "
                    "select features."
                )
            S = S.toarray()
        S = xp.astype(S, xp.float64)
        rounding = m * eps(self._Z_fit)  # of eigenvalues, relative to the largest entry
        largest = float(xp.max(xp.abs(K)))
        ridge = asarray_like(self.alpha / weights, K)
        K = K + ridge * xp.eye(m, dtype=K.dtype, device=K.device)
        # Identical samples make K singular, unless the ridge is larger than the rounding errors.
        if self.alpha / np.max(weights) > rounding * largest:
            self.dual_coef_ = asarray_like(xp.linalg.solve(K, S), X)
        else:
            self.dual_coef_ = asarray_like(xp.linalg.pinv(K, rtol=rounding) @ S, X)
