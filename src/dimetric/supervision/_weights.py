"""Validation of sample weights and class weights."""

from collections.abc import Callable, Mapping
from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from dimetric._arrays.namespaces import is_foreign, to_host

ClassWeight = Mapping[Any, float] | str | None

# Limits of the sum of the weights. Beyond them, products with weights overflow or underflow.
MAX_SUM = 1e200
MIN_SUM = 1e-300


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
    given = _as_array(sample_weight)
    if given.ndim == 0 and given.dtype.kind in "biuf":
        given = np.full(n_samples, given)
    if given.shape != (n_samples,):
        raise ValueError(
            f"sample_weight has shape {given.shape}, but X has {n_samples} samples. Pass one "
            "weight for each sample."
        )
    if given.dtype.kind not in "biufO":
        raise ValueError(f"sample_weight must contain numbers, but it has dtype {given.dtype}.")
    if given.dtype.kind == "O":
        for row, value in enumerate(given):
            if not _is_number(value):
                raise ValueError(
                    f"sample_weight must contain numbers, but sample_weight[{row}] is {value!r}."
                )
    weights = given.astype(np.float64)
    _check_values(weights, lambda row: f"sample_weight[{row}]")
    if not np.any(weights > 0):
        raise ValueError("All sample weights are zero, so there is nothing to learn from.")
    _check_sum(weights, "sample weights")
    return weights


def _as_array(sample_weight: Any) -> np.ndarray:
    if is_foreign(sample_weight):
        return to_host(sample_weight)
    if np.ma.is_masked(sample_weight):
        row = int(np.argmax(np.ma.getmaskarray(sample_weight)))
        raise ValueError(
            f"sample_weight[{row}] is masked. Pass a number for each sample, such as 0 for samples "
            "to leave out."
        )
    try:
        return np.asarray(sample_weight)
    except ValueError as error:
        raise ValueError("sample_weight must contain a number for each sample.") from error


def _is_number(value: Any) -> bool:
    return isinstance(value, Real | np.bool_)


def _check_values(weights: np.ndarray, name_of: Callable[[int], str]) -> None:
    """Raise unless all weights are finite and at least 0. `name_of` names the weight at an index.

    The sum of the weights may still overflow.
    """
    for is_wrong, reason in (
        (~np.isfinite(weights), "weights must be finite"),
        (weights < 0, "weights must not be negative"),
    ):
        if np.any(is_wrong):
            i = int(np.argmax(is_wrong))
            raise ValueError(f"{name_of(i)} is {weights[i]}, but {reason}.")


def _check_sum(weights: np.ndarray, name: str) -> None:
    """Raise if products of sums of weights and samples would overflow, or lose all digits."""
    with np.errstate(over="ignore"):
        total = float(np.sum(weights))
    if total > MAX_SUM:
        raise ValueError(
            f"The sum of the {name} is {total:.3g}, which is too large. Divide the weights by a "
            "constant."
        )
    if 0 < total < MIN_SUM:
        raise ValueError(
            f"The sum of the {name} is {total:.3g}, which is too small. Multiply the weights by a "
            "constant."
        )


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
    with np.errstate(over="ignore"):
        weighted = np.where(labelled, weights * factors[codes], weights)
    _check_sum(weighted, "sample weights times class_weight")
    return weighted


def _given_factors(class_weight: Mapping[Any, float], classes: np.ndarray) -> np.ndarray:
    names = classes.tolist()
    unknown = [name for name in class_weight if name not in names]
    if unknown:
        raise ValueError(
            f"class_weight contains {unknown[0]!r}, which is not a class of y. The classes are "
            f"{names[:10]}{' and others' if len(names) > 10 else ''}."
        )
    for name, value in class_weight.items():
        if not _is_number(value):
            raise ValueError(
                f"class_weight[{name!r}] is {value!r}, but the weight of a class must be a number."
            )
    factors = np.array([float(class_weight.get(name, 1.0)) for name in names])
    _check_values(factors, lambda i: f"class_weight[{names[i]!r}]")
    if len(factors) and not np.any(factors > 0):
        raise ValueError(
            f"All sample weights are zero, because class_weight={dict(class_weight)!r} gives all "
            "classes the weight 0. Give some classes a positive weight."
        )
    return factors


def require_classes_for_weights(learner: BaseEstimator, source: str) -> None:
    """Raise if a learner of pairs or triplets has class weights."""
    class_weight = getattr(learner, "class_weight", None)
    if class_weight is not None:
        raise ValueError(
            f"class_weight is the weight of classes, but {type(learner).__name__} was given "
            f"{source}. Set class_weight=None, or pass labels y."
        )


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
