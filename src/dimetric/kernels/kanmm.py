"""Kernel average neighbourhood margin maximisation."""

from typing import Any, ClassVar

import numpy as np

from dimetric._arrays.namespaces import Array, asarray_like, namespace, take_rows
from dimetric._compat import Progress, StrOptions
from dimetric.kernels._base import KernelMetric
from dimetric.kernels.kernel import KernelLike
from dimetric.kernels.kernelized import KernelizedMetric
from dimetric.learners.anmm import ANMM
from dimetric.linalg.spectral import top_eigenvectors
from dimetric.neighbors.approximate.log import SearchLog
from dimetric.neighbors.roles import friends_and_enemies
from dimetric.supervision._weights import ClassWeight
from dimetric.supervision.labels import Supervision, checked_labels, weights_of


class KANMM(KernelizedMetric):
    r"""Kernel average neighbourhood margin maximisation: ANMM in the feature space of a kernel.

    .. math:: \max_{L L^T = I} \mathrm{tr}(L (S - C) L^T), \qquad L = A\, \Phi

    S and C are the scatter matrices of the differences between a sample and its enemies (S) or
    friends (C) in feature space [1]_. Friends are the nearest samples of the same class, enemies
    the nearest samples of other classes. Tied samples share places as in :class:`~dimetric.ANMM`.
    :math:`\Phi` holds the reference samples in feature space. With the linear kernel, this is ANMM.
    Some publications state the constraint :math:`A A^T = I` instead, which gives a different map.
    See `orthonormal`. By default, the rows of L are then weighted as in ANMM.

    Parameters
    ----------
    n_components : int or None, default=None
        Number of components, the rows of A. None is the number of coordinates of the feature space,
        or the number of reference samples if `orthonormal` is "coefficients".
    n_friends : int, default=3
        Number of friends of each sample. If a class is too small, a warning is issued and its
        samples have fewer friends.
    n_enemies : int, default=3
        Number of enemies of each sample.
    weighting : {"margin"} or None, default="margin"
        Weights of the rows of L. See :class:`~dimetric.ANMM`. If `orthonormal` is "coefficients",
        there are no weights.
    orthonormal : {"map", "coefficients"}, default="map"
        Matrix with orthonormal rows before weighting: "map" is the map L in feature space,
        "coefficients" is A.
    kernel : str, callable or Kernel, default="rbf"
        The kernel. See :class:`~dimetric.kernels.Kernel`.
    search, identity_mix, class_weight, unlabelled
        See :class:`~dimetric.ANMM`. Neighbours are searched in feature space.

    Attributes
    ----------
    components_, offset_, X_fit_, landmarks_, gamma_, classes_, n_features_in_
        See :class:`~dimetric.Kernelized`.

    References
    ----------
    .. [1] F. Wang, C. Zhang, "Feature extraction by maximizing the average neighborhood margin",
       IEEE Conference on Computer Vision and Pattern Recognition, 2007.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> KANMM(2).fit(X, y).transform(X).shape
    (150, 2)
    >>> A = KANMM(2, orthonormal="coefficients").fit(X, y).transformer()
    >>> np.allclose(A @ A.T, np.eye(2))
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = (
        KernelMetric._parameter_constraints
        | ANMM._parameter_constraints
        | {"orthonormal": [StrOptions({"map", "coefficients"})]}
    )

    def __init__(
        self,
        n_components: int | None = None,
        *,
        n_friends: int = 3,
        n_enemies: int = 3,
        weighting: str | None = "margin",
        orthonormal: str = "map",
        kernel: KernelLike = "rbf",
        search: Any = None,
        identity_mix: float | str | None = None,
        class_weight: ClassWeight = None,
        unlabelled: float | str | None = None,
    ) -> None:
        self.n_components = n_components
        self.n_friends = n_friends
        self.n_enemies = n_enemies
        self.weighting = weighting
        self.orthonormal = orthonormal
        self.kernel = kernel
        self.search = search
        self.identity_mix = identity_mix
        self.class_weight = class_weight
        self.unlabelled = unlabelled

    def _linear(self) -> ANMM:
        return ANMM(
            self.n_components,
            n_friends=self.n_friends,
            n_enemies=self.n_enemies,
            weighting=self.weighting,
            search=self.search,
            identity_mix=self.identity_mix,
        )

    def _fit_in_space(
        self, X: Array, supervision: Supervision | None, progress: Progress
    ) -> dict[str, Any]:
        if self.orthonormal == "map":
            return super()._fit_in_space(X, supervision, progress)
        if self.identity_mix is not None:
            raise ValueError(
                f"identity_mix={self.identity_mix!r} needs a map in feature space, but "
                "orthonormal='coefficients' learns coefficients. Set orthonormal='map', or "
                "identity_mix=None."
            )
        weights = weights_of(supervision)
        coordinates = self._fit_coordinates(X, self._kernel_rank(), weights, principal=False)
        m = len(coordinates.mean)
        k = m if self.n_components is None else int(self.n_components)
        if k > m:
            name = "n_landmarks" if m < X.shape[0] else "n_samples"
            raise ValueError(f"n_components={k} must be at most {name}={m}.")
        labels = checked_labels(supervision)
        order = np.argsort(labels.codes, kind="stable")
        labels = labels.reordered(order)
        Z, K = (take_rows(a, order) for a in (coordinates.compute(), self._reference_kernel(X)))
        search, numbers = SearchLog(self.search), (self.n_friends, self.n_enemies)
        near, far = friends_and_enemies(Z, labels.codes, *numbers, share_ties=True, search=search)
        S, C = (role.difference_scatter(K, labels.weights, root=False) for role in (far, near))
        values, A = top_eigenvectors(S - C, k)
        self.components_, self.offset_ = asarray_like(A, X), asarray_like(coordinates.mean, X)
        margin = float(namespace(X).sum(values))
        facts = {"n_components": k, "margin": margin, "rank": k, "kernel_rank": coordinates.rank}
        return facts | search.metadata()
