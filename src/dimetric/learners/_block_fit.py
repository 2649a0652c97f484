"""``fit`` of learners for samples in blocks: Dask collections, memory maps, iterators of blocks."""

from time import perf_counter
from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from dimetric._compat import Progress
from dimetric.blocks.open import source_of
from dimetric.blocks.source import Source


def block_source(learner: Any, X: Any, y: Any, sample_weight: Any) -> Source | None:
    """Return the samples as a source, or None if the learner gets them as an array.

    Raise TypeError if the samples are in blocks but the learner needs all of them at once.
    """
    if isinstance(X, np.memmap) and not learner._learns_from_blocks:
        return None
    source = source_of(X, y, sample_weight)
    if source is not None and not learner._learns_from_blocks:
        raise TypeError(
            f"{learner._name} needs all samples at once, so it cannot learn from "
            f"{_kind(X)}. Fit it to an array that holds some of the samples, or use a learner such "
            "as PCA, LDA or NCMML, which learns from blocks."
        )
    return source


def fit_to_blocks(learner: Any, source: Source, started: float) -> Any:
    """Fit a learner to a source, and return it."""
    if learner._supervision_kinds and not source.has_labels:
        raise ValueError(
            f"{learner._name} requires labels: pass y, or yield (X, y) from an iterator of blocks."
        )
    # This stores the number and the names of the features.
    validate_data(learner, source.example, reset=True, skip_check_array=True)
    progress = Progress(learner, source.example, None, learner._max_steps())
    metadata = learner._fit_blocks(source, progress)
    learner._check_fitted(metadata)
    learner._metadata = metadata | {"time": perf_counter() - started}
    progress.end()
    return learner


def _kind(X: Any) -> str:
    """Return what X is, for messages."""
    if hasattr(X, "dask"):
        return "a Dask collection"
    return "an iterator of blocks"
