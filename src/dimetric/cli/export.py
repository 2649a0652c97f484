"""The verb ``export``: a model for other programs."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dimetric.cli._apply import Applier
from dimetric.cli._model import Header, Json, ModelFile
from dimetric.cli._terminal import as_json, names, say

if TYPE_CHECKING:
    import numpy as np


class To(StrEnum):
    """What a model can be written as."""

    onnx = "onnx"
    faiss = "faiss"
    usearch = "usearch"
    numpy = "numpy"
    duckdb = "duckdb"
    postgres = "postgres"


HOW = {  # to use what was written
    To.onnx: "onnxruntime.InferenceSession({out!r}).run(None, {{'X': X}})",
    To.faiss: "faiss.read_index({out!r}).search(X, 10)  # X: float32, not mapped",
    To.usearch: "usearch.index.Index.restore({out!r}).search(Z, 10)  # Z: from 'transform'",
    To.numpy: "import {stem}; {stem}.transform(X)",
    To.duckdb: "duckdb my.db < {out}",
    To.postgres: "psql -f {out}",
}
INDEXES = (To.faiss, To.usearch)
QUERIES = (To.duckdb, To.postgres)


def export(
    model: ModelFile,
    to: Annotated[To, typer.Option(help="What to write.")],
    out: Annotated[Path, typer.Option(help="File to write.")],
    data: Annotated[
        Path | None,
        typer.Argument(
            help="Table of the samples that an index is to find. (Default: those of the fit, where "
            "the model has kept them.)"
        ),
    ] = None,
    id: Annotated[
        str | None,
        typer.Option(help="Column that tells rows apart. (Default: row numbers; of SQL 'id'.)"),
    ] = None,
    kind: Annotated[str, typer.Option(help="Of faiss: 'flat', exact, or 'hnsw', fast.")] = "flat",
    dtype: Annotated[str, typer.Option(help="Of ONNX: 'float32' or 'float64'.")] = "float32",
    table: Annotated[str, typer.Option(help="Of SQL: table of the samples.")] = "samples",
    columns: Annotated[
        str,
        typer.Option(
            help="Of SQL: columns of the features, with commas between them, or the one that holds "
            "vectors. (Default: those of the fit.)"
        ),
    ] = "",
    header: Header = None,
    json: Json = False,
) -> None:
    """Write a model for other programs, which then need no dimetric.

    'onnx' runs in any ONNX runtime and 'numpy' is a Python file that needs
    NumPy alone: learners and classifiers, linear or of kernels. 'faiss' and
    'usearch' are search indexes of samples. 'duckdb' and 'postgres' (with
    pgvector) are SQL for samples that are in a database.
    """
    import dimetric

    if data is not None and to not in INDEXES:
        raise typer.BadParameter(f"DATA is for {' and '.join(INDEXES)}, which hold samples.")
    if id is not None and to not in QUERIES and data is None:
        raise typer.BadParameter("--id names a column of DATA: give it.")
    if to is To.numpy and out.suffix != ".py":
        raise typer.BadParameter(f"--out {out}: the name of a Python file ends in .py.")
    loaded = dimetric.load(model)
    notes: list[str] = []
    facts: dict[str, Any] = {"model": model, "to": to.value, "out": out}
    if to is To.onnx:
        from dimetric.export import to_onnx

        to_onnx(loaded, out, dtype=dtype)
    elif to is To.numpy:
        from dimetric.export import to_numpy

        to_numpy(loaded, out)
    elif to in QUERIES:
        from dimetric.export import to_sql

        given = names(columns)
        named = given[0] if given and len(given) == 1 else given
        to_sql(loaded, out, dialect=to.value, table=table, id=id or "id", columns=named)
    else:
        facts["samples"] = _indexed(loaded, to, out, data, id, kind, header, notes)
    if to in (To.onnx, To.numpy, To.faiss):
        from dimetric.export._plan import plan_of

        facts["columns"] = list(plan_of(loaded).features)
    facts["notes"] = notes
    if json:
        as_json(facts)
        return
    say(*notes)
    if "columns" in facts:
        some = ", ".join(facts["columns"][:8])
        more = ", ..." if len(facts["columns"]) > 8 else ""
        print(f"X has {len(facts['columns'])} columns of numbers: {some}{more}")
    if "samples" in facts:
        print(f"{facts['samples']} samples")
    print(f"Written: {out}")
    if to is not To.numpy or out.stem.isidentifier():
        print(f"To use it: {HOW[to].format(out=str(out), stem=out.stem)}")


def _indexed(
    model: Any, to: To, out: Path, data: Path | None, id: str | None, kind: str,
    header: bool | None, notes: list[str],
) -> int:  # fmt: skip
    """Write an index; return how many samples it holds."""
    from dimetric.export import _index
    from dimetric.export._plan import plan_of

    if data is None:
        Z, ids = _index.kept_points(model), None
    else:
        Z, ids = _mapped(model, data, id, header, notes)
    checked = _index.checked_ids(ids, len(Z))
    if to is To.faiss:
        _index.write_faiss(_index.faiss_index(plan_of(model), Z, checked, kind), out)
    else:
        _index.write_usearch(_index.usearch_index(Z, checked), out)
    return len(Z)


def _mapped(
    model: Any, data: Path, id: str | None, header: bool | None, notes: list[str]
) -> "tuple[np.ndarray, np.ndarray]":
    """Return the rows of a table under a model's map, and their ids."""
    import numpy as np

    from dimetric.data._files import TableFile
    from dimetric.export._index import mapped

    applier = Applier(model, TableFile.open(data, header), id or "")
    parts = [
        (mapped(applier.last, part.features) if len(part.features) else None, part)
        for part in applier
    ]
    there = [Z for Z, _ in parts if Z is not None]
    if not there:
        raise ValueError(f"{data} has no row without missing values.")
    complete = np.concatenate([part.complete for _, part in parts])
    numbers = np.flatnonzero(complete)
    ids = numbers
    if id is not None:
        texts = np.concatenate([part.kept[id] for _, part in parts])[complete]
        try:
            ids = np.array([int(str(each)) for each in texts], dtype=np.int64)
        except (ValueError, OverflowError):
            raise ValueError(
                f"--id {id}: an index knows samples by integers, and this column holds others. "
                "Leave it out, and they are row numbers."
            ) from None
    notes += [each for each in applier.notes() if "their results are empty" not in each]
    if applier.n_incomplete:
        notes.append(
            f"{applier.n_incomplete} of {applier.n_rows} rows with missing values were left out."
        )
    return np.concatenate(there).astype(np.float64), ids
