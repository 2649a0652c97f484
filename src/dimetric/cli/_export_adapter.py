"""Export a RetrievalAdapter for ``dimetric export``."""

from pathlib import Path
from typing import Any

from dimetric.cli._options import UsageError

SIDE_FORMATS = ("onnx", "sentence-transformers")
INTEGER_ID_ERROR = (
    "--id {id}: the ids must be integers, because a search index identifies documents by integers. "
    "Omit --id to use row indices."
)


def export_adapter(
    adapter: Any,
    to: str,
    out: Path,
    *,
    data: Path | None,
    id: str | None,
    kind: str,
    dtype: str,
    table: str,
    columns: str,
    side: str | None,
    half: bool,
) -> dict[str, Any]:
    """Write an adapter in one of the formats. Return results to print.

    Parameters
    ----------
    adapter : RetrievalAdapter
        The adapter.
    to : str
        The format.
    out, data, id, kind, dtype, table, columns, side, half
        The arguments of the verb.
    """
    from dimetric import export

    if side is not None and to not in SIDE_FORMATS:
        raise UsageError(f"--side can only be used with --to {' or '.join(SIDE_FORMATS)}.")
    if to == "onnx":
        export.to_onnx(adapter, out, dtype=dtype, side=side)
        return {"side": side or "query"}
    if to == "sentence-transformers":
        export.to_sentence_transformers(adapter, out, side=side or "query")
        return {"side": side or "query"}
    if to == "numpy":
        export.to_numpy(adapter, out)
        return {}
    if to == "faiss":
        return _write_faiss(adapter, out, data, id, kind)
    if to == "usearch":
        raise ValueError("A RetrievalAdapter cannot be exported to usearch. Use --to faiss.")
    options: dict[str, Any] = {"dialect": to, "table": table, "columns": columns or None}
    export.to_sql(adapter, out, id=id or "id", half=half, **options)
    return {}


def _write_faiss(
    adapter: Any, out: Path, data: Path | None, id: str | None, kind: str
) -> dict[str, Any]:
    """Write an index of documents. Return their number and notes."""
    import numpy as np

    from dimetric.data._retrieval.items import read_items
    from dimetric.export import to_faiss

    if data is None:
        raise UsageError("DATA must name the file of the documents to index.")
    documents = read_items(data)
    ids = None
    if id is not None:
        try:
            ids = np.array([int(each) for each in documents.ids], dtype=np.int64)
        except (ValueError, OverflowError):
            raise ValueError(INTEGER_ID_ERROR.format(id=id)) from None
    to_faiss(adapter, documents.vectors, out, ids=ids, kind=kind)
    return {"samples": len(documents.ids)}
