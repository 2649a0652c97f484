"""Validation of the input of ``fit``: samples, labels or targets, constraints and weights."""

from dataclasses import dataclass, field, replace
from numbers import Real
from typing import Any

import numpy as np

from dimetric._arrays.labels import encode_labels
from dimetric._arrays.namespaces import Array
from dimetric._arrays.validation import (
    checked_samples,
    checked_samples_with_labels,
    checked_samples_with_targets,
)
from dimetric._compat import StrOptions
from dimetric.supervision._validation import checked_constraints, supervision_source
from dimetric.supervision._weights import (
    ClassWeight,
    checked_sample_weight,
    require_classes_for_weights,
    require_weights_support,
    with_class_weight,
)
from dimetric.supervision.labels import Labels, SampleWeights, Supervision, Targets

# Fitted attributes that a fit may not set again.
OPTIONAL_ATTRIBUTES = ("classes_", "targets_", "target_weights_", "threshold_")
# Constraints of the parameters that checked_input uses.
CLASS_PARAMETERS: dict[str, list[Any]] = {
    "class_weight": [dict, StrOptions({"balanced"}), None],
    "unlabelled": [Real, str, None],
}


@dataclass(frozen=True)
class CheckedInput:
    """The input of a fit.

    Parameters
    ----------
    samples : array of shape (m, d)
        The samples that the fit uses.
    supervision : Supervision or None
        Supervision of these samples. None for unsupervised learners without weights.
    used : ndarray of shape (n,)
        Which rows of X these samples are.
    metadata : dict
        The number of unlabelled samples, if the learner has the parameter `unlabelled`.
    """

    samples: Array
    supervision: Supervision | None
    used: np.ndarray
    metadata: dict[str, Any] = field(default_factory=dict)


def checked_input(
    learner: Any, X: Array | None, *, sample_weight: Any = None, **supervision: Any
) -> CheckedInput:
    """Validate the arguments of ``fit``, and leave out samples that the fit does not use.

    These are samples of weight 0, and unlabelled samples unless the learner uses them. Labels equal
    to the learner's parameter ``unlabelled`` count as missing. For labels, set ``classes_``.
    """
    source = supervision_source(learner, learner._supervision_kinds, **supervision)
    for name in OPTIONAL_ATTRIBUTES:
        learner.__dict__.pop(name, None)
    if sample_weight is not None:
        require_weights_support(learner, learner._accepts_weights, source)
    min_samples = learner._min_samples
    if source in ("pairs", "triplets"):
        require_classes_for_weights(learner, source)
        samples, constraints = checked_constraints(
            learner, X, supervision[source], source, min_samples=min_samples
        )
        return CheckedInput(samples, constraints, np.ones(samples.shape[0], dtype=bool))
    if source is None:
        samples = checked_samples(learner, X, reset=True, min_samples=min_samples)
        weights = checked_sample_weight(sample_weight, samples.shape[0])
        given = None if weights is None else SampleWeights(weights)
        return _used_samples(learner, samples, given, {})
    check = (
        checked_samples_with_labels
        if learner._learns_from_classes()
        else checked_samples_with_targets
    )
    samples, y = check(learner, X, supervision["y"], reset=True, min_samples=min_samples)
    weights = checked_sample_weight(sample_weight, samples.shape[0])
    if not learner._learns_from_classes():
        return _samples_with_targets(learner, samples, y, weights)
    return _labelled_samples(learner, samples, y, weights)


def _labelled_samples(
    learner: Any, X: Array, y: np.ndarray, weights: np.ndarray | None
) -> CheckedInput:
    """Encode the labels and set ``classes_``, without classes of weight 0."""
    unlabelled = getattr(learner, "unlabelled", None)
    labels = encoded_labels(y, weights, unlabelled, getattr(learner, "class_weight", None))
    set_classes(learner, labels.classes)
    metadata = {}
    if unlabelled is not None:
        is_unlabelled = labels.codes < 0
        if labels.weights is not None:
            is_unlabelled &= labels.weights > 0
        metadata["n_unlabelled"] = int(np.sum(is_unlabelled))
    return _used_samples(learner, X, labels, metadata)


def set_classes(learner: Any, classes: np.ndarray) -> None:
    """Set ``classes_``. Raise if there are too few classes."""
    learner.classes_ = classes
    if len(classes) < learner._min_classes:
        raise ValueError(
            f"{type(learner).__name__} requires at least {learner._min_classes} classes, but y has "
            f"only {len(classes)}."
        )


def encoded_labels(
    y: np.ndarray, weights: np.ndarray | None, unlabelled: Any, class_weight: ClassWeight
) -> Labels:
    """Return the labels of samples, with their weights times the weights of their classes.

    Samples of weight 0 get the code -1, and classes of weight 0 are left out.
    """
    has_weight = np.ones(len(y), dtype=bool) if weights is None else weights > 0
    codes = np.full(len(y), -1)
    classes, codes[has_weight] = encode_labels(y[has_weight], unlabelled)
    weights = with_class_weight(weights, codes, classes, class_weight)
    kept = np.unique(codes[(codes >= 0) if weights is None else (codes >= 0) & (weights > 0)])
    if len(kept) < len(classes):  # class_weight contains 0
        codes = np.where(np.isin(codes, kept), np.searchsorted(kept, codes), -1)
    return Labels(codes, classes[kept], weights)


def _samples_with_targets(
    learner: Any, X: Array, y: np.ndarray, weights: np.ndarray | None
) -> CheckedInput:
    """Mark missing targets, whose outputs all have the value ``unlabelled``, by NaN."""
    unlabelled = getattr(learner, "unlabelled", None)
    if unlabelled is None:
        return _used_samples(learner, X, Targets(y, weights), {})
    is_missing = np.all(y.reshape(len(y), -1) == unlabelled, axis=1)
    targets = Targets(
        np.where(is_missing if y.ndim == 1 else is_missing[:, None], np.nan, y), weights
    )
    n_unlabelled = np.sum(is_missing if weights is None else is_missing & (weights > 0))
    if np.all(is_missing):
        raise ValueError(f"All values of y are unlabelled={unlabelled!r}. Pass some targets.")
    return _used_samples(learner, X, targets, {"n_unlabelled": int(n_unlabelled)})


def _used_samples(
    learner: Any,
    X: Array,
    given: Labels | Targets | SampleWeights | None,
    metadata: dict[str, Any],
) -> CheckedInput:
    """Leave out samples of weight 0, and unlabelled samples unless the learner uses them."""
    used = np.ones(X.shape[0], dtype=bool)
    if given is None:
        return CheckedInput(X, None, used, metadata)
    if given.weights is not None:
        used &= given.weights > 0
    if isinstance(given, Labels | Targets) and not learner._uses_unlabelled:
        used &= given.is_labelled
    if np.all(used):
        return CheckedInput(X, given, used, metadata)
    rows = np.flatnonzero(used)
    if len(rows) < learner._min_samples:
        raise ValueError(
            f"{type(learner).__name__} requires at least {learner._min_samples} samples, but only "
            f"{len(rows)} of {len(used)} have a label and a positive weight."
        )
    if isinstance(given, Labels) and learner._keeps_rows:
        given = replace(given, codes=np.where(used, given.codes, -1))
        return CheckedInput(X, given, np.ones_like(used), metadata)
    samples = learner._take_samples(X, rows)
    return CheckedInput(samples, given.reordered(rows), used, metadata)
