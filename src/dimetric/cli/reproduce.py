"""The verb ``reproduce``: run, show, write, draw."""

import os
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from dimetric.evaluate import paper, report
from dimetric.evaluate.store import Cell

NUMBER = len("0.1234")


def run(
    experiment: int,
    *,
    ks: list[int],
    folder: Path | None,
    only: list[str] | None,
    learners: list[str] | None,
    n_jobs: int,
    time_budget: float | None,
    retry: bool,
    out: Path,
) -> None:
    """Reproduce an experiment for each number of neighbours; results go to a folder.

    Parameters
    ----------
    experiment : int
        Number of the experiment.
    ks : list of int
        Numbers of neighbours.
    folder : path or None
        Data sets and published tables; None is what ``DIMETRIC_DATA`` names.
    only, learners : list of str or None
        Data sets and learners, in place of all.
    n_jobs : int
        Processes.
    time_budget : float or None
        Seconds after which a fit is stopped.
    retry : bool
        Whether fits that failed are repeated.
    out : path
        Folder for results, and for the store that a later run goes on from.
    """
    out.mkdir(parents=True, exist_ok=True)
    if folder is None and os.environ.get("DIMETRIC_DATA"):
        folder = Path(os.environ["DIMETRIC_DATA"])
    console = Console()
    for k in ks[:1] if experiment == 2 else ks:
        try:
            with _progress(f"experiment {experiment}, k = {k}") as watch:
                found = paper.reproduce(
                    experiment, k=k, folder=folder, only=only, learners=learners,
                    store=out / "cells.sqlite", time_budget=time_budget, retry=retry,
                    n_jobs=n_jobs, watch=watch,
                )  # fmt: skip
        except KeyboardInterrupt:
            Console(stderr=True).print("Stopped. The same command goes on from here.")
            raise SystemExit(130) from None
        show(found, console)
        files = report.write(found, out)
        files += draw(found, out)
        console.print(f"Written: {', '.join(str(each) for each in files)}", soft_wrap=True)


def show(found: paper.Reproduction, console: Console) -> None:
    """Print our scores above the published ones, cell by cell, with averages and verdicts."""
    console.print(f"[bold]{found.title}[/bold]")
    console.print("Test scores; the published ones below ours.")
    for block in found.blocks:
        for columns in _pages(block, console.width):
            console.print(_scores(block, columns))
    for (baseline, learner), each in found.posteriors().items():
        console.print(report.verdict(baseline, learner, each), highlight=False, markup=False)
    console.print(str(found.comparison), highlight=False)


def _pages(block: paper.Block, width: int) -> list[list[int]]:
    """Return which learners go beside each other, as many as fit."""
    pages: list[list[int]] = []
    first = 2 + max(len(each) for each in ("dimension", *block.rows))
    left = 0
    for j, learner in enumerate(block.learners):
        needed = 1 + max(NUMBER, *(len(word) for word in learner.split()))
        if needed > left or not pages:
            pages.append([])
            left = width - first
        pages[-1].append(j)
        left -= needed
    return pages


def _scores(block: paper.Block, columns: list[int]) -> Table:
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


def _pairs(ours: np.ndarray, published: np.ndarray, digits: int = 4) -> list[str]:
    texts = [
        ["" if np.isnan(each) else f"{each:.{digits}f}" for each in values]
        for values in (ours, published)
    ]
    return ["\n".join(pair) for pair in zip(*texts, strict=True)]


def draw(found: paper.Reproduction, out: Path) -> list[Path]:
    """Draw what is believed of each learner and its baseline, a triangle for each."""
    posteriors = found.posteriors()
    if not posteriors:
        return []
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    from dimetric.plot import SimplexDisplay

    n_columns = min(5, len(posteriors))
    n_rows = -(-len(posteriors) // n_columns)
    figure = Figure(figsize=(3.2 * n_columns, 3.1 * n_rows), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(n_rows, n_columns, squeeze=False).ravel()
    for ax, (names, posterior) in zip(axes, posteriors.items(), strict=False):
        SimplexDisplay(posterior, names=names).plot(ax=ax)
    for ax in axes[len(posteriors) :]:
        ax.set_axis_off()
    file = out / f"{found.name}-simplex.png"
    figure.savefig(file, dpi=100)
    return [file]


class _progress:
    """A bar on the terminal's standard error, and none where that is no terminal."""

    def __init__(self, title: str) -> None:
        self._bar = Progress(
            TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(),
            TimeRemainingColumn(), console=Console(stderr=True), transient=True,
        )  # fmt: skip
        self._task = self._bar.add_task(title, total=None)

    def __enter__(self) -> Any:
        self._bar.start()
        return self._watch

    def __exit__(self, *error: object) -> None:
        self._bar.stop()

    def _watch(self, done: int, total: int, cell: Cell | None) -> None:
        self._bar.update(self._task, completed=done, total=total)
