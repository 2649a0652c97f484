"""The verb ``compare``: which distance suits a table, does it help, and by how much."""

import platform
import warnings
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dimetric.cli._model import (
    Drop,
    Header,
    Json,
    Missing,
    Target,
    class_counts,
    learner_from,
    pipeline,
    read,
)
from dimetric.cli._terminal import as_json, names, progress, say

if TYPE_CHECKING:
    import numpy as np
    from rich.console import Console

    from dimetric.advice._compare import Choice

BUNDLED = ("wine", "digits")
BUDGET, BUNDLED_BUDGET = 60.0, 20.0  # seconds for a table
CHOOSING = 0.7  # of the budget; the rest is for the model and the report
ROWS = 20_000  # of the model, at most
PACKAGES = ("dimetric", "numpy", "scipy", "scikit-learn")


@dataclass(frozen=True, eq=False)
class Given:
    """A table to compare distances on."""

    name: str
    source: str
    columns: "dict[str, np.ndarray]"
    y: "np.ndarray"
    rows: "np.ndarray"
    target: str
    notes: list[str]


def compare(
    data: Annotated[
        Path | None,
        typer.Argument(help="Table: CSV, Parquet or NPZ (X, y). (Default: wine and digits.)"),
    ] = None,
    target: Target = None,
    learners: Annotated[
        str, typer.Option(help="Learners, with commas between them. (Default: what suits.)")
    ] = "",
    k: Annotated[int, typer.Option(min=1, help="Neighbours that vote.")] = 3,
    folds: Annotated[int, typer.Option(min=2, help="Folds of the cross-validation.")] = 5,
    budget: Annotated[
        float | None, typer.Option(help="Seconds for a table, about. (Default: 60.)")
    ] = None,
    drop: Drop = "",
    missing: Missing = "drop",
    header: Header = None,
    jobs: Annotated[int, typer.Option(help="Processes; -1 for all processors.")] = -1,
    seed: Annotated[int, typer.Option(min=0, help="Of what is drawn at random.")] = 0,
    out: Annotated[
        Path, typer.Option(help="Folder for the report and the model.")
    ] = Path("dimetric-compare"),
    json: Json = False,
) -> None:  # fmt: skip
    """Find the distance that suits a table best, and whether it beats the Euclidean.

    Scales, cross-validates every sensible learner, tunes the best, and tests it against the
    Euclidean distance in other folds. Writes a report (HTML, all in one file) and the model.
    """
    from rich.console import Console

    if budget is not None and not 1 <= budget < float("inf"):
        raise typer.BadParameter("--budget must be at least 1 second, and end.")
    seconds = budget or (BUDGET if data is not None else BUNDLED_BUDGET)
    given = [_bundled(name) for name in BUNDLED] if data is None else [
        _given(data, target, drop, missing, header)]  # fmt: skip
    out.mkdir(parents=True, exist_ok=True)
    console = Console(highlight=False)
    results: list[dict[str, Any]] = []
    for each in given:
        # What the ones before have not used is there for the others.
        spare = seconds * len(results) - sum(result["seconds"] for result in results)
        result = _compared(
            each, names(learners), k, folds, seconds + max(0.0, spare), missing, jobs, seed, out,
            None if json else console,
        )  # fmt: skip
        results.append(result)
    if json:
        as_json({"results": results})


def _given(path: Path, target: str | None, drop: str, missing: str, header: bool | None) -> Given:
    found = read(path, target, drop, missing, header, labelled=True)
    samples, table = found.samples, found.table
    assert samples.y is not None
    return Given(
        table.name, str(path), samples.columns, samples.y, samples.rows, str(table.target),
        found.notes,
    )  # fmt: skip


def _bundled(name: str) -> Given:
    import numpy as np

    from dimetric.data._named import bundled

    data = bundled(name)("drop")
    assert data.y is not None
    columns = dict(zip(data.feature_names, data.X.T, strict=True))
    rows = np.arange(len(data.X))
    return Given(name, f"{name}, of scikit-learn", columns, data.y, rows, "class", [])


