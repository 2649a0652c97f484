"""Export models as Python modules that need only NumPy."""

import base64
import os
import textwrap
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

import dimetric
from dimetric._arguments import check_types
from dimetric._files import atomic_write
from dimetric.classify._votes import VOTE_TOLERANCE
from dimetric.export._map_chain import (
    KernelMap,
    Linear,
    MapChain,
    TieTolerance,
    Vote,
    map_chain,
)
from dimetric.export._retrieval.function import module_source
from dimetric.export._retrieval.sides import is_adapter

__all__ = ["to_numpy"]

MODULE_TEMPLATE = '''\
"""A learned distance, exported by dimetric {version}: {name} with {n_features} features.

transform(X) maps samples to a space where Euclidean distance equals the learned distance.{more}
The columns of X are FEATURES, in this order. This module needs only NumPy.
"""

import base64

import numpy as np


def _array(text, dtype, *shape):
    return np.frombuffer(base64.b64decode(text), dtype=dtype).reshape(shape)


FEATURES = {features}
{constants}

{kernel}def transform(X):
    """Map samples, of shape (n, {n_features}), with the learned map."""
    Z = np.asarray(X, dtype=np.float64)
    if Z.ndim != 2 or Z.shape[1] != len(FEATURES):
        raise ValueError(f"X has shape {{Z.shape}}, but must have {{len(FEATURES)}} columns.")
{maps}
    return Z
'''

VOTE_TEMPLATE = '''

def neighbors(X, k={k}):
    """Return the distances and row indices of the k nearest POINTS, nearest first."""
    lists = [(each[0][:k], each[1][:k]) for each in _near(transform(X), k)]
    distances, rows = (np.array([each[i] for each in lists]).reshape(-1, k) for i in range(2))
    return distances, rows.astype(np.int64)


def _near(Z, k):
    """Yield the distances and row indices of the nearest points, with all tied with the k-th."""
    if not 1 <= k <= len(POINTS):
        raise ValueError(f"k={{k}} must be between 1 and {{len(POINTS)}}, the number of points.")
    points = POINTS - CENTRE
    squared_lengths = np.sum(points * points, axis=1)
    for z in Z:
        moved = z - CENTRE
        rough = squared_lengths - 2 * (points @ moved)
        kth = np.partition(rough, k - 1)[k - 1]
        error = 1e-12 * (np.max(squared_lengths) + moved @ moved)  # above rounding errors
        length = np.sqrt(max(0.0, kth + error + moved @ moved))
        tied = _tolerance(z, length)
        near = np.flatnonzero(rough <= kth + error + 2 * length * tied + tied * tied)
        exact = np.sqrt(np.sum((POINTS[near] - z) ** 2, axis=1))
        order = np.lexsort((near, exact))
        yield exact[order], near[order]


def _tolerance(z, distance):
    """Return the difference up to which distances count as equal."""
    return RELATIVE * distance + CONSTANT + PER_SIZE * np.sqrt(np.sum((VARIES * z) ** 2))


def _weights(distances):
    if not BY_DISTANCE:
        return np.ones_like(distances)
    with np.errstate(divide="ignore"):
        weights = 1 / distances
    zero = np.isinf(weights)
    return zero.astype(float) if np.any(zero) else weights


def predict_proba(X):
    """Return the probability of each of CLASSES, of shape (n, n_classes).

    {shared}
    """
    Z = transform(X)
    votes = np.zeros((len(Z), len(CLASSES)))
    for i, (distances, rows) in enumerate(_near(Z, {k})):
        kth, tolerance = distances[{k} - 1], _tolerance(Z[i], distances[{k} - 1])
        distances = np.where(distances <= _tolerance(Z[i], 0.0), 0.0, distances)
        weights, codes, factors = _weights(distances[:{k}]), CODES[rows], FACTORS[rows]
        nearer = int(np.sum(distances < kth - tolerance)) if SHARES else {k}
        own = weights[:nearer] * factors[:nearer]
        votes[i] = np.bincount(codes[:nearer], own, len(CLASSES))
        if nearer < {k}:
            tied = (np.arange(len(codes)) >= nearer) & (distances <= kth + tolerance)
            share = np.sum(weights[nearer:]) / np.sum(tied)
            votes[i] += share * np.bincount(codes[tied], factors[tied], len(CLASSES))
    return votes / np.sum(votes, axis=1, keepdims=True)


def predict(X):
    """Return the class of each sample."""
    fractions = predict_proba(X)
    most = np.max(fractions, axis=1, keepdims=True)
    return CLASSES[np.argmax(fractions >= (1 - {vote_tolerance} * RELATIVE) * most, axis=1)]
'''

KERNEL_CODE = {
    "linear": "return X @ S.T",
    "poly": "return ({gamma!r} * (X @ S.T) + {coef0!r}) ** {degree!r}",
    "sigmoid": "return np.tanh({gamma!r} * (X @ S.T) + {coef0!r})",
    "rbf": (
        "squared = np.sum(X * X, axis=1)[:, None] - 2 * X @ S.T + np.sum(S * S, axis=1)\n"
        "return np.exp(-{gamma!r} * np.maximum(squared, 0))"
    ),
    "laplacian": ("return np.exp([-{gamma!r} * np.sum(np.abs(S - x), axis=1) for x in X])"),
    "cosine": (
        "X, S = (A / np.maximum(np.linalg.norm(A, axis=1), 1e-300)[:, None] for A in (X, S))\n"
        "return X @ S.T"
    ),
}


