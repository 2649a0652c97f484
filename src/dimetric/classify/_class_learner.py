"""Whether a learner learns from classes, and the message for targets that are not classes."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin


def learns_from_classes(learner: Any) -> bool:
    """Return whether a learner, or a step of a pipeline, learns from class labels.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from dimetric import LDA, PCA
    >>> learns_from_classes(PCA()), learns_from_classes(make_pipeline(PCA(), LDA()))
    (False, True)
    """
    parts = [learner, *learner.get_params().values()] if hasattr(learner, "get_params") else []
    return any(
        isinstance(part, ClassifierMixin)
        or (bool(getattr(part, "_supervision_kinds", ())) and part._learns_from_classes())
        for part in parts
    )


@contextmanager
def explaining_class_learner(model: Any, y: np.ndarray) -> Iterator[None]:
    """Explain the errors of a learner that learns from classes, but gets other targets y."""
    try:
        yield
    except ValueError as error:
        # scikit-learn's checks of class labels raise these messages.
        are_no_classes = "Unknown label type" in str(error) or "be a 1d array" in str(error)
        if are_no_classes and learns_from_classes(model.learner):
            raise ValueError(class_learner_message(model, y)) from error
        raise


def class_learner_message(model: Any, y: np.ndarray) -> str:
    """Return the error message for a learner that cannot learn from the targets y."""
    has = "continuous targets" if y.ndim == 1 else f"{y.shape[1]} outputs"
    remedy = 'MLKR or NCA(cost="squared")'
    if isinstance(model, ClassifierMixin):
        remedy = 'NCA(cost="jaccard") for several labels per sample'
    return (
        f"learner={model.learner!r} learns from one class per sample, but y has {has}. Use "
        f"{remedy}, an unsupervised learner, such as PCA or Covariance, or learner=None."
    )
