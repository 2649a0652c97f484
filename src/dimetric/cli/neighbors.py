"""The verb ``neighbors``: the nearest neighbours of a row under two distances."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dimetric._names import printable, suggest
from dimetric.cli._checks import check_is_model, output_file, refuse_adapter, refuse_folder
from dimetric.cli._options import Header, Json, ModelFile, NewData, Sheet, Sql, split_names
from dimetric.cli._picture import (
    PICTURE_EXTENSIONS,
    is_picture,
    use_headless_backend,
    write_picture,
)
from dimetric.cli._terminal import (
    counted,
    print_json,
    print_lines,
    print_notes,
    print_results,
    wrote,
)

if TYPE_CHECKING:
    import numpy as np

    from dimetric.data._files import TableFile
    from dimetric.quality._neighborhood import Neighborhood

N_DEFAULT_COLUMNS = 3  # feature columns shown without --show
MAX_CELL_LENGTH = 28  # characters of a value in the printed table


RowIndex = Annotated[
    int,
    typer.Option(
        metavar="N",
        help="Number of the row: 0 is the first row after the header, -1 the last complete row.",
    ),
]
ClassColumn = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="Column with the classes. (Default: the target column of the model.)",
    ),
]
Show = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMNS",
        help="Columns to show, separated by commas. (Default: the first 3 features.)",
    ),
]
Picture = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Plot to write: a .png, .svg or .pdf file.")
]


def neighbors(
    model: ModelFile,
    data: NewData,
    row: RowIndex,
    k: Annotated[int, typer.Option(metavar="N", min=1, help="Number of neighbours to show.")] = 10,
    target: ClassColumn = None,
    show: Show = None,
    out: Picture = None,
    header: Header = None,
    sheet: Sheet = None,
    sql: Sql = None,
    json: Json = False,
) -> None:
    """Show the nearest neighbours of a row under the Euclidean and the learned distance.

    Marks neighbours that occur only under the learned distance as new, and those
    that occur only under the Euclidean distance as lost.
    """
    if out is not None:
        refuse_folder(out, "plot.png")
        if not is_picture(out):
            extensions = ", ".join(PICTURE_EXTENSIONS)
            raise ValueError(f"Unsupported file type: {out}. Use one of {extensions}.")
        out = output_file(out)
        use_headless_backend()
    check_is_model(model, data)
    import sklearn.base  # noqa: F401 - as in import_scikit_learn

    import dimetric
    from dimetric.data._features import FeatureReader
    from dimetric.data._files import TableFile
    from dimetric.quality import before_and_after, neighborhood

    about = dimetric.describe(model).get("about") or {}
    loaded = dimetric.load(model)
    refuse_adapter(loaded, model)
    file = TableFile.open(data, header, sheet=sheet, sql=sql)
    shown, class_column = _columns_to_show(loaded, file, show, target, about.get("target"))
    reader = FeatureReader(loaded, file, shown)
    complete = reader.complete_rows()
    n_others = len(complete.rows) - 1
    if n_others < 1:
        raise ValueError(
            f"{file.label} needs at least 2 rows without missing values, but has "
            f"{len(complete.rows)}."
        )
    position = _position_of(row, complete.rows, reader.n_rows)
    before, after = before_and_after(reader.parts.last, complete.features)
    near = neighborhood(before, after, position, n_neighbors=min(k, n_others))
    notes = list(complete.notes)
    if k > n_others:
        notes.append(f"--k {k} was reduced to {n_others}, the number of other rows.")
    texts = {name: _texts(complete.kept[name]) for name in shown}
    name = _distance_name(reader.parts.last)
    if out is not None:
        y = texts[class_column] if class_column else None
        notes += _plot(near, y, name, int(complete.rows[position]), out)
    if json:
        print_json(as_dict(near, complete.rows, texts, str(out) if out else None, notes))
        return
    print_notes(*notes)
    _print_results(near, complete.rows, texts, name)
    if out is not None:
        n_shown = counted(len(near.before), "neighbour")
        print_lines(wrote(out, f"plot of {n_shown} under each distance"), out=out)


def _plot(
    near: "Neighborhood", y: "np.ndarray | None", name: str, row_index: int, out: Path
) -> list[str]:
    """Write a plot of the neighbours. Return notes about it."""
    from dimetric.plot import NeighborhoodDisplay

    display = NeighborhoodDisplay(near, y, titles=("Euclidean", name)).plot()
    display.legend_.get_texts()[0].set_text(f"row {row_index}")
    return write_picture(display.figure_, out)


def _print_results(
    near: "Neighborhood", row_indices: "np.ndarray", texts: "dict[str, np.ndarray]", name: str
) -> None:
    """Print the neighbours under both distances."""
    values_of_row = ", ".join(f"{column} {values[near.row]}" for column, values in texts.items())
    index = row_indices[near.row]
    print_results(f"Row {index}: {values_of_row}" if values_of_row else f"Row {index}")
    for title, positions, distances in (
        ("Euclidean", near.before, near.distances_before),
        (name, near.after, near.distances_after),
    ):
        print_results("", title, *table_lines(near, positions, distances, row_indices, texts))
    counts = f"{len(near.kept)} kept, {len(near.new)} new, {len(near.lost)} lost"
    print_results("", f"Neighbours under {name}, compared with Euclidean: {counts}.")


def table_lines(
    near: "Neighborhood",
    positions: "np.ndarray",
    distances: "np.ndarray",
    row_indices: "np.ndarray",
    shown: "dict[str, np.ndarray]",
) -> list[str]:
    """Return the lines of a table of neighbours: row, distance, change, and columns."""
    from dimetric.report._text import cut_end

    rows = [["row", "distance", "", *shown]]
    for i in positions:
        change = "new" if i in near.new else "lost" if i in near.lost else ""
        texts = [str(values[i]) for values in shown.values()]
        rows.append([str(row_indices[i]), f"{distances[i]:.4g}", change, *texts])
    rows = [[cut_end(printable(each), MAX_CELL_LENGTH) for each in row] for row in rows]
    widths = [max(len(each) for each in column) for column in zip(*rows, strict=True)]
    return [
        "  "
        + "  ".join(each.ljust(width) for each, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]


def as_dict(
    near: "Neighborhood",
    row_indices: "np.ndarray",
    shown: "dict[str, np.ndarray]",
    out: str | None,
    notes: list[str],
) -> dict[str, Any]:
    """Return the neighbours under both distances as a dictionary for JSON."""

    def listed(positions: "np.ndarray", distances: "np.ndarray") -> list[dict[str, Any]]:
        return [
            {"row": int(row_indices[i]), "distance": float(distances[i])}
            | {"columns": {name: str(values[i]) for name, values in shown.items()}}
            for i in positions
        ]

    return {
        "row": int(row_indices[near.row]),
        "columns": {name: str(values[near.row]) for name, values in shown.items()},
        "before": listed(near.before, near.distances_before),
        "after": listed(near.after, near.distances_after),
        "kept": row_indices[near.kept],
        "new": row_indices[near.new],
        "lost": row_indices[near.lost],
        "written": out,
        "notes": notes,
    }


def _columns_to_show(
    model: Any, file: "TableFile", show: str | None, target: str | None, model_target: Any
) -> tuple[list[str], str | None]:
    """Return the columns to show (the class column first), and the class column or None."""
    from dimetric.data._features import model_parts

    columns = file.column_names()
    usable = [each for each in columns if each == each.strip() and "," not in each]
    class_column = (
        target if target is not None else model_target if model_target in usable else None
    )
    features = [each for each in model_parts(model).encoder.column_names() if each in usable]
    wanted = features[:N_DEFAULT_COLUMNS] if show is None else split_names(show) or []
    for flag, each in [("--target", target), *(("--show", each) for each in wanted)]:
        if each is not None and each not in columns:
            hint = suggest(each, columns)
            raise ValueError(f"{flag}: there is no column {each!r}. {hint}")
    others = [each for each in wanted if each != class_column]
    return ([] if class_column is None else [class_column]) + others, class_column


def _position_of(row: int, row_indices: "np.ndarray", n_rows: int) -> int:
    """Return the position of a row of the table among its complete rows."""
    import numpy as np

    index = int(row_indices[row]) if -len(row_indices) <= row < 0 else row
    positions = np.flatnonzero(row_indices == index)
    if not len(positions):
        if 0 <= row < n_rows:
            raise ValueError(f"--row {row} has missing values. Choose another row.")
        raise ValueError(
            f"--row {row} is out of range: the table has {n_rows} rows, numbered from 0."
        )
    return int(positions[0])


def _texts(values: "np.ndarray") -> "np.ndarray":
    """Return values as strings, with "?" for missing values."""
    import numpy as np

    from dimetric.data._missing import is_missing_value

    return np.array(["?" if is_missing_value(each) else str(each) for each in values])


def _distance_name(model: Any) -> str:
    """Return the name of the distance that a model uses."""
    from dimetric.learners._inner_learner import mapping_of

    learner = mapping_of(model)
    return "Model (Euclidean)" if learner is None else type(learner).__name__
