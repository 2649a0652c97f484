"""pyDML's side of each work. It runs in the environment of pyDML."""

import dml
import numpy as np


def fit(arrays, *, name, params):
    """Fit a learner to labels, and return its map."""
    np.random.seed(0)  # noqa: NPY002  # pyDML has no random_state
    learner = getattr(dml, name)(**params)

    def call():
        learner.fit(arrays["X"], arrays["y"])
        return {"components_": np.real(learner.transformer())}

    return call


def fit_transform(arrays, *, name, params):
    """Fit a kernel learner to labels, and return the mapped training samples."""
    learner = getattr(dml, name)(**params)

    def call():
        learner.fit(arrays["X"], arrays["y"])
        return {"Z": np.real(learner.transform())}

    return call
