"""The only module that touches scikit-learn's private or experimental API.

Parameter validation is private there, callbacks (1.9) are experimental, and so are the data-frame
adapters. A change in a later scikit-learn is handled here alone; without callbacks a fit runs
silently.
"""

from collections.abc import Callable
from typing import Any

from sklearn import get_config
from sklearn.base import BaseEstimator, _fit_context
from sklearn.utils._array_api import check_same_namespace
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils._set_output import ADAPTERS_MANAGER

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # pragma: no cover - a scikit-learn without callbacks

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Replaces scikit-learn's class if there are no callbacks."""

    def with_callbacks(method: Callable[..., Any]) -> Callable[..., Any]:
        """Return the method unchanged."""
        return method


__all__ = [
    "CallbackSupportMixin",
    "HasMethods",
    "Interval",
    "Progress",
    "StrOptions",
    "check_params",
    "check_same_namespace",
    "fit_method",
    "wrap_like_input",
]


def check_params(estimator: BaseEstimator) -> None:
    """Raise unless the parameters of an estimator meet its ``_parameter_constraints``."""
    estimator._validate_params()


def fit_method(method: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a ``fit``: validate parameters first, and always tear callbacks down.

    This holds for a learner within a classifier too: its parameters are also set by users.
    """
    return with_callbacks(_fit_context(prefer_skip_nested_validation=False)(method))


class Progress:
    """Report the progress of a fit to the estimator's callbacks, which may ask to stop.

    Parameters
    ----------
    estimator : estimator
        The estimator that is being fitted.
    X, y : array-like
        The data that callbacks may use.
    max_iter : int
        Upper bound of the number of :meth:`step` calls; 0 for a fit without iterations.
    """

    def __init__(self, estimator: BaseEstimator, X: Any, y: Any, max_iter: int = 0) -> None:
        self._data = {"estimator": estimator, "X": X, "y": y}
        self._root: Any = None
        if hasattr(estimator, "_init_callback_context"):
            self._root = estimator._init_callback_context(max_subtasks=max_iter)
            self._root.call_on_fit_task_begin(**self._data)

    def step(self, fitted: Callable[[], dict[str, Any]]) -> bool:
        """Report the end of an iteration; return whether a callback asks to stop.

        Parameters
        ----------
        fitted : callable
            Returns, on demand, the attributes of an estimator fitted to this iterate.
        """
        if self._root is None or not self._root._callbacks:
            return False
        # A solver reports the end of an iteration, not its beginning.
        task = self._root.subcontext(task_name="iteration")
        task.call_on_fit_task_begin(**self._data)
        return bool(task.call_on_fit_task_end(**self._data, reconstruction_attributes=fitted))

    def end(self) -> None:
        """Report the end of the fit."""
        if self._root is not None:
            self._root.call_on_fit_task_end(**self._data, reconstruction_attributes={})


def wrap_like_input(values: Any, X: Any, estimator: Any) -> Any:
    """Return `values` as a data frame of X's kind, if X is one and no container was chosen.

    If ``set_output`` or ``sklearn.set_config`` chose one, scikit-learn converts the values.
    """
    asked = getattr(estimator, "_sklearn_output_config", {}).get("transform")
    library = type(X).__module__.partition(".")[0]
    if asked or get_config()["transform_output"] != "default":
        return values
    if library not in ADAPTERS_MANAGER.adapters or not hasattr(X, "columns"):
        return values
    adapter = ADAPTERS_MANAGER.adapters[library]
    return adapter.create_container(values, X, columns=estimator.get_feature_names_out)
