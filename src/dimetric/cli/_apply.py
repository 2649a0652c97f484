"""Helpers of the verbs ``transform`` and ``predict``, which apply a model to a table."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dimetric.cli._options import split_names
from dimetric.cli._terminal import ProgressBar, check_json_output, print_notes

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
    out: Path | None,
    json: bool,
    *,
    sheet: str | None = None,
    sql: str | None = None,
) -> "FeatureReader":
    """Open a model and a table. Raise if the options for the output are invalid.

    Parameters
    ----------
    model, data, keep, header, out, json, sheet, sql
        The arguments of the verb.
    """
    from dimetric.data._writers import check_extension

    check_extension(out)
    check_json_output(json, out)
    import dimetric
    from dimetric.data._features import FeatureReader
    from dimetric.data._files import TableFile

    loaded = dimetric.load(model)
    file = TableFile.open(data, header, sheet=sheet, sql=sql)
    return FeatureReader(loaded, file, split_names(keep) or [], option="--keep")


def write(
    reader: "FeatureReader",
    results: "BlockResults",
    out: Path | None,
    title: str,
    *,
    escape_formulas: bool,
) -> list[str]:
    """Write the results for all rows with a progress bar. Print and return notes."""
    from dimetric.advice._apply import write_results

    with ProgressBar(title) as update:
        n_formulas = write_results(
            reader,
            results,
            out,
            option="--keep",
            escape_formulas=escape_formulas,
            callback=lambda n_rows: update(n_rows, None),
        )
    notes = [*reader.notes(), *formula_notes(n_formulas, out, escape_formulas)]
    print_notes(*notes)
    return notes


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
