"""What comes in: samples, labels and pairs of any container, checked once and left in place."""

import os
from itertools import combinations_with_replacement
from typing import Any

import array_api_compat as compat
import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils import assert_all_finite, check_consistent_length
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array, column_or_1d, validate_data

from dimetric._arrays import checked_array, checked_foreign, dtype_for
from dimetric._xp import Array, is_foreign, like, namespace, to_host
from dimetric.reduce.tree import row_blocks
from dimetric.supervision.pairs import Pairs
from dimetric.supervision.rows import checked_n_samples
from dimetric.supervision.triplets import Triplets


class SupervisionError(TypeError, ValueError):
    """Not exactly one source of supervision, or one that a learner cannot learn from.

    A wrong choice of arguments, so a TypeError; scikit-learn takes a missing y for a ValueError.
    """


def source_of(learner: BaseEstimator, takes: tuple[str, ...], **given: Any) -> str | None:
    """Return which source of supervision was given; None if none was, and none is needed.

    Parameters
    ----------
    learner : estimator
        The learner.
    takes : tuple of str
        The sources that it learns from; if there are none, it ignores a y.
    **given : object
        y, pairs and triplets.

    Examples
    --------
    >>> source_of(BaseEstimator(), ("y", "pairs"), y=None, pairs=None, triplets="some")
    Traceback (most recent call last):
    ...
    dimetric._checks.SupervisionError: BaseEstimator learns from labels y or pairs, not triplets.
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
    """Return checked samples, and the pairs or triplets of them; without X, of their own points."""
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


def checked_samples(
    learner: BaseEstimator, X: Array, *, reset: bool, min_samples: int = 1
) -> Array:
    """Return samples as a finite floating array; note (`reset`) or compare features and names."""
    if is_foreign(X):
        X = checked_foreign(X, min_samples)
        validate_data(learner, X, reset=reset, skip_check_array=True)
        return X
    X = validate_data(learner, X, reset=reset, **_options(learner, X, min_samples))
    return sparse.csr_array(X) if sparse.issparse(X) else X  # not the old matrix class


def checked_labelled(
    learner: BaseEstimator, X: Array, y: Any, *, reset: bool, min_samples: int
) -> tuple[Array, np.ndarray]:
    """Return checked samples, and their labels on the host."""
    y = to_host(y) if is_foreign(y) else y
    if y is None or not is_foreign(X):
        X, y = validate_data(learner, X, y, reset=reset, **_options(learner, X, min_samples))
    else:
        X = checked_samples(learner, X, reset=reset, min_samples=min_samples)
        y = column_or_1d(y, warn=True)
        assert_all_finite(y, input_name="y")
        check_consistent_length(X, y)
    check_classification_targets(y)
    return X, y


def coded(labels: np.ndarray, unlabelled: Any = None) -> tuple[np.ndarray, np.ndarray]:
    """Return the classes, and the class of each sample as an integer: -1 if it has no label.

    Examples
    --------
    >>> coded(np.array([7, -1, 3, 7]), unlabelled=-1)
    (array([3, 7]), array([ 1, -1,  0,  1]))
    """
    if unlabelled is None:
        classes, codes = np.unique(labels, return_inverse=True)
        return classes, codes
    known = labels != unlabelled
    if not known.any():
        raise ValueError(f"y holds no label: all samples have {unlabelled!r}, which means none.")
    codes = np.full(len(labels), -1)
    classes, codes[known] = np.unique(labels[known], return_inverse=True)
    return classes, codes


def checked_pair_rows(learner: Any, pairs: Any, X: Array | None) -> tuple[Array, np.ndarray]:
    """Return points, and pairs as row numbers of them, from pairs of vectors or of rows of X.

    Parameters
    ----------
    learner : estimator
        Whose number of features the points have.
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


def taken(X: Array, rows: np.ndarray) -> Array:
    """Return some rows of samples, dense."""
    if sparse.issparse(X):
        return X[rows].toarray()
    xp = namespace(X)
    return xp.take(X, like(rows, X, dtype=xp.int64), axis=0)


