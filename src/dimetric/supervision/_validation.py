"""Validation of the supervision given to a learner: labels, pairs or triplets."""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_array

from dimetric._arrays.namespaces import Array, namespace, to_host
from dimetric._arrays.validation import checked_array, checked_samples
from dimetric.supervision._constraints import check_n_samples
from dimetric.supervision.pairs import Pairs
from dimetric.supervision.triplets import Triplets


class SupervisionError(TypeError, ValueError):
    """Error for missing or unsupported supervision, or for several kinds at once.

    It is a TypeError, because it is about the choice of arguments, and also a ValueError, because
    scikit-learn expects one if y is missing.
    """


def supervision_source(
    learner: BaseEstimator, accepted: tuple[str, ...], **arguments: Any
) -> str | None:
    """Return which of y, pairs and triplets was given, or None if the learner needs none of them.

    Parameters
    ----------
    learner : estimator
        The learner.
    accepted : tuple of str
        The kinds of supervision that the learner accepts. If empty, y is ignored.
    **arguments : object
        The arguments y, pairs and triplets. None means not given.

    Examples
    --------
    >>> supervision_source(BaseEstimator(), ("y", "pairs"), y=None, pairs=None, triplets="some")
    Traceback (most recent call last):
    ...
    dimetric...SupervisionError: BaseEstimator learns from labels y or pairs, not triplets.
    """
    name = type(learner).__name__
    named = [source for source, value in arguments.items() if value is not None]
    wanted = " or ".join("labels y" if source == "y" else source for source in accepted)
    for source in named:
        if source not in accepted and (accepted or source != "y"):
            raise SupervisionError(f"{name} learns from {wanted or 'X alone'}, not {source}.")
    if len(named) > 1:
        raise SupervisionError(
            f"{name} learns from {wanted}. Pass only one of {' and '.join(named)}."
        )
    if accepted and not named:
        others = " or ".join(source for source in accepted if source != "y")
        instead = f" Alternatively, pass {others}." if others else ""
        raise SupervisionError(  # scikit-learn's tests match the first sentence
            f"This {name} estimator requires y to be passed, but the target y is None.{instead}"
        )
    return named[0] if named and accepted else None


def checked_constraints(
    learner: BaseEstimator, X: Array | None, constraints: Any, source: str, *, min_samples: int
) -> tuple[Array, Pairs | Triplets]:
    """Return the checked samples and constraints. Without X, the constraints must hold points."""
    kind: type[Pairs | Triplets] = Pairs if source == "pairs" else Triplets
    if not isinstance(constraints, kind):
        raise TypeError(f"{source} must be {kind.__name__}, got {type(constraints).__name__}.")
    if X is None and constraints.points is None:
        raise ValueError(f"{source} contains row indices, so X is required, but X is None.")
    samples = checked_samples(
        learner, constraints.points if X is None else X, reset=True, min_samples=min_samples
    )
    check_n_samples(constraints.rows, constraints.n_samples, samples.shape[0], source)
    if not len(constraints):
        raise ValueError(
            f"{source} is empty, but {type(learner).__name__} needs at least one constraint."
        )
    if isinstance(constraints, Pairs):
        n_similar, n_dissimilar = len(constraints.similar), len(constraints.dissimilar)
        if n_similar == 0 or n_dissimilar == 0:
            raise ValueError(
                f"{type(learner).__name__} needs similar and dissimilar pairs, but got "
                f"{n_similar} similar and {n_dissimilar} dissimilar ones. "
                "Pairs.from_similar draws dissimilar pairs from all other pairs."
            )
    return samples, constraints


def checked_pair_rows(learner: Any, pairs: Any, X: Array | None) -> tuple[Array, np.ndarray]:
    """Return an array of points, and the pairs as row indices of these points.

    Parameters
    ----------
    learner : estimator
        The fitted learner. The points must have as many features as its training samples.
    pairs : Pairs, array-like of shape (m, 2, n_features), or of shape (m, 2) with X
        Pairs of vectors, or of row indices of X.
    X : array-like of shape (n_samples, n_features), optional
        The samples, if the pairs are row indices.
    """
    if isinstance(pairs, Pairs):
        X = pairs.points if X is None else X
        if X is None:
            raise ValueError("pairs contains row indices, so X is required.")
        X = checked_samples(learner, X, reset=False)
        check_n_samples(pairs.rows, pairs.n_samples, X.shape[0], "pairs")
        return X, pairs.rows
    if X is None:
        pairs = checked_array(pairs, "pairs", ndim=3)
        if tuple(pairs.shape[1:]) != (2, learner.n_features_in_):
            raise ValueError(
                f"pairs has shape {tuple(pairs.shape)}, but without X it must contain vectors "
                f"and have shape (n_pairs, 2, {learner.n_features_in_})."
            )
        points = namespace(pairs).reshape(pairs, (-1, learner.n_features_in_))
        return points, np.arange(points.shape[0]).reshape(-1, 2)
    X = checked_samples(learner, X, reset=False)
    index = check_array(to_host(pairs), dtype=None, input_name="pairs")
    if index.shape[1] != 2 or index.dtype.kind not in "iu":
        raise ValueError(
            f"pairs has shape {index.shape} and dtype {index.dtype}, but with X it must be an "
            "integer array of row indices, with shape (n_pairs, 2)."
        )
    outside = np.flatnonzero(((index < 0) | (index >= X.shape[0])).any(axis=1))
    if len(outside):
        raise ValueError(
            f"pairs[{outside[0]}] = {index[outside[0]].tolist()} contains a row index outside X, "
            f"which has {X.shape[0]} samples."
        )
    return X, index
