"""The scatter matrices within and between classes, as LDA uses them."""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from dimetric._arrays.labels import check_label_types
from dimetric._arrays.namespaces import Array, asarray_like, namespace, take_rows, to_host
from dimetric._arrays.row_order import equal_rows
from dimetric.linalg.scatter import Moments
from dimetric.linalg.spectral import whitening
from dimetric.supervision.labels import Labels

# Samples per feature from which S_w is accurate enough for LDA without regularisation.
ENOUGH_SAMPLES = 10
EXAMINED_FEATURES = 8  # features that are compared first, to find equal samples


@dataclass(frozen=True)
class ClassMoments:
    """Moments of the classes, and of the unlabelled samples. Those of blocks can be added.

    Attributes
    ----------
    classes : ndarray of shape (n_classes,)
        The sorted classes.
    labelled, unlabelled : Moments or None
        Moments of the classes, and of the unlabelled samples as one class. None without samples.
    n_distinct : int
        Number of distinct labelled samples in each block, summed over the blocks. In a block with
        ``ENOUGH_SAMPLES`` distinct samples per feature, further samples may not be counted.
    """

    classes: np.ndarray
    labelled: Moments | None
    unlabelled: Moments | None = None
    n_distinct: int = 0

    @classmethod
    def of(cls, X: Array, labels: Labels, *, root: bool) -> Self:
        """Return the moments of samples."""
        codes, weights, n_classes = labels.codes, labels.weights, labels.n_classes
        is_labelled = codes >= 0
        if np.all(is_labelled):
            on_device = asarray_like(codes, X, dtype=namespace(X).int64)
            moments = Moments.of_all(X, on_device, n_classes, weights, root=root)
            n_distinct = _count_distinct(X, ENOUGH_SAMPLES * X.shape[1])
            return cls(labels.classes, moments, n_distinct=n_distinct)
        rows = np.flatnonzero(~is_labelled)
        w = None if weights is None else weights[rows]
        unlabelled = Moments.of_all(take_rows(X, rows), weights=w, root=root)
        rows = np.flatnonzero(is_labelled)
        if not len(rows):
            return cls(labels.classes, None, unlabelled)
        labelled = cls.of(take_rows(X, rows), labels.reordered(rows), root=root)
        return replace(labelled, unlabelled=unlabelled)

    def __add__(self, other: "ClassMoments") -> "ClassMoments":
        """Return the moments of both blocks together, on the device of the first one."""
        classes = merged_classes(self.classes, other.classes)
        here, there = self._at(classes), other._at(classes)
        return ClassMoments(
            classes,
            _sum(here.labelled, there.labelled),
            _sum(here.unlabelled, there.unlabelled),
            self.n_distinct + other.n_distinct,
        )

    def _at(self, classes: np.ndarray) -> "ClassMoments":
        if self.labelled is None:
            return self
        positions = np.searchsorted(classes, self.classes)
        labelled = self.labelled.with_classes_at(positions, len(classes))
        return replace(self, classes=classes, labelled=labelled)

    def total(self) -> Moments | None:
        """Return the moments of all samples as one class, or None if all samples are labelled."""
        if self.labelled is None or self.unlabelled is None:
            return None
        return self.labelled.pooled() + self.unlabelled.moved_to(self.labelled)

    def divided_by(self, unit: Array) -> "ClassMoments":
        """Return the moments of samples whose features are divided by their units."""
        return replace(
            self,
            labelled=_divided(self.labelled, unit),
            unlabelled=_divided(self.unlabelled, unit),
        )


def _divided(moments: Moments | None, unit: Array) -> Moments | None:
    if moments is None:
        return None
    unit = asarray_like(unit, moments.means)
    spread = moments.spread / unit
    spread = spread if moments.is_root else spread / unit[:, None]
    return replace(moments, means=moments.means / unit, spread=spread)


def _sum(a: Moments | None, b: Moments | None) -> Moments | None:
    if a is None or b is None:
        return a if b is None else b
    return a + b.moved_to(a)