def _compared(
    given: Given, wanted: list[str] | None, k: int, folds: int, budget: float, missing: str,
    jobs: int, seed: int, out: Path, console: "Console | None",
) -> dict[str, Any]:  # fmt: skip
    """Compare on one table, write report and model, tell; return what is found."""
    import dimetric
    from dimetric._files import atomic
    from dimetric.advice._compare import choose
    from dimetric.advice._insight import insight
    from dimetric.data._encoder import TableEncoder
    from dimetric.report._page import Facts, page

    started = perf_counter()
    class_counts(given.y, given.target)
    given, folds = _without_rare(given, folds)
    classes = class_counts(given.y, given.target)
    encoder = TableEncoder(missing="impute" if missing == "impute" else "raise")
    X = encoder.fit_transform(given.columns)
    features = [str(each) for each in encoder.get_feature_names_out()]
    notes = [*given.notes, *encoder.notes_]
    if console is not None:
        _introduce(console, given, X.shape[1], classes, notes)
    models = None if wanted is None else {each: learner_from(each, [], seed) for each in wanted}
    files = {"report": out / f"{given.name}.html", "model": out / f"{given.name}.dimetric"}
    # The report is begun first: where nothing can be written, nothing need be compared.
    with atomic(files["report"]) as report:
        with progress(given.name) as watch, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = choose(
                X, given.y, models, budget=CHOOSING * budget, n_neighbors=k, n_folds=folds,
                random_state=seed, n_jobs=jobs, tell=lambda what, done, total: watch(done, total),
            )  # fmt: skip
            model, kept = _model(given, found, k, missing, CHOOSING * budget / 10, len(X), folds)
            seen = insight(found.learner, X, given.y, features, n_neighbors=k, random_state=seed)
        facts = Facts(
            given.name, given.target, given.source, len(X), features, classes, notes, given.rows,
            given.y, k, folds, seed, files["model"], kept, perf_counter() - started, _versions(),
        )  # fmt: skip
        about = {"data": given.source, "target": given.target, "verdict": found.verdict}
        report.write_text(page(facts, found, seen), encoding="utf-8")
        dimetric.save(model, files["model"], about=about)
    if console is not None:
        _show(console, found, files, perf_counter() - started)
    return _result(given, found, classes, notes, files, kept, perf_counter() - started)


def _without_rare(given: Given, folds: int) -> tuple[Given, int]:
    """Return a table without classes that are too small to be judged, and how many folds to take.

    Three folds are enough where that keeps a class.
    """
    import numpy as np

    labels, counts = np.unique(given.y, return_counts=True)
    least = min(folds, 3)
    rare = labels[counts < least]
    if len(rare) == 0:
        return given, int(min(folds, counts.min()))
    kept = ~np.isin(given.y, rare)
    if len(labels) - len(rare) < 2:
        raise ValueError(
            f"Fewer than two classes of {given.target!r} have {least} members: there are too few "
            "rows to compare anything."
        )
    told = ", ".join(repr(str(each)) for each in rare[:5]) + (", ..." if len(rare) > 5 else "")
    one = len(rare) == 1
    note = (
        f"{'Class' if one else 'Classes'} {told} {'has' if one else 'have'} fewer than {least} "
        f"members: {int(np.sum(~kept))} {'row was' if np.sum(~kept) == 1 else 'rows were'} left "
        "out, as nothing can be said about such a class."
    )
    left = Given(
        given.name, given.source, {name: own[kept] for name, own in given.columns.items()},
        given.y[kept], given.rows[kept], given.target, [*given.notes, note],
    )  # fmt: skip
    return left, int(min(folds, counts[counts >= least].min()))


