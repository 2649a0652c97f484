"""The verb ``neighbors``: what is near a row, by plain distances and by learned ones."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from dimetric._names import suggest
from dimetric.cli._apply import Applier
from dimetric.cli._model import Header, Json, ModelFile, NewData
from dimetric.cli._picture import PICTURES, is_picture, no_window, write_picture
from dimetric.cli._terminal import as_json, names, say

if TYPE_CHECKING:
    import numpy as np

    from dimetric.data._files import TableFile
    from dimetric.quality._neighborhood import Neighborhood

SHOWN = 3  # columns, unless others are asked for


class Rows(NamedTuple):
    """Rows of a table that a model can place.

    Attributes
    ----------
    features : ndarray of shape (n_complete, n_features)
        As the learner gets them: scaled.
    numbers : ndarray of shape (n_complete,)
        Numbers of the rows in the table, from 0 on.
    texts : dict of str to ndarray of shape (n_complete,)
        What other columns hold.
    notes : list of str
        What there is to say.
    """

    features: "np.ndarray"
    numbers: "np.ndarray"
    texts: "dict[str, np.ndarray]"
    notes: list[str]


def neighbors(
    model: ModelFile,
    data: NewData,
    row: Annotated[
        int, typer.Option(help="Row of the table, from 0 on, the header not counted; -1: the last.")
    ],
    k: Annotated[int, typer.Option(min=1, help="Number of neighbours.")] = 10,
    target: Annotated[
        str | None,
        typer.Option(help="Column of the classes. (Default: that of the model, if it is there.)"),
    ] = None,
    show: Annotated[
        str | None,
        typer.Option(help="Columns to show, with commas between them. (Default: the first 3.)"),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Picture: .png, .svg or .pdf, by its ending.")
    ] = None,
    header: Header = None,
    json: Json = False,
) -> None:
    """Show what is near a row: by plain distances, after the same scaling, and by learned ones."""
    import dimetric
    from dimetric.data._files import TableFile
    from dimetric.quality import neighborhood

    if out is not None:
        if not is_picture(out):
            raise ValueError(f"{out} is no picture: end it in {', '.join(PICTURES)}.")
        no_window()
    about = dimetric.describe(model).get("about") or {}
    loaded = dimetric.load(model)
    file = TableFile.open(data, header)
    wanted, classes = _columns_to_show(loaded, file, show, target, about.get("target"))
    found = rows_of(loaded, file, [*wanted, *([classes] if classes else [])])
    at = _place_of(row, found)
    after = mapped(loaded, found.features)
    near = neighborhood(found.features, after, at, n_neighbors=min(k, len(found.numbers) - 1))
    notes = list(found.notes)
    if k > len(found.numbers) - 1:
        notes.append(f"There are but {len(found.numbers) - 1} other rows.")
    y = found.texts[classes] if classes else None
    if out is not None:
        from dimetric.plot import NeighborhoodDisplay

        display = NeighborhoodDisplay(near, y, titles=("Euclidean", _name(loaded))).plot()
        display.legend_.get_texts()[0].set_text(f"row {int(found.numbers[at])}")
        notes += write_picture(display.figure_, out)
    shown = {name: found.texts[name] for name in ([classes] if classes else []) + wanted}
    if json:
        as_json(as_data(near, found.numbers, shown, str(out) if out else None, notes))
        return
    say(*notes)
    told = ", ".join(f"{name} {texts[at]}" for name, texts in shown.items())
    print(f"Row {found.numbers[at]}: {told}" if told else f"Row {found.numbers[at]}")
    for title, which, distances in (
        ("Euclidean", near.before, near.distances_before),
        (_name(loaded), near.after, near.distances_after),
    ):
        print(f"\n{title}")
        print(*table_of(near, which, distances, found.numbers, shown), sep="\n")
    kinds = ("stayed", near.stayed), ("came in", near.came), ("left", near.left)
    print("\n" + ", ".join(f"{len(rows)} {name}" for name, rows in kinds))
    if out is not None:
        print(f"Written: {out}")


def rows_of(model: Any, file: "TableFile", keep: list[str]) -> Rows:
    """Return the rows of a table that a model can place, and some of its columns.

    Parameters
    ----------
    model : estimator
        The loaded model.
    file : TableFile
        The table.
    keep : list of str
        Columns whose values are shown.
    """
    import numpy as np

    applier = Applier(model, file, ",".join(keep))
    parts = list(applier)
    complete = np.concatenate([part.complete for part in parts])
    numbers = np.flatnonzero(complete)
    if len(numbers) < 2:
        raise ValueError(f"{file.path} has {len(numbers)} rows without missing values: give more.")
    texts = {
        name: _texts(np.concatenate([part.kept[name] for part in parts])[complete])
        for name in dict.fromkeys(keep)
    }
    notes = [each for each in applier.notes() if "their results are empty" not in each]
    if applier.n_incomplete:
        notes.append(
            f"{applier.n_incomplete} of {applier.n_rows} rows with missing values were left out."
        )
    return Rows(np.concatenate([part.features for part in parts]), numbers, texts, notes)


def mapped(model: Any, X: "np.ndarray") -> "np.ndarray":
    """Return features, scaled, under the learned map; as they are if that is Euclidean.

    Parameters
    ----------
    model : estimator
        The loaded model.
    X : ndarray of shape (n, n_features)
        Features.
    """
    import numpy as np

    from dimetric.cli._apply import parts_of
    from dimetric.quality import before_and_after

    return np.asarray(before_and_after(parts_of(model)[2], X)[1])


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
    """Return the columns to show, and that of the classes if there is one."""
    from dimetric.cli._apply import parts_of

    there = file.column_names()
    usable = [each for each in there if each == each.strip() and "," not in each]
    classes = target if target is not None else known if known in usable else None
    own = [each for each in parts_of(model)[0].column_names() if each in usable]
    wanted = own[:SHOWN] if show is None else names(show) or []
    for flag, each in [("--target", target), *(("--show", each) for each in wanted)]:
        if each is not None and each not in there:
            raise ValueError(f"{flag}: there is no column {each!r}. {suggest(each, there)}")
    return [each for each in wanted if each != classes], classes


def _place_of(row: int, found: Rows) -> int:
    """Return which of the rows that can be placed is the one asked for."""
    import numpy as np

    last = int(found.numbers[-1])
    number = row if row >= 0 else int(found.numbers[row]) if -row <= len(found.numbers) else row
    at = np.flatnonzero(found.numbers == number)
    if not len(at):
        raise ValueError(f"--row {row} is not there, or has missing values: rows are 0 to {last}.")
    return int(at[0])


def _texts(values: "np.ndarray") -> "np.ndarray":
    """Return values as texts, those that are missing as "?"."""
    import numpy as np

    from dimetric.data._missing import is_missing_value

    return np.array(["?" if is_missing_value(each) else str(each) for each in values])


def _name(model: Any) -> str:
    """Return the name of the distance of a model."""
    from dimetric.learners._steps import learner_in

    learner = learner_in(model)
    return "Euclidean too" if learner is None else type(learner).__name__
