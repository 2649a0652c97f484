"""Print a comparison: the data, the scores, the verdict, the advice and the written files."""

import re
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from dimetric.cli._terminal import counted, escape_markup, one_line, print_notes

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from dimetric.advice._comparison import Comparison
    from dimetric.advice._samples import LabelledSamples
    from dimetric.report._records import Choice, LearnerRow

MAX_SHOWN_CLASSES = 8  # in one line
MAX_SHOWN_LEARNERS = 8  # lines of the table of scores
INDENT = 2  # columns


def print_data_summary(console: "Console", samples: "LabelledSamples") -> None:
    """Print the size of a table, its target, and notes on its rows and columns."""
    import numpy as np

    from dimetric.report._task import number_text

    (n, d), is_regression = samples.X.shape, samples.task.is_regression
    contents = samples.task.reading if is_regression else f"{len(samples.classes)} classes"
    console.print(
        f"[bold]{escape_markup(samples.table.name)}[/bold]: {n} rows, {counted(d, 'feature')}, "
        f"{contents} in column {escape_markup(samples.target)}"
    )
    if samples.table.sampling is not None:
        _print(console, f"{samples.table.sampling}")
    if is_regression:
        low, middle, high = (
            number_text(float(each)) for each in np.quantile(samples.y, [0, 0.5, 1])
        )
        _print(console, f"From {low} to {high}, median {middle}")
    else:
        shown = list(samples.classes.items())[:MAX_SHOWN_CLASSES]
        sizes = ", ".join(f"{name} ({count})" for name, count in shown)
        more = ", ..." if len(samples.classes) > len(shown) else ""
        _print(console, f"Rows per class: {sizes}{more}")
    if samples.reading:
        _print(console, samples.reading)
    print_notes(*(f"  {each}" for each in samples.notes))


def print_results(
    console: "Console", comparison: "Comparison", files: dict[str, Path], seconds: float
) -> None:
    """Print the scores, the verdict, the advice, the dropped learners and the written files."""
    choice = comparison.choice
    console.print(_score_table(choice))
    _print(console, _race_sentence(comparison))
    _print(console, choice.verdict, style="bold", indent=0)
    for line in _score_lines(comparison):
        _print(console, line)
    for line in comparison.advice:
        _print(console, line, indent=0, bullet="- ")
    description = comparison.learner_description
    if "trained on all" not in description:
        _print(console, description, indent=0)
    if choice.dropped:
        line = dropped_line(choice.dropped, choice.budget_for_all)
        _print(console, line, style="dim", indent=0)
    written = ", ".join(str(each) for each in files.values())
    _print(console, f"Wrote {written} ({seconds:.0f} s)", indent=0)
    console.print()


def _print(
    console: "Console", text: str, *, style: str = "", indent: int = INDENT, bullet: str = ""
) -> None:
    """Print a sentence. In a terminal, it is wrapped between words, and all lines are indented."""
    start, shown = " " * indent + bullet, one_line(text)
    lines = [start + shown]
    if console.is_terminal:
        lines = wrap(
            shown.replace(" %", "\N{NO-BREAK SPACE}%"),
            console.width,
            initial_indent=start,
            subsequent_indent=" " * len(start),
            break_long_words=False,
            break_on_hyphens=False,
        )
    for line in lines:
        line = escape_markup(line.replace("\N{NO-BREAK SPACE}%", " %"))
        console.print(line, style=style, soft_wrap=True)


def _score_table(choice: "Choice") -> "Table":
    """Return the scores of all learners, and of reference models, as a table."""
    from rich.table import Table

    task = choice.task
    table = Table(box=None, padding=(0, 1))
    table.add_column("learner")
    for title in (task.score_name, "std", "vs. Euclidean", "fit time (s)"):
        table.add_column(title, justify="right")
    for row in [*_shown_rows(choice), *choice.reference_table]:
        is_reference = row.learner in choice.references
        gain = "" if row.learner == "Euclidean" else task.text(row.gain, "+")
        table.add_row(
            escape_markup(row.learner + (" (reference)" if is_reference else "")),
            task.text(row.score),
            task.text(row.std),
            gain,
            f"{row.seconds:.3f}",
            style="bold" if row.learner == choice.chosen else "dim" if is_reference else "",
        )
    return table


def _shown_rows(choice: "Choice") -> "list[LearnerRow]":
    """Return the rows of the best learners, of the chosen distance and of the Euclidean one."""
    first, others = choice.table[:MAX_SHOWN_LEARNERS], choice.table[MAX_SHOWN_LEARNERS:]
    return [*first, *(row for row in others if row.learner in ("Euclidean", choice.chosen))]


