"""A data set: samples, targets and feature names."""

from dataclasses import dataclass, field

import numpy as np

__all__ = ["DataSet"]


@dataclass(frozen=True, eq=False)
class DataSet:
    """Samples and targets, with notes on how they were read.

    Attributes
    ----------
    X : ndarray of shape (n_samples, n_features)
        The samples. All features are numeric.
    y : ndarray of shape (n_samples,) or None
        The targets: class labels, or numbers for regression.
    feature_names : tuple of str
        Names of the features.
    target_name : str or None
        Name of the target.
    name : str
        Name of the data set.
    notes : tuple of str
        Messages about changes made while reading, such as dropped rows.
    extra : dict of str to ndarray
        Columns that are neither features nor target, such as the folds of a published split.

    Examples
    --------
    >>> DataSet(np.eye(3), np.array(["a", "b", "b"]), ("x0", "x1", "x2"), name="tiny")
    DataSet('tiny': 3 samples, 3 features, 2 values of y)
    """

    X: np.ndarray
    y: np.ndarray | None
    feature_names: tuple[str, ...]
    target_name: str | None = None
    name: str = ""
    notes: tuple[str, ...] = ()
    extra: dict[str, np.ndarray] = field(default_factory=dict)

    def __repr__(self) -> str:
        n, d = self.X.shape
        classes = "" if self.y is None else f", {len(np.unique(self.y))} values of y"
        lines = [f"DataSet({self.name!r}: {n} samples, {d} features{classes})", *self.notes]
        return "\n  ".join(lines)
