"""One seed for everything that a comparison draws at random."""

from typing import Any

from numpy.random import RandomState
from sklearn.utils import check_random_state

MAX_SEED = 2**31 - 2  # one more is used, too, and must fit into 32 bits


def seed_from(random_state: Any) -> int:
    """Return an int as it is; draw one if there is none.

    Examples
    --------
    >>> seed_from(3)
    3
    """
    if random_state is None or isinstance(random_state, RandomState):
        return int(check_random_state(random_state).randint(MAX_SEED))
    check_random_state(random_state)  # which says what is wrong with it
    return int(random_state)
