"""metric-learn's side of each work. It runs in the environment of metric-learn."""

import numpy as np
from metric_learn import ITML, LMNN


def lmnn(arrays, *, params):
    """Fit LMNN to labels."""
    learner = LMNN(**params)
    return lambda: {"components_": learner.fit(arrays["X"], arrays["y"]).components_}


def itml(arrays, *, params):
    """Fit ITML to the given pairs and bounds."""
    pairs = arrays["X"][arrays["rows"]]
    signs = np.where(arrays["is_similar"], 1, -1)
    learner = ITML(**params)
    return lambda: {"components_": learner.fit(pairs, signs, bounds=arrays["bounds"]).components_}