def _count_distinct(X: Array, enough: int) -> int:
    """Return the number of distinct rows, or at least `enough` if there are so many."""
    n, d = X.shape
    rows = min(enough, n)
    # Usually, a few features already tell samples apart.
    if equal_rows(X[:rows, : min(d, EXAMINED_FEATURES)]) is None:
        return rows
    while True:
        equal = equal_rows(X[:rows, :])
        found = rows if equal is None else len(equal.first)
        if found >= enough or rows == n:
            return found
        rows = min(2 * rows, n)


def check_n_samples(n: int, n_classes: int) -> None:
    """Raise unless there are more samples than classes."""
    if n <= n_classes:
        raise ValueError(
            "The number of samples must be more than the number of classes, but there are "
            f"{n} samples and {n_classes} classes."
        )


def merged_classes(known: np.ndarray, new: np.ndarray) -> np.ndarray:
    """Return the sorted union of two sets of classes. Raise if their types cannot be compared."""
    if not len(known) or not len(new):
        return new if len(new) else known
    check_label_types(known, new)
    return np.union1d(known, new)


@dataclass(frozen=True)
class Pencil:
    """The scatter matrices S_w and S_b of the generalised eigenvalue problem."""

    within: Array  # S_w, or R with R^T R = S_w
    within_is_root: bool
    between: Array  # S_b, or R with R^T R = S_b
    between_is_root: bool
    reg: float = 0.0  # the ridge relative to the mean variance within classes
    ridge: float = 0.0  # added to S_w, by `reg` and shrinkage
    basis: Array | None = None  # basis of the coordinates; None for the features
    outside: float = 0.0  # sum of the eigenvalues in directions outside the basis

    def whitening(self) -> tuple[Array, bool]:
        """Return a whitening of S_w, and whether it is accurate.

        If there is a basis, the rows of the whitening are orthogonal.
        """
        by_feature = self.basis is None
        return whitening(
            self.within,
            is_root=self.within_is_root,
            ridge=self.ridge,
            by_feature=by_feature,
            triangular=by_feature,
        )


def pencil_of(
    class_moments: ClassMoments,
    reg: float,
    *,
    n_features: int,
    shrinkage: float,
    weight: float,
) -> Pencil:
    """Return S_w and S_b with shrinkage.

    Parameters
    ----------
    class_moments : ClassMoments
        The moments of the classes, and of the unlabelled samples.
    reg : float
        The ridge relative to the mean variance of the features, as in LDA.
    n_features : int
        Number of features. More than the samples have columns if these are coordinates of sparse
        samples.
    shrinkage : float
        The parameter of LDA.
    weight : float
        The parameter `unlabelled_weight` of LDA.
    """
    moments, total = class_moments.labelled, class_moments.total()
    assert moments is not None
    xp, is_root = namespace(moments.means), moments.is_root
    n, d, s = moments.n_samples, n_features, shrinkage
    within = moments.without_rounding_noise().spread / (n**0.5 if is_root else n)
    between = xp.sqrt(moments.counts / n)[:, None] * (moments.means - moments.mean)
    between_is_root = True
    if total is not None:
        between, between_is_root = _with_total(between, total, weight), is_root
    trace = xp.sum(within**2) if is_root else xp.linalg.trace(within)
    ridge = (s + reg) / d * float(trace)
    basis = None
    if is_root and within.shape[0] + between.shape[0] < within.shape[1]:
        # Few samples: work in coordinates of their span. Outside, both scatters are 0.
        unit = xp.sqrt(xp.sum(within**2, axis=0))
        unit = xp.where((unit > 0) & (ridge == 0), unit, xp.ones_like(unit))
        spanning = xp.concat([within, between]) / unit
        Q = xp.linalg.qr(spanning.T, mode="reduced").Q
        within, between = within / unit @ Q, between / unit @ Q
        basis = Q / unit[:, None]
    within = ((1 - s) ** 0.5 if is_root else 1 - s) * within
    if not s:
        return Pencil(within, is_root, between, between_is_root, reg, ridge, basis)
    p = within.shape[1]
    # Shrinkage adds this to all eigenvalues of S_b, also to the eigenvalues outside the span.
    floor = s / d * (xp.sum(between**2) if between_is_root else xp.linalg.trace(between))
    eye = xp.eye(p, dtype=within.dtype, device=within.device)
    square = (1 - s) * between.T @ between if between_is_root else (1 - s) * between
    outside = (d - p) * float(floor) / ridge if ridge > 0 else 0.0
    return Pencil(within, is_root, square + floor * eye, False, reg, ridge, basis, outside)


