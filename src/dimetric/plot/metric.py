"""A learned distance, as the matrix it is."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from dimetric._arrays.namespaces import Array, to_host
from dimetric._arrays.validation import checked_array
from dimetric.learners._steps import last_step, learner_in
from dimetric.plot._matplotlib import one_axes, plain
from dimetric.plot._palette import DIVERGING, INK

__all__ = ["MetricDisplay"]

VALUES = 12  # features up to which the numbers themselves are written
NAMES = 40  # features up to which each has its name


class MetricDisplay:
    r"""The matrix M of a distance :math:`d^2(x, x') = (x - x')^T M (x - x')`, as a heat map.

    On the diagonal is how much a feature counts; beside it, how much two count together: if the
    sign is that of their differences' product, the distance grows. 0 is white.

    Parameters
    ----------
    metric : array-like of shape (n_features, n_features)
        M, symmetric.
    feature_names : sequence of str, optional
        Names of the features; by default their numbers.
    title : str, default=""
        Title of the picture.

    Attributes
    ----------
    ax_ : matplotlib Axes
        With the plot.
    figure_ : matplotlib Figure
        With the axes.
    image_ : matplotlib AxesImage
        The matrix.
    colorbar_ : matplotlib Colorbar
        What its colours mean.
    text_ : list of matplotlib Text
        The numbers, if there are up to 12 features.

    Examples
    --------
    >>> from dimetric import NCA
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> display = MetricDisplay.from_estimator(NCA().fit(X, y))
    >>> display.image_.get_array().shape
    (4, 4)
    """

    def __init__(
        self, metric: Array, *, feature_names: Sequence[str] | None = None, title: str = ""
    ) -> None:
        self.metric = metric
        self.feature_names = feature_names
        self.title = title

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        feature_names: Sequence[str] | None = None,
        title: str = "",
        ax: Any = None,
        **artist: Any,
    ) -> Self:
        """Draw the distance that was learned.

        Parameters
        ----------
        estimator : estimator
            Fitted: a learner of a linear map, a classifier over one, or a pipeline that ends with
            either.
        feature_names : sequence of str, optional
            Names of the features; by default those the estimator knows.
        title : str, default=""
            Title of the picture.
        ax : matplotlib Axes, optional
            Axes to draw into; by default new ones.
        **artist
            Passed on to ``Axes.imshow``.

        Returns
        -------
        display : MetricDisplay
        """
        check_is_fitted(estimator)
        names, last, learner = feature_names, last_step(estimator), learner_in(estimator)
        if names is None and last is not estimator and len(estimator) > 1:
            names = _names_out(estimator[:-1])
        names = getattr(last, "feature_names_in_", None) if names is None else names
        if not hasattr(learner, "metric") or not callable(learner.metric):
            what = "the Euclidean distance" if learner is None else type(learner).__name__
            raise ValueError(
                f"There is no matrix to draw: {what} has learned none. Give a learner of a linear "
                "map, such as NCA."
            )
        names = getattr(learner, "feature_names_in_", None) if names is None else names
        return cls(learner.metric(), feature_names=names, title=title).plot(ax=ax, **artist)

    def plot(self, *, ax: Any = None, **artist: Any) -> Self:
        """Draw the matrix.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw into; by default new ones.
        **artist
            Passed on to ``Axes.imshow``.

        Returns
        -------
        display : MetricDisplay
        """
        M = to_host(checked_array(self.metric, "metric"))
        d = len(M)
        if M.shape != (d, d):
            raise ValueError(f"metric has shape {M.shape}; the matrix of a distance is square.")
        names = list(range(d)) if self.feature_names is None else list(self.feature_names)
        if len(names) != d:
            raise ValueError(f"There are {len(names)} feature_names for {d} features.")
        shown = np.arange(0, d, -(-d // NAMES))
        texts = [plain(names[i], 24) for i in shown]
        side = float(np.clip(0.28 * d, 3.2, 7.5))
        room = 0.3 + 0.075 * max(len(text) for text in texts)
        upright = _are_long(texts, d)
        size = (side + 1.0 + room, side + (room if upright else 0.4) + 0.3 * bool(self.title))
        ax = one_axes(type(self).__name__, ax, size)
        limit = float(np.max(np.abs(M))) or 1.0
        own = {"cmap": DIVERGING, "vmin": -limit, "vmax": limit, "interpolation": "nearest"}
        self.image_ = ax.imshow(M, **(own | artist))
        self.ax_, self.figure_ = ax, ax.figure
        self.colorbar_ = self.figure_.colorbar(self.image_, ax=ax, shrink=0.9, pad=0.02)
        letters = 9 if d <= VALUES else 7
        ax.set_xticks(shown, texts, rotation=90 if upright else 0, fontsize=letters)
        ax.set_yticks(shown, texts, fontsize=letters)
        self.text_ = self._numbers(M, limit) if d <= VALUES else []
        if self.title:
            ax.set_title(plain(self.title, 80))
        return self

    def _numbers(self, M: np.ndarray, limit: float) -> list[Any]:
        """Write the numbers, in what is seen on their colour."""
        return [
            self.ax_.text(
                j, i, _short(value), ha="center", va="center", fontsize=7,
                color="white" if abs(value) > 0.6 * limit else INK,
            )
            for (i, j), value in np.ndenumerate(M)
        ]  # fmt: skip


def _short(value: float) -> str:
    """Return a number in a few signs."""
    if 10 <= abs(value) < 10_000:
        return f"{value:.0f}"
    return f"{value:.2g}"


def _names_out(steps: Any) -> Any:
    """Return the names of what a pipeline gives, None if it cannot tell."""
    try:
        return steps.get_feature_names_out()
    except (AttributeError, ValueError):
        return None


def _are_long(texts: list[str], d: int) -> bool:
    """Tell whether names beside one another would overlap."""
    return max(len(text) for text in texts) > max(2, 40 // d)
