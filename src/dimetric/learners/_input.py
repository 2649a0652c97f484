"""Validation of the input of ``fit``: samples, labels or targets, constraints and weights."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dimetric._arrays.namespaces import Array, selected_rows
from dimetric._arrays.validation import (
    checked_samples,
    checked_samples_with_labels,
    checked_samples_with_targets,
    encode_labels,
)
from dimetric.supervision._validation import checked_constraints, supervision_source
from dimetric.supervision._weights import (
    checked_sample_weight,
    require_weights_support,
    with_class_weight,
)
from dimetric.supervision.labels import Labels, SampleWeights, Supervision, Targets

# Fitted attributes that a fit may not set again.
OPTIONAL_ATTRIBUTES = ("classes_", "targets_", "target_weights_", "threshold_")


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
        return _used_samples(learner, samples, Targets(y, weights), {})
    return _labelled_samples(learner, samples, y, weights)


def _labelled_samples(
    learner: Any, X: Array, y: np.ndarray, weights: np.ndarray | None
) -> CheckedInput:
    """Encode the labels and set ``classes_``. A class of weight 0 is no class."""
    has_weight = np.ones(len(y), dtype=bool) if weights is None else weights > 0
    unlabelled = getattr(learner, "unlabelled", None)
    learner.classes_, known_codes = encode_labels(y[has_weight], unlabelled)
    if len(learner.classes_) < learner._min_classes:
        raise ValueError(
            f"{type(learner).__name__} requires at least {learner._min_classes} classes, but y has "
            f"only {len(learner.classes_)}."
        )
    codes = np.full(len(y), -1)
    codes[has_weight] = known_codes
    class_weight = getattr(learner, "class_weight", None)
    weights = with_class_weight(weights, codes, learner.classes_, class_weight)
    metadata = {}
    if unlabelled is not None:
        metadata["n_unlabelled"] = int(np.sum(known_codes < 0))
    return _used_samples(learner, X, Labels(codes, learner.classes_, weights), metadata)


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
    if isinstance(given, Labels) and not learner._uses_unlabelled:
        used &= given.codes >= 0
    if np.all(used):
        return CheckedInput(X, given, used, metadata)
    rows = np.flatnonzero(used)
    if len(rows) < learner._min_samples:
        raise ValueError(
            f"{type(learner).__name__} requires at least {learner._min_samples} samples, but only "
            f"{len(rows)} of {len(used)} has a label and a positive weight."
        )
    samples = selected_rows(X, rows)
    return CheckedInput(samples, given.reordered(rows), used, metadata)
