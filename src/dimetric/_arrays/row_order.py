"""A canonical order of samples, which is the same for all permutations, and equal samples."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import array_api_compat as compat
import numpy as np
from scipy import sparse

from dimetric._arrays.blocks import BLOCK_ENTRIES, row_blocks
from dimetric._arrays.namespaces import Array, namespace, selected_rows, to_host


def canonical_order(X: np.ndarray | sparse.csr_array, codes: np.ndarray) -> np.ndarray:
    """Return the indices that sort the samples by class, then lexicographically by features.

    Sums in this order, and hence the results of solvers, are bitwise the same for any permutation
    of the samples. Shifting all samples does not change the order, so it does not change random
    choices based on the order either.

    Examples
    --------
    >>> X, codes = np.array([[2.0], [1.0], [1.5]]), np.array([1, 1, 0])
    >>> backwards = canonical_order(X[::-1], codes[::-1])
    >>> np.array_equal(X[::-1][backwards], X[canonical_order(X, codes)])
    True
    """
    if sparse.issparse(X):
        rows = _sparse_row_keys(X)
        by_content = np.array(sorted(range(len(rows)), key=rows.__getitem__), dtype=np.int64)
    else:
        by_content = np.argsort(byte_strings(X), kind="stable")
    return by_content[np.argsort(codes[by_content], kind="stable")]


def canonical_order_on_device(X: Array, codes: np.ndarray) -> np.ndarray:
    """Return the same as :func:`canonical_order` for an array on an accelerator.

    Stable sorts by one feature after the other, the first feature last, take less time than a copy
    of X to the host.
    """
    xp = namespace(X)
    order = xp.arange(X.shape[0], dtype=xp.int64, device=compat.device(X))
    varies = np.flatnonzero(to_host(xp.any(X[:1, :] != X, axis=0)))
    for feature in varies[::-1].tolist():
        # Adding 0.0 turns -0.0 into 0.0.
        values = xp.take(X[:, feature] + 0.0, order)
        order = xp.take(order, xp.argsort(values, stable=True))
    by_content = to_host(order)
    return by_content[np.argsort(codes[by_content], kind="stable")]


def byte_strings(X: np.ndarray) -> np.ndarray:
    """Return byte strings that sort like the rows of a floating array."""
    # NumPy drops an interrupt that comes while it looks up a dtype such as (np.void, 8).
    return _byte_keys(X).view(f"V{X.shape[1] * X.itemsize}").ravel()


def _byte_keys(X: np.ndarray) -> np.ndarray:
    """Return integers whose bytes, as strings, sort like the floating-point numbers in X.

    A single sort of byte strings then orders the rows. The bytes of positive floats sort like the
    numbers. Those of negative floats sort in reverse, so their bits are flipped.
    """
    return sortable_integers(X).astype(f">u{X.itemsize}")


def sortable_integers(X: np.ndarray) -> np.ndarray:
    """Return unsigned integers that sort like the floating-point numbers in X.

    Examples
    --------
    >>> np.argsort(sortable_integers(np.array([1.5, -2.0, 0.0, -3.0])))
    array([3, 1, 2, 0])
    """
    # Adding 0.0 turns -0.0 into 0.0.
    bits = np.ascontiguousarray(X + 0.0).view(f"i{X.itemsize}")
    bits ^= (bits >> (8 * X.itemsize - 1)) | np.iinfo(bits.dtype).min
    return bits.view(f"u{X.itemsize}")


def _sparse_row_keys(X: sparse.csr_array) -> list[bytes]:
    """Return byte strings that sort like the rows of a canonical CSR array.

    Rows are compared at the first entry that differs. Among positive entries, the one in an earlier
    column sorts last. Among negative entries, it sorts first. The end of a row sorts in between.
    """
    if not np.all(X.data):
        X = X.copy()
        X.eliminate_zeros()
    places = np.sign(X.data) * (X.shape[1] - X.indices.astype(np.float64))
    keys = _byte_keys(np.stack([places, X.data.astype(np.float64)], axis=1)).tobytes()
    end = _byte_keys(np.zeros(1)).tobytes()
    starts = (16 * X.indptr.astype(np.int64)).tolist()
    return [keys[first:last] + end for first, last in pairwise(starts)]


def distinct_rows(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct rows in ascending order, and the index of each row of X among them.

    ``np.unique(axis=0)`` is slower, and raises TypeError if Ctrl-C interrupts a comparison. X holds
    floats, or 64-bit integers up to 2**53.

    Examples
    --------
    >>> distinct_rows(np.array([[2.0, 1.0], [0.0, 1.0], [2.0, 1.0]]))
    (array([[0., 1.],
           [2., 1.]]), array([1, 0, 1]))
    """
    order = canonical_order(X, np.zeros(len(X), dtype=np.int64))
    rows = X[order]
    is_new = np.append(True, np.any(rows[1:] != rows[:-1], axis=1))[: len(X)]
    index = np.empty(len(X), dtype=np.int64)
    index[order] = np.cumsum(is_new) - 1
    return rows[is_new], index


