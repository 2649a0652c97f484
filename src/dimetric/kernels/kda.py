"""Kernel discriminant analysis."""

from typing import Any, ClassVar

from dimetric.kernels._base import KernelMetric
from dimetric.kernels.kernel import KernelLike
from dimetric.kernels.kernelized import KernelizedMetric
from dimetric.learners.lda import LDA
from dimetric.supervision._weights import ClassWeight


class KDA(KernelizedMetric):
    r"""Kernel discriminant analysis: LDA in the feature space of a kernel.

    .. math:: \max_A \mathrm{tr}\left((A V A^T)^{-1} A U A^T\right), \quad
              U = \sum_c \frac{n_c}{n} (m_c - m)(m_c - m)^T, \quad
              V = \frac{1}{n} \sum_i (k_i - m_{y_i})(k_i - m_{y_i})^T + \varepsilon K

    :math:`k_i` are the columns of the kernel matrix K, :math:`m_c` is the mean of the columns of
    class c, and m is the mean of all columns [1]_. With the linear kernel, this is
    :class:`~dimetric.LDA` with the same `reg`, if the samples span all features. Sample weights and
    unlabelled samples have the same meaning as for LDA.

    Parameters
    ----------
    n_components : int or None, default=None
        Number of components, the rows of A. None is ``n_classes - 1``, the largest possible number.
    reg : float, default=0.1
        Regularisation: :math:`\varepsilon` is `reg` times the mean eigenvalue of the within-class
        covariance in feature space. With 0, a kernel that separates all samples maps each class of
        the training set to a single point, and does not generalise.
    kernel : str, callable or Kernel, default="rbf"
        The kernel. See :class:`~dimetric.kernels.Kernel`.
    identity_mix, class_weight, unlabelled, unlabelled_weight
        See :class:`~dimetric.LDA`.

    Attributes
    ----------
    components_, offset_, X_fit_, landmarks_, gamma_, classes_, n_features_in_
        See :class:`~dimetric.Kernelized`.

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

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = KernelMetric._parameter_constraints | {
        name: LDA._parameter_constraints[name]
        for name in (
            "n_components",
            "reg",
            "identity_mix",
            "class_weight",
            "unlabelled",
            "unlabelled_weight",
        )
    }

    def __init__(
        self,
        n_components: int | None = None,
        *,
        reg: float = 0.1,
        kernel: KernelLike = "rbf",
        identity_mix: float | str | None = None,
        class_weight: ClassWeight = None,
        unlabelled: float | str | None = None,
        unlabelled_weight: float = 0.1,
    ) -> None:
        self.n_components = n_components
        self.reg = reg
        self.kernel = kernel
        self.identity_mix = identity_mix
        self.class_weight = class_weight
        self.unlabelled = unlabelled
        self.unlabelled_weight = unlabelled_weight

    def _linear(self) -> LDA:
        return LDA(
            self.n_components,
            reg=self.reg,
            identity_mix=self.identity_mix,
            unlabelled_weight=self.unlabelled_weight,
        )
