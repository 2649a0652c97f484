"""Combine queries, documents and a relevance table, and leave out what cannot be used."""

import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dimetric._arguments import check_types
from dimetric._names import listed_classes
from dimetric._warnings import warn
from dimetric.data._retrieval.items import Items, read_items
from dimetric.data._retrieval.judgements import Judgements, read_judgements
from dimetric.supervision.relevance import Relevance

__all__ = ["RetrievalData", "read_retrieval"]

MIN_QUERIES = 2


@dataclass(frozen=True, eq=False, repr=False)
class RetrievalData:
    """Queries and documents as vectors, and which documents are relevant to which query.

    Attributes
    ----------
    queries, documents : ndarray of shape (n_queries, d) and (n_documents, d)
        Embeddings.
    relevance : Relevance
        The relevant documents of each query.
    query_ids, document_ids : tuple of str
        Identifiers.
    query_texts, document_texts : tuple of str or None
        Texts, if the files have them.
    groups : ndarray of shape (n_queries,) or None
        Group of each query, such as its topic.
    name : str
        Name of the data.
    notes : tuple of str
        What was left out, and why.
    """

    queries: np.ndarray
    documents: np.ndarray
    relevance: Relevance
    query_ids: tuple[str, ...]
    document_ids: tuple[str, ...]
    query_texts: tuple[str, ...] | None = None
    document_texts: tuple[str, ...] | None = None
    groups: np.ndarray | None = None
    name: str = ""
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        (n, d), m = self.queries.shape, len(self.documents)
        counts = f"{n} queries, {m} documents, {len(self.relevance)} pairs, {d} features"
        return "\n  ".join([f"RetrievalData({self.name!r}: {counts})", *self.notes])


@check_types
def read_retrieval(
    queries: str | Path,
    documents: str | Path,
    relevance: str | Path,
    *,
    groups: str | None = None,
    name: str | None = None,
) -> RetrievalData:
    r"""Read queries, documents and a table of relevant pairs from three files.

    A file of queries or documents has an id, a vector and, optionally, a text for each item: a
    Parquet file with a column of vectors, an ``.npz`` file with the arrays ``ids``, ``vectors`` and
    ``texts``, JSON lines, or a CSV file with a column for each coordinate. Items without ids are
    numbered from 0.

    Items with zero vectors, queries without relevant documents, and pairs with unknown ids are left
    out. The ``notes`` of the result give their numbers. Duplicate ids raise an error.

    Parameters
    ----------
    queries, documents : path
        The files. If both are the same file, a query does not retrieve itself.
    relevance : path
        Table with the columns ``query_id`` and ``document_id`` (or similar names), and optionally
        ``score`` with grades, or ``clicks``. Rows of grade 0 or without clicks are not relevant.
    groups : str, optional
        Column of the queries with the group of each query, such as its topic.
    name : str, optional
        Name of the data. By default, the name of the file of queries.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.savez(Path(folder, "q.npz"), ids=["q1", "q2"], vectors=np.eye(3)[:2])
    ...     np.savez(Path(folder, "d.npz"), ids=["d1", "d2", "d3"], vectors=np.eye(3))
    ...     clicks = Path(folder, "clicks.csv")
    ...     _ = clicks.write_text("query_id,document_id,clicks\nq1,d1,4\nq2,d3,1\nq2,d1,0\n")
    ...     data = read_retrieval(Path(folder, "q.npz"), Path(folder, "d.npz"), clicks)
    >>> data
    RetrievalData('q': 2 queries, 3 documents, 3 pairs, 3 features)
    >>> data.relevance.of_query(1).tolist()
    [2]
    """
    sides = read_items(queries, groups=groups), read_items(documents)
    judged = read_judgements(relevance)
    is_same = Path(queries).exists() and Path(queries).samefile(documents)
    return joined(*sides, judged, name or Path(queries).stem, same_items=is_same)


def joined(
    queries: Items, documents: Items, judged: Judgements, name: str, *, same_items: bool = False
) -> RetrievalData:
    """Return retrieval data, without items and pairs that cannot be used.

    Parameters
    ----------
    queries, documents : Items
        The items.
    judged : Judgements
        The relevance table.
    name : str
        Name of the data.
    same_items : bool, default=False
        Whether queries and documents are the same items, so that a query does not retrieve itself.
    """
    if queries.vectors.shape[1] != documents.vectors.shape[1]:
        raise ValueError(
            f"The vectors of the queries have {queries.vectors.shape[1]} features, but those of "
            f"the documents have {documents.vectors.shape[1]}. Embed both with the same model."
        )
    notes: list[str] = []
    queries = _without_zeros(queries, "queries", notes)
    documents = _without_zeros(documents, "documents", notes)
    relevance = _relevance(queries, documents, judged, same_items, notes)
    kept = np.flatnonzero(relevance.n_relevant > 0)
    n, n_left_out = len(queries.ids), len(queries.ids) - len(kept)
    if len(kept) < MIN_QUERIES:
        raise ValueError(
            f"{len(kept)} of {n} queries have a relevant document, but at least {MIN_QUERIES} are "
            "needed: one part to learn from, and another to test on."
        )
    if n_left_out:
        without = [queries.ids[i] for i in np.flatnonzero(relevance.n_relevant == 0)]
        have = "which has" if n_left_out == 1 else "which have"
        notes.append(
            f"Left out {n_left_out:,} of {n:,} queries, {have} no relevant document: "
            f"{listed_classes(without)}."
        )
        queries, relevance = queries.take(kept), relevance.take(kept)
    for each in notes:
        warn(each)
    return RetrievalData(
        queries.vectors,
        documents.vectors,
        relevance,
        queries.ids,
        documents.ids,
        queries.texts,
        documents.texts,
        queries.groups,
        name,
        tuple(notes),
    )


def _without_zeros(items: Items, kind: str, notes: list[str]) -> Items:
    """Leave out zero vectors, which have no direction, so that their cosines are undefined."""
    is_zero = ~np.any(items.vectors, axis=1)
    if not is_zero.any():
        return items
    if is_zero.all():
        raise ValueError(f"All vectors of the {kind} are zero.")
    ids = listed_classes(items.ids[i] for i in np.flatnonzero(is_zero))
    notes.append(
        f"Left out {int(is_zero.sum()):,} of {len(is_zero):,} {kind} with zero vectors: {ids}."
    )
    return items.take(np.flatnonzero(~is_zero))


def _relevance(
    queries: Items, documents: Items, judged: Judgements, same_items: bool, notes: list[str]
) -> Relevance:
    """Return the relevance of known items. Add a note on unknown ids."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        query_ids, document_ids = (
            np.array(each.ids, dtype=object) for each in (queries, documents)
        )
        relevance = Relevance.from_ids(query_ids, document_ids, judged.rows())
    notes += [str(each.message) for each in caught]
    if not same_items:
        return relevance
    positions = {each: i for i, each in enumerate(documents.ids)}
    own = np.array([positions.get(each, -1) for each in queries.ids])
    n, m = relevance.n_queries, relevance.n_documents
    return Relevance(relevance.pairs, n, m, relevance.grades, own)
