"""The verb ``export``: a model for other programs."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dimetric.cli._options import Header, Json, ModelFile, names
from dimetric.cli._terminal import as_json, say

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


HOW_TO_USE = {
    To.onnx: "onnxruntime.InferenceSession({out!r}).run(None, {{'X': X}})",
    To.faiss: "faiss.read_index({out!r}).search(X, 10)  # X: float32, not mapped",
    To.usearch: "usearch.index.Index.restore({out!r}).search(Z, 10)  # Z: from 'transform'",
    To.numpy: "import {stem}; {stem}.transform(X)",
    To.duckdb: "duckdb my.db < {out}",
    To.postgres: "psql -f {out}",
}
INDEXES = (To.faiss, To.usearch)
QUERIES = (To.duckdb, To.postgres)
MAX_SHOWN_COLUMNS = 8

SamplesTable = Annotated[
    Path | None,
    typer.Argument(
        help="Table of the samples that an index is to find. (Default: those of the fit, where "
        "the model has kept them.)"
    ),
]
Id = Annotated[
    str | None,
    typer.Option(help="Column that tells rows apart. (Default: row numbers; of SQL 'id'.)"),
]
SqlColumns = Annotated[
    str,
    typer.Option(
        help="Of SQL: columns of the features, separated by commas, or the one that holds "
        "vectors. (Default: those of the fit.)"
    ),
]


def export(
    model: ModelFile,
    to: Annotated[To, typer.Option(help="What to write.")],
    out: Annotated[Path, typer.Option(help="File to write.")],
    data: SamplesTable = None,
    id: Id = None,
    kind: Annotated[str, typer.Option(help="Of faiss: 'flat', exact, or 'hnsw', fast.")] = "flat",
    dtype: Annotated[str, typer.Option(help="Of ONNX: 'float32' or 'float64'.")] = "float32",
    table: Annotated[str, typer.Option(help="Of SQL: table of the samples.")] = "samples",
    columns: SqlColumns = "",
    header: Header = None,
    json: Json = False,
) -> None:
    """Write a model for other programs, which can use it without dimetric.

    'onnx' runs in any ONNX runtime and 'numpy' is a Python file that needs
    NumPy alone: learners and classifiers, linear or of kernels. 'faiss' and
    'usearch' are search indexes of samples. 'duckdb' and 'postgres' (with
    pgvector) are SQL for samples that are in a database.
    """
    import dimetric

    _check_usage(to, out, data, id)
    loaded = dimetric.load(model)
    facts: dict[str, Any] = {"model": model, "to": to.value, "out": out, "notes": []}
    if to in INDEXES:
        facts |= _write_index(loaded, to, out, data, id, kind, header)
    elif to in QUERIES:
        from dimetric.export import to_sql

        given = names(columns)
        named = given[0] if given and len(given) == 1 else given
        to_sql(loaded, out, dialect=to.value, table=table, id=id or "id", columns=named)
    elif to is To.onnx:
        from dimetric.export import to_onnx

        to_onnx(loaded, out, dtype=dtype)
    else:
        from dimetric.export import to_numpy

        to_numpy(loaded, out)
    if to in (To.onnx, To.numpy, To.faiss):
        from dimetric.export._plan import plan_of

        facts["columns"] = list(plan_of(loaded).features)
    if json:
        as_json(facts)
    else:
        _show(facts, to, out)


def _check_usage(to: To, out: Path, data: Path | None, id: str | None) -> None:
    """Raise if options do not go together."""
    if data is not None and to not in INDEXES:
        raise typer.BadParameter(f"DATA is for {' and '.join(INDEXES)}, which hold samples.")
    if id is not None and to not in QUERIES and data is None:
        raise typer.BadParameter("--id names a column of DATA: give it.")
    if to is To.numpy and out.suffix != ".py":
        raise typer.BadParameter(f"--out {out}: the name of a Python file ends in .py.")


def _show(facts: dict[str, Any], to: To, out: Path) -> None:
    say(*facts["notes"])
    if "columns" in facts:
        some = ", ".join(facts["columns"][:MAX_SHOWN_COLUMNS])
        more = ", ..." if len(facts["columns"]) > MAX_SHOWN_COLUMNS else ""
        print(f"X has {len(facts['columns'])} columns of numbers: {some}{more}")
    if "samples" in facts:
        print(f"{facts['samples']} samples")
    print(f"Written: {out}")
    if to is not To.numpy or out.stem.isidentifier():
        print(f"To use it: {HOW_TO_USE[to].format(out=str(out), stem=out.stem)}")


def _write_index(
    model: Any,
    to: To,
    out: Path,
    data: Path | None,
    id: str | None,
    kind: str,
    header: bool | None,
) -> dict[str, Any]:
    """Write an index; return how many samples it holds, and notes."""
    from dimetric.export import _index
    from dimetric.export._plan import plan_of

    notes: list[str] = []
    if data is None:
        Z, ids = _index.stored_points(model), None
    else:
        Z, ids, notes = _mapped_rows(model, data, id, header)
    checked = _index.checked_ids(ids, len(Z))
    if to is To.faiss:
        _index.write_faiss(_index.faiss_index(plan_of(model), Z, checked, kind), out)
    else:
        _index.write_usearch(_index.usearch_index(Z, checked), out)
    return {"samples": len(Z), "notes": notes}


def _mapped_rows(
    model: Any, data: Path, id: str | None, header: bool | None
) -> "tuple[np.ndarray, np.ndarray, list[str]]":
    """Return the rows of a table under a model's map, their ids, and notes."""
    import numpy as np

    from dimetric.data._features import FeatureReader
    from dimetric.data._files import TableFile
    from dimetric.export._index import map_samples

    keep = [] if id is None else [id]
    reader = FeatureReader(model, TableFile.open(data, header), keep, option="--id")
    found = reader.complete_rows(lambda X: map_samples(reader.parts.last, X))
    if not len(found.rows):
        raise ValueError(f"{data} has no row without missing values.")
    ids = found.rows
    if id is not None:
        try:
            ids = np.array([int(str(each)) for each in found.kept[id]], dtype=np.int64)
        except (ValueError, OverflowError):
            raise ValueError(
                f"--id {id}: an index knows samples by integers, and this column holds others. "
                "Leave it out, and they are row numbers."
            ) from None
    return found.features.astype(np.float64), ids, found.notes
