"""Render a report as one HTML file that uses neither the network nor scripts."""

from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from dimetric.report._outcome import outcome, rope_note
from dimetric.report._records import (
    BASELINE,
    ChangedNeighbors,
    Choice,
    ExplainedChange,
    Insight,
    ReportRecord,
)
from dimetric.report._task import number_text
from dimetric.report._text import cut_end, cut_middle, percent
from dimetric.report._usage import usage

if TYPE_CHECKING:
    import numpy as np
    from jinja2 import Environment

__all__ = ["render_report", "render_summary"]

MAX_BARS = 15  # bars shown for classes, and for features
MAX_CORRECTED_EXAMPLES, MAX_NEW_ERROR_EXAMPLES = 3, 1  # rows shown with their neighbours


class _Outcome(NamedTuple):
    """One of the three outcomes of the Bayesian test."""

    text: str
    probability: float
    color: str


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
    picture: str


def render_report(record: ReportRecord) -> str:
    """Return a report as an HTML page.

    Parameters
    ----------
    record : ReportRecord
        The contents of the report.

    Returns
    -------
    str
        The page. Plots are embedded in it, and it loads no other files.
    """
    from dimetric.report import _pictures as pictures

    choice, insight = record.choice, record.insight
    is_regression = choice.task.is_regression
    return (
        _environment()
        .get_template("report.html")
        .render(
            record=record,
            baseline=BASELINE,
            outcome=outcome(choice, record.target, record.n_neighbors, record.classes),
            rope_note=rope_note(choice, record.rope, record.y) if is_regression else "",
            distribution=_distribution(record) if is_regression else {},
            errors=_mean_errors(insight),
            outcomes=_outcomes(choice, record.rope),
            listed_classes=dict(list(record.classes.items())[:MAX_BARS]),
            listed_features=dict(list(insight.importance.items())[:MAX_BARS]),
            dropped_notes=_dropped_notes(choice),
            pictures=pictures.draw_all(record),
            legend_fits=len(record.classes) <= pictures.MAX_LEGEND_CLASSES,
            n_heat_map_features=min(pictures.MAX_HEAT_MAP_FEATURES, len(record.feature_names)),
            examples=_examples(record),
            explanations=_explanations(record),
            usage=usage(record),
            versions=", ".join(f"{name} {each}" for name, each in record.versions.items()),
        )
    )


def render_summary(
    choice: Choice,
    *,
    classes: dict[str, int],
    n_features: int,
    n_neighbors: int,
    target: str,
    notes: list[str],
    n_rows: int | None = None,
) -> str:
    """Return a short summary of a comparison as an HTML fragment for notebooks.

    Parameters
    ----------
    choice : Choice
        The best learner and the scores.
    classes : dict of str to int
        Number of rows of each class. Empty if the target contains numbers.
    n_features, n_neighbors : int
        Number of features, and number of nearest neighbours used for predictions.
    target : str
        Name of the target column.
    notes : list of str
        Sentences that say which rows and columns were dropped, imputed or encoded.
    n_rows : int, optional
        Number of rows. By default, the sum of the class sizes.
    """
    return (
        _environment()
        .get_template("summary.html")
        .render(
            choice=choice,
            baseline=BASELINE,
            outcome=outcome(choice, target, n_neighbors, classes),
            dropped_notes=_dropped_notes(choice),
            n_rows=sum(classes.values()) if n_rows is None else n_rows,
            n_classes=len(classes),
            n_features=n_features,
            n_neighbors=n_neighbors,
            target=target,
            notes=notes,
        )
    )


@cache
def _environment() -> "Environment":
    """Return the Jinja2 environment of the templates, which escapes all values."""
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
    except ImportError as error:
        raise ImportError(
            "Reports require Jinja2. Install it with pip install 'dimetric[cli]'."
        ) from error
    environment = Environment(
        loader=PackageLoader("dimetric.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"cut_end": cut_end, "percent": percent, "cut_middle": cut_middle}
    return environment


def _outcomes(choice: Choice, rope: float) -> list[_Outcome]:
    posterior = choice.posterior
    return [
        _Outcome(f"{BASELINE} is better", posterior.left, "--bad"),
        _Outcome(f"equivalent (within {_rope_text(choice, rope)})", posterior.rope, "--line"),
        _Outcome(f"{choice.best} is better", posterior.right, "--good"),
    ]


def _rope_text(choice: Choice, rope: float) -> str:
    return number_text(rope) if choice.task.is_regression else f"{rope:g}"


def _distribution(record: ReportRecord) -> dict[str, str]:
    """Return the smallest, middle and largest numbers of the target, and their spread."""
    import numpy as np

    y = record.y
    values = {
        "smallest": np.min(y),
        "median": np.median(y),
        "mean": np.mean(y),
        "largest": np.max(y),
        "standard deviation": np.std(y),
    }
    return {name: number_text(float(each)) for name, each in values.items()}


def _mean_errors(insight: Insight) -> tuple[str, str]:
    """Return the mean absolute errors of the predicted numbers under both distances."""
    predictions = insight.predictions
    if predictions is None:
        return "", ""
    before, after = (
        number_text(float(abs(each - predictions.true).mean()))
        for each in (predictions.before, predictions.after)
    )
    return before, after


def _dropped_notes(choice: Choice) -> list[str]:
    return [f"{name} was dropped. {reason}" for name, reason in choice.dropped.items()]


def _examples(record: ReportRecord) -> list[_Example]:
    insight = record.insight
    corrected = insight.corrected_errors[:MAX_CORRECTED_EXAMPLES]
    new = insight.new_errors[:MAX_NEW_ERROR_EXAMPLES]
    return [_example(record, each) for each in [*corrected, *new]]


def _example(record: ReportRecord, changed: ChangedNeighbors) -> _Example:
    y, predictions = record.y, record.insight.predictions

    def shown(label: Any) -> Any:
        return label if predictions is None else number_text(float(label))

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


def _explanations(record: ReportRecord) -> list[_Explanation]:
    """Explain changed neighbours, unless the fitted model uses the Euclidean distance."""
    if record.choice.chosen == BASELINE:
        return []
    return [_explanation(record, each) for each in record.insight.explained_changes]


def _explanation(record: ReportRecord, change: ExplainedChange) -> _Explanation:
    from dimetric.report import _pictures as pictures

    row, removed, added = (
        record.rows[each] for each in (change.row, change.removed.row, change.added.row)
    )
    totals = [number_text(float(each.parts.sum())) for each in (change.removed, change.added)]
    titles = (
        f"row {removed}, removed (total {totals[0]})",
        f"row {added}, new (total {totals[1]})",
    )
    picture = pictures.draw_explanation(change, titles, record.feature_names)
    feature = record.feature_names[change.removed.parts.argmax()]
    return _Explanation(row, removed, added, feature, picture)
