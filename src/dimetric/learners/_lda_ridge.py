"""The default regularisation of LDA."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from dimetric._arrays.namespaces import Array, namespace
from dimetric._warnings import warn
from dimetric.learners._lda_scatter import ENOUGH_SAMPLES, ClassMoments, Pencil, pencil_of
from dimetric.linalg.scatter import Moments

# `reg` per feature and sample. It was chosen by the accuracy of k-NN on held-out samples, which is
# about the same for all values from 0.2 to 1.
REG_PER_FEATURE = 0.5
MAX_REG = 1.0
MIN_REG = 1e-3  # also used if S_w is singular although there are enough samples
# Directions whose variance within classes is smaller, relative to the largest, count as constant.
MAX_CONSTANT_VARIANCE = 1e-10
# Smallest fraction of the variance between classes in constant directions that is kept.
MIN_SEPARATION = 1e-8


def automatic_reg(n: int, d: int) -> float:
    r"""Return ``reg`` for n samples and d features.

    It is 0 if n is at least 10 d, and otherwise

    .. math:: \min(1, \max(0.001, 0.5\, (d / n - 0.1)))

    Examples
    --------
    >>> automatic_reg(1000, 100), automatic_reg(200, 100), automatic_reg(60, 5000)
    (0.0, 0.2, 1.0)
    """
    if n >= ENOUGH_SAMPLES * d:
        return 0.0
    return min(MAX_REG, max(MIN_REG, REG_PER_FEATURE * (d / n - 1 / ENOUGH_SAMPLES)))


def given_reg(reg: float | str) -> float:
    """Return `reg`, or 0 for "auto", if it is not chosen by :func:`regularised_pencil`."""
    return 0.0 if isinstance(reg, str) else float(reg)


def whitened_pencil(learner: Any, moments: ClassMoments) -> tuple[Pencil, Array, bool]:
    """Return S_w and S_b of an LDA learner, the whitening of S_w, and whether it is accurate."""
    d, shrinkage = learner.n_features_in_, float(learner.shrinkage or 0.0)
    pencil_with = partial(
        pencil_of, n_features=d, shrinkage=shrinkage, weight=learner.unlabelled_weight
    )
    if learner.shrinkage is None and learner.reg == "auto":
        return regularised_pencil(
            moments, pencil_with, n_features=d, same_unit=learner._same_unit, name=learner._name
        )
    pencil = pencil_with(moments, given_reg(learner.reg))
    return pencil, *pencil.whitening()


def regularised_pencil(
    moments: ClassMoments,
    pencil_with: Callable[[ClassMoments, float], Pencil],
    *,
    n_features: int,
    same_unit: bool,
    name: str,
) -> tuple[Pencil, Array, bool]:
    """Return S_w and S_b, the whitening of S_w, and whether it is accurate.

    Parameters
    ----------
    moments : ClassMoments
        The moments of the classes.
    pencil_with : callable
        Returns the pencil of moments for a value of ``reg``.
    n_features : int
        Number of features.
    same_unit : bool
        Whether the ridge is the same for all features. Otherwise it is proportional to their
        variances, so that the units of the features do not matter.
    name : str
        Name of the learner, for the warning.
    """
    d, labelled = n_features, moments.labelled
    assert labelled is not None
    reg = automatic_reg(moments.n_distinct, d)
    if reg == 0:
        pencil = pencil_with(moments, 0.0)
        T, reliable = pencil.whitening()
        if not reliable or T.shape[0] == pencil.within.shape[1]:
            return pencil, T, reliable
    unit = _deviations(labelled)
    unit = namespace(unit).ones_like(unit) if same_unit else unit
    scaled = moments.divided_by(unit)
    ridged = _in_features(pencil_with(scaled, reg or MIN_REG), unit)
    ridged_T, reliable = ridged.whitening()
    assert scaled.labelled is not None
    enough = moments.n_distinct - len(moments.classes) >= labelled.means.shape[1]
    separates = _separates_without_variance(scaled.labelled, ridged, ridged_T, enough)
    if reg == 0 and not separates:
        return pencil, T, True
    if separates:
        # A larger ridge would hide a direction that separates the classes without error.
        ridged = _in_features(pencil_with(scaled, MIN_REG), unit)
        ridged_T, reliable = ridged.whitening()
        warn(
            "The class means differ in a direction in which no class varies, for example in a "
            f"feature that is constant within each class. {name} uses reg={ridged.reg:.3g} to keep "
            "this direction. Set reg to choose the ridge, or reg=0 to leave out the direction."
        )
    return ridged, ridged_T, reliable


def _deviations(moments: Moments) -> Array:
    """Return the standard deviations of the features, or infinity for constant features."""
    xp, spread = namespace(moments.means), moments.without_rounding_noise().spread
    squares = xp.sum(spread**2, axis=0) if moments.is_root else xp.linalg.diagonal(spread)
    squares = squares + moments.counts @ (moments.means - moments.mean) ** 2
    deviations = xp.sqrt(squares / moments.n_samples)
    varies = moments.exceeds_rounding(squares)
    return xp.where(varies, deviations, xp.full_like(deviations, float("inf")))


def _in_features(pencil: Pencil, unit: Array) -> Pencil:
    """Return the pencil of features divided by their units, with the basis of these features."""
    xp, basis = namespace(unit), pencil.basis
    if basis is None:
        basis = xp.eye(unit.shape[0], dtype=unit.dtype, device=unit.device)
    return replace(pencil, basis=basis / unit[:, None])


def _separates_without_variance(
    moments: Moments, pencil: Pencil, T: Array, enough_samples: bool
) -> bool:
    """Return whether class means differ in directions without variance within classes.

    With fewer samples than features, such directions always exist, and only features count.

    Parameters
    ----------
    moments : Moments
        The moments of the classes.
    pencil : Pencil
        The scatters, with a ridge.
    T : array
        The whitening of S_w with the ridge. Its rows are orthogonal.
    enough_samples : bool
        Whether the samples can vary in all directions within classes.
    """
    if pencil.ridge == 0:  # no class varies at all
        return False
    xp = namespace(T)
    between = xp.sqrt(moments.counts / moments.n_samples)[:, None] * (moments.means - moments.mean)
    threshold = MIN_SEPARATION * xp.sum(between**2)
    if not enough_samples:
        spread = moments.without_rounding_noise().spread
        constant = xp.all(spread == 0, axis=0)
        return bool(xp.sum(xp.where(constant, between, xp.zeros_like(between)) ** 2) > threshold)
    squared_norms = xp.sum(T**2, axis=1)
    variances = 1 / squared_norms - pencil.ridge
    constant = variances <= MAX_CONSTANT_VARIANCE * xp.max(variances)
    separation = xp.sum((between @ T.T) ** 2, axis=0) / squared_norms
    return bool(xp.sum(xp.where(constant, separation, xp.zeros_like(separation))) > threshold)
