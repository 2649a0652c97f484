"""Render a report as one HTML file that uses neither the network nor scripts."""

from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from dimetric.report._outcome import outcome, reference_note, rope_note
from dimetric.report._records import (
    BASELINE,
    Choice,
    Insight,
    ReportRecord,
)
from dimetric.report._setting import scale_text
from dimetric.report._task import number_text
from dimetric.report._text import (
    cut_end,
    cut_middle,
    distinct_names,
    keep_together,
    percent,
    score_meaning,
)
from dimetric.report._usage import usage

if TYPE_CHECKING:
    from jinja2 import Environment

__all__ = ["environment", "render_report", "render_summary"]

MAX_BARS = 15  # bars shown for classes, and for features
MAX_SENTENCES_LENGTH = 600  # characters of sentences that contain names
MAX_NAME_LENGTH = 32  # characters of the name of a bar

MIN_SHOWN_PROBABILITY = 0.005  # smaller ones would be shown as 0 %


class OutcomeBar(NamedTuple):
    """One of the outcomes of the Bayesian test, shown as a bar."""

    text: str
    probability: float
    color: str


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
    from dimetric.report import _changes as changes
    from dimetric.report import _pictures as pictures

    choice, insight = record.choice, record.insight
    is_regression = choice.task.is_regression
    return (
        environment()
        .get_template("report.html")
        .render(
            record=record,
            baseline=BASELINE,
            outcome=outcome(choice, record.target, record.n_neighbors, record.classes),
            score_meaning=score_meaning(choice.task.score, record.target),
            reference_note=reference_note(choice),
            rope_note=rope_note(choice, record.rope, record.y) if is_regression else "",
            distribution=_distribution(record) if is_regression else {},
            errors=_mean_errors(insight),
            outcomes=_outcomes(choice, record.rope),
            class_names={} if is_regression else changes.short_classes(record.y),
            listed_classes=_first_bars(record.classes),
            listed_features=_first_bars(insight.importance),
            dropped_notes=_dropped_notes(choice),
            pictures=pictures.draw_all(record),
            legend=[] if is_regression else pictures.class_legend(record.y[insight.rows]),
            n_heat_map_features=min(pictures.MAX_HEAT_MAP_FEATURES, len(record.feature_names)),
            examples=changes.examples(record),
            explanations=changes.explanations(record),
            scaled_features=scale_text(choice.scale),
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
        environment()
        .get_template("summary.html")
        .render(
            choice=choice,
            baseline=BASELINE,
            outcome=outcome(choice, target, n_neighbors, classes),
            dropped_notes=_dropped_notes(choice),
            n_rows=sum(classes.values()) if n_rows is None else n_rows,
            n_classes=len(classes),
            n_features=n_features,
            target=target,
            notes=notes,
        )
    )


@cache
def environment() -> "Environment":
    """Return the Jinja2 environment of the templates, which escapes all values."""
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
    except ImportError as error:
        raise ImportError(
            "Reports require Jinja2. Install it with pip install 'dimetric[cli]'."
        ) from error
    templates = Environment(
        loader=PackageLoader("dimetric.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters |= {
        "cut_end": cut_end,
        "cut_middle": cut_middle,
        "percent": lambda *args: keep_together(percent(*args)),
        "sentences": lambda text: keep_together(cut_end(text, MAX_SENTENCES_LENGTH)),
    }
    return templates


def _outcomes(choice: Choice, rope: float) -> list[OutcomeBar]:
    posterior = choice.posterior
    outcomes = [
        OutcomeBar(f"{BASELINE} is better", posterior.left, "--bad"),
        OutcomeBar(f"equivalent (within {_rope_text(choice, rope)})", posterior.rope, "--even"),
        OutcomeBar(f"{choice.best} is better", posterior.right, "--good"),
    ]
    guess = "the mean" if choice.task.is_regression else "the largest class"
    only = f"{choice.best} is better than {BASELINE}, but not than always predicting {guess}"
    if choice.only_better_than_baseline >= MIN_SHOWN_PROBABILITY:
        outcomes.insert(2, OutcomeBar(only, choice.only_better_than_baseline, "--accent"))
    return outcomes


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


def _first_bars(values: dict[str, Any]) -> dict[str, Any]:
    """Return the first values, by names that are short and distinct."""
    shown = dict(list(values.items())[:MAX_BARS])
    return dict(zip(distinct_names(list(shown), MAX_NAME_LENGTH), shown.values(), strict=True))


def _dropped_notes(choice: Choice) -> list[str]:
    """Return a note for each reason why learners were dropped."""
    names_by_reason: dict[str, list[str]] = {}
    for name, reason in choice.dropped.items():
        names_by_reason.setdefault(reason, []).append(name)
    return [f"Dropped: {', '.join(names)}. {reason}" for reason, names in names_by_reason.items()]
