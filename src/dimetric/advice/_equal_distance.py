"""Find learners whose distance is the Euclidean distance, such as a PCA that keeps everything."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.spatial.distance import pdist
from sklearn.preprocessing import MinMaxScaler

from dimetric.advice._final import Stage
from dimetric.advice._race_options import predicts
from dimetric.benchmark._cells import seeded
from dimetric.report._choice import BASELINE

__all__ = ["SAME_AS_BASELINE", "equals_of_baseline", "keeps_distances"]

SAME_AS_BASELINE = (
    "It keeps all distances up to a factor on this table, so it is the Euclidean distance."
)
MAX_COMPARED_ROWS = 100
# Rounding may change the order of tied neighbours, so scores of equal distances may differ a bit.
MAX_SCORE_DIFFERENCE = 0.005


def keeps_distances(learner: Any, X: np.ndarray, y: np.ndarray) -> bool:
    """Return whether all distances under a fitted learner are a constant times the Euclidean ones.

    Parameters
    ----------
    learner : learner
        The learner. It is fitted to a clone.
    X, y : ndarray
        Samples, and their classes or numbers.

    Examples
    --------
    >>> from dimetric import PCA
    >>> X = np.random.default_rng(0).random((20, 3))
    >>> keeps_distances(PCA(), X, X[:, 0]), keeps_distances(PCA(2), X, X[:, 0])
    (True, False)
    """
    fitted = seeded(learner, 0).fit(X, y)
    sample = X[:: -(-len(X) // MAX_COMPARED_ROWS)]
    before = pdist(sample)
    after = pdist(np.asarray(fitted.transform(sample), dtype=np.float64))
    norm = float(np.linalg.norm(before))
    factor = float(before @ after) / norm**2 if norm else 0.0
    return bool(np.allclose(after, factor * before, rtol=1e-4, atol=1e-6 * factor * norm))


def equals_of_baseline(
    scores: Mapping[str, np.ndarray], models: Mapping[str, Any], stage: Stage
) -> list[str]:
    """Return the names of the learners that keep all distances of the rows of a race.

    Only learners that have nearly the scores of the Euclidean distance are fitted again.

    Parameters
    ----------
    scores : mapping of str to ndarray
        Test scores of the learners and the baseline.
    models : mapping of str to learner
        The learners.
    stage : Stage
        The rows and options of the race.
    """
    suspects = [
        name
        for name, each in scores.items()
        if name != BASELINE
        and not predicts(models[name])
        and np.abs(each - scores[BASELINE]).mean() <= MAX_SCORE_DIFFERENCE
    ]
    if not suspects:
        return []
    preparation = stage.options.pipeline_of(MinMaxScaler(), "passthrough")
    X = preparation.fit_transform(stage.X, stage.y)
    return [name for name in suspects if keeps_distances(models[name], X, stage.y)]
