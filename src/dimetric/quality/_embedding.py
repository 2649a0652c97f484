"""Scores of how well an embedding preserves neighbourhoods, ranks and distances of the data."""

from dataclasses import dataclass, field
from typing import Any

import array_api_compat as compat
import numpy as np

from dimetric._arguments import check_types
from dimetric._arrays.namespaces import Array, asarray_like, to_host
from dimetric.linalg.correlation import correlation, residual_variance
from dimetric.neighbors.metric_search import Metric
from dimetric.quality._distances import Distances, over_blocks
from dimetric.quality._input import checked_embedding, checked_labels, sampled_points
from dimetric.quality._point_scores import PointScores
from dimetric.quality._ranks import neighbor_order, ranks_in_order, ranks_of_nearest
from dimetric.quality._scores import (
    Scores,
    best_scale,
    jackknife_error,
    procrustes,
    scaled_stress,
    standard_error_of_mean,
    stress,
    with_scale,
)
from dimetric.quality._ties import TiedRanks, penalties


@dataclass(frozen=True, eq=False)
class EmbeddingQuality:
    """Scores of an embedding, as defined and returned by :func:`embedding_quality`.

    Attributes
    ----------
    n_neighbors : int
        Neighbourhood size k of the first five scores.
    trustworthiness, continuity, knn_preservation, lcmc : float
        Scores of the k nearest neighbours. The best value is 1, for lcmc 1 - k / (n - 1).
    neighborhood_hit : float or None
        Fraction of the k nearest neighbours in the embedding that have the label of the point.
        None without labels.
    r_nx_auc : float
        Score over all neighbourhood sizes, with most weight on small sizes. The best value is 1,
        and a random embedding has a value of about 0.
    stress, scaled_stress, residual_variance : float
        Scores of the distances. The best value is 0.
    shepard_correlation : float
        Correlation of the ranks of the distances. The best value is 1.
    procrustes : float or None
        Residual after the best rotation, reflection and scaling. The best value is 0. None if X
        holds distances.
    q_nx, r_nx : array of shape (n - 2,)
        Scores for each neighbourhood size 1, ..., n - 2.
    points : array of shape (n_points,)
        Row indices of the scored points.
    per_point : dict of str to array of shape (n_points,)
        Scores of each point, by name. Their mean is the overall score, except for
        ``scaled_stress``, where one scale is fitted to all points.
    standard_error : dict of str to float
        Standard errors of the scores, by name, caused by scoring only a sample of the points.
        ``procrustes`` has none, because it always uses all points.
    """

    n_neighbors: int
    trustworthiness: float
    continuity: float
    knn_preservation: float
    lcmc: float
    neighborhood_hit: float | None
    r_nx_auc: float
    stress: float
    scaled_stress: float
    shepard_correlation: float
    residual_variance: float
    procrustes: float | None
    q_nx: Array = field(repr=False)
    r_nx: Array = field(repr=False)
    points: Array = field(repr=False)
    per_point: dict[str, Array] = field(repr=False)
    standard_error: dict[str, float] = field(repr=False)

    def scores(self) -> dict[str, float]:
        """Return the scores that are not None, by name."""
        named = {name: getattr(self, name) for name in _SCORE_NAMES}
        return {name: value for name, value in named.items() if value is not None}


_SCORE_NAMES = (
    "trustworthiness",
    "continuity",
    "knn_preservation",
    "lcmc",
    "neighborhood_hit",
    "r_nx_auc",
    "stress",
    "scaled_stress",
    "shepard_correlation",
    "residual_variance",
    "procrustes",
)


