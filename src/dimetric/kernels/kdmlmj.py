"""Kernel distance metric learning through maximisation of the Jeffrey divergence."""

from typing import Any, ClassVar

from dimetric._arrays.namespaces import Array
from dimetric._compat import Progress
from dimetric.kernels.functions import KernelLike
from dimetric.kernels.kernelized import KernelizedMetric
from dimetric.learners.dmlmj import DMLMJ
from dimetric.supervision.labels import Supervision


class KDMLMJ(KernelizedMetric):
    r"""DMLMJ in the feature space of a kernel.

    See :class:`~dimetric.DMLMJ`, which it is with the linear kernel if the samples span all
    features [1]_.

    Parameters
    ----------
    n_components : int or None, default=None
        Rows of A; None is as many as there are coordinates, at most 30. With all, enemies do not
        matter, see :class:`~dimetric.DMLMJ`.
    n_neighbors : int, default=3
        Number of friends, and of enemies, in feature space.
    alpha : float in [0, 1), default=0.03
        Of the shrinkage of both covariances; `reg` in the metadata.
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
    .. [1] B. Nguyen, C. Morell, B. De Baets, "Supervised distance metric learning through
       maximization of the Jeffrey divergence", Pattern Recognition 64, 2017.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> KDMLMJ(2).fit(X, y).metadata()["reg"]
    0.03
    """

    _most_components: ClassVar[int | None] = 30
    _fewest_classes: ClassVar[int] = 2
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = (
        KernelizedMetric._parameter_constraints | DMLMJ._parameter_constraints
    )

    def __init__(
        self,
        n_components: int | None = None,
        *,
        n_neighbors: int = 3,
        alpha: float = 0.03,
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
        self.n_neighbors = n_neighbors
        self.alpha = alpha

    def _linear(self) -> DMLMJ:
        return DMLMJ(self.n_components, n_neighbors=self.n_neighbors, alpha=self.alpha)

    def _fit(self, X: Array, supervision: Supervision | None, progress: Progress) -> dict[str, Any]:
        return super()._fit(X, supervision, progress) | {"reg": float(self.alpha)}
