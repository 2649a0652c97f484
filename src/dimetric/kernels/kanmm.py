"""Kernel average neighbourhood margin maximisation."""

from typing import Any, ClassVar

import numpy as np

from dimetric._arrays.namespaces import Array, like, namespace
from dimetric._compat import Progress, StrOptions
from dimetric.kernels.functions import KernelLike
from dimetric.kernels.kernelized import KernelizedMetric
from dimetric.learners.anmm import ANMM
from dimetric.linalg.scatter import difference_scatter
from dimetric.linalg.spectral import top_eigenvectors
from dimetric.neighbors.roles import enemies, friends
from dimetric.supervision.labels import Supervision, checked_labels


class KANMM(KernelizedMetric):
    r"""Kernel average neighbourhood margin maximisation: ANMM in the feature space of a kernel.

    .. math:: \max_{L L^T = I} \mathrm{tr}(L (S - C) L^T), \qquad L = A\, \Phi

    S and C are the scatters of differences to enemies and friends in feature space [1]_, see
    :class:`~dimetric.ANMM`, which it is with the linear kernel. :math:`A A^T = I`, as the kernel
    form is printed in places, is another constraint and another map: an option.

    Parameters
    ----------
    n_components : int or None, default=None
        Rows of A; None is as many as there are coordinates.
    n_friends : int, default=3
        Number of friends. Samples of smaller classes have fewer, which a warning tells.
    n_enemies : int, default=1
        Number of enemies.
    orthonormal : {"map", "coefficients"}, default="map"
        Whether the rows of L are orthonormal, in feature space, or those of A.
    kernel : str or callable, default="rbf"
        As in :class:`~dimetric.KPCA`.
    gamma : float, "scale" or "auto", default="scale"
        As in :class:`~dimetric.KPCA`.
    degree : float, default=3
        Of "poly".
    coef0 : float, default=1.0
        Of "poly" and "sigmoid".
    kernel_params : dict or None, default=None
        Keyword arguments of a kernel that is a function.
    n_components_kernel : int, float in (0, 1) or None, default=100
        Coordinates of the feature space, as in :class:`~dimetric.Kernelized`.
    n_landmarks : int or None, default=None
        As in :class:`~dimetric.KPCA`.
    landmarks : {"uniform", "greedy", "kmeans"}, default="uniform"
        As in :class:`~dimetric.KPCA`.
    random_state : int, RandomState or None, default=None
        Of the landmarks.

    Attributes
    ----------
    components_, offset_, X_fit_, landmarks_, gamma_, classes_, n_features_in_
        As of :class:`~dimetric.Kernelized`.

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

    _fewest_classes: ClassVar[int] = 2
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = (
        KernelizedMetric._parameter_constraints
        | ANMM._parameter_constraints
        | {"orthonormal": [StrOptions({"map", "coefficients"})]}
    )

    def __init__(
        self,
        n_components: int | None = None,
        *,
        n_friends: int = 3,
        n_enemies: int = 1,
        orthonormal: str = "map",
        kernel: KernelLike = "rbf",
        gamma: float | str = "scale",
        degree: float = 3,
        coef0: float = 1.0,
        kernel_params: dict[str, Any] | None = None,
        n_components_kernel: float | None = 100,
        n_landmarks: int | None = None,
        landmarks: str = "uniform",
        random_state: Any = None,
    ) -> None:
        super().__init__(
            kernel=kernel,
            gamma=gamma,
            degree=degree,
            coef0=coef0,
            kernel_params=kernel_params,
            n_components_kernel=n_components_kernel,
            n_landmarks=n_landmarks,
            landmarks=landmarks,
            random_state=random_state,
        )
        self.n_components = n_components
        self.n_friends = n_friends
        self.n_enemies = n_enemies
        self.orthonormal = orthonormal

    def _linear(self) -> ANMM:
        return ANMM(self.n_components, n_friends=self.n_friends, n_enemies=self.n_enemies)

    def _fit_in_space(
        self, X: Array, supervision: Supervision | None, progress: Progress
    ) -> dict[str, Any]:
        if self.orthonormal == "map":
            return super()._fit_in_space(X, supervision, progress)
        space = self._space(X, self.n_components_kernel, principal=False)
        m = len(space.mean)
        k = m if self.n_components is None else int(self.n_components)
        if k > m:
            name = "n_landmarks" if self._has_landmarks(X.shape[0]) else "n_samples"
            raise ValueError(f"n_components={k} must be at most {name}={m}.")
        xp, codes = namespace(X), checked_labels(supervision).codes
        by_class = np.argsort(codes, kind="stable")
        order = like(by_class, X, dtype=xp.int64)
        Z, K = (xp.take(a, order, axis=0) for a in (space.scores(), self._references(X)))
        near = friends(Z, codes[by_class], self.n_friends)
        far = enemies(Z, codes[by_class], self.n_enemies)
        S, C = (difference_scatter(K, r.indices, r.counts, root=False) for r in (far, near))
        values, A = top_eigenvectors(S - C, k)
        self.components_, self.offset_ = like(A, X), like(space.mean, X)
        margin = float(xp.sum(values))
        return {"n_components": k, "margin": margin, "rank": k, "kernel_rank": space.rank}
