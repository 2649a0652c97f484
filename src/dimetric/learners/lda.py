"""Linear discriminant analysis."""

from dataclasses import dataclass
from numbers import Integral, Real
from time import perf_counter
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.metaestimators import available_if

from dimetric._arrays.namespaces import Array, asarray_like, namespace, to_host
from dimetric._arrays.validation import checked_samples_with_labels, rescale_for_squares
from dimetric._compat import Interval, Progress, StrOptions, fit_method
from dimetric._warnings import warn
from dimetric.learners._linear import LinearMetric
from dimetric.linalg.row_basis import dense_block
from dimetric.linalg.scatter import Moments
from dimetric.linalg.spectral import fixed_signs, top_ratio, whitening
from dimetric.supervision.labels import Supervision, checked_labels


def _supports_partial_fit(learner: "LDA") -> bool:
    """Return True, or raise if the shrinkage does not allow partial_fit."""
    if learner.shrinkage == "auto":
        raise AttributeError(
            "shrinkage='auto' needs all samples at once. For partial_fit, set shrinkage to None or "
            "to a float in [0, 1]."
        )
    return True


class LDA(LinearMetric):
    r"""Linear discriminant analysis: directions that separate the class means.

    .. math:: \max_L \mathrm{tr}\left((L S_w L^T)^{-1} L S_b L^T\right), \quad
              S_w = \frac{1}{n} \sum_i (x_i - \mu_{y_i})(x_i - \mu_{y_i})^T, \quad
              S_b = \sum_c \frac{n_c}{n} (\mu_c - \mu)(\mu_c - \mu)^T

    The rows of L are eigenvectors of :math:`S_w^{-1} S_b`, scaled so that :math:`L S_w L^T = I`
    [1]_. If :math:`S_w` is singular (constant or repeated features, fewer samples than
    features), the rows of L are restricted to its range.

    Parameters
    ----------
    n_components : int or None, default=None
        Number of rows of L, at most ``min(n_classes - 1, n_features)``. None stands for that
        maximum.
    shrinkage : float in [0, 1], "auto" or None, default=None
        Shrinkage s: :math:`S_w` and the total covariance are replaced by
        :math:`(1 - s) S + s\, \mathrm{tr}(S) / d\, I`. "auto" shrinks the covariance of each class
        and the total covariance by the Ledoit-Wolf estimate [2]_ on standardised features.
    reg : float, default=0.0
        Ridge: :math:`reg\, \mathrm{tr}(S_w) / d\, I` is added to :math:`S_w`.

    Attributes
    ----------
    components_ : array of shape (n_components, n_features)
        The map L.
    offset_ : array of shape (n_features,)
        The mean of the samples.
    explained_variance_ratio_ : array of shape (n_components,)
        Each eigenvalue divided by the sum of all eigenvalues.
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    means_ : array of shape (n_classes, n_features)
        Class means.
    n_features_in_ : int
        Number of features. If X has feature names, they are in ``feature_names_in_``.

    References
    ----------
    .. [1] R. A. Fisher, "The use of multiple measurements in taxonomic problems", Annals of
       Eugenics 7, 1936.
    .. [2] O. Ledoit, M. Wolf, "A well-conditioned estimator for large-dimensional covariance
       matrices", Journal of Multivariate Analysis 88, 2004.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> lda = LDA(n_components=1).fit(X, y)
    >>> lda.explained_variance_ratio_.round(3)
    array([0.991])
    """

    means_: Array
    _min_classes: ClassVar[int] = 2
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "shrinkage": [StrOptions({"auto"}), Interval(Real, 0, 1, closed="both"), None],
        "reg": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        n_components: int | None = None,
        *,
        shrinkage: float | str | None = None,
        reg: float = 0.0,
    ) -> None:
        self.n_components = n_components
        self.shrinkage = shrinkage
        self.reg = reg

    def _fit(self, X: Array, supervision: Supervision | None, progress: Progress) -> dict[str, Any]:
        codes, n_classes = checked_labels(supervision).codes, len(self.classes_)
        X, factor = rescale_for_squares(X)
        if X.shape[0] <= n_classes:
            raise ValueError(
                "The number of samples must be more than the number of classes, but there are "
                f"{X.shape[0]} samples and {n_classes} classes."
            )
        labels = asarray_like(codes, X, dtype=namespace(X).int64)
        if self.shrinkage == "auto":
            moments = Moments.of_all(X, labels, n_classes, root=False)
            within, between = _ledoit_wolf(to_host(X), codes)
            ridge = self.reg / X.shape[1] * float(np.trace(within))
            pencil = _Pencil(
                asarray_like(within, moments.means),
                False,
                asarray_like(between, moments.means),
                False,
                ridge,
            )
            T, _ = pencil.whitening()
        else:
            wide = X.shape[0] <= X.shape[1]
            moments = Moments.of_all(X, labels, n_classes, root=wide)
            pencil = self._pencil(moments)
            T, reliable = pencil.whitening()
            if not reliable:
                moments = Moments.of_all(X, labels, n_classes, root=True)
                pencil = self._pencil(moments)
                T, _ = pencil.whitening()
        self._set_fitted_attributes(moments, pencil, T)
        self._moments: Moments | None = None  # discard the blocks of partial_fit
        self.components_ = self.components_ * factor
        self.offset_, self.means_ = self.offset_ / factor, self.means_ / factor
        return self._cast_to_dtype_of(X)

    @available_if(_supports_partial_fit)
    @fit_method
    def partial_fit(self, X: Array, y: Array | None = None) -> Self:
        """Update the map with another block of samples.

        The result is the map of all blocks seen so far. Blocks may have any number of rows and may
        contain new classes. The learner is fitted once it has seen more than `n_components` classes
        and some variance within classes. After :meth:`fit`, the first block starts from scratch.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            A block of samples.
        y : array-like of shape (n_samples,)
            Labels of the samples.

        Returns
        -------
        self : object
            The learner, fitted to all blocks seen so far.
        """
        started = perf_counter()
        seen: Moments | None = getattr(self, "_moments", None)
        X, y = checked_samples_with_labels(self, X, y, reset=seen is None, min_samples=1)
        X = dense_block(X, "partial_fit")
        rescale_for_squares(X)  # raises if squares overflow or underflow
        classes, codes = np.unique(y, return_inverse=True)
        labels = asarray_like(codes, X, dtype=namespace(X).int64)
        moments = Moments.root_of(X, labels, n_classes=len(classes))
        if seen is None:
            self.__dict__.pop("components_", None)  # set by an earlier fit
        else:
            known, new = self.classes_, classes
            classes = _merged_classes(known, new)
            moments = seen.with_classes_at(np.searchsorted(classes, known), len(classes)) + (
                moments.moved_to(seen).with_classes_at(np.searchsorted(classes, new), len(classes))
            )
        self._moments, self.classes_ = moments, classes
        enough = len(classes) > min(self.n_components or 1, X.shape[1])
        if enough and bool(
            namespace(moments.means).any(moments.without_rounding_noise().spread != 0)
        ):
            pencil = self._pencil(moments)
            self._set_fitted_attributes(moments, pencil, pencil.whitening()[0])
            self._metadata = self._cast_to_dtype_of(X) | {"time": perf_counter() - started}
        return self

    def _pencil(self, moments: Moments) -> "_Pencil":
        """Return S_w and S_b with shrinkage."""
        xp = namespace(moments.means)
        n, d = moments.n_samples, self.n_features_in_
        s = float(self.shrinkage or 0.0)
        within = moments.without_rounding_noise().spread / (n**0.5 if moments.is_root else n)
        deviations = xp.sqrt(moments.counts / n)[:, None] * (moments.means - moments.mean)
        trace = xp.sum(within**2) if moments.is_root else xp.linalg.trace(within)
        ridge = (s + self.reg) / d * float(trace)
        basis = None
        if moments.is_root and within.shape[0] + deviations.shape[0] < d:
            # Few samples: work in coordinates of their span. Outside, both scatters are 0.
            unit = xp.sqrt(xp.sum(within**2, axis=0))
            unit = xp.where((unit > 0) & (ridge == 0), unit, xp.ones_like(unit))
            spanning = xp.concat([within, deviations]) / unit
            Q = xp.linalg.qr(spanning.T, mode="reduced").Q
            within, deviations = within / unit @ Q, deviations / unit @ Q
            basis = Q / unit[:, None]
        within = ((1 - s) ** 0.5 if moments.is_root else 1 - s) * within
        if not s:
            return _Pencil(within, moments.is_root, deviations, True, ridge, basis)
        p = within.shape[1]
        # Shrinkage adds this to all eigenvalues of S_b, also to the eigenvalues outside the span.
        floor = s / d * xp.sum(deviations**2)
        eye = xp.eye(p, dtype=within.dtype, device=within.device)
        between = (1 - s) * deviations.T @ deviations + floor * eye
        outside = (d - p) * float(floor) / ridge if ridge > 0 else 0.0
        return _Pencil(within, moments.is_root, between, False, ridge, basis, outside)

    def _set_fitted_attributes(self, moments: Moments, pencil: "_Pencil", T: Array) -> None:
        """Set the fitted attributes from the whitening T of S_w."""
        xp = namespace(moments.means)
        k = self._n_components(len(self.classes_), moments.means.shape[1])
        if T.shape[0] == 0:
            raise ValueError(
                "All samples of each class are identical, so the scatter within classes is zero "
                f"and {self._name} is not defined."
            )
        if T.shape[0] < k:
            warn(
                f"The samples vary in only {T.shape[0]} direction(s) within classes, so "
                f"{self._name} returns {T.shape[0]} component(s) instead of {k}. Set reg > 0 "
                "to get more.",
            )
        values, L, total = top_ratio(
            pencil.between, T, min(k, T.shape[0]), is_root=pencil.between_is_root
        )
        self.components_ = L if pencil.basis is None else fixed_signs(L @ pencil.basis.T)
        total = total + pencil.outside
        self.explained_variance_ratio_ = values / xp.where(total > 0, total, xp.ones_like(total))
        self.offset_, self.means_ = moments.mean, moments.means

    def _axis_parameter(self) -> str:
        return "shrinkage='auto'" if self.shrinkage == "auto" else ""

    def _n_components(self, n_classes: int, d: int) -> int:
        largest = min(n_classes - 1, d)
        if self.n_components is not None and self.n_components > largest:
            raise ValueError(
                f"n_components={self.n_components} must be at most min(n_classes - 1, "
                f"n_features)={largest}."
            )
        return self.n_components or largest

    def _cast_to_dtype_of(self, X: Array) -> dict[str, Any]:
        """Cast the fitted attributes from float64 to the dtype of X, and return the metadata."""
        xp = namespace(self.components_)
        for name in ("components_", "offset_", "means_", "explained_variance_ratio_"):
            setattr(self, name, asarray_like(getattr(self, name), X))
        return {
            "n_components": self.components_.shape[0],
            "accumulated_eigenvalues": float(xp.sum(self.explained_variance_ratio_)),
            "reg": self.reg,
        }


