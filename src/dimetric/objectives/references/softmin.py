r"""The smooth minimum of squared distances between rows and references of other classes.

See :class:`dimetric.objectives.softmin.SoftminObjective`. The weights of a block are relative to
the smallest squared distance of the block. When blocks are added, the weights are rescaled to the
smallest distance of both.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from dimetric._arrays.compiled import exp_in_place
from dimetric._arrays.namespaces import Array
from dimetric.blocks.block import Block
from dimetric.blocks.source import Source
from dimetric.objectives.objective import SoftMinimum
from dimetric.objectives.references.objective import ReferenceObjective
from dimetric.objectives.references.references import BlockRows, References, Tile
from dimetric.objectives.references.sums import MetPairs, Sums
from dimetric.objectives.softmin import SoftminObjective

MAX_EXPONENT = 700.0  # e^-700 is a normal number


class DissimilarPairs:
    """Counts pairs of different classes, as a rule does."""

    def n_terms(self, rows: Any, columns: Any) -> float:
        """Return the number of pairs, or the sum of their weights."""
        w, v = (np.ones(len(s)) if s.weights is None else s.weights for s in (rows, columns))
        n_classes = int(columns.labels[-1]) + 1
        of_class = np.bincount(columns.labels, v, minlength=n_classes)
        return float(np.sum(w * (np.sum(of_class) - of_class[rows.labels])))

    def infimum(self, rows: Any, columns: Any) -> float:
        """Return -inf, because the minimum has no known bound."""
        return -np.inf


class ReferenceSoftmin(ReferenceObjective, SoftMinimum):
    """The smooth minimum over all pairs of a row and a reference of another class.

    Pairs of identical samples are ignored. Parameters are those of :class:`ReferenceObjective`.
    """

    def __init__(
        self,
        source: Source,
        references: References,
        sample: SoftminObjective,
        projection: np.ndarray,
    ) -> None:
        rule, given = DissimilarPairs(), (source, references, sample, projection)
        super().__init__(*given, rule)  # type: ignore[arg-type]
        self._source = source.with_extra(identical_pairs, self._references)
        identical = self._source.reduce(weight_of_identical, self._references, numbered=True)
        # With all rows as references, each pair is counted twice.
        self.n_pairs = (self.n_terms - float(identical)) / 2
        self.n_terms, self.infimum = 1.0, -np.inf

    def smallest_squared_distance_at(self, L: Array) -> float:
        """Return the smallest squared distance between dissimilar samples under a map."""
        A = self._of_samples(L)
        least = self._source.reduce(smallest_of_block, self._references, A, numbered=True)
        return float(least.value)

    def smallest_squared_distance(self, Z: Array) -> float:
        """Raise, because the mapped points are not all rows."""
        raise NotImplementedError("Use smallest_squared_distance_at.")

    def _sums(self, L: Array, theta: np.ndarray, of: str) -> Sums:
        A, mu = self._of_samples(L), float(theta[0])
        part = self._source.reduce(softmin_of_block, self._references, A, mu, of, numbered=True)
        value = part.least - mu * float(np.log(part.total / (2 * self.n_pairs)))
        return Sums(value, part.gradient / part.total, 0.0)


@dataclass(frozen=True)
class Smallest:
    """The smallest of several numbers. The sum of two is the smaller one."""

    value: float

    def __add__(self, other: "Smallest") -> "Smallest":
        return Smallest(min(self.value, other.value))


@dataclass(frozen=True)
class SoftminPart:
    """Sums of weights of a block, relative to its smallest squared distance."""

    least: float
    total: float
    gradient: np.ndarray
    mu: float

    def __add__(self, other: "SoftminPart") -> "SoftminPart":
        """Return the sums of both blocks, relative to the smaller distance."""
        least = min(self.least, other.least)
        if least == np.inf:
            return self
        a, b = (float(np.exp((least - part.least) / self.mu)) for part in (self, other))
        total = a * self.total + b * other.total
        return SoftminPart(least, total, a * self.gradient + b * other.gradient, self.mu)


def identical_pairs(block: Block, references: References) -> np.ndarray:
    """Return pairs of a row and an identical reference of another class, of shape (p, 2)."""
    rows = references.meet(block)
    places: dict[bytes, list[int]] = {}
    for j, reference in enumerate(references.X + 0.0):  # -0.0 becomes 0.0
        places.setdefault(reference.tobytes(), []).append(j)
    labels, row_labels = np.asarray(references.side.labels), np.asarray(rows.side.labels)
    pairs = [
        (i, j)
        for i, row in enumerate(rows.X + 0.0)
        for j in places.get(row.tobytes(), ())
        if labels[j] != row_labels[i]
    ]
    return np.array(pairs, dtype=np.int64).reshape(-1, 2)


def weight_of_identical(block: Block, references: References) -> float:
    """Return the number of pairs of identical samples, or the sum of their weights."""
    rows, (i, j) = references.meet(block), block.extra.T
    if rows.side.weights is None or references.side.weights is None:
        return float(len(i))
    return float(rows.side.weights[i] @ references.side.weights[j])


def _hidden(D: np.ndarray, tile: Tile, identical: np.ndarray) -> np.ndarray:
    """Set squared distances of pairs that do not count to infinity, in place."""
    np.maximum(D, 0, out=D)
    for rows, members in tile.runs:
        D[rows, members] = np.inf
    here = identical[(identical[:, 0] >= tile.first) & (identical[:, 0] < tile.first + len(D))]
    D[here[:, 0] - tile.first, here[:, 1]] = np.inf
    return D


def smallest_of_block(block: Block, references: References, L: np.ndarray) -> Smallest:
    """Return the smallest squared distance of a block, computed from differences.

    Matrix products find the candidates. Their rounding errors are bounded.
    """
    rows = references.meet(block)
    pairs = MetPairs(rows, L, "value", np.float64)
    norms = max(float(np.max(np.einsum("ij,ij->i", A, A), initial=0)) for A in (pairs.Z, pairs.R))
    margin = 4 * (4 + L.shape[0]) * float(np.finfo(np.float64).eps) * norms
    found = [np.inf]

    def weigh(D: np.ndarray, tile: Tile) -> tuple[float, np.ndarray, None, float]:
        _hidden(D, tile, block.extra)
        low = float(np.min(D, initial=np.inf))
        if low < np.inf and low <= min(found) + margin:
            i, j = np.nonzero(low + margin >= D)
            difference = pairs.Z[tile.first + i] - pairs.R[j]
            found.append(float(np.min(np.einsum("ij,ij->i", difference, difference))))
        return 0.0, D, None, 0.0

    pairs.sums(weigh)
    return Smallest(min(found))


def softmin_of_block(
    block: Block, references: References, L: np.ndarray, mu: float, of: str
) -> SoftminPart:
    """Return the sums of the weights of a block's pairs. See :func:`pair_sums` for `of`."""
    rows = references.meet(block)

    def shifted(D: np.ndarray, tile: Tile) -> np.ndarray:
        """Reduce squared distances by mu times the logarithm of the weights of the pair."""
        D = _hidden(D, tile, block.extra)
        if tile.rows.weights is not None and tile.columns.weights is not None:
            D -= mu * np.log(tile.rows.weights)[:, None]
            D -= mu * np.log(tile.columns.weights)
        return D

    least = _smallest_shifted(rows, L, shifted)

    def weigh(D: np.ndarray, tile: Tile) -> tuple[float, np.ndarray, None, float]:
        W = shifted(D, tile)
        is_hidden = np.isinf(W)
        np.subtract(least, W, out=W)
        W /= mu
        exp_in_place(np.maximum(W, -MAX_EXPONENT, out=W), W.shape[1])
        W[is_hidden] = 0
        return float(W.sum()), W, None, 0.0

    if least == np.inf:
        empty = MetPairs(rows, L, of, np.float64).sums(lambda D, _: (0.0, 0 * D, None, 0.0))
        return SoftminPart(np.inf, 0.0, 0 * empty.gradient, mu)
    sums = MetPairs(rows, L, of, np.float64).sums(weigh)
    return SoftminPart(least, sums.loss, sums.gradient, mu)


def _smallest_shifted(rows: BlockRows, L: np.ndarray, shifted: Any) -> float:
    """Return the smallest number that a function makes of the squared distances."""
    found = [np.inf]

    def weigh(D: np.ndarray, tile: Tile) -> tuple[float, np.ndarray, None, float]:
        found.append(float(np.min(shifted(D, tile), initial=np.inf)))
        return 0.0, D, None, 0.0

    MetPairs(rows, L, "value", np.float64).sums(weigh)
    return min(found)
