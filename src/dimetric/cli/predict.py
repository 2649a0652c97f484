"""The verb ``predict``: predict the class or number of each row of a table."""

from typing import Annotated

import typer

from dimetric.cli._apply import EscapeFormulas, open_reader, write
from dimetric.cli._options import Header, Json, Keep, ModelFile, NewData, Results, Sheet, Sql
from dimetric.cli._terminal import print_json, print_lines


def predict(
    model: ModelFile,
    data: NewData,
    out: Results = None,
    probabilities: Annotated[
        bool,
        typer.Option(
            "--probabilities",
            help="Also write the probability of each class, the fraction of neighbours in it.",
        ),
    ] = False,
    keep: Keep = "",
    escape_formulas: EscapeFormulas = False,
    header: Header = None,
    sheet: Sheet = None,
    sql: Sql = None,
    json: Json = False,
) -> None:
    """Predict the class or number of each row of a table by its nearest neighbours.

    Reads the table in blocks, so it may be larger than memory. Keeps the order
    of the rows. A row with missing values gets an empty result, unless the
    model imputes them.
    """
    reader = open_reader(model, data, keep, header, out, json, sheet=sheet, sql=sql)
    from sklearn.base import is_regressor

    from dimetric.advice._apply import Predictions

    if not hasattr(reader.parts.last, "predict"):
        raise ValueError(
            f"{model} was fitted without a target, so it cannot predict. Fit a model with "
            "--target, or use 'dimetric transform'."
        )
    if probabilities and is_regressor(reader.parts.last):
        raise ValueError(
            f"{model} predicts numbers, which have no probabilities. Omit --probabilities."
        )
    results = Predictions(reader.parts.last, probabilities=probabilities)
    notes = write(reader, results, out, "rows predicted", escape_formulas=escape_formulas)
    if json:
        print_json(
            {
                "out": out,
                "rows": reader.n_rows,
                "incomplete_rows": reader.n_incomplete,
                "classes": results.counts,
                "notes": notes,
            }
        )
    elif out is not None:
        print_lines(f"Written: {out}", out=out)
