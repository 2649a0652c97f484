r"""Scores of a ranking for each query.

A ranking holds the positions of documents, best first, with a row for each query. Each function
returns an array of shape (n_queries,), with NaN for queries without a relevant document.
"""

from typing import Any

import numpy as np

from dimetric._arguments import check_types
from dimetric._arrays.namespaces import to_host
from dimetric.neighbors.ranking import ndcg_of_ranking
from dimetric.supervision import Relevance
from dimetric.supervision._groups import group_values


@check_types
def ndcg(ranking: Any, relevance: Relevance, k: int = 10) -> np.ndarray:
    r"""Return the normalised discounted cumulative gain of the first k documents, nDCG@k.

    .. math:: \frac{\sum_{r=1}^{k} g_r / \log_2 (r + 1)}{\sum_{r=1}^{k} g^*_r / \log_2 (r + 1)}

    :math:`g_r` is the grade of the document at rank r, and :math:`g^*_r` that of an ideal ranking.

    Parameters
    ----------
    ranking : array-like of shape (n_queries, n_ranked)
        Positions of documents, best first. Further columns than k are ignored.
    relevance : Relevance
        The relevant documents.
    k : int, default=10
        Number of documents that count.

    Returns
    -------
    scores : ndarray of shape (n_queries,)
        Scores from 0 to 1.

    Examples
    --------
    >>> relevance = Relevance([[0, 1], [1, 0]], n_queries=2, n_documents=3)
    >>> ndcg([[1, 0, 2], [1, 0, 2]], relevance).round(2)
    array([1.  , 0.63])
    """
    return ndcg_of_ranking(_checked_ranking(ranking, k), relevance, k)


@check_types
def mrr(ranking: Any, relevance: Relevance, k: int = 10) -> np.ndarray:
    """Return 1 / rank of the first relevant document among the first k, or 0 (MRR@k).

    See :func:`ndcg` for the parameters.

    Examples
    --------
    >>> relevance = Relevance([[0, 1], [1, 0]], n_queries=2, n_documents=3)
    >>> mrr([[1, 0, 2], [1, 0, 2]], relevance)
    array([1. , 0.5])
    """
    hits = _hits(ranking, relevance, k)
    first = np.argmax(hits, axis=1)
    return _with_nan(np.where(hits.any(axis=1), 1 / (first + 1), 0.0), relevance)


@check_types
def recall(ranking: Any, relevance: Relevance, k: int = 10) -> np.ndarray:
    """Return the share of a query's relevant documents that are among the first k (recall@k).

    See :func:`ndcg` for the parameters.

    Examples
    --------
    >>> relevance = Relevance([[0, 1], [0, 2]], n_queries=1, n_documents=3)
    >>> recall([[1, 0, 2]], relevance, k=2)
    array([0.5])
    """
    found = _hits(ranking, relevance, k).sum(axis=1)
    return _with_nan(found / np.maximum(relevance.n_relevant, 1), relevance)


@check_types
def precision(ranking: Any, relevance: Relevance, k: int = 10) -> np.ndarray:
    """Return the share of the first k documents that are relevant (precision@k).

    See :func:`ndcg` for the parameters.

    Examples
    --------
    >>> relevance = Relevance([[0, 1], [0, 2]], n_queries=1, n_documents=4)
    >>> precision([[1, 0, 2, 3]], relevance, k=4)
    array([0.5])
    """
    return _with_nan(_hits(ranking, relevance, k).sum(axis=1) / k, relevance)


@check_types
def average_precision(ranking: Any, relevance: Relevance, k: int = 10) -> np.ndarray:
    r"""Return the average precision of the first k documents, whose mean over queries is mAP@k.

    .. math:: \frac{1}{\min(k, n_{relevant})} \sum_{r=1}^{k} [\text{document } r \text{ is
              relevant}] \; \mathrm{precision@}r

    See :func:`ndcg` for the parameters. Choose k as the number of documents to rank all of them.

    Examples
    --------
    >>> relevance = Relevance([[0, 1], [0, 2]], n_queries=1, n_documents=3)
    >>> average_precision([[1, 0, 2]], relevance).round(3)
    array([0.833])
    """
    hits = _hits(ranking, relevance, k)
    precisions = np.cumsum(hits, axis=1) / np.arange(1, hits.shape[1] + 1)
    n_best = np.clip(relevance.n_relevant, 1, k)
    return _with_nan(np.sum(precisions * hits, axis=1) / n_best, relevance)


@check_types
def grouped_means(scores: np.ndarray, groups: Any) -> dict[Any, float]:
    """Return the mean score of each group of queries, sorted by group.

    Parameters
    ----------
    scores : array-like of shape (n_queries,)
        Scores. NaN values are left out.
    groups : array-like of shape (n_queries,)
        Group of each query.

    Examples
    --------
    >>> grouped_means([1.0, 0.5, np.nan, 0.0], ["a", "b", "b", "b"])
    {'a': 1.0, 'b': 0.25}
    """
    scores = np.asarray(scores, dtype=np.float64)
    values = group_values(groups, len(scores))
    known = ~np.isnan(scores)
    names, codes = np.unique(values[known], return_inverse=True)
    means = np.bincount(codes, scores[known]) / np.bincount(codes)
    return dict(zip(names.tolist(), means.tolist(), strict=True))


def _checked_ranking(ranking: Any, k: int) -> np.ndarray:
    """Return the ranking in host memory. Raise if a document occurs twice, or k is not positive."""
    if k < 1:
        raise ValueError(f"k={k} must be at least 1.")
    ranking = np.asarray(to_host(ranking))
    if ranking.ndim == 2:
        ordered = np.sort(ranking[:, :k], axis=1)
        twice = np.any((ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] >= 0), axis=1)
        if twice.any():
            raise ValueError(
                f"The ranking of {int(twice.sum())} queries contains a document twice, for example "
                f"that of query {int(np.argmax(twice))}."
            )
    return ranking


def _hits(ranking: Any, relevance: Relevance, k: int) -> np.ndarray:
    """Return whether each of the first k documents is relevant."""
    ranking = _checked_ranking(ranking, k)
    return relevance.grades_of(ranking[:, :k] if ranking.ndim == 2 else ranking) > 0


def _with_nan(scores: np.ndarray, relevance: Relevance) -> np.ndarray:
    """Return the scores with NaN for queries without a relevant document."""
    return np.where(relevance.n_relevant > 0, scores, np.nan)
