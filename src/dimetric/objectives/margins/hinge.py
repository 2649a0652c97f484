"""The hinge of LMNN's pushes, sharp or with a smooth part."""

from dimetric._arrays.namespaces import Array, namespace


def hinge(t: Array, width: float) -> tuple[Array, Array]:
    r"""Return the hinge :math:`[t]_+` and its slope, or a smooth form of it.

    The hinge has a kink at 0, where gradients say little. A parabola :math:`(t + w/2)^2 / 2w` of
    some width w about the kink makes it smooth, and changes it by at most w / 8.

    Parameters
    ----------
    t : array
        Where to evaluate the hinge.
    width : float
        Width w of the parabola; 0 is the hinge itself.

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
