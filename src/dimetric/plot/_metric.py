"""Heat map of a learned metric."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Self

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from dimetric._arguments import check_types
from dimetric._arrays.namespaces import Array, to_host
from dimetric._arrays.validation import checked_array
from dimetric.learners._inner_learner import last_step, learner_in
from dimetric.plot._display import StyledDisplay
from dimetric.plot._matplotlib import plain_text
from dimetric.plot._palette import readable_ink, theme_of

__all__ = ["MetricDisplay"]

MAX_NUMBERED_FEATURES = 12  # with more features, the entries are not written as numbers
MAX_TICK_LABELS = 40  # with more features, only some are labelled
CHARACTERS_PER_ROW = 40  # of horizontal tick labels that fit below the heat map


class MetricDisplay(StyledDisplay):
    r"""Heat map of the matrix M of a distance :math:`d^2(x, x') = (x - x')^T M (x - x')`.

    A diagonal entry is the weight of a feature. An off-diagonal entry is the weight of the product
    of the differences in two features: if the entry and the product have the same sign, the
    distance grows. An entry of 0 has the colour of the background.

    Parameters
    ----------
    metric : array-like of shape (n_features, n_features)
        Symmetric matrix M.
    feature_names : sequence of str, optional
        Names of the features. By default, features are numbered from 0.
    title : str, default=""
        Title of the plot.

    Attributes
    ----------
    image_ : matplotlib AxesImage
        The heat map.
    colorbar_ : matplotlib Colorbar
        The colour bar.
    text_ : list of matplotlib Text
        The entries as numbers. Empty if there are more than 12 features.

    Examples
    --------
    >>> from dimetric import NCA
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> display = MetricDisplay.from_estimator(NCA().fit(X, y))
    >>> display.image_.get_array().shape
    (4, 4)
    """

    @check_types
    def __init__(
        self, metric: Array, *, feature_names: Sequence[str] | None = None, title: str = ""
    ) -> None:
        self.metric = metric
        self.feature_names = feature_names
        self.title = title

    @classmethod
    @check_types
    def from_estimator(
        cls,
        estimator: Any,
        *,
        feature_names: Sequence[str] | None = None,
        title: str = "",
        ax: Any = None,
        **artist_kwargs: Any,
    ) -> Self:
        """Plot the metric learned by a fitted estimator.

        Parameters
        ----------
        estimator : estimator
            Fitted learner of a linear map, classifier that uses one, or pipeline that ends with
            either.
        feature_names : sequence of str, optional
            Names of the features. By default, the names seen during ``fit``.
        title : str, default=""
            Title of the plot.
        ax, **artist_kwargs
            As in :meth:`plot`.
        """
        check_is_fitted(estimator)
        learner = learner_in(estimator)
        if not hasattr(learner, "metric") or not callable(learner.metric):
            name = "The Euclidean distance" if learner is None else type(learner).__name__
            raise ValueError(
                f"{name} has no matrix to plot. Give a learner of a linear map, such as NCA."
            )
        names = names_of_features(estimator, learner) if feature_names is None else feature_names
        return cls(learner.metric(), feature_names=names, title=title).plot(ax=ax, **artist_kwargs)

    def _draw(self, ax: Any, artist_kwargs: dict[str, Any]) -> None:
        M = to_host(checked_array(self.metric, "metric"))
        d = len(M)
        if M.shape != (d, d):
            raise ValueError(f"metric has shape {M.shape}, but must be a square matrix.")
        names = list(range(d)) if self.feature_names is None else list(self.feature_names)
        if len(names) != d:
            raise ValueError(f"feature_names has {len(names)} names, but there are {d} features.")
        shown = np.arange(0, d, -(-d // MAX_TICK_LABELS))
        texts = [plain_text(names[i], 24) for i in shown]
        side = float(np.clip(0.28 * d, 3.2, 7.5))
        label_space = 0.3 + 0.075 * max(len(text) for text in texts)
        are_vertical = _would_overlap(texts, d)
        size = (
            side + 1.0 + label_space,
            side + (label_space if are_vertical else 0.4) + 0.3 * bool(self.title),
        )
        ax = self._open_axes(ax, size)
        theme, limit = theme_of(ax), float(np.max(np.abs(M))) or 1.0
        defaults = {
            "cmap": theme.diverging_cmap(),
            "vmin": -limit,
            "vmax": limit,
            "interpolation": "nearest",
        }
        self.image_ = ax.imshow(M, **(defaults | artist_kwargs))
        self.colorbar_ = self.figure_.colorbar(self.image_, ax=ax, shrink=0.9, pad=0.02)
        font_size = 9 if d <= MAX_NUMBERED_FEATURES else 7
        ax.set_xticks(shown, texts, rotation=90 if are_vertical else 0, fontsize=font_size)
        ax.set_yticks(shown, texts, fontsize=font_size)
        self.text_ = self._write_entries(M) if d <= MAX_NUMBERED_FEATURES else []
        self._write_title()

    def _write_entries(self, M: np.ndarray) -> list[Any]:
        """Write the entries as numbers: light on dark colours, dark on light ones."""
        return [
            self.ax_.text(
                j,
                i,
                _format_entry(value),
                ha="center",
                va="center",
                fontsize=7,
                color=readable_ink(self.image_.to_rgba(value)),
            )
            for (i, j), value in np.ndenumerate(M)
        ]


def _format_entry(value: float) -> str:
    """Format an entry with two significant digits. Round values from 10 to 10,000 to integers."""
    if 10 <= abs(value) < 10_000:
        return f"{value:.0f}"
    return f"{value:.2g}"


def names_of_features(estimator: Any, learner: Any) -> Any:
    """Return the names of the features the learner was fitted to, or None if unknown."""
    names = None
    if isinstance(estimator, Pipeline) and len(estimator) > 1:
        with suppress(AttributeError, ValueError):  # not all steps provide names
            names = estimator[:-1].get_feature_names_out()
    for each in (last_step(estimator), learner):
        names = getattr(each, "feature_names_in_", None) if names is None else names
    # If the learner of a classifier is a pipeline, its last step may see other features.
    return names if names is not None and len(names) == learner.n_features_in_ else None


def _would_overlap(texts: list[str], d: int) -> bool:
    """Return whether horizontal tick labels would overlap."""
    return max(len(text) for text in texts) > max(2, CHARACTERS_PER_ROW // d)
