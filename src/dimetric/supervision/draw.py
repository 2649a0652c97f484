"""Pairs and triplets that labels, neighbours, links and scores make, all of them or some."""

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_consistent_length, check_random_state

from dimetric._arrays.namespaces import Array, like, namespace, to_host
from dimetric._arrays.validation import checked_array
from dimetric.neighbors.euclidean_search import euclidean_neighbors
from dimetric.neighbors.roles import enemies, friends

MOST = 10**8  # rows that are made without being asked for


def drawn(total: int, n: int | None, rng: np.random.RandomState) -> np.ndarray:
    """Return n numbers below `total`, ascending, each at most once; all if n is None or larger."""
    if n is None and total > MOST:
        raise ValueError(f"There are {total:,}, too many to list: say by n how many to draw.")
    if n is None or _checked_n(n) >= total:
        return np.arange(total)
    if 3 * n > total:
        return np.sort(rng.permutation(total)[:n])
    found = np.empty(0, dtype=np.int64)
    while len(found) < n:
        more = rng.randint(total, size=n - len(found) + 16, dtype=np.int64)
        found = np.sort(np.concatenate([found, more]))
        found = found[np.append(True, found[1:] != found[:-1])]
    return np.sort(rng.permutation(found)[:n])


def _checked_n(n: int) -> int:
    if n < 0:
        raise ValueError(f"n={n} must not be negative.")
    return n


class ByClass:
    """All pairs of labelled samples, numbered so that some can be drawn without listing all.

    Samples are sorted by class. A sample makes similar pairs with those of its class that come
    before it, and dissimilar ones with those of all classes before.

    Parameters
    ----------
    y : array-like of shape (n,)
        Labels.
    unlabelled : float, str or None
        Label of samples that have none: they are in no pair.
    """

    def __init__(self, y: Any, unlabelled: Any = None) -> None:
        labels = np.asarray(to_host(y))
        if labels.ndim != 1:
            raise ValueError(f"y has shape {labels.shape}; it must hold labels: (n_samples,).")
        known = np.arange(len(labels))
        if unlabelled is not None:
            is_nan = unlabelled != unlabelled  # which equals nothing
            known = np.flatnonzero(labels == labels if is_nan else labels != unlabelled)
        if np.any(labels[known] != labels[known]):
            raise ValueError("y holds NaN, which is no label: unlabelled=np.nan leaves it out.")
        _, codes = np.unique(labels[known], return_inverse=True)
        order = np.argsort(codes, kind="stable")
        self.n, self.rows, self.codes = len(labels), known[order], codes[order]
        sizes = np.bincount(codes)
        self.starts = np.repeat(np.cumsum(sizes) - sizes, sizes)
        self.sizes = np.repeat(sizes, sizes)

    def similar(self, n: int | None, rng: np.random.RandomState) -> np.ndarray:
        """Return similar pairs, all or n of them."""
        return self._pairs(np.arange(len(self.rows)) - self.starts, self.starts, n, rng)

    def dissimilar(self, n: int | None, rng: np.random.RandomState) -> np.ndarray:
        """Return dissimilar pairs, all or n of them."""
        return self._pairs(self.starts, np.zeros_like(self.starts), n, rng)

    def n_pairs(self) -> tuple[int, int]:
        """Return the numbers of similar and dissimilar pairs."""
        similar = int(np.sum(np.arange(len(self.rows)) - self.starts))
        return similar, len(self.rows) * (len(self.rows) - 1) // 2 - similar

    def triplets(self, n: int | None, rng: np.random.RandomState) -> np.ndarray:
        """Return triplets of a sample, one of its class and one of another, all or n of them."""
        m = len(self.rows)
        same, other = self.sizes - 1, m - self.sizes
        anchor, number = _numbered(same * other, n, rng)
        rank, late = np.divmod(number, other[anchor])
        closer = self.starts[anchor] + rank
        closer += closer >= anchor  # the sample itself is left out,
        farther = late + np.where(late >= self.starts[anchor], self.sizes[anchor], 0)  # its class
        return self.rows[np.stack([anchor, closer, farther], axis=1)]

    def _pairs(
        self, counts: np.ndarray, first: np.ndarray, n: int | None, rng: np.random.RandomState
    ) -> np.ndarray:
        second, number = _numbered(counts, n, rng)
        return self.rows[np.stack([first[second] + number, second], axis=1)]


def _numbered(
    counts: np.ndarray, n: int | None, rng: np.random.RandomState
) -> tuple[np.ndarray, np.ndarray]:
    """Draw of what samples have `counts` of; return the samples, and numbers from 0 of each."""
    ends = np.cumsum(counts)
    ranks = drawn(int(ends[-1]) if len(ends) else 0, n, rng)
    sample = np.searchsorted(ends, ranks, side="right")
    return sample, ranks - (ends - counts)[sample]


