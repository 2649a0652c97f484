"""Any linear learner in the feature space of a kernel."""

from abc import abstractmethod
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, ClassVar

from sklearn.base import clone

from dimetric._arrays.namespaces import Array, like, namespace
from dimetric._compat import Interval, Progress, check_params
from dimetric.kernels._base import KernelMetric, blas_threads_for
from dimetric.kernels.functions import KernelLike
from dimetric.learners._linear import LinearMetric
from dimetric.linalg.spectral import fixed_signs
from dimetric.supervision.labels import Supervision


class KernelizedMetric(KernelMetric):
    """A linear learner in the feature space of a kernel; a subclass says which, ``_linear()``."""

    _most_components: ClassVar[int | None] = None  # that n_components=None stands for
    _fewest_classes: ClassVar[int] = 0
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = KernelMetric._kernel_constraints | {
        "n_components_kernel": [
            Interval(Integral, 1, None, closed="left"),
            Interval(Real, 0, 1, closed="neither"),
            None,
        ],
    }

    def __init__(
        self,
        *,
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
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.n_components_kernel = n_components_kernel
        self.n_landmarks = n_landmarks
        self.landmarks = landmarks
        self.random_state = random_state

    @abstractmethod
    def _linear(self) -> LinearMetric:
        """Return the linear learner, not fitted."""

    def _max_steps(self) -> int:
        return self._linear()._max_steps()

    def _fit(self, X: Array, supervision: Supervision | None, progress: Progress) -> dict[str, Any]:
        if self._fewest_classes > 0 and len(self.classes_) < self._fewest_classes:
            raise ValueError(
                f"{type(self).__name__} needs at least {self._fewest_classes} classes; y holds "
                f"{len(self.classes_)}."
            )
        with blas_threads_for(X.shape[0]):
            return self._fit_in_space(X, supervision, progress)

    def _fit_in_space(
        self, X: Array, supervision: Supervision | None, progress: Progress
    ) -> dict[str, Any]:
        learner = self._linear()
        check_params(learner)
        space = self._space(X, self.n_components_kernel, principal=False)
        k = getattr(learner, "n_components", None)
        if k is not None and k > space.rank:
            raise ValueError(
                f"n_components={k} must be at most {space.rank}, the number of coordinates in the "
                f"kernel's space; n_features={self.n_features_in_}."
            )
        if k is None and self._most_components is not None:
            learner.set_params(n_components=min(self._most_components, space.rank))
        Z = space.scores()
        learner.n_features_in_ = space.rank
        if hasattr(self, "classes_"):
            learner.classes_ = self.classes_

        def mapped(L: Array) -> dict[str, Array]:
            return self._map(space, _signed_by(Z, L), X)

        facts = learner._fit(Z, supervision, _InSpace(progress, mapped))
        for name, value in mapped(learner.components_).items():
            setattr(self, name, value)
        if "n_iter" in facts:
            self.n_iter_, self.history_ = facts["n_iter"], learner.history_
        return facts | {"rank": learner._map_rank(), "kernel_rank": space.rank}


def _signed_by(Z: Array, L: Array) -> Array:
    """Return the map with signs by what it makes of samples: coordinates have none of their own."""
    xp = namespace(Z)
    scores = like(L, Z) @ Z.T
    flipped = xp.any(fixed_signs(scores) != scores, axis=1)
    return xp.where(flipped[:, None], -like(L, Z), like(L, Z))


class _InSpace(Progress):
    """Tells callbacks of maps of coordinates as of maps of samples."""

    def __init__(self, progress: Progress, mapped: Callable[[Array], dict[str, Array]]) -> None:
        self._progress, self._mapped = progress, mapped

    def step(self, fitted: Callable[[], dict[str, Any]]) -> bool:
        return self._progress.step(lambda: self._mapped(fitted()["components_"]))


class Kernelized(KernelizedMetric):
    r"""Any linear learner in the feature space of a kernel.

    .. math:: z = L\, \phi(x) = A\, (k(S, x) - o), \qquad k(x, x') = \phi(x) \cdot \phi(x')

    The samples get coordinates that have their inner products in feature space, seen from their
    mean. The learner learns from these as it does from features, neighbours among them, and its map
    is turned into coefficients A. Whatever it finds lies in the span of the samples [1]_, so that
    in all coordinates (``n_components_kernel=None``) this is the learner in feature space, if its
    answer depends on those inner products alone:

    - neither on the axes that features are measured along, as those of ITML and
      ``LDA(shrinkage="auto")`` do;
    - nor on directions in which no samples differ, which are no coordinates: a ridge or shrinkage
      that is a share of the mean variance is one of the mean over coordinates, and LDA and DMLMJ
      without any are other maps where there are fewer samples than features;
    - nor on which local optimum a descent, such as NCA's, LMNN's and NCMC's, ends in.

    Parameters
    ----------
    learner : LinearMetric
        The learner, such as ``NCA()``. Its own parameters, `n_components` and `reg` among them,
        are about the coordinates: a ridge on its map is one on the map of the feature space. If it
        learns from pairs or triplets, so does :meth:`fit`.
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
        Most coordinates: the principal ones in the span of twice as many samples, each of which is
        the farthest from the span of those before. In all coordinates (None) many kernels tell any
        samples apart, and learners overfit; and time grows with the third power of their number.
        A float is the share of the variance that the samples of the span must have at least.
    n_landmarks : int or None, default=None
        As in :class:`~dimetric.KPCA`.
    landmarks : {"uniform", "greedy", "kmeans"}, default="uniform"
        As in :class:`~dimetric.KPCA`.
    random_state : int, RandomState or None, default=None
        Of the landmarks.

    Attributes
    ----------
    components_ : array of shape (n_components, n_references)
        Coefficients A: the map is ``(k(X, X_fit_) - offset_) @ A.T``.
    offset_ : array of shape (n_references,)
        Mean of the kernel over the samples of the fit.
    X_fit_ : array of shape (n_references, n_features) or None
        The samples of the fit, or landmarks; None if the kernel is precomputed.
    landmarks_ : array of shape (n_landmarks,)
        Rows of the landmarks, if there are any that are samples.
    gamma_ : float
        The gamma used.
    classes_ : ndarray of shape (n_classes,)
        Labels, if the learner uses any.
    n_iter_ : int
        Iterations of the learner, if it has any.
    history_ : tuple of float
        Its objective at the start and after every iteration, if it has any.
    n_features_in_ : int
        Number of features; ``feature_names_in_`` holds their names where X has any.

    Notes
    -----
    ``metadata()`` has what the learner's has, and as `kernel_rank` the number of coordinates.

    References
    ----------
    .. [1] R. Chatpatanasiri, T. Korsrilabutr, P. Tangchanachaianan, B. Kijsirikul, "A new
       kernelization framework for Mahalanobis distance learning algorithms", Neurocomputing 73,
       2010.

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> from dimetric import NCA
    >>> X, y = make_circles(200, factor=0.5, noise=0.1, random_state=0)
    >>> round(NCA(1).fit(X, y).metadata()["final_objective"], 2)
    0.72
    >>> round(Kernelized(NCA(1)).fit(X, y).metadata()["final_objective"], 2)
    1.0
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = (
        KernelizedMetric._parameter_constraints | {"learner": [LinearMetric]}
    )

    def __init__(
        self,
        learner: LinearMetric,
        *,
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
        self.learner = learner

    def _linear(self) -> LinearMetric:
        return clone(self.learner)

    @property
    def _supervision_kinds(self) -> tuple[str, ...]:  # type: ignore[override]
        return getattr(self.learner, "_supervision_kinds", ("y",))

    @property
    def unlabelled(self) -> Any:
        """The label of samples without one, as the learner has it."""
        return getattr(self.learner, "unlabelled", None)
