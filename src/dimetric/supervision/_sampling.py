"""Enumeration and random sampling of pairs and triplets from labels, neighbours and scores."""

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_consistent_length

from dimetric._arrays.labels import encode_labels
from dimetric._arrays.namespaces import Array, take_rows, to_host
from dimetric._arrays.random_state import random_generator
from dimetric._arrays.row_order import distinct_rows
from dimetric._arrays.validation import checked_array, rescale_for_squares
from dimetric.neighbors.euclidean.search import euclidean_neighbors
from dimetric.neighbors.roles import enemies, friends

MAX_LISTED = 10**8  # largest number of pairs or triplets to list if n is None
MIN_TOTAL_PER_DRAW = 3  # draw a permutation if there are fewer numbers for each one wanted
SPARE_NUMBERS = 16  # numbers drawn in addition, because some may be duplicates


def draw_numbers(total: int, n: int | None, rng: np.random.RandomState) -> np.ndarray:
    """Return n distinct random integers below `total` in ascending order, or all if n is None."""
    if n is None and total > MAX_LISTED:
        raise ValueError(
            f"There are {total:,} combinations, too many to list. Set n to draw a random subset."
        )
    if n is None or _checked_n(n) >= total:
        return np.arange(total)
    if MIN_TOTAL_PER_DRAW * n > total:
        return np.sort(rng.permutation(total)[:n])
    drawn = np.empty(0, dtype=np.int64)
    while len(drawn) < n:
        more = rng.randint(total, size=n - len(drawn) + SPARE_NUMBERS, dtype=np.int64)
        drawn = np.sort(np.concatenate([drawn, more]))
        drawn = drawn[np.append(True, drawn[1:] != drawn[:-1])]
    return np.sort(rng.permutation(drawn)[:n])


def _checked_n(n: int) -> int:
    if n < 0:
        raise ValueError(f"n={n} must not be negative.")
    return n


class LabelledCombinations:
    """All pairs and triplets of labelled samples, numbered so that a subset can be drawn.

    Samples are sorted by class. Each sample forms similar pairs with the earlier samples of its
    class, and dissimilar pairs with all samples of earlier classes. Pairs and triplets are computed
    from their numbers, so only the drawn ones are stored.

    Parameters
    ----------
    y : array-like of shape (n,)
        Labels.
    unlabelled : float, str or None
        Value of y that marks samples without a label, which are left out.
    """

    def __init__(self, y: Any, unlabelled: Any = None) -> None:
        labels = np.asarray(to_host(y))
        if labels.ndim != 1:
            raise ValueError(
                f"y has shape {labels.shape}, but labels must have shape (n_samples,)."
            )
        known = np.arange(len(labels))
        if np.ndim(unlabelled) > 0:
            raise ValueError(f"unlabelled={unlabelled!r} must be a single label or None.")
        if unlabelled is not None:
            is_nan = unlabelled != unlabelled  # NaN differs from itself
            known = np.flatnonzero(labels == labels if is_nan else labels != unlabelled)
        if np.any(labels[known] != labels[known]):
            raise ValueError("y contains NaN. Set unlabelled=np.nan to leave these samples out.")
        _, codes = encode_labels(labels[known])
        order = np.argsort(codes, kind="stable")
        self.n, self.rows, self.codes = len(labels), known[order], codes[order]
        sizes = np.bincount(codes)
        self.starts = np.repeat(np.cumsum(sizes) - sizes, sizes)
        self.sizes = np.repeat(sizes, sizes)

    def similar(self, n: int | None, rng: np.random.RandomState) -> np.ndarray:
        """Return all similar pairs, or n of them at random."""
        return self._pairs(np.arange(len(self.rows)) - self.starts, self.starts, n, rng)

    def dissimilar(self, n: int | None, rng: np.random.RandomState) -> np.ndarray:
        """Return all dissimilar pairs, or n of them at random."""
        return self._pairs(self.starts, np.zeros_like(self.starts), n, rng)

    def n_pairs(self) -> tuple[int, int]:
        """Return the numbers of similar and dissimilar pairs."""
        similar = int(np.sum(np.arange(len(self.rows)) - self.starts))
        return similar, len(self.rows) * (len(self.rows) - 1) // 2 - similar

    def triplets(self, n: int | None, rng: np.random.RandomState) -> np.ndarray:
        """Return all triplets, or n of them at random.

        A triplet has a sample, another sample of its class, and a sample of another class.
        """
        m = len(self.rows)
        same, other = self.sizes - 1, m - self.sizes
        anchor, number = _draw_by_sample(same * other, n, rng)
        rank, other_rank = np.divmod(number, other[anchor])
        start = self.starts[anchor]
        closer = start + rank
        closer += closer >= anchor  # skip the anchor itself
        skipped = np.where(other_rank >= start, self.sizes[anchor], 0)  # skip the anchor's class
        farther = other_rank + skipped
        return self.rows[np.stack([anchor, closer, farther], axis=1)]

    def _pairs(
        self, counts: np.ndarray, first: np.ndarray, n: int | None, rng: np.random.RandomState
    ) -> np.ndarray:
        second, number = _draw_by_sample(counts, n, rng)
        return self.rows[np.stack([first[second] + number, second], axis=1)]


