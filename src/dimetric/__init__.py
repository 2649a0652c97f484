"""dimetric: learn a distance, and see your data under it.

Dimensionality reduction and distance metric learning with scikit-learn's estimator interface.
Public names are loaded on first use (PEP 562), so that ``import dimetric`` stays cheap.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dimetric.linear.lda import LDA
    from dimetric.linear.pca import PCA
    from dimetric.manifold.lle import LLE
    from dimetric.manifold.mds import MDS
    from dimetric.neighborhood.nca import NCA

__all__ = ["LDA", "LLE", "MDS", "NCA", "PCA"]

_HOME = {
    "LDA": "dimetric.linear.lda",
    "LLE": "dimetric.manifold.lle",
    "MDS": "dimetric.manifold.mds",
    "NCA": "dimetric.neighborhood.nca",
    "PCA": "dimetric.linear.pca",
}


def __getattr__(name: str) -> object:
    if name == "__version__":
        from importlib.metadata import version

        return version("dimetric")
    if name not in _HOME:
        raise AttributeError(f"module 'dimetric' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value  # the next access does not come here
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
