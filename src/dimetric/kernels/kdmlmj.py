"""Kernel distance metric learning through maximisation of the Jeffrey divergence."""

from typing import Any, ClassVar

from dimetric.kernels._base import KernelMetric
from dimetric.kernels.kernel import KernelLike
from dimetric.kernels.kernelized import KernelizedMetric
from dimetric.learners.dmlmj import DMLMJ
from dimetric.supervision._weights import ClassWeight


class KDMLMJ(KernelizedMetric):
    r"""DMLMJ, maximisation of the Jeffrey divergence, in the feature space of a kernel.

    .. math:: \max_A \mathrm{JF}(\mathcal{N}(0, A U A^T), \mathcal{N}(0, A V A^T))

    .. math:: U = \frac{1}{n} \sum_i \frac{1}{|F_i|} \sum_{j \in F_i} (k_i - k_j)(k_i - k_j)^T,
              \quad
              V = \frac{1}{n} \sum_i \frac{1}{|E_i|} \sum_{j \in E_i} (k_i - k_j)(k_i - k_j)^T

    :math:`k_i` are the columns of the kernel matrix. :math:`F_i` are the friends of sample i, its
    nearest samples of the same class in feature space. :math:`E_i` are its enemies, the nearest
    samples of other classes [1]_. Tied samples share places as in :class:`~dimetric.DMLMJ`. With
    the linear kernel, this is DMLMJ, if the samples span all features.

    Parameters
    ----------
    n_components : int or None, default=None
        Number of components, the rows of A. None is the number of coordinates of the feature space,
        but at most 30.
    n_neighbors : int, default=3
        Number of friends and number of enemies of each sample.
    alpha : float in [0, 1) or "auto", default=0.1
        Shrinkage of both covariances, as in :class:`~dimetric.DMLMJ`. It is `reg` in the metadata.
    weighting : {"ratio"} or None, default="ratio"
        Weights of the rows of A, as in :class:`~dimetric.DMLMJ`. With None and all coordinates, the
        enemies have no influence.
    kernel : str, callable or Kernel, default="rbf"
        The kernel. See :class:`~dimetric.kernels.Kernel`.
    search, identity_mix, class_weight, unlabelled
        See :class:`~dimetric.DMLMJ`. Neighbours are searched in feature space.

    Attributes
    ----------
    components_, offset_, X_fit_, landmarks_, gamma_, classes_, n_features_in_
        See :class:`~dimetric.Kernelized`.

    References
    ----------
    .. [1] B. Nguyen, C. Morell, B. De Baets, "Supervised distance metric learning through
       maximization of the Jeffrey divergence", Pattern Recognition 64, 2017.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> KDMLMJ(2).fit(X, y).metadata()["reg"]
    0.1
    """

    _default_components: ClassVar[int | None] = 30
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = (
        KernelMetric._parameter_constraints | DMLMJ._parameter_constraints
    )

    def __init__(
        self,
        n_components: int | None = None,
        *,
        n_neighbors: int = 3,
        alpha: float | str = 0.1,
        weighting: str | None = "ratio",
        kernel: KernelLike = "rbf",
        search: Any = None,
        identity_mix: float | str | None = None,
        class_weight: ClassWeight = None,
        unlabelled: float | str | None = None,
    ) -> None:
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.alpha = alpha
        self.weighting = weighting
        self.kernel = kernel
        self.search = search
        self.identity_mix = identity_mix
        self.class_weight = class_weight
        self.unlabelled = unlabelled

    def _linear(self) -> DMLMJ:
        return DMLMJ(
            self.n_components,
            n_neighbors=self.n_neighbors,
            alpha=self.alpha,
            weighting=self.weighting,
            search=self.search,
            identity_mix=self.identity_mix,
        )