def pairs_by_labels(
    y: Any, n: int | None, *, balanced: bool, random_state: Any, unlabelled: Any
) -> tuple[np.ndarray, np.ndarray, int]:
    """Return similar and dissimilar pairs, and the number of samples."""
    rng = check_random_state(random_state)
    classes = ByClass(y, unlabelled)
    n_similar, n_dissimilar = None, None
    if n is not None:
        most = classes.n_pairs()
        if balanced:
            n_similar = min(_checked_n(n) // 2, most[0])
        else:  # as many similar ones as n of all pairs would have
            n_similar = int(np.sum(drawn(sum(most), n, rng) < most[0]))
        n_dissimilar = min(n - n_similar, most[1])
        n_similar = n - n_dissimilar
    return classes.similar(n_similar, rng), classes.dissimilar(n_dissimilar, rng), classes.n


def complement(
    rows: np.ndarray, n_samples: int, n: int | None, rng: np.random.RandomState
) -> np.ndarray:
    """Return pairs, with the smaller number first, that are not among the given: all or n."""
    taken = np.unique(rows[:, 0] + rows[:, 1] * (rows[:, 1] - 1) // 2)
    total = n_samples * (n_samples - 1) // 2
    if n is not None:
        n = min(_checked_n(n), total - len(taken))
    # Of so many drawn, at least n are not taken.
    ranks = np.setdiff1d(drawn(total, None if n is None else n + len(taken), rng), taken)
    if n is not None and len(ranks) > n:
        ranks = ranks[drawn(len(ranks), n, rng)]
    second = ((1 + np.sqrt(1 + 8 * ranks.astype(np.float64))) / 2).astype(np.int64)
    second += (second * (second + 1) // 2 <= ranks).astype(np.int64)  # the root was rounded
    second -= (second * (second - 1) // 2 > ranks).astype(np.int64)
    return np.stack([ranks - second * (second - 1) // 2, second], axis=1)


def linked(indices: np.ndarray) -> np.ndarray:
    """Return samples and their neighbours as pairs, the smaller number first, each once.

    Examples
    --------
    >>> linked(np.array([[1], [0], [-1]]))  # -1 is none
    array([[0, 1]])
    """
    rows = np.repeat(np.arange(len(indices)), indices.shape[1])
    pairs = np.stack([rows, indices.ravel()], axis=1)
    return np.unique(np.sort(pairs[indices.ravel() >= 0], axis=1), axis=0)


def near_and_far(
    X: Array, y: Any, k: int, rng: np.random.RandomState
) -> tuple[np.ndarray, np.ndarray]:
    """Return for each sample the rows of k that are like it, and of k that are not; -1 is none.

    With labels these are the nearest of its class and of others, without any its nearest, and
    others drawn at random from all but these.
    """
    X = checked_array(X, "X")
    n = X.shape[0]
    if y is not None:
        check_consistent_length(X, y)
        classes = ByClass(y)
        sorted_ = namespace(X).take(X, like(classes.rows, X, dtype=namespace(X).int64), axis=0)
        found = []
        for role in (friends(sorted_, classes.codes, k), enemies(sorted_, classes.codes, k)):
            indices = to_host(role.indices)
            there = np.arange(indices.shape[1]) < role.counts[:, None]
            rows = np.empty_like(indices)
            rows[classes.rows] = np.where(there, classes.rows[indices], -1)
            found.append(rows)
        return found[0], found[1]
    near = to_host(euclidean_neighbors(X, k)[1])
    far = rng.randint(n, size=(n, k))
    hit = np.any(far[:, :, None] == near[:, None, :], axis=2) | (far == np.arange(n)[:, None])
    return near, np.where(hit, -1, far)


def mean_scores(rows: np.ndarray, scores: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return each pair once, the smaller number first, with the mean of its scores."""
    scores = np.asarray(to_host(scores), dtype=np.float64)
    if scores.shape != (len(rows),) or not np.isfinite(scores).all():
        raise ValueError(
            f"scores has shape {scores.shape}; it must hold a finite number for each of the "
            f"{len(rows)} pairs."
        )
    distinct, which = np.unique(np.sort(rows, axis=1), axis=0, return_inverse=True)
    which = which.ravel()
    return distinct, np.bincount(which, scores) / np.bincount(which)


def ranked_triplets(rows: np.ndarray, scores: np.ndarray, margin: float) -> np.ndarray:
    """Return all triplets of an anchor and two partners whose scores differ by over a margin."""
    if not margin >= 0:
        raise ValueError(f"margin={margin} must not be negative.")
    samples, rows = np.unique(rows, return_inverse=True)  # numbers may be huge
    rows, n = rows.reshape(-1, 2), len(samples)
    both = np.concatenate([rows, rows[:, ::-1]])
    S = sparse.csr_array((np.tile(scores, 2), both.T), shape=(n, n))
    # An explicit score of 0 stays an entry.
    found = [np.empty((0, 3), dtype=np.int64)]
    for anchor in np.flatnonzero(np.diff(S.indptr)):
        entries = slice(S.indptr[anchor], S.indptr[anchor + 1])
        partners, values = S.indices[entries], S.data[entries]
        closer, farther = np.nonzero(values[:, None] - values[None, :] > margin)
        anchors = np.full(len(closer), anchor)
        found.append(np.stack([anchors, partners[closer], partners[farther]], axis=1))
    return samples[np.concatenate(found)]


def entries_of(links: Any) -> tuple[np.ndarray, np.ndarray, int]:
    """Return the linked pairs of a graph, the signs of their links, and the number of nodes."""
    graph = sparse.coo_array(links)
    if graph.ndim != 2 or graph.shape[0] != graph.shape[1]:
        raise ValueError(f"links has shape {graph.shape}; it must be square.")
    weights = np.asarray(graph.data, dtype=np.float64)
    there = (weights != 0) & (graph.row != graph.col)
    rows, weights = np.stack([graph.row, graph.col], axis=1)[there], weights[there]
    if np.isnan(weights).any():
        i, j = rows[np.argmax(np.isnan(weights))]
        raise ValueError(f"links[{i}, {j}] is NaN, which is no weight; 0 is no link.")
    keyed = np.column_stack([np.sort(rows, axis=1), np.sign(weights)])
    keyed = np.unique(keyed.astype(np.int64), axis=0)
    return keyed[:, :2], keyed[:, 2], graph.shape[0]
