"""Quick recognition of valid input.

scikit-learn's validation takes as long as some fits to small data. It is needed for input that has
to be converted, and to explain what is wrong. The usual input of NumPy arrays needs neither.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from dimetric._arrays.blocks import row_blocks
from dimetric._arrays.threads import run_on_threads

FLOATS = (np.dtype(np.float64), np.dtype(np.float32))
MIN_FEW_SAMPLES = 20  # scikit-learn does not warn about the number of classes of fewer samples
BLOCK_VALUES = 2**18  # values summed at once, which takes longer than waking a thread
MIN_THREADED_VALUES = 2**21  # fewer values are summed on one thread


def is_plain(
    learner: Any, X: Any, *, reset: bool, min_samples: int, must_be_finite: bool = True
) -> bool:
    """Return whether X is a valid NumPy array of floats, which need not be converted.

    If it is and `reset` is true, store the number of features in the learner. Otherwise, X must
    have as many features as stored. If `must_be_finite` is false, X may hold NaN and infinity.
    """
    if type(X) is not np.ndarray or X.dtype not in FLOATS or X.ndim != 2:
        return False
    if len(X) < max(1, min_samples) or X.shape[1] < 1:
        return False
    if must_be_finite and not is_finite(X):
        return False
    if reset:
        learner.__dict__.pop("feature_names_in_", None)
        learner.n_features_in_ = X.shape[1]
        return True
    has_names = hasattr(learner, "feature_names_in_")  # then scikit-learn warns
    return not has_names and getattr(learner, "n_features_in_", None) == X.shape[1]


def is_finite(X: np.ndarray) -> bool:
    """Return whether the sum of all values is finite, so that none of them is NaN or infinite."""
    with np.errstate(over="ignore", invalid="ignore"):
        if X.size < MIN_THREADED_VALUES or not (X.flags.c_contiguous or X.flags.f_contiguous):
            return bool(np.isfinite(X.sum()))
        flat = X.ravel(order="K")

        def work(blocks: Iterator[slice]) -> float:
            return sum(float(flat[b].sum()) for b in blocks)

        return bool(np.isfinite(sum(run_on_threads(work, list(row_blocks(X.size, BLOCK_VALUES))))))


def are_plain_labels(X: Any, y: Any) -> bool:
    """Return whether y is a valid NumPy array of integer labels, one for each sample of X.

    scikit-learn warns if more than half of the samples have a class of their own. If the range of
    the labels is small, this cannot happen.
    """
    if type(X) is not np.ndarray or type(y) is not np.ndarray:
        return False
    if y.ndim != 1 or y.dtype.kind != "i" or len(y) == 0 or len(y) != len(X):
        return False
    if not y.flags.c_contiguous:  # scikit-learn returns a contiguous copy
        return False
    n_classes = int(y.max()) - int(y.min()) + 1
    return len(y) <= MIN_FEW_SAMPLES or n_classes <= len(y) // 2