def _race_sentence(comparison: "Comparison") -> str:
    """Return a sentence that says on how many rows and folds the scores are based."""
    choice, n = comparison.choice, len(comparison.samples.y)
    n_folds, n_used = len(choice.scores[choice.best]), choice.n_race_rows
    rows = f"all {n:,} rows" if n_used == n else f"{n_used:,} of {n:,} rows"
    n_hidden = len(choice.table) - len(_shown_rows(choice))
    hidden = f" The report lists {counted(n_hidden, 'more learner')}." if n_hidden else ""
    return f"Means over {n_folds} test folds of {rows}.{hidden}"


def _score_lines(comparison: "Comparison") -> list[str]:
    """Return sentences about the scores of the final."""
    from dimetric.report._confusion import rare_class_note
    from dimetric.report._outcome import outcome, reference_note, rope_note
    from dimetric.report._setting import setting_note

    choice, samples = comparison.choice, comparison.samples
    n_folds = len(choice.final_scores[choice.best])
    rows = "of the same rows"
    if choice.judged_on_unseen_rows:
        rows = f"on {choice.n_final_rows:,} rows that were not used to choose the learner"
    predicts = choice.chosen == choice.best and hasattr(choice.learner, "predict")
    k = None if predicts else choice.n_neighbors
    setting = setting_note(k, choice.scale, choice.chosen_in_folds)
    reference = reference_note(choice)
    sentence = outcome(choice, samples.target, comparison.n_neighbors, samples.classes)
    if samples.task.is_regression:
        lines = [
            sentence,
            f"These are means over {n_folds} new folds {rows}. "
            + rope_note(choice, comparison.rope, samples.y),
            reference,
            setting,
        ]
        return [*filter(None, lines)]
    means = ", ".join(
        f"{name} {choice.task.phrase(scores.mean())}"
        for name, scores in choice.final_scores.items()
    )
    means = f"Mean {choice.task.score_name} over {n_folds} new folds {rows}: {means}."
    rare = rare_class_note(choice.confusion, choice.best)
    return [*filter(None, [means, reference, sentence, rare, setting])]


def dropped_line(dropped: dict[str, str], budget: float | None = None) -> str:
    """Return a line that names the learners without scores. The report has the full reasons.

    Parameters
    ----------
    dropped : dict of str to str
        The reason, a sentence, by the name of the learner.
    budget : float, optional
        Time budget in seconds that would include the learners that were too slow.

    Examples
    --------
    >>> dropped_line({"LSI": "The time limit was reached.", "LDA": "ValueError: y has one class."})
    'Dropped: LSI (not enough time; a larger --budget would include more); LDA (y has one class).'
    """
    hint = "a larger --budget would include more"
    if budget is not None:
        hint = f"--budget {budget:.0f} would include all learners"
    names: dict[str, list[str]] = {}
    for name, reason in dropped.items():
        names.setdefault(_short_reason(reason, hint), []).append(name)
    groups = [f"{', '.join(each)} ({reason})" for reason, each in names.items()]
    return f"Dropped: {'; '.join(groups)}." if groups else ""


def _short_reason(reason: str, hint: str) -> str:
    """Return the reason why a learner was dropped in a few words."""
    from dimetric.advice._guidance.limits import is_too_slow

    if is_too_slow(reason):
        return f"not enough time; {hint}"
    if rows := re.match(r"(?:On|In .* of) ([\d,]+) rows, its", reason):
        return f"after {rows[1]} rows"
    if "it is the Euclidean distance" in reason:
        return "same as Euclidean"
    sentence = re.split(r"(?<=\.)\s", one_line(reason), maxsplit=1)[0]
    return re.sub(r"^\w*Error: ", "", sentence).rstrip(".")


def stage_titles(name: str) -> dict[str, str]:
    """Return the title of the progress bar for each stage of a comparison.

    Parameters
    ----------
    name : str
        Name of the table.
    """
    stages = {
        "race": "comparing learners",
        "final": "testing the best learner",
        "curve": "learning curve",
        "insight": "explaining the distance",
        "model": "fitting the model",
    }
    return {stage: f"{name}: {text}" for stage, text in stages.items()}


def progress_callback(name: str, update: Any) -> Any:
    """Return a callback of a comparison that updates a progress bar.

    Parameters
    ----------
    name : str
        Name of the table.
    update : callable
        The function that a :class:`~dimetric.cli._terminal.ProgressBar` provides.
    """
    titles = stage_titles(name)

    def callback(stage: str, n_done: int, n_all: int) -> None:
        # A stage of a single step has no fraction to show.
        update(n_done, n_all if n_all > 1 else None, title=titles.get(stage, name))

    return callback