@check_types
def embedding_quality(
    X: Array,
    Z: Array,
    *,
    n_neighbors: int = 5,
    y: Array | None = None,
    metric: Metric = "euclidean",
    metric_params: dict[str, Any] | None = None,
    sample_size: int | None = None,
    random_state: Any = None,
) -> EmbeddingQuality:
    r"""Compute the common quality scores of an embedding.

    The distance between points i and j is :math:`\delta_{ij}` in the data and :math:`d_{ij}` in the
    embedding. Point j is the :math:`r_{ij}`-th nearest neighbour of i in the data. The k nearest
    neighbours of i are :math:`N_k(i)` in the data and :math:`N'_k(i)` in the embedding.

    - ``trustworthiness`` [1]_ is :math:`1 - \frac{2}{nk(2n-3k-1)} \sum_i \sum_{j \in N'_k(i)}
      \max(0, r_{ij} - k)`. It is low if neighbours in the embedding are not neighbours in the data.
    - ``continuity`` [1]_ is the same with data and embedding exchanged. It is low if neighbours in
      the data are not neighbours in the embedding.
    - ``q_nx`` [2]_ at K is :math:`Q(K) = \frac{1}{nK} \sum_i |N_K(i) \cap N'_K(i)|`.
      ``knn_preservation`` is :math:`Q(k)`, and ``lcmc`` [3]_ is :math:`Q(k) - \frac{k}{n-1}`, the
      excess over the value of a random embedding.
    - ``r_nx`` at K is :math:`R(K) = \frac{(n-1)Q(K) - K}{n-1-K}`, and ``r_nx_auc`` [4]_ is the area
      under R on a logarithmic axis of K, :math:`\sum_K \frac{R(K)}{K} / \sum_K \frac 1K`.
    - ``stress`` is :math:`[\sum (\delta_{ij} - d_{ij})^2 / \sum \delta_{ij}^2]^{1/2}`.
      ``scaled_stress`` is the minimum of the stress over all scalings of Z.
    - ``residual_variance`` is :math:`1 - \rho^2`, where :math:`\rho` is Pearson's correlation of
      :math:`\delta` and d. ``shepard_correlation`` is Spearman's correlation of both.
    - ``procrustes`` is the sum of squared differences between X and the best rotation, reflection
      and scaling of Z. Both are centred, and X has norm 1.
    - ``neighborhood_hit`` is the fraction of :math:`j \in N'_k(i)` that have the label of i.

    Distances that agree up to rounding are tied, and all orders of tied neighbours are equally
    likely. So the scores do not depend on the order of the rows. If the ranks from a to b are tied,
    each of these neighbours belongs to :math:`N_k(i)` with probability
    :math:`p_{ij} = \min(1, \max(0, \frac{k-a+1}{b-a+1}))`, and to :math:`N'_k(i)` with
    :math:`p'_{ij}`. The number of common neighbours is :math:`\sum_j \min(p_{ij}, p'_{ij})`. The
    inner sum of the trustworthiness is :math:`\sum_j \max(0, p'_{ij} - p_{ij})\, e_{ij}`, where
    :math:`e_{ij}` is the mean of r - k over the tied ranks r > k. Labels count with the weight
    :math:`p'_{ij}`. If distances are tied in only one of the spaces, each score is its expectation
    over all orders.

    Memory is O(n) per core and time is O(n^2 log n), or O(sample_size n log n) with `sample_size`.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features), or (n_samples, n_samples)
        Data, dense or sparse, of any array-API namespace, or distances if precomputed. Euclidean
        distances are computed on the device of X, in float64.
    Z : array-like of shape (n_samples, n_components)
        Embedding.
    n_neighbors : int, default=5
        Neighbourhood size k, less than n_samples / 2.
    y : array-like of shape (n_samples,), optional
        Labels, for ``neighborhood_hit``.
    metric : str or callable, default="euclidean"
        Metric of X: ``"precomputed"``, or any metric of scikit-learn's ``pairwise_distances``.
    metric_params : dict, optional
        Parameters of the metric.
    sample_size : int, optional
        Score only this many random points, each against all others. By default, all points are
        scored.
    random_state : int, RandomState or None, default=None
        Random seed of the sample.

    Returns
    -------
    quality : EmbeddingQuality
        Overall scores, and scores of each point. Arrays are in the array namespace of X.

    References
    ----------
    .. [1] J. Venna, S. Kaski, "Neighborhood preservation in nonlinear projection methods: an
       experimental study", ICANN, 2001.
    .. [2] J. A. Lee, M. Verleysen, "Quality assessment of dimensionality reduction: rank-based
       criteria", Neurocomputing 72, 2009.
    .. [3] L. Chen, A. Buja, "Local multidimensional scaling for nonlinear dimension reduction,
       graph drawing, and proximity analysis", JASA 104, 2009.
    .. [4] J. A. Lee, D. H. Peluffo-Ordóñez, M. Verleysen, "Multi-scale similarities in stochastic
       neighbour embedding", Neurocomputing 169, 2015.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from dimetric import PCA
    >>> X, y = load_iris(return_X_y=True)
    >>> quality = embedding_quality(X, PCA(2).fit_transform(X), y=y)
    >>> for name, score in quality.scores().items():
    ...     print(f"{name:20}{score:.2f}")
    trustworthiness     0.98
    continuity          0.99
    knn_preservation    0.64
    lcmc                0.61
    neighborhood_hit    0.95
    r_nx_auc            0.69
    stress              0.04
    scaled_stress       0.04
    shepard_correlation 1.00
    residual_variance   0.00
    procrustes          0.02
    """
    X, Z, scale_ratio, k = checked_embedding(X, Z, n_neighbors, metric)
    n = X.shape[0]
    codes = None if y is None else checked_labels(y, X)
    points = sampled_points(n, sample_size, random_state)
    before, after = Distances(X, metric, metric_params), Distances(Z)
    scores_of = PointScores(before, after, points, k, codes)
    parts, common = [], np.zeros(n - 1)
    for part, common_in_block in over_blocks(scores_of, points, before):
        parts.append(part)
        common += common_in_block
    table = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    q, r = scores_of.rank_scores.curves(common, len(points))
    return EmbeddingQuality(
        n_neighbors=k,
        **_summary(table, n, k, scale_ratio, X),
        procrustes=None if metric == "precomputed" else procrustes(X, Z),
        q_nx=asarray_like(q, X),
        r_nx=asarray_like(r, X),
        points=before.index(points),
    )


