from .classify import EnergyClassifier as EnergyClassifier
from .classify import KNNClassifier as KNNClassifier
from .classify import KNNRegressor as KNNRegressor
from .classify import MultiMetricKNNClassifier as MultiMetricKNNClassifier
from .classify import NCMCClassifier as NCMCClassifier
from .classify import NCMClassifier as NCMClassifier
from .export import describe as describe
from .export import load as load
from .export import save as save
from .export import trusted_types as trusted_types
from .kernels import KANMM as KANMM
from .kernels import KDA as KDA
from .kernels import KDMLMJ as KDMLMJ
from .kernels import KLMNN as KLMNN
from .kernels import KPCA as KPCA
from .kernels import Kernelized as Kernelized
from .learners import ANMM as ANMM
from .learners import DMLMJ as DMLMJ
from .learners import ITML as ITML
from .learners import LDA as LDA
from .learners import LDML as LDML
from .learners import LMNN as LMNN
from .learners import LSI as LSI
from .learners import MCML as MCML
from .learners import NCA as NCA
from .learners import NCMC as NCMC
from .learners import NCMML as NCMML
from .learners import PCA as PCA
from .learners import Covariance as Covariance
from .learners import DMLEig as DMLEig
from .manifold import LLE as LLE
from .manifold import MDS as MDS
from .manifold import Isomap as Isomap
from .supervision import Pairs as Pairs
from .supervision import Triplets as Triplets

__all__: list[str]
__version__: str