@dataclass(frozen=True)
class EqualRows:
    """Groups of equal rows of an array. Groups are ordered by their first rows."""

    first: np.ndarray  # (g,) the first row of each group
    index: np.ndarray  # (n,) the group of each row
    counts: np.ndarray  # (g,) the number of rows in each group

    def distinct(self, X: Array) -> Array:
        """Return one row of each group."""
        return selected_rows(X, self.first)

    def members(self, groups: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """Return the first ``counts[i]`` rows of ``groups[i]`` for all i, in one array."""
        rows = np.argsort(self.index, kind="stable")
        starts = np.cumsum(self.counts) - self.counts
        steps = np.arange(np.sum(counts)) - np.repeat(np.cumsum(counts) - counts, counts)
        return rows[np.repeat(starts[groups], counts) + steps]

    def totals(self, values: Any) -> Any:
        """Return the sums of the values over each group, of shape (g, c)."""
        n = len(self.index)
        shape = (len(self.first), n)
        return sparse.csr_array((np.ones(n), (self.index, np.arange(n))), shape=shape) @ values


def equal_rows(X: Array) -> EqualRows | None:
    """Return the groups of equal rows of an array of any namespace, or None if all rows differ.

    Equal rows are found by sorting a hash of each row, and a comparison of the rows confirms them.
    If hashes of different rows collide, which is improbable, the result is None. Equal rows of a
    sparse array may count as different if their entries are stored in different orders.

    Examples
    --------
    >>> equal = equal_rows(np.array([[2.0, 1.0], [0.0, 1.0], [2.0, 1.0]]))
    >>> equal.first, equal.index, equal.counts
    (array([0, 1]), array([0, 1, 0]), array([2, 1]))
    >>> equal_rows(np.eye(3)) is None
    True
    """
    if sparse.issparse(X):
        keys = X @ np.random.default_rng(0).normal(size=X.shape[1])
    else:
        X = to_host(X)
        keys = row_hashes(X)
    ordered = np.sort(keys)  # much faster than np.unique, which only equal rows make necessary
    if np.all(ordered[1:] != ordered[:-1]):
        return None
    _, first, index, counts = np.unique(
        keys, return_index=True, return_inverse=True, return_counts=True
    )
    order = np.argsort(first)
    position = np.empty_like(order)
    position[order] = np.arange(len(order))
    equal = EqualRows(first[order], position[index], counts[order])
    differs = X[equal.first[equal.index]] != X
    return None if (differs.nnz if sparse.issparse(X) else np.any(differs)) else equal


def row_hashes(X: np.ndarray) -> np.ndarray:
    """Return a 64-bit hash of each row. Equal rows have the same hash."""
    factors = np.random.default_rng(0).integers(1, 2**63, size=X.shape[1], dtype=np.uint64) | 1
    hashes = np.empty(len(X), np.uint64)
    for block in row_blocks(len(X), max(1, BLOCK_ENTRIES // max(1, X.shape[1]))):
        # Adding 0.0 turns -0.0 into 0.0.
        bits = np.ascontiguousarray(X[block] + 0.0).view(f"u{X.itemsize}").astype(np.uint64)
        bits ^= bits >> np.uint64(32)  # the low bits of small integers are 0
        hashes[block] = np.sum(bits * factors, axis=1, dtype=np.uint64)
    return hashes
