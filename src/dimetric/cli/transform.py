"""The verb ``transform``: the rows of a table under the learned distance."""

from typing import TYPE_CHECKING, Any

import typer

from dimetric.cli._apply import Applied, Applier, applied
from dimetric.cli._options import Header, Json, Keep, ModelFile, NewData, Results
from dimetric.cli._terminal import as_json

if TYPE_CHECKING:
    import numpy as np


def transform(
    model: ModelFile,
    data: NewData,
    out: Results = None,
    keep: Keep = "",
    header: Header = None,
    json: Json = False,
) -> None:
    """Write the coordinates of a table's rows, between which the Euclidean distance is the learned.

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
    mapping, names = map_of(applier.last, applier.encoder)

    def results(part: Applied) -> "dict[str, np.ndarray]":
        Z = np.full((len(part.complete), len(names)), np.nan)
        if len(part.features):
            Z[part.complete] = mapping(part.features)
        return dict(zip(names, Z.T, strict=True))

    applied(applier, out, {"X": names}, results, "rows transformed")
    if json:
        as_json({"out": out, "rows": applier.n_rows, "empty": applier.n_incomplete,
                 "columns": names, "notes": applier.notes()})  # fmt: skip


def map_of(last: Any, encoder: Any) -> tuple[Any, list[str]]:
    """Return the learned map of a model's last step, and the names of its coordinates."""
    learner = getattr(last, "learner_", last)
    if learner is None:  # Euclidean: the features, scaled
        return lambda X: X, [str(each) for each in encoder.get_feature_names_out()]
    if not hasattr(learner, "transform"):
        raise ValueError(f"{type(learner).__name__} has no map to transform by.")
    return learner.transform, [str(each) for each in learner.get_feature_names_out()]
