"""The kernel of a learner: the kernel function and the approximation of its feature space."""

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, ClassVar

from sklearn.base import BaseEstimator

from dimetric._arguments import ArgumentErrorMixin
from dimetric._compat import Interval, QuickParamsMixin, StrOptions, check_params

NAMES = {"linear", "poly", "rbf", "laplacian", "sigmoid", "cosine", "precomputed"}
# For each parameter of a kernel function: the default value, and the kernels that use it.
FUNCTION_PARAMETERS: dict[str, tuple[Any, tuple[str, ...]]] = {
    "gamma": ("scale", ("poly", "rbf", "laplacian", "sigmoid")),
    "degree": (3, ("poly",)),
    "coef0": (1.0, ("poly", "sigmoid")),
}
STRATEGIES = {"uniform", "greedy", "kmeans"}


class Kernel(QuickParamsMixin, ArgumentErrorMixin, BaseEstimator):
    r"""The kernel function of a learner, and the approximation of its feature space.

    .. math:: k(x, x') = \langle \phi(x), \phi(x') \rangle

    ================= =====================================================
    ``"linear"``      :math:`x \cdot x'`
    ``"poly"``        :math:`(\gamma\, x \cdot x' + c_0)^{degree}`
    ``"rbf"``         :math:`\exp(-\gamma |x - x'|^2)`
    ``"laplacian"``   :math:`\exp(-\gamma |x - x'|_1)`
    ``"sigmoid"``     :math:`\tanh(\gamma\, x \cdot x' + c_0)`
    ``"cosine"``      :math:`x \cdot x' / (|x| |x'|)`
    ``"precomputed"`` X holds the values of k
    ================= =====================================================

    The parameter `kernel` of a kernel learner accepts this object. It also accepts a name or a
    function: ``KDA(kernel="poly")`` is short for ``KDA(kernel=Kernel("poly"))``. With the object, a
    grid search can vary ``kernel__gamma``. ``fit`` raises an error if `gamma`, `degree` or `coef0`
    is changed, but the kernel function does not use it.

    Parameters
    ----------
    name : str or callable, default="rbf"
        A name from the table, or a function. The function takes two matrices of samples, of shape
        (n, d) and (m, d), and returns the (n, m) kernel values. Functions in
        :mod:`sklearn.metrics.pairwise` are examples. With "precomputed", ``fit`` takes the kernel
        matrix of all training samples, and ``transform`` takes the kernel between new samples and
        training samples.
    gamma : float, "scale" or "auto", default="scale"
        :math:`\gamma` of "poly", "rbf", "laplacian" and "sigmoid". "scale" is
        ``1 / (n_features * X.var())``, or ``1 / (n_features * X.std())`` for "laplacian". "auto" is
        ``1 / n_features``.
    degree : float, default=3
        Exponent of "poly".
    coef0 : float, default=1.0
        :math:`c_0` of "poly" and "sigmoid".
    params : dict or None, default=None
        Keyword arguments for `name`, if it is a function.
    n_components : int, float in (0, 1), None or "auto", default="auto"
        Number of coordinates of the feature space that the learner gets. An integer k first
        selects 2k samples, each the farthest in feature space from the span of the earlier ones.
        Then it takes the k principal coordinates in their span. A float selects samples until their
        span contains this fraction of the variance. None keeps all coordinates. Many kernels then
        separate all training samples, so that learners overfit, and time is cubic in the number of
        samples. "auto" is the default of the learner: 30 for KLMNN, and 100 for others. KPCA has
        its own parameter `n_components` instead.
    n_landmarks : int or None, default=None
        Number of landmarks. The span of the landmarks approximates the span of all samples in
        feature space (the Nyström method [1]_), and `n_components` selects principal coordinates in
        this span. Time is then linear in the number of samples, and memory grows as
        ``n_landmarks**2``. If None or at least the number of samples, the feature space is exact.
        Samples in blocks, such as Dask collections, require landmarks, which are chosen from a
        random sample of 20,000 rows.
    landmarks : {"uniform", "greedy", "kmeans"}, default="uniform"
        How landmarks are chosen. "uniform" chooses random samples. "greedy" chooses samples one by
        one, each the farthest in feature space from the span of the earlier ones [2]_, and stores
        ``n_samples * n_landmarks`` numbers. "kmeans" takes the centres of clusters [3]_.
    random_state : int, RandomState or None, default=None
        Random seed for the choice of landmarks.

    References
    ----------
    .. [1] C. K. I. Williams, M. Seeger, "Using the Nyström method to speed up kernel machines",
       NeurIPS 2000.
    .. [2] S. Fine, K. Scheinberg, "Efficient SVM training using low-rank kernel
       representations", JMLR 2, 2001.
    .. [3] K. Zhang, I. W. Tsang, J. T. Kwok, "Improved Nyström low-rank approximation and error
       analysis", ICML 2008.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.model_selection import GridSearchCV
    >>> from dimetric import KDA, KNNClassifier
    >>> from dimetric.kernels import Kernel
    >>> X, y = load_iris(return_X_y=True)
    >>> KDA(kernel=Kernel("poly", degree=2)).fit(X, y).transform(X).shape
    (150, 2)
    >>> model = KNNClassifier(3, learner=KDA(kernel=Kernel(n_landmarks=50, random_state=0)))
    >>> grid = {"learner__kernel__gamma": ["scale", 0.1]}
    >>> bool(GridSearchCV(model, grid).fit(X, y).best_score_ > 0.95)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "name": [StrOptions(NAMES), callable],
        "gamma": [StrOptions({"scale", "auto"}), Interval(Real, 0, None, closed="neither")],
        "degree": [Interval(Real, 0, None, closed="neither")],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "params": [dict, None],
        "n_components": [
            StrOptions({"auto"}),
            Interval(Integral, 1, None, closed="left"),
            Interval(Real, 0, 1, closed="neither"),
            None,
        ],
        "n_landmarks": [Interval(Integral, 2, None, closed="left"), None],
        "landmarks": [StrOptions(STRATEGIES)],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        name: str | Callable[..., Any] = "rbf",
        *,
        gamma: float | str = "scale",
        degree: float = 3,
        coef0: float = 1.0,
        params: dict[str, Any] | None = None,
        n_components: float | str | None = "auto",
        n_landmarks: int | None = None,
        landmarks: str = "uniform",
        random_state: Any = None,
    ) -> None:
        self.name = name
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.params = params
        self.n_components = n_components
        self.n_landmarks = n_landmarks
        self.landmarks = landmarks
        self.random_state = random_state


KernelLike = Kernel | str | Callable[..., Any]


def as_kernel(kernel: KernelLike) -> Kernel:
    """Return a Kernel object for a name, a function or a Kernel.

    Examples
    --------
    >>> as_kernel("linear")
    Kernel(name='linear')
    """
    return kernel if isinstance(kernel, Kernel) else Kernel(kernel)


def checked_kernel(kernel: KernelLike) -> Kernel:
    """Return a Kernel object as :func:`as_kernel` does, after checking its parameters."""
    if kernel is Kernel:
        raise TypeError("kernel must be an object, not the class Kernel. Use kernel=Kernel().")
    checked = as_kernel(kernel)
    check_params(checked)
    if checked.params and not callable(checked.name):
        raise ValueError(
            f"params={checked.params} requires a kernel that is a function, but the kernel is "
            f"{checked.name!r}. Set gamma, degree or coef0 instead."
        )
    _check_used_parameters(checked)
    return checked


def _check_used_parameters(kernel: Kernel) -> None:
    """Raise a ValueError if a parameter is set that the kernel function does not use."""
    for parameter, (default, users) in FUNCTION_PARAMETERS.items():
        value = getattr(kernel, parameter)
        if kernel.name in users or value == default:
            continue
        is_function = callable(kernel.name)
        chosen = "is a function" if is_function else f"is {kernel.name!r}"
        remedy = f" or pass params={{{parameter!r}: {value!r}}}" if is_function else ""
        raise ValueError(
            f"{parameter}={value!r} has no effect, because the kernel {chosen}. It is used only by "
            f"{' and '.join(map(repr, users))}. Remove {parameter}{remedy}."
        )
