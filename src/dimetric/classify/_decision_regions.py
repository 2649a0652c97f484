"""The decision regions of a classifier: its predictions on a grid over one to three features."""

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from dimetric._arguments import check_types
from dimetric._arrays.namespaces import Array, to_host
from dimetric._arrays.validation import checked_array

__all__ = ["DecisionRegions", "decision_regions", "feature_names_of"]

DEFAULT_RESOLUTION = {1: 500, 2: 200, 3: 26}  # grid points per feature, by number of features
MAX_LISTED_NAMES = 20  # feature names in an error message
RELATIVE_MARGIN = 0.08  # margin of the grid around the samples, as a fraction of their range


@dataclass(frozen=True, eq=False)
class DecisionRegions:
    """Predictions of a classifier on a grid, as returned by :func:`decision_regions`.

    Attributes
    ----------
    features : tuple of int
        Indices of the one to three features that vary.
    grid : tuple of ndarray
        Grid values of each varying feature.
    classes : ndarray of shape (n_classes,)
        Classes that are predicted somewhere on the grid.
    codes : ndarray of the shape of the grid
        Index into `classes` of the prediction at ``grid[0][i], grid[1][j], ...``.
    section : ndarray of shape (n_features,)
        Values at which the features that do not vary are fixed.
    """

    features: tuple[int, ...]
    grid: tuple[np.ndarray, ...]
    classes: np.ndarray
    codes: np.ndarray
    section: np.ndarray


@check_types
def decision_regions(
    classifier: Any,
    X: Array,
    *,
    features: Sequence[int | str] | None = None,
    section: Any = "mean",
    resolution: int | None = None,
) -> DecisionRegions:
    """Return the class that a classifier predicts at each point of a grid.

    One to three features vary over the range of the samples. The other features are fixed.
    :class:`~dimetric.plot.RegionsDisplay` plots the result.

    Parameters
    ----------
    classifier : classifier
        Any fitted estimator with ``predict``.
    X : array-like of shape (n_samples, n_features)
        Samples. The grid covers their range.
    features : sequence of one to three int or str, optional
        Indices or names of the features that vary. By default, all features vary, if there are at
        most three.
    section : {"mean", "median"}, int or array-like of shape (n_features,), default="mean"
        Values of the other features: their mean, their median, the values of one row of X (int),
        or any values (array).
    resolution : int, optional
        Number of grid points per feature. The default is 500, 200 or 26 for one, two or three
        features.

    Returns
    -------
    DecisionRegions

    Examples
    --------
    >>> from dimetric import KNNClassifier
    >>> X = np.array([[0.0, 1.0], [3.0, 1.0]])
    >>> model = KNNClassifier(1).fit(X, ["a", "b"])
    >>> regions = decision_regions(model, X, features=[0], resolution=4)
    >>> regions.grid[0].round(2), regions.classes[regions.codes], regions.section
    (array([-0.24,  0.92,  2.08,  3.24]), array(['a', 'a', 'b', 'b'], dtype='<U1'),
     array([1.5, 1. ]))
    """
    if not hasattr(classifier, "predict"):
        raise TypeError(f"{type(classifier).__name__} has no method predict.")
    check_is_fitted(classifier)
    samples = to_host(checked_array(X, "X")).astype(np.float64)
    varying = _varying_features(features, feature_names_of(X, samples.shape[1]))
    if resolution is not None and (not isinstance(resolution, Integral) or resolution < 2):
        raise ValueError(f"resolution={resolution!r} must be an int of at least 2.")
    n_points = int(resolution or DEFAULT_RESOLUTION[len(varying)])
    if samples.size and np.max(np.abs(samples)) > np.finfo(np.float64).max / 4:
        raise ValueError("X contains values near the largest number of float64. Rescale X.")
    fixed_values = _section(section, samples)
    grid = tuple(_grid_values(samples[:, j], n_points) for j in varying)
    points = np.tile(fixed_values, (n_points ** len(varying), 1))
    points[:, varying] = np.stack(np.meshgrid(*grid, indexing="ij"), axis=-1).reshape(
        -1, len(varying)
    )
    predicted = np.asarray(to_host(classifier.predict(_framed_like(points, X))))
    classes, codes = np.unique(predicted, return_inverse=True)
    codes = codes.reshape([n_points] * len(varying))
    return DecisionRegions(varying, grid, classes, codes, fixed_values)


def feature_names_of(X: Any, d: int) -> list[str]:
    """Return the column names of a data frame, or "feature 0", "feature 1", ... for an array.

    Examples
    --------
    >>> feature_names_of(np.zeros((3, 2)), 2)
    ['feature 0', 'feature 1']
    """
    if hasattr(X, "columns"):
        return [str(each) for each in X.columns]
    return [f"feature {j}" for j in range(d)]


def _varying_features(features: Any, names: list[str]) -> tuple[int, ...]:
    """Return the indices of the features that vary."""
    d = len(names)
    if features is None:
        if d > 3:
            raise ValueError(
                f"X has {d} features. Select one to three of them, for example features=(0, 1)."
            )
        return tuple(range(d))
    if isinstance(features, str | Integral):
        features = [features]
    indices = []
    for each in features:
        if isinstance(each, str) and each in names:
            indices.append(names.index(each))
        elif isinstance(each, Integral) and -d <= int(each) < d:
            indices.append(int(each) % d)
        else:
            raise ValueError(
                f"features: {each!r} is not a feature of X. Choose from {names[:MAX_LISTED_NAMES]}."
            )
    if not 1 <= len(indices) <= 3 or len(set(indices)) < len(indices):
        raise ValueError(f"features={features!r} must be one to three different features.")
    return tuple(indices)


def _section(section: Any, samples: np.ndarray) -> np.ndarray:
    """Return the values at which features are fixed."""
    n, d = samples.shape
    if isinstance(section, str) and section in ("mean", "median"):
        return getattr(np, section)(samples, axis=0)
    if isinstance(section, Integral) and not isinstance(section, bool):
        if not -n <= section < n:
            raise ValueError(f"section={section} is not a row of X, which has {n} rows.")
        return samples[int(section)]
    if isinstance(section, str) or np.shape(section) != (d,):
        raise ValueError(
            f"section={section!r} must be 'mean', 'median', the index of a row of X, or an array "
            f"of {d} values."
        )
    values = np.asarray(section, dtype=np.float64)
    if not np.all(np.isfinite(values)):
        raise ValueError("section contains NaN or infinity.")
    return values


def _grid_values(values: np.ndarray, n_points: int) -> np.ndarray:
    """Return equally spaced points over the range of values, with a margin on both sides."""
    low, high = values.min(), values.max()
    margin = RELATIVE_MARGIN * (high - low) or 1.0
    return np.linspace(low - margin, high + margin, n_points)


def _framed_like(points: np.ndarray, X: Any) -> Any:
    """Return points as a data frame if X is one, because a classifier may check feature names."""
    library = type(X).__module__.partition(".")[0]
    if library == "pandas":
        return type(X)(points, columns=X.columns)
    if library == "polars":
        return type(X)(points, schema=list(X.columns))
    return points
