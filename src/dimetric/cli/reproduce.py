"""The verb ``reproduce``: run a published experiment, show, write, draw."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dimetric.cli._options import Jobs, Json, names
from dimetric.cli._terminal import as_json, progress, say

if TYPE_CHECKING:
    import numpy as np
    from rich.console import Console
    from rich.table import Table

    from dimetric.benchmark._store import Cell
    from dimetric.experiments import _paper as paper
    from dimetric.experiments._tables import Block

SCORE_WIDTH = len("0.1234")
MAX_REASONS = 10


Experiment = Annotated[
    int,
    typer.Option(
        min=1, max=4, help="1: learners, 2: nearest centroids, 3: kernels, 4: dimensions."
    ),
]
Neighbors = Annotated[
    list[int] | None,
    typer.Option(help="Neighbours that vote; may be given several times. (Default: 3.)"),
]
Folder = Annotated[
    Path | None,
    typer.Option(
        help="Folder of data sets, and of the published paper_tables.", envvar="DIMETRIC_DATA"
    ),
]
Budget = Annotated[float | None, typer.Option(help="Seconds after which a fit is stopped.")]
Out = Annotated[
    Path, typer.Option(help="Folder for the results, and for the state of a stopped run.")
]


def reproduce(
    experiment: Experiment = 1,
    k: Neighbors = None,
    data: Folder = None,
    only: Annotated[str, typer.Option(help="Data sets, separated by commas.")] = "",
    learners: Annotated[str, typer.Option(help="Learners, separated by commas.")] = "",
    jobs: Jobs = 1,
    budget: Budget = None,
    retry: Annotated[bool, typer.Option("--retry", help="Repeat fits that failed.")] = False,
    out: Out = Path("results"),
    json: Json = False,
) -> None:
    """Run a published experiment, and show our scores beside the published ones.

    A run that was stopped continues when the same command is given again.
    """
    from rich.console import Console

    from dimetric.experiments import _paper as paper
    from dimetric.experiments._figure import write_figure
    from dimetric.experiments._report import write

    out.mkdir(parents=True, exist_ok=True)
    console = Console()
    ks, results, scored = k or [3], [], True
    for each in ks[:1] if experiment == 2 else ks:
        try:
            with progress(f"experiment {experiment}, k = {each}") as callback:
                found = paper.reproduce(
                    experiment,
                    k=each,
                    folder=data,
                    data_sets=names(only),
                    learners=names(learners),
                    store=out / "cells.sqlite",
                    time_budget=budget,
                    retry=retry,
                    n_jobs=jobs,
                    callback=callback,
                )
        except KeyboardInterrupt:
            Console(stderr=True).print("Stopped. The same command goes on from here.")
            raise SystemExit(130) from None
        files = [*write(found, out), *write_figure(found, out)]
        if json:
            results.append({"experiment": experiment, "k": each} | _result(found, files))
        else:
            show(found, console)
            console.print(f"Written: {', '.join(str(file) for file in files)}", soft_wrap=True)
        say(*_reasons(found.result.cells))
        scored = scored and any(cell.status == "ok" for cell in found.result.cells)
    if json:
        as_json({"results": results})
    if not scored:
        raise SystemExit("No fit has a score: the reasons are above.")


def _result(found: "paper.Reproduction", files: list[Path]) -> dict[str, Any]:
    """Return scores and verdicts as JSON has them."""
    from dimetric.stats import verdict

    fields = ("name", "rows", "learners", "test", "published_test")
    blocks = [{name: getattr(each, name) for name in fields} for each in found.blocks]
    verdicts = [verdict(a, b, each) for (a, b), each in found.posteriors().items()]
    return {"title": found.title, "blocks": blocks, "verdicts": verdicts, "files": files}


def show(found: "paper.Reproduction", console: "Console") -> None:
    """Print our scores above the published ones, cell by cell, with averages and verdicts."""
    from dimetric.experiments import _report as report
    from dimetric.stats import verdict

    console.print(f"[bold]{found.title}[/bold]")
    console.print("Test scores; the published ones below ours.")
    for block in found.blocks:
        for columns in _pages(block, console.width):
            console.print(_scores(block, columns))
        if report.coverage(block):
            console.print(report.coverage(block), highlight=False, markup=False)
    for (baseline, learner), each in found.posteriors().items():
        console.print(verdict(baseline, learner, each), highlight=False, markup=False)
    console.print(str(found.result), highlight=False)


def _reasons(cells: "list[Cell]") -> list[str]:
    """Return the reasons why fits have no score, one line each."""
    found: dict[tuple[str, str], int] = {}
    for cell in cells:
        if cell.status != "ok":
            reason = cell.learner, f"{cell.status}: {cell.message.partition(chr(10))[0]}"
            found[reason] = found.get(reason, 0) + 1
    lines = [f"{learner}, {n} fits {why}" for (learner, why), n in found.items()]
    more = [f"And {len(lines) - MAX_REASONS} reasons more."] if len(lines) > MAX_REASONS else []
    return lines[:MAX_REASONS] + more


def _pages(block: "Block", width: int) -> list[list[int]]:
    """Return the columns of each page: as many learners as fit beside each other."""
    pages: list[list[int]] = []
    first = 2 + max(len(each) for each in ("dimension", *block.rows))
    left = 0
    for j, learner in enumerate(block.learners):
        needed = 1 + max(SCORE_WIDTH, *(len(word) for word in learner.split()))
        if needed > left or not pages:
            pages.append([])
            left = width - first
        pages[-1].append(j)
        left -= needed
    return pages


def _scores(block: "Block", columns: list[int]) -> "Table":
    from rich.table import Table
    from rich.text import Text

    table = Table(title=block.name or None, show_lines=True, padding=(0, 0))
    table.add_column("dimension" if block.name else "data", no_wrap=True)
    for j in columns:
        name = Text("\n".join(block.learners[j].split()))
        table.add_column(name, justify="right", no_wrap=True)
    for row, ours, published in zip(block.rows, block.test, block.published_test, strict=True):
        table.add_row(row, *_pairs(ours[columns], published[columns]))
    ours, published = block.averages("test"), block.averages("published_test")
    for title, digits, mine, theirs in zip(
        ("average", "rank"), (4, 2), ours, published, strict=True
    ):
        table.add_row(title, *_pairs(mine[columns], theirs[columns], digits), style="bold")
    return table


def _pairs(ours: "np.ndarray", published: "np.ndarray", digits: int = 4) -> list[str]:
    import numpy as np

    texts = [
        ["" if np.isnan(each) else f"{each:.{digits}f}" for each in values]
        for values in (ours, published)
    ]
    return ["\n".join(pair) for pair in zip(*texts, strict=True)]
