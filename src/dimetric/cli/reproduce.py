"""The verb ``reproduce``: run a published experiment, and write and plot its results."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dimetric._names import printable
from dimetric.cli._checks import check_output_folder
from dimetric.cli._options import Jobs, Json, split_names
from dimetric.cli._terminal import (
    ProgressBar,
    escape_markup,
    print_json,
    print_lines,
    print_notes,
    wrote,
)
from dimetric.cli._terminal import console as terminal_console

if TYPE_CHECKING:
    import numpy as np
    from rich.console import Console
    from rich.table import Table

    from dimetric.benchmark._cell import Cell
    from dimetric.experiments import _paper as paper
    from dimetric.experiments._tables import ScoreTable

SCORE_WIDTH = len("0.1234")
MAX_FAILURES = 10  # printed lines about failed fits


Experiment = Annotated[
    int,
    typer.Option(
        metavar="N",
        min=1,
        max=4,
        help="1: learners, 2: nearest-centroid learners, 3: kernel learners, "
        "4: numbers of dimensions.",
    ),
]
Neighbors = Annotated[
    list[int] | None,
    typer.Option(
        metavar="N",
        help="Number of nearest neighbours used for classification. Repeatable. (Default: 3.)",
    ),
]
Directory = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR",
        help="Directory with the data sets and the published tables (paper_tables).",
        envvar="DIMETRIC_DATA",
    ),
]
Budget = Annotated[
    float | None,
    typer.Option(metavar="SECONDS", help="Time limit for each fit, in seconds."),
]
Out = Annotated[
    Path,
    typer.Option(
        metavar="DIR", help="Directory for the results and for the state of an interrupted run."
    ),
]
Only = Annotated[
    str,
    typer.Option(metavar="NAMES", help="Data sets to run, separated by commas. (Default: all.)"),
]
Learners = Annotated[
    str,
    typer.Option(metavar="NAMES", help="Learners to run, separated by commas. (Default: all.)"),
]


def reproduce(
    experiment: Experiment = 1,
    k: Neighbors = None,
    data: Directory = None,
    only: Only = "",
    learners: Learners = "",
    jobs: Jobs = 1,
    budget: Budget = None,
    retry: Annotated[bool, typer.Option("--retry", help="Repeat fits that failed.")] = False,
    out: Out = Path("results"),
    json: Json = False,
) -> None:
    """Run a published experiment and compare the scores with the published ones.

    To continue an interrupted run, repeat the command.
    """
    check_output_folder(out)
    from dimetric._files import create_folder
    from dimetric.experiments import _paper as paper
    from dimetric.experiments._figure import write_figure
    from dimetric.experiments._report import write

    create_folder(out)
    console = terminal_console()
    neighbor_counts, results, all_scored = k or [3], [], True
    for each in neighbor_counts[:1] if experiment == 2 else neighbor_counts:
        try:
            with ProgressBar(f"experiment {experiment}, k = {each}") as callback:
                reproduction = paper.reproduce(
                    experiment,
                    k=each,
                    folder=data,
                    data_sets=split_names(only),
                    learners=split_names(learners),
                    store=out / "cells.sqlite",
                    time_budget=budget,
                    retry=retry,
                    n_jobs=jobs,
                    callback=callback,
                )
        except KeyboardInterrupt:
            raise KeyboardInterrupt("Repeat the command to continue.") from None
        files = [*write(reproduction, out), *write_figure(reproduction, out)]
        if json:
            results.append({"experiment": experiment, "k": each} | _result(reproduction, files))
        else:
            show(reproduction, console)
            print_lines(*(wrote(file) for file in files))
        print_notes(*_failures(reproduction.result.cells))
        all_scored = all_scored and any(cell.status == "ok" for cell in reproduction.result.cells)
    if json:
        print_json({"results": results})
    if not all_scored:
        raise SystemExit("A run has no scores, because all of its fits failed (see above).")


def _result(reproduction: "paper.Reproduction", files: list[Path]) -> dict[str, Any]:
    """Return scores and verdicts as a dictionary for JSON."""
    from dimetric.stats import verdict

    fields = ("name", "rows", "learners", "test", "published_test")
    score_tables = [
        {name: getattr(each, name) for name in fields} for each in reproduction.score_tables
    ]
    verdicts = [verdict(a, b, each) for (a, b), each in reproduction.posteriors().items()]
    return {
        "title": reproduction.title,
        "score_tables": score_tables,
        "verdicts": verdicts,
        "files": files,
    }


def show(reproduction: "paper.Reproduction", console: "Console") -> None:
    """Print tables of our scores and the published ones, with averages and verdicts."""
    from dimetric.experiments import _report as report
    from dimetric.stats import verdict

    console.print(f"[bold]{escape_markup(reproduction.title)}[/bold]")
    console.print("Test scores. Each cell shows our score, and the published one under it.")
    for score_table in reproduction.score_tables:
        for columns in _pages(score_table, console.width):
            console.print(_scores(score_table, columns))
        if report.coverage(score_table):
            console.print(escape_markup(report.coverage(score_table)), highlight=False)
    for (baseline, learner), each in reproduction.posteriors().items():
        console.print(escape_markup(verdict(baseline, learner, each)), highlight=False)
    for line in str(reproduction.result).splitlines():
        console.print(escape_markup(line), highlight=False)


def _failures(cells: "list[Cell]") -> list[str]:
    """Return one line for each learner and each reason why its fits have no score."""
    counts: dict[tuple[str, str], int] = {}
    for cell in cells:
        if cell.status != "ok":
            what = "timed out" if cell.status == "timeout" else cell.status
            failure = cell.learner, f"{what}: {cell.message.partition(chr(10))[0]}"
            counts[failure] = counts.get(failure, 0) + 1
    lines = [
        f"{learner}: {n} fit{'' if n == 1 else 's'} {reason}"
        for (learner, reason), n in counts.items()
    ]
    n_hidden = len(lines) - MAX_FAILURES
    more = [f"Lines not shown: {n_hidden}."] if n_hidden > 0 else []
    return lines[:MAX_FAILURES] + more


def _pages(score_table: "ScoreTable", width: int) -> list[list[int]]:
    """Split the learners into tables that fit the terminal. Return their column numbers."""
    pages: list[list[int]] = []
    first_column = 2 + max(len(each) for each in ("dimension", *score_table.rows))
    width_left = 0
    for j, learner in enumerate(score_table.learners):
        needed = 1 + max(SCORE_WIDTH, *(len(word) for word in learner.split()))
        if needed > width_left or not pages:
            pages.append([])
            width_left = width - first_column
        pages[-1].append(j)
        width_left -= needed
    return pages


def _scores(score_table: "ScoreTable", columns: list[int]) -> "Table":
    from rich.table import Table
    from rich.text import Text

    table = Table(title=escape_markup(score_table.name) or None, show_lines=True, padding=(0, 0))
    table.add_column("dimension" if score_table.name else "data", no_wrap=True)
    for j in columns:
        name = Text("\n".join(map(printable, score_table.learners[j].split())))
        table.add_column(name, justify="right", no_wrap=True)
    for row, ours, published in zip(
        score_table.rows, score_table.test, score_table.published_test, strict=True
    ):
        table.add_row(escape_markup(row), *_pairs(ours[columns], published[columns]))
    ours, published = score_table.averages("test"), score_table.averages("published_test")
    for title, digits, our_row, published_row in zip(
        ("average", "rank"), (4, 2), ours, published, strict=True
    ):
        pairs = _pairs(our_row[columns], published_row[columns], digits)
        table.add_row(title, *pairs, style="bold")
    return table


def _pairs(ours: "np.ndarray", published: "np.ndarray", digits: int = 4) -> list[str]:
    import numpy as np

    texts = [
        ["" if np.isnan(each) else f"{each:.{digits}f}" for each in values]
        for values in (ours, published)
    ]
    return ["\n".join(pair) for pair in zip(*texts, strict=True)]
