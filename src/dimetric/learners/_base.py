"""The base class of all learners: fitting, input validation and metadata."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping
from time import perf_counter
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    clone,
)
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from dimetric._arguments import ArgumentErrorMixin
from dimetric._arrays.namespaces import Array, selected_rows
from dimetric._arrays.validation import checked_array
from dimetric._compat import CallbackSupportMixin, Progress, QuickParamsMixin, fit_method
from dimetric.blocks.lazy import lazy_on_dask
from dimetric.blocks.source import Source
from dimetric.learners._block_fit import block_source, fit_to_blocks
from dimetric.learners._input import checked_input
from dimetric.learners._sparse_fit import fit_in_basis
from dimetric.linalg.row_basis import RowBasis
from dimetric.supervision.labels import Supervision
from dimetric.supervision.pairs import Pairs
from dimetric.supervision.triplets import Triplets

# For each parameter: the accepted names, and the class that each name stands for.
NamedObjects: TypeAlias = Mapping[str, Mapping[str, type]]
# For each parameter: a function that recognises values that need all samples at once, and a text
# with the values to use for samples in blocks.
WholeSampleValues: TypeAlias = Mapping[str, tuple[Callable[[Any], bool], str]]


class Learner(
    ArgumentErrorMixin,
    QuickParamsMixin,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    CallbackSupportMixin,
    BaseEstimator,
    ABC,
):
    """Base class of learners, which learn a map from data.

    A subclass implements ``_fit``, which sets the fitted attributes and returns the metadata.
    """

    classes_: np.ndarray
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {}  # one entry per parameter
    _fitted_attributes: ClassVar[tuple[str, ...]]  # set by ``_fit``
    # The accepted supervision: any of "y", "pairs" and "triplets". Empty for unsupervised learners.
    _supervision_kinds: ClassVar[tuple[str, ...]] = ("y",)
    _named_objects: ClassVar[NamedObjects] = {}
    _maximises: ClassVar[bool] = False  # whether a larger ``final_objective`` is better
    _min_samples: ClassVar[int] = 2
    _min_classes: ClassVar[int] = 1
    _accepts_sparse: ClassVar[bool] = False
    # Whether ``_fit`` gets sparse samples. Otherwise it gets dense coordinates of them.
    _fits_sparse: ClassVar[bool] = False
    # Whether ``_fit`` raises an error for NaN and infinity. The validation then does not.
    _finds_invalid_values: bool = False
    _accepts_weights: ClassVar[bool] = False
    # Whether ``_fit`` gets unlabelled samples, with the code -1. Otherwise they are left out.
    _uses_unlabelled: bool = False
    # Whether ``_fit`` gets all rows of X. Rows that it must not use have the code -1 and weight 0.
    _keeps_rows: ClassVar[bool] = False
    # Whether the learner has a method ``_fit_blocks``.
    _learns_from_blocks: ClassVar[bool] = False
    _whole_sample_values: ClassVar[WholeSampleValues] = {}
    # Name of the kernel learner that fits this learner in its feature space. Otherwise not set.
    _kernel_learner: str

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        # After scikit-learn's wrapper of ``transform``, which would read whole Dask collections.
        if "transform" in vars(cls):
            cls.transform = lazy_on_dask(cls.transform)

    @property
    def _name(self) -> str:
        """Name of the learner that the user wrote, for messages."""
        return getattr(self, "_kernel_learner", type(self).__name__)

    @abstractmethod
    def _fit(self, X: Array, supervision: Supervision | None, progress: Progress) -> dict[str, Any]:
        """Learn from validated samples and supervision, and set the fitted attributes.

        Return the metadata, a dictionary with at least the key ``"n_components"``. Supervision is
        None for unsupervised learners.
        """

    def _learn(
        self, X: Array, supervision: Supervision | None, progress: Progress
    ) -> dict[str, Any]:
        """Call ``_fit``. A base class overrides this method to change the map of all subclasses."""
        return self._fit(X, supervision, progress)

    def _fit_blocks(self, source: Source, progress: Progress) -> dict[str, Any]:
        """Learn from samples in blocks, set the fitted attributes, and return the metadata."""
        raise NotImplementedError

    def _learn_blocks(self, source: Source, progress: Progress) -> dict[str, Any]:
        """Call ``_fit_blocks``. A base class overrides this method as ``_learn``."""
        return self._fit_blocks(source, progress)

    def _block_obstacle(self) -> str:
        """Return why nested objects need all samples at once, or an empty string."""
        return ""

    def _max_steps(self) -> int:
        """Return the maximum number of iterations of a fit, or 0 if there are no iterations."""
        return getattr(self, "max_iter", 0)

    @fit_method
    def fit(
        self,
        X: Array,
        y: Array | None = None,
        *,
        pairs: Pairs | None = None,
        triplets: Triplets | None = None,
        sample_weight: Any = None,
    ) -> Self:
        """Learn the map from the samples and from labels, targets, pairs or triplets.

        Supervised learners need exactly one of `y`, `pairs` and `triplets`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples, as a NumPy array, a pandas or polars data frame, a SciPy sparse array, or an
            array of any array API library. None if `pairs` or `triplets` contain the samples. Some
            learners also accept samples in blocks: a Dask array or data frame, a memory map, or a
            function that returns an iterator over blocks ``(X, y)``.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), optional
            Labels, or targets for learners that accept them. Unsupervised learners ignore them.
        pairs : Pairs, optional
            Similar and dissimilar pairs of samples, for learners that accept pairs.
        triplets : Triplets, optional
            Triplets (anchor, closer sample, farther sample), for learners that accept triplets.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the samples, which are at least 0. A sample of weight 0 is left out.

        Returns
        -------
        self : object
            The fitted learner.
        """
        started = perf_counter()
        if not getattr(self, "warm_start", False):
            self._delete_fitted_attributes()
        try:
            source = None
            if pairs is None and triplets is None:
                source = block_source(self, X, y, sample_weight)
            if source is not None:
                return fit_to_blocks(self, source, started)
            given = checked_input(
                self, X, y=y, pairs=pairs, triplets=triplets, sample_weight=sample_weight
            )
            progress = Progress(self, given.samples if X is None else X, y, self._max_steps())
            metadata = fit_in_basis(self, given.samples, given.supervision, progress)
            self._check_fitted(metadata)
            if not np.all(given.used):
                self._restore_rows(given.used)
        except BaseException:
            # Also after an interrupt: attributes of two different fits must not be mixed.
            self._delete_fitted_attributes()
            raise
        self._metadata = metadata | given.metadata | {"time": perf_counter() - started}
        progress.end()
        return self

    def fit_transform(self, X: Array, y: Array | None = None, **constraints: Any) -> Array:
        """Learn the map and return the mapped samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples. None if the pairs or triplets contain the samples, which are then mapped.
        y, **constraints
            Labels, pairs or triplets, as in :meth:`fit`.

        Returns
        -------
        Z : array of shape (n_samples, n_components)
            Mapped samples, in the array library, dtype and device of X. A data frame if X is one.
        """
        if X is None:
            points = [each.points for each in constraints.values() if hasattr(each, "points")]
            X = points[0] if len(points) == 1 else None
        return super().fit_transform(X, y, **constraints)

    def metadata(self) -> dict[str, Any]:
        """Return information about the fit, such as the objective, iterations and time."""
        check_is_fitted(self)
        return dict(self._metadata)

    def set_params(self, **params: Any) -> Self:
        """Set parameters.

        Parameters
        ----------
        **params
            Parameters of the learner. Parameters of a nested object, such as the solver, are set
            as ``solver__batch_size=32``.

        Returns
        -------
        self : object
            The learner.
        """
        for key, value in params.items():
            name, _, inner = key.partition("__")
            outer_value = params.get(name, getattr(self, name, None))
            if not inner or hasattr(outer_value, "set_params"):
                continue
            if name in self._named_objects:
                raise ValueError(self._nested_parameter_message(name, outer_value, inner, value))
            if isinstance(outer_value, str):
                raise ValueError(f"{key} cannot be set: {name}={outer_value!r} has no parameters.")
        return super().set_params(**params)

    def _nested_parameter_message(self, name: str, outer_value: Any, inner: str, value: Any) -> str:
        """Return the error message for a nested parameter, and suggest an object that has it."""
        current = self._object_for(name, outer_value)
        others = [cls() for cls in dict.fromkeys(self._named_objects[name].values())]
        match = next((each for each in (current, *others) if inner in each.get_params()), None)
        learner = self._name
        if match is None:
            return f"{name}__{inner} cannot be set: no {name} of {learner} has that parameter."
        module = type(match).__module__.rpartition(".")[0]
        example = f"{learner}({name}={match.set_params(**{inner: value})!r})"
        if match is current:
            return (
                f"{name}__{inner} cannot be set while {name}={outer_value!r}. Pass an object from "
                f"{module} instead: {example}."
            )
        return (
            f"{name}={outer_value!r} has no parameter {inner!r}. Use {type(match).__name__} from "
            f"{module} instead: {example}."
        )

    def _object_for(self, name: str, value: Any = None) -> Any:
        """Return the object for a parameter whose value is an object or the name of one.

        If `value` is not None, it is used instead of the value of the parameter.
        """
        value = getattr(self, name) if value is None else value
        known = self._named_objects[name]
        if isinstance(value, str) and value in known:
            return known[value]()
        if isinstance(value, tuple(known.values())):
            return value
        names = ", ".join(repr(each) for each in known)
        objects = ", ".join(f"{cls.__name__}()" for cls in dict.fromkeys(known.values()))
        raise ValueError(
            f"{self._name} cannot use {name}={value!r}. Use one of the names {names}, or "
            f"one of the objects {objects}."
        )

    def _check_fitted(self, metadata: Any) -> None:
        """Raise if ``_fit`` did not set an attribute or did not return the metadata."""
        method = f"{type(self).__name__}._fit"
        missing = [name for name in self._fitted_attributes if not hasattr(self, name)]
        if missing:
            raise TypeError(f"{method} must set {' and '.join(missing)}.")
        if not isinstance(metadata, dict) or "n_components" not in metadata:
            returned = list(metadata) if isinstance(metadata, dict) else type(metadata).__name__
            raise TypeError(
                f"{method} must return the metadata, a dictionary with the key 'n_components', "
                f"but it returned {returned}."
            )

    def _delete_fitted_attributes(self) -> None:
        """Delete all fitted attributes."""
        for name in [name for name in vars(self) if name.endswith("_")]:
            delattr(self, name)

    def _learns_from_classes(self) -> bool:
        """Return whether `y` holds classes. Otherwise it holds other targets."""
        return True

    def _take_samples(self, X: Array, rows: np.ndarray) -> Array:
        """Return some of the samples of a validated X."""
        return selected_rows(X, rows)

    def _axis_parameter(self) -> str:
        """Return the setting that refers to single features, such as "diagonal=True", or "".

        Sparse samples with many features are not fitted with such a setting.
        """
        return "diagonal=True" if getattr(self, "diagonal", False) else ""

    def _move_to_basis(self, basis: RowBasis) -> None:
        """Convert parameters and attributes that refer to the features to those of a basis."""

    def _restore_rows(self, used: np.ndarray) -> None:
        """Let fitted attributes refer to all rows of X, of which only some were used.

        A subclass overrides this method if its attributes hold row indices of X.
        """

    def _checked_mapped(self, Z: Array) -> Array:
        """Return mapped samples as an array. Raise if the number of components is wrong."""
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
        tags.target_tags.multi_output = not self._learns_from_classes()
        tags.input_tags.sparse = self._accepts_sparse
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        tags.array_api_support = True
        return tags


def with_objects(learner: Any, names: Collection[str] | None = None) -> Any:
    """Return a copy of a learner with objects instead of names, such as LBFGS() for "lbfgs".

    Nested parameters, such as ``solver__batch_size``, can then be set.

    Parameters
    ----------
    learner : Learner
        The learner. Any other estimator is returned unchanged.
    names : collection of str, optional
        Parameters to replace. By default, all parameters that accept objects.

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
