r"""LMNN's objective over rows and references.

The targets of a row are the nearest references of its class, and its impostors are references of
other classes. See :mod:`dimetric.objectives.margins.objective` for the terms.
"""

from copy import copy
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from dimetric._arrays.namespaces import Array
from dimetric.blocks.block import Block
from dimetric.blocks.source import Source
from dimetric.objectives.margins.hinge import hinge
from dimetric.objectives.margins.objective import MarginObjective
from dimetric.objectives.objective import Smoothable
from dimetric.objectives.references.neighbors import nearest_references, scatter_to
from dimetric.objectives.references.objective import ReferenceObjective
from dimetric.objectives.references.references import BlockRows, References, Tile
from dimetric.objectives.references.sums import MetPairs, Sums

SPARSE_FRACTION = 1 / 32  # of impostors in a tile, up to which sparse products are faster


@dataclass(frozen=True)
class MarginTerms:
    """The weights of the terms. It is sent to all blocks.

    Attributes
    ----------
    pull, push : float
        Weights of the two sums.
    width : float
        Width of the smooth part of the hinge.
    """

    pull: float
    push: float
    width: float

    def n_terms(self, rows: Any, columns: Any) -> float:
        """Return the number of rows, or the sum of their weights."""
        return float(rows.total_weight())

    def infimum(self, rows: Any, columns: Any) -> float:
        """Return -inf, because a finite map attains the minimum."""
        return -np.inf


class ReferenceMargins(ReferenceObjective, Smoothable):
    """LMNN's objective over all rows of a source and references.

    Parameters
    ----------
    source, references, sample, projection
        See :class:`ReferenceObjective`. The sample is the objective of the references alone.
    n_neighbors : int
        Number of targets of each row.
    """

    has_bounds = False  # rows may vary where references do not
    sample: MarginObjective

    def __init__(
        self,
        source: Source,
        references: References,
        sample: MarginObjective,
        projection: float,
        n_neighbors: int,
    ) -> None:
        self.mu, self._k = sample.mu, n_neighbors
        terms = MarginTerms(1 - sample.mu, sample.mu, 0.0)
        super().__init__(source, references, sample, projection, terms)
        self.infimum = -np.inf
        self._find_targets(None)

    def _find_targets(self, L: np.ndarray | None) -> None:
        """Choose the targets of all rows by a map of the samples, or without a map."""
        of_block = partial(nearest_references, k=self._k)
        self._source = self._source.with_extra(of_block, self._references, L)
        self._pulls: np.ndarray | None = None

    def with_targets_by(self, L: np.ndarray) -> "ReferenceMargins":
        """Return the objective with targets chosen by a map of the points."""
        other = copy(self)
        other._find_targets(self._of_samples(L))
        return other

    def smoothed(self, width: float) -> "ReferenceMargins":
        """Return the same objective with another width of the hinges' smooth part."""
        other = copy(self)
        other.rule = MarginTerms(self.rule.pull, self.rule.push, width)
        return other

    def with_points(self, X: Array, *, single: bool = False) -> "ReferenceMargins":
        """Raise, because the points are not all rows."""
        raise NotImplementedError("The rows of a source cannot be replaced.")

    def pull_matrix(self) -> np.ndarray:
        r"""Return P such that :math:`\langle P, M \rangle` is the mean pull under a metric M."""
        if self._pulls is None:
            S = self._source.reduce(pull_scatter, self._references, numbered=True)
            self._pulls = self._of_points(self._of_points(S).T)
        return np.asarray(self.rule.pull * self._pulls / self.n_terms)

    def _statistic(self) -> Any:
        return margin_sums


def pull_scatter(block: Block, references: References) -> np.ndarray:
    """Return the sum of outer products of the differences between rows and their targets."""
    rows = references.meet(block)
    return scatter_to(rows, block.extra[rows.kept])


def margin_sums(
    block: Block,
    references: References,
    L: np.ndarray,
    theta: np.ndarray,
    terms: MarginTerms,
    of: str,
    dtype: Any = None,
) -> Sums:
    """Return the sums of pulls and pushes of a block's rows, whose extra holds their targets.

    In place of the gradient with respect to theta, the sum of the slopes of the hinges is returned.
    See :func:`~dimetric.objectives.references.sums.pair_sums` for the parameters.
    """
    rows = references.meet(block)
    pairs = MetPairs(rows, L, of, dtype)
    weigh = _MarginWeights(rows, block.extra[rows.kept], terms)
    return pairs.sums(weigh)


class _MarginWeights:
    """Turns squared distances into the weights of pulls and pushes."""

    def __init__(self, rows: BlockRows, targets: np.ndarray, terms: MarginTerms) -> None:
        self._rows, self._targets, self._terms = rows, targets, terms

    def __call__(self, D: np.ndarray, tile: Tile) -> tuple[float, Any, None, float]:
        terms, width = self._terms, self._terms.width
        targets = self._targets[tile.first : tile.first + len(D)]
        exists = targets >= 0
        near = np.maximum(np.take_along_axis(D, np.maximum(targets, 0), axis=1), 0)
        thresholds = np.where(exists, 1 + near, -np.inf).astype(D.dtype)
        for run, members in tile.runs:
            D[run, members] = np.inf
        is_close = thresholds.max(axis=1, keepdims=True) + D.dtype.type(width / 2) > D
        places = np.flatnonzero(is_close)
        i, j = np.divmod(places, D.shape[1])
        # A row for each target, because operations on long rows are faster.
        t = thresholds.T.take(i, axis=1) - D.ravel()[places]
        value, slope = hinge(np.maximum(t, -1 - width), width)
        weights = None if tile.rows.weights is None else tile.rows.weights.take(i)
        if tile.columns.weights is not None and weights is not None:
            weights = weights * tile.columns.weights.take(j)
        if weights is not None:
            value, slope = value * weights, slope * weights
        slopes = np.stack([np.bincount(i, each, minlength=len(D)) for each in slope], axis=1)
        pulls = np.full(near.shape, terms.pull)
        if tile.rows.weights is not None:
            pulls *= tile.rows.weights[:, None]
        loss = float(np.sum(pulls * near, where=exists))
        loss += terms.push * float(value.sum(dtype=np.float64))
        row, rank = np.nonzero(exists)
        W = sparse.csr_array(
            (
                np.concatenate(
                    [-terms.push * slope.sum(axis=0), (pulls + terms.push * slopes)[row, rank]]
                ).astype(D.dtype),
                (np.concatenate([i, row]), np.concatenate([j, targets[row, rank]])),
            ),
            shape=D.shape,
        )
        if W.nnz > SPARSE_FRACTION * D.size:
            W = W.toarray(out=D)
        return loss, W, None, terms.push * float(slopes.sum())
