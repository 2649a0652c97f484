"""Find the learner inside a pipeline or a classifier."""

from typing import Any

from sklearn.base import is_classifier, is_regressor
from sklearn.pipeline import Pipeline


def last_step(model: Any) -> Any:
    """Return the last step of a pipeline, or the model itself if it is not a pipeline.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from dimetric import NCA
    >>> last_step(make_pipeline(StandardScaler(), NCA()))
    NCA()
    """
    return model[-1] if isinstance(model, Pipeline) else model


def learner_in(model: Any) -> Any:
    """Return the learner whose distance a model uses.

    Parameters
    ----------
    model : estimator
        A learner, a classifier or regressor with a ``learner``, or a pipeline that ends in one.
        The fitted ``learner_`` takes precedence over ``learner``.

    Returns
    -------
    learner : estimator or None
        None if the classifier or regressor uses the Euclidean distance.

    Examples
    --------
    >>> from dimetric import KNNClassifier, NCA
    >>> learner_in(KNNClassifier(learner=NCA()))
    NCA()
    """
    last = last_step(model)
    if not (is_classifier(last) or is_regressor(last)):
        return last
    return last_step(getattr(last, "learner_", getattr(last, "learner", None)))


def mapping_of(model: Any) -> Any:
    """Return the object that maps the samples of a model, or None if they are not mapped.

    This is the model itself if it has ``transform``, and otherwise its fitted learner.

    Examples
    --------
    >>> from dimetric import LDA, KNNClassifier
    >>> X, y = [[0.0], [1.0], [2.0], [4.0]], [0, 0, 1, 1]
    >>> mapping_of(KNNClassifier(1, learner=LDA()).fit(X, y))
    LDA()
    >>> mapping_of(KNNClassifier(1).fit(X, y)) is None
    True
    """
    return model if hasattr(model, "transform") else getattr(model, "learner_", model)
