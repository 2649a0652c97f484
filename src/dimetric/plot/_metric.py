"""The matrix of a learned distance."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Self

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from dimetric._arrays.namespaces import Array, to_host
from dimetric._arrays.validation import checked_array
from dimetric.learners._inner_learner import last_step, learner_in
from dimetric.plot._display import StyledDisplay
from dimetric.plot._matplotlib import plain
from dimetric.plot._palette import DIVERGING, INK

__all__ = ["MetricDisplay"]

MAX_NUMBERED_FEATURES = 12  # with more, the numbers are not written
MAX_NAMES = 40  # with more features, not every one has its name


class MetricDisplay(StyledDisplay):
    r"""The matrix M of a distance :math:`d^2(x, x') = (x - x')^T M (x - x')`, as a heat map.

    The diagonal holds the weight of each feature. Another entry is the weight of two features
    together: the distance grows if the entry has the sign of the product of their differences.
    0 is white.

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
    image_ : matplotlib AxesImage
        The matrix.
    colorbar_ : matplotlib Colorbar
        What the colours mean.
    text_ : list of matplotlib Text
        The entries as numbers, if there are at most 12 features.

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
            Names of the features; by default those that the estimator knows.
        title : str, default=""
            Title of the picture.
        ax, **artist
            As in :meth:`plot`.
        """
        check_is_fitted(estimator)
        learner = learner_in(estimator)
        if not hasattr(learner, "metric") or not callable(learner.metric):
            what = "the Euclidean distance" if learner is None else type(learner).__name__
            raise ValueError(
                f"There is no matrix to draw: {what} has learned none. Give a learner of a linear "
                "map, such as NCA."
            )
        names = _feature_names(estimator, learner) if feature_names is None else feature_names
        return cls(learner.metric(), feature_names=names, title=title).plot(ax=ax, **artist)

    def _draw(self, ax: Any, artist: dict[str, Any]) -> None:
        M = to_host(checked_array(self.metric, "metric"))
        d = len(M)
        if M.shape != (d, d):
            raise ValueError(f"metric has shape {M.shape}; the matrix of a distance is square.")
        names = list(range(d)) if self.feature_names is None else list(self.feature_names)
        if len(names) != d:
            raise ValueError(f"There are {len(names)} feature_names for {d} features.")
        shown = np.arange(0, d, -(-d // MAX_NAMES))
        texts = [plain(names[i], 24) for i in shown]
        side = float(np.clip(0.28 * d, 3.2, 7.5))
        room = 0.3 + 0.075 * max(len(text) for text in texts)
        upright = _are_long(texts, d)
        size = (side + 1.0 + room, side + (room if upright else 0.4) + 0.3 * bool(self.title))
        ax = self._open_axes(ax, size)
        limit = float(np.max(np.abs(M))) or 1.0
        own = {"cmap": DIVERGING, "vmin": -limit, "vmax": limit, "interpolation": "nearest"}
        self.image_ = ax.imshow(M, **(own | artist))
        self.colorbar_ = self.figure_.colorbar(self.image_, ax=ax, shrink=0.9, pad=0.02)
        letters = 9 if d <= MAX_NUMBERED_FEATURES else 7
        ax.set_xticks(shown, texts, rotation=90 if upright else 0, fontsize=letters)
        ax.set_yticks(shown, texts, fontsize=letters)
        self.text_ = self._write_numbers(M, limit) if d <= MAX_NUMBERED_FEATURES else []
        self._write_title()

    def _write_numbers(self, M: np.ndarray, limit: float) -> list[Any]:
        """Write the entries, in black or white, whichever is seen on their colour."""
        return [
            self.ax_.text(
                j,
                i,
                _short(value),
                ha="center",
                va="center",
                fontsize=7,
                color="white" if abs(value) > 0.6 * limit else INK,
            )
            for (i, j), value in np.ndenumerate(M)
        ]


def _short(value: float) -> str:
    """Return a number in a few characters."""
    if 10 <= abs(value) < 10_000:
        return f"{value:.0f}"
    return f"{value:.2g}"


def _feature_names(estimator: Any, learner: Any) -> Any:
    """Return the names of the features that the learner in an estimator gets; None if unknown."""
    names = None
    if isinstance(estimator, Pipeline) and len(estimator) > 1:
        with suppress(AttributeError, ValueError):  # some step cannot tell
            names = estimator[:-1].get_feature_names_out()
    for each in (last_step(estimator), learner):
        names = getattr(each, "feature_names_in_", None) if names is None else names
    # The learner of a classifier may be a pipeline, whose features have no names.
    return names if names is not None and len(names) == learner.n_features_in_ else None


def _are_long(texts: list[str], d: int) -> bool:
    """Tell whether names beside one another would overlap."""
    return max(len(text) for text in texts) > max(2, 40 // d)
