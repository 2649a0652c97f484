"""The verb ``neighbors``: what is near a row under the Euclidean and the learned distance."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dimetric._names import suggest
from dimetric.cli._options import Header, Json, ModelFile, NewData, names
from dimetric.cli._picture import PICTURES, is_picture, no_window, write_picture
from dimetric.cli._terminal import as_json, say

if TYPE_CHECKING:
    import numpy as np

    from dimetric.data._files import TableFile
    from dimetric.quality._neighborhood import Neighborhood

SHOWN_COLUMNS = 3  # unless others are asked for


RowNumber = Annotated[
    int, typer.Option(help="Row of the table, from 0 on, the header not counted; -1: the last.")
]
ClassColumn = Annotated[
    str | None,
    typer.Option(help="Column of the classes. (Default: that of the model, if it is there.)"),
]
Show = Annotated[
    str | None,
    typer.Option(help="Columns to show, separated by commas. (Default: the first 3.)"),
]
Picture = Annotated[Path | None, typer.Option(help="Picture: .png, .svg or .pdf, by its ending.")]


def neighbors(
    model: ModelFile,
    data: NewData,
    row: RowNumber,
    k: Annotated[int, typer.Option(min=1, help="Number of neighbours.")] = 10,
    target: ClassColumn = None,
    show: Show = None,
    out: Picture = None,
    header: Header = None,
    json: Json = False,
) -> None:
    """Show the nearest neighbours of a row, under the Euclidean and under the learned distance."""
    import dimetric
    from dimetric.data._features import FeatureReader
    from dimetric.data._files import TableFile
    from dimetric.quality import before_and_after, neighborhood

    if out is not None:
        if not is_picture(out):
            raise ValueError(f"{out} is no picture: end it in {', '.join(PICTURES)}.")
        no_window()
    about = dimetric.describe(model).get("about") or {}
    loaded = dimetric.load(model)
    file = TableFile.open(data, header)
    shown, classes = _columns_to_show(loaded, file, show, target, about.get("target"))
    reader = FeatureReader(loaded, file, shown)
    found = reader.complete_rows()
    n_others = len(found.rows) - 1
    if n_others < 1:
        raise ValueError(f"{data} has {len(found.rows)} rows without missing values: give more.")
    at = _place_of(row, found.rows)
    before, after = before_and_after(reader.parts.last, found.features)
    near = neighborhood(before, after, at, n_neighbors=min(k, n_others))
    notes = list(found.notes)
    if k > n_others:
        notes.append(f"There are but {n_others} other rows.")
    texts = {name: _texts(found.kept[name]) for name in shown}
    name = _distance_name(reader.parts.last)
    if out is not None:
        y = texts[classes] if classes else None
        notes += _draw(near, y, name, int(found.rows[at]), out)
    if json:
        as_json(as_data(near, found.rows, texts, str(out) if out else None, notes))
        return
    say(*notes)
    _show(near, found.rows, texts, name)
    if out is not None:
        print(f"Written: {out}")


def _draw(
    near: "Neighborhood", y: "np.ndarray | None", name: str, number: int, out: Path
) -> list[str]:
    """Write a picture of the neighbours; return notes about it."""
    from dimetric.plot import NeighborhoodDisplay

    display = NeighborhoodDisplay(near, y, titles=("Euclidean", name)).plot()
    display.legend_.get_texts()[0].set_text(f"row {number}")
    return write_picture(display.figure_, out)


def _show(
    near: "Neighborhood", numbers: "np.ndarray", texts: "dict[str, np.ndarray]", name: str
) -> None:
    """Print the neighbours under both distances."""
    told = ", ".join(f"{column} {values[near.row]}" for column, values in texts.items())
    number = numbers[near.row]
    print(f"Row {number}: {told}" if told else f"Row {number}")
    for title, which, distances in (
        ("Euclidean", near.before, near.distances_before),
        (name, near.after, near.distances_after),
    ):
        print(f"\n{title}")
        print(*table_of(near, which, distances, numbers, texts), sep="\n")
    kinds = ("stayed", near.stayed), ("came in", near.came), ("left", near.left)
    print("\n" + ", ".join(f"{len(rows)} {kind}" for kind, rows in kinds))


def table_of(
    near: "Neighborhood",
    which: "np.ndarray",
    distances: "np.ndarray",
    numbers: "np.ndarray",
    shown: "dict[str, np.ndarray]",
) -> list[str]:
    """Return neighbours as the lines of a table: row, distance, whether it is new, columns."""
    rows = [["row", "distance", "", *shown]]
    for i in which:
        kind = "came in" if i in near.came else "left" if i in near.left else ""
        texts = [str(values[i]) for values in shown.values()]
        rows.append([str(numbers[i]), f"{distances[i]:.4g}", kind, *texts])
    rows = [[each if len(each) <= 28 else each[:27] + "…" for each in row] for row in rows]
    widths = [max(len(each) for each in column) for column in zip(*rows, strict=True)]
    return [
        "  "
        + "  ".join(each.ljust(width) for each, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]


def as_data(
    near: "Neighborhood",
    numbers: "np.ndarray",
    shown: "dict[str, np.ndarray]",
    out: str | None,
    notes: list[str],
) -> dict[str, Any]:
    """Return what is near as plain data."""

    def listed(which: "np.ndarray", distances: "np.ndarray") -> list[dict[str, Any]]:
        return [
            {"row": int(numbers[i]), "distance": float(distances[i])}
            | {"columns": {name: str(values[i]) for name, values in shown.items()}}
            for i in which
        ]

    return {
        "row": int(numbers[near.row]),
        "columns": {name: str(values[near.row]) for name, values in shown.items()},
        "before": listed(near.before, near.distances_before),
        "after": listed(near.after, near.distances_after),
        "stayed": numbers[near.stayed],
        "came_in": numbers[near.came],
        "left": numbers[near.left],
        "written": out,
        "notes": notes,
    }


def _columns_to_show(
    model: Any, file: "TableFile", show: str | None, target: str | None, known: Any
) -> tuple[list[str], str | None]:
    """Return the columns to show, that of the classes first, and the latter if there is one."""
    from dimetric.data._features import model_parts

    there = file.column_names()
    usable = [each for each in there if each == each.strip() and "," not in each]
    classes = target if target is not None else known if known in usable else None
    own = [each for each in model_parts(model).encoder.column_names() if each in usable]
    wanted = own[:SHOWN_COLUMNS] if show is None else names(show) or []
    for flag, each in [("--target", target), *(("--show", each) for each in wanted)]:
        if each is not None and each not in there:
            raise ValueError(f"{flag}: there is no column {each!r}. {suggest(each, there)}")
    others = [each for each in wanted if each != classes]
    return ([] if classes is None else [classes]) + others, classes


def _place_of(row: int, numbers: "np.ndarray") -> int:
    """Return which of the complete rows is the one asked for."""
    import numpy as np

    number = int(numbers[row]) if -len(numbers) <= row < 0 else row
    at = np.flatnonzero(numbers == number)
    if not len(at):
        last = int(numbers[-1])
        raise ValueError(f"--row {row} is not there, or has missing values: rows are 0 to {last}.")
    return int(at[0])


def _texts(values: "np.ndarray") -> "np.ndarray":
    """Return values as texts, missing ones as "?"."""
    import numpy as np

    from dimetric.data._missing import is_missing_value

    return np.array(["?" if is_missing_value(each) else str(each) for each in values])


def _distance_name(model: Any) -> str:
    """Return the name of the distance that a model uses."""
    learner = getattr(model, "learner_", model)
    return "Euclidean too" if learner is None else type(learner).__name__
