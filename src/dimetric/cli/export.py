"""The verb ``export``: write a model for use in other programs."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dimetric.cli._checks import (
    EXPORT_FORMATS,
    MODEL_EXTENSION,
    check_is_model,
    is_table,
    output_file,
    refuse_folder,
)
from dimetric.cli._options import Header, Json, ModelFile, UsageError, check_choice, split_names
from dimetric.cli._terminal import counted, print_json, print_lines, print_notes, wrote

if TYPE_CHECKING:
    import numpy as np


class Format(StrEnum):
    """The formats that a model can be exported to."""

    onnx = "onnx"
    faiss = "faiss"
    usearch = "usearch"
    numpy = "numpy"
    duckdb = "duckdb"
    postgres = "postgres"
    sentence_transformers = "sentence-transformers"


HOW_TO_USE = {
    Format.onnx: "onnxruntime.InferenceSession({out!r}).run(None, {{'X': X}})",
    Format.faiss: "faiss.read_index({out!r}).search(X, 10)  # X: float32",
    Format.usearch: "usearch.index.Index.restore({out!r}).search(Z, 10)"
    "  # Z: from `dimetric transform`",
    Format.numpy: "import {stem}; {stem}.{function}(X)",
    Format.duckdb: "duckdb my.db -f {out}",
    Format.postgres: "psql -v ON_ERROR_STOP=1 -f {out}",
    Format.sentence_transformers: "SentenceTransformer(modules=[*model, "
    "*SentenceTransformer({out!r})])",
}
DESCRIPTIONS = {
    Format.onnx: "ONNX model",
    Format.faiss: "Faiss index",
    Format.usearch: "USearch index",
    Format.numpy: "Python module",
    Format.duckdb: "SQL script for DuckDB",
    Format.postgres: "SQL script for PostgreSQL",
    Format.sentence_transformers: "Modules of sentence-transformers",
}
INDEXES = (Format.faiss, Format.usearch)
SQL_DIALECTS = (Format.duckdb, Format.postgres)
MAX_SHOWN_COLUMNS = 8

SamplesTable = Annotated[
    Path | None,
    typer.Argument(
        metavar="DATA",
        help="For an index: table of the samples to add. (Default: the training samples, if the "
        "model stores them.)",
    ),
]
Id = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="For an index or SQL: column that identifies rows. (Default: row indices for a "
        "search index, 'id' for SQL.)",
    ),
]
SqlColumns = Annotated[
    str,
    typer.Option(
        metavar="COLUMNS",
        help="For SQL: feature columns, separated by commas, or one column of vectors. "
        "(Default: the columns of the training table.)",
    ),
]


def export(
    model: ModelFile,
    out: Annotated[Path, typer.Option(metavar="FILE", help="File to write.")],
    data: SamplesTable = None,
    to: Annotated[
        Format | None,
        typer.Option(
            metavar="FORMAT",
            help="Format to write: onnx, numpy, faiss, usearch, duckdb or postgres. For an adapter "
            "also sentence-transformers, a directory. (Default: by the extension of --out: .onnx, "
            ".py for numpy, .faiss or .usearch.)",
        ),
    ] = None,
    id: Id = None,
    kind: Annotated[
        str,
        typer.Option(
            metavar="KIND", help="For faiss: 'flat' (exact) or 'hnsw' (approximate, faster)."
        ),
    ] = "flat",
    dtype: Annotated[
        str, typer.Option(metavar="DTYPE", help="For ONNX: 'float32' or 'float64'.")
    ] = "float32",
    table: Annotated[
        str,
        typer.Option(metavar="NAME", help="For SQL: name of the table that contains the samples."),
    ] = "samples",
    columns: SqlColumns = "",
    side: Annotated[
        str | None,
        typer.Option(
            metavar="SIDE",
            help="For an adapter and ONNX or sentence-transformers: map of the 'query' (default) "
            "or of the 'document'.",
        ),
    ] = None,
    half: Annotated[
        bool,
        typer.Option("--half", help="For an adapter and postgres: search in half precision first."),
    ] = False,
    header: Header = None,
    json: Json = False,
) -> None:
    """Export a model to a format that other programs use without dimetric.

    'onnx' runs in any ONNX runtime. 'numpy' is a Python file that requires
    only NumPy. Both support linear and kernel learners, and classifiers.
    'faiss' and 'usearch' are search indexes of samples. 'duckdb' and
    'postgres' (with pgvector) are SQL scripts for samples in a database.
    """
    to = _checked_format(to, out)
    if to is not Format.sentence_transformers:
        refuse_folder(out, "model.onnx")
    _check_usage(to, out, data, id, kind, dtype)
    out = out if to is Format.sentence_transformers else output_file(out, json)
    check_is_model(model, [] if data is None else data)
    import dimetric

    loaded = dimetric.load(model)
    results: dict[str, Any] = {"model": model, "to": to.value, "out": out, "notes": []}
    options: dict[str, Any] = {"dtype": dtype, "table": table, "columns": columns, "id": id}
    options |= {"data": data, "kind": kind}
    if type(loaded).__name__ == "RetrievalAdapter":
        from dimetric.cli._export_adapter import export_adapter

        results |= export_adapter(loaded, to.value, out, side=side, half=half, **options)
    elif side is not None or half or to is Format.sentence_transformers:
        raise UsageError(
            "--side, --half and --to sentence-transformers require a RetrievalAdapter, which "
            "`dimetric adapt` writes."
        )
    else:
        results |= _write(loaded, to, out, header=header, **options)
    if json:
        print_json(results)
    else:
        _print_results(results, to, out)


def _write(
    model: Any,
    to: Format,
    out: Path,
    *,
    data: Path | None,
    id: str | None,
    kind: str,
    dtype: str,
    table: str,
    columns: str,
    header: bool | None,
) -> dict[str, Any]:
    """Write a model in one of the formats. Return the results to print."""
    from dimetric import export
    from dimetric.export._map_chain import map_chain

    results: dict[str, Any] = {}
    if to in INDEXES:
        results = _write_index(model, to, out, data, id, kind, header)
    elif to in SQL_DIALECTS:
        names = _sql_columns(model, columns)
        export.to_sql(model, out, dialect=to.value, table=table, id=id or "id", columns=names)
    elif to is Format.onnx:
        export.to_onnx(model, out, dtype=dtype)
    else:
        export.to_numpy(model, out)
    if to in (Format.onnx, Format.numpy, Format.faiss):
        results["columns"] = list(map_chain(model).features)
    return results


def _checked_format(to: Format | None, out: Path) -> Format:
    """Return the format to write. Raise if it is unknown, or if it contradicts the extension."""
    suffix = out.suffix.lower()
    named = EXPORT_FORMATS.get(suffix)
    if to is None:
        if named is None or suffix == ".sql":
            choices = f"{Format.duckdb} or --to {Format.postgres}" if named else "FORMAT"
            raise UsageError(f"--out {out} does not determine the format. Add --to {choices}.")
        return Format(named)
    contradicts = named not in (None, to) and not (suffix == ".sql" and to in SQL_DIALECTS)
    if contradicts or suffix == MODEL_EXTENSION or is_table(out):
        raise UsageError(
            f"--out {out} has the extension of another format than --to {to.value}. Choose another "
            "name."
        )
    return to


def _check_usage(
    to: Format, out: Path, data: Path | None, id: str | None, kind: str, dtype: str
) -> None:
    """Raise if the options are invalid or contradict each other."""
    if to is Format.faiss:
        check_choice("--kind", kind, ["flat", "hnsw"])
    if to is Format.onnx:
        check_choice("--dtype", dtype, ["float32", "float64"])
    if data is not None and to not in INDEXES:
        raise UsageError(f"DATA can only be used with --to {' or '.join(INDEXES)}.")
    if id is not None and to not in SQL_DIALECTS and data is None:
        raise UsageError("--id requires DATA, because it names a column of DATA.")
    if to is Format.numpy and out.suffix != ".py":
        raise UsageError(f"--out {out} must end in .py, because it is a Python file.")


def _sql_columns(model: Any, columns: str) -> str | list[str] | None:
    """Return the name of a column of vectors, one name for each feature, or None by default."""
    from dimetric.export._map_chain import map_chain

    names = split_names(columns)
    if names is None or len(names) == 1:
        return names and names[0]
    repeated = next((each for each in names if names.count(each) > 1), None)
    if repeated is not None:
        raise ValueError(f"--columns contains {repeated!r} more than once.")
    n_features = len(map_chain(model).features)
    if len(names) != n_features:
        raise ValueError(
            f"--columns has {len(names)} names, but the model has {n_features} features. Pass one "
            "name for each feature, or the name of one column that holds vectors."
        )
    return names


def _print_results(results: dict[str, Any], to: Format, out: Path) -> None:
    print_notes(*results["notes"])
    lines = []
    if "columns" in results:
        shown = ", ".join(results["columns"][:MAX_SHOWN_COLUMNS])
        more = ", ..." if len(results["columns"]) > MAX_SHOWN_COLUMNS else ""
        lines = [f"The input X has {len(results['columns'])} numeric columns: {shown}{more}"]
    size = counted(results["samples"], "sample") if "samples" in results else ""
    lines.append(wrote(out, DESCRIPTIONS[to], size))
    if to is not Format.numpy or out.stem.isidentifier():
        function = "transform" if "columns" in results else "map_queries"
        names = {"out": str(out), "stem": out.stem, "function": function}
        lines.append(f"To use it: {HOW_TO_USE[to].format(**names)}")
    print_lines(*lines, out=out)


def _write_index(
    model: Any,
    to: Format,
    out: Path,
    data: Path | None,
    id: str | None,
    kind: str,
    header: bool | None,
) -> dict[str, Any]:
    """Write an index. Return the number of samples and notes."""
    from dimetric.export import _index
    from dimetric.export._map_chain import map_chain

    notes: list[str] = []
    if data is None:
        Z, ids = _index.stored_points(model), None
    else:
        Z, ids, notes = _mapped_rows(model, data, id, header)
    checked = _index.checked_ids(ids, len(Z))
    if to is Format.faiss:
        _index.write_faiss(_index.faiss_index(map_chain(model), Z, checked, kind), out)
    else:
        _index.write_usearch(_index.usearch_index(Z, checked), out)
    return {"samples": len(Z), "notes": notes}


def _mapped_rows(
    model: Any, data: Path, id: str | None, header: bool | None
) -> "tuple[np.ndarray, np.ndarray, list[str]]":
    """Return the transformed rows of a table, their ids, and notes."""
    import numpy as np

    from dimetric.data._features import FeatureReader
    from dimetric.data._files import TableFile
    from dimetric.export._index import map_samples

    keep = [] if id is None else [id]
    reader = FeatureReader(model, TableFile.open(data, header), keep, option="--id")
    complete = reader.complete_rows(lambda X: map_samples(reader.parts.last, X))
    if not len(complete.rows):
        raise ValueError(f"All rows of {data} have missing values.")
    ids = complete.rows
    if id is not None:
        try:
            ids = np.array([int(str(each)) for each in complete.kept[id]], dtype=np.int64)
        except (ValueError, OverflowError):
            raise ValueError(
                f"--id {id}: the column must contain integers, because a search index "
                "identifies samples by integers. Omit --id to use row indices."
            ) from None
    return complete.features.astype(np.float64), ids, complete.notes
