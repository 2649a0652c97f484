from .bregman_projections import BregmanProjections as BregmanProjections
from .frank_wolfe import FrankWolfe as FrankWolfe
from .gradient_descent import GradientDescent as GradientDescent
from .lbfgs import LBFGS as LBFGS
from .projected_gradient import ProjectedGradient as ProjectedGradient
from .result import Result as Result
from .sgd import SGD as SGD
from .solver import Solver as Solver
