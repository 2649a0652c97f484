"""What embeddings leave out, by dimension."""

from collections.abc import Iterable, Mapping
from typing import Any, Self

import numpy as np

from dimetric._arrays.namespaces import Array
from dimetric.plot._curves import draw_curves
from dimetric.quality._spectrum import residual_variances
from dimetric.selection._knn_scores import named_learners

__all__ = ["ResidualVarianceDisplay"]


class ResidualVarianceDisplay:
    """The residual variance of embeddings in more and more dimensions.

    Where the curve stops falling is the dimension of the data.

    Parameters
    ----------
    variances : mapping of names to mapping of int to float
        Of :func:`~dimetric.quality._spectrum.residual_variances`, by name of the embedding.
    title : str, default=""
        Title of the picture.

    Attributes
    ----------
    ax_ : matplotlib Axes
        With the plot.
    figure_ : matplotlib Figure
        With the axes.
    lines_ : list of matplotlib Line2D
        One for each embedding.
    legend_ : matplotlib Legend or None
        If there are several.

    Examples
    --------
    >>> from dimetric import MDS, Isomap
    >>> from dimetric.data import make_swiss_roll
    >>> X = make_swiss_roll(600, random_state=0).X
    >>> display = ResidualVarianceDisplay.from_estimators([Isomap(n_neighbors=8), MDS()], X)
    >>> [line.get_ydata().round(1).tolist() for line in display.lines_]
    [[0.0, 0.0, 0.0], [0.6, 0.3, 0.0]]
    """

    def __init__(self, variances: Mapping[str, Mapping[int, float]], *, title: str = "") -> None:
        self.variances = variances
        self.title = title

    @classmethod
    def from_estimator(cls, estimator: Any, X: Array, **options: Any) -> Self:
        """Fit an embedding in several dimensions, and draw what each leaves.

        Parameters
        ----------
        estimator : estimator
            Isomap, MDS or any other embedding with ``n_components``; copies are fitted.
        X : array-like of shape (n_samples, n_features)
            Samples.
        **options
            Of :meth:`from_estimators`.

        Returns
        -------
        display : ResidualVarianceDisplay
        """
        return cls.from_estimators([estimator], X, **options)

    @classmethod
    def from_estimators(
        cls,
        estimators: Mapping[str, Any] | Iterable[Any],
        X: Array,
        *,
        dimensions: Iterable[int] | None = None,
        title: str = "",
        ax: Any = None,
        **artist: Any,
    ) -> Self:
        """Fit embeddings in several dimensions, and draw what each leaves.

        Parameters
        ----------
        estimators : mapping of names to estimators, or iterable of estimators
            Copies are fitted.
        X : array-like of shape (n_samples, n_features)
            Samples.
        dimensions : iterable of int, optional
            By default 1 to 10, as far as there are features.
        title : str, default=""
            Title of the picture.
        ax : matplotlib Axes, optional
            Axes to draw into; by default new ones.
        **artist
            Passed on to ``Axes.plot``.

        Returns
        -------
        display : ResidualVarianceDisplay
        """
        dims = None if dimensions is None else list(dimensions)
        found = {
            name: residual_variances(each, X, dims)
            for name, each in named_learners(estimators).items()
        }
        return cls(found, title=title).plot(ax=ax, **artist)

    def plot(self, *, ax: Any = None, **artist: Any) -> Self:
        """Draw the curves.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw into; by default new ones.
        **artist
            Passed on to ``Axes.plot``.

        Returns
        -------
        display : ResidualVarianceDisplay
        """
        curves = {
            name: (np.array(list(each)), np.array(list(each.values())))
            for name, each in self.variances.items()
        }
        ax, self.lines_, self.legend_ = draw_curves(
            self, curves, ax, artist, legend=len(curves) > 1
        )
        self.ax_, self.figure_ = ax, ax.figure
        self.ax_.xaxis.get_major_locator().set_params(integer=True)
        self.ax_.set(xlabel="dimensions", ylabel="residual variance", ylim=(0, None))
        return self
