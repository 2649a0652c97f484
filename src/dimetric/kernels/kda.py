"""Kernel discriminant analysis."""

from typing import Any, ClassVar

from dimetric.kernels.functions import KernelLike
from dimetric.kernels.kernelized import KernelizedMetric
from dimetric.learners.lda import LDA


class KDA(KernelizedMetric):
    r"""Kernel discriminant analysis: LDA in the feature space of a kernel.

    .. math:: \max_A \mathrm{tr}\left((A V A^T)^{-1} A U A^T\right), \quad
              U = \sum_c \frac{n_c}{n} (m_c - m)(m_c - m)^T, \quad
              V = \frac{1}{n} \sum_i (k_i - m_{y_i})(k_i - m_{y_i})^T + \varepsilon K

    with :math:`k_i` the columns of K, :math:`m_c` their means by class and m their mean [1]_. With
    the linear kernel it is LDA with the same `reg`, if the samples span all features.

    Parameters
    ----------
    n_components : int or None, default=None
        Rows of A, at most ``n_classes - 1``, which None stands for.
    reg : float, default=0.1
        :math:`\varepsilon` is `reg` times the mean of V's eigenvalues in feature space. Without it,
        kernels that tell all samples apart map each class to a point, and new samples anywhere.
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
    .. [1] S. Mika, G. Rätsch, J. Weston, B. Schölkopf, K.-R. Müller, "Fisher discriminant analysis
       with kernels", Neural Networks for Signal Processing, 1999.

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> X, y = make_circles(200, factor=0.5, noise=0.1, random_state=0)
    >>> z = KDA().fit(X, y).transform(X)[:, 0]
    >>> bool(abs(z[y == 0].mean() - z[y == 1].mean()) > 3 * z[y == 0].std())
    True
    """

    _fewest_classes: ClassVar[int] = 2
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = (
        KernelizedMetric._parameter_constraints
        | {name: LDA._parameter_constraints[name] for name in ("n_components", "reg")}
    )

    def __init__(
        self,
        n_components: int | None = None,
        *,
        reg: float = 0.1,
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
        self.reg = reg

    def _linear(self) -> LDA:
        return LDA(self.n_components, reg=self.reg)
