"""The only module that touches scikit-learn's private or experimental API.

Parameter validation and the data-frame adapters are private, and callbacks (scikit-learn 1.9) are
experimental. If a later version changes them, only this module has to change. In a version without
callbacks, a fit reports no progress.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from sklearn import get_config
from sklearn.base import BaseEstimator, _fit_context
from sklearn.utils import _safe_indexing
from sklearn.utils._array_api import check_same_namespace
from sklearn.utils._param_validation import (
    HasMethods,
    Interval,
    StrOptions,
    validate_parameter_constraints,
)
from sklearn.utils._set_output import ADAPTERS_MANAGER

from dimetric._arrays.global_state import safe_to_interrupt

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # pragma: no cover - scikit-learn before 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Empty substitute for scikit-learn's mixin."""

    def with_callbacks(method: Callable[..., Any]) -> Callable[..., Any]:
        """Return the method unchanged."""
        return method


__all__ = [
    "CallbackSupportMixin",
    "HasMethods",
    "Interval",
    "Progress",
    "QuickParamsMixin",
    "StrOptions",
    "check_params",
    "check_same_namespace",
    "fit_method",
    "take_samples",
    "wrap_like_input",
]


# Values of these types cannot change, and are valid whenever equal values of the type are.
PLAIN_TYPES = frozenset({bool, int, float, str, type(None)})


def check_params(estimator: BaseEstimator) -> None:
    """Validate the parameters of an estimator against its ``_parameter_constraints``."""
    params = estimator.get_params(deep=False)
    constraints, name = estimator._parameter_constraints, type(estimator).__name__
    types = tuple(map(type, params.values()))
    if PLAIN_TYPES.issuperset(types):
        # Lists may be changed in place, so the key of the cache contains their elements.
        items = ((k, tuple(v) if isinstance(v, list) else v) for k, v in constraints.items())
        _check_plain_values(tuple(items), tuple(params.items()), types, name)
    else:
        validate_parameter_constraints(constraints, params, caller_name=name)


@lru_cache(maxsize=1024)
def _check_plain_values(
    constraints: tuple[tuple[str, Any], ...],
    params: tuple[tuple[str, Any], ...],
    types: tuple[type, ...],
    name: str,
) -> None:
    """Validate the values of all parameters. Valid values are validated once only.

    The types distinguish values that are equal, such as 1 and True.
    """
    validate_parameter_constraints(dict(constraints), dict(params), caller_name=name)


@lru_cache(maxsize=256)
def _param_names(cls: type, init: Callable[..., None]) -> tuple[str, ...]:
    """Return the names of the parameters of an estimator's constructor `init`."""
    return tuple(BaseEstimator._get_param_names.__func__(cls))


class QuickParamsMixin:
    """Mixin for estimators whose parameters are found and validated fast."""

    @classmethod
    def _get_param_names(cls) -> list[str]:
        return list(_param_names(cls, cls.__init__))  # type: ignore[arg-type]

    def _validate_params(self) -> None:
        check_params(self)


def fit_method(method: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate ``fit``: validate the parameters first, and tear callbacks down at the end.

    After an interrupt, global settings such as NumPy's error state are as before.

    Parameters are also validated for a learner inside a classifier, because users set them too.
    """
    validated = _fit_context(prefer_skip_nested_validation=False)(method)
    return safe_to_interrupt(with_callbacks(validated))


def take_samples(X: Any, rows: Any) -> Any:
    """Return some rows of an array-like, sparse array or data frame."""
    return _safe_indexing(X, rows)


class Progress:
    """Report the progress of a fit to the callbacks of the estimator, which may stop the fit.

    Parameters
    ----------
    estimator : estimator
        The estimator that is being fitted.
    X, y : array-like
        The data that callbacks may use.
    max_iter : int
        Upper bound on the number of calls of :meth:`step`. It is 0 for a fit without iterations.
    """

    def __init__(self, estimator: BaseEstimator, X: Any, y: Any, max_iter: int = 0) -> None:
        self._data = {"estimator": estimator, "X": X, "y": y}
        self._root: Any = None
        if hasattr(estimator, "_init_callback_context"):
            self._root = estimator._init_callback_context(max_subtasks=max_iter)
            self._root.call_on_fit_task_begin(**self._data)

    def step(self, fitted_attributes: Callable[[], dict[str, Any]]) -> bool:
        """Report the end of an iteration, and return whether a callback requests a stop.

        Parameters
        ----------
        fitted_attributes : callable
            Returns the fitted attributes for the current iterate. It is called only if a callback
            needs them.
        """
        if self._root is None or not self._root._callbacks:
            return False
        # Solvers only report the end of an iteration, so its task begins and ends here.
        task = self._root.subcontext(task_name="iteration")
        task.call_on_fit_task_begin(**self._data)
        return bool(
            task.call_on_fit_task_end(**self._data, reconstruction_attributes=fitted_attributes)
        )

    def end(self) -> None:
        """Report the end of the fit."""
        if self._root is not None:
            self._root.call_on_fit_task_end(**self._data, reconstruction_attributes={})


def wrap_like_input(values: Any, X: Any, estimator: Any) -> Any:
    """Return `values` as a data frame of the same library as X, if X is a data frame.

    If the user chose a container with ``set_output`` or ``sklearn.set_config``, return `values`
    unchanged, because scikit-learn converts them.
    """
    chosen_container = getattr(estimator, "_sklearn_output_config", {}).get("transform")
    library = type(X).__module__.partition(".")[0]
    if chosen_container or get_config()["transform_output"] != "default":
        return values
    if library not in ADAPTERS_MANAGER.adapters or not hasattr(X, "columns"):
        return values
    adapter = ADAPTERS_MANAGER.adapters[library]
    return adapter.create_container(values, X, columns=estimator.get_feature_names_out)
