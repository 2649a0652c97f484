"""Weights of training samples in classifiers and regressors, and in the learners they fit."""

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
from scipy import sparse
from sklearn import get_config
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

from dimetric._arrays.labels import encode_labels
from dimetric._arrays.namespaces import Array, take_rows
from dimetric._compat import StrOptions
from dimetric.supervision._weights import ClassWeight, checked_sample_weight, with_class_weight

ClassWeights = ClassWeight | Sequence[ClassWeight]

CLASS_WEIGHT_CONSTRAINT = [StrOptions({"balanced"}), Mapping, list, None]


def training_weights(
    sample_weight: Any,
    labels: np.ndarray,
    class_weight: ClassWeights = None,
    is_labelled: np.ndarray | None = None,
) -> np.ndarray | None:
    """Return the sample weights times the weights of the classes, or None if all weights are 1.

    Parameters
    ----------
    sample_weight : array-like of shape (n_samples,) or None
        Sample weights.
    labels : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        Class labels.
    class_weight : dict, "balanced", list of these, or None
        Weights of the classes. For several outputs, a list with an entry for each output, or
        "balanced". The weights of all outputs are multiplied.
    is_labelled : ndarray of shape (n_samples,), optional
        Which samples have a label. The weights of the others do not change.

    Examples
    --------
    >>> training_weights([1, 1, 2], np.array(["a", "b", "b"]), {"a": 3})
    array([3., 1., 2.])
    >>> training_weights(None, np.array([[0, 1], [0, 0], [1, 1]]), [{1: 5}, {1: 2}])
    array([ 2.,  1., 10.])
    """
    n = len(labels)
    weights = checked_sample_weight(sample_weight, n)
    if class_weight is None:
        return weights
    outputs = labels.reshape(n, -1).T
    each_weight = class_weight if isinstance(class_weight, list) else [class_weight] * len(outputs)
    if len(each_weight) != len(outputs):
        raise ValueError(
            f"class_weight has {len(each_weight)} entries, but y has {len(outputs)} outputs. Pass "
            "one dict for each output."
        )
    if len(outputs) > 1 and isinstance(class_weight, Mapping):
        raise ValueError(
            f"class_weight is a dict, but y has {len(outputs)} outputs. Pass a list with one dict "
            "for each output, or 'balanced'."
        )
    given = np.ones(n) if weights is None else weights
    present, product = given > 0, given.copy()
    present = present if is_labelled is None else present & is_labelled
    for output, each in zip(outputs, each_weight, strict=True):
        classes, codes = encode_labels(output[present])
        weighted = with_class_weight(given[present], codes, classes, each)
        if weighted is not None:
            product[present] *= weighted / given[present]
    return checked_sample_weight(product, n)


def labelled_rows(learner: Any, y: np.ndarray) -> np.ndarray | None:
    """Return which samples have a label, or None if all have one.

    A label is missing if it is the parameter `unlabelled` of the learner, or of a step of a
    pipeline. With several outputs, all of them must have this value.

    Examples
    --------
    >>> from dimetric import LDA
    >>> labelled_rows(LDA(unlabelled=-1), np.array([0, -1, 1]))
    array([ True, False,  True])
    >>> labelled_rows(LDA(), np.array([0, -1, 1])) is None
    True
    """
    learners = learner if isinstance(learner, list) else [learner]
    parameters = [each.get_params() for each in learners if hasattr(each, "get_params")]
    is_labelled = np.ones(len(y), dtype=bool)
    for name, marker in chain.from_iterable(each.items() for each in parameters):
        if name.split("__")[-1] == "unlabelled" and marker is not None:
            is_labelled &= np.any(y.reshape(len(y), -1) != marker, axis=1)
    return None if np.all(is_labelled) else is_labelled


def rows_used(weights: np.ndarray | None) -> np.ndarray | None:
    """Return the indices of the samples of positive weight, or None if these are all samples."""
    return None if weights is None or np.all(weights > 0) else np.flatnonzero(weights)


def samples_used(X: Array, rows: np.ndarray | None, *, pairwise: bool = False) -> Array:
    """Return some rows of X. If `pairwise` is true, also only these columns."""
    if rows is None:
        return X
    used = X[rows] if sparse.issparse(X) else take_rows(X, rows)
    return take_rows(used.T, rows).T if pairwise else used


def relative_weights(weights: np.ndarray | None) -> np.ndarray | None:
    """Return positive weights divided by the largest one, or None if all weights are equal.

    Examples
    --------
    >>> relative_weights(np.array([2.0, 8.0]))
    array([0.25, 1.  ])
    >>> relative_weights(np.array([2.0, 2.0])) is None
    True
    """
    if weights is None or np.all(weights == weights[0]):
        return None
    return np.maximum(weights / np.max(weights), np.finfo(np.float64).tiny)


def weight_arguments(estimator: BaseEstimator, sample_weight: Any) -> dict[str, Any]:
    """Return the arguments that pass sample weights to ``fit`` of an estimator.

    The result is empty if the estimator does not use weights. In a pipeline, every step that uses
    weights gets them. With metadata routing, the steps that request weights get them.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import MinMaxScaler, StandardScaler
    >>> weight_arguments(make_pipeline(StandardScaler(), MinMaxScaler()), [1, 2])
    {'standardscaler__sample_weight': [1, 2]}
    """
    if sample_weight is None:
        return {}
    if isinstance(estimator, Pipeline):
        if get_config()["enable_metadata_routing"]:
            return {"sample_weight": sample_weight}  # the steps request it
        return {
            f"{name}__{key}": value
            for name, step in estimator.steps
            if hasattr(step, "fit")
            for key, value in weight_arguments(step, sample_weight).items()
        }
    # Our learners have the parameter, but not all of them use it.
    accepts = getattr(estimator, "_accepts_weights", None)
    if accepts is None:
        accepts = has_fit_parameter(estimator, "sample_weight")
    return {"sample_weight": sample_weight} if accepts else {}
