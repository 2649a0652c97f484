"""The verb ``fit``: learn a distance from a table and write the model."""

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dimetric.cli._checks import model_file
from dimetric.cli._options import (
    Auto,
    Data,
    Drop,
    Header,
    Json,
    LearnerOptions,
    MaxMemory,
    Missing,
    NeighborCount,
    Seed,
    Sheet,
    Sql,
    Target,
    TargetKind,
    UsageError,
    check_choice,
    split_names,
)
from dimetric.cli._read import learner_from, open_file, read, sample_options
from dimetric.cli._terminal import counted, print_json, print_lines, print_notes, spinner, wrote

if TYPE_CHECKING:
    from dimetric.advice._model import FittedTable
    from dimetric.advice._table import TableSamples
    from dimetric.data._files import TableFile
    from dimetric.data._parquet.blocks import ParquetBlocks
    from dimetric.report._task import Task

MAX_SHOWN_CLASSES = 10


def fit(
    data: Data,
    out: Annotated[
        Path,
        typer.Option(metavar="FILE", help="Model file to write, with the extension .dimetric."),
    ],
    target: Target = None,
    target_kind: TargetKind = None,
    learner: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Name of a learner, such as NCA, LMNN or PCA, or 'Euclidean'. (Default: NCA for "
            "classes, MLKR with reg=0.3 for numbers.)",
        ),
    ] = None,
    option: LearnerOptions = None,
    k: NeighborCount = 3,
    scale: Annotated[
        str,
        typer.Option(
            metavar="HOW",
            help="Scale features to [0, 1] ('minmax'), to zero mean and unit variance "
            "('standard'), by median and quartiles ('robust'), or not at all ('none').",
        ),
    ] = "minmax",
    drop: Drop = "",
    missing: Missing = "auto",
    auto: Auto = False,
    max_memory: MaxMemory = None,
    sample_rows: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            help="Number of rows that are sampled from a table larger than --max-memory: the "
            "neighbours of new rows, and all rows for learners that cannot learn from blocks. "
            "(Default: 50000.)",
        ),
    ] = None,
    header: Header = None,
    sheet: Sheet = None,
    sql: Sql = None,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Learn a distance from a table and write the model.

    With a target, the model predicts classes or numbers by nearest neighbours
    under the learned distance. PCA, KPCA, Covariance, MDS, Isomap and LLE do
    not need a target. To find out which learner is best, use `dimetric
    compare`.

    A Parquet table may be larger than memory. PCA, LDA and other learners that
    need nothing but sums over rows learn from all rows, in blocks. Others learn
    from a random sample of the rows.
    """
    out = model_file(out, json)
    import dimetric
    from dimetric._files import atomic_write
    from dimetric.advice._block_model import fit_in_blocks
    from dimetric.advice._model import SCALERS, fit_table

    check_choice("--scale", scale, SCALERS)
    model = None if learner is None else learner_from(learner, option, seed)
    needs_target = model is None or model.__sklearn_tags__().target_tags.required
    sample = sample_options(max_memory, seed, sample_rows)
    source: dict[str, Any] = {"needs_target": needs_target, "sheet": sheet, "sql": sql}
    with spinner("Reading the table") as show:
        file = open_file(data, target, drop, header, sample=sample, **source)
        table = read(file, target, drop, missing, header, auto=auto, **source)
        table, task, classes = _with_target(table, target_kind)
        if learner is None:
            model = _default_learner(task, option, seed)
        elif task.is_regression:
            _check_learns_from_numbers(model, str(table.target), task)
        n_rows = len(table.rows)
        if table.y is not None:
            _check_neighbor_count(k, n_rows)
        blocks = _blocks(file, table, model, drop=drop, missing=missing, auto=auto)
        if show is not None:
            title = (
                counted(n_rows, "row") if blocks is None else f"{blocks.n_rows:,} rows in blocks"
            )
            _show_progress(model, f"Fitting {_name(model)} to {title}", show)
        options: dict[str, Any] = {"n_neighbors": k, "scale": scale}
        options["is_regression"] = task.is_regression
        with atomic_write(out) as temporary:
            if blocks is None:
                fitted = fit_table(table, model, missing=missing, **options)
            else:
                fitted, n_rows, classes = fit_in_blocks(blocks, table, model, **options)
            results = _results(out, table, task, classes, fitted, n_rows, blocks is not None)
            dimetric.save(fitted.model, temporary, about=_about(results, table))
    if json:
        print_json(results)
    else:
        _print_results(results, _name(model), k)


class _IterationCounter:
    """A callback of scikit-learn that shows the number of the current iteration."""

    def __init__(self, title: str, show: Callable[[str], None]) -> None:
        self._title, self._show, self._n_done = title, show, 0

    def setup(self, estimator: Any, context: Any) -> None:
        self._n_done = 0

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None:
        pass

    def on_fit_task_end(self, estimator: Any, context: Any) -> bool:
        if context.task_name == "iteration":
            self._n_done += 1
            self._show(f"{self._title}: iteration {self._n_done}")
        return False

    def teardown(self, estimator: Any, context: Any) -> None:
        pass


def _show_progress(model: Any, title: str, show: Callable[[str], None]) -> None:
    """Show a text, and the iterations of a learner that supports callbacks."""
    show(title)
    if hasattr(model, "set_callbacks"):
        model.set_callbacks(_IterationCounter(title, show))


def _name(model: Any) -> str:
    return "Euclidean" if model is None else type(model).__name__


def _default_learner(task: "Task", option: list[str] | None, seed: int) -> Any:
    """Return the learner that fits the task if the user names none."""
    from dimetric.advice._candidates import REGRESSION_REG

    defaults = [f"reg={REGRESSION_REG}"] if task.is_regression else []
    name = "MLKR" if task.is_regression else "NCA"
    return learner_from(name, [*defaults, *(option or [])], seed)


def _blocks(
    file: "TableFile",
    table: "TableSamples",
    model: Any,
    *,
    drop: str,
    missing: str,
    auto: bool,
) -> "ParquetBlocks | None":
    """Return a large table in blocks, if the learner can be fitted to them, else None."""
    from dimetric.advice._block_model import learns_from_blocks
    from dimetric.data._parquet.blocks import ParquetBlocks

    if table.sampling is None or not learns_from_blocks(model):
        return None
    options: dict[str, Any] = {"missing": missing, "auto": auto}
    return ParquetBlocks(file, table.target, drop=split_names(drop) or [], **options)


def _about(results: dict[str, Any], table: "TableSamples") -> dict[str, Any]:
    """Return what the model file says about the data."""
    about = {"data": table.source, "target": table.target, "rows": results["rows"]}
    if results["leave_one_out_r2"] is not None:
        about["target_kind"] = results["target_kind"]
    if results["in_blocks"] and table.y is not None:
        about["neighbors"] = str(table.sampling)
    elif not results["in_blocks"] and table.sampling is not None:
        about["sample"] = str(table.sampling)
    return about


def _results(
    out: Path,
    table: "TableSamples",
    task: "Task",
    classes: dict[str, int],
    fitted: "FittedTable",
    n_rows: int,
    in_blocks: bool,
) -> dict[str, Any]:
    """Return the results as a dictionary, for JSON."""
    score, is_regression = fitted.leave_one_out_score, task.is_regression
    return {
        "model": out,
        "rows": n_rows,
        "in_blocks": in_blocks,
        "sampling": None if table.sampling is None else asdict(table.sampling),
        "features": fitted.model[-1].n_features_in_,
        "target": table.target,
        "target_kind": None if table.y is None else task.kind,
        "classes": classes,
        "seconds": fitted.seconds,
        "leave_one_out_accuracy": None if is_regression else score,
        "leave_one_out_r2": score if is_regression else None,
        "notes": fitted.notes,
    }


def _with_target(
    table: "TableSamples", kind: str | None
) -> tuple["TableSamples", "Task", dict[str, int]]:
    """Return a table with its target as it is read, the task, and the sizes of the classes."""
    from dimetric.advice._table import class_counts
    from dimetric.advice._target import read_target
    from dimetric.report._task import Task

    if table.y is None:
        if kind is not None:
            raise UsageError("--target-kind requires --target.")
        return table, Task(), {}
    found = read_target(table, kind, option="--target-kind")
    if not found.task.is_regression:
        return table, found.task, class_counts(found.y, str(table.target), "--target")
    table = table._replace(y=found.y, notes=[*table.notes, found.reading])
    return table, found.task, {}


def _check_learns_from_numbers(model: Any, target: str, task: "Task") -> None:
    from dimetric.classify._class_learner import learns_from_classes

    if learns_from_classes(model):
        raise ValueError(
            f"{_name(model)} learns from classes, but column {target!r} is read as "
            f"{task.reading}. Use --learner MLKR, PCA or Euclidean. If the numbers are classes, "
            "set --target-kind classes."
        )


def _check_neighbor_count(k: int, n_rows: int) -> None:
    if k >= n_rows:  # a row has n_rows - 1 possible neighbours
        raise ValueError(
            f"--k must be at most {n_rows - 1}, not {k}, because the model is fitted to only "
            f"{n_rows} rows."
        )


def _print_results(results: dict[str, Any], name: str, k: int) -> None:
    from dimetric.data._parquet.sample import Sampling

    print_notes(*results["notes"])
    rows, features, seconds = (results[each] for each in ("rows", "features", "seconds"))
    size = f"{rows:,} rows in blocks" if results["in_blocks"] else counted(rows, "row")
    lines = [f"{name}: {size}, {counted(features, 'feature')}, {seconds:.1f} s"]
    if results["sampling"] is not None:
        what = "Neighbours of new rows" if results["in_blocks"] else "Fitted to"
        lines.append(f"{what}: {Sampling(**results['sampling'])}")
    classes = results["classes"]
    if classes:
        shown = list(classes.items())[:MAX_SHOWN_CLASSES]
        sizes = ", ".join(f"{name} ({count})" for name, count in shown)
        others = f" and {len(classes) - len(shown)} more" if len(classes) > len(shown) else ""
        score = results["leave_one_out_accuracy"]
        lines += [
            f"{len(classes)} classes: {sizes}{others}",
            f"Training accuracy ({k}-NN, leave-one-out): {score:.3f}. Optimistic; run "
            "`dimetric compare` for a fair estimate.",
        ]
    if results["leave_one_out_r2"] is not None:
        lines.append(
            f"Training R2 ({k}-NN, leave-one-out): {results['leave_one_out_r2']:.3f}. Optimistic; "
            "run `dimetric compare` for a fair estimate."
        )
    n_classes = counted(len(classes), "class") if classes else ""
    out = results["model"]
    print_lines(*lines, wrote(out, name, counted(features, "feature"), n_classes), out=out)
