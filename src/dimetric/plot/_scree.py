"""The eigenvalues of components, each one and their sums."""

from numbers import Real
from typing import Any, Self

import numpy as np

from dimetric.plot._display import StyledDisplay
from dimetric.plot._labels import BESIDE
from dimetric.plot._palette import COLORS, INK
from dimetric.quality import eigenvalue_ratios

__all__ = ["ScreeDisplay"]


class ScreeDisplay(StyledDisplay):
    r"""The share of each eigenvalue as a bar, the sum of the first k shares as a line.

    With a threshold t, the smallest k with
    :math:`\sum_{i \le k} \lambda_i \ge t \sum_i \lambda_i` is marked.

    Parameters
    ----------
    shares : array-like of shape (n_components,)
        A result of :func:`~dimetric.quality.eigenvalue_ratios`.
    threshold : float in (0, 1], optional
        The threshold t.
    title : str, default=""
        Title of the picture.

    Attributes
    ----------
    bars_ : matplotlib BarContainer
        The shares.
    line_ : matplotlib Line2D
        Their sums.
    threshold_ : matplotlib Line2D or None
        The threshold.
    n_components_ : int or None
        The smallest k; None without a threshold, or if all components together do not reach it.

    Examples
    --------
    >>> from dimetric import PCA
    >>> from sklearn.datasets import load_iris
    >>> display = ScreeDisplay.from_estimator(PCA().fit(load_iris().data), threshold=0.95)
    >>> display.n_components_
    2
    """

    def __init__(self, shares: Any, *, threshold: float | None = None, title: str = "") -> None:
        self.shares = shares
        self.threshold = threshold
        self.title = title

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        threshold: float | None = None,
        title: str = "",
        ax: Any = None,
        **artist: Any,
    ) -> Self:
        """Draw the eigenvalues of a fitted estimator.

        Parameters
        ----------
        estimator : estimator
            PCA, KPCA, LDA, classical MDS, Isomap, or a pipeline that ends with one of them. Only
            the components that it keeps are drawn: set its ``n_components`` to None, or large.
        threshold, title, ax, **artist
            As in the class and :meth:`plot`.
        """
        shares = eigenvalue_ratios(estimator)
        return cls(shares, threshold=threshold, title=title).plot(ax=ax, **artist)

    def _draw(self, ax: Any, artist: dict[str, Any]) -> None:
        shares = np.asarray(self.shares, dtype=np.float64)
        if shares.ndim != 1 or not len(shares) or not np.all(shares >= 0):
            raise ValueError("shares must be numbers of at least 0, one for each component.")
        t = self.threshold
        if t is not None and (not isinstance(t, Real) or not 0 < float(t) <= 1):
            raise ValueError(f"threshold={t!r} must be above 0 and at most 1.")
        ax = self._open_axes(ax, (6.6, 3.4))
        k, sums = np.arange(1, len(shares) + 1), np.cumsum(shares)
        self.bars_ = ax.bar(k, shares, **({"color": COLORS[0], "label": "each"} | artist))
        (self.line_,) = ax.plot(
            k,
            sums,
            color=COLORS[1],
            marker="o" if len(k) <= 40 else None,
            markersize=4,
            label="together",
        )
        self.threshold_ = None if t is None else ax.axhline(t, color=INK, linestyle="--", lw=0.9)
        self.n_components_ = None if t is None else self._enough(float(t), sums, self.threshold_)
        ax.xaxis.get_major_locator().set_params(integer=True)
        ax.set(xlabel="component", ylabel="share of the eigenvalues", ylim=(0, 1.05))
        ax.set_xlim(0.3, len(k) + 0.7)
        ax.legend(bbox_to_anchor=(1.02, 1.0), **BESIDE)
        ax.spines[["top", "right"]].set_visible(False)
        self._write_title()

    def _enough(self, t: float, sums: np.ndarray, line: Any) -> int | None:
        """Return how many components reach the threshold, and mark them."""
        enough = np.flatnonzero(sums >= t - 1e-12)
        if not len(enough):
            line.set_label(f"{t:g} is not reached")
            return None
        k = int(enough[0]) + 1
        self.ax_.plot([k, k], [0, sums[k - 1]], color=INK, linestyle=":", lw=0.9)
        line.set_label(f"{t:g} with {k} of {len(sums)}")
        return k
