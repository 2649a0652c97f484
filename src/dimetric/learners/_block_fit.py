"""``fit`` of learners for samples in blocks: Dask collections, memory maps, iterators of blocks."""

from collections.abc import Callable
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from dimetric._compat import Progress
from dimetric._warnings import warn
from dimetric.blocks.open import source_of
from dimetric.blocks.source import Source
from dimetric.supervision._weights import require_weights_support

# Smaller memory maps are fitted as arrays. Joblib passes such memory maps to its workers.
MIN_BYTES_OF_BLOCKS = 2**28


def block_source(learner: Any, X: Any, y: Any, sample_weight: Any) -> Source | None:
    """Return the samples as a source, or None if the learner gets them as an array.

    Raise if the samples are in blocks but the learner needs all of them at once.
    """
    if is_read_as_array(X, partial(obstacle_of, learner)):
        return None
    source = source_of(X, y if learner._supervision_kinds else None, sample_weight)
    if source is not None and (obstacle := obstacle_of(learner)):
        raise TypeError(obstacle)
    return source


def is_read_as_array(X: Any, obstacle: Callable[[], str]) -> bool:
    """Return whether X is a memory map that is small, or that an obstacle keeps from blocks."""
    if not isinstance(X, np.memmap):
        return False
    if X.ndim != 2 or X.nbytes < MIN_BYTES_OF_BLOCKS:
        return True
    if reason := obstacle():
        warn(f"The memory map of {X.nbytes / 2**30:.1f} GiB is read as an array. {reason}")
    return bool(reason)


def obstacle_of(learner: Any) -> str:
    """Return why a learner cannot learn from samples in blocks, or an empty string."""
    if not learner._learns_from_blocks:
        return (
            f"{learner._name} needs all samples at once. Fit it to an array that holds some of the "
            "samples, or use a learner such as PCA, LDA or NCMML, which learns from blocks."
        )
    for name, (needs_all_samples, remedy) in learner._whole_sample_values.items():
        value = getattr(learner, name, None)
        if needs_all_samples(value):
            return (
                f"{name}={value!r} of {learner._name} needs all samples at once. For samples in "
                f"blocks, set {name} to {remedy}."
            )
    return learner._block_obstacle()


def fit_to_blocks(learner: Any, source: Source, started: float) -> Any:
    """Fit a learner to a source, and return it."""
    if learner._supervision_kinds and not source.has_labels:
        raise ValueError(
            f"{learner._name} requires labels: pass y, or yield (X, y) from an iterator of blocks."
        )
    if source.has_weights:
        require_weights_support(learner, learner._accepts_weights, "y")
    # This stores the number and the names of the features.
    validate_data(learner, source.example, reset=True, skip_check_array=True)
    progress = Progress(learner, source.example, None, learner._max_steps())
    metadata = learner._learn_blocks(source, progress)
    learner._check_fitted(metadata)
    learner._metadata = metadata | {"time": perf_counter() - started}
    progress.end()
    return learner
