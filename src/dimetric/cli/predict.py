"""The verb ``predict``: predict the class or number of each row of a table."""

from typing import Annotated

import typer

from dimetric.cli._apply import EscapeFormulas, apply, open_reader
from dimetric.cli._checks import results_file
from dimetric.cli._options import Header, Json, Keep, ModelFile, NewData, Results, Sheet, Sql
from dimetric.cli._terminal import counted, print_json, print_lines, wrote

MAX_SHOWN_CLASSES = 8  # in the line about the written file


def predict(
    model: ModelFile,
    data: NewData,
    out: Results = None,
    probabilities: Annotated[
        bool,
        typer.Option(
            "--probabilities",
            help="Also write the probability of each class: the fraction of nearest neighbours "
            "that belong to it.",
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

    The table may be larger than memory. The rows keep their order. A row with
    missing values gets an empty result, unless the model imputes them.
    """
    out = results_file(out, json, model, data)
    reader = open_reader(model, data, keep, header, sheet=sheet, sql=sql)
    from sklearn.base import is_regressor

    from dimetric.advice._apply import Predictions

    if not hasattr(reader.parts.last, "predict"):
        raise ValueError(
            f"{model} was fitted without a target, so it cannot predict. Fit a model with "
            "--target, or use `dimetric transform`."
        )
    if probabilities and is_regressor(reader.parts.last):
        raise ValueError(
            f"{model} predicts numbers, which have no probabilities. Omit --probabilities."
        )
    results = Predictions(reader.parts.last, probabilities=probabilities)
    options = {"escape_formulas": escape_formulas, "json": json}
    summary = apply(reader, results, out, "rows predicted", **options)
    if json:
        print_json(summary | {"classes": results.counts})
    elif out is not None:
        size = counted(reader.n_rows, "row")
        counts = [f"{name} {count}" for name, count in results.counts.items() if count]
        if len(counts) > MAX_SHOWN_CLASSES:
            counts[MAX_SHOWN_CLASSES:] = ["..."]
        print_lines(wrote(out, f"{size}: {', '.join(counts)}" if counts else size), out=out)
