"""The verb ``compare``: test learned distances against the Euclidean distance on a table."""

from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dimetric.cli._checks import check_output_folder
from dimetric.cli._comparison_text import print_data_summary, print_results, progress_callback
from dimetric.cli._options import (
    TABLE_HELP,
    Auto,
    Drop,
    Groups,
    Header,
    Jobs,
    Json,
    Learners,
    MaxMemory,
    Missing,
    Seed,
    Sheet,
    Sql,
    Target,
    TargetKind,
    check_choice,
    split_names,
)
from dimetric.cli._read import learner_from, read, sample_options
from dimetric.cli._terminal import ProgressBar, print_json
from dimetric.cli._terminal import console as terminal_console

if TYPE_CHECKING:
    from rich.console import Console

    from dimetric.advice._table import TableSamples

BUNDLED = ("wine", "digits")
BUDGET_SECONDS, BUNDLED_BUDGET_SECONDS = 60.0, 20.0  # for each table
OPTION_NAMES = {
    "target": "--target",
    "groups": "--groups",
    "target_kind": "--target-kind",
    "score": "--score",
}
Tables = Annotated[
    list[Path] | None,
    typer.Argument(metavar="DATA", help=f"{TABLE_HELP} (Default: the data sets wine and digits.)"),
]
Score = Annotated[
    str | None,
    typer.Option(
        metavar="SCORE",
        help="For classes: 'accuracy', 'balanced_accuracy' (mean of the recalls) or "
        "'f1_macro'. For numbers: 'r2' or 'mae' (mean absolute error). (Default: 'accuracy', "
        "or 'balanced_accuracy' if the largest class has more than 80 % of the rows; 'r2' for "
        "numbers.)",
    ),
]
NeighborCount = Annotated[
    str,
    typer.Option(
        metavar="N",
        help="Number of nearest neighbours used for predictions, or 'auto': 1, 3, 5 or 7, "
        "chosen in each fold from its training rows.",
    ),
]
Scale = Annotated[
    str,
    typer.Option(
        metavar="HOW",
        help="Scale features to [0, 1] ('minmax'), to zero mean and unit variance "
        "('standard'), by median and quartiles ('robust'), or as chosen in each fold from its "
        "training rows ('auto').",
    ),
]
Folds = Annotated[int, typer.Option(metavar="N", min=2, help="Number of cross-validation folds.")]
Budget = Annotated[
    float | None,
    typer.Option(
        metavar="SECONDS",
        help="Approximate time in seconds for each table. (Default: 60, or 20 without DATA.)",
    ),
]
Out = Annotated[Path, typer.Option(metavar="DIR", help="Directory for the report and the model.")]


def compare(
    data: Tables = None,
    target: Target = None,
    target_kind: TargetKind = None,
    score: Score = None,
    learners: Learners = "",
    k: NeighborCount = "auto",
    scale: Scale = "auto",
    folds: Folds = 5,
    budget: Budget = None,
    drop: Drop = "",
    groups: Groups = None,
    missing: Missing = "auto",
    auto: Auto = False,
    max_memory: MaxMemory = None,
    header: Header = None,
    sheet: Sheet = None,
    sql: Sql = None,
    jobs: Jobs = -1,
    seed: Seed = 0,
    out: Out = Path("dimetric-compare"),
    json: Json = False,
) -> None:
    """Find the best distance for a table, and test it against the Euclidean distance.

    Cross-validates all learners that are fast enough for the table, tunes the
    best one, and tests it against the Euclidean distance in new folds. A target
    of numbers is predicted by regression. Writes a report (one HTML file) and
    the fitted model.
    """
    check_output_folder(out)
    from dimetric._files import create_folder

    _check_budget(budget)
    check_choice("--scale", scale, ("minmax", "standard", "robust", "auto"))
    names = split_names(learners)
    models = None if names is None else {each: learner_from(each, [], seed) for each in names}
    if not data:
        _require_data(
            {"--groups": groups, "--sql": sql, "--target-kind": target_kind, "--score": score}
        )
        tables = [_bundled(name) for name in BUNDLED]
    else:
        source: dict[str, Any] = {"groups": groups, "sheet": sheet, "sql": sql, "auto": auto}
        source["sample"] = sample_options(max_memory, seed)
        tables = [read(data, target, drop, missing, header, needs_target=True, **source)]
    create_folder(out)
    console = None if json else terminal_console(highlight=False)
    preparation = {"cv": folds, "missing": missing, "kind": target_kind, "score": score}
    options: dict[str, Any] = {"n_neighbors": _neighbor_count(k), "scale": scale}
    options |= {"random_state": seed, "n_jobs": jobs}
    seconds = budget or (BUNDLED_BUDGET_SECONDS if not data else BUDGET_SECONDS)
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
        print_data_summary(console, samples)
    files = {"report": out / f"{table.name}.html", "model": out / f"{table.name}.dimetric"}
    # Open the report first, to fail before the comparison if it cannot be written.
    with atomic_write(files["report"]) as report:
        with ProgressBar(table.name) as update:
            report_progress = progress_callback(table.name, update)
            comparison = compare_samples(
                samples, learners, callback=report_progress, option="--k", **options
            ).compute(report_progress)
        comparison.report(report, model_file=files["model"])
        comparison.save(files["model"])
    seconds = perf_counter() - started
    if console is not None:
        print_results(console, comparison, files, seconds)
    return comparison.to_dict() | {"files": files, "seconds": seconds}
