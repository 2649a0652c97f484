"""Any linear learner in the feature space of a kernel."""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

from sklearn.base import clone

from dimetric._arrays.namespaces import Array, asarray_like, namespace
from dimetric._compat import Progress, check_params
from dimetric.kernels._base import KernelMetric, blas_threads_for
from dimetric.kernels.kernel import KernelLike, as_kernel
from dimetric.learners._linear import LinearMetric
from dimetric.linalg.spectral import fixed_signs
from dimetric.supervision.labels import Supervision


class KernelizedMetric(KernelMetric):
    """A linear learner in the feature space of a kernel; a subclass says which, ``_linear()``."""

    _default_rank: ClassVar[int] = 100  # for Kernel(n_components="auto")
    _default_components: ClassVar[int | None] = None  # for n_components=None, if there are so many
    _min_classes: ClassVar[int] = 0

    @abstractmethod
    def _linear(self) -> LinearMetric:
        """Return the linear learner, not fitted."""

    def _kernel_rank(self) -> float | None:
        """Return how many coordinates of the feature space to keep."""
        asked = as_kernel(self.kernel).n_components
        return self._default_rank if isinstance(asked, str) else asked

    @property
    def _maximises(self) -> bool:  # type: ignore[override]
        return self._linear()._maximises

    def _max_steps(self) -> int:
        return self._linear()._max_steps()

    def _fit(self, X: Array, supervision: Supervision | None, progress: Progress) -> dict[str, Any]:
        if self._min_classes > 0 and len(self.classes_) < self._min_classes:
            raise ValueError(
                f"{type(self).__name__} needs at least {self._min_classes} classes; y holds "
                f"{len(self.classes_)}."
            )
        with blas_threads_for(X.shape[0]):
            return self._fit_in_space(X, supervision, progress)

    def _fit_in_space(
        self, X: Array, supervision: Supervision | None, progress: Progress
    ) -> dict[str, Any]:
        learner = self._linear()
        check_params(learner)
        space = self._space(X, self._kernel_rank(), principal=False)
        k = getattr(learner, "n_components", None)
        if k is not None and k > space.rank:
            raise ValueError(
                f"n_components={k} must be at most {space.rank}, the number of coordinates in the "
                f"kernel's space; n_features={self.n_features_in_}."
            )
        if k is None and self._default_components is not None:
            learner.set_params(n_components=min(self._default_components, space.rank))
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
        return facts | {"rank": learner._metric_rank(), "kernel_rank": space.rank}


def _signed_by(Z: Array, L: Array) -> Array:
    """Return the map with signs fixed by the mapped samples: those of coordinates are arbitrary."""
    xp = namespace(Z)
    scores = asarray_like(L, Z) @ Z.T
    flipped = xp.any(fixed_signs(scores) != scores, axis=1)
    return xp.where(flipped[:, None], -asarray_like(L, Z), asarray_like(L, Z))


class _InSpace(Progress):
    """Passes maps of coordinates on to callbacks as maps of samples."""

    def __init__(self, progress: Progress, mapped: Callable[[Array], dict[str, Array]]) -> None:
        self._progress, self._mapped = progress, mapped

    def step(self, fitted: Callable[[], dict[str, Any]]) -> bool:
        return self._progress.step(lambda: self._mapped(fitted()["components_"]))


class Kernelized(KernelizedMetric):
    r"""Any linear learner in the feature space of a kernel.

    .. math:: z = L\, \phi(x) = A\, (k(S, x) - o), \qquad k(x, x') = \phi(x) \cdot \phi(x')

    The samples get coordinates whose inner products are those of the centred samples in feature
    space. The learner learns from the coordinates as it does from features (neighbours are those of
    the feature space), and its map is turned into coefficients A. Whatever it finds lies in the
    span of the samples [1]_. In all coordinates, ``kernel=Kernel(n_components=None)``, this is
    exactly the learner in feature space if its result depends on these inner products alone. It
    does not if the result also depends

    - on the axes of the features, as with ITML and ``LDA(shrinkage="auto")``;
    - on directions without variance, which are no coordinates: a ridge or shrinkage that is a share
      of the mean variance is one of the mean over coordinates, and LDA and DMLMJ without any are
      other maps where there are fewer samples than features;
    - on the local optimum that a solver ends in, as with NCA, LMNN and NCMC.

    Parameters
    ----------
    learner : LinearMetric
        The learner, such as ``NCA()``. Its own parameters, such as `n_components` and `reg`, refer
        to the coordinates: a ridge on its map is one on the map of the feature space. If it learns
        from pairs or triplets, so does :meth:`fit`.
    kernel : str, callable or Kernel, default="rbf"
        The kernel, and how many coordinates of its feature space are kept; see
        :class:`~dimetric.kernels.Kernel`.

    Attributes
    ----------
    components_ : array of shape (n_components, n_references)
        Coefficients A: the map is ``(k(X, X_fit_) - offset_) @ A.T``.
    offset_ : array of shape (n_references,)
        Mean of the kernel over the samples of the fit.
    X_fit_ : array of shape (n_references, n_features) or None
        The samples of the fit, or landmarks; None if the kernel is precomputed.
    landmarks_ : array of shape (n_landmarks,)
        Rows of the landmarks, if there are any and they are samples.
    gamma_ : float
        Value of the kernel's gamma.
    classes_ : ndarray of shape (n_classes,)
        Labels, if the learner uses them.
    n_iter_ : int
        Number of iterations, if the learner iterates.
    history_ : tuple of float
        Objective at the start and after every iteration, if the learner iterates.
    n_features_in_ : int
        Number of features; ``feature_names_in_`` holds their names where X has any.

    Notes
    -----
    ``metadata()`` is that of the learner, and `kernel_rank`, the number of coordinates.

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

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = KernelMetric._parameter_constraints | {
        "learner": [LinearMetric]
    }

    def __init__(self, learner: LinearMetric, *, kernel: KernelLike = "rbf") -> None:
        self.learner = learner
        self.kernel = kernel

    def _linear(self) -> LinearMetric:
        return clone(self.learner)

    @property
    def _supervision_kinds(self) -> tuple[str, ...]:  # type: ignore[override]
        return getattr(self.learner, "_supervision_kinds", ("y",))

    @property
    def unlabelled(self) -> Any:
        """The label of samples without one, as the learner has it."""
        return getattr(self.learner, "unlabelled", None)
