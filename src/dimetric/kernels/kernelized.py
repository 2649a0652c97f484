"""Any linear learner in the feature space of a kernel."""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone

from dimetric._arrays.namespaces import Array, asarray_like, namespace, to_host
from dimetric._compat import Progress, check_params
from dimetric.blocks.source import Source
from dimetric.kernels._base import KernelMetric, blas_threads_for
from dimetric.kernels._block_space import UsedRows, with_fixed_signs
from dimetric.kernels.kernel import KernelLike, as_kernel
from dimetric.learners._block_fit import obstacle_of
from dimetric.learners._block_statistics import BlockLabels
from dimetric.learners._converted_progress import ConvertedProgress
from dimetric.learners._linear import LinearMetric
from dimetric.linalg.spectral import fixed_signs
from dimetric.supervision.labels import Supervision, weights_of


class KernelizedMetric(KernelMetric):
    """A linear learner in the feature space of a kernel. Subclasses return it by ``_linear``."""

    _default_rank: ClassVar[int] = 100  # number of coordinates for Kernel(n_components="auto")
    _default_components: ClassVar[int | None] = None  # upper limit for n_components=None

    @abstractmethod
    def _linear(self) -> LinearMetric:
        """Return the unfitted linear learner."""

    def _name_of_linear(self) -> str:
        """Return the name of the linear learner for messages: the class that the user wrote."""
        return type(self).__name__

    def _kernel_rank(self) -> float | None:
        """Return the `n_components` of the kernel, or the default for "auto"."""
        n_components = as_kernel(self.kernel).n_components
        return self._default_rank if isinstance(n_components, str) else n_components

    @property
    def _maximises(self) -> bool:  # type: ignore[override]
        return self._linear()._maximises

    @property
    def _accepts_weights(self) -> bool:  # type: ignore[override]
        return self._linear()._accepts_weights

    @property
    def _uses_unlabelled(self) -> bool:  # type: ignore[override]
        return self._linear()._uses_unlabelled

    def _learns_from_classes(self) -> bool:
        return self._linear()._learns_from_classes()

    @property
    def _min_classes(self) -> int:  # type: ignore[override]
        return self._linear()._min_classes

    @property
    def _learns_from_blocks(self) -> bool:  # type: ignore[override]
        return self._linear()._learns_from_blocks

    def _block_obstacle(self) -> str:
        learner = self._linear()
        learner._kernel_learner = self._name_of_linear()
        return super()._block_obstacle() or obstacle_of(learner)

    def _max_steps(self) -> int:
        return self._linear()._max_steps()

    def _fit(self, X: Array, supervision: Supervision | None, progress: Progress) -> dict[str, Any]:
        with blas_threads_for(X.shape[0]):
            return self._fit_in_space(X, supervision, progress)

    def _fit_in_space(
        self, X: Array, supervision: Supervision | None, progress: Progress
    ) -> dict[str, Any]:
        learner = self._named_linear()
        weights = weights_of(supervision)
        coordinates = self._fit_coordinates(X, self._kernel_rank(), weights, principal=False)
        self._prepare(learner, coordinates.rank)
        Z = coordinates.compute()
        if hasattr(self, "classes_"):
            learner.classes_ = self.classes_

        def of_samples(fitted: dict[str, Any]) -> dict[str, Any]:
            L = _with_fixed_signs(fitted["components_"], Z)
            return self._map_attributes(coordinates, L, X)

        facts = learner._learn(Z, supervision, ConvertedProgress(progress, of_samples))
        return self._set_fitted_attributes(learner, facts, coordinates.rank, of_samples)

    def _fit_blocks(self, source: Source, progress: Progress) -> dict[str, Any]:
        learner, used = self._named_linear(), UsedRows()
        if self._supervision_kinds and learner._learns_from_classes():
            labels = BlockLabels.of(self, source)
            used = UsedRows(labels, learner._uses_unlabelled)
            given = {"class_weight": labels.class_weight, "unlabelled": labels.unlabelled}
            known = learner.get_params(deep=False)
            learner.set_params(**{name: given[name] for name in given if name in known})
        space = self._fit_block_space(source, self._kernel_rank(), used)
        self._prepare(learner, space.rank)
        mapped, empty = space.of(source), np.empty((0, source.n_features), source.dtype)

        def of_samples(fitted: dict[str, Any]) -> dict[str, Any]:
            L = with_fixed_signs(to_host(fitted["components_"]), mapped, used)
            return self._map_attributes(space, L, empty)

        facts = learner._learn_blocks(mapped, ConvertedProgress(progress, of_samples))
        if hasattr(learner, "classes_"):
            self.classes_ = learner.classes_
        return self._set_fitted_attributes(learner, facts, space.rank, of_samples)

    def _named_linear(self) -> LinearMetric:
        """Return the unfitted linear learner, whose messages name the class the user wrote."""
        learner = self._linear()
        learner._kernel_learner = self._name_of_linear()
        check_params(learner)
        return learner

    def _prepare(self, learner: LinearMetric, rank: int) -> None:
        """Prepare the linear learner for a fit to coordinates. Raise if there are too few."""
        k = getattr(learner, "n_components", None)
        if k is not None and k > rank:
            raise ValueError(
                f"n_components={k} must be at most {rank}, the number of coordinates of the "
                "feature space. Choose a smaller n_components."
            )
        if k is None and self._default_components is not None:
            learner.set_params(n_components=min(self._default_components, rank))
        learner.n_features_in_ = rank
        if hasattr(learner, "_same_unit"):
            learner._same_unit = True

    def _set_fitted_attributes(
        self,
        learner: LinearMetric,
        facts: dict[str, Any],
        rank: int,
        of_samples: Callable[[dict[str, Any]], dict[str, Any]],
    ) -> dict[str, Any]:
        """Set the fitted attributes from the fitted linear learner, and return the metadata."""
        for name, value in of_samples({"components_": learner.components_}).items():
            setattr(self, name, value)
        if "n_iter" in facts:
            self.n_iter_, self.history_ = facts["n_iter"], learner.history_
        return facts | {"rank": learner._metric_rank(), "kernel_rank": rank}


