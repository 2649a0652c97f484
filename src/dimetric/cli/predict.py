"""The verb ``predict``: the classes of a table's rows."""

from typing import TYPE_CHECKING, Annotated

import typer

from dimetric.cli._apply import Applied, Applier, applied
from dimetric.cli._options import Header, Json, Keep, ModelFile, NewData, Results
from dimetric.cli._terminal import as_json

if TYPE_CHECKING:
    import numpy as np

PREDICTION = "prediction"


def predict(
    model: ModelFile,
    data: NewData,
    out: Results = None,
    shares: Annotated[
        bool, typer.Option("--shares", help="Also the share of the votes of each class.")
    ] = False,
    keep: Keep = "",
    header: Header = None,
    json: Json = False,
) -> None:
    """Write the class of each of a table's rows, by a vote of its nearest neighbours.

    The table is read some rows at a time, and may be larger than the memory. The order of the rows
    is kept. Rows with missing values have empty results, unless the model imputes.
    """
    from dimetric.data._writers import check_ending

    check_ending(out)
    if json and out is None:
        raise typer.BadParameter("--json needs --out: the results would be in each other's way.")
    import numpy as np

    import dimetric
    from dimetric.data._files import TableFile

    applier = Applier(dimetric.load(model), TableFile.open(data, header), keep)
    last = applier.last
    if not hasattr(last, "predict"):
        raise ValueError(
            f"{model} is a map without classes: fit one with --target, or use 'dimetric transform'."
        )
    classes = [str(each) for each in getattr(last, "classes_", [])]
    counts = dict.fromkeys(classes, 0)

    def results(part: Applied) -> "dict[str, np.ndarray]":
        found = np.full(len(part.complete), None, dtype=object)
        if len(part.features):
            found[part.complete] = last.predict(part.features)
        for name, count in zip(*np.unique(found[part.complete].astype(str), return_counts=True),
                               strict=True):  # fmt: skip
            counts[str(name)] = counts.get(str(name), 0) + int(count)
        columns = {PREDICTION: found}
        if shares:
            P = np.full((len(found), len(classes)), np.nan)
            if len(part.features):
                P[part.complete] = last.predict_proba(part.features)
            columns |= {f"share of {name}": P[:, i] for i, name in enumerate(classes)}
        return columns

    matrices = {"shares": [f"share of {name}" for name in classes]} if shares else {}
    like = {PREDICTION: np.asarray(last.classes_)} if classes else {}
    applied(applier, out, matrices, results, "rows predicted", like)
    if json:
        as_json({"out": out, "rows": applier.n_rows, "empty": applier.n_incomplete,
                 "classes": counts, "notes": applier.notes()})  # fmt: skip