@check_types
def to_numpy(model: BaseEstimator, path: str | os.PathLike[str] | None = None) -> str:
    """Export a model as the source code of a Python module that needs only NumPy.

    Parameters
    ----------
    model : estimator
        A fitted linear or kernel learner, a nearest-neighbour or centroid classifier, or a Pipeline
        of scalers and one of these. Or a fitted RetrievalAdapter.
    path : path, optional
        Path of the file to write, such as ``model.py``.

    Returns
    -------
    source : str
        A module that defines ``FEATURES`` and ``transform(X)``. For a classifier, it also defines
        ``CLASSES``, ``neighbors(X, k)``, ``predict_proba(X)`` and ``predict(X)``. For an adapter,
        it defines ``map_queries`` and ``map_documents``, as in :func:`to_function`. It computes in
        float64.

    Examples
    --------
    >>> from dimetric import LDA
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> module = {}
    >>> exec(to_numpy(LDA().fit(X, y)), module)
    >>> module["transform"](X).shape
    (150, 2)
    """
    if is_adapter(model):
        text = module_source(model, _array_code)
    else:
        text = _module_source(map_chain(model), type(model).__name__)
    if path is not None:
        with atomic_write(path) as temporary:
            temporary.write_text(text, encoding="utf-8")
    return text


def _module_source(chain: MapChain, name: str) -> str:
    constants: dict[str, str] = {}
    maps: list[str] = []
    kernel = ""
    for number, each in enumerate(chain.maps, 1):
        if isinstance(each, Linear):
            constants |= {f"{key}{number}": _array_code(getattr(each, key)) for key in "Wob"}
            times = f"* W{number}" if each.W.ndim == 1 else f"@ W{number}.T"
            maps.append(f"Z = (Z - o{number}) {times} + b{number}")
        else:
            constants |= {f"{key}{number}": _array_code(getattr(each, key)) for key in "SAo"}
            kernel += _kernel_source(each, number)
            maps.append(f"Z = (_kernel{number}(Z, S{number}) - o{number}) @ A{number}.T")
    vote = _vote_source(chain.vote, constants) if chain.vote is not None else ""
    head = MODULE_TEMPLATE.format(
        version=dimetric.__version__,
        name=name,
        n_features=len(chain.features),
        more="\npredict(X) returns the class of each sample." if vote else "",
        features=_list_code(chain.features),
        constants="\n".join(f"{key} = {each}" for key, each in constants.items()),
        kernel=kernel,
        maps=textwrap.indent("\n".join(maps), "    "),
    )
    return head + vote


def _kernel_source(kernel_map: KernelMap, number: int) -> str:
    kernel = kernel_map.kernel
    numbers = {key: float(getattr(kernel, key)) for key in ("gamma", "coef0", "degree")}
    body = KERNEL_CODE[str(kernel.name)].format(**numbers)
    if kernel.centre is not None:  # centring only reduces rounding errors
        body = f"centre = {_array_code(kernel.centre)}\nX, S = X - centre, S - centre\n{body}"
    return f"def _kernel{number}(X, S):\n{textwrap.indent(body, '    ')}\n\n\n"


def _vote_source(vote: Vote, constants: dict[str, str]) -> str:
    no_ties = TieTolerance(0.0, 0.0, 0.0, np.zeros(vote.points.shape[1]))
    tolerance = no_ties if vote.tolerance is None else vote.tolerance
    constants |= {
        "POINTS": _array_code(vote.points),
        "CENTRE": _array_code(vote.points.mean(axis=0)),
        "CODES": _array_code(vote.codes.astype(np.int64)),
        "FACTORS": _factors_code(vote),
        "CLASSES": _classes_code(vote.classes),
        "BY_DISTANCE": repr(bool(vote.by_distance)),
        "SHARES": repr(vote.tolerance is not None),
        "RELATIVE": repr(tolerance.relative),
        "CONSTANT": repr(tolerance.constant),
        "PER_SIZE": repr(tolerance.per_size),
        "VARIES": _array_code(tolerance.varies),
    }
    shared = "Points tied at the k-th distance share the remaining votes."
    if vote.tolerance is None:
        shared = "The first of several nearest points votes."
    return VOTE_TEMPLATE.format(k=vote.k, shared=shared, vote_tolerance=VOTE_TOLERANCE)


def _factors_code(vote: Vote) -> str:
    """Return Python code for the factors of the votes of the points."""
    return "np.ones(len(POINTS))" if vote.weights is None else _array_code(vote.weights)


def _array_code(array: np.ndarray) -> str:
    """Return Python code that reproduces an array exactly."""
    plain = np.ascontiguousarray(array)
    plain = plain.astype(plain.dtype.newbyteorder("<"))
    text = base64.b64encode(plain.tobytes()).decode()
    return f"_array({text!r}, {plain.dtype.str!r}, {', '.join(map(str, array.shape))})"


def _classes_code(classes: np.ndarray) -> str:
    if classes.dtype.kind in "iufb":
        return _array_code(classes)
    values: list[Any] = classes.tolist()
    are_supported = all(
        each is None or isinstance(each, (str, int, float, bool)) for each in values
    )
    if not are_supported:
        raise ValueError(
            "The classes must be strings or numbers to be exported to a Python module."
        )
    return f"np.array({_list_code(values)}{', dtype=object' if classes.dtype.kind == 'O' else ''})"


def _list_code(values: Any) -> str:
    """Return Python code for a list. Its strings are escaped."""
    return f"[{', '.join(ascii(each) for each in values)}]"
