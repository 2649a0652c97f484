"""Bars of the parts of the features in a learned squared distance."""

from collections.abc import Sequence
from numbers import Integral
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from dimetric._arguments import check_types
from dimetric._arrays.namespaces import Array, to_host
from dimetric.learners._inner_learner import last_step, learner_in
from dimetric.learners._pair_explanation import explain_pair_of
from dimetric.plot._display import StyledDisplay
from dimetric.plot._matplotlib import plain_text
from dimetric.plot._metric import names_of_features
from dimetric.plot._palette import theme_of

__all__ = ["PairExplanationDisplay"]

OTHERS_COLOR = "#8C8C8C"  # visible on white and on black
MAX_NAME_LENGTH = 28  # characters


class PairExplanationDisplay(StyledDisplay):
    r"""Bars of the parts :math:`\delta_k (M \delta)_k` of the squared distance of two samples.

    .. math:: d^2(x, x') = \sum_k \delta_k (M \delta)_k, \qquad \delta = x - x'

    The largest parts come first. A negative part, in another colour, means that the feature brings
    the samples closer, because its difference compensates those of correlated features. A last,
    grey bar is the sum of the parts that are not shown, so that all bars add up to the squared
    distance.

    Parameters
    ----------
    parts : array-like of shape (n_features,)
        The part of each feature, from ``explain_pair``.
    feature_names : sequence of str, optional
        Names of the features. By default, features are numbered from 0.
    top : int, default=10
        Number of features to show.
    title : str, optional
        Title of the plot. By default, the distance.

    Attributes
    ----------
    bars_ : matplotlib BarContainer
        The bars, from top to bottom.
    features_ : ndarray of shape (n_shown,)
        Indices of the features that are shown, in the order of the bars.

    Examples
    --------
    >>> from dimetric import NCA
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> display = PairExplanationDisplay.from_estimator(NCA().fit(X, y), X.iloc[0], X.iloc[100])
    >>> X.columns[display.features_[0]]
    'petal length (cm)'
    """

    @check_types
    def __init__(
        self,
        parts: Array,
        *,
        feature_names: Sequence[str] | None = None,
        top: int = 10,
        title: str | None = None,
    ) -> None:
        self.parts = parts
        self.feature_names = feature_names
        self.top = top
        self.title = title  # type: ignore[assignment]

    @classmethod
    @check_types
    def from_estimator(
        cls,
        estimator: Any,
        x: Array,
        x2: Array,
        *,
        feature_names: Sequence[str] | None = None,
        top: int = 10,
        title: str | None = None,
        ax: Any = None,
        **artist_kwargs: Any,
    ) -> Self:
        """Plot the parts of the squared distance between two samples under a fitted estimator.

        Parameters
        ----------
        estimator : estimator
            Fitted learner of a linear map, classifier or regressor that uses one, or pipeline that
            ends with either. The parts of a pipeline refer to the features of its last step, such
            as scaled features.
        x, x2 : array-like of shape (n_features,)
            The two samples.
        feature_names : sequence of str, optional
            Names of the features. By default, the names seen during ``fit``.
        top, title, ax, **artist_kwargs
            As in the class and :meth:`plot`.
        """
        check_is_fitted(estimator)
        parts = explain_pair_of(estimator, x, x2)
        names = feature_names
        if names is None:
            learner = learner_in(estimator)
            names = names_of_features(
                estimator, last_step(estimator) if learner is None else learner
            )
        display = cls(parts, feature_names=names, top=top, title=title)
        return display.plot(ax=ax, **artist_kwargs)

    def _draw(self, ax: Any, artist_kwargs: dict[str, Any]) -> None:
        parts = np.asarray(to_host(self.parts), dtype=np.float64)
        parts = parts[0] if parts.ndim == 2 and len(parts) == 1 else parts
        if parts.ndim != 1 or not len(parts) or not np.all(np.isfinite(parts)):
            raise ValueError(
                f"parts must be finite numbers of shape (n_features,), but has shape {parts.shape}."
                " Pass the parts of one pair of samples."
            )
        if not isinstance(self.top, Integral) or self.top < 1:
            raise ValueError(f"top={self.top!r} must be an int of at least 1.")
        names = self._names(len(parts))
        order = np.argsort(-np.abs(parts), kind="stable")
        self.features_, others = order[: self.top], order[self.top :]
        values = parts[self.features_]
        texts = [plain_text(names[k], MAX_NAME_LENGTH) for k in self.features_]
        if len(others):
            values = np.append(values, np.sum(parts[others]))
            texts.append(f"{len(others)} other feature{'s' if len(others) > 1 else ''}")
        ax = self._open_axes(ax, (5.6, 1.0 + 0.28 * len(values)))
        palette = theme_of(ax).colors
        colors = [palette[0 if value >= 0 else 1] for value in values[: self.top]]
        colors += [OTHERS_COLOR] * (len(others) > 0)
        positions = np.arange(len(values))
        self.bars_ = ax.barh(positions, values, **({"color": colors} | artist_kwargs))
        ax.axvline(0, color=ax.spines["left"].get_edgecolor(), lw=0.8)
        ax.set_yticks(positions, texts, fontsize=9)
        ax.invert_yaxis()
        ax.set_xlabel("part of the squared distance")
        ax.tick_params(axis="y", length=0)
        ax.spines[["top", "right", "left"]].set_visible(False)
        self._write_distance(float(np.sum(parts)))

    def _names(self, d: int) -> list[Any]:
        if self.feature_names is None:
            return [f"feature {k}" for k in range(d)]
        names = list(self.feature_names)
        if len(names) != d:
            raise ValueError(f"feature_names has {len(names)} names, but there are {d} features.")
        return names

    def _write_distance(self, squared: float) -> None:
        """Write the title, by default the distance."""
        if self.title is None:
            distance = np.sqrt(max(squared, 0.0))
            self.ax_.set_title(f"distance {distance:.3g} (squared {squared:.3g})")
        else:
            self._write_title()
