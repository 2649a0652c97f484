"""The verb ``transform``: the rows of a table under the learned distance."""

from dimetric.cli._apply import open_reader, write
from dimetric.cli._options import Header, Json, Keep, ModelFile, NewData, Results
from dimetric.cli._terminal import as_json


def transform(
    model: ModelFile,
    data: NewData,
    out: Results = None,
    keep: Keep = "",
    header: Header = None,
    json: Json = False,
) -> None:
    """Write the coordinates of a table's rows: Euclidean distances between them are the learned.

    The table is read some rows at a time, so it may be larger than the memory. The order of the
    rows is kept. Rows with missing values have empty results, unless the model imputes.
    """
    reader = open_reader(model, data, keep, header, out, json)
    from dimetric.advice._apply import Coordinates

    parts = reader.parts
    results = Coordinates(parts.last, parts.encoder.get_feature_names_out())
    write(reader, results, out, "rows transformed")
    if json:
        as_json(
            {
                "out": out,
                "rows": reader.n_rows,
                "empty": reader.n_incomplete,
                "columns": results.names,
                "notes": reader.notes(),
            }
        )
