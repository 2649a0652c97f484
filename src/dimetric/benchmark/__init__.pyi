from ._cell import Cell as Cell
from ._result import BenchmarkResult as BenchmarkResult
from ._run import run as run
from ._store import Store as Store
from ._summary import LearnerScores as LearnerScores
from ._summary import summary as summary
