"""The kernel of a learner: which function, and how its feature space is approximated."""

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, ClassVar

from sklearn.base import BaseEstimator

from dimetric._compat import Interval, StrOptions, check_params

NAMES = {"linear", "poly", "rbf", "laplacian", "sigmoid", "cosine", "precomputed"}
STRATEGIES = {"uniform", "greedy", "kmeans"}


class Kernel(BaseEstimator):
    r"""The kernel of a learner, and how much of its feature space the learner sees.

    .. math:: k(x, x') = \langle \phi(x), \phi(x') \rangle

    ================= =====================================================
    ``"linear"``      :math:`x \cdot x'`
    ``"poly"``        :math:`(\gamma\, x \cdot x' + c_0)^{degree}`
    ``"rbf"``         :math:`\exp(-\gamma |x - x'|^2)`
    ``"laplacian"``   :math:`\exp(-\gamma |x - x'|_1)`
    ``"sigmoid"``     :math:`\tanh(\gamma\, x \cdot x' + c_0)`
    ``"cosine"``      :math:`x \cdot x' / (|x| |x'|)`
    ``"precomputed"`` X holds the values of k already
    ================= =====================================================

    Every kernel learner has one parameter `kernel` and takes such an object. A name or a function
    is short for the object with default values: ``KDA(kernel="poly")`` is
    ``KDA(kernel=Kernel("poly"))``. With the object, a grid search can vary ``kernel__gamma``.

    Parameters
    ----------
    name : str or callable, default="rbf"
        A name of the table, or a function of two matrices of samples, (n, d) and (m, d), that
        returns the (n, m) values, such as those of :mod:`sklearn.metrics.pairwise`. With
        "precomputed", ``fit`` takes the kernel between all samples, and ``transform`` the kernel
        between new samples and those of the fit.
    gamma : float, "scale" or "auto", default="scale"
        :math:`\gamma` of "poly", "rbf", "laplacian" and "sigmoid". "scale" is
        ``1 / (n_features * X.var())``, for "laplacian" ``1 / (n_features * X.std())``, so that the
        unit of the features does not matter; "auto" is ``1 / n_features``.
    degree : float, default=3
        Exponent of "poly".
    coef0 : float, default=1.0
        :math:`c_0` of "poly" and "sigmoid".
    params : dict or None, default=None
        Keyword arguments of a function.
    n_components : int, float in (0, 1), None or "auto", default="auto"
        Rank of the feature space that is kept: the largest number of coordinates that a linear
        learner is given. They are the principal ones in the span of twice as many samples, each of
        which is the farthest from the span of those before it. A float is the share of the variance
        that the samples of the span must hold. None keeps all coordinates: many kernels then
        separate any samples, learners overfit, and time grows with the third power of the number of
        samples. "auto" is the learner's own value, 100 or, for KLMNN, 30. KPCA needs no such
        parameter: its own `n_components` says it.
    n_landmarks : int or None, default=None
        Number of landmarks. The feature space is approximated by the span of the landmarks instead
        of all samples (the Nyström method [1]_), which takes time in proportion to the number of
        samples and memory of ``n_landmarks**2``. None, or as many as there are samples, is exact.
    landmarks : {"uniform", "greedy", "kmeans"}, default="uniform"
        How landmarks are chosen: samples drawn at random; samples each of which is the farthest in
        feature space from the span of those before it [2]_, which takes memory of
        ``n_samples * n_landmarks``; or centres of clusters [3]_.
    random_state : int, RandomState or None, default=None
        Randomness of the landmarks. It stands here, not in the learner, because nothing else of a
        kernel is random.

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
    """Return the object that a name or a function is short for.

    Examples
    --------
    >>> as_kernel("linear")
    Kernel(name='linear')
    """
    return kernel if isinstance(kernel, Kernel) else Kernel(kernel)


def checked_kernel(kernel: KernelLike) -> Kernel:
    """Return the same, or raise if its parameters are not valid."""
    if kernel is Kernel:
        raise TypeError("kernel=Kernel is a class, and an object is needed: kernel=Kernel().")
    found = as_kernel(kernel)
    check_params(found)
    if found.params and not callable(found.name):
        raise ValueError(
            f"params={found.params} are keyword arguments of a kernel that is a function. For "
            f"Kernel({found.name!r}) set gamma, degree or coef0 instead."
        )
    return found
