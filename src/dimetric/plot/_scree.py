"""Scree plot: the eigenvalue ratios of the components and their cumulative sums."""

from numbers import Real
from typing import Any, Self

import numpy as np

from dimetric._arguments import check_types
from dimetric.plot._display import StyledDisplay
from dimetric.plot._labels import LEGEND_BESIDE
from dimetric.plot._palette import theme_of
from dimetric.quality import eigenvalue_ratios

__all__ = ["ScreeDisplay"]

MAX_MARKED_POINTS = 40  # with more components, the cumulative line has no markers
ROUNDING_TOLERANCE = 1e-12  # the ratios may sum to slightly less than 1


class ScreeDisplay(StyledDisplay):
    r"""Scree plot: eigenvalue ratios as bars, and their cumulative sum as a line.

    If a threshold t is given, the smallest number of components k with
    :math:`\sum_{i \le k} \lambda_i \ge t \sum_i \lambda_i` is marked.

    Parameters
    ----------
    ratios : array-like of shape (n_components,)
        A result of :func:`~dimetric.quality.eigenvalue_ratios`.
    threshold : float in (0, 1], optional
        The threshold t.
    title : str, default=""
        Title of the plot.

    Attributes
    ----------
    bars_ : matplotlib BarContainer
        The eigenvalue ratios.
    line_ : matplotlib Line2D
        The cumulative sum of the ratios.
    threshold_ : matplotlib Line2D or None
        The threshold.
    n_components_ : int or None
        The smallest k. None if there is no threshold or it is not reached.

    Examples
    --------
    >>> from dimetric import PCA
    >>> from sklearn.datasets import load_iris
    >>> display = ScreeDisplay.from_estimator(PCA().fit(load_iris().data), threshold=0.95)
    >>> display.n_components_
    2
    """

    @check_types
    def __init__(self, ratios: Any, *, threshold: float | None = None, title: str = "") -> None:
        self.ratios = ratios
        self.threshold = threshold
        self.title = title

    @classmethod
    @check_types
    def from_estimator(
        cls,
        estimator: Any,
        *,
        threshold: float | None = None,
        title: str = "",
        ax: Any = None,
        **artist_kwargs: Any,
    ) -> Self:
        """Plot the eigenvalue ratios of a fitted estimator.

        Parameters
        ----------
        estimator : estimator
            Fitted PCA, KPCA, LDA, classical MDS or Isomap, or a pipeline that ends with one of
            them. Only its ``n_components`` components are plotted.
        threshold, title, ax, **artist_kwargs
            As in the class and :meth:`plot`.
        """
        ratios = eigenvalue_ratios(estimator)
        return cls(ratios, threshold=threshold, title=title).plot(ax=ax, **artist_kwargs)

    def _draw(self, ax: Any, artist_kwargs: dict[str, Any]) -> None:
        ratios = np.asarray(self.ratios, dtype=np.float64)
        if ratios.ndim != 1 or not len(ratios) or not np.all(ratios >= 0):
            raise ValueError("ratios must be one or more non-negative numbers.")
        t = self.threshold
        if t is not None and (not isinstance(t, Real) or not 0 < float(t) <= 1):
            raise ValueError(f"threshold={t!r} must be greater than 0 and at most 1.")
        ax = self._open_axes(ax, (6.6, 3.4))
        theme = theme_of(ax)
        k, sums = np.arange(1, len(ratios) + 1), np.cumsum(ratios)
        self.bars_ = ax.bar(
            k, ratios, **({"color": theme.colors[0], "label": "individual"} | artist_kwargs)
        )
        (self.line_,) = ax.plot(
            k,
            sums,
            color=theme.colors[1],
            marker="o" if len(k) <= MAX_MARKED_POINTS else None,
            markersize=4,
            label="cumulative",
        )
        self.threshold_ = (
            None if t is None else ax.axhline(t, color=theme.ink, linestyle="--", lw=0.9)
        )
        self.n_components_ = (
            None if t is None else self._mark_threshold(float(t), sums, self.threshold_)
        )
        ax.xaxis.get_major_locator().set_params(integer=True)
        ax.set(xlabel="component", ylabel="eigenvalue ratio", ylim=(0, 1.05))
        ax.set_xlim(0.3, len(k) + 0.7)
        ax.legend(bbox_to_anchor=(1.02, 1.0), **LEGEND_BESIDE)
        ax.spines[["top", "right"]].set_visible(False)
        self._write_title()

    def _mark_threshold(self, t: float, sums: np.ndarray, line: Any) -> int | None:
        """Mark and return the number of components that reach the threshold."""
        reached = np.flatnonzero(sums >= t - ROUNDING_TOLERANCE)
        if not len(reached):
            line.set_label(f"{t:g} not reached")
            return None
        k = int(reached[0]) + 1
        self.ax_.plot([k, k], [0, sums[k - 1]], color=theme_of(self.ax_).ink, linestyle=":", lw=0.9)
        line.set_label(f"{t:g} reached by {k} of {len(sums)}")
        return k
