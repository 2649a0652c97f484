"""The hinge loss of LMNN's pushes, and a smooth version of it."""

from dimetric._arrays.namespaces import Array, namespace


def hinge(t: Array, width: float) -> tuple[Array, Array]:
    r"""Return the value and the slope of the hinge :math:`[t]_+`, or of a smooth version of it.

    The smooth version replaces the kink at 0 by the parabola :math:`(t + w/2)^2 / 2w` on an
    interval of width w. It differs from the hinge by at most w / 8.

    Parameters
    ----------
    t : array
        Points at which the hinge is evaluated.
    width : float
        Width w of the interval. With 0, the hinge is not smoothed.

    Returns
    -------
    value, slope : arrays of t's shape

    Examples
    --------
    >>> import numpy as np
    >>> hinge(np.array([-0.5, 0.0, 1.0]), 1.0)
    (array([0.   , 0.125, 1.   ]), array([0. , 0.5, 1. ]))
    """
    xp = namespace(t)
    if width == 0:
        return xp.clip(t, 0), xp.astype(t > 0, t.dtype)
    t = t / width + 0.5
    slope = xp.clip(t, 0, 1)
    return width * slope * (t - slope / 2), slope
