"""The verb ``compare``: test learned distances against the Euclidean distance on a table."""

from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dimetric.cli._options import (
    Drop,
    Header,
    Jobs,
    Json,
    Learners,
    Missing,
    Seed,
    Target,
    TargetKind,
    check_choice,
    split_names,
)
from dimetric.cli._read import learner_from, read
from dimetric.cli._terminal import ProgressBar, escape_markup, one_line, print_json, print_notes

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from dimetric.advice._comparison import Comparison
    from dimetric.advice._samples import LabelledSamples
    from dimetric.advice._table import TableSamples
    from dimetric.report._records import Choice

BUNDLED = ("wine", "digits")
BUDGET_SECONDS, BUNDLED_BUDGET_SECONDS = 60.0, 20.0  # for each table
MAX_SHOWN_CLASSES = 8  # in one line of the terminal
OPTION_NAMES = {
    "target": "--target",
    "groups": "--groups",
    "target_kind": "--target-kind",
    "score": "--score",
}


def compare(
    data: Annotated[
        Path | None,
        typer.Argument(
            help="Table: CSV (optionally .gz), Parquet, or NPZ with X and y. "
            "(Default: the data sets wine and digits.)"
        ),
    ] = None,
    target: Target = None,
    target_kind: TargetKind = None,
    score: Annotated[
        str | None,
        typer.Option(
            help="Score of classes: 'accuracy', 'balanced_accuracy' (mean of the recalls) or "
            "'f1_macro'. Score of numbers: 'r2' or 'mae', the mean absolute error. (Default: "
            "accuracy, or balanced_accuracy if the largest class has over 80 % of the rows; r2.)"
        ),
    ] = None,
    learners: Learners = "",
    k: Annotated[
        str,
        typer.Option(
            help="Number of nearest neighbours used for predictions, or 'auto': 1, 3, 5 or 7, "
            "chosen in each fold from its training rows."
        ),
    ] = "auto",
    scale: Annotated[
        str,
        typer.Option(
            help="Scale features to [0, 1] ('minmax'), to zero mean and unit variance "
            "('standard'), by median and quartiles ('robust'), or choose in each fold from its "
            "training rows ('auto')."
        ),
    ] = "auto",
    folds: Annotated[int, typer.Option(min=2, help="Number of cross-validation folds.")] = 5,
    budget: Annotated[
        float | None,
        typer.Option(
            help="Approximate time in seconds for each table. (Default: 60, or 20 without DATA.)"
        ),
    ] = None,
    drop: Drop = "",
    groups: Annotated[
        str | None,
        typer.Option(
            help="Column with the group of each row, such as a patient. It is not a feature. "
            "Rows of one group are never in both the training and the test part of a fold."
        ),
    ] = None,
    missing: Missing = "drop",
    header: Header = None,
    jobs: Jobs = -1,
    seed: Seed = 0,
    out: Annotated[Path, typer.Option(help="Directory for the report and the model.")] = Path(
        "dimetric-compare"
    ),
    json: Json = False,
) -> None:
    """Find the best distance for a table, and test it against the Euclidean distance.

    Cross-validates all learners that are fast enough for the table, tunes the
    best one, and tests it against the Euclidean distance in new folds. A target
    of numbers is predicted by regression. Writes a report (one HTML file) and
    the fitted model.
    """
    from rich.console import Console

    from dimetric._files import create_folder

    _check_budget(budget)
    check_choice("--scale", scale, ("minmax", "standard", "robust", "auto"))
    names = split_names(learners)
    models = None if names is None else {each: learner_from(each, [], seed) for each in names}
    if data is None:
        _require_data({"--groups": groups, "--target-kind": target_kind, "--score": score})
        tables = [_bundled(name) for name in BUNDLED]
    else:
        tables = [read(data, target, drop, missing, header, needs_target=True, groups=groups)]
    create_folder(out)
    console = None if json else Console(highlight=False)
    preparation = {"cv": folds, "missing": missing, "kind": target_kind, "score": score}
    options: dict[str, Any] = {"n_neighbors": _neighbor_count(k), "scale": scale}
    options |= {"random_state": seed, "n_jobs": jobs}
    seconds = budget or (BUNDLED_BUDGET_SECONDS if data is None else BUDGET_SECONDS)
    results: list[dict[str, Any]] = []
    for table in tables:
        # A table may also use the time that the previous tables have left over.
        spare = seconds * len(results) - sum(result["seconds"] for result in results)
        options["budget"] = seconds + max(0.0, spare)
        results.append(_compare_table(table, models, preparation, options, out, console))
    if json:
        print_json({"results": results})


def _neighbor_count(k: str) -> int | str:
    """Return --k as a number, or "auto"."""
    if k == "auto":
        return k
    if not k.isdecimal() or int(k) < 1:
        raise typer.BadParameter(f"--k must be an integer >= 1 or 'auto', not {k!r}.")
    return int(k)


def _check_budget(budget: float | None) -> None:
    if budget is not None and not 1 <= budget < float("inf"):
        raise typer.BadParameter(f"--budget must be a finite number >= 1, not {budget:g}.")


def _require_data(given: dict[str, str | None]) -> None:
    """Raise if one of the options, which require DATA, is given."""
    for option, value in given.items():
        if value is not None:
            raise typer.BadParameter(f"{option} requires DATA.")


