"""The verb ``transform``: map the rows of a table into the space of the learned distance."""

from dimetric.cli._apply import EscapeFormulas, open_reader, write
from dimetric.cli._options import Header, Json, Keep, ModelFile, NewData, Results, Sheet, Sql
from dimetric.cli._terminal import print_json, print_lines


def transform(
    model: ModelFile,
    data: NewData,
    out: Results = None,
    keep: Keep = "",
    escape_formulas: EscapeFormulas = False,
    header: Header = None,
    sheet: Sheet = None,
    sql: Sql = None,
    json: Json = False,
) -> None:
    """Map rows into a space where Euclidean distance equals the learned distance.

    Reads the table in blocks, so it may be larger than memory. Keeps the order
    of the rows. A row with missing values gets an empty result, unless the
    model imputes them.
    """
    reader = open_reader(model, data, keep, header, out, json, sheet=sheet, sql=sql)
    from dimetric.advice._apply import Coordinates

    parts = reader.parts
    results = Coordinates(parts.last, parts.encoder.get_feature_names_out())
    notes = write(reader, results, out, "rows transformed", escape_formulas=escape_formulas)
    if json:
        print_json(
            {
                "out": out,
                "rows": reader.n_rows,
                "incomplete_rows": reader.n_incomplete,
                "columns": results.names,
                "notes": notes,
            }
        )
    elif out is not None:
        print_lines(f"Written: {out}", out=out)
