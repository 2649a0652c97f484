"""Random generators that are independent of NumPy's global one."""

from typing import Any

import numpy as np
from sklearn.utils import check_random_state


def random_generator(random_state: Any) -> np.random.RandomState:
    """Return the random generator for a `random_state`.

    For None, this is a new generator with a seed from the operating system. scikit-learn uses
    NumPy's global generator instead, so a fit would change the random numbers of other code and
    depend on ``np.random.seed``.

    Parameters
    ----------
    random_state : int, RandomState or None
        Random seed or generator.

    Examples
    --------
    >>> random_generator(0).randint(100), random_generator(np.random.RandomState(0)).randint(100)
    (44, 44)
    """
    return np.random.RandomState() if random_state is None else check_random_state(random_state)
