"""The verb ``transform``: map the rows of a table into the space of the learned distance."""

from dimetric.cli._apply import EscapeFormulas, apply, open_reader
from dimetric.cli._checks import results_file
from dimetric.cli._options import Header, Json, Keep, ModelFile, NewData, Results, Sheet, Sql
from dimetric.cli._terminal import counted, print_json, print_lines, wrote


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

    The table may be larger than memory. The rows keep their order. A row with
    missing values gets an empty result, unless the model imputes them.
    """
    out = results_file(out, json, model, data)
    reader = open_reader(model, data, keep, header, sheet=sheet, sql=sql)
    from dimetric.advice._apply import Coordinates

    parts = reader.parts
    results = Coordinates(parts.last, parts.encoder.get_feature_names_out())
    options = {"escape_formulas": escape_formulas, "json": json}
    summary = apply(reader, results, out, "rows transformed", **options)
    if json:
        print_json(summary | {"columns": results.names})
    elif out is not None:
        sizes = counted(reader.n_rows, "row"), counted(len(results.names), "coordinate")
        print_lines(wrote(out, *sizes), out=out)
