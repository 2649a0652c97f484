"""Linear discriminant analysis."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from numbers import Integral, Real
from operator import eq
from time import perf_counter
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.metaestimators import available_if

from dimetric._arrays.namespaces import Array, asarray_like, namespace, take_rows
from dimetric._arrays.validation import checked_samples_with_labels, rescale_for_squares
from dimetric._compat import Interval, Progress, StrOptions, fit_method
from dimetric._warnings import warn
from dimetric.blocks.source import Source
from dimetric.learners._base import WholeSampleValues
from dimetric.learners._block_statistics import BlockLabels, class_statistics_of
from dimetric.learners._identity_mix import MIX_PARAMETER
from dimetric.learners._input import CLASS_PARAMETERS, set_classes
from dimetric.learners._lda_ridge import given_reg, whitened_pencil
from dimetric.learners._lda_scatter import ClassMoments, Pencil, check_n_samples, ledoit_wolf_pencil
from dimetric.learners._linear import LinearMetric
from dimetric.learners._partial_fit import (
    labels_of_block,
    supports_partial_fit,
    weighted_rows,
)
from dimetric.linalg.row_basis import RowBasis, dense_block
from dimetric.linalg.scatter import Moments
from dimetric.linalg.spectral import fixed_signs, top_ratio
from dimetric.supervision._weights import ClassWeight
from dimetric.supervision.labels import Supervision, checked_labels


class LDA(LinearMetric):
    r"""Linear discriminant analysis: directions that separate the class means.

    .. math:: \max_L \mathrm{tr}\left((L S_w L^T)^{-1} L S_b L^T\right), \quad
              S_w = \frac{1}{n} \sum_i w_i (x_i - \mu_{y_i})(x_i - \mu_{y_i})^T, \quad
              S_b = \sum_c \frac{n_c}{n} (\mu_c - \mu)(\mu_c - \mu)^T

    The rows of L are eigenvectors of :math:`S_w^{-1} S_b`, scaled so that :math:`L S_w L^T = I`
    [1]_. If :math:`S_w` with the ridge is singular (constant or repeated features), the rows of L
    are restricted to its range. The weights :math:`w_i` are the
    `sample_weight` of :meth:`fit`, by default 1. A sample of weight 2 counts as two equal samples:
    n is the sum of all weights, :math:`n_c` that of class c, and all means are weighted.

    Unlabelled samples are part of the total scatter
    :math:`S_t = \frac{1}{n} \sum_i w_i (x_i - \bar x)(x_i - \bar x)^T`, where n and the mean
    :math:`\bar x` include them. :math:`S_b` is then replaced by
    :math:`(1 - \beta) S_b + \beta S_t`, where :math:`\beta` is `unlabelled_weight`. If all samples
    are labelled, :math:`S_t = S_b + S_w`, so this does not change L. With few labels, it prefers
    directions in which all samples vary, as PCA does.

    Parameters
    ----------
    n_components : int or None, default=None
        Number of rows of L, at most ``min(n_classes - 1, n_features)``. None stands for that
        maximum.
    shrinkage : float in [0, 1], "auto" or None, default=None
        Shrinkage s: :math:`S_w` and the total covariance are replaced by
        :math:`(1 - s) S + s\, \mathrm{tr}(S) / d\, I`. "auto" shrinks the covariance of each class
        and the total covariance by the Ledoit-Wolf estimate [2]_ on standardised features.
    reg : float or "auto", default="auto"
        Ridge: :math:`reg\, \mathrm{tr}(S_w) / d\, I` is added to :math:`S_w`. "auto" uses features
        divided by their standard deviations, so that units do not matter. It stands for 0 if the
        number of distinct labelled samples m is at least 10 d, and otherwise for
        :math:`\min(1, \max(0.001, 0.5 (d / m - 0.1)))`. If the class means differ in a direction
        in which no class varies, "auto" issues a warning, and is 0.001, so that the direction is
        kept. If `shrinkage` is set, "auto" is 0.
    identity_mix : float in [0, 1], "auto" or None, default=None
        Weight a of the identity in the metric. Within the span of L, M is replaced by
        :math:`(1 - a) M + a\, \mathrm{tr}(M) / k\, I`, where k is the number of rows of L. "auto"
        chooses a on held-out samples. None stands for 0.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, which multiply the sample weights. "balanced" gives all classes the
        same total weight.
    unlabelled : float, str or None, default=None
        Value of `y` that marks unlabelled samples, often -1. With ``shrinkage="auto"``, these
        samples are ignored.
    unlabelled_weight : float in [0, 1], default=0.1
        Weight :math:`\beta` of the total scatter, if there are unlabelled samples.

    Attributes
    ----------
    components_ : array of shape (n_components, n_features)
        The map L.
    offset_ : array of shape (n_features,)
        The mean of all samples.
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
    _reduces_dimension: ClassVar[bool] = True
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "shrinkage": [StrOptions({"auto"}), Interval(Real, 0, 1, closed="both"), None],
        "reg": [Interval(Real, 0, None, closed="left"), StrOptions({"auto"})],
        **MIX_PARAMETER,
        **CLASS_PARAMETERS,
        "unlabelled_weight": [Interval(Real, 0, 1, closed="both")],
    }
    _accepts_weights: ClassVar[bool] = True
    _learns_from_blocks: ClassVar[bool] = True
    _whole_sample_values: ClassVar[WholeSampleValues] = {
        **LinearMetric._whole_sample_values,
        "shrinkage": (partial(eq, "auto"), "None or a number in [0, 1]"),
    }
    _same_unit: bool = False  # whether the columns of X are coordinates that mix the features

    def __init__(
        self,
        n_components: int | None = None,
        *,
        shrinkage: float | str | None = None,
        reg: float | str = "auto",
        identity_mix: float | str | None = None,
        class_weight: ClassWeight = None,
        unlabelled: float | str | None = None,
        unlabelled_weight: float = 0.1,
    ) -> None:
        self.n_components = n_components
        self.shrinkage = shrinkage
        self.reg = reg
        self.identity_mix = identity_mix
        self.class_weight = class_weight
        self.unlabelled = unlabelled
        self.unlabelled_weight = unlabelled_weight

    @property
    def _uses_unlabelled(self) -> bool:  # type: ignore[override]
        return self.shrinkage != "auto"

    def _fit(self, X: Array, supervision: Supervision | None, progress: Progress) -> dict[str, Any]:
        labels = checked_labels(supervision)
        X, factor = rescale_for_squares(X)
        check_n_samples(X.shape[0], len(self.classes_))
        if self.shrinkage == "auto":
            moments = ClassMoments.of(X, labels, root=False)
            pencil = ledoit_wolf_pencil(X, labels, given_reg(self.reg))
            T, _ = pencil.whitening()
            self._set_fitted_attributes(moments, pencil, T)
        else:
            if labels.weights is not None:  # a mean of 1 avoids overflow and underflow
                labels = replace(labels, weights=labels.weights / np.mean(labels.weights))
            moments = ClassMoments.of(X, labels, root=X.shape[0] <= X.shape[1])
            pencil = self._fit_moments(moments, partial(ClassMoments.of, X, labels, root=True))
        self._forget_blocks()
        self.components_ = self.components_ * factor
        self.offset_, self.means_ = self.offset_ / factor, self.means_ / factor
        return self._cast_to_dtype_of(X) | {"reg": pencil.reg}

    def _fit_blocks(self, source: Source, progress: Progress) -> dict[str, Any]:
        labels = BlockLabels.of(self, source)
        read = partial(class_statistics_of, source, labels)
        total = read(root=not source.can_repeat)
        set_classes(self, total.moments.classes)
        check_n_samples(total.n_rows, len(self.classes_))
        if source.can_repeat and total.n_rows <= source.n_features:
            total = read(root=True)
        pencil = self._fit_moments(total.moments, lambda: read(root=True).moments)
        self._forget_blocks()
        metadata = {} if self.unlabelled is None else {"n_unlabelled": total.n_unlabelled}
        empty = np.empty((0, source.n_features), source.dtype)
        return metadata | self._cast_to_dtype_of(empty) | {"reg": pencil.reg}

    def _fit_moments(self, moments: ClassMoments, with_root: Callable[[], ClassMoments]) -> Pencil:
        """Set the fitted attributes from moments, or from those with a root if digits are lost."""
        pencil, T, reliable = whitened_pencil(self, moments)
        assert moments.labelled is not None
        if not reliable and not moments.labelled.is_root:
            moments = with_root()
            pencil, T, _ = whitened_pencil(self, moments)
        self._set_fitted_attributes(moments, pencil, T)
        return pencil

    def _forget_blocks(self) -> None:
        """Discard the blocks of partial_fit."""
        self._moments: Moments | None = None
        self._unlabelled_moments: Moments | None = None

    @available_if(supports_partial_fit)
    @fit_method
    def partial_fit(self, X: Array, y: Array | None = None, *, sample_weight: Any = None) -> Self:
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
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the samples, as in :meth:`fit`.

        Returns
        -------
        self : object
            The learner, fitted to all blocks seen so far.
        """
        started = perf_counter()
        seen = self._seen()
        X, y = checked_samples_with_labels(self, X, y, reset=seen is None, min_samples=1)
        X = dense_block(X, "partial_fit")
        rescale_for_squares(X)  # raises if squares overflow or underflow
        rows, weights = weighted_rows(sample_weight, X.shape[0])
        X, y = (X, y) if rows is None else (take_rows(X, rows), y[rows])
        labels = labels_of_block(y, weights, self.unlabelled, self.class_weight)
        if labels.weights is not None:  # class_weight may contain 0
            rows = np.flatnonzero(labels.weights > 0)
            X, labels = take_rows(X, rows), labels.reordered(rows)
        moments, n_unlabelled = ClassMoments.of(X, labels, root=True), int(np.sum(labels.codes < 0))
        if seen is None:
            self.__dict__.pop("components_", None)  # set by an earlier fit
        else:
            moments = seen + moments
            n_unlabelled += self._metadata.get("n_unlabelled", 0)
        self._metadata = {} if self.unlabelled is None else {"n_unlabelled": n_unlabelled}
        self.classes_, self._moments = moments.classes, moments.labelled
        self._unlabelled_moments, self._n_distinct = moments.unlabelled, moments.n_distinct
        enough = len(moments.classes) > min(self.n_components or 1, X.shape[1])
        if moments.labelled is None or not enough:
            return self
        within = moments.labelled.without_rounding_noise().spread
        if bool(namespace(within).any(within != 0)):
            pencil, T, _ = whitened_pencil(self, moments)
            self._set_fitted_attributes(moments, pencil, T)
            self._metadata |= self._cast_to_dtype_of(X) | {"reg": pencil.reg}
            self._metadata |= self._mix_with_identity(self._given_mix())
            self._metadata["time"] = perf_counter() - started
        return self

    def _seen(self) -> ClassMoments | None:
        """Return the moments of the blocks of partial_fit, or None before the first block."""
        parts = (getattr(self, name, None) for name in ("_moments", "_unlabelled_moments"))
        labelled, unlabelled = parts
        if labelled is None and unlabelled is None:
            return None
        return ClassMoments(self.classes_, labelled, unlabelled, self._n_distinct)

    def _set_fitted_attributes(self, moments: ClassMoments, pencil: Pencil, T: Array) -> None:
        """Set the fitted attributes from the whitening T of S_w."""
        labelled, xp = moments.labelled, namespace(T)
        assert labelled is not None
        k = self._n_components(len(self.classes_), labelled.means.shape[1])
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
        self.offset_, self.means_ = (moments.total() or labelled).mean, labelled.means

    def _move_to_basis(self, basis: RowBasis) -> None:
        self._same_unit = True

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
        }
