"""Validation of sample weights and class weights."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from dimetric._arrays.namespaces import is_foreign, to_host

ClassWeight = Mapping[Any, float] | str | None


def checked_sample_weight(sample_weight: Any, n_samples: int) -> np.ndarray | None:
    """Return sample weights as an array of finite numbers of at least 0, or None if not given.

    Examples
    --------
    >>> checked_sample_weight([1, 2], 2)
    array([1., 2.])
    >>> checked_sample_weight([1, -2], 2)
    Traceback (most recent call last):
    ...
    ValueError: sample_weight[1] is -2.0, but weights must not be negative.
    """
    if sample_weight is None:
        return None
    given = to_host(sample_weight) if is_foreign(sample_weight) else np.asarray(sample_weight)
    if given.ndim == 0 and given.dtype.kind in "biuf":
        given = np.full(n_samples, given)
    if given.shape != (n_samples,):
        raise ValueError(
            f"sample_weight has shape {given.shape}, but X has {n_samples} samples. Pass one "
            "weight for each sample."
        )
    try:
        if given.dtype.kind == "c":
            raise TypeError
        weights = given.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"sample_weight must contain numbers, but it has dtype {given.dtype}."
        ) from error
    for is_wrong, reason in (
        (~np.isfinite(weights), "weights must be finite"),
        (weights < 0, "weights must not be negative"),
    ):
        if np.any(is_wrong):
            row = int(np.argmax(is_wrong))
            raise ValueError(f"sample_weight[{row}] is {weights[row]}, but {reason}.")
    if not np.any(weights > 0):
        raise ValueError("All sample weights are zero, so there is nothing to learn from.")
    return weights


def with_class_weight(
    weights: np.ndarray | None, codes: np.ndarray, classes: np.ndarray, class_weight: ClassWeight
) -> np.ndarray | None:
    r"""Return the sample weights times the weight of each sample's class.

    With "balanced", all classes get the same total weight: the weight of class c is

    .. math:: \frac{\sum_i w_i}{C \sum_{i: y_i = c} w_i}.

    Parameters
    ----------
    weights : ndarray of shape (n_samples,) or None
        Sample weights. None stands for 1.
    codes : ndarray of shape (n_samples,)
        Index of each sample's class, or -1 if it is unlabelled. The weights of unlabelled samples
        do not change.
    classes : ndarray of shape (n_classes,)
        The classes.
    class_weight : dict, "balanced" or None
        The weight of each class. A class that is not in the dict has the weight 1.

    Examples
    --------
    >>> with_class_weight(None, np.array([0, 0, 0, 1]), np.array(["a", "b"]), "balanced")
    array([0.66666667, 0.66666667, 0.66666667, 2.        ])
    """
    if class_weight is None:
        return weights
    weights = np.ones(len(codes)) if weights is None else weights
    labelled = codes >= 0
    if isinstance(class_weight, Mapping):
        factors = _given_factors(class_weight, classes)
    elif class_weight == "balanced":
        totals = np.bincount(codes[labelled], weights[labelled], minlength=len(classes))
        present = totals > 0
        factors = np.zeros(len(classes))
        factors[present] = np.sum(totals) / np.sum(present) / totals[present]
    else:
        raise ValueError(f"class_weight={class_weight!r} must be 'balanced', a dict or None.")
    return np.where(labelled, weights * factors[codes], weights)


def _given_factors(class_weight: Mapping[Any, float], classes: np.ndarray) -> np.ndarray:
    names = classes.tolist()
    unknown = [name for name in class_weight if name not in names]
    if unknown:
        raise ValueError(
            f"class_weight contains {unknown[0]!r}, which is not a class of y. The classes are "
            f"{names[:10]}{' and others' if len(names) > 10 else ''}."
        )
    factors = checked_sample_weight([class_weight.get(name, 1.0) for name in names], len(names))
    assert factors is not None
    return factors


def require_weights_support(learner: BaseEstimator, accepted: bool, source: str | None) -> None:
    """Raise if a learner cannot use sample weights, or cannot use them with pairs or triplets."""
    name = type(learner).__name__
    if not accepted:
        raise ValueError(f"{name} does not use sample weights. Call fit without sample_weight.")
    if source in ("pairs", "triplets"):
        raise ValueError(
            f"sample_weight is the weight of labelled samples, but {name} was given {source}. "
            "Repeat important constraints instead, or pass labels y."
        )
