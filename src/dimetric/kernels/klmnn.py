"""Kernel large margin nearest neighbours."""

from typing import Any, ClassVar

from dimetric.kernels._base import KernelMetric
from dimetric.kernels.kernel import KernelLike
from dimetric.kernels.kernelized import KernelizedMetric
from dimetric.learners._base import NamedObjects
from dimetric.learners._input import CLASS_PARAMETERS
from dimetric.learners.lmnn import LMNN
from dimetric.solvers import Solver
from dimetric.supervision._weights import ClassWeight


class KLMNN(KernelizedMetric):
    r"""Large margin nearest neighbours in the feature space of a kernel.

    .. math:: \min_A \frac{1}{n} \Bigl[ (1 - \mu) \sum_{j \to i} d^2_{ij} + \mu \sum_{j \to i}
              \sum_{l:\, y_l \ne y_i} [1 + d^2_{ij} - d^2_{il}]_+ \Bigr], \qquad
              d_{ij} = |A (k_i - k_j)|

    :math:`k_i` are the columns of the kernel matrix. The targets :math:`j \to i` of a sample i are
    its nearest neighbours of the same class in feature space [1]_. Tied targets share places as in
    :class:`~dimetric.LMNN`. With the linear kernel, this is LMNN.

    Parameters
    ----------
    n_components : int or None, default=None
        Number of components, the rows of A. None is the number of coordinates of the feature space.
    n_neighbors : int, default=3
        Number of targets of each sample.
    mu : float, default=0.5
        Weight :math:`\mu` of the second sum (pushes), between 0 and 1. The first sum (pulls) has
        weight ``1 - mu``.
    n_passes : int, default=1
        Number of passes. Each pass after the first chooses new targets by the learned distance.
    solver : {"lbfgs", "bgd", "sgd", "sdp"} or solver object, default="lbfgs"
        See :class:`~dimetric.LMNN`.
    max_iter : int, default=300
        Maximum number of iterations of all passes together.
    tol : float, default=1e-6
        Tolerance. See :class:`~dimetric.LMNN`.
    reg : float, default=0.0
        Weight of the ridge penalty on the map in feature space. As for :class:`~dimetric.LMNN`, it
        multiplies the mean variance of the coordinates of the feature space.
    verbose : int, default=0
        Log each iteration if positive.
    random_state : int, RandomState or None, default=None
        Random seed for mini-batches. The `random_state` of the kernel controls the landmarks.
    kernel : str, callable or Kernel, default="rbf"
        The kernel. See :class:`~dimetric.kernels.Kernel`. By default, 30 coordinates are used,
        because time grows with their number.
    search : ApproximateNeighbors, neighbour model or None, default=None
        Approximate search for targets in feature space. See :class:`~dimetric.LMNN`.
    identity_mix : float in [0, 1], "auto" or None, default=None
        Weight of the identity in the metric of the coordinates. See :class:`~dimetric.LMNN`.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, which multiply the sample weights. "balanced" gives all classes the
        same total weight.
    unlabelled : float, str or None, default=None
        Value of `y` that marks unlabelled samples, often -1. These samples are ignored.

    Attributes
    ----------
    components_, offset_, X_fit_, landmarks_, gamma_, classes_, n_iter_, history_, n_features_in_
        See :class:`~dimetric.Kernelized`.

    References
    ----------
    .. [1] L. Torresani, K.-C. Lee, "Large margin component analysis", NeurIPS 2006.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> facts = KLMNN().fit(X, y).metadata()
    >>> facts["final_objective"] < facts["initial_objective"]
    True
    """

    _named_objects: ClassVar[NamedObjects] = {
        **KernelMetric._named_objects,
        **LMNN._named_objects,
    }
    _default_rank: ClassVar[int] = 30
    _lmnn_params: ClassVar[tuple[str, ...]] = (
        "n_components",
        "n_neighbors",
        "mu",
        "n_passes",
        "search",
        "solver",
        "max_iter",
        "tol",
        "reg",
        "identity_mix",
        "verbose",
        "random_state",
    )
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = (
        KernelMetric._parameter_constraints
        | {name: LMNN._parameter_constraints[name] for name in _lmnn_params}
        | CLASS_PARAMETERS
    )
    _uses_unlabelled = False  # the learner has no targets, which would refer to all rows of X

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
        random_state: Any = None,
        kernel: KernelLike = "rbf",
        search: Any = None,
        identity_mix: float | str | None = None,
        class_weight: ClassWeight = None,
        unlabelled: float | str | None = None,
    ) -> None:
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.mu = mu
        self.n_passes = n_passes
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.reg = reg
        self.verbose = verbose
        self.random_state = random_state
        self.kernel = kernel
        self.search = search
        self.identity_mix = identity_mix
        self.class_weight = class_weight
        self.unlabelled = unlabelled

    def _linear(self) -> LMNN:
        return LMNN(**{name: getattr(self, name) for name in self._lmnn_params})
