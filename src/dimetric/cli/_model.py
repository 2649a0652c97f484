"""What verbs that learn share: their options, what they read, the model they make."""

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from dimetric._names import suggest
from dimetric.cli._method import parsed_option
from dimetric.cli._terminal import names

if TYPE_CHECKING:
    import numpy as np

    from dimetric.data._samples import Samples
    from dimetric.data._tables import Table

# Options that several verbs have.
Target = Annotated[
    str | None,
    typer.Option(help="Column of the classes: its name, or its number from 0 on (-1: the last)."),
]
Drop = Annotated[str, typer.Option(help="Columns to leave out, with commas between them.")]
Missing = Annotated[
    str, typer.Option(help="Rows with missing values: 'drop' them, or 'impute' the values.")
]
ModelFile = Annotated[Path, typer.Argument(help="File of a model, from 'dimetric fit'.")]
NewData = Annotated[Path, typer.Argument(help="Table: CSV (perhaps .gz), Parquet or NPZ (X).")]
Results = Annotated[
    Path | None,
    typer.Option(help="CSV, Parquet or NPZ file, by its ending. (Default: CSV on stdout.)"),
]
Keep = Annotated[
    str, typer.Option(help="Columns to pass through, as ids, with commas between them.")
]
Header = Annotated[
    bool | None,
    typer.Option(help="Whether the first line holds names. (Default: found out.)"),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object, and nothing else.")]


class Read(NamedTuple):
    """A table that is read to learn from."""

    samples: "Samples"
    table: "Table"
    notes: list[str]


def read(
    path: Path, target: str | None, drop: str, missing: str, header: bool | None, *, labelled: bool
) -> Read:
    """Return the rows of a file that can be learned from.

    Parameters
    ----------
    path, target, drop, missing, header
        As the user gave them.
    labelled : bool
        Whether there is a target where none is named.
    """
    from dimetric.data._samples import samples_of
    from dimetric.data._tables import open_table

    if missing not in ("drop", "impute"):
        raise ValueError(f"--missing {missing} must be 'drop' or 'impute'.")
    found = open_table(path, target, drop=names(drop) or [], header=header, labelled=labelled)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the notes say it
        samples = samples_of(found.columns, found.target, missing=missing, name=found.name)
    notes = [*found.notes, *samples.notes]
    if target is None and found.target is not None:
        notes.insert(0, f"The classes are in column {found.target!r}: no --target was given.")
    return Read(samples, found, notes)


def class_counts(y: "np.ndarray", name: str) -> dict[str, int]:
    """Return how many samples each class has, the largest first; raise if these are no classes.

    Parameters
    ----------
    y : ndarray
        The target.
    name : str
        Its name.
    """
    import numpy as np

    values, counts = np.unique(y, return_counts=True)
    few = len(y) // 2 if y.dtype.kind == "U" else max(50, len(y) // 5)
    if (y.dtype.kind == "f" and np.any(values != np.round(values))) or len(values) > few:
        raise ValueError(
            f"Column {name!r} holds {len(values)} different {_kind(y)} in {len(y)} rows: they are "
            "no classes. Name another column by --target, or make classes of its values (cut "
            "numbers into ranges)."
        )
    if len(values) < 2:
        raise ValueError(
            f"Column {name!r} holds one class alone, {str(values[0])!r}: there is nothing to tell "
            "apart. Name another column by --target."
        )
    order = np.argsort(-counts, kind="stable")
    return {str(values[i]): int(counts[i]) for i in order}


def _kind(y: "np.ndarray") -> str:
    return "numbers" if y.dtype.kind in "iuf" else "texts"


def learner_from(name: str, options: list[str], seed: int) -> Any:
    """Return a learner by name, with options of the form name=value.

    Parameters
    ----------
    name : str
        As in ``dimetric``, in any case of letters; "Euclidean" is None.
    options : list of str
        Its parameters.
    seed : int
        Where it draws at random, unless an option says otherwise.
    """
    import dimetric

    known = {
        each.lower(): each
        for each in dimetric.__all__
        if hasattr(getattr(dimetric, each), "transform") and each != "Kernelized"
    }
    if name.lower() == "euclidean":
        if options:
            raise ValueError("The Euclidean distance has no --option.")
        return None
    if name.lower() not in known:
        hint = suggest(name, [*sorted(known.values(), key=str.lower), "Euclidean"])
        raise ValueError(f"There is no learner {name!r}. {hint}")
    learner = getattr(dimetric, known[name.lower()])()
    given = dict(_option(each, learner) for each in options)
    if "random_state" in learner.get_params() and "random_state" not in given:
        given["random_state"] = seed
    return learner.set_params(**given)


def _option(text: str, learner: Any) -> tuple[str, Any]:
    name, value = parsed_option(text)
    params = list(learner.get_params())
    if name not in params:
        hint = suggest(name, params, "It has")
        raise ValueError(f"{type(learner).__name__} has no option {name!r}. {hint}")
    return name, value


def pipeline(learner: Any, *, k: int | None, scale: str, missing: str) -> Any:
    """Return a model that is not fitted: columns, scale, and a classifier or a learner.

    Parameters
    ----------
    learner : learner or None
        The learner; None is the Euclidean distance.
    k : int or None
        Neighbours that vote; None if there are no classes.
    scale : {"minmax", "standard", "none"}
        How features are scaled.
    missing : {"drop", "impute"}
        What was done about missing values, and is to be done about new ones.
    """
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import MinMaxScaler, StandardScaler

    from dimetric.classify.knn import KNNClassifier
    from dimetric.data._encoder import TableEncoder

    scalers = {"minmax": [MinMaxScaler()], "standard": [StandardScaler()], "none": []}
    if scale not in scalers:
        raise ValueError(f"--scale {scale} must be 'minmax', 'standard' or 'none'.")
    encoder = TableEncoder(missing="impute" if missing == "impute" else "raise")
    last = ("learner", learner) if k is None else ("model", KNNClassifier(k, learner=learner))
    return Pipeline([("columns", encoder), *(("scale", each) for each in scalers[scale]), last])
