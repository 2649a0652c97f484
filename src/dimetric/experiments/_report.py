"""Write a reproduced experiment as Markdown and CSV."""

import csv
import os
import platform
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from dimetric._files import atomic_write, create_folder
from dimetric._versions import installed_versions
from dimetric.experiments._paper import Reproduction
from dimetric.experiments._tables import DIMENSION_SEPARATOR, ScoreTable
from dimetric.stats._verdict import verdict

__all__ = ["coverage", "markdown", "write"]

PACKAGES = ("dimetric", "numpy", "scipy", "scikit-learn", "numba")


def coverage(score_table: ScoreTable) -> str:
    """Return sentences about the rows that averages and ranks cover, or "" if they cover all.

    Parameters
    ----------
    score_table : ScoreTable
        The table of scores.
    """
    counts, ranked = score_table.coverage()
    n = len(score_table.rows)
    learners_by_count: dict[int, list[str]] = {}
    for learner, count in zip(score_table.learners, counts.tolist(), strict=True):
        if 0 < count < n:
            learners_by_count.setdefault(count, []).append(learner)
    sentences = [
        f"The averages of {', '.join(names)} cover {count} of the {n} rows."
        for count, names in learners_by_count.items()
    ]
    if 0 < ranked < n:
        sentences.append(
            f"The ranks cover the {ranked} of {n} rows in which all ranked learners have a score."
        )
    return " ".join(sentences)


def write(reproduction: Reproduction, folder: str | Path) -> list[Path]:
    """Write an experiment as Markdown and CSV, and return the paths of the files.

    Parameters
    ----------
    reproduction : Reproduction
        The experiment.
    folder : path
        Folder of the files. It is created if it does not exist.
    """
    folder = Path(folder)
    create_folder(folder)
    text, scores = folder / f"{reproduction.name}.md", folder / f"{reproduction.name}.csv"
    with atomic_write(text) as temporary:
        temporary.write_text(markdown(reproduction), encoding="utf-8")
    _write_csv(scores, SCORE_COLUMNS, _score_rows(reproduction))
    files = [text, scores]
    posteriors = reproduction.posteriors()
    if posteriors:
        verdicts = folder / f"{reproduction.name}-verdicts.csv"
        rows = (
            [a, b, f"{p.left:.4f}", f"{p.rope:.4f}", f"{p.right:.4f}", verdict(a, b, p)]
            for (a, b), p in posteriors.items()
        )
        _write_csv(verdicts, VERDICT_COLUMNS, rows)
        files.append(verdicts)
    return files


SCORE_COLUMNS = [
    "data",
    "dimension",
    "learner",
    "train",
    "published_train",
    "test",
    "published_test",
]
VERDICT_COLUMNS = [
    "baseline",
    "learner",
    "baseline_better",
    "no_difference",
    "learner_better",
    "verdict",
]


def _write_csv(file: Path, head: list[str], rows: Iterable[list[str]]) -> None:
    with (
        atomic_write(file) as temporary,
        open(temporary, "w", newline="", encoding="utf-8") as opened,
    ):
        writer = csv.writer(opened, lineterminator="\n")
        writer.writerow(head)
        writer.writerows(rows)


def _score_rows(reproduction: Reproduction) -> Iterator[list[str]]:
    for score_table in reproduction.score_tables:
        for i, row in enumerate(score_table.rows):
            names = [score_table.name, row] if score_table.name else [row, ""]
            for j, learner in enumerate(score_table.learners):
                tables = (
                    score_table.train,
                    score_table.published_train,
                    score_table.test,
                    score_table.published_test,
                )
                values = [_number(table[i, j], empty="") for table in tables]
                if any(values):
                    yield [*names, learner, *values]


