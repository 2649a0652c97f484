"""Read folders in the layout of BEIR (Thakur et al. 2021), with vectors beside the texts."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from dimetric._arguments import check_types
from dimetric._names import listed_classes
from dimetric.data._files import TableFile, naming_file_in_errors
from dimetric.data._retrieval.items import Items, read_items
from dimetric.data._retrieval.join import RetrievalData, joined
from dimetric.data._retrieval.judgements import read_judgements
from dimetric.data._retrieval.texts import with_texts

__all__ = ["read_beir"]

VECTOR_EXTENSIONS = (".npz", ".parquet", ".feather")
TRAINING_SPLIT = "train"


@check_types
def read_beir(
    folder: str | Path, *, split: str | None = None, groups: str | None = None
) -> RetrievalData:
    """Read a folder in the layout of BEIR.

    The folder has ``corpus.jsonl`` and ``queries.jsonl``, with ``_id`` and ``text`` in each line,
    and tables ``qrels/<split>.tsv`` with the columns ``query-id``, ``corpus-id`` and ``score``. The
    vectors are in ``corpus.npz`` and ``queries.npz`` (arrays ``ids`` and ``vectors``), or in
    Parquet files of the same names, or in the lines themselves, as ``vector``. Without ids, the
    order of the vectors is that of the lines.

    Parameters
    ----------
    folder : path
        The folder.
    split : str, optional
        Name of a table in ``qrels``. By default, "train" if it exists, otherwise all tables.
    groups : str, optional
        Field of the queries, or column or array of their vectors, with the group of each query.

    Returns
    -------
    data : RetrievalData
        As returned by :func:`read_retrieval`, with the texts.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise ValueError(f"{folder} is not a directory with corpus.jsonl, queries.jsonl and qrels.")
    tables = _judgement_files(folder, split)
    documents = _items(folder, "corpus", None)
    queries = _items(folder, "queries", groups)
    judged = read_judgements(tables)
    asked = set(judged.query_ids)
    kept = np.array([i for i, each in enumerate(queries.ids) if each in asked], dtype=np.int64)
    n_others = len(queries.ids) - len(kept)
    # The lines of all splits are in one file, so queries of the other splits are no surprise.
    queries = queries.take(kept) if len(kept) and n_others else queries
    data = joined(queries, documents, judged, folder.resolve().name)
    used = ", ".join(each.stem for each in tables)
    return replace(data, notes=(f"Relevance of the split {used}.", *data.notes))


def _judgement_files(folder: Path, split: str | None) -> list[Path]:
    found = {each.stem: each for each in sorted((folder / "qrels").glob("*.tsv"))}
    if not found:
        raise ValueError(f"{folder} has no tables qrels/*.tsv.")
    if split is not None and split not in found:
        raise ValueError(
            f"{folder} has no table qrels/{split}.tsv. The splits are {listed_classes(found)}."
        )
    chosen = split if split is not None else TRAINING_SPLIT
    return [found[chosen]] if chosen in found else list(found.values())


def _items(folder: Path, name: str, groups: str | None) -> Items:
    """Return the items of ``<name>.jsonl``, with vectors from this file or from another one."""
    lines = folder / f"{name}.jsonl"
    lines = lines if lines.exists() else folder / f"{name}.jsonl.gz"
    beside = [folder / f"{name}{each}" for each in VECTOR_EXTENSIONS]
    vectors = next((each for each in beside if each.exists()), None)
    if vectors is None:
        if not lines.exists():
            raise FileNotFoundError(f"There is no file {folder / name}.jsonl.")
        with naming_file_in_errors(lines):
            return read_items(lines, groups=groups)
    if not lines.exists():
        return read_items(vectors, groups=groups)
    has_groups = groups is not None and groups in TableFile.open(lines).column_names()
    items = read_items(vectors, groups=None if has_groups else groups)
    return with_texts(items, lines, vectors, groups if has_groups else None)
