"""Plot of the objective during the iterations of a solver."""

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from dimetric._arguments import check_types
from dimetric.learners._inner_learner import learner_in
from dimetric.plot._display import CurvesDisplay

__all__ = ["HistoryDisplay"]

LOG_RATIO = 100.0  # the axis is logarithmic if largest / smallest value exceeds this ratio


class HistoryDisplay(CurvesDisplay):
    """Objective of learners at each iteration of their solver.

    Parameters
    ----------
    histories : mapping of names to array-like of shape (n_iter + 1,)
        Value of the objective at the start and after each iteration, for each learner.
    title : str, default=""
        Title of the plot.

    Attributes
    ----------
    lines_ : list of matplotlib Line2D
        One curve for each history.
    legend_ : matplotlib Legend or None
        The legend. None if there is only one history.

    Examples
    --------
    >>> from dimetric import NCA
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> nca = NCA().fit(X, y)
    >>> display = HistoryDisplay.from_estimator(nca)
    >>> len(display.lines_[0].get_xdata()) == nca.n_iter_ + 1
    True
    """

    @check_types
    def __init__(self, histories: Mapping[str, Any], *, title: str = "") -> None:
        self.histories = histories
        self.title = title

    @classmethod
    @check_types
    def from_estimator(cls, estimator: Any, *, title: str = "", ax: Any = None) -> Self:
        """Plot the objective of one fitted learner.

        Parameters
        ----------
        estimator : estimator
            Fitted learner with an iterative solver, classifier that uses one, or pipeline that
            ends with either.
        title : str, default=""
            Title of the plot. By default, the name of the learner and why its solver stopped.
        ax : matplotlib Axes, optional
            Axes to draw into.
        """
        learner, history = _history(estimator)
        name = type(learner).__name__
        metadata = learner.metadata() if hasattr(learner, "metadata") else {}
        default_title = f"{name}: {metadata['reason']}" if "reason" in metadata else name
        return cls({name: history}, title=title or default_title).plot(ax=ax)

    @classmethod
    @check_types
    def from_estimators(
        cls, estimators: Mapping[str, Any], *, title: str = "", ax: Any = None
    ) -> Self:
        """Plot the objectives of several fitted learners.

        Parameters
        ----------
        estimators : mapping of names to estimators
            Each as in :meth:`from_estimator`.
        title : str, default=""
            Title of the plot.
        ax : matplotlib Axes, optional
            Axes to draw into.
        """
        histories = {name: _history(each)[1] for name, each in estimators.items()}
        return cls(histories, title=title).plot(ax=ax)

    def _draw(self, ax: Any, artist_kwargs: dict[str, Any]) -> None:
        named = {name: _checked_history(name, each) for name, each in self.histories.items()}
        curves = {name: (np.arange(len(each)), each) for name, each in named.items()}
        ax = self._draw_curves(curves, ax, artist_kwargs, legend=len(curves) > 1)
        values = np.concatenate(list(named.values()))
        if values.min() > 0 and values.max() > LOG_RATIO * values.min():
            ax.set_yscale("log")
        ax.xaxis.get_major_locator().set_params(integer=True)
        ax.set(xlabel="iteration", ylabel="objective")


def _history(estimator: Any) -> tuple[Any, np.ndarray]:
    """Return the learner in a fitted estimator and the history of its objective."""
    check_is_fitted(estimator)
    learner = learner_in(estimator)
    if not hasattr(learner, "history_"):
        name = "The Euclidean distance" if learner is None else type(learner).__name__
        raise ValueError(
            f"{name} has no history to plot. Give a learner with an iterative solver, such as NCA."
        )
    return learner, learner.history_


def _checked_history(name: str, history: Any) -> np.ndarray:
    values = np.asarray(history, dtype=np.float64)
    if values.ndim != 1 or not len(values) or not np.all(np.isfinite(values)):
        raise ValueError(f"The history of {name!r} must be one or more finite numbers.")
    return values
