"""dimetric: learn a distance, and see your data under it.

Dimensionality reduction and distance metric learning with scikit-learn's estimator interface.
Public names are loaded on first use (PEP 562), so that ``import dimetric`` stays cheap.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dimetric.centroid.ncmc import NCMC
    from dimetric.centroid.ncmml import NCMML
    from dimetric.classify.centroid import NCMCClassifier, NCMClassifier
    from dimetric.classify.energy import EnergyClassifier
    from dimetric.classify.knn import KNNClassifier, KNNRegressor
    from dimetric.classify.multi import MultiMetricKNNClassifier
    from dimetric.information.dmlmj import DMLMJ
    from dimetric.information.mcml import MCML
    from dimetric.linear.anmm import ANMM
    from dimetric.linear.covariance import Covariance
    from dimetric.linear.lda import LDA
    from dimetric.linear.pca import PCA
    from dimetric.manifold.isomap import Isomap
    from dimetric.manifold.lle import LLE
    from dimetric.manifold.mds import MDS
    from dimetric.neighborhood.lmnn import LMNN
    from dimetric.neighborhood.nca import NCA
    from dimetric.similarity.ldml import LDML

__all__ = [
    "ANMM",
    "DMLMJ",
    "LDA",
    "LDML",
    "LLE",
    "LMNN",
    "MCML",
    "MDS",
    "NCA",
    "NCMC",
    "NCMML",
    "PCA",
    "Covariance",
    "EnergyClassifier",
    "Isomap",
    "KNNClassifier",
    "KNNRegressor",
    "MultiMetricKNNClassifier",
    "NCMCClassifier",
    "NCMClassifier",
]

_HOME = {
    "ANMM": "dimetric.linear.anmm",
    "Covariance": "dimetric.linear.covariance",
    "DMLMJ": "dimetric.information.dmlmj",
    "EnergyClassifier": "dimetric.classify.energy",
    "Isomap": "dimetric.manifold.isomap",
    "KNNClassifier": "dimetric.classify.knn",
    "KNNRegressor": "dimetric.classify.knn",
    "LDA": "dimetric.linear.lda",
    "LDML": "dimetric.similarity.ldml",
    "LLE": "dimetric.manifold.lle",
    "LMNN": "dimetric.neighborhood.lmnn",
    "MCML": "dimetric.information.mcml",
    "MDS": "dimetric.manifold.mds",
    "MultiMetricKNNClassifier": "dimetric.classify.multi",
    "NCA": "dimetric.neighborhood.nca",
    "NCMC": "dimetric.centroid.ncmc",
    "NCMCClassifier": "dimetric.classify.centroid",
    "NCMClassifier": "dimetric.classify.centroid",
    "NCMML": "dimetric.centroid.ncmml",
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
