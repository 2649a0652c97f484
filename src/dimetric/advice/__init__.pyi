from ._compare import compare as compare
from ._comparison import Comparison as Comparison
from ._insight import Insight as Insight
from ._insight import insight as insight
from ._predict_table import predict_table as predict_table
from ._retrieval.compare import compare_retrieval as compare_retrieval
from ._retrieval.comparison import RetrievalComparison as RetrievalComparison
