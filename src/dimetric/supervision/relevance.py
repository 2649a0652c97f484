"""Which documents are relevant to which queries."""

from typing import Any, Self

import numpy as np

from dimetric._arguments import ArgumentErrorMixin, check_types
from dimetric._arrays.labels import encode_labels
from dimetric._arrays.namespaces import Array, to_host
from dimetric._warnings import warn
from dimetric.supervision._constraints import read_only
from dimetric.supervision._relevance_input import (
    check_positions,
    checked_own,
    checked_pairs,
    positions_of,
    table_rows,
)


class Relevance(ArgumentErrorMixin):
    """The relevant documents of each query, with optional grades.

    A pair with the grade 0 is a document that was judged and is not relevant. If a pair occurs
    several times, its highest grade counts. Pairs are sorted by query and document. The object
    is immutable.

    Parameters
    ----------
    pairs : array-like of shape (m, 2) or (m, 3)
        Positions of a query and a document, counted from 0. A third column holds grades.
    n_queries, n_documents : int
        Number of queries and documents.
    grades : array-like of shape (m,), optional
        Grade of each pair, at least 0. The default is 1.
    own_documents : array-like of shape (n_queries,), optional
        Position of the document that is the query itself, or -1. A query never retrieves its own
        document, and the document is not relevant to it.

    Examples
    --------
    >>> relevance = Relevance([[0, 2], [1, 0], [1, 2]], n_queries=2, n_documents=3)
    >>> relevance
    Relevance(3 pairs, 2 queries, 3 documents)
    >>> relevance.of_query(1)
    array([0, 2], dtype=int32)
    >>> relevance.grades_of([[2, 1, 0], [2, 1, 0]])
    array([[1., 0., 0.],
           [1., 0., 1.]])
    """

    def __init__(
        self,
        pairs: Any,
        n_queries: int,
        n_documents: int,
        grades: Any = None,
        own_documents: Any = None,
    ) -> None:
        rows, grades = checked_pairs(pairs, grades)
        check_positions(rows, n_queries, n_documents)
        own = checked_own(own_documents, n_queries, n_documents)
        if own is not None:
            other = rows[:, 1] != own[rows[:, 0]]
            rows, grades = rows[other], grades[other]
        order = np.lexsort((-grades, rows[:, 1], rows[:, 0]))
        rows, grades = rows[order], grades[order]
        is_first = np.ones(len(rows), dtype=bool)
        is_first[1:] = np.any(rows[1:] != rows[:-1], axis=1)
        rows, grades = rows[is_first], grades[is_first]
        counts = np.bincount(rows[:, 0], minlength=n_queries)
        self._set(counts, rows[:, 1], grades, n_documents, own)

    def _set(
        self,
        counts: np.ndarray,
        documents: np.ndarray,
        grades: np.ndarray,
        n_documents: int,
        own: np.ndarray | None,
    ) -> Self:
        """Store sorted pairs: the number of documents of each query, and all documents."""
        self.n_queries, self.n_documents = len(counts), int(n_documents)
        self.starts = read_only(np.concatenate([[0], np.cumsum(counts)]))
        self.documents = read_only(documents.astype(np.int32))
        self.grades = read_only(grades.astype(np.float32))
        self.own_documents = read_only(own)
        return self

    @classmethod
    @check_types
    def from_labels(
        cls, query_labels: Array, document_labels: Array, same_rows: bool = False
    ) -> Self:
        """Return the relevance of all documents that have the label of the query.

        Parameters
        ----------
        query_labels, document_labels : array-like of shape (n_queries,) and (n_documents,)
            Labels.
        same_rows : bool, default=False
            Whether query i and document i are the same item, which is then not relevant to itself.

        Examples
        --------
        >>> Relevance.from_labels(["a", "b"], ["b", "a", "b"]).of_query(1)
        array([0, 2], dtype=int32)
        """
        labels = [np.asarray(to_host(each)) for each in (query_labels, document_labels)]
        if any(each.ndim != 1 for each in labels):
            raise ValueError("query_labels and document_labels must be one-dimensional.")
        n, m = len(labels[0]), len(labels[1])
        if same_rows and n != m:
            raise ValueError(f"same_rows=True needs as many queries ({n}) as documents ({m}).")
        classes, codes = encode_labels(np.concatenate(labels))
        order = np.argsort(codes[n:], kind="stable")
        sizes = np.bincount(codes[n:], minlength=len(classes))
        members = np.split(order, np.cumsum(sizes)[:-1])
        documents = np.concatenate([members[code] for code in codes[:n]] or [order[:0]])
        counts, own = sizes[codes[:n]], None
        if same_rows:
            own = np.arange(n)
            other = documents != np.repeat(own, counts)
            documents, counts = documents[other], counts - 1
        return cls.__new__(cls)._set(counts, documents, np.ones(len(documents)), m, own)

    @classmethod
    @check_types
    def from_triplets(
        cls, triplets: Array, n_queries: int | None = None, n_documents: int | None = None
    ) -> Self:
        """Return relevance from triplets (query, relevant document, irrelevant document).

        A document that is relevant in one triplet and irrelevant in another one of the same query
        counts as relevant.

        Parameters
        ----------
        triplets : array-like of shape (m, 3)
            Positions of a query and two documents.
        n_queries, n_documents : int, optional
            Numbers of queries and documents. By default, the largest position plus 1.

        Examples
        --------
        >>> Relevance.from_triplets([[0, 2, 1]]).grades_of([[0, 1, 2]])
        array([[0., 0., 1.]])
        """
        rows = np.asarray(to_host(triplets))
        if rows.ndim != 2 or rows.shape[1] != 3 or rows.dtype.kind not in "iu":
            raise ValueError(
                f"triplets has shape {rows.shape} and dtype {rows.dtype}, but must be an integer "
                "array of shape (m, 3)."
            )
        n = int(np.max(rows[:, 0], initial=-1)) + 1 if n_queries is None else n_queries
        m = int(np.max(rows[:, 1:], initial=-1)) + 1 if n_documents is None else n_documents
        pairs = np.concatenate([rows[:, :2], rows[:, [0, 2]]])
        return cls(pairs, n, m, np.repeat([1.0, 0.0], len(rows)))

    @classmethod
    def from_ids(cls, query_ids: Any, document_ids: Any, table: Any) -> Self:
        """Return relevance from a table of identifiers, such as clicks or judgements.

        Rows with an unknown identifier are left out, and a warning gives their number.

        Parameters
        ----------
        query_ids, document_ids : array-like of shape (n_queries,) and (n_documents,)
            Identifiers in the order of the vectors, each of them once.
        table : array-like or data frame with 2 or 3 columns, or mapping
            Identifiers of a query and a document, and optionally a grade. Or, for each query, its
            documents: ``{"q1": ["d3"]}`` or ``{"q1": {"d3": 2}}``.

        Examples
        --------
        >>> Relevance.from_ids(["q1", "q2"], ["d1", "d2"], [("q2", "d1")]).of_query(1)
        array([0], dtype=int32)
        """
        queries, documents = (
            positions_of(ids, name)
            for ids, name in ((query_ids, "query_ids"), (document_ids, "document_ids"))
        )
        rows = table_rows(table)
        pairs, grades, unknown = [], [], {"query": 0, "document": 0}
        for query, document, grade in rows:
            unknown["query"] += query not in queries
            unknown["document"] += document not in documents
            if query in queries and document in documents:
                pairs.append((queries[query], documents[document]))
                grades.append(float(grade))
        parts = [f"{n} with an unknown {kind}" for kind, n in unknown.items() if n]
        if parts and not pairs:
            query, document, _ = rows[0]
            raise ValueError(
                f"No row of the table has a known query and a known document, for example query "
                f"{query!r} and document {document!r}. Check the identifiers and their types."
            )
        if parts:
            warn(f"Left out rows of the relevance table: {' and '.join(parts)}, of {len(rows)}.")
        pairs_array = np.asarray(pairs, dtype=np.int64).reshape(-1, 2)
        return cls(pairs_array, len(queries), len(documents), grades)

    @property
    def n_relevant(self) -> np.ndarray:
        """Number of relevant documents of each query, of shape (n_queries,)."""
        totals = np.concatenate([[0], np.cumsum(self.grades > 0)])
        return totals[self.starts[1:]] - totals[self.starts[:-1]]

    @property
    def pairs(self) -> np.ndarray:
        """Positions of all pairs of a query and a judged document, of shape (m, 2)."""
        queries = np.repeat(np.arange(self.n_queries), np.diff(self.starts))
        return np.stack([queries, self.documents.astype(np.int64)], axis=1)

    def of_query(self, query: int) -> np.ndarray:
        """Return the positions of the relevant documents of a query, ascending."""
        part = slice(self.starts[query], self.starts[query + 1])
        return self.documents[part][self.grades[part] > 0]

    def grades_of(self, ranking: Any) -> np.ndarray:
        """Return the grades of ranked documents, which are 0 for those without a grade.

        Parameters
        ----------
        ranking : array-like of shape (n_queries, k)
            Positions of documents. Negative positions stand for no document.
        """
        ranking = np.asarray(to_host(ranking))
        if ranking.ndim != 2 or len(ranking) != self.n_queries or ranking.dtype.kind not in "iu":
            raise ValueError(
                f"ranking has shape {ranking.shape} and dtype {ranking.dtype}, but must be an "
                f"integer array with a row of positions for each of the {self.n_queries} queries."
            )
        if np.max(ranking, initial=-1) >= self.n_documents:
            raise ValueError(
                f"ranking contains the position {ranking.max()}, but there are only "
                f"{self.n_documents} documents."
            )
        if not len(self.documents):
            return np.zeros(ranking.shape)
        keys = self.pairs @ np.array([self.n_documents, 1])
        wanted = np.arange(self.n_queries)[:, None] * self.n_documents + ranking
        found = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        is_pair = (keys[found] == wanted) & (ranking >= 0)
        return np.where(is_pair, self.grades[found].astype(np.float64), 0.0)

    def take(self, queries: np.ndarray) -> "Relevance":
        """Return the relevance for some of the queries, given their positions."""
        queries = np.asarray(queries, dtype=np.int64)
        counts = np.diff(self.starts)[queries]
        first = np.repeat(self.starts[queries] - np.cumsum(counts) + counts, counts)
        kept = first + np.arange(int(counts.sum()))
        own = None if self.own_documents is None else self.own_documents[queries]
        return Relevance.__new__(Relevance)._set(
            counts, self.documents[kept], self.grades[kept], self.n_documents, own
        )

    def with_documents(self, documents: np.ndarray) -> "Relevance":
        """Return the relevance for some of the documents, given their ascending positions."""
        new = np.full(self.n_documents + 1, -1)  # its last entry belongs to the position -1
        new[documents] = np.arange(len(documents))
        kept = new[self.documents] >= 0
        counts = np.bincount(self.pairs[kept, 0], minlength=self.n_queries)
        own = None if self.own_documents is None else new[self.own_documents]
        return Relevance.__new__(Relevance)._set(
            counts, new[self.documents[kept]], self.grades[kept], len(documents), own
        )

    def __len__(self) -> int:
        return len(self.documents)

    def __repr__(self) -> str:
        n, m = self.n_queries, self.n_documents
        return f"Relevance({len(self)} pairs, {n} queries, {m} documents)"


def checked_relevance(relevance: Any, n_queries: int, n_documents: int) -> Relevance:
    """Return relevance for the given numbers of queries and documents, from pairs if necessary."""
    if not isinstance(relevance, Relevance):
        return Relevance(relevance, n_queries, n_documents)
    for kind, expected, found in (
        ("queries", relevance.n_queries, n_queries),
        ("documents", relevance.n_documents, n_documents),
    ):
        if expected != found:
            raise ValueError(f"relevance refers to {expected} {kind}, but there are {found}.")
    return relevance
