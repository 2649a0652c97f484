"""A reproduced experiment in words and tables: Markdown and CSV."""

import csv
import os
import platform
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from dimetric._versions import installed_versions
from dimetric.experiments._paper import Reproduction
from dimetric.experiments._tables import DIMENSION_SEPARATOR, Block
from dimetric.stats._verdict import verdict

__all__ = ["coverage", "markdown", "write"]

PACKAGES = ("dimetric", "numpy", "scipy", "scikit-learn", "numba")


def coverage(block: Block) -> str:
    """Say over how many rows averages and ranks are taken; an empty text if over all.

    Parameters
    ----------
    block : Block
        The table.
    """
    counts, ranked = block.coverage()
    n = len(block.rows)
    fewer: dict[int, list[str]] = {}
    for learner, count in zip(block.learners, counts.tolist(), strict=True):
        if 0 < count < n:
            fewer.setdefault(count, []).append(learner)
    said = [f"averages of {', '.join(names)} are over {count}" for count, names in fewer.items()]
    if 0 < ranked < n:
        said.append(f"ranks are over {ranked}, where all these learners have a score")
    return f"Of {n} rows, {'; '.join(said)}." if said else ""


def write(found: Reproduction, folder: str | Path) -> list[Path]:
    """Write an experiment as Markdown and CSV; return the files.

    Parameters
    ----------
    found : Reproduction
        The experiment.
    folder : path
        Where to write; made if it does not exist.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    text, scores = folder / f"{found.name}.md", folder / f"{found.name}.csv"
    text.write_text(markdown(found), encoding="utf-8")
    _write_csv(scores, SCORES, _score_rows(found))
    files = [text, scores]
    posteriors = found.posteriors()
    if posteriors:
        verdicts = folder / f"{found.name}-verdicts.csv"
        rows = (
            [a, b, f"{p.left:.4f}", f"{p.rope:.4f}", f"{p.right:.4f}", verdict(a, b, p)]
            for (a, b), p in posteriors.items()
        )
        _write_csv(verdicts, VERDICTS, rows)
        files.append(verdicts)
    return files


SCORES = ["data", "dimension", "learner", "train", "published_train", "test", "published_test"]
VERDICTS = ["baseline", "learner", "baseline_better", "no_difference", "learner_better", "verdict"]


def _write_csv(file: Path, head: list[str], rows: Iterable[list[str]]) -> None:
    with open(file, "w", newline="", encoding="utf-8") as opened:
        writer = csv.writer(opened, lineterminator="\n")
        writer.writerow(head)
        writer.writerows(rows)


def _score_rows(found: Reproduction) -> Iterator[list[str]]:
    for block in found.blocks:
        for i, row in enumerate(block.rows):
            names = [block.name, row] if block.name else [row, ""]
            for j, learner in enumerate(block.learners):
                tables = (block.train, block.published_train, block.test, block.published_test)
                values = [_number(table[i, j], empty="") for table in tables]
                if any(values):
                    yield [*names, learner, *values]


def markdown(found: Reproduction) -> str:
    """Return an experiment as Markdown.

    Parameters
    ----------
    found : Reproduction
        The experiment.
    """
    parts = [f"# {found.title}", _introduction(found)]
    for block in found.blocks:
        parts += [f"## {block.name}"] if block.name else []
        parts += ["### Averages", _averages(found, block)]
        parts += [coverage(block)] if coverage(block) else []
        for what in ("test", "train"):
            parts += [f"### Scores on {what} samples", _scores(block, what)]
    posteriors = found.posteriors()
    if posteriors:
        lines = [f"- {verdict(a, b, found)}" for (a, b), found in posteriors.items()]
        about = "Bayesian sign test over the data sets: differences up to 0.01 are none."
        parts += ["## Verdicts", about, "\n".join(lines)]
    parts += _troubles(found)
    return "\n\n".join(parts) + "\n"


def _introduction(found: Reproduction) -> str:
    cells = found.result.cells
    seconds = float(np.nansum([cell.time for cell in cells]))
    text = (
        "Mean scores over the folds, ours first, the published one after it. Features were scaled "
        f"to [0, 1] over the whole set, then split in folds. {len(cells)} fits took "
        f"{seconds:.0f} seconds together, on one thread each.\n\n{_machine()}"
    )
    for name, notes in found.notes.items():
        text += f"\n\n{name}: {' '.join(notes)}"
    return text


def _machine() -> str:
    """Return the processor and the versions that the experiment ran with."""
    processor = platform.processor() or platform.machine()
    try:
        with open("/proc/cpuinfo") as file:
            models = (line.split(":", 1)[1].strip() for line in file if "model name" in line)
            processor = next(models, processor)
    except OSError:
        pass
    versions = ", ".join(f"{name} {each}" for name, each in installed_versions(PACKAGES).items())
    return f"{processor}, {os.cpu_count()} cores; {versions}."


AVERAGES = [
    "learner",
    "test",
    "published",
    "difference",
    "rank",
    "published rank",
    "train",
    "published train",
    "seconds a fit",
]


def _averages(found: Reproduction, block: Block) -> str:
    """Return a table of average scores, ranks and times of each learner."""
    test, rank = block.averages("test")
    published, published_rank = block.averages("published_test")
    train, published_train = block.averages("train")[0], block.averages("published_train")[0]
    lines = []
    for j, learner in enumerate(block.learners):
        times = [
            cell.time
            for cell in found.result.cells
            if cell.learner.partition(DIMENSION_SEPARATOR)[0] == learner
            and block.name in ("", cell.data)
        ]
        scores = [_number(each) for each in (test[j], published[j], test[j] - published[j])]
        ranks = [_number(each, 2) for each in (rank[j], published_rank[j])]
        trained = [_number(each) for each in (train[j], published_train[j])]
        seconds = _number(float(np.mean(times)), 3)
        lines.append([learner, *scores, *ranks, *trained, seconds])
    return _table(AVERAGES, lines)


def _scores(block: Block, what: str) -> str:
    ours, published = getattr(block, what), getattr(block, f"published_{what}")
    lines = [
        [row, *(_pair(ours[i, j], published[i, j]) for j in range(len(block.learners)))]
        for i, row in enumerate(block.rows)
    ]
    return _table(["dimension" if block.name else "data", *block.learners], lines)


def _troubles(found: Reproduction) -> list[str]:
    """Return a section about cells without a score, if there are any."""
    bad = [cell for cell in found.result.cells if cell.status != "ok"]
    if not bad:
        return []
    lines = [
        [each.data, each.learner, str(each.fold), each.status, " ".join(each.message.split())]
        for each in bad
    ]
    return ["## Without a score", _table(["data", "learner", "fold", "status", "message"], lines)]


def _table(head: list[str], lines: list[list[str]]) -> str:
    rows = [head, ["---"] * len(head), *lines]
    return "\n".join(f"| {' | '.join(each.replace('|', '/') for each in row)} |" for row in rows)


def _pair(ours: float, published: float) -> str:
    if np.isnan(published):
        return _number(ours)
    return f"{_number(ours)} ({_number(published)})"


def _number(value: float, digits: int = 4, empty: str = "-") -> str:
    return empty if np.isnan(value) else f"{round(value, digits) + 0.0:.{digits}f}"
