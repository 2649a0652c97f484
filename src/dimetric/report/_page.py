"""Render reports: one HTML file that needs no network and no script."""

import shlex
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from dimetric.report._records import BASELINE, ChangedNeighbors, Choice, ReportRecord
from dimetric.report._text import cut, shorten

if TYPE_CHECKING:
    import numpy as np
    from jinja2 import Environment

__all__ = ["render_report", "render_summary"]

MAX_LISTED = 15  # classes and features that get a bar
MAX_GAINED, MAX_LOST = 3, 1  # rows shown with their neighbours


class _Outcome(NamedTuple):
    """One of the three outcomes of the test."""

    words: str
    probability: float
    color: str


class _Neighbor(NamedTuple):
    row: int
    label: Any
    right: bool


class _Example(NamedTuple):
    """A row whose nearest neighbours changed."""

    row: int
    label: Any
    before: list[_Neighbor]
    after: list[_Neighbor]


def render_report(record: ReportRecord) -> str:
    """Return a report as an HTML page.

    Parameters
    ----------
    record : ReportRecord
        What the report shows.

    Returns
    -------
    str
        The page. Pictures are part of it, and nothing is loaded from elsewhere.
    """
    from dimetric.report import _pictures as pictures

    choice, insight = record.choice, record.insight
    return (
        _environment()
        .get_template("report.html")
        .render(
            record=record,
            baseline=BASELINE,
            outcomes=_outcomes(choice, record.rope),
            listed_classes=dict(list(record.classes.items())[:MAX_LISTED]),
            listed_features=dict(list(insight.importance.items())[:MAX_LISTED]),
            no_scores=_no_scores(choice),
            pictures=pictures.draw_all(record),
            legend_fits=len(record.classes) <= pictures.MAX_LEGEND_CLASSES,
            n_heat_map_features=min(pictures.MAX_HEAT_MAP_FEATURES, len(record.feature_names)),
            examples=_examples(record),
            usage=_usage(record),
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
) -> str:
    """Return a short summary of a comparison as a piece of HTML, for notebooks.

    Parameters
    ----------
    choice : Choice
        The comparison.
    classes : dict of str to int
        Sizes of the classes.
    n_features, n_neighbors : int
        Number of features, and of neighbours that vote.
    target : str
        Name of the column of classes.
    notes : list of str
        What was done to the table, in sentences.
    """
    return (
        _environment()
        .get_template("summary.html")
        .render(
            choice=choice,
            baseline=BASELINE,
            no_scores=_no_scores(choice),
            n_rows=sum(classes.values()),
            n_classes=len(classes),
            n_features=n_features,
            n_neighbors=n_neighbors,
            target=target,
            notes=notes,
        )
    )


@cache
def _environment() -> "Environment":
    """Return the templates of this package; all values in them are escaped."""
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
    except ImportError as error:
        raise ImportError(
            "A report is rendered by Jinja2: install it with pip install 'dimetric[cli]'."
        ) from error
    environment = Environment(
        loader=PackageLoader("dimetric.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"cut": cut, "shorten": shorten}
    return environment


def _outcomes(choice: Choice, rope: float) -> list[_Outcome]:
    posterior = choice.posterior
    return [
        _Outcome(f"{BASELINE} is better", posterior.left, "--bad"),
        _Outcome(f"less than {rope:g} apart", posterior.rope, "--line"),
        _Outcome(f"{choice.best} is better", posterior.right, "--good"),
    ]


def _no_scores(choice: Choice) -> list[str]:
    return [f"{name} has no score: {why}" for name, why in choice.dropped.items()]


def _examples(record: ReportRecord) -> list[_Example]:
    insight = record.insight
    shown = [*insight.gained[:MAX_GAINED], *insight.lost[:MAX_LOST]]
    return [_example(record, each) for each in shown]


def _example(record: ReportRecord, changed: ChangedNeighbors) -> _Example:
    own = record.y[changed.row]

    def neighbors(rows: "np.ndarray") -> list[_Neighbor]:
        return [_Neighbor(record.rows[i], record.y[i], record.y[i] == own) for i in rows]

    row = record.rows[changed.row]
    return _Example(row, own, neighbors(changed.before), neighbors(changed.after))


def _usage(record: ReportRecord) -> list[str]:
    """Return how to use the model: in Python, and in a shell if it was saved."""
    if record.model_file is None:
        return [
            f"comparison.learner.predict(new_rows)\ncomparison.save({record.name + '.dimetric'!r})"
        ]
    file = record.model_file
    python = (
        f"import dimetric, pandas\nmodel = dimetric.load({file!r})\n"
        'print(model.predict(pandas.read_csv("new.csv")))'
    )
    verbs = {
        "predict": "new.csv --out classes.csv",
        "transform": "new.csv --out coordinates.csv",
        "info": "",
    }
    shell = (f"dimetric {verb} {shlex.quote(file)} {rest}" for verb, rest in verbs.items())
    return [python, "\n".join(shell)]
