"""Rows whose predictions a learned distance changes, as the report shows them."""

from typing import TYPE_CHECKING, Any, NamedTuple

from dimetric.report._picture import Picture
from dimetric.report._pictures import draw_explanation
from dimetric.report._records import BASELINE, ChangedNeighbors, ExplainedChange, ReportRecord
from dimetric.report._task import number_text
from dimetric.report._text import distinct_names

if TYPE_CHECKING:
    import numpy as np

MAX_LABEL_LENGTH = 24  # characters of a class in a table
MAX_CORRECTED_EXAMPLES, MAX_NEW_ERROR_EXAMPLES = 3, 1  # rows shown with their neighbours


class _Neighbor(NamedTuple):
    row: int
    label: Any
    same_class: bool


class _Example(NamedTuple):
    """A row whose prediction changed, with its neighbours under both distances."""

    row: int
    label: Any
    before: list[_Neighbor]
    after: list[_Neighbor]
    predicted_before: str = ""  # of numbers
    predicted_after: str = ""


class _Explanation(NamedTuple):
    """A row with a removed and an added neighbour, and a plot of the distances to both."""

    row: int
    removed: int
    added: int
    feature: str  # that makes the removed neighbour distant
    picture: Picture


def examples(record: ReportRecord) -> list[_Example]:
    """Return a few rows with corrected and with new errors."""
    insight = record.insight
    corrected = insight.corrected_errors[:MAX_CORRECTED_EXAMPLES]
    new = insight.new_errors[:MAX_NEW_ERROR_EXAMPLES]
    return [_example(record, each) for each in [*corrected, *new]]


def short_classes(y: "np.ndarray") -> dict[str, str]:
    """Return a short and distinct name of each class, by its name."""
    names = sorted({str(each) for each in y})
    return dict(zip(names, distinct_names(names, MAX_LABEL_LENGTH), strict=True))


def _example(record: ReportRecord, changed: ChangedNeighbors) -> _Example:
    y, predictions = record.y, record.insight.predictions

    names = {} if predictions is not None else short_classes(y)

    def shown(label: Any) -> str:
        return names[str(label)] if predictions is None else number_text(float(label))

    def neighbors(rows: "np.ndarray") -> list[_Neighbor]:
        same = [y[i] == y[changed.row] for i in rows]
        return [_Neighbor(record.rows[i], shown(y[i]), s) for i, s in zip(rows, same, strict=True)]

    example = _Example(
        record.rows[changed.row],
        shown(y[changed.row]),
        neighbors(changed.before),
        neighbors(changed.after),
    )
    if predictions is None:
        return example
    i = list(predictions.rows).index(changed.row)
    before, after = shown(predictions.before[i]), shown(predictions.after[i])
    return example._replace(predicted_before=before, predicted_after=after)


def explanations(record: ReportRecord) -> list[_Explanation]:
    """Explain changed neighbours, unless the fitted model uses the Euclidean distance."""
    if record.choice.chosen == BASELINE:
        return []
    return [_explanation(record, each) for each in record.insight.explained_changes]


def _explanation(record: ReportRecord, change: ExplainedChange) -> _Explanation:
    row, removed, added = (
        record.rows[each] for each in (change.row, change.removed.row, change.added.row)
    )
    totals = [number_text(float(each.parts.sum())) for each in (change.removed, change.added)]
    titles = (
        f"row {removed}, removed (total {totals[0]})",
        f"row {added}, new (total {totals[1]})",
    )
    picture = draw_explanation(change, titles, record.feature_names)
    feature = record.feature_names[change.removed.parts.argmax()]
    return _Explanation(row, removed, added, feature, picture)
