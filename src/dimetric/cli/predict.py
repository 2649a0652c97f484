"""The verb ``predict``: the classes of a table's rows."""

from typing import Annotated

import typer

from dimetric.cli._apply import open_reader, write
from dimetric.cli._options import Header, Json, Keep, ModelFile, NewData, Results
from dimetric.cli._terminal import as_json


def predict(
    model: ModelFile,
    data: NewData,
    out: Results = None,
    probabilities: Annotated[
        bool,
        typer.Option("--probabilities", help="Also write the probability of each class."),
    ] = False,
    keep: Keep = "",
    header: Header = None,
    json: Json = False,
) -> None:
    """Write the class of each of a table's rows, by a vote of its nearest neighbours.

    The table is read some rows at a time, so it may be larger than the memory. The order of the
    rows is kept. Rows with missing values have empty results, unless the model imputes.
    """
    reader = open_reader(model, data, keep, header, out, json)
    from dimetric.advice._apply import Predictions

    if not hasattr(reader.parts.last, "predict"):
        raise ValueError(
            f"{model} is a map without classes: fit one with --target, or use 'dimetric transform'."
        )
    results = Predictions(reader.parts.last, probabilities=probabilities)
    write(reader, results, out, "rows predicted")
    if json:
        as_json(
            {
                "out": out,
                "rows": reader.n_rows,
                "empty": reader.n_incomplete,
                "classes": results.counts,
                "notes": reader.notes(),
            }
        )
