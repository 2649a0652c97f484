r"""The exponential function in double precision, compiled by numba (the extra ``fast``).

Without AVX-512, NumPy computes exponentials in double precision one by one. This kernel uses vector
instructions of any kind. With :math:`x = n \log 2 + r` and :math:`|r| \le \frac12 \log 2`,

.. math:: e^x = 2^n e^r.

The Taylor polynomial of degree 13 approximates :math:`e^r` with a relative error of less than
:math:`10^{-17}`. The results differ from exact ones by at most about two units in the last place.
"""

import numpy as np
from numba import njit

CHUNK = 512  # values that stay in the fastest cache of a core
LOWEST, HIGHEST = -708.0, 709.0  # outside, powers of two are not normal numbers
PER_LOG_2 = 1.4426950408889634
# The first part has so few digits that its product with n is exact.
LOG_2, REST_OF_LOG_2 = 6.93147180369123816490e-01, 1.90821492927058770002e-10


def exp_in_place(A: np.ndarray) -> None:
    """Replace each value of a C-contiguous float64 array by its exponential.

    Below -708, the result is 0. Above 709, it is that of 709.

    Examples
    --------
    >>> A = np.array([[0.0, 1.0], [-1000.0, -np.inf]])
    >>> exp_in_place(A)
    >>> A
    array([[1.        , 2.71828183],
           [0.        , 0.        ]])
    """
    exponents = np.empty(CHUNK, np.int64)
    _exp(A.reshape(-1), exponents, exponents.view(np.float64), np.empty(CHUNK))


@njit(nogil=True, cache=True)
def _exp(x, exponents, powers, polynomials):  # type: ignore # pragma: no cover - compiled
    for start in range(0, len(x), CHUNK):
        values = x[start : start + CHUNK]
        _split(values, exponents, polynomials)
        _scale(values, powers, polynomials)


@njit(nogil=True, cache=True, fastmath={"contract"})
def _split(values, exponents, polynomials):  # type: ignore # pragma: no cover - compiled
    """Compute e^r, and the bits of the floating-point number 2^n."""
    for i in range(len(values)):
        # Written so that NaN stays NaN. Below LOWEST, 2^n is replaced by 0.
        x = LOWEST if values[i] < LOWEST else values[i]
        x = HIGHEST if x > HIGHEST else x
        n = np.floor(x * PER_LOG_2 + 0.5)
        r = (x - n * LOG_2) - n * REST_OF_LOG_2
        p = 1 / 6227020800.0
        p = p * r + 1 / 479001600.0
        p = p * r + 1 / 39916800.0
        p = p * r + 1 / 3628800.0
        p = p * r + 1 / 362880.0
        p = p * r + 1 / 40320.0
        p = p * r + 1 / 5040.0
        p = p * r + 1 / 720.0
        p = p * r + 1 / 120.0
        p = p * r + 1 / 24.0
        p = p * r + 1 / 6.0
        p = p * r + 0.5
        p = p * r + 1.0
        polynomials[i] = p * r + 1.0
        bits = np.int64(np.int32(n) + 1023) << 52
        exponents[i] = 0 if values[i] < LOWEST else bits


@njit(nogil=True, cache=True)
def _scale(values, powers, polynomials):  # type: ignore # pragma: no cover - compiled
    """Multiply e^r by 2^n."""
    for i in range(len(values)):
        values[i] = polynomials[i] * powers[i]