def _merged_classes(known: np.ndarray, new: np.ndarray) -> np.ndarray:
    """Return the sorted union of two sets of classes. Raise if their types cannot be compared."""
    if (known.dtype.kind in "biuf") != (new.dtype.kind in "biuf"):
        raise ValueError(
            f"y has labels such as {new[0]!r}, but earlier blocks have labels such as "
            f"{known[0]!r}. All labels must have the same type."
        )
    return np.union1d(known, new)


@dataclass(frozen=True)
class _Pencil:
    """The scatter matrices S_w and S_b of the generalised eigenvalue problem."""

    within: Array  # S_w, or R with R^T R = S_w
    within_is_root: bool
    between: Array  # S_b, or R with R^T R = S_b
    between_is_root: bool
    ridge: float = 0.0  # added to S_w
    basis: Array | None = None  # basis of the coordinates; None for the features
    outside: float = 0.0  # sum of the eigenvalues in directions outside the basis

    def whitening(self) -> tuple[Array, bool]:
        """Return a whitening of S_w, and whether it is accurate."""
        return whitening(
            self.within,
            is_root=self.within_is_root,
            ridge=self.ridge,
            by_feature=self.basis is None,
        )


def _ledoit_wolf(X: np.ndarray, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return S_w and S_b with Ledoit-Wolf shrinkage of each class, as in scikit-learn."""
    from sklearn.covariance import ledoit_wolf  # slow to import

    def covariance(X: np.ndarray) -> np.ndarray:
        if len(X) == 1:
            return np.zeros((X.shape[1], X.shape[1]))
        scale = X.std(axis=0)
        scale = np.where(scale > 0, scale, 1.0)
        return scale[:, None] * ledoit_wolf((X - X.mean(axis=0)) / scale)[0] * scale

    within = sum(np.mean(codes == c) * covariance(X[codes == c]) for c in np.unique(codes))
    return within, covariance(X) - within
