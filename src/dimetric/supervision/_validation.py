"""Validation of supervision: exactly one of labels, pairs and triplets, and row numbers of X."""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_array

from dimetric._arrays.namespaces import Array, namespace, to_host
from dimetric._arrays.validation import checked_array, checked_samples
from dimetric.supervision._constraints import checked_n_samples
from dimetric.supervision.pairs import Pairs
from dimetric.supervision.triplets import Triplets


class SupervisionError(TypeError, ValueError):
    """Raised unless there is exactly one source of supervision, of a kind that the learner takes.

    A wrong choice of arguments is a TypeError; scikit-learn expects a ValueError if y is missing.
    """


def supervision_source(learner: BaseEstimator, takes: tuple[str, ...], **given: Any) -> str | None:
    """Return the source of supervision that was given; None if there is none and none is needed.

    Parameters
    ----------
    learner : estimator
        The learner.
    takes : tuple of str
        The sources that it learns from; if there are none, y is ignored.
    **given : object
        y, pairs and triplets.

    Examples
    --------
    >>> supervision_source(BaseEstimator(), ("y", "pairs"), y=None, pairs=None, triplets="some")
    Traceback (most recent call last):
    ...
    dimetric...SupervisionError: BaseEstimator learns from labels y or pairs, not triplets.
    """
    name = type(learner).__name__
    named = [source for source, value in given.items() if value is not None]
    wanted = " or ".join("labels y" if source == "y" else source for source in takes)
    for source in named:
        if source not in takes and (takes or source != "y"):
            raise SupervisionError(f"{name} learns from {wanted or 'X alone'}, not {source}.")
    if len(named) > 1:
        raise SupervisionError(f"{name} learns from {wanted}: {' and '.join(named)} were given.")
    if takes and not named:
        instead = "".join(f" Give {source}= instead of it." for source in takes if source != "y")
        raise SupervisionError(  # in scikit-learn's words
            f"This {name} estimator requires y to be passed, but the target y is None.{instead}"
        )
    return named[0] if named and takes else None


def checked_constraints(
    learner: BaseEstimator, X: Array | None, given: Any, source: str, *, min_samples: int
) -> tuple[Array, Pairs | Triplets]:
    """Return checked samples and their pairs or triplets; without X, samples are their points."""
    kind: type[Pairs | Triplets] = Pairs if source == "pairs" else Triplets
    if not isinstance(given, kind):
        raise TypeError(f"{source} must be {kind.__name__}, got {type(given).__name__}.")
    if X is None and given.points is None:
        raise ValueError(f"X is None, but {source} are row numbers of it.")
    samples = checked_samples(
        learner, given.points if X is None else X, reset=True, min_samples=min_samples
    )
    checked_n_samples(given.rows, given.n_samples, samples.shape[0], source)
    if not len(given):
        raise ValueError(f"{source} is empty: there is nothing to learn from.")
    if isinstance(given, Pairs) and 0 in (len(given.similar), len(given.dissimilar)):
        raise ValueError(
            f"{type(learner).__name__} needs similar and dissimilar pairs; there are "
            f"{len(given.similar)} and {len(given.dissimilar)}. Pairs.from_similar takes all "
            "other pairs as dissimilar."
        )
    return samples, given


def checked_pair_rows(learner: Any, pairs: Any, X: Array | None) -> tuple[Array, np.ndarray]:
    """Return points, and pairs as row numbers of them, from pairs of vectors or of row numbers.

    Parameters
    ----------
    learner : estimator
        Fitted learner; the points must have its number of features.
    pairs : Pairs, array-like of shape (m, 2, n_features), or of shape (m, 2) with X
        Pairs of vectors, or of row numbers of X.
    X : array-like of shape (n_samples, n_features), optional
        Samples.
    """
    if isinstance(pairs, Pairs):
        X = pairs.points if X is None else X
        if X is None:
            raise ValueError("pairs are row numbers: give the samples X that they are of.")
        X = checked_samples(learner, X, reset=False)
        checked_n_samples(pairs.rows, pairs.n_samples, X.shape[0], "pairs")
        return X, pairs.rows
    if X is None:
        pairs = checked_array(pairs, "pairs", ndim=3)
        if tuple(pairs.shape[1:]) != (2, learner.n_features_in_):
            raise ValueError(
                f"pairs has shape {tuple(pairs.shape)}; without X it must hold vectors, of "
                f"shape (n_pairs, 2, {learner.n_features_in_})."
            )
        points = namespace(pairs).reshape(pairs, (-1, learner.n_features_in_))
        return points, np.arange(points.shape[0]).reshape(-1, 2)
    X = checked_samples(learner, X, reset=False)
    index = check_array(to_host(pairs), dtype=None, input_name="pairs")
    if index.shape[1] != 2 or index.dtype.kind not in "iu":
        raise ValueError(
            f"pairs has shape {index.shape} and dtype {index.dtype}; with X it must hold row "
            "numbers: integers of shape (n_pairs, 2)."
        )
    outside = np.flatnonzero(((index < 0) | (index >= X.shape[0])).any(axis=1))
    if len(outside):
        raise ValueError(
            f"pairs[{outside[0]}] = {index[outside[0]].tolist()} names a row outside X, which "
            f"has {X.shape[0]} samples."
        )
    return X, index
