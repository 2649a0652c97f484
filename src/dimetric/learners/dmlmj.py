"""Distance metric learning through maximisation of the Jeffrey divergence."""

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np

from dimetric._arrays.namespaces import Array, asarray_like, eps, namespace
from dimetric._arrays.validation import rescale_for_squares
from dimetric._compat import Interval, Progress, StrOptions
from dimetric._warnings import warn
from dimetric.learners._fitting.ordering import in_canonical_order
from dimetric.learners._fitting.references import (
    REFERENCE_PARAMETER,
    ReferenceLabels,
    ReferenceMixin,
)
from dimetric.learners._identity_mix import MIX_PARAMETER
from dimetric.learners._input import CLASS_PARAMETERS
from dimetric.learners._linear import LinearMetric
from dimetric.linalg.sample_span import span_coordinates
from dimetric.linalg.scatter import rounding_bounds
from dimetric.linalg.spectral import top_ratio, whitening
from dimetric.neighbors.approximate.log import SearchLog
from dimetric.neighbors.approximate.search import SEARCH_PARAMETER
from dimetric.neighbors.roles import friends_and_enemies
from dimetric.supervision._weights import ClassWeight
from dimetric.supervision.labels import Labels, Supervision, checked_labels

# Limits of the automatic shrinkage. They were chosen by the accuracy of k-NN on held-out samples.
MIN_ALPHA, MAX_ALPHA = 0.1, 0.7


