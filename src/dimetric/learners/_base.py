"""What all learners share: the fit template, checks of the input, and metadata."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from time import perf_counter
from typing import Any, ClassVar, Self, TypeAlias

from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    clone,
)
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from dimetric._arrays.namespaces import Array
from dimetric._arrays.validation import (
    checked_array,
    checked_samples,
    checked_samples_with_labels,
    encode_labels,
)
from dimetric._compat import CallbackSupportMixin, Progress, fit_method
from dimetric.supervision._validation import checked_constraints, supervision_source
from dimetric.supervision.labels import Labels, Supervision
from dimetric.supervision.pairs import Pairs
from dimetric.supervision.triplets import Triplets

# By parameter: the names that are short for objects, and the classes of these.
NamedObjects: TypeAlias = Mapping[str, Mapping[str, type]]


class Learner(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, CallbackSupportMixin, BaseEstimator, ABC
):
    """A learner of a map, linear or not.

    A learner implements ``_fit``, which sets the fitted attributes and returns the metadata.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {}  # one entry for each parameter
    _fitted_attributes: ClassVar[tuple[str, ...]]  # what ``_fit`` must set
    # What it can learn from: "y", "pairs", "triplets"; nothing if it learns from X alone.
    _supervision_kinds: ClassVar[tuple[str, ...]] = ("y",)
    _named_objects: ClassVar[NamedObjects] = {}  # what it accepts
    _maximises: ClassVar[bool] = False  # whether a larger ``final_objective`` is better
    _min_samples: ClassVar[int] = 2
    _accepts_sparse: ClassVar[bool] = False

    @abstractmethod
    def _fit(self, X: Array, supervision: Supervision | None, progress: Progress) -> dict[str, Any]:
        """Set the fitted attributes from checked samples and supervision; return the metadata.

        The metadata is a dictionary with at least the key ``"n_components"``. Supervision is None
        for a learner that learns from X alone.
        """

    def _max_steps(self) -> int:
        """Return how many iterations a fit may take; 0 for one without iterations."""
        return getattr(self, "max_iter", 0)

    @fit_method
    def fit(
        self,
        X: Array,
        y: Array | None = None,
        *,
        pairs: Pairs | None = None,
        triplets: Triplets | None = None,
    ) -> Self:
        """Learn the map, from exactly one of labels, pairs and triplets.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples: NumPy, pandas, polars, or an array of any array-API namespace. None if pairs
            or triplets hold vectors of their own.
        y : array-like of shape (n_samples,), optional
            Labels. Learners that use none ignore them.
        pairs : Pairs, optional
            Which samples are similar and which are not, for learners that say so.
        triplets : Triplets, optional
            Which samples are more similar than others, for learners that say so.

        Returns
        -------
        self : object
            The fitted learner.
        """
        started = perf_counter()
        if not getattr(self, "warm_start", False):
            self._forget()
        try:
            samples, supervision = self._checked(X, y=y, pairs=pairs, triplets=triplets)
            progress = Progress(self, samples if X is None else X, y, self._max_steps())
            metadata = self._fit(samples, supervision, progress)
            self._check_fitted(metadata)
        except BaseException:
            # After an interrupt, too: attributes of this fit and of the last one do not match.
            self._forget()
            raise
        self._metadata = metadata | {"time": perf_counter() - started}
        progress.end()
        return self

    def fit_transform(self, X: Array, y: Array | None = None, **given: Any) -> Array:
        """Learn the map and return the samples under it.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples. None if pairs or triplets hold vectors of their own, which are then returned
            under the map.
        y, **given
            Labels, pairs or triplets, as those of :meth:`fit`.

        Returns
        -------
        Z : array of shape (n_samples, n_components)
            In X's namespace, dtype and device; a data frame where X is one.
        """
        if X is None:
            points = [getattr(constraints, "points", None) for constraints in given.values()]
            X = points[0] if len(points) == 1 else None
        return super().fit_transform(X, y, **given)

    def metadata(self) -> dict[str, Any]:
        """Return what is known about the fit: objective, iterations, reason, time, ..."""
        check_is_fitted(self)
        return dict(self._metadata)

    def set_params(self, **params: Any) -> Self:
        """Set parameters.

        Parameters
        ----------
        **params
            Parameters of the learner, and of objects that are its parameters, as in
            ``solver__batch_size=32``.

        Returns
        -------
        self : object
            The learner.
        """
        for key, value in params.items():
            name, _, inner = key.partition("__")
            given = params.get(name, getattr(self, name, None))
            if not inner or hasattr(given, "set_params"):
                continue
            if name in self._named_objects:
                raise ValueError(self._object_to_pass(name, given, inner, value))
            if isinstance(given, str):
                raise ValueError(f"{name}={given!r} has no parameters: {key} cannot be set.")
        return super().set_params(**params)

    def _object_to_pass(self, name: str, given: Any, inner: str, value: Any) -> str:
        """Say which object has the nested parameter `inner`, where `given` is only a name."""
        own = self._object_for(name, given)
        others = [cls() for cls in dict.fromkeys(self._named_objects[name].values())]
        found = next((each for each in (own, *others) if inner in each.get_params()), None)
        if found is None:
            return f"{name}={given!r} has no parameter {inner!r}, and neither has any other {name}."
        room = type(found).__module__.rpartition(".")[0]
        example = f"{type(self).__name__}({name}={found.set_params(**{inner: value})!r})"
        if found is own:
            return (
                f"{name}={given!r} is short for an object of {room}: to set its parameters pass "
                f"the object, {example}."
            )
        return (
            f"{name}={given!r} has no parameter {inner!r}, but {type(found).__name__} of {room} "
            f"has: pass that object, {example}."
        )

    def _object_for(self, name: str, given: Any = None) -> Any:
        """Return the object that a parameter holds, or that its value is short for.

        `given` is a value in place of the parameter's own.
        """
        given = getattr(self, name) if given is None else given
        known = self._named_objects[name]
        if isinstance(given, str) and given in known:
            return known[given]()
        if isinstance(given, tuple(known.values())):
            return given
        names = ", ".join(repr(each) for each in known)
        objects = ", ".join(f"{cls.__name__}()" for cls in dict.fromkeys(known.values()))
        raise ValueError(
            f"{type(self).__name__} cannot use {name}={given!r}. Names that it knows are {names}; "
            f"objects that it can use are {objects}."
        )

    def _check_fitted(self, metadata: Any) -> None:
        """Raise if ``_fit`` left out what the contract of learners asks for."""
        method = f"{type(self).__name__}._fit"
        missing = [name for name in self._fitted_attributes if not hasattr(self, name)]
        if missing:
            raise TypeError(f"{method} must set {' and '.join(missing)}.")
        if not isinstance(metadata, dict) or "n_components" not in metadata:
            told = list(metadata) if isinstance(metadata, dict) else type(metadata).__name__
            raise TypeError(
                f"{method} must return the metadata, a dictionary with the key 'n_components'; "
                f"it returned {told}."
            )

    def _forget(self) -> None:
        """Delete all fitted attributes."""
        for name in [name for name in vars(self) if name.endswith("_")]:
            delattr(self, name)

    def _checked(self, X: Array | None, **given: Any) -> tuple[Array, Supervision | None]:
        """Return the samples as an array, and what to learn from beside them.

        Labels equal to the parameter ``unlabelled``, where a learner has it, stand for no label.
        """
        kind = supervision_source(self, self._supervision_kinds, **given)
        for name in ("classes_", "targets_", "threshold_"):  # of a fit with other supervision
            self.__dict__.pop(name, None)
        if kind is None:
            return checked_samples(self, X, reset=True, min_samples=self._min_samples), None
        if kind != "y":
            return checked_constraints(self, X, given[kind], kind, min_samples=self._min_samples)
        samples, y = checked_samples_with_labels(
            self, X, given["y"], reset=True, min_samples=self._min_samples
        )
        self.classes_, codes = encode_labels(y, getattr(self, "unlabelled", None))
        return samples, Labels(codes, self.classes_)

    def _checked_mapped(self, Z: Array) -> Array:
        """Return mapped samples as an array, or raise if they are not of as many components."""
        Z = checked_array(Z, "Z")
        if Z.shape[1] != self._n_features_out:
            raise ValueError(
                f"Z has {Z.shape[1]} columns, but {type(self).__name__} maps to "
                f"{self._n_features_out} components."
            )
        return Z

    def __sklearn_is_fitted__(self) -> bool:
        return all(hasattr(self, name) for name in self._fitted_attributes)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = bool(self._supervision_kinds)
        tags.input_tags.sparse = self._accepts_sparse
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        tags.array_api_support = True
        return tags


def with_objects(learner: Any, names: Collection[str] | None = None) -> Any:
    """Return a copy of a learner whose parameters are objects where they were names of objects.

    Nested parameters, such as ``solver__batch_size``, can then be set.

    Parameters
    ----------
    learner : Learner
        The learner. Anything else is returned as it is.
    names : collection of str, optional
        Parameters to replace. By default all that can be objects.

    Examples
    --------
    >>> from dimetric import KLMNN
    >>> with_objects(KLMNN(kernel="poly", solver="sgd"), ["kernel"])
    KLMNN(kernel=Kernel(name='poly'), solver='sgd')
    """
    if not isinstance(learner, Learner):
        return learner
    copy = clone(learner)
    wanted = [name for name in copy._named_objects if names is None or name in names]
    return copy.set_params(**{name: copy._object_for(name) for name in wanted})
