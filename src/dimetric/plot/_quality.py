"""Plot of how well embeddings preserve neighbourhoods."""

from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from dimetric._arguments import check_types
from dimetric._arrays.namespaces import Array, to_host
from dimetric._arrays.validation import checked_array
from dimetric.plot._display import CurvesDisplay
from dimetric.plot._palette import theme_of
from dimetric.quality import EmbeddingQuality, embedding_quality

__all__ = ["QualityDisplay"]

DEFAULT_N_NEIGHBORS = 5


class QualityDisplay(CurvesDisplay):
    r"""Neighbourhood preservation :math:`R_{NX}(K)` of embeddings for all neighbourhood sizes K.

    :math:`R_{NX}(K)` is 1 if the embedding preserves all K nearest neighbours, and 0 on average
    for a random embedding. The number in the legend is the area under the curve when K is on a
    logarithmic scale.

    Parameters
    ----------
    qualities : mapping of names to EmbeddingQuality
        The result of :func:`~dimetric.quality.embedding_quality` for each embedding.
    title : str, default=""
        Title of the plot.

    Attributes
    ----------
    lines_ : list of matplotlib Line2D
        The curves, in the order of the embeddings.
    legend_ : matplotlib Legend
        Names of the embeddings and areas under their curves.

    Examples
    --------
    >>> from dimetric import PCA
    >>> from sklearn.datasets import load_iris
    >>> X = load_iris().data
    >>> display = QualityDisplay.from_embeddings(
    ...     X, {"PCA": PCA(2).fit_transform(X), "first two": X[:, :2]}
    ... )
    >>> [text.get_text() for text in display.legend_.get_texts()]
    ['PCA, 0.69', 'first two, 0.49']
    """

    @check_types
    def __init__(self, qualities: Mapping[str, EmbeddingQuality], *, title: str = "") -> None:
        self.qualities = qualities
        self.title = title

    @classmethod
    @check_types
    def from_embeddings(
        cls,
        X: Array,
        embeddings: Mapping[str, Array],
        *,
        title: str = "",
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Evaluate embeddings of the same samples and plot a curve for each.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.
        embeddings : mapping of names to array-like of shape (n_samples, n_components)
            Embeddings of the samples.
        title : str, default=""
            Title of the plot.
        ax : matplotlib Axes, optional
            Axes to draw into.
        **options
            Parameters of :func:`~dimetric.quality.embedding_quality`, such as ``sample_size``.
        """
        n = checked_array(X, "X", accept_sparse=True).shape[0]
        # The scores require n_neighbors < n_samples / 2.
        options = {"n_neighbors": max(1, min(DEFAULT_N_NEIGHBORS, (n - 1) // 2))} | options
        qualities = {name: embedding_quality(X, Z, **options) for name, Z in embeddings.items()}
        return cls(qualities, title=title).plot(ax=ax)

    def _draw(self, ax: Any, artist_kwargs: dict[str, Any]) -> None:
        curves = {}
        for name, quality in self.qualities.items():
            r = to_host(quality.r_nx)
            curves[f"{name}, {quality.r_nx_auc:.2f}"] = (np.arange(1, len(r) + 1), r)
        ax = self._draw_curves(curves, ax, artist_kwargs, legend=True)
        ax.set(xscale="log", xlabel="neighbours K", ylabel=r"$R_{NX}(K)$", ylim=(None, 1.02))
        ax.axhline(0, color=theme_of(ax).ink, linewidth=0.6)
