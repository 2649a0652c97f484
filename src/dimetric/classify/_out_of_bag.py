"""The votes of an ensemble, chosen by samples that its learners were not fitted to."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from dimetric.classify._softmax import (
    MIN_PROBABILITY,
    left_out_rows,
    squared_distances_from,
    weighted_sums,
)
from dimetric.neighbors.queries import Queries

# Temperatures that are tried, in units of the mean squared distance.
TEMPERATURES = 2.0 ** np.arange(-12, 4)
# Up to 1024 samples, all of them are used. Of more samples, 2**20 / n are.
MAX_DISTANCES_PER_MEMBER = 2**20
EM_ITERATIONS = 30
SAMPLES_OF_MEAN = 64  # samples whose distances estimate the mean squared distance


@dataclass(frozen=True)
class Votes:
    """The temperature and the weights of learners, and the probabilities that chose them."""

    temperature: float
    learner_weights: np.ndarray  # (n_learners,) sum to 1
    member_temperatures: np.ndarray  # (n_members,) the temperature times the unit of the member
    member_weights: np.ndarray  # (n_members,) sum to 1
    rows: np.ndarray  # (m,) row numbers of samples
    probabilities: np.ndarray  # (m, n_classes)
    is_out_of_bag: bool  # whether only members that left a sample out classify it

    def accuracy(self, codes: np.ndarray, weights: np.ndarray | None) -> float:
        """Return the weighted accuracy of the probabilities, given the classes of all samples."""
        is_correct = np.argmax(self.probabilities, axis=1) == codes[self.rows]
        return float(
            np.average(is_correct, weights=None if weights is None else weights[self.rows])
        )


def chosen_votes(
    members: list[Queries],
    kinds: np.ndarray,
    left_out: list[np.ndarray],
    codes: np.ndarray,
    indicators: sparse.csr_array,
    temperature: float | None = None,
    weights: np.ndarray | None = None,
) -> Votes:
    """Choose the temperature by the log loss of equal weights, and then the weights of learners.

    The probabilities of a sample are the means over the members that left it out. A sample does
    not vote for itself.

    Parameters
    ----------
    members : list of Queries
        Samples mapped by each member. Their points are the samples themselves.
    kinds : ndarray of shape (n_members,)
        The number of the learner of each member.
    left_out : list of ndarray of shape (n,)
        Which samples each member left out. If these are none, all members classify all samples.
    codes : ndarray of shape (n,)
        Classes of the samples.
    indicators : sparse array of shape (n, n_classes)
        Weights of the samples in the columns of their classes.
    temperature : float, optional
        The temperature, if it is given.
    weights : ndarray of shape (n,), optional
        Weights of the samples in the loss.

    Examples
    --------
    >>> Z, codes = np.array([[0.0], [1.0], [10.0], [11.0]]), np.array([0, 0, 1, 1])
    >>> out, table = [codes == 1], sparse.csr_array(np.eye(2)[codes])
    >>> votes = chosen_votes([Queries(Z, None)], np.zeros(1, int), out, codes, table)
    >>> votes.rows, votes.learner_weights
    (array([2, 3]), array([1.]))
    """
    rows = left_out_rows(len(codes), MAX_DISTANCES_PER_MEMBER)
    is_out_of_bag = any(np.any(each[rows]) for each in left_out)
    if not is_out_of_bag:
        left_out = [np.ones_like(each) for each in left_out]
    units = np.array([mean_squared_distance(each) for each in members])
    grid = TEMPERATURES if temperature is None else np.array([temperature])
    n_kinds = int(np.max(kinds)) + 1
    total = np.zeros((n_kinds, len(grid), len(rows), indicators.shape[1]))
    counts = np.zeros((n_kinds, len(rows)))
    for queries, kind, unit, is_out in zip(members, kinds, units, left_out, strict=True):
        for part, squares in squared_distances_from(queries, rows[is_out[rows]]):
            places = np.searchsorted(rows, part)
            counts[kind, places] += 1
            for sums, T in zip(total[kind], grid * unit, strict=True):
                sums[places] += fractions(weighted_sums(squares, indicators, float(T)))
    known = np.any(counts > 0, axis=0)
    rows, total, counts = rows[known], total[:, :, known], counts[:, known]
    of_rows = np.ones(len(rows)) if weights is None else weights[rows]
    own = total[:, :, np.arange(len(rows)), codes[rows]]
    losses = -np.log(np.maximum(np.sum(own, axis=0) / np.sum(counts, axis=0), MIN_PROBABILITY))
    losses = np.average(losses, axis=1, weights=of_rows)
    best = int(np.flatnonzero(losses == np.min(losses))[-1])  # the largest of equally good ones
    means = total[:, best] / np.maximum(counts, 1)[:, :, None]
    learner_weights = mixture_weights(
        own[:, best] / np.maximum(counts, 1), counts > 0, of_rows / np.sum(of_rows)
    )
    shares = learner_weights[:, None] * (counts > 0)
    P = np.sum(shares[:, :, None] * means, axis=0) / np.sum(shares, axis=0)[:, None]
    member_weights = (learner_weights / np.bincount(kinds))[kinds]
    T = float(grid[best])
    return Votes(T, learner_weights, T * units, member_weights, rows, P, is_out_of_bag)


def mixture_weights(p: np.ndarray, known: np.ndarray, weights: np.ndarray) -> np.ndarray:
    r"""Return weights of learners that increase the likelihood of a mixture of their votes.

    .. math:: \max_w \sum_i s_i \log \sum_l w_l\, p_{li}, \qquad \sum_l w_l = 1

    The EM algorithm starts with equal weights. It stops early, because the sum is over few samples.

    Parameters
    ----------
    p : ndarray of shape (n_learners, n)
        Probabilities of the classes of the samples.
    known : ndarray of shape (n_learners, n)
        Which probabilities are known. Others are taken to be those of the mixture.
    weights : ndarray of shape (n,)
        Weights s of the samples, which sum to 1.

    Examples
    --------
    >>> p = np.array([[0.9, 0.8, 0.9], [0.5, 0.5, 0.5]])
    >>> mixture_weights(p, p > 0, np.full(3, 1 / 3)).round(2)
    array([1., 0.])
    """
    p = np.maximum(p, MIN_PROBABILITY)
    w = np.full(len(p), 1 / len(p))
    for _ in range(EM_ITERATIONS):
        shares = w[:, None] * known
        mixture = np.sum(shares * p, axis=0) / np.sum(shares, axis=0)
        w = w * (np.where(known, p / mixture, 1.0) @ weights)
        w = w / np.sum(w)
    return w


def fractions(votes: np.ndarray) -> np.ndarray:
    """Return the votes of each row, divided by their sum."""
    return votes / np.sum(votes, axis=1, keepdims=True)


def mean_squared_distance(queries: Queries) -> float:
    """Return the mean squared distance from some of the samples to all others, or 1 if it is 0.

    Examples
    --------
    >>> mean_squared_distance(Queries(np.array([[0.0], [1.0], [3.0]]), None)).__round__(2)
    4.67
    """
    rows = left_out_rows(queries.n, SAMPLES_OF_MEAN * queries.n)
    squares = np.concatenate([part for _, part in squared_distances_from(queries, rows)])
    return float(np.mean(squares[np.isfinite(squares)])) or 1.0
