from ._run import Comparison as Comparison
from ._run import compare as compare
from ._store import Cell as Cell
from ._store import Store as Store
from ._summary import LearnerScores as LearnerScores
from ._summary import summary as summary
