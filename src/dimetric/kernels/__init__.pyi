from .kanmm import KANMM as KANMM
from .kda import KDA as KDA
from .kdmlmj import KDMLMJ as KDMLMJ
from .kernel import Kernel as Kernel
from .kernelized import Kernelized as Kernelized
from .klmnn import KLMNN as KLMNN
from .kpca import KPCA as KPCA
