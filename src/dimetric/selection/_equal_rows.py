"""Find equal rows, and decide which of them are copies rather than coincidences."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array, issparse
from scipy.special import gammaln

from dimetric._arrays.row_order import distinct_rows

FALSE_DISCOVERY_RATE = 0.01  # expected fraction of coincidences among the rows called copies
SIGNIFICANCE_LEVEL = 0.01  # of the test of how many rows occur once, twice, three times, ...
MAX_SPARSE_COLUMNS = 100  # columns of sparse rows that E takes into account
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


def equal_rows(X: Any, y: np.ndarray | None = None, n_folds: int = 5) -> EqualRows:
    r"""Count equal rows, and find those that chance does not explain.

    Repeated rows are copies in two cases. The first case concerns single rows. If columns were
    independent within each class, a row :math:`x` of a class with :math:`n` other rows would be
    expected to equal

    .. math:: E(x) = n \prod_j f_j(x_j)

    of them. The other copies of the row are not counted. :math:`f_j(x_j)` is the frequency of the
    value :math:`x_j` among these n rows. If none of them has the value,
    :math:`f_j = 1 / \max(n + 1, K)`, where K is the number of points of the grid on which the
    values of the column lie. Integers lie on a grid. Without a grid, K is infinite. The procedure
    of Benjamini and Hochberg [1]_, applied to E as p-values, selects the copies: at most 1 % of the
    selected rows are expected to be coincidences. The fraction is larger if columns depend strongly
    on each other.

    The second case concerns the whole table. Let :math:`F_k` be the number of distinct rows, with
    their class, that occur k times. If rows are drawn independently from any distribution, also one
    with dependent columns, these numbers are approximately independent Poisson variables with

    .. math:: E F_{k-1}\, E F_{k+1} \ge \frac{k}{k + 1} (E F_k)^2

    because :math:`k!\, E F_k` are the moments of a positive measure. Copies violate this
    inequality. For example, :math:`F_1 = F_3 = 0` if each row is doubled. The inequality is tested
    for each k, conditional on :math:`F_{k-1} + F_k + F_{k+1}` and :math:`F_{k+1} - F_{k-1}`, which
    is the exact test of the Hardy-Weinberg equilibrium [2]_ with other coefficients. If it is
    rejected at the level of 1 % (over all k), all repeated rows are copies.

    Neither case covers a few copies in a table of few possible rows, such as 10 copies among 100
    rows of four digits: dependent columns would explain them. An experiment that repeats each
    combination of conditions equally often counts as copied.

    Three kinds of repeated rows never count as copies:

    - rows of a table that has at most :math:`\sqrt{n}` distinct rows among n,
    - rows that occur so often that they would not fit into one of the folds,
    - rows of a class that would have fewer groups than folds if its copies were kept together.

    Parameters
    ----------
    X : ndarray or sparse array of shape (n_rows, n_columns)
        The rows: numbers, or codes of categories. Missing values are NaN, and equal each other. For
        a sparse array, the product in E is over the 100 columns with the most nonzero values. So E
        is larger, and fewer rows are copies.
    y : ndarray of shape (n_rows,), optional
        Classes of the rows.
    n_folds : int, default=5
        Number of folds for which the groups are used.

    References
    ----------
    .. [1] Y. Benjamini and Y. Hochberg. Controlling the false discovery rate: a practical and
       powerful approach to multiple testing. Journal of the Royal Statistical Society B, 1995.
    .. [2] J. B. S. Haldane. An exact test for randomness of mating. Journal of Genetics, 1954.

    Examples
    --------
    >>> X = np.random.default_rng(0).standard_normal((20, 3))
    >>> found = equal_rows(np.concatenate([X, X[:5]]))
    >>> found.n_repeated, found.n_copies
    (10, 10)
    >>> equal_rows(np.arange(40)[:, None] % 2.0)
    EqualRows(n_repeated=40, n_copies=0, n_conflicting=0, groups=None)
    """
    n = X.shape[0]
    classes = np.zeros(n, dtype=np.int64)
    if y is not None:
        classes = np.unique(np.asarray(y), return_inverse=True)[1].ravel()
    X, row = _indexed_rows(X)
    n_occurrences = np.bincount(row)
    n_repeated = int(np.sum(n_occurrences[n_occurrences > 1]))
    if n_repeated == 0:
        return EqualRows(0, 0, 0, None)
    pairs, n_in_class = np.unique(np.stack([row, classes]), axis=1, return_counts=True)
    n_conflicting = int(np.sum(n_occurrences[np.bincount(pairs[0]) > 1]))
    if len(n_occurrences) <= n**0.5:
        return EqualRows(n_repeated, 0, n_conflicting, None)
    if _is_copied_table(n_in_class):
        is_copied = n_occurrences > 1
    else:
        is_copied = _improbable(X, classes, row, n_occurrences)
    is_copied &= n_occurrences <= n / n_folds
    groups = _groups(row, is_copied)
    for label in np.unique(classes):
        of_class = classes == label
        if len(np.unique(groups[of_class])) < min(n_folds, np.sum(of_class)):
            is_copied[row[of_class]] = False
    n_copies = int(np.sum(n_occurrences[is_copied]))
    return EqualRows(
        n_repeated, n_copies, n_conflicting, _groups(row, is_copied) if n_copies else None
    )


def _indexed_rows(X: Any) -> tuple[Any, np.ndarray]:
    """Return X with infinity for missing values, and the index of each row among distinct rows."""
    if not issparse(X):
        X = np.asarray(X, dtype=np.float64)
        X = np.where(np.isnan(X), np.inf, X)
        return X, distinct_rows(X)[1]
    X = csr_array(X, dtype=np.float64, copy=True)
    X.data[np.isnan(X.data)] = np.inf
    X.sum_duplicates()  # this also sorts the entries of each row
    X.eliminate_zeros()
    index: dict[tuple[bytes, bytes], int] = {}
    row = np.empty(X.shape[0], dtype=np.int64)
    for i, (start, stop) in enumerate(zip(X.indptr[:-1], X.indptr[1:], strict=True)):
        key = X.indices[start:stop].tobytes(), X.data[start:stop].tobytes()
        row[i] = index.setdefault(key, len(index))
    return X, row


def _groups(row: np.ndarray, is_copied: np.ndarray) -> np.ndarray:
    """Return a number for each row, the same for equal rows that are copies."""
    groups = np.where(is_copied[row], row, len(is_copied) + np.arange(len(row)))
    return np.unique(groups, return_inverse=True)[1]


def _is_copied_table(n_occurrences: np.ndarray) -> bool:
    """Return whether chance does not explain how often distinct rows occur.

    Examples
    --------
    >>> _is_copied_table(np.repeat([1, 2, 3], [400, 100, 17]))
    False
    >>> _is_copied_table(np.repeat([1, 2, 3], [400, 100, 0]))
    True
    """
    n_rows = np.append(np.bincount(n_occurrences), 0)  # by the number of occurrences
    several = np.flatnonzero(n_rows[2:] > 1) + 2
    return any(
        _p_value(k, *n_rows[k - 1 : k + 2]) < SIGNIFICANCE_LEVEL / len(several) for k in several
    )


def _p_value(k: int, n_below: int, n_at: int, n_above: int) -> float:
    """Return the p-value of the number of rows that occur k times, given those around k."""
    # The condition allows two rows to move from k - 1 and k + 1 to k, or back.
    moves = np.arange(-(n_at // 2), min(n_below, n_above) + 1)
    counts = np.stack([n_below - moves, n_at + 2 * moves, n_above - moves])
    log_factorials = gammaln(np.arange(k, k + 3))[:, None]  # of k - 1, k and k + 1
    weights = -np.sum(counts * log_factorials + gammaln(counts + 1), axis=0)
    probabilities = np.exp(weights - np.max(weights))
    return float(np.sum(probabilities[moves >= 0]) / np.sum(probabilities))


def _improbable(
    X: Any, classes: np.ndarray, row: np.ndarray, n_occurrences: np.ndarray
) -> np.ndarray:
    """Return whether each distinct row is repeated, but not by chance."""
    rows = np.flatnonzero(n_occurrences[row] > 1)
    expected = np.zeros(len(n_occurrences))
    np.maximum.at(expected, row[rows], _expected_equal_rows(X, classes, row, rows))
    candidates = np.flatnonzero(n_occurrences > 1)
    candidates = candidates[np.argsort(expected[candidates], kind="stable")]
    limits = FALSE_DISCOVERY_RATE * np.arange(1, len(candidates) + 1) / len(n_occurrences)
    selected = np.flatnonzero(expected[candidates] <= limits)
    improbable = np.zeros(len(n_occurrences), dtype=bool)
    if len(selected):
        improbable[candidates[: selected[-1] + 1]] = True
    return improbable


def _expected_equal_rows(
    X: Any, classes: np.ndarray, row: np.ndarray, rows: np.ndarray
) -> np.ndarray:
    """Return E for each of the given rows, computed from the other rows of its class."""
    n_classes = int(classes.max()) + 1
    copies = _counts(row * n_classes + classes)[rows]
    n_others = np.bincount(classes)[classes[rows]] - copies
    expected = n_others.astype(np.float64)
    for column in _dense_columns(X):
        values, codes = np.unique(column, return_inverse=True)
        n_with_value = _counts(codes.ravel() * n_classes + classes)[rows] - copies
        unseen = 1 / np.maximum(n_others + 1, _n_grid_points(values))
        expected *= np.where(n_with_value > 0, n_with_value / np.maximum(n_others, 1), unseen)
    return expected


def _dense_columns(X: Any) -> Iterator[np.ndarray]:
    """Iterate over the columns, or over those with the most nonzero values if X is sparse."""
    if not issparse(X):
        yield from X.T
        return
    X = X.tocsc()
    for j in np.argsort(-np.diff(X.indptr), kind="stable")[:MAX_SPARSE_COLUMNS]:
        column = np.zeros(X.shape[0])
        entries = slice(X.indptr[j], X.indptr[j + 1])
        column[X.indices[entries]] = X.data[entries]
        yield column


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
