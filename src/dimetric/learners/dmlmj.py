"""Distance metric learning through maximisation of the Jeffrey divergence."""

import warnings
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np

from dimetric._arrays.namespaces import Array, asarray_like, eps, namespace
from dimetric._arrays.validation import rescale_for_squares
from dimetric._compat import Interval, Progress
from dimetric.learners._fitting.ordering import in_canonical_order
from dimetric.learners._linear import LinearMetric
from dimetric.linalg.sample_span import span_coordinates
from dimetric.linalg.scatter import difference_scatter, rounding_bounds
from dimetric.linalg.spectral import top_ratio, whitening
from dimetric.neighbors.roles import Neighbors, enemies, friends
from dimetric.supervision.labels import Supervision, checked_labels


class DMLMJ(LinearMetric):
    r"""Maximise the Jeffrey divergence between differences to friends and to enemies.

    .. math:: \max_L \mathrm{JF}(\mathcal{N}(0, L \Sigma_S L^T), \mathcal{N}(0, L \Sigma_D L^T))
              = \tfrac12 \sum_{i \le k} (\lambda_i + 1/\lambda_i) - k

    .. math:: \Sigma_S = \frac{1}{n} \sum_i \frac{1}{|F_i|} \sum_{j \in F_i}
              (x_i - x_j)(x_i - x_j)^T, \quad
              \Sigma_D = \frac{1}{n} \sum_i \frac{1}{|E_i|} \sum_{j \in E_i}
              (x_i - x_j)(x_i - x_j)^T

    :math:`F_i` and :math:`E_i` are the `n_neighbors` nearest samples of the class of :math:`x_i`,
    itself left out, and of the other classes; samples without any are not counted in n. The rows
    of L are the eigenvectors of :math:`\Sigma_S^{-1} \Sigma_D` with the largest
    :math:`\lambda + 1/\lambda`, scaled so that :math:`L \Sigma_S L^T = I` [1]_. With all
    n_features rows M is :math:`\Sigma_S^{-1}`, whatever the enemies are.

    Parameters
    ----------
    n_components : int or None, default=None
        k, the rows of L; None is ``n_features``, or as many as `alpha` allows.
    n_neighbors : int, default=3
        Number of friends, and of enemies. Samples of smaller classes have fewer friends, which a
        warning tells.
    alpha : float in [0, 1), default=0.1
        Both covariances become
        :math:`(1 - \alpha) \Sigma + \alpha\, \mathrm{tr}(\Sigma) / d\, I`. Neighbours are near, so
        they hardly differ in many directions (none at all in pixels that never change), and
        :math:`\Sigma_S^{-1}` would live on these alone: where features are many and samples few,
        0.1 classifies much better than 0, elsewhere as well. With 0, directions in which no
        friends differ are left out.

    Attributes
    ----------
    components_ : array of shape (n_components, n_features)
        The map L.
    offset_ : array of shape (n_features,)
        0.
    classes_ : ndarray of shape (n_classes,)
        Labels.
    n_features_in_ : int
        Number of features; ``feature_names_in_`` holds their names where X has any.

    Notes
    -----
    ``metadata()`` has the divergence reached as `final_objective`, and as
    `accumulated_eigenvalues` the share of the sum of all :math:`\lambda + 1/\lambda` that is kept.

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
        "alpha": [Interval(Real, 0, 1, closed="left")],
    }
    _maximises = True

    def __init__(
        self, n_components: int | None = None, *, n_neighbors: int = 3, alpha: float = 0.1
    ) -> None:
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.alpha = alpha

    def _fit(self, X: Array, supervision: Supervision | None, progress: Progress) -> dict[str, Any]:
        labels = checked_labels(supervision)
        d = X.shape[1]
        k = d if self.n_components is None else int(self.n_components)
        if k > d:
            raise ValueError(f"n_components={k} must be at most n_features={d}.")
        if labels.n_classes < 2:
            raise ValueError("DMLMJ needs at least 2 classes; y holds 1.")
        X, factor = rescale_for_squares(X)
        X, labels, _ = in_canonical_order(X, labels)
        codes = labels.codes
        near, far = friends(X, codes, self.n_neighbors), enemies(X, codes, self.n_neighbors)
        Z, lifted = span_coordinates(X, k)
        S, D = (self._covariance(Z, role, d) for role in (near, far))
        T = self._whitening(S, X)
        values, L, _ = top_ratio(D, T, T.shape[0], is_root=self.alpha == 0)
        scores = _scores(values)
        xp = namespace(scores)
        best = xp.argsort(scores, descending=True, stable=True)
        if self.n_components is not None and L.shape[0] < k:
            warnings.warn(
                f"Friends differ in {L.shape[0]} directions only: DMLMJ returns {L.shape[0]} "
                f"components instead of {k}. alpha > 0 allows for more.",
                stacklevel=2,
            )
        best = best[: min(k, L.shape[0])]
        self.components_ = asarray_like(lifted(xp.take(L, best, axis=0)) * factor, X)
        self.offset_ = asarray_like(np.zeros(d), X)
        kept, total = float(xp.sum(xp.take(scores, best))), float(xp.sum(scores))
        if self.alpha > 0:  # both covariances are multiples of I in the directions that Z lacks
            ratio = xp.reshape(xp.linalg.trace(D) / xp.linalg.trace(S), (1,))
            total += (d - Z.shape[1]) * float(_scores(ratio)[0])
        return {
            "n_components": best.shape[0],
            "accumulated_eigenvalues": kept / total,
            "final_objective": kept / 2 - best.shape[0],
        }

    def _covariance(self, Z: Array, role: Neighbors, d: int) -> Array:
        """Return the shrunk covariance of the differences to neighbours; without alpha, a root.

        With a ridge no direction is so small that squaring would cost it digits. Z holds the
        samples in some coordinates, maybe fewer than the d features.
        """
        xp = namespace(Z)
        n = max(1, int(np.sum(role.counts > 0)))
        if self.alpha == 0:
            return difference_scatter(Z, role.indices, role.counts, root=True) / n**0.5
        S = difference_scatter(Z, role.indices, role.counts, root=False) / n
        eye = xp.eye(S.shape[0], dtype=S.dtype, device=S.device)
        return (1 - self.alpha) * S + self.alpha / d * xp.linalg.trace(S) * eye

    def _whitening(self, S: Array, X: Array) -> Array:
        by_feature = S.shape[1] == X.shape[1]
        if self.alpha > 0:
            T, _ = whitening(S, is_root=False, by_feature=by_feature)
        else:
            rounding = rounding_bounds(X)
            rounding = rounding if by_feature else namespace(rounding).max(rounding)
            T, _ = whitening(S, is_root=True, by_feature=by_feature, rounding=rounding)
        if T.shape[0] == 0:
            raise ValueError(
                "Every sample is at distance 0 from its friends, or has none: there is no spread "
                "that DMLMJ could compare the enemies with. Raise n_neighbors, or leave out "
                "duplicates."
            )
        return T


def _scores(values: Array) -> Array:
    """Return lambda + 1/lambda; eigenvalues lost in rounding count as what rounding leaves."""
    xp = namespace(values)
    floor = values.shape[0] * eps(values) * (float(xp.max(values)) or 1.0)
    values = xp.clip(values, floor)
    return values + 1 / values