@check_types
def trustworthiness(
    X: Array, Z: Array, *, n_neighbors: int = 5, metric: Metric = "euclidean"
) -> float:
    r"""Return only the trustworthiness of an embedding. See :func:`embedding_quality`.

    .. math:: 1 - \frac{2}{nk(2n-3k-1)} \sum_i \sum_{j \in N'_k(i)} \max(0, r_{ij} - k)

    Tied distances are treated as in :func:`embedding_quality`. Exchange X and Z to compute the
    continuity.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features), or (n_samples, n_samples)
        Data.
    Z : array-like of shape (n_samples, n_components)
        Embedding.
    n_neighbors : int, default=5
        Neighbourhood size k, less than n_samples / 2.
    metric : str or callable, default="euclidean"
        Metric of X.

    Returns
    -------
    trustworthiness : float
        Between 0 and 1.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(100, 5))
    >>> trustworthiness(X, X @ np.diag([1, 1, 1, 1, 0.9])) > trustworthiness(X, X[:, :2])
    True
    """
    X, Z, _, k = checked_embedding(X, Z, n_neighbors, metric)
    n, before, after = X.shape[0], Distances(X, metric), Distances(Z)

    def penalty(rows: np.ndarray) -> float:
        index, D, E = before.index(rows), before(rows), after(rows)
        roundings = before.rounding(rows, D), after.rounding(rows, E)
        if compat.is_numpy_array(D):
            ranks, tied = ranks_of_nearest(D, E, index, k, roundings)
        else:
            order, tied_before = neighbor_order(D, index, roundings[0])
            nearest, tied_after = neighbor_order(E, index, roundings[1])
            ranks, tied = ranks_in_order(nearest[:, :k], order, index), tied_before | tied_after
        excesses = np.maximum(to_host(ranks) - k, 0)
        return float(np.sum(excesses[~tied])) + tied_penalty(rows[tied])

    def tied_penalty(rows: np.ndarray) -> float:
        if not len(rows):
            return 0.0
        in_data, in_embedding = (
            TiedRanks(to_host(D), rows, each.rounding(rows, D))
            for each, D in ((each, each(rows)) for each in (before, after))
        )
        return float(np.sum(penalties(in_embedding, in_data, k)))

    total = sum(over_blocks(penalty, np.arange(n), before))
    return 1 - 2 * total / (n * k * (2 * n - 3 * k - 1))


def _summary(table: Scores, n: int, k: int, scale_ratio: float, X: Array) -> dict[str, Any]:
    """Return the overall scores, the scores of each point, and the standard errors."""
    pairs = table.pop("distances") / (n - 1)
    ranks = table.pop("ranks").mean(axis=0) / (n - 1)
    influence = table.pop("influence", np.zeros_like(pairs[:, 0]))
    scores: dict[str, Any] = {name: float(np.mean(values)) for name, values in table.items()}
    errors = {name: standard_error_of_mean(values, n) for name, values in table.items()}
    scores["lcmc"] = scores["knn_preservation"] - k / (n - 1)
    errors["lcmc"] = errors["knn_preservation"]
    for score, means in (
        (stress, with_scale(pairs, scale_ratio)),  # only the stress depends on the scale of Z
        (scaled_stress, pairs),
        (residual_variance, pairs),
    ):
        scores[score.__name__] = float(score(means.mean(axis=0)))
        errors[score.__name__] = jackknife_error(score, means, n)
    scores["shepard_correlation"] = float(correlation(ranks))
    spread = (ranks[2] * ranks[3]) ** 0.5  # 0 if all distances are equal
    errors["shepard_correlation"] = standard_error_of_mean(influence, n) / float(spread or 1)
    table["scaled_stress"] = stress(with_scale(pairs, best_scale(pairs.mean(axis=0))))
    scores.setdefault("neighborhood_hit", None)
    per_point = {name: asarray_like(values, X) for name, values in table.items()}
    return scores | {"per_point": per_point, "standard_error": errors}
