"""Modules compiled by numba (the extra ``fast``)."""

from functools import cache
from importlib import import_module
from types import ModuleType

import numpy as np

from dimetric._arrays.threads import uninterrupted

# With fewer samples, importing numba takes longer than the exponentials. The number of samples
# decides, not whether numba is imported already, so that a fit always gives the same result.
MIN_SAMPLES_FOR_EXP = 2048


@cache
def import_compiled(name: str) -> ModuleType | None:
    """Import the module ``dimetric.{name}``. Return None if numba is not installed.

    numba is optional and slow to import, so it is imported on first use. It cannot be imported
    again in the same process if Ctrl-C interrupted the import.
    """
    try:
        return uninterrupted(lambda: import_module(f"dimetric.{name}"))
    except ImportError:
        return None


def exp_in_place(A: np.ndarray, n_samples: int) -> None:
    """Replace each value of an array by its exponential. Values must be at most 709.

    For many samples in double precision, a compiled function is used, if numba is installed. It
    returns 0 below -708.

    Examples
    --------
    >>> A = np.array([0.0, -np.inf])
    >>> exp_in_place(A, 2)
    >>> A
    array([1., 0.])
    """
    if n_samples >= MIN_SAMPLES_FOR_EXP and A.dtype == np.float64 and A.flags.c_contiguous:
        compiled = import_compiled("_arrays.exponential")
        if compiled is not None:
            compiled.exp_in_place(A)
            return
    np.exp(A, out=A)
