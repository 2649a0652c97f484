"""Plot of the residual variance of embeddings against the number of components."""

from collections.abc import Iterable, Mapping
from typing import Any, Self

import numpy as np

from dimetric._arguments import check_types
from dimetric._arrays.namespaces import Array
from dimetric.plot._display import CurvesDisplay
from dimetric.quality import residual_variances
from dimetric.selection._knn_scores import named_learners

__all__ = ["ResidualVarianceDisplay"]


class ResidualVarianceDisplay(CurvesDisplay):
    """Residual variance of embeddings against the number of components.

    The curve levels off at the intrinsic dimension of the data.

    Parameters
    ----------
    variances : mapping of names to mapping of int to float
        The result of :func:`~dimetric.quality.residual_variances` for each embedding.
    title : str, default=""
        Title of the plot.

    Attributes
    ----------
    lines_ : list of matplotlib Line2D
        One curve for each embedding.
    legend_ : matplotlib Legend or None
        The legend. None if there is only one embedding.

    Examples
    --------
    >>> from dimetric import MDS, Isomap
    >>> from dimetric.data import make_swiss_roll
    >>> X = make_swiss_roll(600, random_state=0).X
    >>> display = ResidualVarianceDisplay.from_estimators([Isomap(n_neighbors=8), MDS()], X)
    >>> [line.get_ydata().round(1).tolist() for line in display.lines_]
    [[0.0, 0.0, 0.0], [0.6, 0.3, 0.0]]
    """

    @check_types
    def __init__(self, variances: Mapping[str, Mapping[int, float]], *, title: str = "") -> None:
        self.variances = variances
        self.title = title

    @classmethod
    @check_types
    def from_estimator(cls, estimator: Any, X: Array, **options: Any) -> Self:
        """Fit one embedding with several numbers of components and plot its curve.

        Parameters
        ----------
        estimator : estimator
            Isomap, MDS or any other embedding with ``n_components``. Clones are fitted.
        X : array-like of shape (n_samples, n_features)
            Samples.
        **options
            As in :meth:`from_estimators`.
        """
        return cls.from_estimators([estimator], X, **options)

    @classmethod
    @check_types
    def from_estimators(
        cls,
        estimators: Mapping[str, Any] | Iterable[Any],
        X: Array,
        *,
        dimensions: Iterable[int] | None = None,
        title: str = "",
        ax: Any = None,
        **artist_kwargs: Any,
    ) -> Self:
        """Fit embeddings with several numbers of components and plot a curve for each.

        Parameters
        ----------
        estimators : mapping of names to estimators, or iterable of estimators
            Embeddings with ``n_components``. Clones are fitted.
        X : array-like of shape (n_samples, n_features)
            Samples.
        dimensions : iterable of int, optional
            Numbers of components. By default, 1 to 10, or to the number of features if that is
            smaller.
        title : str, default=""
            Title of the plot.
        ax, **artist_kwargs
            As in :meth:`plot`.
        """
        dims = None if dimensions is None else list(dimensions)
        variances = {
            name: residual_variances(each, X, dims)
            for name, each in named_learners(estimators).items()
        }
        return cls(variances, title=title).plot(ax=ax, **artist_kwargs)

    def _draw(self, ax: Any, artist_kwargs: dict[str, Any]) -> None:
        curves = {
            name: (np.array(list(each)), np.array(list(each.values())))
            for name, each in self.variances.items()
        }
        ax = self._draw_curves(curves, ax, artist_kwargs, legend=len(curves) > 1)
        ax.xaxis.get_major_locator().set_params(integer=True)
        ax.set(xlabel="dimensions", ylabel="residual variance", ylim=(0, None))
