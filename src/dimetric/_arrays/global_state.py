"""Protection of global settings against interrupts."""

import threading
import warnings
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import numpy as np
from sklearn import get_config, set_config

from dimetric._arrays.blas_limit import one_blas_thread

F = TypeVar("F", bound=Callable[..., Any])


class GlobalState:
    """A copy of the settings that context managers change temporarily.

    The settings are NumPy's error state, the warning filters, scikit-learn's configuration, and the
    number of BLAS threads.
    """

    def __init__(self) -> None:
        self._numpy, self._numpy_call = np.geterr(), np.geterrcall()
        self._sklearn = get_config()
        self._blas_users = one_blas_thread.users_of_this_thread()
        # catch_warnings() replaces these attributes, the last one if it records the warnings.
        names = ("filters", "showwarning", "_showwarnmsg_impl")
        self._warnings = {name: getattr(warnings, name) for name in names}

    def restore(self) -> None:
        """Restore the settings."""
        new_users = one_blas_thread.users_of_this_thread() - self._blas_users
        one_blas_thread.leave_after_interrupt(new_users)
        np.seterr(**self._numpy)
        np.seterrcall(self._numpy_call)
        set_config(**self._sklearn)
        for name, value in self._warnings.items():
            setattr(warnings, name, value)
        with warnings.catch_warnings():
            pass  # makes Python drop its cache of the filters


def safe_to_interrupt(function: F) -> F:
    """Decorate a function: if Ctrl-C interrupts it, restore the global settings.

    An interrupt can come after a context manager has changed a setting, but before the ``with``
    block starts. Then the context manager does not restore the setting.
    """

    @wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        if threading.current_thread() is not threading.main_thread():
            return function(*args, **kwargs)  # Python interrupts the main thread only
        state = GlobalState()
        try:
            return function(*args, **kwargs)
        except KeyboardInterrupt:
            state.restore()
            raise

    return wrapper  # type: ignore[return-value]
