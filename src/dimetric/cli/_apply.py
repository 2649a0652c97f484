"""Helpers of the verbs ``transform`` and ``predict``, which apply a model to a table."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dimetric.cli._checks import check_is_model, import_scikit_learn, refuse_adapter
from dimetric.cli._options import split_names
from dimetric.cli._terminal import ProgressBar, print_notes

EscapeFormulas = Annotated[
    bool,
    typer.Option(
        "--escape-formulas",
        help="In CSV output, put an apostrophe before texts that start with =, +, - or @, which "
        "spreadsheet programs run as formulas.",
    ),
]

if TYPE_CHECKING:
    from dimetric.advice._apply import BlockResults
    from dimetric.data._features import FeatureReader


def open_reader(
    model: Path,
    data: list[Path],
    keep: str,
    header: bool | None,
    *,
    sheet: str | None = None,
    sql: str | None = None,
) -> "FeatureReader":
    """Open a model and a table.

    Parameters
    ----------
    model, data, keep, header, sheet, sql
        The arguments of the verb.
    """
    check_is_model(model, data)
    import_scikit_learn()
    import dimetric
    from dimetric.data._features import FeatureReader
    from dimetric.data._files import TableFile

    loaded = dimetric.load(model)
    refuse_adapter(loaded, model)
    file = TableFile.open(data, header, sheet=sheet, sql=sql)
    return FeatureReader(loaded, file, split_names(keep) or [], option="--keep")


def apply(
    reader: "FeatureReader",
    results: "BlockResults",
    out: Path | None,
    title: str,
    *,
    escape_formulas: bool,
    json: bool,
) -> dict[str, Any]:
    """Compute the results for all rows with a progress bar, and write them. Print notes.

    Parameters
    ----------
    reader : FeatureReader
        Reads the table and encodes its columns for the model.
    results : callable
        Computes columns of results from a block of rows.
    out : path or None
        File to write. None writes CSV to standard output, unless `json` is true.
    title : str
        Text in front of the progress bar.
    escape_formulas : bool
        Whether to put an apostrophe before texts that look like formulas.
    json : bool
        Whether to return the results for a JSON object, if no file is written.

    Returns
    -------
    summary : dict
        The numbers of rows, the notes and, if no file was written, the columns of results.
    """
    from dimetric.advice._apply import collect_results, write_results

    options: dict[str, Any] = {"option": "--keep"}
    columns, n_formulas = None, 0
    with ProgressBar(title) as update:
        options["callback"] = lambda n_rows: update(n_rows, None)
        if json and out is None:
            columns = collect_results(reader, results, **options)
        else:
            n_formulas = write_results(
                reader, results, out, escape_formulas=escape_formulas, **options
            )
    notes = [*reader.notes(), *formula_notes(n_formulas, out, escape_formulas)]
    print_notes(*notes)
    summary = {
        "out": out,
        "rows": reader.n_rows,
        "incomplete_rows": reader.n_incomplete,
        "notes": notes,
    }
    return summary if columns is None else summary | {"results": columns}


def formula_notes(count: int, out: Path | None, escaped: bool) -> list[str]:
    """Return a note about the cells that spreadsheet programs run as formulas, if there are any."""
    if not count:
        return []
    cells = "1 cell" if count == 1 else f"{count} cells"
    where = "The output" if out is None else str(out)
    if escaped:
        return [f"{where} has {cells} with an apostrophe in front, because of --escape-formulas."]
    return [
        f"{where} has {cells} that a spreadsheet program may run as formulas. To open it with such "
        "a program, write it with --escape-formulas."
    ]
