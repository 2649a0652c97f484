"""The result of a fit."""

import math
from typing import Any, NamedTuple


class Cell(NamedTuple):
    """Result of one learner on one fold of one data set.

    Attributes
    ----------
    data, learner : str
        Names of the data set and the learner.
    n_neighbors : int or None
        Number of nearest neighbours. None for a classifier, which uses its own parameters.
    repeat, fold : int
        Number of the repeat and of the fold, starting at 0.
    train, test : float
        Scores on the training samples (leave-one-out for nearest neighbours) and on the test
        samples. NaN unless the status is "ok".
    time : float
        Time of the fit in seconds, including tuning.
    memory : float
        Increase in the peak memory of the process during the fit, in megabytes. It may be 0 for a
        small fit, because memory is counted in pages. NaN if the system does not report it.
    status : {"ok", "failed", "timeout", "crashed"}
        How the fit ended.
    message : str
        The error message. If the status is "ok", the warnings.
    metadata : dict
        Metadata reported by the learner, ``best_params`` if it was tuned, and ``confusion`` for
        classes: the number of test samples by their true and their predicted class.
    """

    data: str
    learner: str
    n_neighbors: int | None
    repeat: int
    fold: int
    train: float = math.nan
    test: float = math.nan
    time: float = math.nan
    memory: float = math.nan
    status: str = "ok"
    message: str = ""
    metadata: dict[str, Any] = {}  # noqa: RUF012 - never modified
