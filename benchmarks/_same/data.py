"""Data sets for the records, including wide data, duplicates and constant features."""

import importlib
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.datasets import load_digits, load_iris, load_wine


@dataclass(frozen=True, eq=False)
class Data:
    """Training samples, and new samples to transform and classify."""

    name: str
    X: Any
    y: np.ndarray
    X_new: Any
    y_new: np.ndarray
    single: bool = False  # whether X is float32

    def __len__(self) -> int:
        return len(self.y)


def data_sets() -> dict[str, Data]:
    """Return all data sets by name, including arrays of torch and array-api-strict if installed."""
    iris, wine = load_iris(return_X_y=True), load_wine(return_X_y=True)
    digits = load_digits(return_X_y=True)
    sets = [
        _split("iris", *iris),
        _split("wine", *wine),
        _split("digits", digits[0][:300], digits[1][:300]),
        _split("many", *_overlapping(1200, 6)),  # processed in several blocks of rows
        _split("wide", *_overlapping(45, 40)),
        _split("duplicates", *_repeated(*_overlapping(36, 4))),
        _split("constant", *_with_constant_column(*_overlapping(75, 5))),
        _in_single(_split("float32", *_overlapping(90, 6))),
    ]
    found = {each.name: each for each in sets}
    for namespace in ("array_api_strict", "torch"):
        try:
            xp = importlib.import_module(namespace)
        except ImportError:
            continue
        plain = _split(namespace, *_overlapping(60, 4))
        found[namespace] = replace(plain, X=xp.asarray(plain.X), X_new=xp.asarray(plain.X_new))
    return found


def _split(name: str, X: np.ndarray, y: np.ndarray) -> Data:
    """Shuffle the rows and use two thirds of them for training."""
    rows = np.random.default_rng(7).permutation(len(X))
    train, new = rows[: 2 * len(X) // 3], rows[2 * len(X) // 3 :]
    return Data(name, X[train], y[train], X[new], y[new])


def _overlapping(n: int, d: int, n_classes: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Return overlapping classes with features of different scales."""
    rng = np.random.default_rng(3)
    y = np.arange(n) % n_classes
    X = rng.normal(size=(n, d)) + 1.2 * (y[:, None] == np.arange(d))
    return X * (1 + np.arange(d)[::-1] / 2), y


def _repeated(X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Add two copies of every third sample, and change the label of one copy."""
    again = np.arange(0, len(X), 3)
    rows = np.concatenate([np.arange(len(X)), again, again])
    labels = y[rows].copy()
    labels[-1] = (labels[-1] + 1) % 3
    return X[rows], labels


def _with_constant_column(X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    X = X.copy()
    X[:, 2] = 3.5
    return X, y


def _in_single(data: Data) -> Data:
    X, X_new = data.X.astype(np.float32), data.X_new.astype(np.float32)
    return replace(data, X=X, X_new=X_new, single=True)