def markdown(reproduction: Reproduction) -> str:
    """Return an experiment as Markdown.

    Parameters
    ----------
    reproduction : Reproduction
        The experiment.
    """
    parts = [f"# {reproduction.title}", _introduction(reproduction)]
    for score_table in reproduction.score_tables:
        parts += [f"## {score_table.name}"] if score_table.name else []
        parts += ["### Averages", _averages(reproduction, score_table)]
        parts += [coverage(score_table)] if coverage(score_table) else []
        for field, samples in (("test", "test"), ("train", "training")):
            parts += [f"### Scores on {samples} samples", _scores(score_table, field)]
    posteriors = reproduction.posteriors()
    if posteriors:
        lines = [f"- {verdict(a, b, posterior)}" for (a, b), posterior in posteriors.items()]
        method = (
            "Bayesian sign test over the data sets. Differences of at most 0.01 count as no "
            "difference."
        )
        parts += ["## Verdicts", method, "\n".join(lines)]
    parts += _failures(reproduction)
    return "\n\n".join(parts) + "\n"


def _introduction(reproduction: Reproduction) -> str:
    cells = reproduction.result.cells
    seconds = float(np.nansum([cell.time for cell in cells]))
    text = (
        "Scores are means over the folds. Published scores are in parentheses. Features were "
        "scaled to [0, 1] on the whole data set before the split into folds. The "
        f"{len(cells)} fits took {seconds:.0f} seconds in total, each on one thread."
        f"\n\n{_environment()}"
    )
    for name, notes in reproduction.notes.items():
        text += f"\n\n{name}: {' '.join(notes)}"
    return text


def _environment() -> str:
    """Return the processor and the versions of Python and the packages."""
    processor = platform.processor() or platform.machine()
    try:
        with open("/proc/cpuinfo") as file:
            models = (line.split(":", 1)[1].strip() for line in file if "model name" in line)
            processor = next(models, processor)
    except OSError:
        pass
    versions = ", ".join(f"{name} {each}" for name, each in installed_versions(PACKAGES).items())
    return f"{processor}, {os.cpu_count()} cores; {versions}."


AVERAGE_COLUMNS = [
    "learner",
    "test",
    "published",
    "difference",
    "rank",
    "published rank",
    "train",
    "published train",
    "seconds per fit",
]


def _averages(reproduction: Reproduction, score_table: ScoreTable) -> str:
    """Return a table of the average scores, ranks and times of each learner."""
    test, rank = score_table.averages("test")
    published, published_rank = score_table.averages("published_test")
    train, published_train = (
        score_table.averages("train")[0],
        score_table.averages("published_train")[0],
    )
    lines = []
    for j, learner in enumerate(score_table.learners):
        times = [
            cell.time
            for cell in reproduction.result.cells
            if cell.learner.partition(DIMENSION_SEPARATOR)[0] == learner
            and score_table.name in ("", cell.data)
        ]
        scores = [_number(each) for each in (test[j], published[j], test[j] - published[j])]
        ranks = [_number(each, 2) for each in (rank[j], published_rank[j])]
        trained = [_number(each) for each in (train[j], published_train[j])]
        seconds = _number(float(np.mean(times)), 3)
        lines.append([learner, *scores, *ranks, *trained, seconds])
    return _table(AVERAGE_COLUMNS, lines)


def _scores(score_table: ScoreTable, field: str) -> str:
    ours, published = getattr(score_table, field), getattr(score_table, f"published_{field}")
    lines = [
        [row, *(_pair(ours[i, j], published[i, j]) for j in range(len(score_table.learners)))]
        for i, row in enumerate(score_table.rows)
    ]
    return _table(["dimension" if score_table.name else "data", *score_table.learners], lines)


def _failures(reproduction: Reproduction) -> list[str]:
    """Return a section about the cells without a score, if there are any."""
    failed = [cell for cell in reproduction.result.cells if cell.status != "ok"]
    if not failed:
        return []
    lines = [
        [each.data, each.learner, str(each.fold), each.status, " ".join(each.message.split())]
        for each in failed
    ]
    columns = ["data", "learner", "fold", "status", "message"]
    return ["## Fits without a score", _table(columns, lines)]


def _table(head: list[str], lines: list[list[str]]) -> str:
    rows = [head, ["---"] * len(head), *lines]
    return "\n".join(f"| {' | '.join(each.replace('|', '/') for each in row)} |" for row in rows)


def _pair(ours: float, published: float) -> str:
    if np.isnan(published):
        return _number(ours)
    return f"{_number(ours)} ({_number(published)})"


def _number(value: float, digits: int = 4, empty: str = "-") -> str:
    return empty if np.isnan(value) else f"{round(value, digits) + 0.0:.{digits}f}"
