"""Which reference models of a round there is time for."""

from collections.abc import Mapping

from dimetric.advice._settings import SETTINGS

__all__ = ["affordable_references", "is_fast"]


def affordable_references(
    scores: Mapping[str, float], seconds: Mapping[str, float], available: float
) -> list[str]:
    """Return the reference models that there is time for, the best ones first.

    Parameters
    ----------
    scores : mapping of str to float
        Mean score of each reference model. Greater is better.
    seconds : mapping of str to float
        Time that each of them needs.
    available : float
        Time for all of them.

    Examples
    --------
    >>> scores = {"SVM": 0.7, "Forest": 0.9, "Boosting": 0.8}
    >>> affordable_references(scores, {"SVM": 1.0, "Forest": 3.0, "Boosting": 2.0}, 4.5)
    ['Forest', 'SVM']
    """
    kept = []
    for name in sorted(scores, key=lambda name: -scores[name]):
        if seconds[name] <= available:
            available -= seconds[name]
            kept.append(name)
    return kept


def is_fast(seconds: float) -> bool:
    """Return whether a fit is so short that dropping the model saves no time."""
    return seconds <= SETTINGS.fast_fit_seconds
