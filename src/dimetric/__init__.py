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
    from dimetric.export.file import describe, load, save, trusted_types
    from dimetric.information.dmlmj import DMLMJ
    from dimetric.information.itml import ITML
    from dimetric.information.mcml import MCML
    from dimetric.kernel.kanmm import KANMM
    from dimetric.kernel.kda import KDA
    from dimetric.kernel.kdmlmj import KDMLMJ
    from dimetric.kernel.kernelized import Kernelized
    from dimetric.kernel.klmnn import KLMNN
    from dimetric.kernel.kpca import KPCA
    from dimetric.linear.anmm import ANMM
    from dimetric.linear.covariance import Covariance
    from dimetric.linear.lda import LDA
    from dimetric.linear.pca import PCA
    from dimetric.manifold.isomap import Isomap
    from dimetric.manifold.lle import LLE
    from dimetric.manifold.mds import MDS
    from dimetric.neighborhood.lmnn import LMNN
    from dimetric.neighborhood.nca import NCA
    from dimetric.similarity.dml_eig import DMLEig
    from dimetric.similarity.ldml import LDML
    from dimetric.similarity.lsi import LSI
    from dimetric.supervision.pairs import Pairs
    from dimetric.supervision.triplets import Triplets

__all__ = [
    "ANMM",
    "DMLMJ",
    "ITML",
    "KANMM",
    "KDA",
    "KDMLMJ",
    "KLMNN",
    "KPCA",
    "LDA",
    "LDML",
    "LLE",
    "LMNN",
    "LSI",
    "MCML",
    "MDS",
    "NCA",
    "NCMC",
    "NCMML",
    "PCA",
    "Covariance",
    "DMLEig",
    "EnergyClassifier",
    "Isomap",
    "KNNClassifier",
    "KNNRegressor",
    "Kernelized",
    "MultiMetricKNNClassifier",
    "NCMCClassifier",
    "NCMClassifier",
    "Pairs",
    "Triplets",
    "describe",
    "load",
    "save",
    "trusted_types",
]

_HOME = {
    "ANMM": "dimetric.linear.anmm",
    "Covariance": "dimetric.linear.covariance",
    "DMLEig": "dimetric.similarity.dml_eig",
    "DMLMJ": "dimetric.information.dmlmj",
    "EnergyClassifier": "dimetric.classify.energy",
    "ITML": "dimetric.information.itml",
    "Isomap": "dimetric.manifold.isomap",
    "KANMM": "dimetric.kernel.kanmm",
    "KDA": "dimetric.kernel.kda",
    "KDMLMJ": "dimetric.kernel.kdmlmj",
    "KLMNN": "dimetric.kernel.klmnn",
    "KNNClassifier": "dimetric.classify.knn",
    "KNNRegressor": "dimetric.classify.knn",
    "KPCA": "dimetric.kernel.kpca",
    "Kernelized": "dimetric.kernel.kernelized",
    "LDA": "dimetric.linear.lda",
    "LDML": "dimetric.similarity.ldml",
    "LLE": "dimetric.manifold.lle",
    "LSI": "dimetric.similarity.lsi",
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
    "Pairs": "dimetric.supervision.pairs",
    "Triplets": "dimetric.supervision.triplets",
    "describe": "dimetric.export.file",
    "load": "dimetric.export.file",
    "save": "dimetric.export.file",
    "trusted_types": "dimetric.export.file",
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