def _with_total(between: Array, total: Moments, weight: float) -> Array:
    """Return (1 - weight) S_b + weight S_t, or a root of it. `between` is a root of S_b."""
    xp, n = namespace(between), total.n_samples
    between, spread = (1 - weight) ** 0.5 * between, total.without_rounding_noise().spread
    if total.is_root:
        return xp.concat([between, (weight / n) ** 0.5 * spread])
    return between.T @ between + weight / n * spread


def ledoit_wolf_pencil(X: Array, labels: Labels, reg: float) -> Pencil:
    """Return S_w and S_b with Ledoit-Wolf shrinkage of each class, as in scikit-learn."""
    samples, codes, weights = to_host(X), labels.codes, labels.weights
    n, d = samples.shape
    w = np.ones(n) if weights is None else weights
    within = np.zeros((d, d))
    for c in np.unique(codes):
        part = codes == c
        prior = np.mean(part) if weights is None else np.sum(w[part]) / np.sum(w)
        within += prior * _ledoit_wolf(samples[part], None if weights is None else w[part])
    ridge = reg / d * float(np.trace(within))
    scatters = (within, _ledoit_wolf(samples, weights) - within)
    S_w, S_b = (asarray_like(S, X, dtype=namespace(X).float64) for S in scatters)
    return Pencil(S_w, False, S_b, False, reg, ridge)


def _ledoit_wolf(X: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
    """Return the covariance, shrunk by the Ledoit-Wolf estimate on standardised features."""
    from sklearn.covariance import ledoit_wolf  # slow to import

    if len(X) == 1:
        return np.zeros((X.shape[1], X.shape[1]))
    if weights is None:
        scale = X.std(axis=0)
        scale = np.where(scale > 0, scale, 1.0)
        return scale[:, None] * ledoit_wolf((X - X.mean(axis=0)) / scale)[0] * scale
    X = X - np.average(X, axis=0, weights=weights)
    scale = np.sqrt(np.average(X**2, axis=0, weights=weights))
    scale = np.where(scale > 0, scale, 1.0)
    return scale[:, None] * _weighted_ledoit_wolf(X / scale, weights) * scale


def _weighted_ledoit_wolf(X: np.ndarray, weights: np.ndarray) -> np.ndarray:
    r"""Return the Ledoit-Wolf estimate of the covariance of weighted, centred samples.

    .. math:: (1 - s) S + s\, m I, \quad m = \frac{\mathrm{tr} S}{d}, \quad
              s = \min\left(1, \frac{\sum_i w_i |x_i x_i^T - S|_F^2}{n^2 |S - m I|_F^2}\right)

    S is the weighted covariance, and n is the sum of the weights.
    """
    n, d = float(np.sum(weights)), X.shape[1]
    S = (X.T * weights) @ X / n
    eye = np.trace(S) / d * np.eye(d)
    # The sum of w |x x^T - S|^2, in which sum of w <x x^T, S> is n |S|^2.
    noise = (weights @ np.sum(X**2, axis=1) ** 2 - n * np.sum(S**2)) / n**2
    signal = float(np.sum((S - eye) ** 2))
    s = min(1.0, noise / signal) if signal > 0 else 0.0
    return (1 - s) * S + s * eye
