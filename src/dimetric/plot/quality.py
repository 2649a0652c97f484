"""How faithful embeddings are."""

from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from dimetric._arrays.namespaces import Array, to_host
from dimetric.plot._curves import draw_curves
from dimetric.plot._palette import INK
from dimetric.quality._embedding import EmbeddingQuality, embedding_quality

__all__ = ["QualityDisplay"]


class QualityDisplay:
    r"""How faithful embeddings are, for neighbourhoods of all sizes: :math:`R_{NX}(K)`.

    1 is an embedding that keeps all K nearest neighbours, 0 is what chance gives. The number beside
    a name is the area below its curve, over the logarithm of K.

    Parameters
    ----------
    qualities : mapping of names to EmbeddingQuality
        Of :func:`~dimetric.quality.embedding_quality`.
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
    legend_ : matplotlib Legend
        Names and areas.

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

    def __init__(self, qualities: Mapping[str, EmbeddingQuality], *, title: str = "") -> None:
        self.qualities = qualities
        self.title = title

    @classmethod
    def from_embeddings(
        cls,
        X: Array,
        embeddings: Mapping[str, Array],
        *,
        title: str = "",
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Judge embeddings of the same data, and draw the curves.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Data.
        embeddings : mapping of names to array-like of shape (n_samples, n_components)
            Their embeddings.
        title : str, default=""
            Title of the picture.
        ax : matplotlib Axes, optional
            Axes to draw into; by default new ones.
        **options
            Of :func:`~dimetric.quality.embedding_quality`, such as ``sample``.

        Returns
        -------
        display : QualityDisplay
        """
        n = np.shape(X)[0]
        options = {"n_neighbors": max(1, min(5, (n - 1) // 2))} | options
        found = {name: embedding_quality(X, Z, **options) for name, Z in embeddings.items()}
        return cls(found, title=title).plot(ax=ax)

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
        display : QualityDisplay
        """
        curves = {}
        for name, quality in self.qualities.items():
            r = to_host(quality.r_nx)
            curves[f"{name}, {quality.r_nx_auc:.2f}"] = (np.arange(1, len(r) + 1), r)
        ax, self.lines_, self.legend_ = draw_curves(self, curves, ax, artist, legend=True)
        self.ax_, self.figure_ = ax, ax.figure
        self.ax_.set(xscale="log", xlabel="neighbours K", ylabel=r"$R_{NX}(K)$", ylim=(None, 1.02))
        self.ax_.axhline(0, color=INK, linewidth=0.6)
        return self
