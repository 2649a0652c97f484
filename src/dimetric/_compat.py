"""The only module that touches scikit-learn's private or experimental API.

Parameter validation is private there, callbacks (1.9) are experimental, and so are the data-frame
adapters. Whatever moves in a later scikit-learn is mended here; without callbacks a fit runs on
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
except ImportError:  # pragma: no cover - a scikit-learn that dropped or moved the experiment

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stands in where scikit-learn has no callbacks."""

    def with_callbacks(method: Callable[..., Any]) -> Callable[..., Any]:
        """Leave the method as it is."""
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
    "framed",
    "validate_params",
]


def check_params(estimator: BaseEstimator) -> None:
    """Raise unless the parameters of an estimator meet its ``_parameter_constraints``."""
    estimator._validate_params()


def fit_method(method: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a ``fit``: parameters are validated first, callbacks always torn down.

    Those of a learner within a classifier too: they are a user's as well.
    """
    return with_callbacks(_fit_context(prefer_skip_nested_validation=False)(method))


def validate_params(estimator: BaseEstimator) -> None:
    """Raise a ValueError that names the first parameter with a value that is not allowed."""
    estimator._validate_params()


class Progress:
    """Tell an estimator's callbacks how its fit goes on, and hear whether to stop.

    Parameters
    ----------
    estimator : estimator
        The estimator that is being fitted.
    X, y : array-like
        The data that callbacks may look at.
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
        """Tell of an iteration that has ended; return whether a callback asks to stop.

        Parameters
        ----------
        fitted : callable
            Gives, on demand, the attributes that would make a fitted estimator of this iterate.
        """
        if self._root is None or not self._root._callbacks:
            return False
        # A solver tells when an iteration ends, not when it begins.
        task = self._root.subcontext(task_name="iteration")
        task.call_on_fit_task_begin(**self._data)
        return bool(task.call_on_fit_task_end(**self._data, reconstruction_attributes=fitted))

    def end(self) -> None:
        """Tell that the fit has ended."""
        if self._root is not None:
            self._root.call_on_fit_task_end(**self._data, reconstruction_attributes={})


def framed(values: Any, X: Any, estimator: Any) -> Any:
    """Give `values` back as a data frame of X's kind, if X is one and nothing else was asked for.

    A container chosen by ``set_output`` or ``sklearn.set_config`` is scikit-learn's business.
    """
    asked = getattr(estimator, "_sklearn_output_config", {}).get("transform")
    library = type(X).__module__.partition(".")[0]
    if asked or get_config()["transform_output"] != "default":
        return values
    if library not in ADAPTERS_MANAGER.adapters or not hasattr(X, "columns"):
        return values
    adapter = ADAPTERS_MANAGER.adapters[library]
    return adapter.create_container(values, X, columns=estimator.get_feature_names_out)