def _with_fixed_signs(L: Array, Z: Array) -> Array:
    """Return L with the sign of each row chosen from the mapped samples L Z^T.

    The signs of the coordinates Z are arbitrary, so they must not decide the signs of the result.
    """
    xp = namespace(Z)
    scores = asarray_like(L, Z) @ Z.T
    flipped = xp.any(fixed_signs(scores) != scores, axis=1)
    return xp.where(flipped[:, None], -asarray_like(L, Z), asarray_like(L, Z))


class Kernelized(KernelizedMetric):
    r"""Any linear learner in the feature space of a kernel.

    .. math:: z = L\, \phi(x) = A\, (k(S, x) - o), \qquad k(x, x') = \phi(x) \cdot \phi(x')

    The training samples get coordinates with the same inner products as the centred samples in
    feature space. The learner is fitted to these coordinates as if they were features, so it also
    finds neighbours in feature space. Its map L is then converted to coefficients A. The solution
    lies in the span of the samples [1]_. Sample weights have the same meaning as for the learner,
    and the centre in feature space is the weighted mean.

    With all coordinates, ``kernel=Kernel(n_components=None)``, the result is exactly that of the
    learner in feature space if it only depends on these inner products. It can differ if the result
    of the learner also depends on

    - the axes of the features, as for ITML and ``LDA(shrinkage="auto")``;
    - directions without variance, because no coordinates correspond to them. A ridge or shrinkage
      relative to the mean variance then averages over the coordinates only. LDA and DMLMJ without
      regularisation give different maps if there are fewer samples than features;
    - the local optimum that a solver finds, as for NCA, LMNN and NCMC.

    Parameters
    ----------
    learner : LinearMetric
        The linear learner, such as ``NCA()``. Its parameters, such as `reg` and `identity_mix`,
        refer to the coordinates. :meth:`fit` accepts pairs or triplets if the learner does.
    kernel : str, callable or Kernel, default="rbf"
        The kernel, and the number of coordinates. See :class:`~dimetric.kernels.Kernel`.

    Attributes
    ----------
    components_ : array of shape (n_components, n_references)
        Coefficients A of the map ``(k(X, X_fit_) - offset_) @ A.T``.
    offset_ : array of shape (n_references,)
        Weighted mean o of the kernel over the training samples.
    X_fit_ : array of shape (n_references, n_features) or None
        The reference samples S: the training samples that the fit used, or the landmarks. None if
        the kernel is precomputed.
    landmarks_ : array of shape (n_landmarks,)
        Row indices of the landmarks in X. Not set without landmarks, or if they are cluster
        centres.
    gamma_ : float
        Value of the kernel's gamma.
    classes_ : ndarray of shape (n_classes,)
        Class labels, if the learner uses labels.
    n_iter_ : int
        Number of iterations, if the learner is iterative.
    history_ : tuple of float
        Objective at the start and after every iteration, if the learner is iterative.
    n_features_in_ : int
        Number of features. ``feature_names_in_`` holds their names, if X has column names.

    Notes
    -----
    ``metadata()`` adds the number of coordinates, `kernel_rank`, to the metadata of the learner.

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
    0.71
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

    def _name_of_linear(self) -> str:
        return type(self.learner).__name__

    @property
    def _supervision_kinds(self) -> tuple[str, ...]:  # type: ignore[override]
        return getattr(self.learner, "_supervision_kinds", ("y",))

    @property
    def unlabelled(self) -> Any:
        """The label that marks samples without a class, taken from the learner."""
        return getattr(self.learner, "unlabelled", None)

    @property
    def class_weight(self) -> Any:
        """The weights of the classes, taken from the learner."""
        return getattr(self.learner, "class_weight", None)