def _bundled(name: str) -> "TableSamples":
    """Return one of scikit-learn's data sets as a table."""
    import numpy as np

    from dimetric.advice._table import TableSamples
    from dimetric.data._named import bundled_reader

    data = bundled_reader(name)("drop")
    columns = dict(zip(data.feature_names, data.X.T, strict=True))
    source = f"{name} (scikit-learn)"
    return TableSamples(columns, data.y, np.arange(len(data.X)), "class", name, source, [])


def _compare_table(
    table: "TableSamples",
    learners: dict[str, Any] | None,
    preparation: dict[str, Any],
    options: dict[str, Any],
    out: Path,
    console: "Console | None",
) -> dict[str, Any]:
    """Compare learners on one table, write report and model, print and return the results."""
    from dimetric._files import atomic_write
    from dimetric.advice._compare import compare_samples
    from dimetric.advice._samples import labelled_samples

    started = perf_counter()
    samples = labelled_samples(table, option_names=OPTION_NAMES, **preparation)
    if console is not None:
        _print_data_summary(console, samples)
    files = {"report": out / f"{table.name}.html", "model": out / f"{table.name}.dimetric"}
    # Open the report first, to fail before the comparison if it cannot be written.
    with atomic_write(files["report"]) as report:
        with ProgressBar(table.name) as update:
            comparison = compare_samples(
                samples,
                learners,
                callback=lambda stage, n_done, n_total: update(n_done, n_total),
                option="--k",
                **options,
            )
            _ = comparison.learner, comparison.insight  # compute both while the bar is shown
        comparison.report(report, model_file=files["model"])
        comparison.save(files["model"])
    seconds = perf_counter() - started
    if console is not None:
        _print_results(console, comparison, files, seconds)
    return comparison.to_dict() | {"files": files, "seconds": seconds}


def _print_data_summary(console: "Console", samples: "LabelledSamples") -> None:
    import numpy as np

    from dimetric.report._task import number_text

    (n, d), is_regression = samples.X.shape, samples.task.is_regression
    contents = samples.task.reading if is_regression else f"{len(samples.classes)} classes"
    console.print(
        f"[bold]{escape_markup(samples.table.name)}[/bold]: {n} rows, {d} features, "
        f"{contents} in column {escape_markup(samples.target)}"
    )
    if is_regression:
        low, middle, high = (
            number_text(float(each)) for each in np.quantile(samples.y, [0, 0.5, 1])
        )
        console.print(f"  From {low} to {high}, median {middle}")
    else:
        shown = list(samples.classes.items())[:MAX_SHOWN_CLASSES]
        sizes = ", ".join(f"{escape_markup(name)} ({count})" for name, count in shown)
        more = ", ..." if len(samples.classes) > len(shown) else ""
        console.print(f"  Rows per class: {sizes}{more}")
    if samples.reading:
        console.print(f"  {escape_markup(samples.reading)}", soft_wrap=True)
    print_notes(*(f"  {each}" for each in samples.notes))


def _print_results(
    console: "Console", comparison: "Comparison", files: dict[str, Path], seconds: float
) -> None:
    choice = comparison.choice
    console.print(_score_table(choice))
    for name, reason in choice.dropped.items():
        console.print(f"  {escape_markup(name)} was dropped. {escape_markup(one_line(reason))}")
    console.print(f"[bold]{escape_markup(choice.verdict)}[/bold]")
    for line in _score_lines(comparison):
        console.print(f"  {escape_markup(line)}", soft_wrap=True)
    written = ", ".join(str(each) for each in files.values())
    console.print(f"Written: {escape_markup(written)} ({seconds:.0f} s)\n", soft_wrap=True)


def _score_table(choice: "Choice") -> "Table":
    """Return the scores of all learners, and of reference models, as a table."""
    from rich.table import Table

    task = choice.task
    table = Table(box=None, padding=(0, 1))
    table.add_column("learner")
    for title in (task.score_name, "std", "vs. Euclidean", "fit time (s)"):
        table.add_column(title, justify="right")
    for row in [*choice.table, *choice.reference_table]:
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


def _score_lines(comparison: "Comparison") -> list[str]:
    """Return sentences about the scores of the final."""
    from dimetric.report._confusion import rare_class_note
    from dimetric.report._outcome import outcome, rope_note
    from dimetric.report._setting import setting_note

    choice, samples = comparison.choice, comparison.samples
    n_folds = len(choice.final_scores[choice.best])
    rows = "of the same rows"
    if choice.judged_on_unseen_rows:
        rows = f"on {choice.n_final_rows} rows that were not used to choose the learner"
    sentence = outcome(choice, samples.target, comparison.n_neighbors, samples.classes)
    if samples.task.is_regression:
        return [
            sentence,
            f"These are means over {n_folds} new folds {rows}. "
            + rope_note(choice, comparison.rope, samples.y),
            setting_note(choice.n_neighbors, choice.scale, choice.chosen_in_folds),
        ]
    means = ", ".join(
        f"{name} {choice.task.phrase(scores.mean())}"
        for name, scores in choice.final_scores.items()
    )
    means = f"Mean {choice.task.score_name} over {n_folds} new folds {rows}: {means}."
    rare = rare_class_note(choice.confusion, choice.best)
    setting = setting_note(choice.n_neighbors, choice.scale, choice.chosen_in_folds)
    return [*filter(None, [means, sentence, rare, setting])]