def _draw_by_sample(
    counts: np.ndarray, n: int | None, rng: np.random.RandomState
) -> tuple[np.ndarray, np.ndarray]:
    """Draw n of the items of all samples, where sample i has ``counts[i]`` items.

    Return the sample of each drawn item, and the number of the item within its sample.
    """
    ends = np.cumsum(counts)
    ranks = draw_numbers(int(ends[-1]) if len(ends) else 0, n, rng)
    sample = np.searchsorted(ends, ranks, side="right")
    return sample, ranks - (ends - counts)[sample]


def pairs_by_labels(
    y: Any, n: int | None, *, balanced: bool, random_state: Any, unlabelled: Any
) -> tuple[np.ndarray, np.ndarray, int]:
    """Return similar and dissimilar pairs, and the number of samples."""
    rng = random_generator(random_state)
    combinations = LabelledCombinations(y, unlabelled)
    n_similar, n_dissimilar = None, None
    if n is not None:
        available = combinations.n_pairs()
        if balanced:
            n_similar = min(_checked_n(n) // 2, available[0])
        else:  # distributed as the number of similar pairs among n random pairs
            n_similar = int(np.sum(draw_numbers(sum(available), n, rng) < available[0]))
        n_dissimilar = min(n - n_similar, available[1])
        n_similar = n - n_dissimilar
    return (
        combinations.similar(n_similar, rng),
        combinations.dissimilar(n_dissimilar, rng),
        combinations.n,
    )


def other_pairs(
    rows: np.ndarray, n_samples: int, n: int | None, rng: np.random.RandomState
) -> np.ndarray:
    """Return all pairs i < j that are not in `rows`, or n of them at random."""
    taken = np.unique(rows[:, 0] + rows[:, 1] * (rows[:, 1] - 1) // 2)
    total = n_samples * (n_samples - 1) // 2
    if n is not None:
        n = min(_checked_n(n), total - len(taken))
    # Of n + len(taken) pairs, at least n are not taken.
    ranks = np.setdiff1d(draw_numbers(total, None if n is None else n + len(taken), rng), taken)
    if n is not None and len(ranks) > n:
        ranks = ranks[draw_numbers(len(ranks), n, rng)]
    second = ((1 + np.sqrt(1 + 8 * ranks.astype(np.float64))) / 2).astype(np.int64)
    # Correct the rounding of the square root.
    second += (second * (second + 1) // 2 <= ranks).astype(np.int64)
    second -= (second * (second - 1) // 2 > ranks).astype(np.int64)
    return np.stack([ranks - second * (second - 1) // 2, second], axis=1)


def neighbor_pairs(indices: np.ndarray) -> np.ndarray:
    """Return the distinct pairs i < j of samples and their neighbours.

    Examples
    --------
    >>> neighbor_pairs(np.array([[1], [0], [-1]]))  # -1: no neighbour
    array([[0, 1]])
    """
    rows = np.repeat(np.arange(len(indices)), indices.shape[1])
    pairs = np.stack([rows, indices.ravel()], axis=1)
    return distinct_rows(np.sort(pairs[indices.ravel() >= 0], axis=1))[0]


def neighbors_and_others(
    X: Array, y: Any, k: int, rng: np.random.RandomState
) -> tuple[np.ndarray, np.ndarray]:
    """Return the row indices of k similar and of k dissimilar samples for each sample.

    With labels, the similar samples are the nearest ones of the same class, and the dissimilar
    samples are the nearest ones of other classes. Without labels, they are the nearest neighbours
    and random other samples. A row index of -1 marks a missing sample.
    """
    X, _ = rescale_for_squares(checked_array(X, "X"))
    n = X.shape[0]
    if y is not None:
        check_consistent_length(X, y)
        combinations = LabelledCombinations(y)
        sorted_ = take_rows(X, combinations.rows)
        by_role = []
        for role in (
            friends(sorted_, combinations.codes, k),
            enemies(sorted_, combinations.codes, k),
        ):
            indices = to_host(role.indices)
            is_present = np.arange(indices.shape[1]) < role.counts[:, None]
            rows = np.empty_like(indices)
            rows[combinations.rows] = np.where(is_present, combinations.rows[indices], -1)
            by_role.append(rows)
        return by_role[0], by_role[1]
    near = to_host(euclidean_neighbors(X, k)[1])
    far = rng.randint(n, size=(n, k))
    is_near = np.any(far[:, :, None] == near[:, None, :], axis=2)
    is_self = far == np.arange(n)[:, None]
    return near, np.where(is_near | is_self, -1, far)


def mean_scores(rows: np.ndarray, scores: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct pairs i < j, and the mean score of each."""
    scores = np.asarray(to_host(scores))
    if np.iscomplexobj(scores):
        raise ValueError("scores contains complex numbers, but scores must be real.")
    scores = scores.astype(np.float64)
    if scores.shape != (len(rows),):
        raise ValueError(
            f"scores has shape {scores.shape}, but must have shape ({len(rows)},), one score for "
            "each pair."
        )
    if not np.isfinite(scores).all():
        first = int(np.argmax(~np.isfinite(scores)))
        raise ValueError(f"scores[{first}] is {scores[first]}. Scores must be finite.")
    distinct, which = distinct_rows(np.sort(rows, axis=1))
    return distinct, np.bincount(which, scores) / np.bincount(which)


def ranked_triplets(rows: np.ndarray, scores: np.ndarray, margin: float) -> np.ndarray:
    """Return all triplets of an anchor and two partners with scores more than `margin` apart."""
    if not margin >= 0:
        raise ValueError(f"margin={margin} must not be negative.")
    samples, rows = np.unique(rows, return_inverse=True)  # large row indices would make S large
    rows, n = rows.reshape(-1, 2), len(samples)
    directed_pairs = np.concatenate([rows, rows[:, ::-1]])
    S = sparse.csr_array((np.tile(scores, 2), directed_pairs.T), shape=(n, n))  # keeps scores of 0

    triplets = [np.empty((0, 3), dtype=np.int64)]
    for anchor in np.flatnonzero(np.diff(S.indptr)):
        entries = slice(S.indptr[anchor], S.indptr[anchor + 1])
        partners, values = S.indices[entries], S.data[entries]
        closer, farther = np.nonzero(values[:, None] - values[None, :] > margin)
        anchors = np.full(len(closer), anchor)
        triplets.append(np.stack([anchors, partners[closer], partners[farther]], axis=1))
    return samples[np.concatenate(triplets)]


def linked_pairs(links: Any) -> tuple[np.ndarray, np.ndarray, int]:
    """Return the linked pairs i < j of a graph, the signs of the links, and the number of nodes."""
    graph = sparse.coo_array(links)
    if graph.ndim != 2 or graph.shape[0] != graph.shape[1]:
        raise ValueError(f"links has shape {graph.shape}, but must be square.")
    weights = np.asarray(graph.data, dtype=np.float64)
    is_present = (weights != 0) & (graph.row != graph.col)
    rows, weights = np.stack([graph.row, graph.col], axis=1)[is_present], weights[is_present]
    if np.isnan(weights).any():
        i, j = rows[np.argmax(np.isnan(weights))]
        raise ValueError(f"links[{i}, {j}] is NaN. Use 0 where there is no link.")
    keyed = np.column_stack([np.sort(rows, axis=1), np.sign(weights)])
    keyed, _ = distinct_rows(keyed.astype(np.int64))
    return keyed[:, :2], keyed[:, 2], graph.shape[0]
