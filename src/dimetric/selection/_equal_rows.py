"""Find equal rows, and decide which of them are copies rather than coincidences."""

from typing import NamedTuple

import numpy as np

from dimetric._arrays.row_order import distinct_rows

FALSE_DISCOVERY_RATE = 0.01  # expected fraction of coincidences among the rows called copies
GRID_TOLERANCE = 1e-3  # rounding error of a gap between values, relative to the smallest gap


class EqualRows(NamedTuple):
    """Counts of equal rows, and groups that hold copies together.

    Attributes
    ----------
    n_repeated : int
        Number of rows that equal another row in all features.
    n_copies : int
        Number of these rows that are probably copies of each other.
    n_conflicting : int
        Number of rows that equal a row of another class.
    groups : ndarray of shape (n_rows,) or None
        A number for each row, the same for copies. None if there are no copies.
    """

    n_repeated: int
    n_copies: int
    n_conflicting: int
    groups: np.ndarray | None


def equal_rows(X: np.ndarray, y: np.ndarray | None = None, n_folds: int = 5) -> EqualRows:
    r"""Count equal rows, and find those that chance does not explain.

    If columns were independent within each class, a row :math:`x` of a class with :math:`n` other
    rows would be expected to equal

    .. math:: E(x) = n \prod_j f_j(x_j)

    of them, where :math:`f_j(x_j)` is the frequency of the value among these rows. The other copies
    of the row are not counted. If no other row has the value, :math:`f_j` is at most
    :math:`1 / (n + 1)`, and at most 1 / K in a column whose values lie on a grid of K points, such
    as integers. In other numeric columns it is 0.

    The procedure of Benjamini and Hochberg [1]_, applied to E as p-values, selects the copies: at
    most 1 % of the selected rows are expected to be coincidences. Three kinds of repeated rows
    never count as copies:

    - rows of a table that has at most :math:`\sqrt{n}` distinct rows among n,
    - rows that occur so often that they would not fit into one of the folds,
    - rows of a class that would have fewer groups than folds if its copies were kept together.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_columns)
        The rows: numbers, or codes of categories. Missing values are NaN, and equal each other.
    y : ndarray of shape (n_rows,), optional
        Classes of the rows.
    n_folds : int, default=5
        Number of folds for which the groups are used.

    References
    ----------
    .. [1] Y. Benjamini and Y. Hochberg. Controlling the false discovery rate: a practical and
       powerful approach to multiple testing. Journal of the Royal Statistical Society B, 1995.

    Examples
    --------
    >>> X = np.random.default_rng(0).standard_normal((20, 3))
    >>> found = equal_rows(np.concatenate([X, X[:5]]))
    >>> found.n_repeated, found.n_copies
    (10, 10)
    >>> equal_rows(np.arange(40)[:, None] % 2.0)
    EqualRows(n_repeated=40, n_copies=0, n_conflicting=0, groups=None)
    """
    n = len(X)
    X = np.asarray(X, dtype=np.float64)
    X = np.where(np.isnan(X), np.inf, X)
    classes = np.zeros(n, dtype=np.int64)
    if y is not None:
        classes = np.unique(np.asarray(y), return_inverse=True)[1].ravel()
    row = distinct_rows(X)[1]
    n_equal = np.bincount(row)
    n_repeated = int(np.sum(n_equal[n_equal > 1]))
    if n_repeated == 0:
        return EqualRows(0, 0, 0, None)
    pairs = np.unique(np.stack([row, classes]), axis=1)[0]
    n_conflicting = int(np.sum(n_equal[np.bincount(pairs) > 1]))
    if len(n_equal) <= n**0.5:
        return EqualRows(n_repeated, 0, n_conflicting, None)
    is_copied = _improbable(X, classes, row, n_equal) & (n_equal <= n / n_folds)
    groups = np.where(is_copied[row], row, len(n_equal) + np.arange(n))
    for label in np.unique(classes):
        of_class = classes == label
        if len(np.unique(groups[of_class])) < min(n_folds, np.sum(of_class)):
            is_copied[row[of_class]] = False
    if not is_copied.any():
        return EqualRows(n_repeated, 0, n_conflicting, None)
    groups = np.where(is_copied[row], row, len(n_equal) + np.arange(n))
    groups = np.unique(groups, return_inverse=True)[1]
    return EqualRows(n_repeated, int(np.sum(n_equal[is_copied])), n_conflicting, groups)


def _improbable(
    X: np.ndarray, classes: np.ndarray, row: np.ndarray, n_equal: np.ndarray
) -> np.ndarray:
    """Return whether each distinct row is repeated, but not by chance."""
    rows = np.flatnonzero(n_equal[row] > 1)
    expected = np.zeros(len(n_equal))
    np.maximum.at(expected, row[rows], _expected_equal_rows(X, classes, row, rows))
    repeated = np.flatnonzero(n_equal > 1)
    by_chance = repeated[np.argsort(expected[repeated], kind="stable")]
    limits = FALSE_DISCOVERY_RATE * np.arange(1, len(by_chance) + 1) / len(n_equal)
    selected = np.flatnonzero(expected[by_chance] <= limits)
    improbable = np.zeros(len(n_equal), dtype=bool)
    if len(selected):
        improbable[by_chance[: selected[-1] + 1]] = True
    return improbable


def _expected_equal_rows(
    X: np.ndarray, classes: np.ndarray, row: np.ndarray, rows: np.ndarray
) -> np.ndarray:
    """Return E for each of the given rows, computed from the other rows of its class."""
    n_classes = int(classes.max()) + 1
    copies = _counts(row * n_classes + classes)[rows]
    n_others = np.bincount(classes)[classes[rows]] - copies
    expected = n_others.astype(np.float64)
    for column in X.T:
        values, codes = np.unique(column, return_inverse=True)
        n_with_value = _counts(codes.ravel() * n_classes + classes)[rows] - copies
        unseen = 1 / np.maximum(n_others + 1, _n_grid_points(values))
        expected *= np.where(n_with_value > 0, n_with_value / np.maximum(n_others, 1), unseen)
    return expected


def _counts(codes: np.ndarray) -> np.ndarray:
    """Return how often the code of each row occurs."""
    _, index, counts = np.unique(codes, return_inverse=True, return_counts=True)
    return counts[index]


def _n_grid_points(values: np.ndarray) -> float:
    """Return the number of grid points between the smallest and largest of distinct values.

    The result is infinite if the values do not lie on a grid.

    Examples
    --------
    >>> _n_grid_points(np.array([0.1, 0.2, 0.5])), _n_grid_points(np.array([0.0, 1.0, 2**0.5]))
    (5.0, inf)
    """
    gaps = np.diff(values[np.isfinite(values)])
    if not len(gaps):
        return 1.0
    steps = gaps / gaps.min()
    on_grid = np.max(np.abs(steps - np.round(steps))) <= GRID_TOLERANCE
    return float(1 + np.sum(np.round(steps))) if on_grid else np.inf
