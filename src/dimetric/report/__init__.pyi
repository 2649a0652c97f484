from ._page import render_report as render_report
from ._page import render_summary as render_summary
from ._records import ChangedNeighbors as ChangedNeighbors
from ._records import Choice as Choice
from ._records import Insight as Insight
from ._records import LearnerRow as LearnerRow
from ._records import ReportRecord as ReportRecord
