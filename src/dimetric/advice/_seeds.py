"""Turn a random_state into the one integer seed of a comparison."""

from typing import Any

from numpy.random import RandomState

from dimetric._arrays.random_state import random_generator

MAX_SEED = 2**31 - 2  # the final uses seed + 1, which must fit into 32 bits


def seed_from(random_state: Any) -> int:
    """Return an integer seed: the given int, or a random one for None and RandomState.

    Examples
    --------
    >>> seed_from(3)
    3
    """
    if random_state is None or isinstance(random_state, RandomState):
        return int(random_generator(random_state).randint(MAX_SEED))
    random_generator(random_state)  # raises if it is not a seed
    return int(random_state)
