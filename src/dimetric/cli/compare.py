"""The verb ``compare``: which distance suits a table, does it help, and by how much."""

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
    Voters,
    names,
)
from dimetric.cli._read import learner_from, read
from dimetric.cli._terminal import as_json, plain, progress, say

if TYPE_CHECKING:
    from rich.console import Console

    from dimetric.advice._comparison import Comparison
    from dimetric.advice._samples import LabelledSamples
    from dimetric.advice._table import TableSamples

BUNDLED = ("wine", "digits")
BUDGET_SECONDS, BUNDLED_BUDGET_SECONDS = 60.0, 20.0  # for a table
MAX_SHOWN_CLASSES = 8


def compare(
    data: Annotated[
        Path | None,
        typer.Argument(help="Table: CSV, Parquet or NPZ (X, y). (Default: wine and digits.)"),
    ] = None,
    target: Target = None,
    learners: Learners = "",
    k: Voters = 3,
    folds: Annotated[int, typer.Option(min=2, help="Folds of the cross-validation.")] = 5,
    budget: Annotated[
        float | None, typer.Option(help="Seconds for a table, about. (Default: 60.)")
    ] = None,
    drop: Drop = "",
    missing: Missing = "drop",
    header: Header = None,
    jobs: Jobs = -1,
    seed: Seed = 0,
    out: Annotated[Path, typer.Option(help="Folder for the report and the model.")] = Path(
        "dimetric-compare"
    ),
    json: Json = False,
) -> None:
    """Find the distance that suits a table best, and test whether it beats the Euclidean distance.

    Cross-validates every learner that suits the table, tunes the best one, and tests it against the
    Euclidean distance in other folds. Writes a report (one HTML file) and the model.
    """
    from rich.console import Console

    if budget is not None and not 1 <= budget < float("inf"):
        raise typer.BadParameter("--budget must be at least 1 second, and finite.")
    seconds = budget or (BUDGET_SECONDS if data is not None else BUNDLED_BUDGET_SECONDS)
    if data is None:
        tables = [_bundled(name) for name in BUNDLED]
    else:
        tables = [read(data, target, drop, missing, header, labelled=True)]
    out.mkdir(parents=True, exist_ok=True)
    console = None if json else Console(highlight=False)
    options = {"n_neighbors": k, "random_state": seed, "n_jobs": jobs}
    results: list[dict[str, Any]] = []
    for table in tables:
        # Time that the tables before have not used is there for this one.
        spare = seconds * len(results) - sum(result["seconds"] for result in results)
        options["budget"] = seconds + max(0.0, spare)
        results.append(_compared(table, names(learners), folds, missing, options, out, console))
    if json:
        as_json({"results": results})


def _bundled(name: str) -> "TableSamples":
    """Return a data set of scikit-learn as a table."""
    import numpy as np

    from dimetric.advice._table import TableSamples
    from dimetric.data._named import bundled

    data = bundled(name)("drop")
    columns = dict(zip(data.feature_names, data.X.T, strict=True))
    source = f"{name}, of scikit-learn"
    return TableSamples(columns, data.y, np.arange(len(data.X)), "class", name, source, [])


def _compared(
    table: "TableSamples",
    wanted: list[str] | None,
    folds: int,
    missing: str,
    options: dict[str, Any],
    out: Path,
    console: "Console | None",
) -> dict[str, Any]:
    """Compare on one table, write report and model, and print; return the results."""
    from dimetric._files import atomic
    from dimetric.advice._compare import compare_samples
    from dimetric.advice._samples import labelled_samples

    started = perf_counter()
    samples = labelled_samples(table, cv=folds, missing=missing, option="--target")
    if console is not None:
        _introduce(console, samples)
    seed = options["random_state"]
    learners = None if wanted is None else {each: learner_from(each, [], seed) for each in wanted}
    files = {"report": out / f"{table.name}.html", "model": out / f"{table.name}.dimetric"}
    # The report is begun first: if it cannot be written, nothing is compared.
    with atomic(files["report"]) as report:
        with progress(table.name) as watch:
            comparison = compare_samples(
                samples,
                learners,
                callback=lambda stage, done, total: watch(done, total),
                **options,
            )
            _ = comparison.learner, comparison.insight  # computed while the progress is shown
        comparison.report(report, model_file=files["model"])
        comparison.save(files["model"])
    seconds = perf_counter() - started
    if console is not None:
        _show(console, comparison, files, seconds)
    return comparison.to_dict() | {"files": files, "seconds": seconds}


def _introduce(console: "Console", samples: "LabelledSamples") -> None:
    n, d = samples.X.shape
    console.print(
        f"[bold]{plain(samples.table.name)}[/bold]: {n} rows, {d} features, "
        f"{len(samples.classes)} classes in column {plain(samples.target)}"
    )
    shown = list(samples.classes.items())[:MAX_SHOWN_CLASSES]
    told = ", ".join(f"{plain(name)} {count}" for name, count in shown)
    console.print(f"  {told}{', ...' if len(samples.classes) > len(shown) else ''}")
    say(*(f"  {each}" for each in samples.notes))


def _show(
    console: "Console", comparison: "Comparison", files: dict[str, Path], seconds: float
) -> None:
    from rich.table import Table

    choice = comparison.choice
    table = Table(box=None, padding=(0, 1))
    table.add_column("learner")
    for title in ("score", "spread", "to Euclidean", "seconds"):
        table.add_column(title, justify="right")
    for row in choice.table:
        gain = "" if row.learner == "Euclidean" else f"{row.gain:+.3f}"
        numbers = (f"{row.score:.3f}", f"{row.std:.3f}", gain, f"{row.seconds:.3f}")
        table.add_row(row.learner, *numbers, style="bold" if row.learner == choice.best else "")
    console.print(table)
    for name, why in choice.dropped.items():
        console.print(f"  {name} has no score: {plain(why)}")
    means = ", ".join(f"{name} {own.mean():.3f}" for name, own in choice.final_scores.items())
    n_folds = len(choice.final_scores[choice.best])
    rows = "the same rows"
    if choice.judged_on_unseen_rows:
        rows = f"{choice.n_final} rows that had no part in the choice"
    console.print(f"[bold]{plain(choice.verdict)}[/bold]")
    console.print(f"  {means}: means over {n_folds} new folds of {rows}", soft_wrap=True)
    told = ", ".join(str(each) for each in files.values())
    console.print(f"Written: {plain(told)} ({seconds:.0f} s)\n", soft_wrap=True)
