"""Kernel large margin nearest neighbours."""

from typing import Any, ClassVar

from dimetric.kernels.functions import KernelLike
from dimetric.kernels.kernelized import KernelizedMetric
from dimetric.learners._base import NamedObjects
from dimetric.learners.lmnn import LMNN
from dimetric.solvers import Solver


class KLMNN(KernelizedMetric):
    r"""Large margin nearest neighbours in the feature space of a kernel.

    See :class:`~dimetric.LMNN`, which it is with the linear kernel [1]_.

    Parameters
    ----------
    n_components : int or None, default=None
        Rows of A; None is as many as there are coordinates.
    n_neighbors : int, default=3
        Targets of each sample, in feature space.
    mu : float, default=0.5
        Weight of the pushes, between 0 and 1; the pulls have weight ``1 - mu``.
    n_passes : int, default=1
        How often targets are chosen: each time after the first by the distance learned so far.
    solver : {"lbfgs", "bgd", "sgd", "sdp"} or solver object, default="lbfgs"
        As of :class:`~dimetric.LMNN`.
    max_iter : int, default=300
        Most iterations, of all passes together.
    tol : float, default=1e-6
        As of :class:`~dimetric.LMNN`.
    reg : float, default=0.0
        Weight of the ridge on the map of the feature space.
    verbose : int, default=0
        Log each iteration if positive.
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
    n_components_kernel : int, float in (0, 1) or None, default=30
        Coordinates of the feature space, as in :class:`~dimetric.Kernelized`.
    n_landmarks : int or None, default=None
        As in :class:`~dimetric.KPCA`.
    landmarks : {"uniform", "greedy", "kmeans"}, default="uniform"
        As in :class:`~dimetric.KPCA`.
    random_state : int, RandomState or None, default=None
        Of the landmarks, and of mini-batches.

    Attributes
    ----------
    components_, offset_, X_fit_, landmarks_, gamma_, classes_, n_iter_, history_, n_features_in_
        As of :class:`~dimetric.Kernelized`.

    References
    ----------
    .. [1] L. Torresani, K.-C. Lee, "Large margin component analysis", NeurIPS 2006.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> facts = KLMNN(n_components_kernel=10).fit(X, y).metadata()
    >>> facts["final_objective"] < facts["initial_objective"]
    True
    """

    _named_objects: ClassVar[NamedObjects] = LMNN._named_objects
    _own: ClassVar[tuple[str, ...]] = (
        "n_components",
        "n_neighbors",
        "mu",
        "n_passes",
        "solver",
        "max_iter",
        "tol",
        "reg",
        "verbose",
        "random_state",
    )
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = (
        KernelizedMetric._parameter_constraints
        | {name: LMNN._parameter_constraints[name] for name in _own}
    )

    def __init__(
        self,
        n_components: int | None = None,
        *,
        n_neighbors: int = 3,
        mu: float = 0.5,
        n_passes: int = 1,
        solver: str | Solver = "lbfgs",
        max_iter: int = 300,
        tol: float = 1e-6,
        reg: float = 0.0,
        verbose: int = 0,
        kernel: KernelLike = "rbf",
        gamma: float | str = "scale",
        degree: float = 3,
        coef0: float = 1.0,
        kernel_params: dict[str, Any] | None = None,
        n_components_kernel: float | None = 30,
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
        self.mu = mu
        self.n_passes = n_passes
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.reg = reg
        self.verbose = verbose

    def _linear(self) -> LMNN:
        return LMNN(**{name: getattr(self, name) for name in self._own})
