"""Average neighbourhood margin maximisation."""

from numbers import Integral
from typing import Any, ClassVar

import numpy as np

from dimetric._arrays.namespaces import Array, asarray_like, eps, namespace
from dimetric._arrays.validation import rescale_for_squares
from dimetric._compat import Interval, Progress, StrOptions
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
from dimetric.linalg.spectral import top_eigenvectors
from dimetric.neighbors.approximate.log import SearchLog
from dimetric.neighbors.approximate.search import SEARCH_PARAMETER
from dimetric.neighbors.roles import friends_and_enemies
from dimetric.supervision._weights import ClassWeight
from dimetric.supervision.labels import Labels, Supervision, checked_labels

# Squared weight of directions that add nothing to the margin, relative to the first direction. It
# was chosen by the accuracy of k-NN on held-out samples.
BASE_WEIGHT = 0.1


class ANMM(ReferenceMixin, LinearMetric):
    r"""Average neighbourhood margin maximisation (ANMM).

    .. math:: \max_{L L^T = I_k} \mathrm{tr}(L (S - C) L^T), \quad
              S = \sum_i \frac{w_i}{|E_i|} \sum_{j \in E_i} (x_i - x_j)(x_i - x_j)^T, \quad
              C = \sum_i \frac{w_i}{|F_i|} \sum_{j \in F_i} (x_i - x_j)(x_i - x_j)^T

    The friends :math:`F_i` of a sample are the `n_friends` nearest other samples of its class. Its
    enemies :math:`E_i` are the `n_enemies` nearest samples of other classes. Neighbours that are
    tied at the largest of these distances share the remaining places: each has the same weight, and
    the weights of all friends sum to `n_friends`, those of enemies to `n_enemies`. The trace is the
    margin after mapping: the mean squared distance to enemies minus the mean squared distance to
    friends, summed over the samples. The rows of L are the eigenvectors :math:`v_1, \dots, v_k` of
    S - C for its k largest eigenvalues :math:`\lambda_1 \ge \dots \ge \lambda_k`, and the sum of
    these eigenvalues is the largest margin [1]_. The weights :math:`w_i` are the `sample_weight` of
    :meth:`fit`, by default 1. They do not affect the choice of friends and enemies.

    ANMM finds a subspace, not a scale: with n_features rows, L is a rotation, and the distance is
    Euclidean. So by default, the rows are weighted by what they add to the margin:

    .. math:: L = \begin{pmatrix} \alpha_1 v_1 & \dots & \alpha_k v_k \end{pmatrix}^T, \quad
              \alpha_i^2 = \frac{\max(\lambda_i, 0)}{\lambda_1} + 0.1

    The constant 0.1 keeps some of the Euclidean distance in all directions.

    Parameters
    ----------
    n_components : int or None, default=None
        Number of components k. None stands for ``n_features``.
    n_friends : int, default=3
        Number of friends. If a class is too small, a warning is issued and its samples have fewer
        friends.
    n_enemies : int, default=3
        Number of enemies.
    weighting : {"margin"} or None, default="margin"
        Weights :math:`\alpha_i` of the rows of L. "margin" is the formula above. None gives
        orthonormal rows, as published. If no eigenvalue is positive, "margin" also gives
        orthonormal rows.
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
        The map L. Its rows are orthogonal, in descending order of their contribution to the
        margin.
    offset_ : array of shape (n_features,)
        Zeros.
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    n_features_in_ : int
        Number of features. If X has feature names, they are in ``feature_names_in_``.

    Notes
    -----
    ``metadata()`` contains the `margin` of orthonormal rows and the `accumulated_eigenvalues`: the
    sum of the positive ones among the k largest eigenvalues, divided by the sum of all positive
    eigenvalues. When this fraction is 1, additional components cannot increase the margin.

    References
    ----------
    .. [1] F. Wang, C. Zhang, "Feature extraction by maximizing the average neighborhood margin",
       IEEE Conference on Computer Vision and Pattern Recognition, 2007.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True)
    >>> facts = ANMM(n_components=2).fit(X / X.std(axis=0), y).metadata()
    >>> round(facts["margin"], 1), round(facts["accumulated_eigenvalues"], 3)
    (1086.8, 0.772)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "n_friends": [Interval(Integral, 1, None, closed="left")],
        "n_enemies": [Interval(Integral, 1, None, closed="left")],
        "weighting": [StrOptions({"margin"}), None],
        **SEARCH_PARAMETER,
        **MIX_PARAMETER,
        **CLASS_PARAMETERS,
        **REFERENCE_PARAMETER,
    }

    _min_classes: ClassVar[int] = 2
    _reduces_dimension: ClassVar[bool] = True
    _accepts_weights: ClassVar[bool] = True

    def __init__(
        self,
        n_components: int | None = None,
        *,
        n_friends: int = 3,
        n_enemies: int = 3,
        weighting: str | None = "margin",
        search: Any = None,
        identity_mix: float | str | None = None,
        class_weight: ClassWeight = None,
        unlabelled: float | str | None = None,
        n_references: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.n_friends = n_friends
        self.n_enemies = n_enemies
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
        search = SearchLog(self.search)
        if isinstance(labels, ReferenceLabels):
            near = labels.neighbor_scatter(self.n_friends, "friends", factor=factor)
            far = labels.neighbor_scatter(self.n_enemies, "enemies", factor=factor)
            values, V = top_eigenvectors(far.spread - near.spread, d)
            L = V[:k, :]
        else:
            values, L = self._top_directions(X, labels, k, search)
        if self.weighting == "margin":
            L = _margin_weights(values)[:k, None] * L
        self.components_, self.offset_ = asarray_like(L, X), asarray_like(np.zeros(d), X)
        xp = namespace(values)
        gains = xp.clip(values, 0)
        total = float(xp.sum(gains))
        return {
            "n_components": k,
            "accumulated_eigenvalues": float(xp.sum(gains[:k])) / total if total > 0 else 1.0,
            "margin": float(xp.sum(values[:k])) / factor**2,
            **(labels.metadata() if isinstance(labels, ReferenceLabels) else search.metadata()),
        }

    def _top_directions(
        self, X: Array, labels: Labels, k: int, search: SearchLog
    ) -> tuple[Array, Array]:
        """Return the eigenvalues of S - C, and the eigenvectors of the k largest."""
        X, labels, _ = in_canonical_order(X, labels)
        numbers = self.n_friends, self.n_enemies
        near, far = friends_and_enemies(X, labels.codes, *numbers, share_ties=True, search=search)
        Z, lifted = span_coordinates(X, k)
        S, C = (role.difference_scatter(Z, labels.weights, root=False) for role in (far, near))
        values, V = top_eigenvectors(S - C, Z.shape[1])
        return values, lifted(V[:k, :])


def _margin_weights(values: Array) -> Array:
    """Return the weights of eigenvectors, whose eigenvalues are in descending order."""
    xp, rounding = namespace(values), values.shape[0] * eps(values)
    if values[0] <= rounding * xp.max(xp.abs(values)):
        return xp.ones_like(values)
    return xp.sqrt(xp.clip(values, 0) / values[0] + BASE_WEIGHT)
