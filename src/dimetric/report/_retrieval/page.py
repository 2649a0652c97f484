"""Render a report on retrieval as one HTML file that uses neither the network nor scripts."""

import shlex

from dimetric.report._page import OutcomeBar, environment
from dimetric.report._retrieval.picture import draw_gains
from dimetric.report._retrieval.record import GroupRow, RetrievalRecord

__all__ = ["render_retrieval_report"]

MAX_GROUPS = 30  # rows of the table of groups
OUTCOME_COLORS = {"worse": "--bad", "equivalent": "--even", "better": "--good"}
SIDE_NOTES = {
    "query": "It maps queries only, so documents and their index stay as they are.",
    "both": "It maps queries and documents by the same matrix, so index the mapped documents.",
    "two": "It maps queries and documents by two matrices, so index the mapped documents.",
}


def render_retrieval_report(record: RetrievalRecord) -> str:
    """Return a report on retrieval as an HTML page.

    Parameters
    ----------
    record : RetrievalRecord
        The contents of the report.

    Returns
    -------
    str
        The page. The plot is embedded in it, and it loads no other files. All texts are escaped.
    """
    groups, n_hidden = _shown_groups(record.groups)
    template = environment().get_template("retrieval.html")
    return template.render(
        record=record,
        outcomes=_outcomes(record),
        groups=groups,
        n_hidden_groups=n_hidden,
        largest_gain=max((abs(each.gain) for each in groups), default=0.0) or 1.0,
        picture=draw_gains(record),
        side_note=SIDE_NOTES[record.sides],
        usage=_usage(record),
        versions=", ".join(f"{name} {each}" for name, each in record.versions.items()),
    )


def _outcomes(record: RetrievalRecord) -> list[OutcomeBar]:
    texts = {
        "worse": f"{record.tested} is worse",
        "equivalent": f"equivalent (within {record.rope:g})",
        "better": f"{record.tested} is better",
    }
    return [
        OutcomeBar(text, record.probabilities[name], OUTCOME_COLORS[name])
        for name, text in texts.items()
    ]


def _shown_groups(groups: list[GroupRow]) -> tuple[list[GroupRow], int]:
    """Return the groups with the largest gains and losses, and the number of the others."""
    ordered = sorted(groups, key=lambda each: -each.gain)
    n_hidden = max(0, len(ordered) - MAX_GROUPS)
    half = MAX_GROUPS // 2
    return (ordered[:half] + ordered[-half:] if n_hidden else ordered), n_hidden


def _usage(record: RetrievalRecord) -> list[str]:
    """Return examples of use: Python code and shell commands, if the adapter was saved."""
    if record.model_file is None:
        return []
    file = record.model_file
    python = (
        f"import dimetric\n\nadapter = dimetric.load({file!r})\n"
        "scores, positions = adapter.search(queries, documents, n_neighbors=10)"
    )
    quoted = shlex.quote(file)
    shell = (
        f"dimetric info {quoted}\n"
        f"dimetric export {quoted} --out adapter.onnx\n"
        f"dimetric export {quoted} --to sentence-transformers --out adapter\n"
        f"dimetric export {quoted} --to postgres --table documents --out adapter.sql"
    )
    return [python, shell]