class DMLMJ(ReferenceMixin, LinearMetric):
    r"""Distance metric learning through maximisation of the Jeffrey divergence (DMLMJ).

    .. math:: \max_L \mathrm{JF}(\mathcal{N}(0, L \Sigma_S L^T), \mathcal{N}(0, L \Sigma_D L^T))
              = \tfrac12 \sum_{i \le k} (\lambda_i + 1/\lambda_i) - k

    .. math:: \Sigma_S = \frac{1}{n} \sum_i \frac{w_i}{|F_i|} \sum_{j \in F_i}
              (x_i - x_j)(x_i - x_j)^T, \quad
              \Sigma_D = \frac{1}{n} \sum_i \frac{w_i}{|E_i|} \sum_{j \in E_i}
              (x_i - x_j)(x_i - x_j)^T

    L maximises the Jeffrey divergence between two Gaussians: one of the differences between
    samples and their friends, and one of the differences between samples and their enemies. The
    friends :math:`F_i` of a sample are the `n_neighbors` nearest other samples of its class. Its
    enemies :math:`E_i` are the `n_neighbors` nearest samples of other classes. Neighbours that are
    tied at the largest of these distances share the remaining places: each has the same weight, and
    all weights sum to `n_neighbors`. Samples without friends (or enemies) are left out of the sum
    and of n. The rows of L are the eigenvectors of :math:`\Sigma_S^{-1} \Sigma_D` with the largest
    :math:`\lambda + 1/\lambda`, scaled so that :math:`L \Sigma_S L^T = I` [1]_. The weights
    :math:`w_i` are the `sample_weight` of :meth:`fit`, by default 1, and n is the sum of the
    weights. They do not affect the choice of friends and enemies.

    With n_features rows, M is then :math:`\Sigma_S^{-1}` and does not depend on the enemies. So by
    default, each row is multiplied by :math:`\sqrt{\lambda}`, and M is
    :math:`\Sigma_S^{-1} \Sigma_D \Sigma_S^{-1}`: directions in which enemies are far, relative to
    friends, have a larger weight.

    Parameters
    ----------
    n_components : int or None, default=None
        Number of rows k of L. None stands for ``n_features``, or for the rank of
        :math:`\Sigma_S` if `alpha` is 0.
    n_neighbors : int, default=3
        Number of friends and of enemies. If a class is too small, a warning is issued and its
        samples have fewer friends.
    alpha : float in [0, 1) or "auto", default="auto"
        Shrinkage: each covariance is replaced by
        :math:`(1 - \alpha) \Sigma + \alpha\, \mathrm{tr}(\Sigma) / d\, I`. Without
        shrinkage, directions in which friends hardly differ, such as pixels that are almost
        constant, would dominate :math:`\Sigma_S^{-1}`. "auto" is the number of features divided by
        the number of samples, but at least 0.1 and at most 0.7. With 0, directions in which no
        friends differ are dropped.
    weighting : {"ratio"} or None, default="ratio"
        Weights of the rows of L. "ratio" multiplies the rows by :math:`\sqrt{\lambda}`. None is the
        published method, in which :math:`L \Sigma_S L^T = I`.
    search : ApproximateNeighbors, neighbour model or None, default=None
        Approximate search for friends and enemies: an
        :class:`~dimetric.neighbors.ApproximateNeighbors`, or an object like scikit-learn's
        ``KNeighborsTransformer``. Tied neighbours then do not share places. ``metadata()`` contains
        the `search_recall`. None searches exactly.
    identity_mix : float in [0, 1], "auto" or None, default=None
        Weight a of the identity in the metric, :math:`(1 - a) M + a\, \mathrm{tr}(M) / d\, I`,
        or within the span of L if `n_components` is set.
        "auto" chooses a on held-out samples. None stands for 0.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, which multiply the sample weights. "balanced" gives all classes the
        same total weight.
    unlabelled : float, str or None, default=None
        Value of `y` that marks unlabelled samples, often -1. These samples are ignored.
    n_references : int or None, default=None
        Number of references: a fixed random sample of the samples, by class. Friends and enemies
        are then references, so the time grows with ``n_samples * n_references``. Of references at
        equal distance, the first are chosen. None stands for all samples, or for 4,000 references
        if X comes in blocks.

    Attributes
    ----------
    components_ : array of shape (n_components, n_features)
        The map L.
    offset_ : array of shape (n_features,)
        Zeros.
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    n_features_in_ : int
        Number of features. If X has feature names, they are in ``feature_names_in_``.

    Notes
    -----
    ``metadata()`` contains the divergence as `final_objective`, and `accumulated_eigenvalues`, the
    fraction of the sum of all :math:`\lambda + 1/\lambda` that the k rows keep. `reg` is the value
    of `alpha`.

    References
    ----------
    .. [1] B. Nguyen, C. Morell, B. De Baets, "Supervised distance metric learning through
       maximization of the Jeffrey divergence", Pattern Recognition 64, 2017.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True)
    >>> facts = DMLMJ(n_components=2).fit(X / X.std(axis=0), y).metadata()
    >>> round(facts["final_objective"], 1), round(facts["accumulated_eigenvalues"], 3)
    (8.1, 0.45)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "alpha": [Interval(Real, 0, 1, closed="left"), StrOptions({"auto"})],
        "weighting": [StrOptions({"ratio"}), None],
        **SEARCH_PARAMETER,
        **MIX_PARAMETER,
        **CLASS_PARAMETERS,
        **REFERENCE_PARAMETER,
    }
    _accepts_weights = True
    _maximises = True
    _min_classes = 2

    def __init__(
        self,
        n_components: int | None = None,
        *,
        n_neighbors: int = 3,
        alpha: float | str = "auto",
        weighting: str | None = "ratio",
        search: Any = None,
        identity_mix: float | str | None = None,
        class_weight: ClassWeight = None,
        unlabelled: float | str | None = None,
        n_references: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.alpha = alpha
        self.weighting = weighting
        self.search = search
        self.identity_mix = identity_mix
        self.class_weight = class_weight
        self.unlabelled = unlabelled
        self.n_references = n_references

    def _fit(self, X: Array, supervision: Supervision | None, progress: Progress) -> dict[str, Any]:
        X, supervision = self._met_references(X, supervision)
        labels = checked_labels(supervision)
        d = X.shape[1]
        k = d if self.n_components is None else int(self.n_components)
        if k > d:
            raise ValueError(f"n_components={k} must be at most n_features={d}.")
        X, factor = rescale_for_squares(X)
        d_all = self.n_features_in_  # more than d if X holds coordinates of sparse samples
        n = labels.n_rows if isinstance(labels, ReferenceLabels) else X.shape[0]
        alpha = min(MAX_ALPHA, max(MIN_ALPHA, d_all / n))
        alpha = alpha if self.alpha == "auto" else float(self.alpha)
        search = SearchLog(self.search)
        S, D, lifted = self._covariances(X, labels, k, alpha, factor, search)
        T = _whitening(S, X, alpha)
        values, L, _ = top_ratio(D, T, T.shape[0], is_root=alpha == 0)
        scores = _scores(values)
        xp = namespace(scores)
        if self.weighting == "ratio":
            L = xp.sqrt(xp.clip(values, 0))[:, None] * L
        best = xp.argsort(scores, descending=True, stable=True)
        if self.n_components is not None and L.shape[0] < k:
            warn(
                f"Friends differ in only {L.shape[0]} direction(s), so {self._name} returns "
                f"{L.shape[0]} component(s) instead of {k}. Set alpha > 0 to get more components.",
            )
        best = best[: min(k, L.shape[0])]
        self.components_ = asarray_like(lifted(xp.take(L, best, axis=0)) * factor, X)
        self.offset_ = asarray_like(np.zeros(d), X)
        kept, total = float(xp.sum(xp.take(scores, best))), float(xp.sum(scores))
        if alpha > 0:  # both covariances are multiples of I in the directions that Z lacks
            ratio = xp.reshape(xp.linalg.trace(D) / xp.linalg.trace(S), (1,))
            total += (d_all - S.shape[1]) * float(_scores(ratio)[0])
        return {
            "n_components": best.shape[0],
            "accumulated_eigenvalues": kept / total,
            "final_objective": kept / 2 - best.shape[0],
            "reg": alpha,
            **(labels.metadata() if isinstance(labels, ReferenceLabels) else search.metadata()),
        }

    def _covariances(
        self, X: Array, labels: Labels, k: int, alpha: float, factor: float, search: SearchLog
    ) -> tuple[Array, Array, Callable[[Array], Array]]:
        """Return both covariances, or roots of them if alpha is 0, and a function that lifts maps.

        X contains samples that were multiplied by `factor`. The function converts a map of the
        coordinates of the covariances to a map of the features.
        """
        d_all, is_root = self.n_features_in_, alpha == 0
        if isinstance(labels, ReferenceLabels):
            found = [
                labels.neighbor_scatter(self.n_neighbors, role, root=is_root, factor=factor)
                for role in ("friends", "enemies")
            ]
            S, D = (_covariance(each.spread, each.weight, d_all, alpha) for each in found)
            return S, D, lambda L: L
        X, labels, _ = in_canonical_order(X, labels)
        codes, weights = labels.codes, labels.weights
        m = self.n_neighbors
        near, far = friends_and_enemies(X, codes, m, m, share_ties=True, search=search)
        Z, lifted = span_coordinates(X, k)
        S, D = (
            _covariance(
                role.difference_scatter(Z, weights, root=is_root),
                float(np.sum(role.counts > 0 if weights is None else weights[role.counts > 0])),
                d_all,
                alpha,
            )
            for role in (near, far)
        )
        return S, D, lifted


def _covariance(scatter: Array, n: float, d: int, alpha: float) -> Array:
    """Return the covariance of n differences from neighbours, or a root R if alpha is 0.

    The root avoids the rounding errors of squaring. Shrinkage makes it unnecessary, because no
    eigenvalue is then close to 0. The scatter is that of samples in at most d coordinates, or its
    root.
    """
    xp, n = namespace(scatter), n or 1.0
    if alpha == 0:
        return scatter / n**0.5
    S = scatter / n
    eye = xp.eye(S.shape[0], dtype=S.dtype, device=S.device)
    return (1 - alpha) * S + alpha / d * xp.linalg.trace(S) * eye


def _whitening(S: Array, X: Array, alpha: float) -> Array:
    by_feature = S.shape[1] == X.shape[1]
    if alpha > 0:
        T, _ = whitening(S, is_root=False, by_feature=by_feature, triangular=True)
    else:
        rounding = rounding_bounds(X)
        rounding = rounding if by_feature else namespace(rounding).max(rounding)
        T, _ = whitening(S, is_root=True, by_feature=by_feature, rounding=rounding)
    if T.shape[0] == 0:
        raise ValueError(
            "Every sample has distance 0 from its friends or has no friends, so the covariance "
            "of differences from friends is zero. Increase n_neighbors or remove duplicates."
        )
    return T


def _scores(values: Array) -> Array:
    """Return lambda + 1/lambda, with eigenvalues clipped from below to the rounding error."""
    xp = namespace(values)
    floor = values.shape[0] * eps(values) * (float(xp.max(values)) or 1.0)
    values = xp.clip(values, floor)
    return values + 1 / values