def _model(
    given: Given, found: "Choice", k: int, missing: str, seconds: float, n: int, folds: int
) -> tuple[Any, str]:
    """Return a model of what the verdict is for, fitted to as many rows as there is time for."""
    import numpy as np

    worse = found.posterior.left > max(found.posterior.rope, found.posterior.right)
    learner, name = (None, "the Euclidean distance") if worse else (found.learner, found.best)
    # A fit looks at pairs of rows: its time grows with their square.
    n_race = found.n_race * (folds - 1) / folds
    fits = (max(seconds, 2.0) / max(found.seconds[found.best], 1e-3)) ** 0.5
    most = int(min(ROWS, max(n_race, fits * n_race)))
    rows = np.arange(n)
    if n > most:
        rows = np.sort(np.random.default_rng(0).permutation(n)[:most])
    model = pipeline(learner, k=k, scale="minmax", missing=missing)
    model.fit({each: own[rows] for each, own in given.columns.items()}, given.y[rows])
    told = f" ({', '.join(f'{a}={b!r}' for a, b in found.params.items())})" if found.params else ""
    whole = "all" if n <= most else f"{most} drawn"
    kept = f"It holds {name}{'' if worse else told}, learned from {whole} of the {n} rows"
    if n > most:
        kept += "; 'dimetric fit' takes all, and its time"
    return model, f"{kept}, and predicts by {k} nearest neighbours."


def _introduce(
    console: "Console", given: Given, n_features: int, classes: dict[str, int], notes: list[str]
) -> None:
    n = len(given.y)
    console.print(
        f"[bold]{_plain(given.name)}[/bold]: {n} rows, {n_features} features, {len(classes)} "
        f"classes in column {_plain(given.target)}"
    )
    told = ", ".join(f"{_plain(name)} {count}" for name, count in list(classes.items())[:8])
    console.print(f"  {told}{', ...' if len(classes) > 8 else ''}")
    say(*(f"  {each}" for each in notes))


def _show(console: "Console", found: "Choice", files: dict[str, Path], seconds: float) -> None:
    from rich.table import Table

    table = Table(box=None, padding=(0, 1))
    for title, side in (("learner", "left"), ("score", "right"), ("spread", "right"),
                        ("to Euclidean", "right"), ("seconds", "right")):  # fmt: skip
        table.add_column(title, justify=side)  # type: ignore[arg-type]
    base = found.means["Euclidean"]
    for name, mean in found.means.items():
        gain = "" if name == "Euclidean" else f"{mean - base:+.3f}"
        style = "bold" if name == found.best else ""
        table.add_row(name, f"{mean:.3f}", f"{found.scores[name].std(ddof=1):.3f}", gain,
                      f"{found.seconds[name]:.3f}", style=style)  # fmt: skip
    console.print(table)
    for name, why in found.given_up.items():
        console.print(f"  {name} has no score: {_plain(why)}")
    pair = ", ".join(f"{name} {own.mean():.3f}" for name, own in found.judged.items())
    n_folds = len(next(iter(found.judged.values())))
    on = f"{found.n_judge} rows that had no part in the choice" if found.fresh else "the same rows"
    console.print(f"[bold]{_plain(found.verdict)}[/bold]")
    console.print(f"  {pair}: means over {n_folds} new folds of {on}", soft_wrap=True)
    told = ", ".join(str(each) for each in files.values())
    console.print(f"Written: {_plain(told)} ({seconds:.0f} s)\n", soft_wrap=True)


def _result(
    given: Given, found: "Choice", classes: dict[str, int], notes: list[str],
    files: dict[str, Path], kept: str, seconds: float,
) -> dict[str, Any]:  # fmt: skip
    table = [
        {"learner": name, "score": mean, "spread": float(found.scores[name].std(ddof=1)),
         "scores": found.scores[name], "seconds": found.seconds[name]}
        for name, mean in found.means.items()
    ]  # fmt: skip
    verdict = {
        "words": found.verdict, "learner": found.best, "params": found.params,
        "better": found.posterior.right, "equal": found.posterior.rope,
        "worse": found.posterior.left, "scores": found.judged, "runs": found.runs,
        "on_other_rows": found.fresh, "rows": found.n_judge,
    }  # fmt: skip
    return {
        "data": given.name, "rows": len(given.y), "target": given.target, "classes": classes,
        "notes": notes, "race_rows": found.n_race, "table": table, "given_up": found.given_up,
        "verdict": verdict, "model": kept, "files": files, "seconds": seconds,
    }  # fmt: skip


def _plain(value: object) -> str:
    """Return a text in which nothing is markup for the terminal."""
    from rich.markup import escape

    return escape(str(value))


def _versions() -> str:
    from importlib.metadata import PackageNotFoundError, version

    found = [f"Python {platform.python_version()}"]
    for name in PACKAGES:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            continue
    return ", ".join(found)
