"""Training samples in blocks: what is checked, and the references that are drawn from them."""

from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import validate_data

from dimetric._arrays.namespaces import Array
from dimetric.blocks.block import Block
from dimetric.blocks.open import source_of
from dimetric.blocks.sample import RowSample, random_numbers
from dimetric.blocks.source import Source
from dimetric.classify._training import SEED, Training
from dimetric.learners._base import Learner
from dimetric.learners._block_fit import is_read_as_array, obstacle_of
from dimetric.learners._fitting.references import class_sizes
from dimetric.linalg.reductions import JointSum
from dimetric.objectives.references.references import (
    ClassTotals,
    Encoding,
    class_totals,
    sample_references,
)

DEFAULT_REFERENCES = 20_000  # with 50 features, they take 8 MB on each worker


def source_for(model: Any, X: Any, y: Any, sample_weight: Any) -> Source | None:
    """Return samples in blocks as a source, or None if a model reads them as an array.

    Raise if the samples are in blocks but the model cannot learn from them.
    """
    if not model._learns_from_blocks:
        return None
    if isinstance(X, np.memmap) and model.n_references is None:
        return None  # all samples are neighbours, as those of an array
    if is_read_as_array(X, partial(_obstacle, model)):
        return None
    source = source_of(X, y, sample_weight)
    if source is not None:
        check_source(model, source)
    return source


def check_source(model: Any, source: Source) -> None:
    """Raise if a model cannot be fitted to blocks. Otherwise, store the names of the features."""
    name, obstacle = type(model).__name__, _obstacle(model)
    if obstacle:
        raise TypeError(obstacle)
    if not source.can_repeat:
        raise ValueError(
            f"{name} reads the samples several times, but an iterator can be read only once. Pass "
            "a function that returns a new iterator instead."
        )
    if not source.has_labels:
        raise ValueError(f"{name} requires labels: pass y, or yield (X, y) from a function.")
    validate_data(model, source.example, reset=True, skip_check_array=True)
    # The learner gets arrays in predictions, so it must not know the names of the features.
    source.example = np.empty((0, source.n_features), source.dtype)


def _obstacle(model: Any) -> str:
    """Return why a model with these parameters cannot be fitted to blocks, or an empty string."""
    name, learner = type(model).__name__, model.learner
    if getattr(model, "class_weight", None) is not None:
        return (
            f"class_weight of {name} needs all labels at once. For samples in blocks, set "
            "class_weight of the learner."
        )
    if getattr(model, "metric", None) == "precomputed":
        return "metric='precomputed' needs all distances at once. Pass an array of distances."
    if learner is None:
        return ""
    if not isinstance(learner, Learner):
        return (
            f"{name} learns from samples in blocks with a learner of dimetric only, but its "
            f"learner is of type {type(learner).__name__}."
        )
    return obstacle_of(learner)


def class_references(model: Any, source: Source) -> tuple[np.ndarray, int, Training]:
    """Return the classes, the number of samples, and references of each class in proportion.

    One pass counts the classes, another one draws the references.
    """
    totals = source.reduce(_class_totals, _unlabelled(model.learner))
    if len(totals.classes) == 0:
        raise ValueError("All samples are unlabelled.")
    factors = np.ones(len(totals.classes)) if source.has_weights else None
    encoding = Encoding(totals.classes, factors)
    sizes = class_sizes(totals.counts, _size(model))
    sample = source.reduce(sample_references, encoding, sizes, SEED, numbered=True)
    assert sample.y is not None
    n, labels = int(np.sum(totals.counts)), totals.classes[sample.y]
    return totals.classes, n, _training(sample, n, labels, sample.y)


def number_references(model: Any, source: Source) -> tuple[int, Training]:
    """Return the number of samples and random references, in one pass."""
    total = source.reduce(_random_rows, _size(model), _unlabelled(model.learner), numbered=True)
    n, sample = total.parts
    return n, _training(sample, n, sample.y, np.empty(0, dtype=np.int64))


def mapped_references(model: Any, source: Source, references: Array) -> Array:
    """Fit the learner of a model to all blocks, and return the mapped references."""
    model.learner_ = None if model.learner is None else clone(model.learner).fit(source)
    return references if model.learner_ is None else model.learner_.transform(references)


def _size(model: Any) -> int:
    """Return the largest number of references."""
    return DEFAULT_REFERENCES if model.n_references is None else model.n_references


def _unlabelled(learner: Any) -> Any:
    """Return the label of samples without a class or target, or None."""
    params = {} if learner is None else learner.get_params()
    markers = [params[name] for name in params if name.split("__")[-1] == "unlabelled"]
    return next((marker for marker in markers if marker is not None), None)


def _training(sample: RowSample, n: int, y: np.ndarray, codes: np.ndarray) -> Training:
    """Return references as training samples, in the order of their row numbers."""
    return Training(sample.X, y, sample.weights, None, sample.rows, n, codes)


def _class_totals(block: Block, unlabelled: Any) -> ClassTotals:
    return class_totals(_with_one_output(block), unlabelled)


def _random_rows(block: Block, size: int, unlabelled: Any) -> JointSum | None:
    """Return the number of labelled rows of positive weight, and a sample of them."""
    assert block.first is not None
    y, weights = _with_one_output(block).y, block.weights
    used = np.ones(len(block.X), dtype=bool) if unlabelled is None else y != unlabelled
    places = np.flatnonzero(used if weights is None else used & (weights > 0))
    if not len(places):
        return None
    chosen, rows = block.take(places), block.first + places
    keys = random_numbers(rows, SEED)
    sample = RowSample(size, False, chosen.X, chosen.y, chosen.weights, rows, keys)
    return JointSum((len(places), sample.smallest()))


def _with_one_output(block: Block) -> Block:
    """Return a block. Raise if its samples have several labels."""
    assert block.y is not None  # the source has labels
    if block.y.ndim != 1:
        raise ValueError(
            f"The block that starts at sample {block.first} has labels of shape "
            f"{block.y.shape}, but samples in blocks must have one label each."
        )
    return block