def checked_dissimilarities(D: Array) -> None:
    """Raise unless D is square, symmetric but for rounding, not negative, and 0 on the diagonal."""
    xp = namespace(D)
    n = D.shape[0]
    if D.shape[1] != n:
        raise ValueError(
            f"Dissimilarities must be a square matrix; X has shape {tuple(D.shape)}. For samples "
            "and features, choose another metric than 'precomputed'."
        )
    if bool(xp.any(D < 0)):
        raise ValueError(
            "Dissimilarities must not be negative. Similarities are no dissimilarities."
        )
    rounding = 4 * float(xp.finfo(D.dtype).eps) ** 0.5 * float(xp.max(D))
    if bool(xp.any(xp.linalg.diagonal(D) > rounding)):
        raise ValueError("Dissimilarities of samples to themselves, on the diagonal, must be 0.")
    tiles = list(row_blocks(n, 512))  # in which rows and columns alike stay in a cache
    for b, c in combinations_with_replacement(tiles, 2):
        difference = xp.abs(D[b, c] - D[c, b].T)
        if bool(xp.any(difference > rounding)):
            i, j = np.unravel_index(np.argmax(to_host(difference)), difference.shape)
            i, j = i + b.start, j + c.start
            raise ValueError(
                f"Dissimilarities must be symmetric, but that of samples {i} and {j} is "
                f"{float(D[i, j]):.6g} one way and {float(D[j, i]):.6g} the other. "
                "(D + D.T) / 2 is symmetric."
            )


def require_memory(n_bytes: int, wanted: str, remedy: str) -> None:
    """Raise if a matrix is larger than the machine's memory, before it grinds to a halt."""
    if "SC_PHYS_PAGES" not in os.sysconf_names:  # pragma: no cover - not on Windows
        return
    there = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if n_bytes > there:
        raise MemoryError(
            f"{wanted} would take {n_bytes / 2**30:,.0f} GiB; this machine has "
            f"{there / 2**30:,.0f}. {remedy}"
        )


def in_range(X: Array, name: str = "X") -> tuple[Array, float]:
    """Return X times a power of two that keeps sums of squares at ease, and that factor.

    The factor is 1 for all ordinary data, and a power of two never costs a digit. Values whose
    squares the dtype cannot hold are refused: neither could it hold a variance, or M.
    """
    xp = namespace(X)
    values = X.data if sparse.issparse(X) else X
    limit = 2.0**40 if X.dtype == xp.float32 else 2.0**200
    if compat.is_numpy_array(values):
        # One fast pass settles nearly all cases: no value is above the root of the sum of
        # squares, and the largest is not below the root of their mean.
        flat = values.ravel(order="K")
        with np.errstate(over="ignore"):
            total = float(flat @ flat)
        if total <= limit**2 and total >= flat.size / limit**2:
            return X, 1.0
    largest = max(float(xp.max(values)), -float(xp.min(values))) if values.shape[0] else 0.0
    info = xp.finfo(X.dtype)
    low, high = 4 * float(info.smallest_normal) ** 0.5, float(info.max) ** 0.5 / 4
    if largest > 0 and not low <= largest <= high:
        raise ValueError(
            f"{name} holds values up to {largest:.1e}, whose squares {X.dtype} cannot hold: the "
            f"largest must be between {low:.0e} and {high:.0e}. Scale {name}."
        )
    if largest == 0 or 1 / limit <= largest <= limit:
        return X, 1.0
    factor = float(2.0 ** -np.floor(np.log2(largest)))
    return X * factor, factor


def _options(learner: Any, X: Any, min_samples: int) -> dict[str, Any]:
    return {
        "accept_sparse": "csr" if learner._accepts_sparse else False,
        "dtype": dtype_for(X),
        "ensure_min_samples": min_samples,
    }
