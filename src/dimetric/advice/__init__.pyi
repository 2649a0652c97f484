from ._compare import Choice as Choice
from ._compare import choose as choose
from ._insight import Insight as Insight
from ._insight import insight as insight
