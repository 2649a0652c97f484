"""The parts of the features in a learned squared distance."""

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline

from dimetric._arrays.namespaces import Array, asarray_like, is_foreign
from dimetric._arrays.validation import checked_mapped, checked_samples, ignoring_overflow


def explain_pair_with(model: BaseEstimator, learner: Any, x: Array, x2: Array) -> Array:
    r"""Return the parts :math:`\delta_k (M \delta)_k` of squared distances, which sum to them.

    Parameters
    ----------
    model : estimator
        The fitted model that validates the samples.
    learner : LinearMetric, Pipeline or None
        The fitted learner of the distance. The steps before the last one of a pipeline transform
        the samples first. None stands for the Euclidean distance.
    x, x2 : array-like of shape (d,) or (n, d)
        Samples.

    Returns
    -------
    parts : array of shape (k,) or (n, k)
        k is the number of features of the linear learner.
    """
    (first, is_row), (second, is_row2) = _as_block(x), _as_block(x2)
    A, B = checked_samples(model, first, reset=False), checked_samples(model, second, reset=False)
    n, n2 = A.shape[0], B.shape[0]
    if n != n2 and 1 not in (n, n2):
        raise ValueError(
            f"x has {n} rows and x2 has {n2} rows. Pass blocks of the same length, or one sample "
            "and a block."
        )
    while isinstance(learner, Pipeline):
        before, learner = learner[:-1], learner[-1]
        if len(before):
            A, B = np.asarray(before.transform(A)), np.asarray(before.transform(B))
    if learner is not None and not hasattr(learner, "explain_pair"):
        raise ValueError(
            f"{type(learner).__name__} has no matrix M to explain distances with. Use a learner of "
            "a linear map, such as NCA."
        )
    # The result is dense, and as large as the samples.
    A, B = (each.toarray() if sparse.issparse(each) else each for each in (A, B))
    with ignoring_overflow():
        parts = _parts(None if learner is None else learner.components_, A - asarray_like(B, A))
    return checked_mapped(parts)[0, :] if is_row and is_row2 else checked_mapped(parts)


def _parts(L: Array | None, differences: Array) -> Array:
    """Return the parts of the squared length of each mapped difference, of the same shape."""
    if L is None:
        return differences * differences
    L = asarray_like(L, differences)
    return differences * (differences @ L.T @ L)


def explain_pair_of(model: Any, x: Array, x2: Array) -> Array:
    """Return the parts of squared distances, also for a pipeline that ends with a learner.

    The parts of a pipeline refer to the features of its last step, such as scaled features.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import MaxAbsScaler
    >>> from dimetric import KNNClassifier
    >>> X = np.array([[0.0, 1.0], [4.0, 2.0], [1.0, 0.0]])
    >>> model = make_pipeline(MaxAbsScaler(), KNNClassifier(1)).fit(X, [0, 1, 1])
    >>> explain_pair_of(model, X[0], X[1])
    array([1.  , 0.25])
    """
    if isinstance(model, Pipeline):
        (first, is_row), (second, is_row2) = _as_block(x), _as_block(x2)
        before, model = model[:-1], model[-1]
        if len(before):
            first, second = before.transform(first), before.transform(second)
        parts = explain_pair_of(model, first, second)
        return parts[0] if is_row and is_row2 else parts
    if not hasattr(model, "explain_pair"):
        raise ValueError(
            f"{type(model).__name__} has no method explain_pair. Use a learner of a linear map, "
            "such as NCA, or a classifier with such a learner."
        )
    return model.explain_pair(x, x2)


def _as_block(x: Any) -> tuple[Any, bool]:
    """Return x as a block of rows, and whether it was a single row."""
    if hasattr(x, "to_frame") and hasattr(x, "index"):  # a pandas Series, with feature names
        return x.to_frame().T.infer_objects(), True
    if is_foreign(x):
        return (x[None, :], True) if x.ndim == 1 else (x, False)
    if hasattr(x, "columns") or sparse.issparse(x):
        return x, False
    values = np.asarray(x)
    return (values[None, :], True) if values.ndim == 1 else (values, False)
