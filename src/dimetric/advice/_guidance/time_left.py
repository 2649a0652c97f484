"""How much of the budget the learning curve and the fitted model may use."""

from dimetric.advice._settings import SETTINGS

__all__ = ["curve_seconds", "model_seconds"]


def curve_seconds(budget: float, used: float) -> float:
    """Return the time of the learning curve: more if much of the budget is left.

    Parameters
    ----------
    budget, used : float
        The budget, and the part of it that is used, in seconds.

    Examples
    --------
    >>> round(curve_seconds(100, 90), 6), round(curve_seconds(100, 30), 6)
    (8.0, 24.8)
    """
    left = (1 - SETTINGS.insight_fraction) * budget - used
    return max(SETTINGS.curve_fraction * budget, SETTINGS.max_curve_part * left)


def model_seconds(budget: float, used: float, *, reserve_insight: bool) -> float:
    """Return the time of fitting the model: what is left, but at least a small part of the budget.

    Parameters
    ----------
    budget, used : float
        The budget, and the part of it that is used, in seconds.
    reserve_insight : bool
        Whether to leave time for the insight.

    Examples
    --------
    >>> model_seconds(100, 60, reserve_insight=False), model_seconds(100, 99, reserve_insight=True)
    (40.0, 10.0)
    """
    left = budget - used - SETTINGS.insight_fraction * budget * reserve_insight
    return max(left, SETTINGS.min_model_fraction * budget, SETTINGS.min_model_seconds)
