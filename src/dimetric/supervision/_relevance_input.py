"""Validation of pairs, identifiers and tables for :class:`dimetric.supervision.Relevance`."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from dimetric._arrays.namespaces import to_host

MAX_ITEMS = 2**31  # positions of documents are stored in 32 bits


def checked_pairs(pairs: Any, grades: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return positions of queries and documents, of shape (m, 2), and their grades."""
    rows = np.asarray(to_host(pairs))
    rows = rows.reshape(0, 2).astype(np.int64) if rows.size == 0 else rows
    if rows.ndim == 2 and rows.shape[1] == 3 and grades is None:
        rows, grades = rows[:, :2], rows[:, 2]
    if rows.dtype.kind == "f" and np.all(rows == np.floor(rows)):
        rows = rows.astype(np.int64)  # grades with fractions make the whole array floating
    if rows.ndim != 2 or rows.shape[1] != 2 or rows.dtype.kind not in "iu":
        raise ValueError(
            f"Relevance needs an integer array of shape (m, 2) or (m, 3): the positions of a query "
            f"and a document, and a grade. It has shape {rows.shape} and dtype {rows.dtype}. For "
            "other identifiers, use Relevance.from_ids."
        )
    grades = np.ones(len(rows)) if grades is None else np.asarray(to_host(grades), dtype=np.float64)
    if grades.shape != (len(rows),):
        raise ValueError(f"grades has shape {grades.shape}, but there are {len(rows)} pairs.")
    if not np.all((grades >= 0) & (grades < np.inf)):  # written so that NaN fails
        raise ValueError("Grades must be finite numbers of at least 0.")
    return rows.astype(np.int64), grades


def check_positions(rows: np.ndarray, n_queries: int, n_documents: int) -> None:
    """Raise if a pair contains a position that does not exist."""
    for column, (kind, n) in enumerate((("query", n_queries), ("document", n_documents))):
        if not 0 <= n < MAX_ITEMS:
            raise ValueError(f"The number of {kind} vectors, {n}, must be between 0 and 2^31 - 1.")
        outside = (rows[:, column] < 0) | (rows[:, column] >= n)
        if outside.any():
            first = int(np.argmax(outside))
            raise ValueError(
                f"{int(outside.sum())} of {len(rows)} pairs contain an unknown {kind}, for example "
                f"pair {first}: {rows[first].tolist()}. Positions must be from 0 to {n - 1}."
            )


def checked_own(own: Any, n_queries: int, n_documents: int) -> np.ndarray | None:
    """Return the own document of each query, or -1. Raise if a position does not exist."""
    if own is None:
        return None
    own = np.asarray(to_host(own))
    if own.shape != (n_queries,) or own.dtype.kind not in "iu":
        raise ValueError(f"own_documents must be an integer array of shape ({n_queries},).")
    if np.any((own < -1) | (own >= n_documents)):
        raise ValueError(f"own_documents must be from -1 to {n_documents - 1}.")
    return own.astype(np.int64)


def positions_of(ids: Any, name: str) -> dict[Any, int]:
    """Return the position of each identifier. Raise if an identifier occurs twice."""
    values = np.asarray(to_host(ids)).tolist()
    positions = {value: position for position, value in enumerate(values)}
    if len(positions) < len(values):
        twice = next(value for i, value in enumerate(values) if positions[value] != i)
        n = len(values) - len(positions)
        raise ValueError(f"{name} contains {n} duplicate identifiers, for example {twice!r}.")
    return positions


def table_rows(table: Any) -> list[tuple[Any, Any, Any]]:
    """Return the rows (query, document, grade) of a table or a mapping."""
    if isinstance(table, Mapping):
        return [
            (query, document, grade)
            for query, found in table.items()
            for document, grade in (
                found.items() if isinstance(found, Mapping) else ((each, 1.0) for each in found)
            )
        ]
    if hasattr(table, "columns"):  # a data frame, whose columns may have different types
        columns = [np.asarray(table[name]).tolist() for name in table.columns]
        table = list(zip(*columns, strict=True))
    rows = [tuple(row) for row in (table.tolist() if isinstance(table, np.ndarray) else table)]
    if any(len(row) not in (2, 3) for row in rows):
        raise ValueError("The relevance table must have 2 or 3 columns: query, document, grade.")
    return [(*row, 1.0) if len(row) == 2 else row for row in rows]
