"""Which learners of a race go on to more folds or rows, and how long that takes."""

from collections.abc import Collection, Iterable, Mapping
from math import log
from typing import NamedTuple

from dimetric.advice._settings import SETTINGS

__all__ = ["FitTime", "min_repeats", "round_sizes", "survivors"]

DEFAULT_GROWTH = 1.25  # of the time of a fit: it grows with the number of rows to this power
MIN_GROWTH, MAX_GROWTH = 0.5, 3.0


def round_sizes(n_rows: int, n_learners: int) -> list[int]:
    """Return the number of rows in each round of a race.

    Each round has three times as many rows as the round before. A race of few learners or rows has
    one round.

    Parameters
    ----------
    n_rows : int
        Number of rows in the last round.
    n_learners : int
        Number of learners.

    Examples
    --------
    >>> round_sizes(1700, 20), round_sizes(300, 20), round_sizes(1700, 3)
    ([188, 566, 1700], [300], [1700])
    """
    sizes = [n_rows]
    while n_learners > SETTINGS.min_survivors and sizes[0] >= 3 * SETTINGS.min_round_rows:
        sizes.insert(0, sizes[0] // 3)
    return sizes


def min_repeats(n_folds: int) -> int:
    """Return the number of repeats that give at least 5 scores, from which to compute a spread.

    Examples
    --------
    >>> min_repeats(5), min_repeats(3)
    (1, 2)
    """
    return -(-SETTINGS.min_scores // n_folds)


class FitTime(NamedTuple):
    """The time of a fit of one learner in the last two rounds that it took part in.

    Attributes
    ----------
    n_rows : int
        Number of rows of the last of these rounds.
    seconds : float
        Mean time of a fit in this round.
    growth : float
        The time grows with the number of rows to this power.
    """

    n_rows: int
    seconds: float
    growth: float = DEFAULT_GROWTH

    def at(self, n_rows: int) -> float:
        """Return the estimated time of a fit in a round with a given number of rows.

        Examples
        --------
        >>> FitTime(100, 0.5, 2.0).at(300)
        4.5
        """
        return float(self.seconds * (n_rows / self.n_rows) ** self.growth)

    def then(self, n_rows: int, seconds: float) -> "FitTime":
        """Return the times after another round.

        Examples
        --------
        >>> FitTime(100, 0.5).then(200, 2.0)
        FitTime(n_rows=200, seconds=2.0, growth=2.0)
        """
        growth = self.growth
        if n_rows > self.n_rows:
            growth = log(max(seconds, 1e-9) / max(self.seconds, 1e-9)) / log(n_rows / self.n_rows)
        return FitTime(n_rows, seconds, min(MAX_GROWTH, max(MIN_GROWTH, growth)))


def survivors(
    scores: Mapping[str, float],
    seconds: Mapping[str, float],
    available: float,
    protected: Collection[str] = (),
) -> list[str]:
    """Return the learners that go on, so that the available time is enough for all of them.

    Learners in the worse half are dropped, the slowest first. If that is not enough, the learners
    in the worse half of the remaining ones follow, and so on. A few learners always remain.

    Parameters
    ----------
    scores : mapping of str to float
        Mean score of each learner. Greater is better.
    seconds : mapping of str to float
        Time that each learner needs to go on.
    available : float
        Time for all of them.
    protected : collection of str
        Learners that are not dropped.

    Examples
    --------
    >>> scores = {"A": 0.9, "B": 0.8, "C": 0.7, "D": 0.6, "E": 0.5, "F": 0.4}
    >>> survivors(scores, dict.fromkeys(scores, 1.0) | {"E": 3.0}, 6.0)
    ['A', 'B', 'C', 'D', 'F']
    """
    kept = sorted(scores, key=lambda name: -scores[name])
    while len(kept) > SETTINGS.min_survivors and _sum(seconds, kept) > available:
        worse = [name for name in kept[(len(kept) + 1) // 2 :] if name not in protected]
        worse = worse or [name for name in kept if name not in protected]
        n_to_drop = min(len(worse), len(kept) - SETTINGS.min_survivors)
        for name in sorted(worse, key=lambda name: -seconds[name])[:n_to_drop]:
            kept.remove(name)
            if _sum(seconds, kept) <= available:
                break
        if n_to_drop == 0:
            break
    return kept


def _sum(seconds: Mapping[str, float], names: Iterable[str]) -> float:
    return sum(seconds[name] for name in names)
