"""Blocks of samples for ``partial_fit`` of learners whose statistic adds up."""

from typing import Any

import numpy as np

from dimetric._arrays.namespaces import Array, asarray_like, namespace, take_rows
from dimetric._arrays.validation import checked_samples, rescale_for_squares
from dimetric.learners._input import encoded_labels
from dimetric.linalg.row_basis import dense_block
from dimetric.linalg.scatter import Moments
from dimetric.supervision._weights import ClassWeight, checked_sample_weight
from dimetric.supervision.labels import Labels


def supports_partial_fit(learner: Any) -> bool:
    """Return True, or raise if a parameter needs all samples at once."""
    refuse_auto(learner, "shrinkage", "identity_mix")
    class_weight = getattr(learner, "class_weight", None)
    if isinstance(class_weight, str):
        raise AttributeError(
            f"class_weight={class_weight!r} needs all labels at once. For partial_fit, pass a "
            "dict, or sample_weight."
        )
    return True


def refuse_auto(learner: Any, *names: str) -> None:
    """Raise if one of the parameters is "auto"."""
    for name in names:
        if getattr(learner, name, None) == "auto":
            raise AttributeError(
                f"{name}='auto' needs all samples at once. For partial_fit, set {name} to None or "
                "to a float in [0, 1]."
            )


def with_block(learner: Any, X: Array, sample_weight: Any) -> tuple[Array, Moments]:
    """Validate a block of samples, and add its moments to those of the blocks seen so far.

    Return the samples of positive weight and the sum. :func:`keep` stores the sum.
    """
    seen: Moments | None = getattr(learner, "_moments", None)
    X = checked_samples(learner, X, reset=seen is None)
    rescale_for_squares(X)  # raises if squares overflow or underflow
    rows, weights = weighted_rows(sample_weight, X.shape[0])
    X = dense_block(X, "partial_fit")
    X = X if rows is None else take_rows(X, rows)
    moments = Moments.root_of(X, weights=weights_like(weights, X))
    return X, moments if seen is None else seen + moments.moved_to(seen)


def keep(learner: Any, moments: Moments) -> None:
    """Store the moments of all blocks. The first block deletes the map of an earlier ``fit``."""
    if getattr(learner, "_moments", None) is None:
        learner.__dict__.pop("components_", None)
    learner._moments = moments


def weighted_rows(
    sample_weight: Any, n_samples: int
) -> tuple[np.ndarray | None, np.ndarray | None]:
    """Return the rows of positive weight and their weights, or None and None without weights."""
    weights = checked_sample_weight(sample_weight, n_samples)
    if weights is None:
        return None, None
    rows = np.flatnonzero(weights > 0)
    return rows, weights[rows]


def weights_like(weights: np.ndarray | None, X: Array) -> Array | None:
    """Return weights as float64 in the namespace and on the device of X."""
    return None if weights is None else asarray_like(weights, X, dtype=namespace(X).float64)


def labels_of_block(
    y: np.ndarray, weights: np.ndarray | None, unlabelled: Any, class_weight: ClassWeight
) -> Labels:
    """Return the labels of a block of samples, with the weights of their classes."""
    if not len(y) or (unlabelled is not None and np.all(y == unlabelled)):
        return Labels(np.full(len(y), -1), y[:0], weights)
    if isinstance(class_weight, dict):
        class_weight = class_weight_in_block(class_weight, np.unique(y).tolist())
    return encoded_labels(y, weights, unlabelled, class_weight)


def class_weight_in_block(class_weight: dict[Any, float], names: list[Any]) -> dict[Any, float]:
    """Return the weights of the classes of a block. A block need not contain all classes."""
    return {name: weight for name, weight in class_weight.items() if name in names}


def check_sum_of_weights(n: float) -> None:
    """Raise unless the sum of the sample weights minus 1 is positive."""
    if n <= 1:
        raise ValueError(
            f"The sum of the sample weights is {n:.3g}, but it must be larger than 1, because "
            "variances are divided by the sum minus 1. Multiply all weights by a constant."
        )
